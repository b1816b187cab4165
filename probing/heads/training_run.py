"""The work of ``train-heads``, in any process: heads of all layers, by the recipe asked for or their folder's."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.heads.files import head_path, heads_folder, read_identity, trained_heads_folder, validation_losses
from probing.heads.lenses import Target
from probing.heads.recipe import FROM_LEAST_SQUARES, PRETRAINED, VERSION, HeadRecipe, text_sha256
from probing.heads.requests import HeadsRequest
from probing.heads.states import StatesCache, masked_text_of
from probing.heads.train import is_finished, train_heads, unfinished_recipe
from probing.kernel.errors import FactsError, HeadError, ModelError, Say
from probing.kernel.files import cache_folder
from probing.kernel.jobs.stored_runs import ModelWork, do_job
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.head import parts_of
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import HEAD_KINDS, LOGIT_LENS
from probing.kernel.models.torch_settings import number_format, set_threads
from probing.kernel.options import spelled
from probing.kernel.text import wikitext_sentences

#: Steps of ``tied`` and ``full`` heads from the map if neither steps nor epochs are given.
STEPS = 100
#: Validation positions on which the map is compared with the pre-trained head: two batches of a validation.
START_POSITIONS = 1024


@dataclass(frozen=True)
class Wish:
    """Which heads are wanted; ``asked`` has the settings of ``HeadRecipe`` that the user named."""

    kind: str
    seed: int
    text_sha256: str
    asked: Mapping[str, Any]

    def with_(self, settings: Mapping[str, Any]) -> HeadRecipe:
        """The recipe, with these settings if the user gave none."""
        recipe = HeadRecipe(
            **{**settings, **self.asked, "kind": self.kind, "seed": self.seed, "text_sha256": self.text_sha256}
        )
        recipe.check()
        return recipe


def recipe_for(wish: Wish, encoder: Encoder, train: Sequence[str], places: Sequence[Path], say: Say) -> HeadRecipe:
    """The recipe that heads are trained by.

    Existing heads, finished or not, that fit the requested settings decide the rest: they stay valid if the usual
    recipe changes. ``places`` are the folder of the heads, then folders of heads that they should be like.
    """
    usual = wish.with_(settings(wish))
    for place in places:
        if (found := _lies_in(place, wish, encoder)) is None:
            continue
        if found.canonical() != usual.canonical():
            say(
                f"{wish.kind} heads use the recipe of those in {place}: {_told(found, usual)}; "
                f"for another choose another folder ({spelled('out')})"
            )
        return found
    unasked = "start" not in wish.asked and not HEAD_KINDS[wish.kind].mapped
    if unasked and (reason := _no_map(encoder, train, usual)):
        say(f"{wish.kind} heads start from the pre-trained head: {reason}")
        return wish.with_({"start": PRETRAINED, "version": VERSION})
    return usual


def settings(wish: Wish) -> dict[str, Any]:
    """The usual settings for those not given: on top of the map, and for ``tied`` and ``full`` 100 steps from it."""
    form, start = HEAD_KINDS[wish.kind], wish.asked.get("start", FROM_LEAST_SQUARES)
    usual = {"start": start} if form.closed_form else {"start": start, "version": VERSION}
    if form.closed_form or start != FROM_LEAST_SQUARES:
        return usual
    counted = form.mapped or "epochs" in wish.asked
    return usual | {"start_positions": START_POSITIONS} | ({} if counted else {"steps": STEPS})


def _lies_in(folder: Path, wish: Wish, encoder: Encoder) -> HeadRecipe | None:
    """The recipe of heads in a folder, if it agrees with the requested settings; else None."""
    for said in _recipes_in(folder, encoder):
        try:
            settings = HeadRecipe(**json.loads(said)).model_dump(exclude_unset=True)
        except (TypeError, ValueError):
            continue
        found = HeadRecipe(**settings | {"seed": wish.seed})
        wanted = wish.with_(settings)
        return found if wanted.canonical() == found.canonical() else None
    return None


def _recipes_in(folder: Path, encoder: Encoder) -> list[str]:
    """Canonical recipes of this encoder's heads in a folder: those of the finished ones, then of the unfinished."""
    said = []
    for path in sorted(folder.glob("layer-*.safetensors")):
        identity = read_identity(path)
        if identity.weights == encoder.weights_id and identity.configuration == encoder.configuration:
            return [identity.recipe]
    for layer in range(encoder.layers):
        if not head_path(folder, layer).is_file() and (recipe := unfinished_recipe(folder, layer, encoder)):
            said.append(recipe)
    return said[:1]


def _told(found: HeadRecipe, usual: HeadRecipe) -> str:
    """The settings in which a recipe differs from the usual one."""
    other = [name for name, value in usual.model_dump().items() if getattr(found, name) != value]
    theirs, ours = (", ".join(f"{name} {getattr(recipe, name)}" for name in other) for recipe in (found, usual))
    return f"{theirs} (usual: {ours})"


def _no_map(encoder: Encoder, train: Sequence[str], recipe: HeadRecipe) -> str:
    """Why the layers of an encoder cannot be mapped to those of the base whose head it uses; ``""`` if they can."""
    if encoder.opens_base is None:
        return ""
    cache = cache_folder() / "head-states"
    text = masked_text_of(encoder, train, recipe, recipe.positions, 0, cache)
    try:
        Target.of(encoder, train, text, recipe, cache)
    except (HeadError, ModelError) as error:
        return str(error).partition(";")[0]
    return ""


#: Part of WikiText-2 -> names of its file in several releases.
FETCHED = {"train": ("wiki.train.tokens", "train.txt"), "valid": ("wiki.valid.tokens", "valid.txt")}


