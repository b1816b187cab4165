"""The numbers of one family with their intervals, on which claims are judged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from probing.core.metrics import RANKS
from probing.core.stats.intervals import wilson
from probing.core.stats.paired_tests import PairedCounts, newcombe, paired_difference
from probing.core.tasks.objectives import CONTROL
from probing.reports.knowledge.forgotten_relations import forgotten, relation_forgetting
from probing.reports.knowledge.pairs.paired_layers import macro_paired_by_layer
from probing.reports.knowledge.total import total
from probing.reports.knowledge.transitions import transitions
from probing.reports.reproduction.findings import BASE
from probing.reports.reproduction.knowledge.evidence import COMPARABLE, KnowledgeEvidence
from probing.reports.reproduction.knowledge.families import Family, families_here
from probing.reports.reproduction.paper import Ours
from probing.reports.reproduction.words import points
from probing.reports.runs import choose, pairs
from probing.reports.task_success import learned
from probing.store import run_queries
from probing.store.database import Database

#: The template set of a folder in LAMA's layout: the paper's own prompts.
LAMA_TEMPLATES = "lama"
#: Pairs of objectives whose last layers a claim compares on the paper's probe sets; each other model's is compared with ranking's on T-REx.
_LAST = (("MLM-MSMARCO", "MLM-SQuAD"), ("QA-SQuAD-2", "QA-SQuAD-1"), ("MLM-SQuAD", "QA-SQuAD-2"))
#: Pairs whose curves a claim compares on the paper's probe sets; each model's is compared with the base's on T-REx.
_CURVES = (("RANK-MSMARCO", "MLM-MSMARCO"),)
_ENDS = ("value", "low", "high")
DIFFERENCE_COLUMNS = ("first", "second", "probe_set", "measure", *_ENDS)
BY_LAYER_COLUMNS = ("first", "second", "probe_set", "layer", *_ENDS)
CURVE_COLUMNS = ("objective", "relation", "layer", "k", "n", "hits")
SHARE_COLUMNS = ("measure", "count", "relations", *_ENDS)


def relation_curves(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Right answers by T-REx relation and layer: ``CURVE_COLUMNS``.

    Args:
        db: the database.
        runs: rows of ``runs`` with ``objective``.
    """
    objectives = runs[runs["probe_set"] == "trex"].set_index("run_id")["objective"]
    counted = run_queries.aggregate(db, list(objectives.index))
    counted = counted.assign(objective=counted["run_id"].map(objectives))
    tables = [counted.assign(k=k, hits=counted[f"hits_{k}"])[list(CURVE_COLUMNS)] for k in RANKS]
    return pd.concat(tables, ignore_index=True)


def with_inner_intervals(total: pd.DataFrame) -> pd.DataFrame:
    """``total`` with ``intermediate_low`` and ``intermediate_high`` over facts: Wilson's, over the facts that some layer knows."""
    ends = [_inner_ends(row) for row in total.itertuples()]
    return total.assign(
        **{
            f"intermediate_{end}": pd.Series([one[place] for one in ends], total.index, "float64")
            for place, end in enumerate(("low", "high"))
        }
    )


def _inner_ends(row) -> tuple[float | None, float | None]:
    if row.average != "micro" or pd.isna(row.intermediate_share):
        return None, None
    known, last = (round(float(share) * int(row.n)) for share in (row.total, row.last_layer))
    return wilson(known - last, known)


def shares_of_relations(relations: pd.DataFrame) -> pd.DataFrame:
    """The shares of a model's T-REx relations that double, or are best inside, with Wilson's intervals: ``SHARE_COLUMNS``."""
    n, rows = len(relations), []
    for measure in ("doubling", "authors") if n else ():
        count = int(relations[measure].astype(bool).sum())
        rows.append((measure, count, n, count / n, *wilson(count, n)))
    return pd.DataFrame(rows, columns=list(SHARE_COLUMNS))


