"""The papers that are reproduced, and their claims in short: its number, ours, the verdict, and the reason."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from probing.forgetting.report_outcome import outcome, stored_runs
from probing.forgetting.series import PublishedForgetting
from probing.kernel.fact import PROBE_SETS
from probing.kernel.published import Check, Claim
from probing.kernel.store.database import Database
from probing.papers.bertnesia import BERTNESIA
from probing.papers.claims import (
    FAILS,
    HOLDS,
    OF_THE_BASE,
    UNSURE,
    UNTESTED,
    Judged,
    Ours,
    Paper,
    Reproduction,
    Subject,
    deciding,
)
from probing.papers.edge_probing import EDGE_PROBING
from probing.papers.interplay import INTERPLAY


def bases_here(db: Database) -> dict[str, pd.DataFrame]:
    """Base -> the runs of its fine-tuned models at rank 1, on the probe set that most of them were asked."""
    runs = stored_runs(db, ks=[1])
    runs_of_base = {}
    for base, base_runs in runs.groupby("base"):
        largest = base_runs.groupby("probe_set")["model"].nunique().sort_values(ascending=False, kind="stable").index[0]
        runs_of_base[str(base)] = base_runs[base_runs["probe_set"] == largest].drop_duplicates(
            "model", ignore_index=True
        )
    return runs_of_base


def measure(db: Database, base: str) -> Ours:
    """The runs of a base's fine-tuned models, which are ``about``."""
    runs = bases_here(db)[base]
    probe_set = runs["probe_set"].iloc[0]
    return Ours(
        base,
        runs,
        tuple(runs["run_id"]),
        f"{base}, {PROBE_SETS.get(probe_set, probe_set)}",
        Subject({OF_THE_BASE: base}),
    )


