"""Online code: code length of the labels under probes trained on growing data (Voita and Titov 2020).

The first of ten blocks is sent with the uniform code. Each further block is as long as all before it together, and is
sent with the probabilities of a probe that was trained on all before it; the code length is the sum. The strength of
regularisation is the same in all blocks; the sender chooses the one with the shortest code and transmits the choice.
"""

import itertools
import math

import numpy as np
import torch

from probing.sentences.probes_probes import CS
from probing.sentences.probes_scaling import scale_of, standardised
from probing.sentences.solver import solve

BLOCKS = 10


def block_ends(sentences: int) -> list[int]:
    """Ends of the blocks: a 512th, a 256th, ... a half, all; fewer blocks if there are fewer sentences."""
    return sorted({math.ceil(sentences / 2**power) for power in range(BLOCKS)})


def uniform_bits(sentences: int, classes: int) -> float:
    """Length of the uniform code: log2 of the number of labels, per sentence."""
    return sentences * math.log2(classes)


def code_lengths(train: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """(poolings, layers) bits of the online code of training labels; in their order every class should occur early."""
    ends = block_ends(len(labels))
    bits = np.zeros((*train.shape[:2], len(CS)))
    for start, end in itertools.pairwise(ends):
        if len(np.unique(labels[:start])) < classes:
            # No probe can be trained before every class has occurred.
            bits += uniform_bits(end - start, classes)
            continue
        for place in np.ndindex(*train.shape[:2]):
            mean, scale = scale_of(train[place][:start])
            path = solve(standardised(train[place][:start], mean, scale), labels[:start], classes, CS)
            sent = standardised(train[place][start:end], mean, scale)
            for number, (weights, bias) in enumerate(zip(path.weights, path.bias, strict=True)):
                bits[(*place, number)] += _bits(sent @ weights.T + bias, labels[start:end])
    return bits.min(2) + math.log2(len(CS)) + uniform_bits(ends[0], classes)


def _bits(logits: np.ndarray, labels: np.ndarray) -> float:
    """Bits of labels under a probe's probabilities; logits as (sentences, outputs)."""
    outputs = torch.from_numpy(logits).double()
    if outputs.shape[1] == 1:
        outputs = torch.cat([torch.zeros_like(outputs), outputs], 1)
    gold = torch.from_numpy(labels.astype(np.int64))
    return float(torch.nn.functional.cross_entropy(outputs, gold, reduction="sum")) / math.log(2)
