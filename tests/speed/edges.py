"""Edge probing against the authors' way, on tasks in the shape of the eight: the speed of probes does not depend on
labels.
"""

import math
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from probing.edges.probes import ProbeKey, Shape, keys_of, logits_of, mask_of, order_of, start_of, unpacked
from probing.edges.requests import EdgeRecipe
from probing.edges.states import TrainingData, WordStates, batch_of, cut_words, part_arrays, word_states
from probing.edges.targets import CUMULATIVE, TASK, Part, Record, Span, Target
from probing.edges.training import Trained, train_probes
from probing.facts.sources import read_facts
from probing.kernel.fact import shipped_relations
from probing.kernel.models.load import Encoder, load_encoder
from probing.kernel.models.torch_settings import thread_count
from tests.reference.edge_training import PaddedProbe, StepByStep
from tests.speed.measurement import Measurement, random_bert_base, require_equal, seconds_of
from tests.speed.prompts import bench_folder


@dataclass(frozen=True)
class Size:
    """Size and shape of a task.

    Attributes:
        task: its name.
        records: number of sentences of its training part, counted with repetitions.
        targets: number of targets of its training part.
        labels: number of labels.
        words: mean number of words of each span.
    """

    task: str
    records: int
    targets: int
    labels: int
    words: tuple[float, ...]

    @property
    def names(self) -> list[str]:
        """Names of its labels."""
        return [f"label {number:02d}" for number in range(self.labels)]

    def part(self, sentences: Sequence[tuple[str, ...]], records: int, seed: int = 0) -> Part:
        """A part of this shape; the sentences are used in order, and again from the first."""
        draw = np.random.default_rng([seed, self.records])
        a_record = self.targets / self.records
        found = []
        for number in range(records):
            words = sentences[number % len(sentences)]
            count = max(1, round(a_record * (number + 1)) - round(a_record * number))
            found.append(Record(words, tuple(self._target(draw, len(words)) for _ in range(count))))
        return Part(tuple(found))

    def _target(self, draw: np.random.Generator, words: int) -> Target:
        spans = [_span(draw, words, mean) for mean in self.words]
        return Target(spans[0], spans[1] if len(spans) == 2 else None, (self.names[draw.integers(self.labels)],))


def _span(draw: np.random.Generator, words: int, mean: float) -> Span:
    long = min(words, int(draw.geometric(1 / mean)))
    start = int(draw.integers(words - long + 1))
    return start, start + long


#: The eight tasks: training parts as `probing edges tasks` counts them.
SIZES = (
    Size("pos", 12_544, 204_577, 49, (1,)),
    Size("constituents", 12_504, 189_656, 29, (6.98,)),
    Size("dependencies", 12_544, 204_577, 51, (1, 1)),
    Size("entities", 11_132, 23_499, 4, (1.45,)),
    Size("srl", 33_468, 81_399, 58, (1.02, 3.61)),
    Size("coreference", 5_782, 37_346, 2, (2.35, 2.02)),
    Size("proto-roles", 2_191, 5_663, 18, (1, 1)),
    Size("relations", 6_851, 6_851, 19, (1.03, 1.06)),
)
#: Distinct sentences of all eight training parts together, 18 words each: the input of the encoder.
DISTINCT = 34_503


