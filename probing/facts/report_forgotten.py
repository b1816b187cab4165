"""Forgotten relations: their number by each definition, and each definition's verdict on each relation."""

from collections.abc import Sequence
from statistics import NormalDist

import pandas as pd

from probing.facts.forgotten import DEFINITIONS, Forgetting, RelationLayers, doubles, forgetting, share_forgotten
from probing.facts.runs import IDENTITY, identities
from probing.facts.store import relations
from probing.facts.store_pairs import against_last, relation_exposures
from probing.facts.totals import hits_of, onset
from probing.kernel.columns import Columns, floats
from probing.kernel.fact import EVERY_FACT, EXPOSURES, Subset
from probing.kernel.metric import RANKS
from probing.kernel.stats.intervals import wider
from probing.kernel.stats.paired_tests import PairedCounts
from probing.kernel.store.database import Database

_EXPOSURES = {name: name.replace(" ", "_") for name in (*EXPOSURES, "unknown")}
COLUMNS = Columns(IDENTITY, "k definition relations forgotten share names")
RELATION_COLUMNS = Columns(
    Columns("run_id model head probe_set relation label cardinality n", floats("last best_inner")),
    Columns("best_layer", floats("drop"), DEFINITIONS, floats("p_authors p_strict"), "family_size doubling"),
    _EXPOSURES.values(),
)


def forgotten(
    db: Database,
    run_ids: Sequence[str],
    ks: Sequence[int] = RANKS,
    definitions: Sequence[str] = DEFINITIONS,
    subset: Subset = EVERY_FACT,
) -> pd.DataFrame:
    """How many relations the last layer has forgotten, one row per run, k and definition.

    A run with a single relation, or without inner layers, has no row. The share under ``authors`` is divided by one
    relation more than there are, as in their code: by 42 on T-REx.
    """
    rows = []
    runs = list(identities(db, run_ids).itertuples(index=False))
    for k in ks:
        by_run = _judged(db, [run.run_id for run in runs], k, subset)
        for run in runs:
            judged = by_run.get(run.run_id, [])
            if len(judged) < 2:
                continue
            for definition in definitions:
                names = tuple(sorted(relation.relation for relation in judged if getattr(relation, definition)))
                share = share_forgotten(definition, len(names), len(judged), run.probe_set)
                rows.append((*run, int(k), definition, len(judged), len(names), share, names))
    found_rows = COLUMNS.frame(rows)
    return found_rows.sort_values(["model", "head", "seed", "probe_set", "k"], kind="stable").reset_index(drop=True)


