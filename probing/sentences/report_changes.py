"""What fine-tuning changed in the accuracy of probes, tested sentence by sentence."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.finetuning.relatives import NAMES, StoredRuns
from probing.kernel.store.database import Database
from probing.sentences import store
from probing.sentences.examples import FIRST, MEAN, OURS
from probing.sentences.numbers_fates import LEVEL
from probing.sentences.numbers_numbers import change, family_q, group_mean, layer_group, spread_about_zero
from probing.sentences.report_accuracy import COUNTS, counted, in_order, only, own_pairs, stored

COLUMNS = (
    "model",
    "base",
    "objective",
    "task",
    "pooling",
    "layer",
    "base_accuracy",
    "accuracy",
    "change",
    "low",
    "high",
    "only_base",
    "only_tuned",
    "n_test",
    "p",
    "q",
    "family",
    "mean_change",
    "mean_p",
    "mean_q",
    "control_change",
    "control_spread",
    "seed_low",
    "seed_high",
    "seeds",
    "seed_range",
    "inside_control",
    "within_seeds",
)
GROUPS = (
    "model",
    "base",
    "objective",
    "task",
    "pooling",
    "group",
    "first_layer",
    "last_layer",
    "layers",
    "mean_change",
    "significant",
    "control_change",
    "seed_low",
    "seed_high",
    "seeds",
)
TURNED = ("place", "example", "gold", "base_said", "tuned_said", "turned", "text", "pair")
_KEYS = ("task", "pooling", "layer")


def changes(
    db: Database, models: Sequence[str] | None = None, tasks: Sequence[str] | None = None, protocol: str = OURS
) -> pd.DataFrame:
    """Accuracy of fine-tuned models' own probes minus that of their base's, on the same test sentences.

    ``models`` None keeps one seed of each; ``tasks`` do not change the family of tests. The interval is Newcombe's of a
    paired difference, p McNemar's exact one, q Benjamini and Hochberg's over the ``family`` of the model's layers x
    poolings x tasks; mean_ columns are against the base's mean-pooled probe at the layer. control_change is the
    control's for the same probe, control_spread that of the control and its seeds over the layers of the task and
    pooling (``spread_about_zero``), seed_range the largest difference between seeds of one model of this base in this
    cell. inside_control: the change is no larger than the control's, within that of its seeds, or no larger than
    control_spread. within_seeds: only one seed is known, and the change is no larger than seed_range. Empty: there is
    none.
    """
    runs = stored(db, protocol)
    table = _all_changes(db, runs)
    return in_order(only(runs.relatives.listed(table, models), task=tasks), COLUMNS)


def group_means(
    db: Database, models: Sequence[str] | None = None, tasks: Sequence[str] | None = None, protocol: str = OURS
) -> pd.DataFrame:
    """Mean change of the layers 0 to L / 2, rounded down, and of the rest, as in the paper's Tables 2 and 5.

    significant is the number of layers with q of at most 5 %.
    """
    runs = stored(db, protocol)
    table = _all_changes(db, runs)
    last = table.groupby(["model", "task"])["layer"].transform("max")
    table["group"] = [layer_group(layer, top) for layer, top in zip(table["layer"], last, strict=True)]
    keys = ["task", "pooling", "group"]
    made = [
        dict(zip([*NAMES, *keys], key, strict=True))
        | {"first_layer": int(rows["layer"].min()), "last_layer": int(rows["layer"].max()), "layers": len(rows)}
        | {"mean_change": group_mean(rows["change"].tolist()), "significant": int((rows["q"] <= LEVEL).sum())}
        for key, rows in table.groupby([*NAMES, *keys], sort=False)
    ]
    means = pd.DataFrame(
        made, columns=[name for name in GROUPS if name not in ("control_change", "seed_low", "seed_high", "seeds")]
    )
    means = runs.relatives.with_spread(means.astype({"mean_change": "float64"}), keys, "mean_change")
    means = runs.relatives.with_control(means, keys, {"mean_change": "control_change"})
    means = only(runs.relatives.listed(means, models), task=tasks)
    return means.sort_values(["model", "task", "pooling", "first_layer"], ignore_index=True)[list(GROUPS)]


def turned_sentences(
    db: Database, model: str, task: str, pooling: str, layer: int, protocol: str = OURS
) -> pd.DataFrame:
    """The test sentences that only one of the own probes of a fine-tuned model and of its base has right.

    text and pair are empty if the licence forbids them. No rows if predictions for single sentences are not stored for
    both.
    """
    runs = stored(db, protocol).runs
    runs = runs[runs["task"] == task].set_index("model")
    base = str(runs["base"].get(model, ""))
    if not base or base not in runs.index:
        return pd.DataFrame(columns=list(TURNED))
    answers = [store.answers(db, str(runs.at[name, "run_id"]), pooling, layer) for name in (base, model)]
    both = (
        answers[0]
        .rename(columns={"said": "base_said"})
        .merge(answers[1].rename(columns={"said": "tuned_said"}), on="place")
    )
    table = store.examples(db, task, protocol).merge(both, on="place")
    base_right, tuned_right = table["base_said"] == table["gold"], table["tuned_said"] == table["gold"]
    table["turned"] = np.where(tuned_right, "right", "wrong")
    return table[base_right != tuned_right][list(TURNED)].reset_index(drop=True)


def _all_changes(db: Database, runs: StoredRuns) -> pd.DataFrame:
    """``changes`` of all fine-tuned models on all tasks."""
    pairs = own_pairs(runs.named(store.pairs(db, runs.run_ids)))
    table = pairs[pairs["pooling"] == pairs["with_pooling"]].reset_index(drop=True)
    against_mean = _tested(pairs[pairs["with_pooling"] == MEAN], "mean_")[
        ["run_id", "pooling", "layer", "mean_change", "mean_p"]
    ]
    table = _tested(table).merge(against_mean, on=["run_id", "pooling", "layer"], how="left")
    for p, q in (("p", "q"), ("mean_p", "mean_q")):
        table[q] = table.groupby("model")[p].transform(family_q)
    table["family"] = table.groupby("model")["p"].transform("count").astype("int64")
    n = table[list(COUNTS)].astype("int64").sum(axis=1)
    table["n_test"], known = n, n.where(n > 0).astype("float64")
    table["accuracy"] = (table["both"].astype("int64") + table["only_this"]) / known
    table["base_accuracy"] = (table["both"].astype("int64") + table["only_other"]) / known
    table = table.rename(columns={"only_this": "only_tuned", "only_other": "only_base"}).astype({"layer": "int64"})
    table = runs.relatives.with_spread(table, _KEYS, "change")
    of_control = {"change": "control_change", "seed_low": "_low", "seed_high": "_high"}
    table = runs.relatives.with_control(table, _KEYS, of_control)
    table = table.merge(_spread_of_control(runs, table), on=["base", "task", "pooling"], how="left")
    table["control_spread"] = table["control_spread"].where(table["control_change"].notna())
    size = table["change"].abs()
    small = (size <= table["control_change"].abs()) | (size <= table["control_spread"])
    several = table[table["seeds"] > 1].assign(seed_range=lambda rows: rows["seed_high"] - rows["seed_low"])
    ranges = several.groupby(["base", *_KEYS], as_index=False)["seed_range"].max()
    table = table.merge(ranges, on=["base", *_KEYS], how="left")
    return table.assign(
        inside_control=small | table["change"].between(table["_low"], table["_high"]),
        within_seeds=table["seeds"].eq(1) & (table["change"].abs() <= table["seed_range"]),
    )


def _spread_of_control(runs: StoredRuns, table: pd.DataFrame) -> pd.DataFrame:
    """Base, task, pooling -> control_spread, over the layers and seeds of its control."""
    controls = table[table["model"].map(runs.relatives.stands).isin(runs.relatives.control.values())]
    # The first token's vector at layer 0 is the same for all sentences, so its probe never changes.
    varied = controls[~(controls["pooling"].eq(FIRST) & controls["layer"].eq(0))]
    return varied.groupby(["base", "task", "pooling"], as_index=False).agg(control_spread=("change", spread_about_zero))


def _tested(pairs: pd.DataFrame, prefix: str = "") -> pd.DataFrame:
    """Pairs with the difference of the two shares, its interval and p-value."""
    rows = [change(counted(row)) for row in pairs[list(COUNTS)].to_dict("records")]
    names = [f"{prefix}{name}" for name in ("change", "low", "high", "p")]
    return pairs.join(pd.DataFrame(rows, columns=names, index=pairs.index).astype("float64"))
