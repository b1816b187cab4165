"""The tables of docs/forgetting.md, from the shipped results; ``make docs`` writes them, and a test compares them."""

from itertools import pairwise

import pandas as pd

from probing.core.forgetting.excess import CONFIDENCE_BINS
from probing.core.forgetting.groups import LOST, NEVER_KNOWN, WRONG
from probing.core.forgetting.protocols import OWN, RANDOM_BODY, RIGHT
from probing.core.forgetting.ways import RELEARNED, USUAL_STEPS
from probing.core.registry import REPOSITORY
from probing.reports.forgetting.runs import stored_runs
from probing.store.database import Database
from probing.store.forgetting import queries
from tests.written_heads import BASE, replaced

DOCS = REPOSITORY / "docs" / "forgetting.md"
#: The fine-tuned model that lost most, and one that learned its task.
MODELS = ("nesia-mini-qa-squad-1", "nesia-mini-ner-conll")
STEPS = (
    "| model | steps | lost, held out | never known, matched | wrong answers of the base | random body: lost | random body: never known |\n"
    "|---|---:|---|---|---|---|---|"
)
_ENDS = [0, *CONFIDENCE_BINS, 1]
BINS = (
    "| asked | relearned with | "
    + " | ".join(f"{low:g} to {high:g}" for low, high in pairwise(_ENDS))
    + " |\n|---|---|"
    + "---|" * (len(CONFIDENCE_BINS) + 1)
)


def by_step(db: Database) -> str:
    """What comes back after 5, 15 and 45 steps, in per cent with intervals; ``MODELS``."""
    lines = [STEPS]
    for model in MODELS:
        found = _shares(db, model, bins=False)
        for level in sorted(found["level"].unique()):
            of_level = found[found["level"] == level]
            cells = [_shown(of_level, RIGHT, group) for group in (LOST, NEVER_KNOWN, WRONG)]
            cells += [_shown(of_level, RANDOM_BODY, group) for group in (LOST, NEVER_KNOWN)]
            lines.append(f"| {model.removeprefix(f'{BASE}-')} | {level} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_confidence(db: Database) -> str:
    """The base's right and wrong answers that the last of ``MODELS`` says again after 15 steps, by the base's probability of its answer."""
    found = _shares(db, MODELS[-1], bins=True)
    found = found[found["level"] == USUAL_STEPS]
    lines = [BINS]
    for protocol in (RIGHT, OWN):
        for group in (LOST, WRONG):
            cells = [_shown(found[found["bin"] == number], protocol, group) for number in range(len(CONFIDENCE_BINS) + 1)]
            lines.append(f"| {'right' if group == LOST else 'wrong'} answers | {protocol} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_tables(text: str, db: Database) -> str:
    """The document with today's tables in place of those in it.

    Raises:
        ValueError: if it has not each table once.
    """
    return replaced(text, by_step(db), by_confidence(db))


def _shares(db: Database, model: str, bins: bool) -> pd.DataFrame:
    run = stored_runs(db, [model], ["trex"], [1])["run_id"]
    found = queries.shares(db, list(run), bins=bins)
    return found[found["way"] == RELEARNED]


def _shown(rows: pd.DataFrame, protocol: str, group: str) -> str:
    """A share in per cent with its interval and, of single bins, its number of facts; empty if there is none."""
    (one,) = rows[(rows["protocol"] == protocol) & (rows["asked"] == group)].to_dict("records") or [None]
    if one is None:
        return ""
    return f"{100 * one['share']:.0f} ({100 * one['low']:.0f} to {100 * one['high']:.0f}; n {one['n']:,})"
