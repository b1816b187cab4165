"""Time of the traces of all tasks for a typed sentence, against one call of ``fill-mask`` on the same sentence."""

from pathlib import Path
from statistics import median, quantiles

import numpy as np
import torch

from probing.core.edges.target import Record, Target
from probing.models.edges.ask import ask_sentence
from probing.models.edges.files import TaskProbes
from probing.models.edges.probes import Shape, start_of, unpacked
from probing.models.edges.states import cut_words
from probing.models.encoders.load import Encoder, load_encoder
from probing.models.runtime.torch_settings import thread_count
from tests.reference.edge_training import PaddedProbe, StepByStep
from tests.speed.edge_slices import SIZES, Size
from tests.speed.fill_mask import fill_mask
from tests.speed.measurement import SHIPPED_MODEL, Measurement, alternate, random_bert_base, require_equal
from tests.speed.trex_prompts import bench_folder

#: The first sentence of the paper's Figure 3, with two single words, which every task fits.
TEXT = "he smoked toronto in the playoffs with six hits , seven walks and eight stolen bases"
WORDS = tuple(TEXT.split())
SPANS = (1, 2), (2, 3)
MASKED = 5
BOUND = 2.0
NEAR = 1e-4


def measure(quick: bool = False) -> list[Measurement]:
    """A trace at both sizes; the probes have random parameters, which do not change the time."""
    rounds = 5 if quick else 50
    sides: tuple[tuple[str, Path, int], ...] = (("nesia-mini", SHIPPED_MODEL, 128), ("nesia-mini", SHIPPED_MODEL, 256))
    sides += (("BERT-base's size", random_bert_base(bench_folder()), 256),)
    return [_row(name, folder, width, rounds) for name, folder, width in sides]


def _row(name: str, folder: Path, width: int, rounds: int) -> Measurement:
    encoder, pipe = load_encoder(folder, device="cpu"), fill_mask(folder)
    probes = [probes_of(size, encoder, width) for size in SIZES]
    text = " ".join((*WORDS[:MASKED], encoder.tokenizer.mask_token, *WORDS[MASKED + 1 :]))
    ours, theirs = alternate(lambda: ask_sentence(encoder, probes, WORDS, *SPANS), lambda: pipe(text), rounds)
    far = max(_far(size, one, encoder, width) for size, one in zip(SIZES, probes, strict=True))
    require_equal(far < NEAR, f"{name}: probabilities of a trace are up to {far:.1e} from those of plain torch")
    spread = "; ".join(
        f"{who} {q[0] * 1000:.0f} to {q[2] * 1000:.0f} ms" for who, q in (("ours", quantiles(ours)), ("theirs", quantiles(theirs)))
    )
    tokens = len(cut_words([WORDS], encoder)[0].ids)
    answers = len(ask_sentence(encoder, probes, WORDS, *SPANS))
    return Measurement(
        f"edge trace, {len(probes)} tasks x {encoder.layers} layers, probes {width} wide, {name}: ours by one call",
        median(ours),
        "one call of fill-mask, last layer alone",
        median(theirs),
        median(ours) / median(theirs),
        BOUND,
        True,
        f"sentence; probabilities of every task at the last layer within {far:.0e} of plain torch",
        f"medians of {rounds} alternating calls, {answers} answers, {tokens} tokens, {thread_count()} threads; middle half {spread}",
    )


def probes_of(size: Size, encoder: Encoder, width: int) -> TaskProbes:
    """Untrained probes of one task, with a different start per layer."""
    layers = encoder.layers
    shape = Shape(layers, encoder.hidden, len(size.words), width, size.labels)
    flat = torch.stack([start_of(shape, seed) for seed in range(layers)])
    return TaskProbes(
        size.task, size.task, tuple(size.names), (True,) * size.labels, encoder.weights_id, "{}", (0.0,) * layers, shape, flat
    )


def _far(size: Size, probes: TaskProbes, encoder: Encoder, width: int) -> float:
    """Distance of the last layer's probabilities from those of the plain probe on the same sentence."""
    spans = SPANS[: len(size.words)]
    record = Record(WORDS, (Target(spans[0], spans[1] if len(spans) == 2 else None, ()),))
    given = {name: one[-1] for name, one in unpacked(probes.flat, probes.shape).items()}
    probe = PaddedProbe(encoder.depth, encoder.hidden, len(size.words), width, size.labels, 0.0).take(given).eval()
    with torch.inference_mode():
        wanted = torch.sigmoid(StepByStep(encoder.body, probe, size.names, 0.0, 1.0).logits([record], cut_words([WORDS], encoder)))[0]
    (found,) = (one for one in ask_sentence(encoder, [probes], WORDS, *SPANS) if one.task == size.task and one.spans == spans)
    return float(np.abs(found.p[-1] - wanted.numpy()).max())
