"""Losses of decoding heads after training, and losses of facts at the last layer by kind of head."""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from probing.facts.report_layers import by_layer
from probing.facts.report_pairs import ANSWER_ENDS, ENDS, joined, transitions
from probing.facts.runs import PAIR
from probing.facts.store import head_training, sums_of
from probing.facts.store_pairs import transition_counts
from probing.kernel.columns import Columns
from probing.kernel.fact import EVERY_FACT, Subset
from probing.kernel.models.names import HEADS, LOGIT_LENS
from probing.kernel.stats.paired_tests import each_interval
from probing.kernel.store.database import Database
from probing.kernel.store.stored import fact_runs

#: Of intervals over facts, and over answers, too.
_ENDS = (*ENDS, *ANSWER_ENDS)
_OF_RUN = Columns(
    (f"value{end}" for end in _ENDS), "swapped_n matched swapped", (f"above_swapped{end}" for end in _ENDS)
)
_LOST = tuple(f"{name}{end}" for name in ("lost", "lost_above") for end in _ENDS)
COLUMNS = Columns(PAIR, "k n by_fact majority", (f"base_{name}" for name in _OF_RUN), _OF_RUN, _LOST)
#: Quantity that is compared between kinds of heads -> its column.
_SAID = {"lost": "lost_above", "kept": "above_swapped"}
_SIDE = ("head", "value", "low", "high")
READ_OUT_COLUMNS = Columns(
    "model what heads", (f"{side}_{name}" for side in ("least", "most") for name in _SIDE), "apart changed"
)


