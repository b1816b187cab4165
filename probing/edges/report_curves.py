"""F1 by layer with intervals, its expected layer and spread over seeds, mixing weights, and what probes memorise."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from probing.edges import numbers, store
from probing.edges.numbers import (
    ALREADY,
    INCONCLUSIVE,
    LEAST_GAIN,
    NOT_ABOVE,
    OUTSIDE,
    SeedSpread,
    expected_layer,
    f1,
    half_layer,
    inside,
    resolved,
    seed_spread,
)
from probing.edges.store import edge_runs, score_counts, sentence_counts
from probing.edges.targets import AT, CONTROL, CUMULATIVE, KINDS, TASK
from probing.kernel.columns import Columns, floats
from probing.kernel.provenance import TRAINED
from probing.kernel.stats.intervals import CONFIDENCE
from probing.kernel.store.database import Database, remembered

DRAWS = 1000
#: Columns that are equal in runs that differ only in their seed.
GROUP = ("model", "encoder", "task", "kind", "labels")
#: P(at most k) of a Poisson number with mean 1: the number of times that a sentence is in a draw.
_POISSON = special.pdtr(np.arange(16), 1)


@dataclass(frozen=True)
class Number:
    """A number with its 95 % interval; NaN where it is not defined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class EdgeCurve:
    """F1 by layer of the runs of one model, encoder, task and kind.

    Axes: ``layers`` and ``values`` (probes,), ``drawn`` (draws, probes) for drawn seeds and sentences, ``by_seed``
    (seeds, probes); values are means over seeds.
    """

    model: str
    encoder: str
    task: str
    kind: str
    labels: str
    part: str
    seeds: int
    targets: int
    layers: NDArray[np.int64]
    values: NDArray[np.float64]
    drawn: NDArray[np.float64]
    by_seed: NDArray[np.float64]

    def number(self, of: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Number:
        """A number of the curve, (..., probes) -> (...), with the middle 95 % of its draws."""
        return number(float(of(self.values)), of(self.drawn))


def number(value: float, drawn: NDArray[np.float64]) -> Number:
    """A value with the middle 95 % of its draws; NaN draws are ignored."""
    known = drawn[~np.isnan(drawn)]
    if np.isnan(value) or not len(known):
        return Number(value, np.nan, np.nan)
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Number(value, float(low), float(high))


@remembered
def newest(db: Database) -> pd.DataFrame:
    """The newest run of each model, encoder, task, kind, labels and seed, in the order of ``edge_runs``."""
    runs = edge_runs(db)
    when = runs.assign(_when=runs["created"].fillna("").astype(str)).sort_values(
        ["_when", "run_id"], ascending=[False, True]
    )
    return runs.loc[when.drop_duplicates([*GROUP, "seed"]).index.sort_values()]


def newest_runs(
    db: Database,
    kind: str = CUMULATIVE,
    labels: str = TASK,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The newest run of each model, encoder, task and seed, of one kind of probe and one kind of labels."""
    runs = newest(db)
    runs = runs[(runs["kind"] == kind) & (runs["labels"] == labels)]
    for column, names in (("model", models), ("task", tasks)):
        runs = runs if names is None else runs[runs[column].isin(list(names))]
    return runs


def curves(
    db: Database,
    part: str,
    kind: str = CUMULATIVE,
    unseen: bool = False,
    labels: str = TASK,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> list[EdgeCurve]:
    """The curves of one kind on a part of the data, by model, task and encoder.

    Each draw takes as many seeds as there are, with replacement, and each sentence a Poisson number of times with mean
    1. This number follows from the sentence's text, so runs on the same sentences are drawn together, for every task
    and model. If predictions are stored for some seeds only, the others vary with the sentences like the mean of these.
    If they are stored for none, the counts vary as Poisson numbers, independently per layer, which gives wider
    intervals of gains. One seed does not show how much seeds vary. ``unseen`` keeps targets whose span text does not
    occur in training.
    """
    runs = newest_runs(db, kind, labels, models, tasks)
    run_ids = list(runs["run_id"])
    counts = score_counts(db, run_ids, part, unseen)
    scored = {str(run_id): rows for run_id, rows in counts.groupby("run_id", sort=False)}
    by_sentence = dict(_by_sentence(sentence_counts(db, run_ids, part, unseen), run_ids))
    edge_curves = []
    for key, group in runs.groupby(list(GROUP), sort=False):
        group_ids = [run_id for run_id in group["run_id"] if run_id in scored]
        if not group_ids:
            continue
        summed = np.array(
            [[scored[run_id][name].to_numpy() for name in ("tp", "fp", "fn")] for run_id in group_ids], dtype=np.float64
        )
        scores, first = f1(*np.moveaxis(summed, 1, 0)), scored[group_ids[0]]
        deviations = [
            _f1_drawn(*by_sentence[run_id]) - score if run_id in by_sentence else None
            for run_id, score in zip(group_ids, scores, strict=True)
        ]
        drawn = drawn_again(scores, deviations, summed, key)
        layers = first["layer"].to_numpy().astype(int)
        model, encoder, task, _, _ = (str(name) for name in key)
        about = (model, encoder, task, kind, labels, part, len(group_ids), int(first["targets"].max()))
        edge_curves.append(EdgeCurve(*about, layers, scores.mean(axis=0), drawn, scores))
    return edge_curves


def _by_sentence(
    rows: pd.DataFrame, run_ids: Sequence[str]
) -> Iterator[tuple[str, tuple[NDArray[np.uint64], NDArray[np.float32]]]]:
    """Run id -> (sentences,) their texts' numbers, (sentences, probes, 3) tp, fp and fn."""
    for place, run_rows in rows.groupby("run", sort=False):
        texts = run_rows["text"].to_numpy()
        unique_texts = np.unique(texts)
        counts = run_rows[["tp", "fp", "fn"]].to_numpy(dtype=np.float32).reshape(len(unique_texts), -1, 3)
        yield run_ids[int(str(place))], (unique_texts, counts)


def _f1_drawn(texts: NDArray[np.uint64], counts: NDArray[np.float32]) -> NDArray[np.float64]:
    """(draws, probes) F1 of drawn sentences."""
    summed = sentence_draws(texts) @ counts.reshape(len(texts), -1)
    return f1(*np.moveaxis(summed.reshape(DRAWS, -1, 3), 2, 0))


def drawn_again(
    scores: NDArray[np.float64],
    deviations: Sequence[NDArray[np.float64] | None],
    counts: NDArray[np.float64],
    key: object,
) -> NDArray[np.float64]:
    """(draws, probes) mean over drawn seeds of F1 on drawn sentences; ``key``, which the seeds share, seeds the draws.

    ``scores`` (seeds, probes); ``deviations`` per seed (draws, probes), the change due to drawn sentences, None if its
    predictions are not stored; ``counts`` (seeds, 3, probes) tp, fp and fn.
    """
    random = np.random.default_rng(zlib.crc32(repr(key).encode()))
    known = [deviation for deviation in deviations if deviation is not None]
    usual = (
        np.mean(known, axis=0)
        if known
        else f1(*random.poisson(counts.mean(axis=0)[:, None], (3, DRAWS, counts.shape[2]))) - scores.mean(axis=0)
    )
    each = np.array(
        [seed_scores + (usual if own is None else own) for seed_scores, own in zip(scores, deviations, strict=True)]
    )
    chosen = random.multinomial(len(scores), np.full(len(scores), 1 / len(scores)), size=DRAWS) / len(scores)
    return np.einsum("ds,sdp->dp", chosen, each)


def sentence_draws(texts: NDArray[np.uint64]) -> NDArray[np.float32]:
    """(draws, sentences) number of times that each sentence is drawn: the same for a text in every task."""
    return _sentence_draws(np.ascontiguousarray(texts, dtype=np.uint64).tobytes()).astype(np.float32)


@lru_cache(maxsize=16)
def _sentence_draws(texts: bytes) -> NDArray[np.uint8]:
    draws = _mixed(np.arange(1, DRAWS + 1, dtype=np.uint64))
    numbers = _mixed(draws[:, None] ^ np.frombuffer(texts, dtype=np.uint64)[None])
    uniform = (numbers >> np.uint64(11)).astype(np.float64) / 2.0**53
    return np.searchsorted(_POISSON, uniform).astype(np.uint8)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: every bit of the result depends on every bit of the number."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


_NONE = Number(np.nan, np.nan, np.nan)


def gain_of(curve: EdgeCurve) -> Number:
    """F1(L) - F1(0)."""
    return curve.number(lambda values: values[..., -1] - values[..., 0])


def expected_layer_of(curve: EdgeCurve) -> Number:
    """The expected layer with its interval; NaN if it is not resolved."""
    gain = gain_of(curve)
    if not resolved(gain.value, gain.low):
        return _NONE
    expected = curve.number(expected_layer)
    return expected if inside(expected.low, expected.high, int(curve.layers[-1])) else _NONE


def reason_of(curve: EdgeCurve, majority: float | None) -> str | None:
    """Why the expected layer is not resolved, as ``edges.numbers`` names it; None if it is.

    ``majority`` is F1 of the majority label on the same targets; None if it is not stored.
    """
    gain = gain_of(curve)
    if resolved(gain.value, gain.low):
        return None if not np.isnan(expected_layer_of(curve).value) else OUTSIDE
    ends = [curve.number(lambda values, place=place: values[..., place]) for place in (0, -1)]  # type: ignore[misc]
    if majority is not None and all(min(end.value, end.low) <= majority for end in ends):
        return NOT_ABOVE
    # A gain whose interval reaches one point may be one.
    return INCONCLUSIVE if max(gain.value, gain.high) >= LEAST_GAIN else ALREADY


def spread_of(curves: Iterable[EdgeCurve]) -> SeedSpread | None:
    """Variance over seeds of the expected layer, pooled over the curves with several seeds that resolve it."""
    several = [curve for curve in curves if curve.seeds > 1 and not np.isnan(expected_layer_of(curve).value)]
    return seed_spread(expected_layer(curve.by_seed) for curve in several)


#: A baseline that is stored for tasks whose targets have several labels: no single label is an answer there.
MEMORY_EACH = "memory-each"
_POINTS = Columns("model encoder task kind part layer last seeds targets", floats("value low high"))
HALVES = Columns("model task last", floats("half half_low half_high gain gain_low gain_high"))
_WEIGHTS = Columns("model encoder task kind layer last seeds weight normed norm")
_SELECTIVE = Columns(
    *("model encoder task kind part layer last", floats("value f1 control value_seen f1_seen control_seen")),
    Columns("targets_seen", dtype="int64"),
)
_CODES = Columns("model encoder task kind layer last seeds value bits uniform targets")


def f1_by_layer(
    db: Database,
    kind: str = CUMULATIVE,
    *,
    part: str = "dev",
    unseen: bool = False,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Micro F1 (value) of every probe, mean over seeds, with its interval over seeds and sentences; last is L."""
    rows = [point for curve in curves(db, part, kind, unseen, models=models, tasks=tasks) for point in _points(curve)]
    return _POINTS.frame(rows)


def _points(curve: EdgeCurve) -> list[tuple]:
    name = (curve.model, curve.encoder, curve.task, curve.kind, curve.part)
    points = []
    for place, layer in enumerate(curve.layers):
        number = curve.number(lambda values, place=place: values[..., place])  # type: ignore[misc]
        points.append(
            (
                *name,
                int(layer),
                int(curve.layers[-1]),
                curve.seeds,
                curve.targets,
                number.value,
                number.low,
                number.high,
            )
        )
    return points


def halves(
    db: Database,
    *,
    part: str = "dev",
    unseen: bool = False,
    models: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
) -> pd.DataFrame:
    """What all layers of a trained model add to the F1 of words alone (gain, in [-1, 1]), and the first layer with half
    of it (half), which is empty if the gain is not resolved; with intervals over seeds and sentences.
    """
    every = (curve for curve in curves(db, part, unseen=unseen, models=models, tasks=tasks) if curve.encoder == TRAINED)
    rows = []
    for curve in every:
        gain = gain_of(curve)
        half = curve.number(half_layer) if resolved(gain.value, gain.low) else _NONE
        numbers = (half.value, half.low, half.high, gain.value, gain.low, gain.high)
        rows.append((curve.model, curve.task, int(curve.layers[-1]), *numbers))
    return HALVES.frame(rows)


def weights_by_layer(db: Database, kind: str = CUMULATIVE) -> pd.DataFrame:
    """The mixing weights of the probes on all layers, mean over seeds; normed: times the layer's norm, as share."""
    runs = newest_runs(db, kind)
    mix = store.mix(db, list(runs["run_id"]))
    rows: list[tuple] = []
    for key, group in runs.groupby(["model", "encoder", "task"], sort=False):
        group_mix = mix[mix["run_id"].isin(list(group["run_id"]))]
        if group_mix.empty:
            continue
        last, seeds = int(group["layers"].max()) - 1, group_mix["run_id"].nunique()
        weights = group_mix.pivot(index="run_id", columns="layer", values="weight").to_numpy().mean(axis=0)
        norms = group_mix.pivot(index="run_id", columns="layer", values="norm").to_numpy().mean(axis=0)
        shares = numbers.times_norm(weights, norms)
        rows += [
            (*key, kind, layer, last, seeds, weights[layer], shares[layer], norms[layer])
            for layer in range(len(weights))
        ]
    return _WEIGHTS.frame(rows)


def selectivity(
    db: Database,
    kind: str = CUMULATIVE,
    *,
    part: str = "dev",
    unseen: bool = False,
    on_task: Sequence[EdgeCurve] | None = None,
) -> pd.DataFrame:
    """F1 minus that of equal probes on control labels, mean over seeds; only if control labels were trained.

    Only the control label of a text that occurs in training can be known, and the share of such targets differs between
    tasks. So tasks are compared by ``value_seen``, on these targets alone, whatever ``unseen`` is. ``on_task``: the
    curves on task labels, if they are known.
    """
    on_seen = {labels: _f1_on_seen(db, kind, part, labels) for labels in (TASK, CONTROL)}
    on_task = curves(db, part, kind, unseen) if on_task is None else on_task
    models, tasks = sorted({curve.model for curve in on_task}), sorted({curve.task for curve in on_task})
    of_control = curves(db, part, kind, unseen, CONTROL, models, tasks)
    with_control = {_name(curve): curve for curve in of_control}
    rows = []
    for curve in on_task:
        if (control := with_control.get(_name(curve))) is None:
            continue
        values = numbers.selectivity(curve.values, control.values)
        for place, layer in enumerate(curve.layers):
            scores = (values[place], curve.values[place], control.values[place])
            (own, targets), (arbitrary, _) = (
                on_seen[labels].get((*_name(curve), int(layer)), (np.nan, 0)) for labels in (TASK, CONTROL)
            )
            seen = (float(numbers.selectivity(own, arbitrary)), own, arbitrary, targets)
            rows.append((*_name(curve), kind, part, int(layer), int(curve.layers[-1]), *scores, *seen))
    return _SELECTIVE.frame(rows)


def _f1_on_seen(db: Database, kind: str, part: str, labels: str) -> dict[tuple[str, str, str, int], tuple[float, int]]:
    """(Model, encoder, task, layer) -> mean F1 over seeds, and number of targets whose span text occurs in training."""
    runs = newest_runs(db, kind, labels)
    table = store.score_counts(db, list(runs["run_id"]), part, seen=True)
    table = table.merge(runs[["run_id", "model", "encoder", "task"]], on="run_id")
    table["f1"] = numbers.f1(table["tp"], table["fp"], table["fn"])
    means = table.groupby(["model", "encoder", "task", "layer"]).agg(f1=("f1", "mean"), targets=("targets", "max"))
    return {key: (float(row["f1"]), int(row["targets"])) for key, row in means.iterrows()}


def f1_of_top(db: Database, run_ids: Sequence[str], part: str | None = None, unseen: bool = False) -> pd.DataFrame:
    """F1 of the most probable label of each target, without the threshold of 0.5: run_id, part, layer, f1_top.

    Only of runs and parts whose predictions are stored, and of tasks whose targets have one label each.
    """
    baselines, runs = store.baseline_counts(db), store.edge_runs(db)
    several = set(baselines.loc[baselines["baseline"] == MEMORY_EACH, "task"])
    chosen = runs[runs["run_id"].isin(list(run_ids)) & ~runs["task"].isin(several)]
    counts = store.top_counts(db, list(chosen["run_id"]), part, unseen)
    counts["f1_top"] = numbers.f1(counts["tp"], counts["fp"], counts["fn"])
    return counts[["run_id", "part", "layer", "f1_top"]]


def _name(curve: EdgeCurve) -> tuple[str, str, str]:
    return curve.model, curve.encoder, curve.task


def compression(db: Database, kind: str | None = None) -> pd.DataFrame:
    """How many times shorter the online code of the labels is than the uniform code, by layer, mean over seeds.

    ``kind`` None takes the cumulative probes of a model and task, else those of single layers.
    """
    runs = newest(db)
    runs = runs[
        runs["codes"].astype(bool) & (runs["labels"] == TASK) & runs["kind"].isin([kind] if kind else [CUMULATIVE, AT])
    ]
    preferred: Any = (
        runs.assign(_kind=runs["kind"].map(KINDS.index))
        .sort_values("_kind", kind="stable")
        .drop_duplicates(["model", "encoder", "task"])
    )
    chosen = set(preferred[["model", "encoder", "task", "kind"]].itertuples(index=False, name=None))
    table = store.codes(db, list(runs["run_id"])).merge(
        runs[["run_id", "model", "encoder", "task", "kind", "layers"]], on="run_id"
    )
    rows = []
    for key, group in table.groupby(["model", "encoder", "task", "kind", "layer"], sort=False):
        *name, layer = key
        if tuple(name) in chosen:
            value = float(np.mean(numbers.compression(group["uniform"], group["bits"])))
            means = (group["bits"].mean(), group["uniform"].mean(), int(group["targets"].max()))
            rows.append((*name, int(layer), int(group["layers"].max()) - 1, len(group), value, *means))
    return store.by_task(_CODES.frame(rows), "model", "task", "encoder", "layer")
