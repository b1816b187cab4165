"""Rules for the claims on what layers hold; their words are in ``claims``."""

import numpy as np
import pandas as pd

from probing.core.tasks.objectives import CONTROL
from probing.reports.reproduction import curve_shapes
from probing.reports.reproduction.decisions import UNTESTED, Interval, at_least, at_most, between, every, intervals, more, verdict
from probing.reports.reproduction.findings import BASE, Finding
from probing.reports.reproduction.knowledge.evidence import KnowledgeEvidence, beside_majority, named, ranged, set_named
from probing.reports.reproduction.words import points

#: The paper's 17 to 60 per cent of its abstract, and what its Table 3 gives.
INNER, INNER_OF_TABLE_3 = (0.17, 0.60), (0.15, 0.67)
#: How far "about 15 per cent" and "about 7 per cent" reach.
ABOUT = 0.05
SIMILAR, OPPOSED = 0.8, -0.5


def inner_layers(evidence: KnowledgeEvidence) -> Finding:
    """Is the intermediate share of every model and probe set within the abstract's 17 to 60 per cent?"""
    table = evidence.total
    kept = table["k"].eq(1) & table["average"].eq("micro") & table["probe_set"].isin(evidence.sets) & table["objective"].ne(CONTROL)
    table = table[kept & table["intermediate_share"].notna()].reset_index(drop=True)
    if table.empty:
        return Finding(UNTESTED, "No model of this family knows a fact of the paper's probe sets at any layer.")
    share = table["intermediate_share"].astype("float64")
    answers = [between(one, *INNER) for one in intervals(table, ["intermediate_share", "intermediate_low", "intermediate_high"])]
    wide = int(share.between(*INNER_OF_TABLE_3).sum())
    low, high = table.loc[share.idxmin()], table.loc[share.idxmax()]
    base = share[table["objective"] == BASE]
    mean = f" The base's mean is {points(base.mean())} per cent, which includes what inner layers find by chance." if len(base) else ""
    words = (
        f"{points(share.min())} per cent ({named(low['objective'])}, {set_named(low['probe_set'])}) to {points(share.max())} "
        f"({named(high['objective'])}, {set_named(high['probe_set'])}), including what chance adds. "
        f"Of {len(share)} intervals {answers.count(True)} lie inside 17 to 60, {answers.count(False)} outside it and "
        f"{answers.count(None)} across its ends; {wide} of the shares are in Table 3's range of 15 to 67.{mean}"
    )
    return Finding(verdict(every(answers)), words, table, _null(table))


def _null(table: pd.DataFrame) -> str:
    """How much of what only inner layers know is also found with a swapped subject."""
    table = table.reindex(columns=[*table.columns, *({"inner_own", "inner_swapped", "inner_n"} - set(table.columns))])
    measured = table[table["inner_n"].fillna(0).gt(0)]
    if measured.empty:
        return "The paper has no such control: how much of this share inner layers would find by guessing is not known."
    cells = []
    for probe_set, rows in measured.groupby("probe_set", sort=False):
        own = "; ".join(f"{named(row.objective)} {_against(row)}" for row in rows.itertuples())
        cells.append(f"{set_named(probe_set)}: {own}.")
    unknown = f" Not measured for {len(table) - len(measured)} of {len(table)}." if len(measured) < len(table) else ""
    return (
        "Percentage of the facts missed by the last layer with both prompts for which some inner layer puts the answer first, with the "
        "fact's own subject and with a swapped one. In brackets: how much of this gain the subject explains. "
        f"{' '.join(cells)}{unknown} What the subject does not explain is guessing. The paper has no such control."
    )


def _against(row) -> str:
    own, swapped = int(row.inner_own), int(row.inner_swapped)
    part = f" ({100 * max(own - swapped, 0) / own:.0f} per cent)" if own else ""
    return f"{points(own / row.inner_n)} own, {points(swapped / row.inner_n)} swapped{part}"


def doubling(evidence: KnowledgeEvidence) -> Finding:
    """Do about 15 per cent of the base's T-REx relations double in the last layer?"""
    return _share_of_relations(evidence, "doubling", 0.15, "double in the last layer")


def best_inside(evidence: KnowledgeEvidence) -> Finding:
    """Are about 7 per cent of the base's T-REx relations best in an inner layer?"""
    found = _share_of_relations(evidence, "authors", 0.07, "are best in an inner layer as the authors count")
    if evidence.relations.empty:
        return found
    also = ", ".join(f"{int(evidence.relations[name].sum())} by the {words}" for name, words in _OTHER_DEFINITIONS)
    return Finding(found.verdict, f"{found.numbers} {also}.", found.table)


_OTHER_DEFINITIONS = (("caption", "caption of Table 2"), ("strict", "strict test"))


def _share_of_relations(evidence: KnowledgeEvidence, measure: str, wanted: float, words: str) -> Finding:
    row = evidence.shares[evidence.shares["measure"] == measure]
    if row.empty:
        return Finding(UNTESTED, "The base was not probed on T-REx.")
    (share,) = intervals(row)
    count, relations = (int(row[name].iloc[0]) for name in ("count", "relations"))
    said = f"{count} of {relations} T-REx relations, {ranged(share)} per cent, {words}."
    table = evidence.relations if len(evidence.relations) else row
    return Finding(verdict(between(share, wanted - ABOUT, wanted + ABOUT)), said, table)