def sentences(count: int) -> list[tuple[str, ...]]:
    """Shipped statements of facts, two at a time, as long as the tasks' sentences."""
    (found,) = read_facts("trex", shipped_relations(), None)
    stated = [fact.prompt.replace("[MASK]", fact.object).split() for fact in found.facts]
    at = [number * (len(stated) // 2) // count for number in range(count)]
    return list(dict.fromkeys((*stated[2 * number], *stated[2 * number + 1]) for number in at))


CPU = torch.device("cpu")
#: Sentences per step, as in the authors' code.
BATCH = 32
#: The authors' way is timed at these layers; compared with the encoder, the number of mixed layers hardly matters.
TIMED_LAYERS = (0, 12)
#: Epochs -> minimum ratio.
BOUNDS = {1: 15.0, 10: 50.0}
#: Steps of the check that both ways learn the same, and sentences per step.
EQUAL_STEPS, EQUAL_BATCH = 3, 4
#: Probabilities that differ by less are equal, because states are stored in 16 bits.
NEAR = 5e-3


def measure(quick: bool = False) -> list[Measurement]:
    """All rows of edge probing."""
    folder = bench_folder() / f"edges-{uuid.uuid4().hex[:8]}"
    source = random_bert_base(bench_folder())
    try:
        return authors_way(load_encoder(source, device="cpu"), folder, quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Task:
    """A slice of a task, ready for both ways."""

    def __init__(self, size: Size, part: Part, dev: Part, states: WordStates):
        self.size, self.part, self.states = size, part, states
        arrays = [part_arrays(one, states, size.names) for one in (part, dev)]
        self.data = TrainingData(arrays[0], states, arrays[1], states, np.ones(size.labels, bool))

    def ours(self, keys: Sequence[ProbeKey], recipe: EdgeRecipe) -> Trained:
        """Trains probes on the cached states."""
        return train_probes(self.data, keys, recipe, CPU)

    def theirs(self, encoder: Encoder, layer: int, recipe: EdgeRecipe) -> StepByStep:
        """A training of one layer's probe, its steps not yet taken."""
        probe = PaddedProbe(layer, encoder.hidden, len(self.size.words), recipe.width, self.size.labels, recipe.dropout)
        shape = Shape(encoder.layers, encoder.hidden, len(self.size.words), recipe.width, self.size.labels)
        given = {name: one[0] for name, one in unpacked(start_of(shape, 0)[None], shape).items()}
        return StepByStep(encoder.body, probe.take(given), self.size.names, recipe.learning_rate, recipe.clip)


def authors_way(encoder: Encoder, folder: Path, quick: bool) -> list[Measurement]:
    """Epochs of all eight tasks, extrapolated from measured steps and encoded sentences."""
    steps = 2 if quick else 6
    texts = sentences(4 * BATCH if quick else 10 * BATCH)
    sizes = SIZES[2:3] + SIZES[7:] if quick else SIZES
    parts = {size.task: size.part(texts, steps * BATCH) for size in sizes}
    records = [record for part in parts.values() for record in part.records]
    found: list[WordStates] = []
    # The first call of an encoder is slower, so both ways have made one before.
    word_states(records[:BATCH], encoder, folder / "first")
    encoding = seconds_of(lambda: found.append(word_states(records, encoder, folder / "states")))
    distinct = len({record.sha256 for record in records})
    (states,) = found
    keys = keys_of([CUMULATIVE], [TASK], [0], encoder.depth)
    recipe = EdgeRecipe(check_every=steps, most_checks=1)
    ours = theirs = 0.0
    tasks = {size.task: _Task(size, parts[size.task], Part(parts[size.task].records[:4]), states) for size in sizes}
    equal = _equal_ways(tasks[sizes[0].task], encoder)
    for task in tasks.values():
        epoch = math.ceil(task.size.records / BATCH) / steps
        ours += epoch * seconds_of(lambda task=task: task.ours(keys, recipe))  # type: ignore[misc]
        taken = [_steps_of(task, encoder, layer, recipe, steps // len(TIMED_LAYERS)) for layer in TIMED_LAYERS]
        theirs += epoch * steps * sum(taken) / len(taken) * len(keys)
    once = encoding / distinct * DISTINCT * sum(size.records for size in sizes) / sum(size.records for size in SIZES)
    note = (
        f"extrapolated to the training parts of {len(sizes)} tasks from {steps} steps of {BATCH} sentences for each"
        " task (one call of our training, with its start and an evaluation; theirs at layers"
        f" {' and '.join(map(str, TIMED_LAYERS))}) and {distinct} sentences encoded and written; encoder"
        f" {once / 3600:.2f} h, our epoch {ours / 3600:.2f} h; evaluations left out; {thread_count()} threads"
    )
    rows = []
    for epochs, bound in BOUNDS.items():
        mine, other = once + epochs * ours, epochs * theirs
        name = f"edge probing, {len(sizes)} tasks x {len(keys)} layers at BERT-base's size, epochs: {epochs}"
        rows.append(
            Measurement(
                name, mine, "the authors' way: encoder in every step", other, other / mine, bound, False, equal, note
            )
        )
    return rows


def _steps_of(task: _Task, encoder: Encoder, layer: int, recipe: EdgeRecipe, steps: int) -> float:
    """Seconds of one step of the authors' way; tokenization is not timed."""
    training = task.theirs(encoder, layer, recipe)
    batches = [task.part.records[number * BATCH : (number + 1) * BATCH] for number in range(steps)]
    cuts = [cut_words([record.words for record in batch], encoder) for batch in batches]
    return seconds_of(lambda: [training.take(batch, cut) for batch, cut in zip(batches, cuts, strict=True)]) / steps


def _equal_ways(task: _Task, encoder: Encoder) -> str:
    """Both ways take the same steps on the same sentences without dropout; probabilities afterwards must be equal."""
    recipe = EdgeRecipe(dropout=0.0, batch=EQUAL_BATCH, check_every=EQUAL_STEPS, most_checks=1)
    layer = encoder.depth // 2
    key = ProbeKey(CUMULATIVE, layer, TASK, 0)
    records = task.part.records[: EQUAL_STEPS * EQUAL_BATCH]
    few = _Task(task.size, Part(records), Part(records[:2]), task.states)
    trained = few.ours([key], recipe)
    training = few.theirs(encoder, layer, recipe)
    training.probe.eval()
    cuts = cut_words([record.words for record in records], encoder)
    order = order_of(few.data.train.records(), 0)
    for number in range(EQUAL_STEPS):
        chosen = order[number * EQUAL_BATCH : (number + 1) * EQUAL_BATCH]
        training.take([records[place] for place in chosen], [cuts[place] for place in chosen])
    with torch.inference_mode():
        wanted = torch.sigmoid(training.logits(records[:4], cuts[:4]))
        targets = few.data.train.of_records(np.arange(4))
        batch = batch_of(few.data.train, few.data.train_states, targets, CPU)
        got = torch.sigmoid(logits_of(trained.flat, trained.shape, mask_of([key], encoder.layers), batch))[0]
    far = float((got - wanted).abs().max())
    require_equal(
        far < NEAR,
        f"probabilities of {task.size.task} at layer {layer} are up to {far:.1e} apart after {EQUAL_STEPS} steps",
    )
    return (
        f"sentences, start and batches; probabilities after {EQUAL_STEPS} steps at layer {layer} within {far:.0e}"
        " (states in 16 bits)"
    )
