"""Stored probes of every layer, and their predictions for spans of one sentence."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError

from probing.edges.probes import ProbeKey, Shape, logits_of, mask_of, unpacked
from probing.edges.requests import BITS
from probing.edges.states import ArrayStates, Batch, Cut, batch_of, cut_words, lexical_states, part_arrays
from probing.edges.targets import CUMULATIVE, TASK, Part, Record, Span, Target
from probing.edges.tasks import EDGE_TASKS, fits
from probing.edges.words import SpanTrace
from probing.kernel.errors import EdgeDataError, HeadError, ModelError
from probing.kernel.models.arrays import find_probe_files, read_probe_file, write_probe_file
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states
from probing.kernel.questions import with_masks
from probing.kernel.registry import REPOSITORY
from probing.kernel.text import refuse_half_characters

#: Shipped probes: one folder per model, with the model's name.
SHIPPED = REPOSITORY / "data" / "edges"
_SCALE, _PACKED = ".scale", ".packed"


@dataclass(frozen=True)
class TaskProbes:
    """The probes P(0)..P(L) of one task, ready for prediction."""

    task: str
    title: str
    labels: tuple[str, ...]
    counts: tuple[bool, ...]  #: for each label, whether F1 counts it
    weights: str  #: identity of the encoder that they were trained on
    recipe: str  #: canonical JSON
    f1: tuple[float, ...]  #: (layers,), on the development part
    shape: Shape
    flat: torch.Tensor  #: (layers, size) parameters

    @property
    def mask(self) -> torch.Tensor:
        """(layers, layers), as ``mask_of`` makes it."""
        keys = [ProbeKey(CUMULATIVE, layer, TASK, 0) for layer in range(self.shape.layers)]
        return mask_of(keys, self.shape.layers)


def probes_folder(cache: Path, weights: str, task: str) -> Path:
    """Folder of the probes of a task that were trained on an encoder with these weights."""
    return cache / "edges" / weights[:16] / task


def find_probes(model: str, weights: str, cache: Path) -> dict[str, Path]:
    """Files of all probes of an encoder, by task in the paper's order; locally trained ones before shipped ones."""
    files = find_probe_files(probes_folder(cache, weights, "any").parent, SHIPPED / model, weights, "weights")
    places = {name: task.place for name, task in EDGE_TASKS.items()}
    return dict(sorted(files.items(), key=lambda item: places.get(item[0], len(places))))


def write_probes(probes: TaskProbes, folder: Path, bits: int = 16) -> Path:
    """Writes probes with an atomic write; equal probes are equal bytes."""
    if bits not in BITS:
        raise HeadError(f"got {bits} bits for stored probes, expected {', '.join(map(str, BITS))}")
    arrays: dict[str, np.ndarray] = {}
    for name, tensor in unpacked(probes.flat, probes.shape).items():
        arrays |= _stored(name, tensor.numpy(), bits)
    about = {
        "task": probes.task,
        "title": probes.title,
        "labels": list(probes.labels),
        "counts": list(probes.counts),
        "weights": probes.weights,
        "recipe": probes.recipe,
        "f1": list(probes.f1),
        "shape": vars(probes.shape),
    }
    return write_probe_file(arrays, about, folder)


def read_probes(path: Path) -> TaskProbes:
    """The probes of a file; HeadError if it is missing, damaged or not a file of probes."""
    try:
        arrays, about = read_probe_file(path)
        shape = Shape(**about["shape"])
        layers = len(about["f1"])
        parts = []
        for name, form in shape.parts().items():
            values = _read(name, arrays, (layers, *form))
            if values.shape != (layers, *form) or not np.isfinite(values).all():
                raise ValueError(f"{name} has the shape {values.shape} or values that are not numbers")
            parts.append(torch.from_numpy(values.reshape(layers, -1)))
        return TaskProbes(
            about["task"],
            about["title"],
            tuple(about["labels"]),
            tuple(about["counts"]),
            about["weights"],
            about["recipe"],
            tuple(about["f1"]),
            shape,
            torch.cat(parts, 1),
        )
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise HeadError(f"cannot read the probes in {path}: {error}; delete the file and train them again") from error


def _stored(name: str, values: np.ndarray, bits: int) -> dict[str, np.ndarray]:
    """Stored arrays of a kind of parameter. Rows of one value, which are few, are always float16."""
    if bits == 16 or values.shape[-1] == 1:
        return {name: np.ascontiguousarray(values.astype(np.float16))}
    largest = 2 ** (bits - 1) - 1
    scale = (np.abs(values).max(-1, keepdims=True) / largest).astype(np.float16)
    # A row whose scale is 0 in float16 is all zeros.
    steps = (
        np.rint(values / np.where(scale > 0, scale.astype(np.float32), np.inf)).clip(-largest, largest).astype(np.int8)
    )
    if bits == 8:
        return {name: np.ascontiguousarray(steps), name + _SCALE: scale}
    return {name + _PACKED: np.frombuffer(zlib.compress(steps.tobytes(), 9), np.uint8), name + _SCALE: scale}