@dataclass(frozen=True)
class HeadWork(ModelWork):
    """Trains heads; a shard is a group of layers. All shards use the same hidden states on disk."""

    encoder: Encoder
    train: Sequence[str]  #: sentences
    valid: Sequence[str]
    recipe: HeadRecipe
    layers: Sequence[int]  #: those of the heads; ``layers_per_shard`` of them are a shard
    layers_per_shard: int
    target: Path  #: where the heads go
    half: bool  #: whether they are stored in float16
    budget: int  #: bytes that hidden states may take on disk

    @property
    def folder(self) -> Path:
        """With the manifest."""
        return self.place("heads", self.recipe.canonical(), self.target, self.half)

    @property
    def shards(self) -> dict[str, Sequence[int]]:
        """Name of each group of layers -> the layers."""
        starts = range(0, len(self.layers), self.layers_per_shard)
        groups = [self.layers[start : start + self.layers_per_shard] for start in starts]
        return {f"layers-{group[0]:02d}-{group[-1]:02d}": group for group in groups}

    def do(self, names: Sequence[str], finished: Callable[[str, Sequence[Path]], None]) -> None:
        """Trains all layers of all shards together, so that the encoder runs as seldom as the budget allows."""
        shards = self.shards
        layers = [layer for name in names for layer in shards[name]]
        states = StatesCache(cache_folder() / "head-states", self.budget)
        train_heads(self.encoder, self.train, self.valid, self.recipe, self.target, states, self.dtype, layers)
        for name in names:
            finished(name, [head_path(self.target, layer) for layer in shards[name]])

    @property
    def dtype(self):
        """The number format that heads are stored in."""
        return number_format("float16" if self.half else "float32")

    def refuse_others(self) -> None:
        """Raises a ``HeadError`` if a head of another recipe is in the place of one of these."""
        for layer in self.layers:
            is_finished(head_path(self.target, layer), self.recipe, self.encoder, self.dtype)


def head_text(train: Path | None, valid: Path | None) -> tuple[list[str], list[str]]:
    """Training and validation sentences, from files or from the fetched WikiText-2."""
    return list(wikitext_sentences(train or fetched_text("train"))), list(
        wikitext_sentences(valid or fetched_text("valid"))
    )


def fetched_text(part: str) -> Path:
    """The file of a part of the fetched WikiText-2, ``train`` or ``valid``."""
    folder = cache_folder() / "downloads" / "wikitext-2"
    for name in FETCHED[part]:
        if found := sorted(folder.rglob(name)):
            return found[0]
    raise FactsError(
        f"no {part} text for heads in {folder}; fetch it with: python -m probing fetch wikitext-2 (or name files:"
        " --text FILE --valid FILE)"
    )


#: Another spelling of a start -> its name in recipes.
STARTS = {"pretrained": PRETRAINED}
#: Setting of a recipe -> the request's name for it.
SETTINGS = {"learning_rate": "rate", "pieces_per_block": "blocks", "version": "recipe_version"} | {
    name: name
    for name in (
        "positions",
        "epochs",
        "batch",
        "start",
        "blocks_per_step",
        "precision",
        "states_dtype",
        "steps",
        "validate_every",
        "patience",
        "tolerance",
        "start_positions",
    )
}


def train_all_heads(request: HeadsRequest, say: Say = print) -> Path:
    """Trains a head for every layer by masked language modelling; returns the folder of the heads."""
    set_threads(request.threads)
    encoder = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    # Refuses a head whose parts are not known before any text is read.
    parts_of(encoder.head)
    train, valid = head_text(request.text, request.valid)
    folder = request.out or trained_heads_folder(encoder, request.head, request.seed, cache_folder())
    # A replicate has the recipe of the heads that it is compared with.
    replicated = (
        heads_folder(request.model, encoder, request.head, cache_folder()) if request.seed and not request.out else None
    )
    recipe = recipe_for(
        _wish(request, train, valid), encoder, train, [place for place in (folder, replicated) if place], say
    )
    layers = range(encoder.layers) if request.seed == 0 else range(encoder.depth, encoder.layers)
    work = HeadWork(
        encoder,
        train,
        valid,
        recipe,
        layers,
        request.layers_per_shard,
        folder.absolute(),
        request.half,
        int(request.states_budget * 1e9),
    )
    work.refuse_others()
    do_job(request, work, say)
    say(f"{request.head} heads of {encoder.name} in {folder}; validation loss in nats:")
    for row in validation_losses(folder, layers):
        say(f"  layer {row['layer']:2}: {_losses_in_words(row)}")
    return folder


def _wish(request: HeadsRequest, train: Sequence[str], valid: Sequence[str]) -> Wish:
    """The requested heads, given the sentences of both texts."""
    said = {field: getattr(request, name) for field, name in SETTINGS.items()}
    asked = {field: STARTS.get(value, value) for field, value in said.items() if value is not None}
    if request.epochs is not None:
        # Otherwise the usual steps would replace the epochs.
        asked.setdefault("steps", 0)
    return Wish(request.head, request.seed, text_sha256(train, valid), asked)


def _losses_in_words(row: Mapping[str, float]) -> str:
    """The validation losses of one layer's head in words."""
    best = f"{row['best']:.3f} at step {row['best_step']}"
    if "map" not in row:
        return f"{row['start']:.3f} at the start, {best}"
    kept = ", so without the map" if row["map"] >= row[LOGIT_LENS] else ""
    tried = f"{row[LOGIT_LENS]:.3f} by logit lens, {row['map']:.3f} by the least-squares map"
    if "positions" in row:
        tried += f" (first {row['positions']:,} positions){kept}, {row['start']:.3f} at the start"
        kept = ""
    return f"{tried}{kept}, {best}"
