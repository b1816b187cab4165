"""The tables of docs/forgetting.md, from the shipped results; ``make docs`` writes them, and a test compares them."""

from data.making.card_family import COMPARED, against, recovered
from probing.core.forgetting.groups import LOST
from probing.core.forgetting.memory import said
from probing.core.forgetting.summary import YARDSTICKS
from probing.core.forgetting.ways import AS_IT_IS, BY_ANSWER, BY_SUBJECT, RELEARNED, STEPS, USUAL_STEPS, WAYS, called
from probing.core.registry import REPOSITORY
from probing.reports.forgetting.outcome import memory, ways
from probing.reports.forgetting.runs import stored_runs
from probing.store.database import Database
from probing.store.forgetting import queries
from tests.written_heads import BASE, replaced

DOCS = REPOSITORY / "docs" / "forgetting.md"
#: A fine-tuned model that learned its task.
MODELS = ("nesia-mini-ner-conll",)
#: Way and protocol of the tests of memory: relearning split by answer in the words of the command, then the others in short.
_TESTED = ((RELEARNED, BY_ANSWER), (RELEARNED, BY_SUBJECT), *((way, AS_IT_IS) for way in WAYS if way != RELEARNED))
TESTS = (
    f"| model | stated facts | never had | {' | '.join(called(*one) for one in _TESTED)} |\n|---|---:|---:" + "|---" * len(_TESTED) + "|"
)
STEP = f"| model | steps | all lost facts | {' | '.join(COMPARED)} |\n" + "|---" * (3 + len(COMPARED)) + "|"


def tests_of_memory(db: Database) -> str:
    """The test of memory of every model of the family: of relearning in the words of the command, of other ways the verdict."""
    lines = [TESTS]
    for model, rows in memory(db, recovered(db, BASE, planted=True)).groupby("model", sort=False):
        tests = {(row.way, row.protocol): row for row in rows.itertuples()}
        one = tests[_TESTED[0]]
        cells = [f"{one.n:,}", f"{one.n_never_had:,}", said(one.verdict, one.difference, one.low, one.high, one.detectable)]
        cells += [f"{tests[key].verdict}: {100 * tests[key].difference:+.1f}" if key in tests else "" for key in _TESTED[1:]]
        lines.append(f"| {str(model).removeprefix(f'{BASE}-')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_step(db: Database) -> str:
    """What relearning brings back of the lost facts of ``MODELS``, and of those that are compared with each yardstick, beside it."""
    lines = [STEP]
    for model in MODELS:
        runs = stored_runs(db, [model], ["trex"], [1])
        shares = queries.shares(db, list(runs["run_id"])).set_index(["way", "protocol", "level", "asked"])
        beside = ways(db, runs).set_index(["way", "protocol", "level", "yardstick"])
        for protocol, steps in (*((BY_ANSWER, one) for one in STEPS), (BY_SUBJECT, USUAL_STEPS)):
            lost = shares.loc[RELEARNED, protocol, steps, LOST]
            cells = [f"{100 * lost['share']:.1f} ({100 * lost['low']:.1f} to {100 * lost['high']:.1f}; n {lost['n']:,})"]
            for yardstick in YARDSTICKS:
                key = (RELEARNED, protocol, steps, yardstick)
                cells.append(against(beside.loc[key]) if key in beside.index else "")
            lines.append(f"| {model.removeprefix(f'{BASE}-')} | {steps}, {protocol} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_tables(text: str, db: Database) -> str:
    """The document with today's tables in place of those in it.

    Raises:
        ValueError: if it has not each table once.
    """
    return replaced(text, tests_of_memory(db), by_step(db))
