"""The tables of docs/forgetting.md, from the shipped results; ``make docs`` writes them, and a test compares them."""

from data.making.card_family import recovered
from probing.forgetting.report_outcome import in_words, memory
from probing.forgetting.ways import AS_IT_IS, BY_ANSWER, BY_SUBJECT, RELEARNED, WAYS, called
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.database import Database
from tests.written_heads import BASE, replaced

DOCS = REPOSITORY / "docs" / "forgetting.md"
#: Way and protocol of the tests of memory: relearning split by answer in the words of the command, then the others in
#: short.
_TESTED = ((RELEARNED, BY_ANSWER), (RELEARNED, BY_SUBJECT), *((way, AS_IT_IS) for way in WAYS if way != RELEARNED))
TESTS = (
    f"| model | seeds | stated facts | never had | {' | '.join(called(*one) for one in _TESTED)} |\n|---|---:|---:|---:"
    + "|---" * len(_TESTED)
    + "|"
)


def tests_of_memory(db: Database) -> str:
    """The test of memory of every model of the family: of relearning in the words of the command, of other ways the
    verdict.
    """
    lines = [TESTS]
    for model, rows in memory(db, recovered(db, BASE, planted=True)).groupby("model", sort=False):
        tests = {(row.way, row.protocol): row for row in rows.itertuples()}
        one = tests[_TESTED[0]]
        cells = [str(one.seeds), f"{one.n:,}", f"{one.n_never_had:,}", in_words(one)]
        cells += [
            f"{tests[key].verdict}: {100 * tests[key].difference:+.1f}" if key in tests else "" for key in _TESTED[1:]
        ]
        lines.append(f"| {str(model).removeprefix(f'{BASE}-')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_tables(text: str, db: Database) -> str:
    """The document with today's tables in place of those in it.

    Raises:
        ValueError: if it has not each table once.
    """
    return replaced(text, tests_of_memory(db))
