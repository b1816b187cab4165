"""Cost of heads of equal quality from two starts: the pre-trained head, or the pre-trained head on top of the least-squares map.

Two sizes: nesia-mini, and BERT-base's. There the body is random and only timed. Head and states are nesia-mini's, repeated four
times along the hidden size, so that losses keep their meaning while every product has BERT-base's size.
"""

import json
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.nesia.corpus import wikitext_sentences
from probing.core.paths import cache_folder
from probing.models.encoders.catalogue import open_encoder
from probing.models.encoders.load import Encoder, load_encoder
from probing.models.heads.batches import steps_of
from probing.models.heads.files import read_identity
from probing.models.heads.masked_states import LayerStates, MaskedStates
from probing.models.heads.masked_text import MaskedText, mask_rows
from probing.models.heads.recipe import FROM_LEAST_SQUARES, HeadRecipe
from probing.models.heads.step import HeadStep
from probing.models.heads.training import train_head
from probing.models.runtime.torch_settings import thread_count
from probing.workflows.heads.recipes import START_POSITIONS, STEPS
from tests.speed.measurement import Measurement, random_bert_base

BASE_LAYERS, TIMED_POSITIONS = 12, 1000
#: Steps from the map; the smallest number that reaches the loss counts. 0 is the map alone.
BUDGETS = (0, 25, 50, 100, 200)
BOUND = 10.0
#: Training and validation text of nesia-mini's own heads, in the folder of the fetched texts.
TEXTS = ("wikitext-103_wiki.train.first2883584bytes.tokens", "valid.txt")


@dataclass(frozen=True)
class Trained:
    """One head's training.

    Attributes:
        steps: gradient steps.
        loss: validation loss of what is kept, in nats.
        seconds: processor seconds, validations among them.
        validations: how many there were; one on a part of the positions counts as that part.
    """

    steps: int
    loss: float
    seconds: float
    validations: float


@dataclass(frozen=True)
class Side:
    """What one layer's head costs from the pre-trained head, and from the map with each number of steps.

    Attributes:
        layer: whose head it is.
        today: 3 epochs from the pre-trained head.
        mapped: from the map, with more and more steps until it is as good.
        alike: from the map, with the same numbers of steps as every other layer: the most that one needs, and the usual ones.
    """

    layer: int
    today: Trained
    mapped: tuple[Trained, ...]
    alike: tuple[Trained, ...] = ()

    @property
    def reached(self) -> Trained:
        """The cheapest training from the map that is as good as today's; the longest where none is."""
        return next((one for one in self.mapped if one.loss <= self.today.loss), self.mapped[-1])

    @property
    def map_alone(self) -> Trained:
        """The map without a step."""
        return self.mapped[0]


@dataclass(frozen=True)
class Contest:
    """A model and its text, ready for heads.

    Attributes:
        name: the size in words.
        encoder: whose head they start from.
        train, valid: states by ``layer`` and their ``text``.
        layers: those whose heads are trained.
        encoding: processor seconds of the encoder's pass over both texts.
        heads: heads that share this pass.
        note: what was measured, and on what.
    """

    name: str
    encoder: Encoder
    train: "MaskedStates | Widened"
    valid: "MaskedStates | Widened"
    layers: Sequence[int]
    encoding: float
    heads: int
    note: str


class Widened:
    """Masked states with the values of every position four times side by side."""

    def __init__(self, states: MaskedStates, times: int):
        self.states, self.times, self.text = states, times, states.text

    def layer(self, layer: int) -> LayerStates:
        narrow = self.states.layer(layer)
        return LayerStates([np.tile(narrow.at(np.arange(len(narrow))), self.times)], narrow.labels)


