"""Two models by layer beside what their facts give without the subject: the majority answer and the swapped subject."""

import math
from collections.abc import Sequence

import pandas as pd

from probing.core.stats.paired import PairedCounts, mcnemar_exact, paired_difference
from probing.reports.knowledge.paired import paired_by_layer
from probing.store.database import Database
from probing.store.knowledge.pair_queries import paired_yardsticks

_ENDS = ("", "_low", "_high")
_ABOVE = [f"{run}above_{mode}{end}" for mode in ("majority", "swapped") for run in ("base_", "") for end in _ENDS]
_GAIN = ("more", "more_low", "more_high", "more_p")
_SHARES = ("majority", "base_matched", "base_swapped", "matched", "swapped", *_ABOVE, *_GAIN)
_Z = 1.959964


def paired_with_yardsticks(
    db: Database, base_run: str, run: str, k: int, exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """``paired_by_layer`` with the yardsticks of the same facts; micro.

    Args:
        db, base_run, run, k, exposures, answer_in_subject: as for ``paired_by_layer``.

    Returns:
        The columns of ``paired_by_layer`` and, shares, empty where they are not defined: majority (of P@1 only); swapped_n (facts that
        have a swapped subject in both runs), and over these base_matched, base_swapped, matched, swapped (P@k with the own and with the
        swapped subject); ``base_above_`` and ``above_`` of majority and swapped with ``_low`` and ``_high`` (for the majority answer
        Wilson's, for the swapped subject Newcombe's); more (how much more the run gains from the subject than the base), more_low,
        more_high (normal approximation), more_p (sign test).
    """
    counted = paired_yardsticks(db, base_run, run, k, exposures, answer_in_subject)
    table = paired_by_layer(db, base_run, run, k, exposures, answer_in_subject)
    rows = [(int(row["layer"]), int(row["swapped_n"]) or None, *_shares(row, k)) for row in counted.to_dict("records")]
    columns = ["layer", "swapped_n", "majority", "base_matched", "base_swapped", "matched", "swapped", *_ABOVE[6:], *_GAIN]
    found = pd.DataFrame(rows, columns=columns).astype({"swapped_n": "Int64"} | dict.fromkeys(columns[2:], "float64"))
    table = table.merge(found, on="layer", how="left")
    for name in ("base_", ""):
        for shown, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            table[f"{name}above_majority{end}"] = table[f"{name}{shown}"] - table["majority"]
    return table[[*table.columns[: table.columns.get_loc("swapped_n") + 1], *_SHARES]]


def _shares(row: dict, k: int) -> list[float | None]:
    """A layer's shares in the order of the columns."""
    majority = row["majority_hits"] / row["n"] if k == 1 else None
    n = int(row["swapped_n"])
    if not n:
        return [majority, *[None] * (4 + 6 + 4)]
    cells = {
        run: PairedCounts(*(int(row[f"{run}_{name}"]) for name in ("both", "own", "swapped", "neither"))) for run in ("first", "second")
    }
    own, lent = ({run: (one.both + side(one)) / n for run, one in cells.items()} for side in (_own, _lent))
    above = {run: paired_difference(one) for run, one in cells.items()}
    more = (own["second"] - lent["second"]) - (own["first"] - lent["first"])
    error = _Z * math.sqrt(max(row["squares"] / n - more**2, 0.0) / n)
    ends = [value for run in ("first", "second") for value in (above[run].value, above[run].low, above[run].high)]
    p = mcnemar_exact(int(row["more"]), int(row["less"]))
    return [majority, own["first"], lent["first"], own["second"], lent["second"], *ends, more, more - error, more + error, p]


def _own(counts: PairedCounts) -> int:
    return counts.first_only


def _lent(counts: PairedCounts) -> int:
    return counts.second_only