def points_lost(db: Database, pairs: pd.DataFrame, k: int = 1, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Base minus fine-tuned model at the last layers, for ``pairs`` of runs; micro. Pairs without facts have no row.

    ``lost`` is base_value minus value, ``lost_above`` the base's above_swapped minus the model's; the yardsticks are
    those of ``report_layers.by_layer``, ``majority`` for P@1 only. by_fact: ``lost`` is paired fact by fact, as in
    ``transitions``; a run with counts only cannot be paired, so its interval combines the two as for independent
    shares. The interval of ``lost_above`` always does so. Ends with ``_answers`` are those if answers are drawn again,
    too, paired fact by fact and empty for counts only.
    """
    if pairs.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    run_ids = tuple(dict.fromkeys((*pairs["base_run_id"], *pairs["run_id"])))
    last = by_layer(db, run_ids, f"p_at_{k}", "micro", subset, last_only=True)
    last = last.rename(columns={end: f"value_{end}" for end in ("low", "high", "low_answers", "high_answers")})
    table = pairs[list(PAIR)].merge(last[["run_id", "n", "majority", *_OF_RUN]], on="run_id")
    of_base = last[["run_id", *_OF_RUN]].rename(
        columns={"run_id": "base_run_id", **{name: f"base_{name}" for name in _OF_RUN}}
    )
    table = table.merge(of_base, on="base_run_id").assign(k=int(k))
    for name, column in (("lost", "value"), ("lost_above", "above_swapped")):
        base, own = ([table[f"{prefix}{column}{end}"] for end in ENDS] for prefix in ("base_", ""))
        table[name], table[f"{name}_low"], table[f"{name}_high"] = joined(base, own)
    clusters = transition_counts(db, table["base_run_id"], table["run_id"], k, subset)
    clusters = clusters.groupby(["base_run_id", "run_id"], as_index=False).sum(numeric_only=True)
    clusters = table[["base_run_id", "run_id"]].merge(clusters, how="left")
    for name, value in (("lost", "more"), ("lost_above", "above_more")):
        low, high = each_interval(sums_of(clusters, value), -1, "overall")
        table[f"{name}_low_answers"], table[f"{name}_high_answers"] = -high, -low
    return _by_fact(table, transitions(db, pairs, (k,), subset))[list(COLUMNS)]


def _by_fact(table: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """The shares and their difference on the facts that both were probed on, if both store predictions fact by fact."""
    paired = counts[counts["n"] > 0].set_index(["base_run_id", "run_id"])
    keys = pd.MultiIndex.from_frame(table[["base_run_id", "run_id"]])
    there = keys.isin(paired.index)
    aligned = paired.reindex(keys).set_axis(table.index)
    table = table.assign(by_fact=there)
    signed = {"lost": -aligned["difference"], "lost_low": -aligned["high"], "lost_high": -aligned["low"]}
    for name, values in {
        "n": aligned["n"],
        "base_value": aligned["base_value"],
        "value": aligned["value"],
        **signed,
    }.items():
        table[name] = values.where(there, table[name])
    return table.astype({"n": "int64"})


def read_out(table: pd.DataFrame) -> pd.DataFrame:
    """Whether the kind of head changes the conclusion on a model: the two kinds that are furthest apart.

    Two sizes differ (``apart``) if the 95 % intervals of two kinds do not touch, which is stricter than a test of the
    difference. Only if the two also lie differently to 0 (above, below, or 0 is inside), the conclusion changes. what
    is ``lost`` (of the base's P@k minus swapped subject) or ``kept`` (the model's own P@k minus swapped subject); a
    model with fewer than two kinds has no row.
    """
    rows = []
    for model, group in table.groupby("model", sort=False):
        for what, column in _SAID.items():
            known = group.dropna(subset=[column])
            if known["head"].nunique() < 2:
                continue
            least, most = known.loc[known[f"{column}_high"].idxmin()], known.loc[known[f"{column}_low"].idxmax()]
            if least["head"] == most["head"] or least[column] > most[column]:
                # One narrow interval lies within the others: compare the values instead.
                ordered = known.sort_values(column, kind="stable")
                least, most = ordered.iloc[0], ordered.iloc[-1]
            sides = [(row["head"], *(row[f"{column}{end}"] for end in ENDS)) for row in (least, most)]
            apart, signs = bool(sides[1][2] > sides[0][3]), {int(low > 0) - int(high < 0) for _, _, low, high in sides}
            rows.append((model, what, known["head"].nunique(), *sides[0], *sides[1], apart, apart and len(signs) > 1))
    return READ_OUT_COLUMNS.frame(rows)


LOSS_COLUMNS = Columns("head seed layer loss start_loss below_lens steps seconds start")
COST_COLUMNS = Columns("head layers start steps seconds inner_loss below_lens last_loss")


def losses(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Validation loss, by layer and in nats, of the heads that the runs of one model used, one run per kind of head.

    below_lens: loss of the logit lens minus this one, as the head's own training measured it, or else another kind's.
    The kind ``logit_lens`` has the loss of the pre-trained head, which the training of another kind measured. A run
    whose head's training is not stored has no row; unknown numbers are empty.
    """
    runs = fact_runs(db)
    runs = runs[runs["run_id"].isin(list(run_ids))]
    keys = ["model", "head", "seed", "recipe"]
    stored = head_training(db)
    of_models = stored[stored["model"].isin(runs["model"])]
    read = runs.assign(
        recipe=pd.Series([_recipe_of(config) for config in runs["config"]], index=runs.index, dtype="str")
    )
    read = read[keys].drop_duplicates()
    trained = of_models.merge(read, on=keys)
    trained = trained.assign(start=[_start(str(recipe)) for recipe in trained["recipe"]])
    measured = (trained if len(trained) else of_models).dropna(subset=["lens_loss"]).drop_duplicates("layer")
    its = measured["lens_loss"]
    untrained = measured.assign(head=LOGIT_LENS, seed=0, loss=its, start_loss=its, steps=0, seconds=0.0, start="")
    table = pd.concat(
        [part for part in (trained, untrained) if len(part)] or [trained.assign(below_lens=None)], ignore_index=True
    )
    of_layer = dict(zip(measured["layer"], its, strict=True))
    # Kinds may be validated on different texts: a loss is compared with the logit lens's on the same text if both are
    # known.
    lens_loss = table["lens_loss"].astype("float64").fillna(table["layer"].map(of_layer).astype("float64"))
    table["below_lens"] = lens_loss - table["loss"].astype("float64")
    table = table.sort_values(
        ["head", "layer"], key=lambda column: column.map(HEADS.index) if column.name == "head" else column
    )
    return table[list(LOSS_COLUMNS)].reset_index(drop=True)


def _recipe_of(config: str) -> str:
    """The recipe of a run's heads; ``""`` for heads that are not trained."""
    return str(json.loads(config).get("head_recipe") or "")


def _start(recipe: str) -> str:
    """Where the training of a head began; ``""`` for a head in closed form."""
    try:
        fields: Any = json.loads(recipe)
    except ValueError:
        return ""
    return str(fields.get("start", "")) if isinstance(fields, dict) else ""


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """The cost of each kind of head, steps and seconds of all layers together, and its loss.

    seconds is empty if one layer's are not recorded; inner_loss and below_lens are means over the layers 1 to L-1.
    """
    rows = []
    for head, part in table.groupby("head", sort=False):
        last = part["layer"].max()
        inner = part[(part["layer"] > 0) & (part["layer"] < last)]
        seconds = part["seconds"].sum() if part["seconds"].notna().all() else float("nan")
        means = (inner["loss"].mean(), inner["below_lens"].mean())
        starts = ", ".join(dict.fromkeys(str(start) for start in part["start"] if start))
        rows.append(
            (
                head,
                len(part),
                starts,
                int(part["steps"].sum()),
                seconds,
                *means,
                part.loc[part["layer"] == last, "loss"].iloc[0],
            )
        )
    return COST_COLUMNS.frame(rows)