def measure(quick: bool = False) -> list[Measurement]:
    """Head training to the loss that 3 epochs from the pre-trained head reach, at both sizes."""
    folder = cache_folder() / "bench" / f"head-start-{uuid.uuid4().hex[:8]}"
    small = open_encoder("nesia-mini", device="cpu")
    recipe = HeadRecipe(kind="tied", text_sha256="bench", positions=512 if quick else 30_000, validation_positions=256 if quick else 5_000)
    try:
        mini = _nesia_mini(small, recipe, [4, 7] if quick else range(1, small.depth), folder)
        rows = _rows(mini, recipe, folder)
        base = _bert_base(mini, random_bert_base(cache_folder() / "bench"), folder, [6])
        return rows + _rows(base, recipe, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def texts() -> tuple[list[str], list[str], str]:
    """Training and validation sentences and their name: nesia-mini's own text where it was fetched, else statements of shipped facts."""
    paths = [cache_folder() / "downloads" / "wikitext-2" / name for name in TEXTS]
    if all(path.is_file() for path in paths):
        train, valid = (list(wikitext_sentences(path)) for path in paths)
        return train, valid, "the first 2,883,584 bytes of WikiText-103"
    (found,) = read_facts("trex", shipped_relations(), None)
    stated = [fact.prompt.replace("[MASK]", fact.object) for fact in found.facts]
    return [one for n, one in enumerate(stated) if n % 7], stated[::7], "statements of shipped facts, as WikiText is not fetched"


def _nesia_mini(encoder: Encoder, recipe: HeadRecipe, layers: Sequence[int], folder: Path) -> Contest:
    train, valid, name = texts()
    masked = (mask_rows(encoder, train, recipe, recipe.positions, 0), mask_rows(encoder, valid, recipe, recipe.validation_positions, 1))
    every = range(encoder.layers)
    states = [MaskedStates(encoder, text, every, torch.float32, folder / str(n)) for n, text in enumerate(masked)]
    encoding = sum(processor_seconds(part.compute) for part in states)
    note = f"{len(masked[0].labels):,} masked positions of {name}, {len(masked[1].labels):,} to validate"
    return Contest("nesia-mini", encoder, states[0], states[1], layers, encoding, encoder.layers, note)


def _bert_base(mini: Contest, source: Path, folder: Path, layers: Sequence[int]) -> Contest:
    """BERT-base's size with nesia-mini's head and states, four times side by side."""
    assert isinstance(mini.train, MaskedStates) and isinstance(mini.valid, MaskedStates)
    encoder = load_encoder(source, device="cpu")
    widen_head(mini.encoder, encoder)
    times = encoder.hidden // mini.encoder.hidden
    timed = _first_rows(mini.train.text, TIMED_POSITIONS)
    states = MaskedStates(encoder, timed, range(encoder.layers), torch.float32, folder / "base")
    positions = sum(len(part.text.labels) for part in (mini.train, mini.valid))
    encoding = processor_seconds(states.compute) * positions / len(timed.labels)
    note = f"{mini.note}; nesia-mini's states and head {times} times side by side; encoder timed on {len(timed.labels):,} positions"
    wide = (Widened(mini.train, times), Widened(mini.valid, times))
    return Contest("BERT-base's size", encoder, *wide, layers, encoding, BASE_LAYERS + 1, note)


@torch.no_grad()
def widen_head(narrow: Encoder, wide: Encoder) -> None:
    """Puts a head into a wider one so that it gives the same scores for states that are side by side several times."""
    times, tokens = wide.hidden // narrow.hidden, narrow.head.vocabulary.out_features
    own, other = wide.head, narrow.head
    own.dense.weight.copy_(other.dense.weight.repeat(times, times) / times)
    for mine, its in ((own.dense.bias, other.dense.bias), (own.norm.weight, other.norm.weight), (own.norm.bias, other.norm.bias)):
        mine.copy_(its.repeat(times))
    own.norm.eps = other.norm.eps
    own.vocabulary.weight[:tokens] = other.vocabulary.weight.repeat(1, times) / times
    own.vocabulary.bias[:tokens] = other.vocabulary.bias
    # Made-up tokens, which no text has.
    own.vocabulary.weight[tokens:] = 0.0
    own.vocabulary.bias[tokens:] = float(other.vocabulary.bias.min()) - 20.0


def _first_rows(text: MaskedText, positions: int) -> MaskedText:
    rows = max(1, int(np.searchsorted(text.cumulative, positions, side="right")))
    end, until = int(text.ends[rows - 1]), int(text.cumulative[rows - 1])
    return MaskedText(text.ids[:end], text.ends[:rows], text.index[:until], text.cumulative[:rows], text.labels[:until])


def processor_seconds(call) -> float:
    """Processor seconds of one call: a training cannot be taken in turn with another, so what else runs must not count."""
    start = time.process_time()
    call()
    return time.process_time() - start


def contest(one: Contest, recipe: HeadRecipe, folder: Path) -> list[Side]:
    """Trains every layer's head from both starts, with each number of steps from the map until one is as good."""
    target = one.train.layer(one.train.states.layers[-1] if isinstance(one.train, Widened) else one.train.layers[-1])
    sides = []
    for layer in one.layers:
        today = _train(one, layer, recipe, folder, target)
        mapped: list[Trained] = []
        for steps in BUDGETS:
            start = from_the_map(recipe, steps)
            mapped.append(_train(one, layer, start, folder, target))
            if mapped[-1].loss <= today.loss:
                break
        sides.append(Side(layer, today, tuple(mapped)))
    most = sorted({max(side.reached.steps for side in sides), STEPS} - {0})
    return [
        replace(side, alike=tuple(_train(one, side.layer, from_the_map(recipe, steps), folder, target) for steps in most)) for side in sides
    ]


def from_the_map(recipe: HeadRecipe, steps: int) -> HeadRecipe:
    """The recipe that begins at the map: the map alone, or so many steps from it."""
    trained = {"kind": "tied", "start": FROM_LEAST_SQUARES, "steps": steps, "start_positions": START_POSITIONS}
    return recipe.model_copy(update=trained if steps else {"kind": "least_squares"})


def _train(one: Contest, layer: int, recipe: HeadRecipe, folder: Path, target: LayerStates) -> Trained:
    place = folder / f"heads-{uuid.uuid4().hex[:8]}"
    train, valid = (_Held(part, layer) for part in (one.train, one.valid))
    started = time.process_time()
    path = train_head(one.encoder, layer, recipe, train, valid, place, torch.float32, target if recipe.follows else None)  # type: ignore[arg-type]
    seconds = time.process_time() - started
    curve = json.loads(read_identity(path).validation)
    # The start that is not taken is validated too: wholly, or on the positions that choose.
    tried = recipe.mapped * (recipe.start_positions or recipe.validation_positions) / recipe.validation_positions
    validations = len(curve) + min(1.0, tried)
    return Trained(steps_of(recipe, one.train.text), min(loss for _, loss in curve), seconds, validations)


class _Held:
    """One layer's states, read before the clock runs."""

    def __init__(self, states: "MaskedStates | Widened", layer: int):
        self.text, self._layer = states.text, states.layer(layer)

    def layer(self, _: int) -> LayerStates:
        return self._layer


def _rows(one: Contest, recipe: HeadRecipe, folder: Path) -> list[Measurement]:
    sides = contest(one, recipe, folder)
    step = HeadStep(one.encoder, recipe, 1, recipe.batch)
    held = one.valid.layer(one.layers[0])
    validation = min(processor_seconds(lambda: step.validation_loss(held)) for _ in range(3))
    share = one.heads / len(sides)
    today, reached, alone = ([getattr(side, name) for side in sides] for name in ("today", "reached", "map_alone"))
    compared: list[tuple[str, list[Trained], float | None]] = [("heads as good as today's, from the map", reached, BOUND)]
    for found in map(list, zip(*(side.alike for side in sides), strict=True)):
        compared.append((f"heads, {found[0].steps} steps from the map at every layer", found, None))
    rows = []
    for what, found, bound in (*compared, ("heads, the map alone", alone, None)):
        equal = _compared(sides, found)
        for counted, extra, left_out in (
            ("heads alone", 0.0, 0.0),
            ("heads alone, validations left out", 0.0, validation),
            ("encoder counted", one.encoding, 0.0),
        ):
            mine, other = (extra + share * sum(head.seconds - left_out * head.validations for head in of) for of in (found, today))
            name = f"{one.heads} {what}, {one.name}, {counted}"
            note = (
                f"processor seconds, {thread_count()} threads; {one.note}; layers {', '.join(str(side.layer) for side in sides)} "
                f"extrapolated to {one.heads} heads; a validation takes {validation:.2f} s, the encoder {one.encoding:.0f} s"
            )
            alternative = f"{recipe.epochs} epochs from the pre-trained head"
            rows.append(Measurement(name, mine, alternative, other, other / mine, bound if not extra else None, False, equal, note))
    return rows


def _compared(sides: Sequence[Side], found: Sequence[Trained]) -> str:
    shown = ", ".join(f"{side.layer}: {one.loss:.3f} in {one.steps} steps" for side, one in zip(sides, found, strict=True))
    wanted = ", ".join(f"{side.layer}: {side.today.loss:.3f} in {side.today.steps}" for side in sides)
    return f"text, masks and batches; validation loss by layer {shown}, against {wanted}"