def tables(published: PublishedForgetting, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """The outcome of the known facts of every model; none without results of ours."""
    return {} if ours is None or db is None else {"outcome": outcome(db, ours.about)}


FORGETTING = Paper(
    "forgetting", PublishedForgetting, "recoveries of lost facts", bases_here, measure, tables, ("outcome",)
)


PAPERS = {paper.name: paper for paper in (BERTNESIA, EDGE_PROBING, INTERPLAY, FORGETTING)}


def reproduced(db: Database | None, paper: str, *subject: str) -> tuple[Reproduction, tuple[Judged, ...]]:
    """Ours compared with a paper, and its claims judged on ours; arguments as for ``Paper.compare``."""
    reproduction = PAPERS[paper].compare(db, *subject)
    return reproduction, PAPERS[paper].judge(db, reproduction.ours)


TILE = ("claim", "paper", "here", "verdict", "reason", "paper_low", "paper_high", "here_low", "here_high")
#: The verdict of a claim that neither holds nor fails.
OPEN = "undecided"
_DRAWN = "drawn, no number"
#: Verdict on a comparison -> its word after a count of one, and of several.
COUNTED = {HOLDS: ("holds", "hold"), FAILS: ("fails", "fail"), UNSURE: ("within chance", "within chance")}
COUNTED[UNTESTED] = ("cannot be made", "cannot be made")
_LEARNED = " (not shown to have learned its task)"


def tiles(judged: Sequence[Judged]) -> pd.DataFrame:
    """``TILE``, one row per claim in the order of the paper."""
    rows = [
        (
            _title(judgement.claim),
            judgement.claim.printed or _DRAWN,
            _here(judgement),
            judgement.verdict if judgement.verdict in (HOLDS, FAILS) else OPEN,
            _reason(judgement),
            *_ends(judgement.claim.numbers or _claimed(judgement.claim.check)),
            *_ends(judgement.compared["difference"].dropna()),
        )
        for judgement in judged
    ]
    return pd.DataFrame(rows, columns=list(TILE))


def _ends(numbers: Iterable[float]) -> tuple[float, float]:
    found = [float(number) for number in numbers]
    return (min(found), max(found)) if found else (math.nan, math.nan)


def _claimed(check: Check | None) -> tuple[float, ...]:
    """The differences that a claim without a number allows; infinite to one side."""
    if check is None or not check.relation:
        return ()
    sides = {"<": (-math.inf, -check.margin), ">": (check.margin, math.inf), "about": (-check.margin, check.margin)}
    return sides[check.relation]


def on_a_line(short: Mapping[str, Any]) -> dict[str, str]:
    """Left end and width of 0, the paper's mark and ours on one line, in per cent, as CSS; none if ours is lacking."""
    ends = {"zero": (0.0, 0.0)} | {of: (short[f"{of}_low"], short[f"{of}_high"]) for of in ("paper", "here")}
    finite = [end for pair in ends.values() for end in pair if math.isfinite(end)]
    room = 0.08 * (max(finite) - min(finite)) or 1.0
    least, most = min(finite) - room, max(finite) + room
    places = {
        of: [100 * (min(max(end, least), most) - least) / (most - least) for end in pair]
        for of, pair in ends.items()
        if not math.isnan(pair[0])
    }
    css = {of: f"--l: {low:.1f}; --w: {high - low:.1f}" for of, (low, high) in places.items()}
    return css if "here" in css else {}


def telling_first(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """Decided claims, then those of which a comparison was made, those with a number of ours, and the others."""

    def place(judgement: Judged) -> tuple[bool, bool, bool]:
        verdicts = judgement.compared["verdict"]
        made, ours = verdicts.isin([HOLDS, FAILS, UNSURE]).any(), judgement.compared["difference"].notna().any()
        return judgement.verdict not in (HOLDS, FAILS), not made, not ours

    return tuple(sorted(judged, key=place))


def counts(judged: Sequence[Judged]) -> dict[str, int]:
    """How many claims there are, how many of them name numbers that can be compared, and the verdicts on these."""
    checked = [judgement for judgement in judged if judgement.claim.check and judgement.claim.check.relation]
    verdicts = pd.concat([judgement.compared["verdict"] for judgement in checked] or [pd.Series(dtype=str)])
    by_verdict = {verdict: int(verdicts.eq(verdict).sum()) for verdict in (HOLDS, FAILS, UNSURE, UNTESTED)}
    return {"claims": len(judged), "checked": len(checked), **by_verdict}


def with_comparisons(judged: Sequence[Judged]) -> pd.DataFrame:
    """Every comparison of every claim, next to the claim and its ``TILE``; a claim without a check has one row."""
    rows = []
    for judgement, short in zip(judged, tiles(judged).to_dict("records"), strict=True):
        claim_row = short | {
            "says": judgement.claim.says,
            "where": judgement.claim.where,
            "against": judgement.claim.against,
        }
        claim_row |= {"asks": judgement.claim.check.asks if judgement.claim.check else ""}
        compared = judgement.compared.drop(columns="claim").rename(columns={"verdict": "comparison"}).to_dict("records")
        rows += [claim_row | row for row in compared or [{}]]
    return pd.DataFrame(rows)


def _title(claim: Claim) -> str:
    """The name of a claim, with the capitals that names of models and tasks have."""
    words = (
        claim.name.replace("albert", "ALBERT")
        .replace("roberta", "RoBERTa")
        .replace("cola ", "CoLA ")
        .replace("rte ", "RTE ")
    )
    words = words.replace("sst-2", "SST-2").replace("squad ", "SQuAD ").replace("squad-", "SQuAD-")
    return words[:1].upper() + words[1:]


def _here(judged: Judged) -> str:
    """Ours: the comparison that is closest to another verdict."""
    row, check = deciding(judged), judged.claim.check
    if row is None or check is None or pd.isna(row["difference"]):
        return ""
    if not check.relation and len(numbers := judged.compared["difference"].dropna()) > 1:
        return f"{_number(check, numbers.min())} to {_number(check, numbers.max())}"
    sides = [_number(check, row[side]) for side in ("first", "second") if pd.notna(row[side])]
    alone = _number(check, row["difference"], signed=bool(check.relation))
    numbers = " against ".join(sides) if len(sides) == 2 else alone
    named = ", ".join(PROBE_SETS.get(name, name) for name in row["compared"].split(", "))
    return numbers + (f" ({named})" if named else "")


def _number(check: Check, value: float, *, signed: bool = False) -> str:
    """A share in per cent, a difference of shares in points, all else in its own unit."""
    column = check.columns[0]
    if check.report == "changes values" or column in ("expected_layer", "k_weights", "perplexity", "log_change"):
        words = f"{value:{'+' if signed else ''}{',.0f' if abs(value) >= 100 else '.2g'}}"
    elif signed or column in ("change", "mean_change", "gain"):
        words = f"{100 * value:+.1f} points"
    else:
        words = f"{100 * value:.1f} %"
    return words.replace("-", "−")


def _reason(judged: Judged) -> str:
    """One line: what decides, or what is missing."""
    table, n = judged.compared, len(judged.compared)
    if judged.claim.unchecked:
        return judged.claim.unchecked
    if table["verdict"].eq(UNTESTED).all():
        return f"Needs {lacking(judged)}."
    by_outcome = {verdict: int(table["verdict"].eq(verdict).sum()) for verdict in COUNTED}
    parts = [f"{count} {COUNTED[verdict][count > 1]}" for verdict, count in by_outcome.items() if count]
    return f"Of {n} comparisons {', '.join(parts)}."


def lacking(judged: Judged) -> str:
    """What the comparisons of a claim name and the results do not have.

    Numbers of a model that did not learn its task, and of sentences that stand for those of the paper, may be stored
    all the same.
    """
    parts = list(dict.fromkeys("; ".join(filter(None, judged.compared["missing"])).split("; ")))
    unlearned = [part.removesuffix(_LEARNED) for part in parts if part.endswith(_LEARNED)]
    sets = [PROBE_SETS[part] for part in parts if part in PROBE_SETS]
    words = [part for part in parts if part not in PROBE_SETS and not part.endswith(_LEARNED)]
    if unlearned:
        words.append(f"{'a model' if len(unlearned) == 1 else 'models'} that learned {' and '.join(unlearned)}")
    if sets:
        words.append(f"the paper's facts of {' and '.join(sets)}")
    return ", and ".join(words)