def relation_forgetting(db: Database, run_ids: Sequence[str], k: int = 1, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Every relation of every run with the verdicts of the three definitions, and its facts by exposure.

    drop: best inner minus last; p_authors and p_strict: smallest adjusted p-value of the layers above the last;
    doubling: of P@1, whatever k is.
    """
    runs = list(identities(db, run_ids).itertuples(index=False))
    ids = [run.run_id for run in runs]
    judged = _judged(db, ids, k, subset)
    first = judged if k == 1 else _judged(db, ids, 1, subset)
    twice = {
        (run_id, relation.relation): _doubles(relation)
        for run_id, all_of_run in first.items()
        for relation in all_of_run
    }
    named = relations(db).set_index(["probe_set", "relation"])[["label", "cardinality"]].to_dict("index")
    sizes = relation_exposures(db, ids, subset).set_index(["run_id", "relation", "exposure"])["n"].to_dict()
    rows = []
    for run in runs:
        for relation in judged.get(run.run_id, []):
            # The file of facts may be damaged.
            unnamed = {"label": relation.relation, "cardinality": ""}
            name = named.get((run.probe_set, relation.relation), unnamed)
            rows.append(
                (
                    run.run_id,
                    run.model,
                    run.head,
                    run.probe_set,
                    relation.relation,
                    name["label"],
                    name["cardinality"],
                    relation.n,
                    relation.last,
                    relation.best_inner,
                    relation.best_layer,
                    relation.drop,
                    relation.caption,
                    relation.authors,
                    relation.strict,
                    relation.p_authors,
                    relation.p_strict,
                    relation.family_size,
                    twice[run.run_id, relation.relation],
                    *(int(sizes.get((run.run_id, relation.relation, exposure), 0)) for exposure in _EXPOSURES),
                )
            )
    return RELATION_COLUMNS.frame(rows)


def by_model(table: pd.DataFrame, definition: str, order: Sequence[str]) -> pd.DataFrame:
    """One row per model: ``model, relations``, and for each k ``P@k``, the share of forgotten ones, and ``n P@k``."""
    of_definition = table[table["definition"] == definition]
    rows = []
    for model in sorted(of_definition["model"].unique(), key=list(order).index):
        of_model = of_definition[of_definition["model"] == model].set_index("k")
        row = {"model": model, "relations": int(of_model["relations"].iloc[0])}
        for k in RANKS:
            row |= {
                f"P@{k}": float(of_model["share"].get(k, float("nan"))),
                f"n P@{k}": int(of_model["forgotten"].get(k, 0)),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def with_yardsticks(table: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """The relations of one run with where they appear (``facts.totals``), and with what guessing gives.

    ``points`` are of ``precision_by_relation``, of the same run and k. above_guess: whether the best inner layer is
    above the majority answer, or where that is not defined above the swapped subject, by its 95 % interval. The layer
    is chosen for its value, so the half width of the interval is widened as Bonferroni asks for that many inner layers.
    Empty if no yardstick is defined.
    """
    final = int(points["layer"].max())
    lines = points.dropna(subset=["value"]).groupby("relation")
    onsets = {relation: onset(dict(zip(line["layer"], line["value"], strict=True)), final) for relation, line in lines}
    last = points.loc[points["layer"] == final, ["relation", "majority", "swapped"]].rename(
        columns={"swapped": "swapped_last"}
    )
    table = table.assign(
        best_layer=pd.to_numeric(table["best_layer"]), onset=table["relation"].map(onsets).astype("Int64")
    )
    inner = (
        wider(points).astype({"layer": "float64"}).rename(columns={"layer": "best_layer", "swapped": "swapped_inner"})
    )
    floor = next(
        (column for column in ("above_majority", "above_swapped") if inner[f"{column}_low"].notna().any()),
        "above_swapped",
    )
    factor = NormalDist().inv_cdf(1 - 0.025 / max(final - 1, 1)) / NormalDist().inv_cdf(1 - 0.025)
    low = inner[floor] - (inner[floor] - inner[f"{floor}_low"]) * factor
    inner = inner.assign(above_guess=(low > 0).astype("boolean").where(low.notna()))
    joined = table.merge(last, on="relation", how="left")
    return joined.merge(
        inner[["relation", "best_layer", "swapped_inner", "above_guess"]], on=["relation", "best_layer"], how="left"
    )


def _judged(db: Database, run_ids: Sequence[str], k: int, subset: Subset) -> dict[str, list[Forgetting]]:
    """Run id -> its relations, judged as one family."""
    layers: dict[str, dict[str, dict[int, PairedCounts]]] = {}
    for row in against_last(db, run_ids, k, subset).itertuples(index=False):
        counts = PairedCounts(int(row.both), int(row.inner_only), int(row.last_only), int(row.neither))
        layers.setdefault(row.run_id, {}).setdefault(row.relation, {})[int(row.layer)] = counts
    return {
        run_id: forgetting([RelationLayers(name, counts) for name, counts in own.items()])
        for run_id, own in layers.items()
    }


def _doubles(relation: Forgetting) -> bool:
    if relation.last is None or relation.best_inner is None:
        return False
    return doubles(hits_of(relation.last, relation.n), hits_of(relation.best_inner, relation.n))
