"""Probes with random weights for any encoder: they answer, and mean nothing."""

from pathlib import Path

import torch

from probing.edges.ask import TaskProbes, probes_folder, write_probes
from probing.edges.probes import Shape, start_of
from probing.kernel.models.load import Encoder, load_encoder

#: Task -> title, number of spans, labels.
PLANTED = {
    "pos": ("Part of speech", 1, ("DT", "NN", "NNP", "VBD")),
    "entities": ("Entities", 1, ("LOC", "ORG", "PER")),
    "srl": ("Semantic roles", 2, ("ARG0", "ARG1", "ARGM-TMP")),
    "proto-roles": ("Proto-roles", 2, ("awareness", "existed_before", "volition")),
    "coreference": ("Coreference", 2, ("0", "1")),
}


def planted_probes(encoder: Encoder, task: str, weights: str = "") -> TaskProbes:
    """P(0)..P(L) of a task; each layer's probe has its own start, and logits that differ."""
    title, spans, labels = PLANTED[task]
    shape = Shape(encoder.layers, encoder.hidden, spans, 8, len(labels))
    flat = 3 * torch.stack([start_of(shape, seed) for seed in range(shape.layers)])
    f1 = tuple(0.5 + layer / 100 for layer in range(shape.layers))
    return TaskProbes(task, title, labels, (True,) * len(labels), weights or encoder.weights_id, "{}", f1, shape, flat)


def plant_probes(model: Path, cache: Path, tasks=tuple(PLANTED)) -> Encoder:
    """Writes probes of a model folder where a training would have written them; gives the model's encoder."""
    encoder = load_encoder(model, device="cpu")
    for task in tasks:
        write_probes(planted_probes(encoder, task), probes_folder(cache, encoder.weights_id, task))
    return encoder
