"""The report of all fine-tuned models: facts kept, lost and gained, weights moved, and yardsticks."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from probing.changes.report import perplexities, values
from probing.compared.report_evidence import FactRuns, facts_kept
from probing.compared.report_heads import points_lost
from probing.facts.report_pairs import transitions
from probing.facts.store_pairs import weight_drift
from probing.kernel.columns import Columns, floats
from probing.kernel.fact import EVERY_FACT, Subset
from probing.kernel.objectives import task_of
from probing.kernel.relatives import tuned_models
from probing.kernel.store.database import Database
from probing.kernel.store.stored import stored_models
from probing.kernel.success_report import learned
from probing.sentences.examples import FIRST, MEAN
from probing.sentences.numbers import layer_group
from probing.sentences.report_changes import changes

#: Losses: a larger value is further from the base.
LOSSES = ("facts_lost", "probes_lost_first", "probes_lost_mean", "perplexity_cost", "emd", "cka_lost")
LAYER_COLUMNS = Columns("model base objective stands control layer", floats("drift", LOSSES, "entropy_change tasks"))
_KEYS = ["model", "layer"]


def by_layer(db: Database, facts: FactRuns | None, protocol: str) -> pd.DataFrame:
    """One row per fine-tuned model and layer, including controls and other seeds; unknown values are empty.

    drift: relative change of the weights; facts_lost: share of the facts that the base knows at the layer, empty
    without ``facts``; probes_lost_first and probes_lost_mean: the base's accuracy minus the model's, mean over
    ``tasks`` of them; perplexity_cost: by how much the logarithm of perplexity falls when the layer alone is put back;
    emd and entropy_change: of the first token; cka_lost: 1 minus CKA of mean-pooled sentence vectors.
    """
    tuned = tuned_models(db)
    layers = tuned[["model"]].assign(layer=0).head(0)
    for part in _parts(db, list(tuned["model"]), facts, protocol):
        layers = layers.merge(part.astype({"layer": "int64"}), on=_KEYS, how="outer")
    return LAYER_COLUMNS.frame(tuned.merge(layers, on="model")).sort_values(_KEYS, ignore_index=True)


def _parts(db: Database, models: list[str], facts: FactRuns | None, protocol: str) -> Iterator[pd.DataFrame]:
    yield weight_drift(db, models)[[*_KEYS, "drift"]]
    if facts:
        kept_rows = facts_kept(db, models, facts.head, facts.probe_set, facts.k)
        yield kept_rows.assign(facts_lost=1 - kept_rows["value"])[[*_KEYS, "facts_lost"]]
    probes = changes(db, models, protocol=protocol)
    for pooling in (FIRST, MEAN):
        of_pooling = probes[probes["pooling"] == pooling].groupby(_KEYS)
        lost = {f"probes_lost_{pooling}": -of_pooling["change"].mean()}
        yield pd.DataFrame(lost | ({"tasks": of_pooling["task"].nunique()} if pooling == FIRST else {})).reset_index()
    measured = values(db, models, ["emd-first", "cka-mean", "entropy-first"])
    by_measure = {name: rows.set_index(_KEYS) for name, rows in measured.groupby("measure")}
    if "emd-first" in by_measure:
        yield by_measure["emd-first"]["value"].rename("emd").reset_index()
    if "cka-mean" in by_measure:
        yield (1 - by_measure["cka-mean"]["value"]).rename("cka_lost").reset_index()
    if "entropy-first" in by_measure:
        yield (
            (by_measure["entropy-first"]["value"] - by_measure["entropy-first"]["base_value"])
            .rename("entropy_change")
            .reset_index()
        )
    yield _cost(perplexities(db, models))


def _cost(table: pd.DataFrame) -> pd.DataFrame:
    whole = table[table["replaced"] == "none"].set_index("model")["log_change"]
    single = table[table["replaced"] == "single"].rename(columns={"n": "layer"})
    return single.assign(perplexity_cost=single["model"].map(whole) - single["log_change"])[[*_KEYS, "perplexity_cost"]]


_COUNTS = Columns("kept lost gained never p_value")
_SCORE = Columns("verdict metric score baseline baseline_name")
MODEL_COLUMNS = Columns(
    "base model objective n by_fact",
    _COUNTS,
    "kept_share lost_share gained_share now_share net_lost net_lost_low net_lost_high net_lost_above",
    "net_lost_above_low net_lost_above_high seeds seeds_low seeds_high shuffled",
    _SCORE,
)
_SHUFFLED = "shuffled labels"


def all_models(db: Database, pairs: pd.DataFrame, k: int = 1, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """One row per fine-tuned model of ``pairs`` at the last layer, those that kept most first; unknown values are
    empty.

    Shares of what the base knows: kept, lost, gained, and now (what the model knows). Shares of all facts: net_lost
    (base minus model), net_lost_above (the same minus the swapped subject), seeds_low and seeds_high (of other
    trainings of the task), shuffled (with shuffled labels). p_value is McNemar's exact one; by_fact: single facts are
    stored.
    """
    lost = points_lost(db, pairs, k, subset)
    net = {f"lost{end}": f"net_lost{end}" for end in ("", "_low", "_high", "_above", "_above_low", "_above_high")}
    facts = transitions(db, pairs, (k,), subset)
    table = lost.rename(columns=net).merge(facts[["run_id", *_COUNTS]], on="run_id", how="left")
    known = (table["kept"] + table["lost"]).astype("float64")
    shares = {f"{part}_share": table[part] / known.where(known > 0) for part in ("kept", "lost", "gained")}
    table = table.assign(**shares, now_share=table["value"] / table["base_value"].where(table["base_value"] > 0))
    objectives = stored_models(db).drop_duplicates("model").set_index("model")["objective"].fillna("")
    table["objective"] = table["model"].map(objectives).fillna("")
    scored = learned(db).rename(columns={"value": "score"}).drop_duplicates("model")[["model", *_SCORE]]
    table = _beside(table).merge(scored, on="model", how="left")
    order = table["kept_share"].fillna(table["now_share"])
    table = table.assign(_order=order).sort_values(["_order", "model"], ascending=[False, True], ignore_index=True)
    return MODEL_COLUMNS.frame(table)


def _beside(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the net losses of other trainings of the same task, and of that with shuffled labels."""
    rows = []
    for model in table.itertuples():
        alike = table[
            (table["base"] == model.base)
            & (table["objective"].map(task_of) == task_of(model.objective))
            & (model.objective != "")
        ]
        shuffled = alike["objective"].str.contains(_SHUFFLED, regex=False)
        again = alike.loc[(alike["objective"] == model.objective) & (alike["model"] != model.model), "net_lost"]
        of_shuffled = alike.loc[shuffled & (alike["model"] != model.model), "net_lost"]
        rows.append((len(again), again.min(), again.max(), of_shuffled.mean()))
    trainings = Columns("seeds", floats("seeds_low seeds_high shuffled")).frame(rows)
    return table.join(trainings.set_index(table.index))


