"""``probing forgetting recover``: do lost facts come back, and more often than their yardsticks?"""

from collections import Counter

import typer

from probing.commands.options import command
from probing.core.forgetting.excess import ABOVE, verdict
from probing.core.forgetting.groups import LOST, NEVER_KNOWN, WRONG
from probing.core.forgetting.protocols import RIGHT
from probing.core.forgetting.ways import NOT_RECOVERED, USUAL_STEPS, WAYS, usual_level
from probing.workflows.requests.forgetting import RecoverRequest

_HEADER = ("way", "lost facts that come back", "wrong answers", "points above, equal confidence", "never known", "points above")


@command(RecoverRequest)
def recover(request: RecoverRequest) -> None:
    """Ask for the facts that a fine-tuned model lost, by every way that may bring them back, next to what guessing brings; resumable.

    A fact that comes back was out of reach. A fact that does not is "not recovered by any of these": no way here shows that it is gone.
    """
    from probing.store.tables.forgetting import ALL_BINS
    from probing.workflows.forgetting.recover import recover as workflow

    rows = workflow(request, typer.echo)
    (run,) = rows["forgetting_runs"]
    lost = run["lost"]
    shares = {
        (one["way"], one["level"]): one
        for one in rows["forgetting_shares"]
        if (one["protocol"], one["asked"], one["bin"]) == (RIGHT, LOST, ALL_BINS)
    }
    over = {
        (one["way"], one["level"], one["yardstick"]): one
        for one in rows["forgetting_excesses"]
        if (one["protocol"], one["relation"]) == (RIGHT, "")
    }
    typer.echo(f"{run['model']} lost {lost:,} of the {run['known']:,} facts that {run['base']} knows. They come back by:")
    ways = Counter(one["way"] for one in rows["forgetting_facts"])
    for way in (*WAYS, NOT_RECOVERED):
        lows = [over.get((way, usual_level(way), one)) for one in (WRONG, NEVER_KNOWN)]
        above = verdict(*((one["low"], one["high"]) if one else None for one in lows)) == ABOVE
        beyond = "" if way == NOT_RECOVERED or above else "; as a group not more often than its yardsticks"
        typer.echo(f"- {way}: {ways[way]:,} ({100 * ways[way] / lost:.0f} %){beyond if ways[way] else ''}")
    typer.echo(f"\nEach way by itself; relearning after {USUAL_STEPS} steps. Per cent with 95 % intervals over subjects and seeds:\n")
    typer.echo(f"| {' | '.join(_HEADER)} |\n{'|---' * len(_HEADER)}|")
    for way in WAYS:
        share = shares[way, usual_level(way)]
        cells = [f"{100 * share['share']:.1f} ({100 * share['low']:.1f} to {100 * share['high']:.1f})"]
        for yardstick in (WRONG, NEVER_KNOWN):
            one = over.get((way, usual_level(way), yardstick))
            cells += [f"{100 * one['yardstick_share']:.1f}" if one else "n/a", _above(one) if one else "n/a"]
        typer.echo(f"| {way} | {' | '.join(cells)} |")


def _above(one: dict) -> str:
    return f"{100 * (one['share'] - one['yardstick_share']):.1f} ({100 * one['low']:.1f} to {100 * one['high']:.1f})"
