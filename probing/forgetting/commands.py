"""``probing forgetting recover`` and ``probing series``: do lost facts come back, and when are they lost?"""

from collections import Counter

import typer

from probing.forgetting.memory import LOST, NEVER_IN_TEXT, NO_TEST, WRONG, YARDSTICKS
from probing.forgetting.requests import FollowRequest, LineRequest, PreventRequest, RecoverRequest
from probing.forgetting.savings import SAVINGS
from probing.forgetting.ways import BY_ANSWER, BY_SUBJECT, LOST_OUTCOMES, STEPS, USUAL_STEPS, called
from probing.kernel.commands import command
from probing.kernel.store.columns import SCHEMAS


@command(RecoverRequest)
def recover(request: RecoverRequest) -> None:
    """Ask for the facts that a fine-tuned model lost, by every way that may bring them back, next to what guessing
    brings; resumable.

    That a fact comes back does not show that it is remembered: guesses come back, too. A fact that does not come back
    is "not recovered":
    no way here shows that it is gone.
    """
    import pandas as pd

    from probing.forgetting import report_savings
    from probing.forgetting.recover import recover as workflow
    from probing.forgetting.report_lessons import kept_in_words, lesson_rows
    from probing.forgetting.report_outcome import any_in_words, by_any, by_chance, in_words, tested, usual

    rows = workflow(request, typer.echo)
    (run,), facts = rows["forgetting_runs"], [fact for fact in rows["forgetting_facts"] if fact["asked"] == LOST]
    shares, against = (pd.DataFrame(rows[table]) for table in ("forgetting_shares", "forgetting_excesses"))
    shares = shares[shares["asked"] == LOST]
    known, lost = run["known"], run["lost"]
    typer.echo(f"Of the {known:,} facts that {run['base']} knows, {run['model']}")
    typer.echo(f"- kept: {run['kept']:,} ({100 * run['kept'] / known:.0f} of 100)")
    outcomes = Counter(fact["way"] for fact in facts)
    for name in LOST_OUTCOMES:
        typer.echo(f"- {name}: {outcomes[name]:,} ({100 * outcomes[name] / known:.0f} of 100)")
    if run["not_put_back"]:
        typer.echo(f"No layers are put back: {run['not_put_back']}.")
    typer.echo(
        f"\nWhat each way by itself brings back of {lost:,} lost facts, and of each yardstick; relearned after"
        f" {USUAL_STEPS} steps."
    )
    typer.echo(
        "Per cent; the facts that are compared against the yardstick, in points with 95 % intervals over answers and"
        " seeds:\n"
    )
    header = (
        "way",
        "lost facts",
        *(f"{name}{', equal confidence' if name in (WRONG, NEVER_IN_TEXT) else ''}" for name in YARDSTICKS),
    )
    typer.echo(f"| {' | '.join(header)} |\n{'|---' * len(header)}|")
    counted = usual(against)
    for row in usual(shares).itertuples():
        by_yardstick = {excess.yardstick: excess for excess in counted[counted["way"] == row.way].itertuples()}
        cells = [_with_ends(row.share, row.low, row.high), *(_against(by_yardstick.get(name)) for name in YARDSTICKS)]
        typer.echo(f"| {row.way} | {' | '.join(cells)} |")
    if beside := any_in_words(by_any(pd.DataFrame(rows["forgetting_facts"]))):
        typer.echo(f"\n{beside}")
    relearned = shares[shares["level"] > 0].set_index(["protocol", "level"])["share"]
    curve = ", ".join(f"{100 * relearned[BY_ANSWER, steps]:.1f} after {steps}" for steps in STEPS)
    typer.echo(
        f"\nRelearned, {BY_ANSWER}: {curve} steps; {BY_SUBJECT}: {100 * relearned[BY_SUBJECT, USUAL_STEPS]:.1f} after"
        f" {USUAL_STEPS}. "
    )
    for name, n in Counter(fact["reworded"] for fact in facts if fact["reworded"]).items():
        typer.echo(f"Asked in the wording {run['other_templates']!r}: {name}: {n:,} of {lost:,}")
    of_lessons = lesson_rows(pd.DataFrame([run]), shares, against)
    for row in of_lessons[of_lessons["steps"].fillna(USUAL_STEPS) == USUAL_STEPS].itertuples():
        found = [_with_ends(row.share, row.low, row.high)] if row.share == row.share else []
        found += [f"wrong answers at equal confidence {100 * row.wrong:.1f}"] if row.wrong == row.wrong else []
        typer.echo(f"{USUAL_STEPS} steps, lessons of {row.lessons}: {'; '.join([*found, row.note]).rstrip('; ')}")
    if words := kept_in_words(of_lessons):
        typer.echo(f"{words}.")
    if request.savings:
        stored = pd.DataFrame(rows["forgetting_savings"], columns=SCHEMAS["forgetting_savings"].names)
        saved = report_savings.in_words(report_savings.compared(stored), run["left_out"])
        typer.echo(f"\n{SAVINGS}" + "".join(f"\n- {line}" for line in saved))
    tests = tested(against)
    groups = (
        "planted answers, as stated facts, minus wrong guesses"
        if run["planted"]
        else "stated facts minus right answers that the text never had"
    )
    typer.echo(f"\nTest of memory, at equal confidence: {groups}. {by_chance(tests)}" if len(tests) else f"\n{NO_TEST}")
    for row in tests.itertuples():
        typer.echo(f"- {called(row.way, row.protocol)}: {in_words(row)}")


def _with_ends(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _against(excess) -> str:
    """The share of the facts that are compared with a yardstick, its share, and the difference."""
    if excess is None:
        return ""
    share, yardstick = excess.share, excess.yardstick_share
    difference = f"{100 * (share - yardstick):+.1f} ({100 * excess.low:.1f} to {100 * excess.high:.1f})"
    return f"{100 * share:.1f} against {100 * yardstick:.1f}: {difference}"


@command(FollowRequest)
def follow(request: FollowRequest) -> None:
    """Ask every state of a training for the same facts, and store when each was forgotten; resumable, does nothing the
    second time.

    `series report` reports what is stored.
    """
    from probing.forgetting.follow import follow as workflow

    workflow(request, typer.echo)


@command(PreventRequest)
def prevent(request: PreventRequest) -> None:
    """Fine-tune a base in several recipes against forgetting, and store what each scores and keeps; resumable, keeps no
    weights.

    `series report prevention` reports what is stored.
    """
    from probing.forgetting.prevent import prevent as workflow

    workflow(request, typer.echo)


@command(LineRequest)
def line(request: LineRequest) -> None:
    """Ask eleven means of the weights of a base and its fine-tuned model for facts, and score them; resumable. --save
    writes one of them.

    `series report line` reports what is stored.
    """
    import pandas as pd

    from probing.forgetting.line import line as workflow
    from probing.forgetting.line import save_point
    from probing.forgetting.report_series import line_in_words

    if request.save is not None:
        save_point(request, typer.echo)
        return
    points = pd.DataFrame(workflow(request, typer.echo))
    typer.echo("\n".join(line_in_words(points[points["k"] == 1])))
