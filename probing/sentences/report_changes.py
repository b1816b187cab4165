"""What fine-tuning changed in the accuracy of probes, sentence by sentence, and where each property is read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from probing.kernel.columns import Columns, floats, integers
from probing.kernel.relatives import NAMES, StoredRuns
from probing.kernel.stats.paired_tests import PairedCounts
from probing.kernel.store.database import Database
from probing.sentences import store
from probing.sentences.examples import FIRST, MEAN, OURS, OWN
from probing.sentences.numbers import (
    LEVEL,
    Cell,
    Fate,
    above_majority,
    best_layers,
    change,
    family_q,
    fate_probes,
    fate_shares,
    group_mean,
    layer_group,
    property_fate,
    right_and_right,
    spread_about_zero,
)
from probing.sentences.report_accuracy import (
    COUNTS,
    base_runs,
    cell_of,
    counted,
    in_order,
    only,
    own_pairs,
    share,
    stored,
    tasks_of,
)
from probing.sentences.store import scores

CHANGE_COLUMNS = Columns(
    "model base objective task pooling layer base_accuracy accuracy change low high only_base only_tuned n_test p q",
    "family mean_change mean_p mean_q control_change control_spread seed_low seed_high seeds seed_range inside_control",
    "within_seeds",
)
GROUPS = Columns(
    *("model base objective task pooling group first_layer last_layer layers", floats("mean_change")),
    "significant control_change seed_low seed_high seeds",
)
TURNED = Columns("place example gold base_said tuned_said turned text pair")
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
    return in_order(only(runs.relatives.listed(table, models), task=tasks), CHANGE_COLUMNS)


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
    means = GROUPS.without("control_change seed_low seed_high seeds").frame(made)
    means = runs.relatives.with_spread(means, keys, "mean_change")
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


#: A fine-tuned model's probe and its base's -> counts.
Pairs = dict[tuple[Cell, Cell], PairedCounts]


def counts_of_runs(
    db: Database,
    tuned: pd.DataFrame,
    bases: Mapping[str, str],
    pairs_by_run: Mapping[str, Collection[tuple[Cell, Cell]]],
) -> dict[str, Pairs]:
    """Run id of a fine-tuned model -> the counts of its wanted pairs that are stored or follow from predictions.

    A run that is not in ``bases`` (run id -> run id of the base on the same test sentences) has only stored counts.
    """
    base_of = {str(row.run_id): row.base for row in tuned.itertuples()}
    counts: dict[str, Pairs] = {run: {} for run in pairs_by_run}
    for row in store.pairs(db, list(pairs_by_run)).to_dict("records"):
        if row["with_model"] == base_of[row["run_id"]]:
            counts[row["run_id"]][cell_of(row), cell_of(row, "with_")] = counted(row)
    missing = {
        run: lacking
        for run, pairs in pairs_by_run.items()
        if run in bases and (lacking := set(pairs) - set(counts[run]))
    }
    readings = {OWN, *(this.reading for pairs in missing.values() for this, _ in pairs)}
    right = right_sentences(db, [*missing, *{bases[run] for run in missing}], readings)
    for run, lacking in missing.items():
        for this, other in lacking:
            own, theirs = right.get((run, this)), right.get((bases[run], other))
            if own is not None and theirs is not None:
                counts[run][this, other] = _counted(own, theirs)
    return counts


def right_sentences(
    db: Database, run_ids: Sequence[str], readings: Collection[str]
) -> dict[tuple[str, Cell], np.ndarray]:
    """Run id and probe -> (test sentences,) 1 if right, 0 if wrong, NaN if the model cannot take the sentence."""
    rows = store.right_sentences(db, run_ids, [*readings]).to_dict("records") if run_ids else []
    return {(row["run_id"], cell_of(row)): np.array(row["right"], dtype=np.float64) for row in rows}


def _counted(this: np.ndarray, other: np.ndarray) -> PairedCounts:
    readable = ~np.isnan(this)
    return PairedCounts(*right_and_right(this[readable], other[readable]))


_TUNED = ("frozen", "own", "mlp", "mean", "best")
PROPERTY_COLUMNS = Columns(
    *("model base objective task pooling", Columns("layer", dtype="int64"), "fate undecided"),
    *(integers("needed"), Columns("counted", dtype="bool"), "why", floats("base_accuracy", _TUNED)),
    *(integers("best_layer"), floats("majority"), "n_test"),
)
NO_PREDICTIONS, NOT_TRAINED, BELOW = (
    "no predictions stored",
    "a probe was not trained",
    "the base is not above its majority",
)


def where_gone(
    db: Database, models: Sequence[str] | None = None, protocol: str = OURS, tasks: Sequence[str] | None = None
) -> pd.DataFrame:
    """The fate of every cell of fine-tuned models, with the deciding accuracies (``sentences.numbers``).

    Counts that a run does not store come from its predictions for single sentences. A run of which not all of them are
    known has no fates, and why has the reason. undecided: the step that needs most test sentences, needed their number;
    counted: whether the base's probe is significantly above its majority. Accuracies on the fine-tuned model: frozen
    (the base's probe), own, mlp (or the own one if it is as good on dev), mean (own with mean-pooling), best (own at
    its best layer, chosen on dev).
    """
    stored_runs = stored(db, protocol)
    tuned = only(stored_runs.relatives.listed(stored_runs.runs[stored_runs.runs["base"] != ""], models), task=tasks)
    probes = _probes(db, tuned, stored_runs.runs)
    bases = {run: run_probes.base_run for run, run_probes in probes.items() if run_probes.base_run}
    counts = counts_of_runs(db, tuned, bases, {run: run_probes.pairs for run, run_probes in probes.items()})
    majority = tasks_of(db, protocol).set_index("task")["majority"].to_dict()
    rows: list[dict[str, Any]] = []
    for run in tuned.to_dict("records"):
        if run_probes := probes.get(run["run_id"]):
            names = {name: run[name] for name in (*NAMES, "task")}
            rows += [
                names | cell for cell in _cells(run_probes, counts[run["run_id"]], majority.get(run["task"], np.nan))
            ]
    return in_order(PROPERTY_COLUMNS.frame(rows), PROPERTY_COLUMNS)


def where_gone_shares(
    db: Database, models: Sequence[str] | None = None, protocol: str = OURS, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Every fate's share of the cells that count and have one, grouped also by ``task`` or ``pooling`` if they are in
    ``by``.

    Shares of one model sum to 1; a model without such a cell has no row.
    """
    table = where_gone(db, models, protocol)
    keys = [*NAMES, *by]
    rows = []
    for key, cells in table[table["fate"] != ""].groupby(keys, sort=False):
        names = dict(zip(keys, key, strict=True))
        counts = cells["fate"].value_counts()
        rows += [
            names | {"fate": fate, "cells": int(counts.get(fate, 0)), "of": len(cells), "share": fate_share}
            for fate, fate_share in fate_shares(cells["fate"]).items()
        ]
    return pd.DataFrame(rows, columns=[*keys, "fate", "cells", "of", "share"])