def exponential_growth(evidence: KnowledgeEvidence) -> Finding:
    """Does the base's P@1 on T-REx rise at every layer of the last third, and more like an exponential than like a line?"""
    counts = evidence.curves[evidence.curves["objective"].eq(BASE) & evidence.curves["k"].eq(1)]
    if counts.empty:
        return Finding(UNTESTED, "The base was not probed on T-REx.")
    ((_, _, curve),) = curve_shapes.curves_of(counts)
    start = 2 * int(curve.layers.max()) // 3
    late = curve.since(start)
    table = pd.DataFrame({"layer": late.layers, "value": late.values})
    words = f"P@1 from layer {start} on: {', '.join(points(value) for value in late.values)} per cent{beside_majority(evidence)}."
    if len(late.values) < 4 or (late.values <= 0).any():
        return Finding(UNTESTED, f"{words} At least four layers, each with a right answer, are needed.", table)
    rise, bend = (curve_shapes.interval(one(late.values[None]), one(late.drawn)) for one in (curve_shapes.smallest_rise, curve_shapes.bend))
    assert rise and bend
    line, exponential = curve_shapes.misses(late.values[None])
    words += (
        f" The smallest step from one layer to the next is {ranged(rise)} points. The best exponential misses the curve by "
        f"{100 * exponential[0]:.2f} points (root mean square), the best line by {100 * line[0]:.2f}: {100 * bend.value:.2f} "
        f"({100 * bend.low:.2f} to {100 * bend.high:.2f}) more."
    )
    return Finding(verdict(every([more(rise, 0), more(bend, 0)])), words, table)


def other_ranks(evidence: KnowledgeEvidence) -> Finding:
    """Do the curves of P@10 and P@100 rise and fall with that of P@1, model by model?"""
    counts = evidence.curves[evidence.curves["objective"].isin([BASE, *evidence.tuned])]
    curves = {(objective, k): curve for objective, k, curve in curve_shapes.curves_of(counts)}
    both = {key: (curves.get((key[0], 1)), curve) for key, curve in curves.items() if key[1] > 1}
    correlated = {key: curve_shapes.similarity(*pair) if pair[0] else None for key, pair in both.items()}  # type: ignore[arg-type]
    rows = [(*key, one.value, one.low, one.high) for key, one in correlated.items() if one]
    table = pd.DataFrame(rows, columns=["objective", "k", "correlation", "low", "high"])
    if table.empty:
        return Finding(UNTESTED, "No curve on T-REx rises or falls at all.", table)
    answers = [at_least(one, SIMILAR) for one in intervals(table, ["correlation", "low", "high"])]
    least = table.loc[table["correlation"].idxmin()]
    words = (
        f"Rank correlation with P@1's curve on T-REx: smallest {least['correlation']:.2f} ({least['low']:.2f} to {least['high']:.2f}; "
        f"{named(least['objective'])}, P@{least['k']}). Of {len(table)} curves {answers.count(True)} are surely at 0.8 or more, "
        f"{answers.count(False)} surely below."
    )
    return Finding(verdict(every(answers)), words, table)


def inside_against_total(evidence: KnowledgeEvidence) -> Finding:
    """Across models, does a higher total go with a smaller intermediate share?"""
    rows = []
    for probe_set in evidence.sets:
        cells = [[evidence.known(one, probe_set, column) for column in ("total", "intermediate")] for one in (BASE, *evidence.tuned)]
        whole = [(total, share) for total, share in cells if total and share]
        found = _correlated(whole) if len(whole) >= 4 else None
        if found:
            rows.append((probe_set, len(whole), found.value, found.low, found.high))
    table = pd.DataFrame(rows, columns=["probe_set", "models", "correlation", "low", "high"])
    if table.empty:
        return Finding(UNTESTED, "Fewer than four models were probed on one probe set.", table)
    answers = [at_most(one, OPPOSED) for one in intervals(table, ["correlation", "low", "high"])]
    cells_ = (
        f"{set_named(row.probe_set)} {row.correlation:.2f} ({row.low:.2f} to {row.high:.2f}; {row.models} models)"
        for row in table.itertuples()
    )
    return Finding(verdict(every(answers)), f"Rank correlation of total and intermediate share: {', '.join(cells_)}.", table)


def _correlated(cells: list[tuple[Interval, Interval]]) -> Interval | None:
    """Spearman's correlation over models, each number drawn uniformly from its interval."""
    random = np.random.default_rng(0)
    known, drawn = [], []
    for column in zip(*cells, strict=True):
        value, low, high = (np.array([getattr(one, end) for one in column]) for end in ("value", "low", "high"))
        known.append(value[None])
        drawn.append(random.uniform(low, high, (curve_shapes.DRAWS, len(cells))))
    return curve_shapes.interval(curve_shapes.correlations(*known), curve_shapes.correlations(*drawn))
