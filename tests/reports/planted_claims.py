"""Evidence for the rules of the claims, planted: the paper's Tables 2 and 3 as if they had been measured, and curves that double."""

from dataclasses import replace

import pandas as pd

from probing.core.knowledge.published import PublishedKnowledge
from probing.core.stats.intervals import wilson
from probing.core.tasks.objectives import CONTROL
from probing.reports.reproduction.findings import BASE
from probing.reports.reproduction.knowledge.evidence import KnowledgeEvidence
from probing.reports.reproduction.knowledge.measurements import BY_LAYER_COLUMNS, DIFFERENCE_COLUMNS

MODELS = (BASE, "QA-SQuAD-1", "QA-SQuAD-2", "MLM-SQuAD", "RANK-MSMARCO", "MLM-MSMARCO", "NER-CoNLL", CONTROL)
PAPER = PublishedKnowledge.read()
LAYERS = 12
ENDS = ["value", "low", "high"]


def value_at(objective: str, layer: int, k: int = 1, **late: float) -> float:
    """P@k that doubles at every layer from 8 on; ``late`` multiplies a model's last third."""
    value = 0.01 * 2.0 ** max(layer - 8, 0) * (1 + layer / 100) * {1: 1, 10: 2, 100: 4}[k]
    return value * (late.get(objective.replace("-", "_"), 1.0) if layer > 8 else 1.0)


def curves(n: int = 100_000, given=None, **late: float) -> pd.DataFrame:
    """Right answers of four relations of ``n`` facts; ``given`` (objective, layer, k) -> P@k instead of ``value_at``."""
    shown = given or (lambda objective, layer, k: value_at(objective, layer, k, **late))
    rows = [
        (objective, relation, layer, k, n, round(n * shown(objective, layer, k)))
        for objective in MODELS
        for relation in ("P1", "P2", "P3", "P4")
        for layer in range(LAYERS + 1)
        for k in (1, 10, 100)
    ]
    return pd.DataFrame(rows, columns=["objective", "relation", "layer", "k", "n", "hits"])


def by_layer(margin: float = 0.001, **late: float) -> pd.DataFrame:
    """Differences of those curves, known within ``margin``."""
    pairs = [(one, BASE, "trex") for one in MODELS[1:-1]]
    pairs += [("RANK-MSMARCO", "MLM-MSMARCO", probe_set) for probe_set in ("trex", "google_re")]
    rows = []
    for first, second, probe_set in pairs:
        for layer in range(LAYERS + 1):
            apart = value_at(first, layer, **late) - value_at(second, layer, **late)
            rows.append((first, second, probe_set, layer, apart, apart - margin, apart + margin))
    return pd.DataFrame(rows, columns=list(BY_LAYER_COLUMNS))


def totals(squad: bool = True, margin: float = 0.001) -> pd.DataFrame:
    """Table 3, NER between the others, under our names of the probe sets."""
    rows = []
    for model in PAPER.models:
        for one in PAPER.probe_sets:
            cell = PAPER.knowledge(model.name, one.name) or (5, 14)
            name = one.ours if squad or one.name != "SQuAD" else one.stand_in
            last, total = (value / 100 for value in cell)
            rows.append((model.objective, name, 1, "micro", last, total, total - margin, total + margin))
    columns = ["objective", "probe_set", "k", "average", "last_layer", "total", "total_low", "total_high"]
    table = pd.DataFrame(rows, columns=columns)
    return inside(table, (table["total"] - table["last_layer"]) / table["total"], margin)


def inside(table: pd.DataFrame, share, margin: float = 0.001) -> pd.DataFrame:
    """``totals`` with another intermediate share, known within ``margin``."""
    table = table.assign(intermediate_share=share)
    return table.assign(intermediate_low=table["intermediate_share"] - margin, intermediate_high=table["intermediate_share"] + margin)


def forgotten() -> pd.DataFrame:
    """Table 2."""
    rows = [
        (PAPER.objective(row.model), k, "authors", 41, count)
        for row in PAPER.table_2.rows
        for k, count in zip(PAPER.table_2.ranks, row.counts, strict=True)
    ]
    return pd.DataFrame(rows, columns=["objective", "k", "definition", "relations", "forgotten"])


def relations(count: int = 3) -> pd.DataFrame:
    numbers = range(41)
    columns = {"doubling": 6, "authors": count, "caption": 10, "strict": 1}
    return pd.DataFrame({"relation": [f"P{n}" for n in numbers], **{name: [n < most for n in numbers] for name, most in columns.items()}})


def shares(count: int, n: int) -> pd.DataFrame:
    """``count`` of ``n`` relations double, and as many are best inside, with Wilson's interval."""
    rows = [(measure, count, n, count / n, *wilson(count, n)) for measure in ("doubling", "authors")]
    return pd.DataFrame(rows, columns=["measure", "count", "relations", *ENDS])


def transitions(change: float = -0.09, margin: float = 0.01, p: float = 1e-6, only: str = "") -> pd.DataFrame:
    """Every model 9 points below its base; ``change``, ``margin`` and ``p`` of the model ``only``, or of all."""
    rows = []
    for objective in MODELS[1:]:
        mine = (change, margin, p) if only in ("", objective) else (-0.09, 0.01, 1e-6)
        for probe_set in ("trex", "google_re"):
            by = mine[0]
            rows.append((objective, probe_set, 1, 1000, 0.29, 0.29 + by, by, by - mine[1], by + mine[1], mine[2]))
    columns = ["objective", "probe_set", "k", "n", "base_value", "value", "difference", "low", "high", "p_value"]
    return pd.DataFrame(rows, columns=columns)


def differences(margin: float = 0.001, total: pd.DataFrame | None = None, lost: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every model against every other in Tables 2 and 3, known within ``margin``."""
    total, lost = totals() if total is None else total, forgotten() if lost is None else lost
    sides = [(row.objective, row.probe_set, measure, getattr(row, measure)) for row in total.itertuples() for measure in _MEASURES]
    sides += [(row.objective, "trex", "forgotten", row.forgotten / 41) for row in lost[lost["k"] == 1].itertuples()]
    rows = [
        (first, second, probe_set, measure, one - other, one - other - margin, one - other + margin)
        for first, probe_set, measure, one in sides
        for second, its_set, its_measure, other in sides
        if first != second and (probe_set, measure) == (its_set, its_measure)
    ]
    return pd.DataFrame(rows, columns=list(DIFFERENCE_COLUMNS))


_MEASURES = ("last_layer", "total")


def evidence(**changes) -> KnowledgeEvidence:
    """All of it, known within a tenth of a point; ``changes`` replaces frames."""
    total, lost = changes.get("total", totals()), changes.get("forgotten", forgotten())
    planted = KnowledgeEvidence(
        curves(), total, lost, relations(), shares(600, 4000), transitions(), differences(total=total, lost=lost), by_layer()
    )
    return replace(planted, **changes)


WHOLE = evidence()
NOTHING = KnowledgeEvidence(
    **{
        name: getattr(WHOLE, name).iloc[:0]
        for name in ("curves", "total", "forgotten", "relations", "shares", "transitions", "differences", "by_layer")
    }
)
