"""Edge probing against the authors' way."""

import math
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from probing.core.edges.encoders import CUMULATIVE, TASK
from probing.core.edges.target import Part
from probing.models.edges.arrays import TrainingData, batch_of, part_arrays
from probing.models.edges.probes import ProbeKey, Shape, keys_of, logits_of, mask_of, order_of, start_of, unpacked
from probing.models.edges.recipe import EdgeRecipe
from probing.models.edges.states import WordStates, cut_words, word_states
from probing.models.edges.training import Trained, train_probes
from probing.models.encoders.load import Encoder, load_encoder
from probing.models.runtime.torch_settings import thread_count
from tests.reference.edge_training import PaddedProbe, StepByStep
from tests.speed.edge_slices import DISTINCT, SIZES, Size, sentences
from tests.speed.measurement import Measurement, random_bert_base, require_equal, seconds_of
from tests.speed.trex_prompts import bench_folder

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
