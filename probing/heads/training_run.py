"""The recipe that heads are trained by: as requested, else as the heads in their folder, else the usual."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.heads.files import head_path, read_identity
from probing.heads.lenses import Target
from probing.heads.recipe import FROM_LEAST_SQUARES, PRETRAINED, VERSION, HeadRecipe
from probing.heads.states import masked_text_of
from probing.heads.train import unfinished_recipe
from probing.kernel.errors import HeadError, ModelError, Say
from probing.kernel.files import cache_folder
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import LEAST_SQUARES, MAPPED
from probing.kernel.options import spelled

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
    unasked = "start" not in wish.asked and wish.kind not in MAPPED
    if unasked and (reason := _no_map(encoder, train, usual)):
        say(f"{wish.kind} heads start from the pre-trained head: {reason}")
        return wish.with_({"start": PRETRAINED, "version": VERSION})
    return usual


def settings(wish: Wish) -> dict[str, Any]:
    """The usual settings for those not given: on top of the map, and for ``tied`` and ``full`` 100 steps from it."""
    start = wish.asked.get("start", FROM_LEAST_SQUARES)
    usual = {"start": start} if wish.kind == LEAST_SQUARES else {"start": start, "version": VERSION}
    if wish.kind == LEAST_SQUARES or start != FROM_LEAST_SQUARES:
        return usual
    counted = wish.kind in MAPPED or "epochs" in wish.asked
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
