"""Head training against the straightforward procedure: same masks, same batches, same order."""

import shutil
import uuid
from pathlib import Path
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
from transformers import AutoModelForMaskedLM

from probing.heads.recipe import HeadRecipe, MaskedText, batches, mask_rows, most_positions
from probing.heads.states import LayerStates, MaskedStates
from probing.heads.train import HeadStep, start_of
from probing.kernel.files import cache_folder
from probing.kernel.models.load import Encoder, load_encoder
from tests.speed.measurement import Measurement, random_bert_base, require_equal, seconds_of

BLOCK, BLOCKS_A_STEP = 512, 8
#: The layer whose head the slice trains; every layer's costs the same.
LAYER = 6
LAYERS, EPOCHS = 12, 3
#: How far weights may be apart, by their norm.
NEAR = 1e-4


def made_up_text(encoder: Encoder, pieces: int) -> list[str]:
    """Sentences of random words that are one piece each; speed does not depend on the content of a text."""
    words = [word for word in encoder.tokenizer.get_vocab() if word.isascii() and word.isalpha()]
    drawn = np.random.default_rng(0).choice(sorted(words), (pieces // 20 + 1, 20))
    return [" ".join(row) for row in drawn]


def recipe_of(steps: int) -> HeadRecipe:
    """The paper's reading of a text: all of it, in blocks of 512 pieces, 8 blocks per step."""
    return HeadRecipe(
        kind="full",
        text_sha256="made up",
        positions=0,
        epochs=EPOCHS,
        pieces_per_block=BLOCK,
        blocks_per_step=BLOCKS_A_STEP,
        warm_up=1 / steps,
    )


class Straightforward:
    """The straightforward procedure: for each layer, the whole model on whole blocks, with logits at every position."""

    def __init__(self, encoder: Encoder, model: torch.nn.Module, recipe: HeadRecipe, text: MaskedText, steps: int):
        self.recipe, self.text, self.steps, self.model = recipe, text, steps, model
        self.head = start_of(encoder, recipe)
        self.own = {name: p.requires_grad_() for name, p in self.head.trainable(recipe.kind).items()}
        self.optimiser = torch.optim.AdamW(self.own.values(), weight_decay=recipe.weight_decay, fused=True)

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of the head's own weights."""
        return {name: p.detach().clone() for name, p in self.own.items()}

    def take(self, step: int, blocks: np.ndarray) -> None:
        """One step on whole blocks."""
        ids = torch.tensor([self.text.row(int(block)) for block in blocks], device=self.model.device)
        labels = torch.full_like(ids, -100)
        for row, block in enumerate(blocks):
            positions = self.text.positions_of(int(block))
            labels[row, self.text.index[positions]] = torch.from_numpy(self.text.labels[positions]).to(labels.device)
        with torch.no_grad():
            states = self.model(input_ids=ids, output_hidden_states=True).hidden_states[LAYER]
        loss = F.cross_entropy(self.head(states).flatten(0, 1), labels.flatten(), ignore_index=-100)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.own.values(), 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate(step, self.steps)
        self.optimiser.step()


def measure(quick: bool = False, device: str = "cpu", source: Path | None = None) -> list[Measurement]:
    """Training of 12 full heads, encoder pass counted."""
    counted = 1 if quick else 4
    steps = counted + 1
    folder = cache_folder() / "bench"
    source = source or random_bert_base(folder)
    encoder = load_encoder(source, device=device)
    model = AutoModelForMaskedLM.from_pretrained(source, dtype=torch.float32).bert.eval().to(device)
    recipe = recipe_of(steps)
    inside = BLOCK - 2
    text = mask_rows(encoder, made_up_text(encoder, steps * BLOCKS_A_STEP * inside + inside), recipe, 0, 0)
    place = folder / f"head-states-{uuid.uuid4().hex[:8]}"
    try:
        states = MaskedStates(encoder, text, range(encoder.layers), torch.float32, place)
        encoding = seconds_of(states.compute) / (len(text.cumulative) / BLOCKS_A_STEP)
        return _against_straightforward(encoder, model, recipe, text, states.layer(LAYER), steps, encoding)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _against_straightforward(
    encoder: Encoder,
    model: torch.nn.Module,
    recipe: HeadRecipe,
    text: MaskedText,
    layer: LayerStates,
    steps: int,
    encoding: float,
) -> list[Measurement]:
    ours = HeadStep(encoder, recipe, steps, most_positions(recipe, text))
    theirs = Straightforward(encoder, model, recipe, text, steps)
    start = ours.weights()
    times: tuple[list[float], list[float]] = ([], [])
    # Each step is taken by both in turn; the first is a warm-up that trains but does not count.
    for number, positions in enumerate(list(batches(recipe, text, LAYER, 0))[:steps]):
        blocks = np.unique(np.searchsorted(text.cumulative, positions, side="right"))
        times[0].append(seconds_of(lambda n=number, at=positions: ours.take(n, layer.at(at), layer.labels[at])))  # type: ignore[misc]
        times[1].append(seconds_of(lambda n=number, at=blocks: theirs.take(n, at)))  # type: ignore[misc]
    step, slow = median(times[0][1:]), median(times[1][1:])
    far, moved = _distance(ours.weights(), theirs.weights(), start)
    equal = (
        f"masks, batches and order; after {steps} steps no tensor of the head differs by more than {far:.1e} of its"
        f" norm (at most {NEAR:g} is let pass), or {moved:.1e} of what training changed"
    )
    require_equal(far < NEAR, equal)
    spread = (
        f"ours {min(times[0][1:]):.2f} to {max(times[0][1:]):.2f} s, theirs {min(times[1][1:]):.1f} to"
        f" {max(times[1][1:]):.1f} s"
    )
    found = []
    for epochs, bound in ((EPOCHS, 10.0), (1, None)):
        mine, other = encoding + LAYERS * epochs * step, LAYERS * epochs * slow
        note = (
            f"seconds for each {BLOCKS_A_STEP} blocks of text, extrapolated from {steps - 1} steps of one layer"
            f" ({spread}) and {encoding:.2f} s of encoder, disk included; validation left out in both"
        )
        name = f"training full heads, {LAYERS} layers, {epochs} epoch{'s' if epochs > 1 else ''}"
        found.append(
            Measurement(name, mine, "straightforward procedure", other, other / mine, bound, False, equal, note)
        )
    return found


def _distance(
    ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor], start: dict[str, torch.Tensor]
) -> tuple[float, float]:
    """Largest norm of a tensor's difference, by the tensor's norm and by the norm of what training changed."""
    apart = {name: float((ours[name] - theirs[name]).norm()) for name in ours}
    by_norm = max(apart[name] / float(theirs[name].norm()) for name in ours)
    return by_norm, max(apart[name] / float((theirs[name] - start[name]).norm()) for name in ours)