def _read(name: str, arrays: Mapping[str, np.ndarray], form: tuple[int, ...]) -> np.ndarray:
    """Inverse of ``_stored``, as float32."""
    if name + _PACKED in arrays:
        values = (
            np.frombuffer(zlib.decompress(arrays[name + _PACKED].tobytes()), np.int8).reshape(form).astype(np.float32)
        )
    else:
        values = arrays[name].astype(np.float32)
    return values * arrays[name + _SCALE].astype(np.float32) if name + _SCALE in arrays else values


class _Sentence:
    """States of one sentence; spans of words are lists of piece numbers."""

    def __init__(self, states: np.ndarray, cut: Cut):
        self.states, self.cut = ArrayStates(states), cut

    def pieces(self, record: Record, span: Span) -> np.ndarray | str:
        return self.cut.pieces(span)


def sentence_states(words: Sequence[str], encoder: Encoder) -> tuple[np.ndarray, Cut]:
    """States of all layers at all pieces of a sentence, (pieces, layers, hidden) float32, and its tokenization."""
    (cut,) = cut_words([words], encoder)
    states = all_hidden_states([cut.ids], encoder)
    with torch.inference_mode():
        stacked = torch.stack([state[0] for state in states], 1)
        stacked[:, 0] = lexical_states(encoder.body, torch.tensor(cut.ids, device=encoder.device)[None])[0]
    return stacked.float().cpu().numpy(), cut


def ask_record(encoder: Encoder, probes: TaskProbes, record: Record) -> np.ndarray:
    """(layers, targets, labels): the sigmoid of each label's logit, for all targets of a sentence."""
    targets = {probes.shape.spans: record.targets}
    (answers,) = _answers(encoder, [probes], record.words, targets, encoder.weights_id)
    return np.stack(answers, 1)


def ask_sentence(
    encoder: Encoder,
    probes: Sequence[TaskProbes],
    words: Sequence[str],
    span1: Span,
    span2: Span | None = None,
    weights: str = "",
) -> list[SpanTrace]:
    """Predictions of all tasks: one-span tasks for each chosen span, two-span tasks for the pair.

    Spans are half-open, of words; tasks of single words are left out if one is longer. ``weights``: identity of the
    encoder that the probes were trained on, if another. EdgeDataError: a span is outside the sentence or the longest
    input.
    """
    words, targets = [with_masks(word) for word in words], {1: [Target(span1, None, ())]}
    if span2 is not None:
        targets = {
            1: [*targets[1], Target(span2, None, ())] if span2 != span1 else targets[1],
            2: [Target(span1, span2, ())],
        }
    fitting = [
        probe
        for probe in probes
        if any(fits(probe.task, _spans(target)) for target in targets.get(probe.shape.spans, ()))
    ]
    answers = _answers(encoder, fitting, words, targets, weights or encoder.weights_id)
    return [
        SpanTrace(probe.task, probe.title, _spans(target), probe.labels, answer.astype(np.float64), probe.f1)
        for probe, of_targets in zip(fitting, answers, strict=True)
        for target, answer in zip(targets[probe.shape.spans], of_targets, strict=True)
        if fits(probe.task, _spans(target))
    ]


def _spans(target: Target) -> tuple[Span, ...]:
    return (target.span1,) if target.span2 is None else (target.span1, target.span2)


def _answers(
    encoder: Encoder,
    probes: Sequence[TaskProbes],
    words: Sequence[str],
    targets: Mapping[int, Sequence[Target]],
    weights: str,
) -> list[list[np.ndarray]]:
    """(layers, labels) predictions of each task's probes; ``targets`` are by their number of spans."""
    refuse_half_characters(" ".join(words), "the sentence", EdgeDataError)
    for span in dict.fromkeys(
        span for of_number in targets.values() for target in of_number for span in _spans(target)
    ):
        if not 0 <= span[0] < span[1] <= len(words):
            raise EdgeDataError(
                f"got the span {span[0]}-{span[1]} in a sentence of {len(words)} words; expected 0 <= start < end <="
                f" {len(words)}"
            )
    if strange := [probe for probe in probes if probe.weights != weights]:
        raise ModelError(
            f"the probes of {strange[0].task} were trained on other weights than {encoder.name} has; train them again"
        )
    if not probes:
        return []
    states, cut = sentence_states(words, encoder)
    sentence = _Sentence(states, cut)
    batches = {number: _batch(words, of_number, sentence) for number, of_number in targets.items()}
    answers = []
    with torch.inference_mode():
        for probe in probes:
            p = torch.sigmoid(logits_of(probe.flat, probe.shape, probe.mask, batches[probe.shape.spans])).numpy()
            answers.append([p[:, place] for place in range(p.shape[1])])
    return answers


def _batch(words: Sequence[str], targets: Sequence[Target], sentence: _Sentence) -> Batch:
    arrays = part_arrays(Part((Record(tuple(words), tuple(targets)),)), sentence, ())
    if len(arrays) < len(targets):
        raise EdgeDataError(
            f"a chosen span cannot be probed ({next(iter(arrays.left_out))}); choose other words or a shorter sentence"
        )
    return batch_of(arrays, sentence.states, np.arange(len(targets)), torch.device("cpu"))
