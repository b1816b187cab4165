"""The paper's published F1s as evidence, for the same rules.

A published number has no interval. Its only known uncertainty is its rounding, which is used as the interval: an F1 printed to a
hundredth of a point is exact to half of that, and its draws are uniform over that range.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from probing.core.edges.published import PublishedEdges, PublishedEncoder
from probing.reports.reproduction.curve_shapes import DRAWS, Curve
from probing.reports.reproduction.edges.evidence import PLACE_COLUMNS, EdgeEvidence

#: Half of the rounding interval of a published F1, and of a published centre of gravity or K.
F1_ROUNDING, ROUNDING = 0.00005, 0.005


def papers_evidence(published: PublishedEdges) -> dict[str, EdgeEvidence]:
    """Encoder of the paper, by its title -> its numbers, each with the encoder of another depth as ``other``."""
    alone = {model.title: _of(published, model) for model in published.models}
    return {
        title: replace(one, other=next((other for name, other in alone.items() if name != title), None)) for title, one in alone.items()
    }


def _of(published: PublishedEdges, model: PublishedEncoder) -> EdgeEvidence:
    curves, places = {}, []
    for number, task in enumerate(published.tasks):
        if model.name in task.f1:
            values = np.array(task.f1[model.name]) / 100
            random = np.random.default_rng([number, model.depth])
            drawn = values + random.uniform(-F1_ROUNDING, F1_ROUNDING, (DRAWS, len(values)))
            curves[task.name] = Curve(np.arange(len(values)), values, drawn)
        for measure, numbers in (("centre_of_gravity", task.centre_of_gravity), ("k_weights", task.k_weights)):
            if model.name in numbers:
                value = numbers[model.name]
                places.append((task.name, measure, value, value - ROUNDING, value + ROUNDING))
    return EdgeEvidence(model.title, model.depth, curves, pd.DataFrame(places, columns=list(PLACE_COLUMNS)), published=True)