@dataclass(frozen=True)
class _Probes:
    """Counts of single probes of a fine-tuned model; ``base_run``, on the same test sentences, is empty without one."""

    right: Mapping[Cell, int]
    dev_right: Mapping[Cell, int]
    n_test: int
    base_run: str

    @cached_property
    def steps(self) -> dict[Cell, dict[str, Cell]]:
        """Own probe -> step of its fate -> the probe that is compared with the base's own."""
        own = [cell for cell in sorted(self.dev_right) if (cell.reading, cell.portion) == (OWN, 1)]
        return {cell: fate_probes(cell, self.best[cell.pooling], self.dev_right) for cell in own}

    @cached_property
    def best(self) -> dict[str, int]:
        """Pooling -> best layer on dev."""
        return best_layers(self.dev_right)

    @property
    def pairs(self) -> set[tuple[Cell, Cell]]:
        """All pairs of ``steps``."""
        return {(this, cell) for cell, steps in self.steps.items() for this in steps.values()}

    def accuracy(self, cell: Cell) -> float:
        """Accuracy of a probe; NaN if it was not trained."""
        return share(self.right[cell], self.n_test) if cell in self.right else np.nan


def _probes(db: Database, tuned: pd.DataFrame, runs: pd.DataFrame) -> dict[str, _Probes]:
    """Run id of a fine-tuned model -> its probes."""
    sizes = {str(row.run_id): int(row.n_test) for row in runs.itertuples()}
    bases = base_runs(tuned, runs)
    probes = {}
    for run_id, rows in scores(db, list(tuned["run_id"])).groupby("run_id"):
        run = str(run_id)
        cells = {cell_of(row): row for row in rows.to_dict("records")}
        right, dev = ({cell: int(row[name]) for cell, row in cells.items()} for name in ("right", "dev_right"))
        probes[run] = _Probes(right, dev, sizes[run], bases.get(run, ""))
    return probes


def _cells(probes: _Probes, counts: Pairs, majority: float) -> list[dict[str, Any]]:
    """The rows of a run, without names."""
    steps = {cell: by_step for cell, by_step in probes.steps.items() if (cell, cell) in counts}
    # Without all counts no cell has a fate, even if an early step holds: the fates of the other cells would be missing
    # from every share.
    complete = all((this, cell) in counts for cell, by_step in steps.items() for this in by_step.values())
    trained = all(this in probes.right for by_step in steps.values() for this in by_step.values())
    lacking = "" if complete else NO_PREDICTIONS if trained else NOT_TRAINED
    rows = []
    for cell, by_step in steps.items():
        own = counts[cell, cell]
        base_right = own.both + own.second_only
        above = above_majority(base_right, own.n, majority)
        fate = Fate("")
        if above and complete:
            fate = property_fate({step: counts[this, cell] for step, this in by_step.items()}, majority)
        rows.append(
            {"pooling": cell.pooling, "layer": cell.layer, "counted": above, "why": lacking if above else BELOW}
            | {"fate": fate.name, "undecided": fate.step, "needed": fate.needed}
            | {"base_accuracy": share(base_right, own.n), "n_test": own.n, "majority": majority}
            | {step: probes.accuracy(this) for step, this in by_step.items()}
            | {"best_layer": probes.best[cell.pooling]}
        )
    return rows