def drift_and_losses(layers: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """One point per fine-tuned model that stands for others: drift and the losses of ``LOSSES``, means over layers 1 to
    L.

    facts_lost is at the last layer; of a model that stores only counts (counted) it is the net loss, per fact that the
    base knows.
    """
    own = layers[layers["model"] == layers["stands"]]
    points = own[own["layer"] > 0].groupby(["model", "control"], as_index=False)[["drift", *LOSSES]].mean()
    of_facts = models.set_index("model")
    counted = 1 - of_facts["now_share"]
    lost = points["model"].map(of_facts["lost_share"])
    points["counted"] = lost.isna() & points["model"].map(counted).notna()
    points["facts_lost"] = lost.fillna(points["model"].map(counted)).astype(np.float64)
    return points


#: Measures of a model, in the order of tables.
MEASURED = ("probes_first", "probes_mean", "facts_lost", "perplexity", "emd", "entropy_change", "cka_last", "drift")
_TASK_SCORE = _SCORE.without("baseline_name")
MEASURE_COLUMNS = Columns(
    "model base objective role stands", _TASK_SCORE, MEASURED, "base_perplexity perplexity_change tasks"
)
TUNED, CONTROL, SEED, CONTROL_SEED = ROLES = ("fine-tuned", "control", "another seed", "another seed of the control")


def measures(db: Database, table: pd.DataFrame) -> pd.DataFrame:
    """One row per fine-tuned model with a measurement in ``by_layer``; controls and other seeds come last.

    Changes of accuracy (probes_first, probes_mean) are means over the upper layers and over ``tasks``; facts_lost is at
    the last layer; perplexity_change is of the logarithm; emd and entropy_change are of the first token, mean over
    layers; cka_last is mean-pooled, at the last layer; drift is the mean over layers 1 to L.
    """
    rows = [_row(model_rows) for _, model_rows in table.groupby("model", sort=False)]
    models = MEASURE_COLUMNS.without(_TASK_SCORE, "perplexity base_perplexity perplexity_change").frame(rows)
    whole = perplexities(db, list(models["model"]))
    whole = whole[whole["replaced"] == "none"].rename(columns={"log_change": "perplexity_change"})
    models = models.merge(
        whole[["model", "perplexity", "base_perplexity", "perplexity_change"]], on="model", how="left"
    )
    scored = learned(db).rename(columns={"value": "score"})[["model", *_TASK_SCORE]]
    models = models.merge(scored, on="model", how="left")
    order = models["role"].map(ROLES.index)
    return models.assign(_order=order).sort_values(["base", "_order", "model"], ignore_index=True)[
        list(MEASURE_COLUMNS)
    ]


def _row(rows: pd.DataFrame) -> dict[str, object]:
    first, last = rows.iloc[0], int(rows["layer"].max())
    upper = rows[[layer_group(int(layer), last) == "upper" for layer in rows["layer"]]]
    above, top = rows[rows["layer"] > 0], rows[rows["layer"] == last]
    other = first["stands"] != first["model"]
    role = (CONTROL_SEED if other else CONTROL) if first["control"] else (SEED if other else TUNED)
    return {
        **{name: first[name] for name in ("model", "base", "objective", "stands")},
        "role": role,
        "probes_first": -upper["probes_lost_first"].mean(),
        "probes_mean": -upper["probes_lost_mean"].mean(),
        "facts_lost": top["facts_lost"].mean(),
        "emd": above["emd"].mean(),
        "entropy_change": above["entropy_change"].mean(),
        "cka_last": 1 - top["cka_lost"].mean(),
        "drift": above["drift"].mean(),
        "tasks": rows["tasks"].max(),
    }
