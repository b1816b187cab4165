"""What fine-tuning changed: distances against scipy, replaced layers against whole models, a live sentence against one plain call."""

import copy
import re
from statistics import median

import numpy as np
from transformers import pipeline

from probing.core.changes.attention import movers_distance
from probing.models.changes.ask import ask_attention
from probing.models.changes.attention_passes import Attending
from probing.models.changes.perplexity import cross_entropy, masked_blocks, replaced_cross_entropy
from probing.models.encoders.catalogue import open_encoder
from probing.models.encoders.layer_swap import layers_of
from probing.models.encoders.load import Encoder
from probing.models.runtime.torch_settings import thread_count
from tests.reference.changes import movers_distance as by_scipy
from tests.speed.measurement import SHIPPED_MODEL, Measurement, alternate, require_equal
from tests.speed.trex_prompts import trex_prompts

SENTENCE = "The keys to the cabinet in the old house near the river are on the table , and the book is there , too ."
TUNED = "nesia-mini-rank-msmarco"


def measure(quick: bool = False) -> list[Measurement]:
    """All rows."""
    base, tuned = open_encoder("nesia-mini", device="cpu"), open_encoder(TUNED, device="cpu")
    return [distances(quick), put_back(tuned, base, quick), live(tuned, base, quick)]


def distances(quick: bool) -> Measurement:
    """Earth mover's distances of the heads of one batch of sentences."""
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.full(24, 0.3), (2, 200 if quick else 2000))
    found, wanted = movers_distance(first, second), [by_scipy(a, b) for a, b in zip(first, second, strict=True)]
    far = float(np.abs(found - wanted).max())
    require_equal(far < 1e-6, f"distances {far:.0e} apart")
    ours, theirs = alternate(
        lambda: movers_distance(first, second), lambda: [by_scipy(a, b) for a, b in zip(first, second, strict=True)], 3 if quick else 7
    )
    return Measurement(
        "earth mover's distances of attention",
        median(ours),
        "scipy.stats.wasserstein_distance call by call",
        median(theirs),
        median(theirs) / median(ours),
        20.0,
        False,
        f"distances within {far:.0e}",
        f"{len(first):,} pairs of rows of 24 tokens",
    )


def put_back(tuned: Encoder, base: Encoder, quick: bool) -> Measurement:
    """Perplexities with the last, the first and single layers replaced by the base's."""
    encoder = open_encoder("nesia-mini", device="cpu")
    lines = [re.sub(r"\[MASK\]", "it", fact.prompt) for fact in trex_prompts(encoder, 512 if quick else 2048).facts]
    blocks = masked_blocks(lines, base.tokenizer, 4 if quick else 32)
    wheres = ("last", "first", "single")

    def shared() -> np.ndarray:
        return np.stack([replaced_cross_entropy(tuned, base, where, blocks) for where in wheres])  # type: ignore[arg-type]

    def whole() -> np.ndarray:
        found = []
        for where in wheres:
            for n in range(tuned.layers):
                places = {"last": range(tuned.depth - n, tuned.depth), "first": range(n), "single": [n - 1] if n else []}[where]
                body = copy.deepcopy(tuned.body)
                for place in places:
                    layers_of(body)[place] = layers_of(base.body)[place]
                found.append(cross_entropy(body, base.head, blocks))
        return np.stack(found).reshape(len(wheres), tuned.layers, -1)

    far = float(np.abs(shared() / whole() - 1).max())
    require_equal(far < 1e-5, f"sums {far:.0e} apart")
    ours, theirs = alternate(shared, whole, 1 if quick else 3)
    return Measurement(
        "perplexity with replaced layers, states shared",
        median(ours),
        "a whole model for each number of layers",
        median(theirs),
        median(theirs) / median(ours),
        1.5,
        False,
        f"sums by block within {far:.0e}",
        f"{len(blocks)} blocks of 128 pieces, last n, first n and single layers of nesia-mini, {thread_count()} threads",
    )


def live(tuned: Encoder, base: Encoder, quick: bool) -> Measurement:
    """One sentence with attention, entropy, distance and shares of two models, against the states of one."""
    readers = Attending(tuned), Attending(base)
    pipe = pipeline("feature-extraction", model=str(SHIPPED_MODEL), device="cpu")
    states = readers[1].read([base.tokenizer(SENTENCE)["input_ids"]])[1][-1, 0]
    far = float(np.abs(states - np.array(pipe(SENTENCE)[0])).max())
    require_equal(far < 1e-3, f"states {far:.0e} apart")
    ours, theirs = alternate(lambda: ask_attention(SENTENCE, *readers), lambda: pipe(SENTENCE), 10 if quick else 60)
    return Measurement(
        "live sentence with attention of two models: ours by one call",
        median(ours),
        "one call of feature-extraction, one model",
        median(theirs),
        median(ours) / median(theirs),
        3.0,
        True,
        f"the last layer's states within {far:.0e}",
        f"medians of {len(ours)} alternating calls, {len(states)} tokens, nesia-mini, {thread_count()} threads",
    )
