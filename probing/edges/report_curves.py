"""F1 by layer with bootstrap draws over seeds and sentences, for intervals of all that is computed from a curve."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from probing.edges.numbers_numbers import f1
from probing.edges.store import edge_runs, score_counts, sentence_counts
from probing.edges.targets_encoders import CUMULATIVE, TASK
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
