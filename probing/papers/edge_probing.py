"""Published numbers of edge probing next to ours: F1 of every layer, and the summary of the paper's Figure 1."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.edges.numbers import k_gains
from probing.edges.published import PublishedEdges
from probing.edges.report_curves import Number, expected_layer_of
from probing.papers.edge_probing_encoder_numbers import EncoderNumbers

CALLED = {
    "pos": "part of speech",
    "constituents": "constituents",
    "dependencies": "dependencies",
    "entities": "entities",
    "srl": "semantic roles",
    "coreference": "coreference",
    "proto-roles": "proto-roles",
    "relations": "relations",
}

SUMMARY_COLUMNS = (
    "row",
    "model",
    "last",
    "f1_first",
    "f1_last",
    "f1_last_low",
    "f1_last_high",
    "memory",
    "majority",
    "ceiling",
    "random",
    "centre_of_gravity",
    "expected_layer",
    "expected_layer_low",
    "expected_layer_high",
    "k_weights",
    "k_gains",
)
POINT_COLUMNS = ("model", "encoder", "task", "layer", "last", "value", "low", "high")
BAR_COLUMNS = ("task", "layer", "weight", "normed", "gain")
DATA_COLUMNS = ("task", "published_data", "published_targets", "published_labels")


def scores_by_layer(tasks: Sequence[str], encoders: Sequence[EncoderNumbers]) -> pd.DataFrame:
    """One row per task and encoder, one column per probe, P(0) to P(L): F1 in %; empty above the last layer."""
    most = max((encoder.depth for encoder in encoders), default=0)
    rows = []
    for task in tasks:
        for encoder in encoders:
            if task in encoder.curves:
                values = 100 * encoder.curves[task].values
                rows.append([task, encoder.name, *values, *[np.nan] * (most - encoder.depth)])
    return pd.DataFrame(rows, columns=["task", "encoder", *(f"P({layer})" for layer in range(most + 1))])


def summary(tasks: Sequence[str], encoders: Sequence[EncoderNumbers]) -> pd.DataFrame:
    """One row per task and encoder, as in the paper's Figure 1: F1 in [0, 1], places in layers, K in bits.

    The interval of a published number is only its rounding, so it is not shown here.
    """
    rows = [_summary_row(task, encoder) for task in tasks for encoder in encoders if task in encoder.curves]
    table = pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))
    return table.astype(dict.fromkeys(SUMMARY_COLUMNS[3:], "float64"))


def _summary_row(task: str, encoder: EncoderNumbers) -> tuple:
    curve = encoder.curves[task]
    last, expected = _at(encoder, task, -1), expected_layer_of(curve)
    yardsticks = [encoder.beside.get(name, {}).get(task) for name in ("memory", "majority", "ceiling", "random")]
    return (
        task,
        encoder.name,
        encoder.depth,
        curve.values[0],
        last.value,
        *_ends(last, encoder),
        *yardsticks,
        encoder.centres.get(task),
        expected.value,
        *_ends(expected, encoder),
        encoder.k_weights.get(task),
        np.nan if np.isnan(expected.value) else float(k_gains(curve.values)),
    )


def _ends(number: Number, encoder: EncoderNumbers) -> tuple[float | None, float | None]:
    return (None, None) if encoder.published else (number.low, number.high)


def points(tasks: Sequence[str], encoders: Sequence[EncoderNumbers]) -> pd.DataFrame:
    """F1 of every probe: ``POINT_COLUMNS``, in [0, 1]."""
    rows = [
        (
            encoder.name,
            "trained",
            task,
            layer,
            encoder.depth,
            curve.values[place],
            *_ends(_at(encoder, task, place), encoder),
        )
        for task in tasks
        for encoder in encoders
        if (curve := encoder.curves.get(task)) is not None
        for place, layer in enumerate(curve.layers)
    ]
    return pd.DataFrame(rows, columns=list(POINT_COLUMNS)).astype({"low": "float64", "high": "float64"})


def _at(encoder: EncoderNumbers, task: str, place: int) -> Number:
    return encoder.curves[task].number(lambda f1: f1[..., place])


def levels(tasks: Sequence[str], ours: EncoderNumbers | None) -> pd.DataFrame:
    """The yardsticks of our data: ``task, name, value``, F1 in [0, 1]."""
    yardstick_f1 = ours.beside if ours else {}
    names = {"memory": "memory", "majority": "commonest label", "ceiling": "ceiling"}
    rows = [
        (task, label, yardstick_f1[name][task])
        for task in tasks
        for name, label in names.items()
        if task in yardstick_f1.get(name, {})
    ]
    return pd.DataFrame(rows, columns=["task", "name", "value"])


def bars(tasks: Sequence[str], encoder: EncoderNumbers) -> pd.DataFrame:
    """Weights and gains of an encoder by layer (layer 0 has no gain); published weights exist only as a drawing."""
    known = encoder.weights.set_index(["task", "layer"])["weight"]
    rows = []
    for task in tasks:
        if task in encoder.curves:
            curve = encoder.curves[task]
            gains = [np.nan, *np.diff(curve.values)]
            rows += [
                (task, int(layer), known.get((task, layer), np.nan), np.nan, gain)
                for layer, gain in zip(curve.layers, gains, strict=True)
            ]
    return pd.DataFrame(rows, columns=list(BAR_COLUMNS)).astype(dict.fromkeys(BAR_COLUMNS[2:], "float64"))


def data(published: PublishedEdges, ours: pd.DataFrame) -> pd.DataFrame:
    """Training data of the paper's probes and of ours, one row per task of the paper."""
    rows = [(task.name, task.data, task.targets, task.labels) for task in published.tasks]
    theirs = pd.DataFrame(rows, columns=list(DATA_COLUMNS)).astype(
        {"published_targets": "Int64", "published_labels": "Int64"}
    )
    return theirs.merge(ours, on="task", how="left") if len(ours) else theirs
