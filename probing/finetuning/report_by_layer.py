"""What every fine-tuned model lost at every layer, by several measures, and how far the layer's weights moved."""

from collections.abc import Iterator

import pandas as pd

from probing.changes.report import perplexities, values
from probing.facts.store_pairs import weight_drift
from probing.finetuning.relatives_families_of_models import tuned_models
from probing.finetuning.report_evidence import FactRuns
from probing.finetuning.report_evidence_facts_kept import facts_kept
from probing.kernel.store.database import Database
from probing.sentences.examples import FIRST, MEAN
from probing.sentences.report_changes import changes

#: Losses: a larger value is further from the base.
LOSSES = ("facts_lost", "probes_lost_first", "probes_lost_mean", "perplexity_cost", "emd", "cka_lost")
COLUMNS = ("model", "base", "objective", "stands", "control", "layer", "drift", *LOSSES, "entropy_change", "tasks")
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
    table = tuned.merge(layers, on="model").reindex(columns=list(COLUMNS))
    return table.astype(dict.fromkeys(COLUMNS[6:], "float64")).sort_values(_KEYS, ignore_index=True)


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
