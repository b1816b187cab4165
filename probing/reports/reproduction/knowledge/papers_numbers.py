"""The paper's own tables as evidence, for the same rules. Figures are not included: no number was read off a curve.

A printed number has no interval. Its only known uncertainty is its rounding, which is used as the interval: a share printed in whole
per cents is exact to half a point, and the difference of two such shares to one point.
"""

import pandas as pd

from probing.core.knowledge.published import PublishedKnowledge
from probing.reports.reproduction.findings import BASE, PAPER
from probing.reports.reproduction.knowledge.evidence import KnowledgeEvidence
from probing.reports.reproduction.knowledge.measurements import BY_LAYER_COLUMNS, CURVE_COLUMNS, DIFFERENCE_COLUMNS, SHARE_COLUMNS

#: Half of the rounding interval of a printed share.
ROUNDING = 0.005
#: Layers of the paper's models.
LAYERS = 12
_CELLS = ["objective", "probe_set", "n", "last_layer", "total"]


def papers_evidence(published: PublishedKnowledge) -> dict[str, KnowledgeEvidence]:
    """Tables 2 and 3 under our names of models and probe sets, as one side. All models count as having learned their task."""
    cells, lost = _table_3(published), _table_2(published)
    evidence = KnowledgeEvidence(
        curves=pd.DataFrame(columns=list(CURVE_COLUMNS)),
        total=_with_ends(cells),
        forgotten=lost,
        relations=pd.DataFrame(columns=["relation", "doubling", "caption", "authors", "strict"]),
        shares=_best_inside(published, lost),
        transitions=_from_base(cells),
        differences=pd.DataFrame([*_between(cells), *_lost_between(lost)], columns=list(DIFFERENCE_COLUMNS)),
        by_layer=_last_of_layers(cells),
    )
    return {PAPER: evidence}


def _table_3(published: PublishedKnowledge) -> pd.DataFrame:
    rows = []
    for row in published.table_3:
        for name, (last, total) in row.cells.items():
            one = published.probe_set(name)
            rows.append((published.objective(row.model), one.ours, one.instances, last / 100, total / 100))
    return pd.DataFrame(rows, columns=_CELLS)


def _with_ends(cells: pd.DataFrame) -> pd.DataFrame:
    last, total = cells["last_layer"], cells["total"]
    lowest, highest = ((total + by).clip(lower=ROUNDING) for by in (-ROUNDING, ROUNDING))
    return cells.assign(
        k=1,
        average="micro",
        total_low=total - ROUNDING,
        total_high=total + ROUNDING,
        intermediate_share=(total - last) / total,
        intermediate_low=(1 - (last + ROUNDING) / lowest).clip(lower=0),
        intermediate_high=1 - (last - ROUNDING).clip(lower=0) / highest,
    )


def _table_2(published: PublishedKnowledge) -> pd.DataFrame:
    rows = [
        (published.objective(row.model), k, "authors", published.table_2.divisor, count, share)
        for row in published.table_2.rows
        for k, share, count in zip(published.table_2.ranks, row.shares, row.counts, strict=True)
    ]
    return pd.DataFrame(rows, columns=["objective", "k", "definition", "relations", "forgotten", "share"])


def _best_inside(published: PublishedKnowledge, lost: pd.DataFrame) -> pd.DataFrame:
    base = lost[lost["objective"].eq(BASE) & lost["k"].eq(1)]
    rows = [
        ("authors", row.forgotten, published.table_2.divisor, row.share, row.share - ROUNDING, row.share + ROUNDING)
        for row in base.itertuples()
    ]
    return pd.DataFrame(rows, columns=list(SHARE_COLUMNS))


def _from_base(cells: pd.DataFrame) -> pd.DataFrame:
    base = cells[cells["objective"] == BASE].set_index("probe_set")["last_layer"]
    tuned = cells[cells["objective"].ne(BASE) & cells["probe_set"].isin(base.index)]
    before = tuned["probe_set"].map(base)
    change = tuned["last_layer"] - before
    return tuned.assign(
        k=1,
        base_value=before,
        value=tuned["last_layer"],
        difference=change,
        low=change - 2 * ROUNDING,
        high=change + 2 * ROUNDING,
        p_value=float("nan"),
    )[["objective", "probe_set", "k", "n", "base_value", "value", "difference", "low", "high", "p_value"]]


def _between(cells: pd.DataFrame) -> list[tuple]:
    rows = []
    for measure in ("last_layer", "total"):
        known = {name: group.set_index("objective")[measure].to_dict() for name, group in cells.groupby("probe_set", sort=False)}
        rows += [
            (first, second, name, measure, *_rounded(one - other))
            for name, values in known.items()
            for first, one in values.items()
            for second, other in values.items()
            if first != second
        ]
    return rows


def _lost_between(lost: pd.DataFrame) -> list[tuple]:
    shares = lost[lost["k"] == 1].set_index("objective")["share"].to_dict()
    return [
        (first, second, "trex", "forgotten", *_rounded(one - other))
        for first, one in shares.items()
        for second, other in shares.items()
        if first != second
    ]


def _rounded(difference: float) -> tuple[float, float, float]:
    return difference, difference - 2 * ROUNDING, difference + 2 * ROUNDING


def _last_of_layers(cells: pd.DataFrame) -> pd.DataFrame:
    """Ranking against its language model: only the last layer is printed."""
    known = cells.set_index(["objective", "probe_set"])["last_layer"]
    rows = []
    for name in dict.fromkeys(cells["probe_set"]):
        pair = [(one, name) for one in ("RANK-MSMARCO", "MLM-MSMARCO")]
        if all(one in known.index for one in pair):
            unknown = (float("nan"), -1.0, 1.0)
            printed = _rounded(known[pair[0]] - known[pair[1]])
            rows += [
                ("RANK-MSMARCO", "MLM-MSMARCO", name, layer, *(printed if layer == LAYERS else unknown)) for layer in range(1, LAYERS + 1)
            ]
    return pd.DataFrame(rows, columns=list(BY_LAYER_COLUMNS))