def differences(db: Database, runs: pd.DataFrame, total: pd.DataFrame, forgotten: pd.DataFrame) -> pd.DataFrame:
    """Differences of two models in the last layer, the total and the forgotten relations: ``DIFFERENCE_COLUMNS``.

    Args:
        db: the database.
        runs, total, forgotten: rows of the reports with ``objective``.
    """
    others = [one for one in dict.fromkeys(runs["objective"]) if one not in (BASE, CONTROL, "RANK-MSMARCO")]
    ranking = [("RANK-MSMARCO", one) for one in others]
    pairs = [(*pair, name) for pair in _LAST for name in COMPARABLE] + [(*pair, "trex") for pair in ranking]
    rows = [
        *_last_layers(db, _run_pairs(runs, pairs)),
        *_forgotten([*_LAST, *ranking], forgotten),
        *_totals([("MLM-SQuAD", BASE, name) for name in ("squad", "questions")], total),
    ]
    return pd.DataFrame(rows, columns=list(DIFFERENCE_COLUMNS))


def differences_by_layer(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Differences of two models in macro P@1, layer by layer: ``BY_LAYER_COLUMNS``. Models of different depth are not compared."""
    tuned = [one for one in dict.fromkeys(runs["objective"]) if one not in (BASE, CONTROL)]
    wanted = [(one, BASE, "trex") for one in tuned] + [(*pair, name) for pair in _CURVES for name in COMPARABLE]
    depths = runs.set_index("run_id")["layers"]
    tables = [
        macro_paired_by_layer(db, second_run, first_run, 1)
        .set_axis(["layer", "n", "relations", *_ENDS], axis=1)
        .assign(first=first, second=second, probe_set=name)
        for (first, second, name), (first_run, second_run) in _run_pairs(runs, wanted).items()
        if depths[first_run] == depths[second_run]
    ]
    return pd.concat(tables, ignore_index=True)[list(BY_LAYER_COLUMNS)] if tables else pd.DataFrame(columns=list(BY_LAYER_COLUMNS))


def _run_pairs(runs: pd.DataFrame, wanted: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], tuple[str, str]]:
    """(first objective, second, probe set) -> their runs' ids, if both are stored."""
    ids = {(row.objective, row.probe_set): row.run_id for row in runs.itertuples()}
    both = {(first, second, name): (ids.get((first, name)), ids.get((second, name))) for first, second, name in wanted}
    return {key: pair for key, pair in both.items() if None not in pair}  # type: ignore[misc]


def _last_layers(db: Database, pairs: dict[tuple[str, str, str], tuple[str, str]]) -> list[tuple]:
    changes = transitions(db, [(second, first) for first, second in pairs.values()], ks=(1,)).set_index(["run_id", "base_run_id"])
    rows = [(key, changes.loc[pair]) for key, pair in pairs.items() if pair in changes.index]
    return [(*key, "last_layer", row["difference"], row["low"], row["high"]) for key, row in rows if row["n"]]


def _forgotten(pairs: Iterable[tuple[str, str]], forgotten: pd.DataFrame) -> list[tuple]:
    """Counts over the same relations: forgotten by both models, by one of them, or by neither."""
    counted = forgotten[forgotten["k"].eq(1) & forgotten["definition"].eq("authors")].set_index("objective")
    rows = []
    for first, second in pairs:
        if first in counted.index and second in counted.index and counted.at[first, "relations"] == counted.at[second, "relations"]:
            one, other = (set(counted.at[name, "names"]) for name in (first, second))
            both = len(one & other)
            neither = int(counted.at[first, "relations"]) - len(one | other)
            got = paired_difference(PairedCounts(both, len(one) - both, len(other) - both, neither))
            rows.append((first, second, "trex", "forgotten", got.value, got.low, got.high))
    return rows


def _totals(pairs: Iterable[tuple[str, str, str]], total: pd.DataFrame) -> list[tuple]:
    totals = total[total["k"].eq(1) & total["average"].eq("micro") & total["total"].notna()].set_index(["objective", "probe_set"])
    columns = ["total", "total_low", "total_high"]
    return [
        (first, second, name, "total", *newcombe(*(tuple(map(float, totals.loc[(one, name), columns])) for one in (first, second))))  # type: ignore[arg-type]
        for first, second, name in pairs
        if (first, name) in totals.index and (second, name) in totals.index
    ]


@dataclass(frozen=True)
class Gathered:
    """Report frames of one family under one kind of head, each with the column ``objective``."""

    family: Family
    runs: pd.DataFrame
    total: pd.DataFrame
    forgotten: pd.DataFrame
    relation_forgetting: pd.DataFrame
    transitions: pd.DataFrame


def measure(db: Database, base: str, head: str) -> Ours:
    """All numbers of a family under one kind of head, from the reports that the command line uses, too; ``about`` is ``Gathered``."""
    family = families_here(db)[base]
    runs = _runs(db, family, head)
    ids = tuple(runs["run_id"])
    trex = tuple(runs.loc[runs["probe_set"] == "trex", "run_id"])
    base_trex = tuple(runs.loc[(runs["probe_set"] == "trex") & (runs["model"] == family.base), "run_id"])
    reports = {
        "total": with_inner_intervals(total(db, ids, ks=(1,), averages=("macro", "micro"))),
        "forgotten": forgotten(db, trex, ks=RANKS),
        "relation_forgetting": relation_forgetting(db, base_trex, k=1),
        "transitions": transitions(db, pairs(runs), ks=(1,)),
    }
    frames = {name: _named(frame, family) for name, frame in {"runs": runs, **reports}.items()}
    origin = f"family {base}, {head} heads, all facts"
    return Ours(base, _evidence(db, family, frames), ids, origin, Gathered(family, **frames))


def _evidence(db: Database, family: Family, frames: Mapping[str, pd.DataFrame]) -> KnowledgeEvidence:
    """The evidence for the claims: models that stand for an objective of the paper, and the control."""
    tasks = _named(learned(db, tuple(family.members.values())), family)
    judged = {name: frame[frame["objective"].isin(list(family.members))] for name, frame in frames.items()}
    return KnowledgeEvidence(
        curves=relation_curves(db, judged["runs"]),
        total=judged["total"],
        forgotten=judged["forgotten"],
        relations=judged["relation_forgetting"],
        shares=shares_of_relations(judged["relation_forgetting"]),
        transitions=judged["transitions"],
        differences=differences(db, judged["runs"], judged["total"], judged["forgotten"]),
        by_layer=differences_by_layer(db, judged["runs"]),
        same_steps=family.same_steps,
        learned=dict(zip(tasks["objective"], tasks["verdict"], strict=True)),
        scores={row.objective: _score(row) for row in tasks.itertuples() if pd.notna(row.value)},
    )


def _score(row) -> str:
    """ "F1 10.8, random span 9.9"."""
    beaten = f", {row.baseline_name} {points(row.baseline)}" if pd.notna(row.baseline) else ""
    return f"{row.metric} {points(row.value)} per cent{beaten}"


def _runs(db: Database, family: Family, head: str) -> pd.DataFrame:
    """The family's runs: with LAMA's own templates for probe sets that the base was probed on with them, else with the default ones."""
    ours, theirs = (choose(db, models=family.models, heads=(head,), templates=one) for one in ("default", LAMA_TEMPLATES))
    sets = set(theirs.loc[theirs["model"] == family.base, "probe_set"])
    return pd.concat([theirs[theirs["probe_set"].isin(sets)], ours[~ours["probe_set"].isin(sets)]], ignore_index=True)


def _named(frame: pd.DataFrame, family: Family) -> pd.DataFrame:
    return frame.assign(objective=[family.objective(model) for model in frame["model"]])
