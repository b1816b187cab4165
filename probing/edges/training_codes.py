"""Online code: code length of the labels under probes trained on growing data (Voita and Titov 2020).

The first portion is sent with the uniform code, each further one with the probabilities of a probe that was trained on
all portions before it; the code length is the sum.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from probing.edges.probes import ProbeKey, mask_of, order_of
from probing.edges.probes_scoring import CodeScore, answers
from probing.edges.requests import EdgeRecipe
from probing.edges.states_arrays import PartArrays, TrainingData
from probing.edges.training import train_probes

#: Shares of the training part at which portions end, as in the authors' code.
ENDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
#: Sentences of the development part that decide when a portion's training ends.
CHECK_RECORDS = 500


@dataclass(frozen=True)
class Codes:
    """Code lengths in bits."""

    targets: np.ndarray  #: (portions,), number of targets in each
    bits: np.ndarray  #: (probes, portions); the first portion has the uniform code
    uniform: np.ndarray  #: (portions,)


def portions_of(arrays: PartArrays) -> list[np.ndarray]:
    """Sentences of each portion, in a fixed random order; empty portions are left out."""
    records = order_of(arrays.records(), 0)
    counts = np.array([len(arrays.of_records(np.array([record]))) for record in records])
    reached = np.cumsum(counts)
    ends = np.searchsorted(reached, np.array(ENDS) * reached[-1], side="left") + 1
    ends[-1] = len(records)
    cuts = sorted({0, *(int(end) for end in ends)})
    return [records[start:end] for start, end in itertools.pairwise(cuts)]


def online_codes(
    data: TrainingData,
    keys: Sequence[ProbeKey],
    recipe: EdgeRecipe,
    device: torch.device,
    folder: Path,
    passed: Callable[[int, int], None] | None = None,
) -> Codes:
    """Code length of the training labels under each probe; that of the development part stops each training.

    ``folder`` keeps finished portions, so that a killed run resumes; ``passed`` gets the numbers of coded and of all
    portions.
    """
    portions = portions_of(data.train)
    kinds = data.train.gold.shape[2]
    # No probe can predict a label that only the development part has.
    one_label = bool((data.train.gold[0].sum(1) == 1).all() and (data.dev.gold[0].sum(1) <= 1).all())
    score = CodeScore(one_label)
    recipe = recipe.model_copy(update={"check_records": min(recipe.check_records, CHECK_RECORDS)})
    sizes = np.array([len(data.train.of_records(np.sort(portion))) for portion in portions])
    uniform = sizes * (np.log2(kinds) if one_label else kinds)
    bits = np.zeros((len(keys), len(portions)))
    bits[:, 0] = uniform[0]
    mask = mask_of(keys, data.train_states.layers).to(device)
    for number in range(1, len(portions)):
        before = np.sort(np.concatenate(portions[:number]))
        part = _only(data.train, data.train.of_records(before))
        trained = train_probes(
            replace(data, train=part), keys, recipe, device, folder / f"portion-{number:02d}.safetensors", score
        )
        now = data.train.of_records(np.sort(portions[number]))
        for chosen, logits in answers(
            trained.flat.to(device), trained.shape, mask, data.train, data.train_states, now, device
        ):
            gold = torch.from_numpy(data.train.gold[:1, chosen]).to(device).float()
            bits[:, number] += score.bits(logits, gold.expand_as(logits)).sum(1).double().cpu().numpy()
        if passed:
            passed(number, len(portions) - 1)
    return Codes(sizes, bits, uniform)


def _only(arrays: PartArrays, targets: np.ndarray) -> PartArrays:
    """Some targets of a part, in their order."""
    spans = []
    for span in arrays.spans:
        pieces, owners = span.of(targets)
        spans.append(
            replace(
                span,
                starts=np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(targets)))]),
                pieces=pieces,
            )
        )
    return replace(
        arrays,
        spans=tuple(spans),
        gold=arrays.gold[:, targets],
        unknown=arrays.unknown[targets],
        record=arrays.record[targets],
        target=arrays.target[targets],
    )
