"""``probing forgetting recover``: do lost facts come back, and more often than their yardsticks?"""

from collections import Counter

import typer

from probing.commands.options import command, printed_or_written
from probing.core.forgetting.groups import LOST, NEVER_KNOWN, WRONG
from probing.core.forgetting.protocols import RIGHT
from probing.core.forgetting.summary import ANY, USUAL_STEPS
from probing.core.forgetting.ways import NOT_RECOVERED, RELEARNED, WAYS
from probing.workflows.requests.forgetting import RecoverRequest

_HEADER = ("way", "lost facts that come back", "wrong answers", "points above, equal confidence", "never known", "points above")


@command(RecoverRequest)
def recover(request: RecoverRequest) -> None:
    """Ask for the facts that a fine-tuned model lost, by every way that may bring them back, next to what guessing brings; resumable.

    A fact that comes back was out of reach. A fact that does not is "not recovered by any of these": no way here shows that it is gone.
    """
    from probing.workflows.forgetting.recover import as_json
    from probing.workflows.forgetting.recover import recover as workflow

    recovered = workflow(request, typer.echo)
    found, lost = recovered.found, len(recovered.found.facts)
    typer.echo(f"{recovered.model} lost {lost:,} of the {recovered.known:,} facts that {recovered.base} knows. They come back by:")
    ways = Counter((*WAYS, NOT_RECOVERED)[one.way] for one in found.facts)
    for way in (*WAYS, NOT_RECOVERED):
        beyond = "" if way == NOT_RECOVERED or found.above(way) else "; as a group not more often than its yardsticks"
        typer.echo(f"- {way}: {ways[way]:,} ({100 * ways[way] / lost:.0f} %){beyond if ways[way] else ''}")
    typer.echo(f"\nEach way by itself; relearning after {USUAL_STEPS} steps. Per cent with 95 % intervals over subjects and seeds:\n")
    typer.echo(f"| {' | '.join(_HEADER)} |\n{'|---' * len(_HEADER)}|")
    for way in WAYS:
        level = USUAL_STEPS if way == RELEARNED else ANY
        share = found.share(way, level, RIGHT, LOST)
        if share is None:
            continue
        cells = [f"{100 * share.share:.1f} ({100 * share.low:.1f} to {100 * share.high:.1f})"]
        for yardstick in (WRONG, NEVER_KNOWN):
            one = found.excess(way, level, RIGHT, yardstick)
            above = one and f"{100 * one.value:.1f} ({100 * one.low:.1f} to {100 * one.high:.1f})"
            cells += [f"{100 * one.yardstick:.1f}" if one else "n/a", above or "n/a"]
        typer.echo(f"| {' | '.join([way, *cells])} |")
    if request.out:
        printed_or_written(as_json(recovered), request.out, f"wrote {request.out}")
