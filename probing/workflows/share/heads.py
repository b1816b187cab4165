"""Sharing heads: gathering for a push, checking and storing in a pull."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.core.errors import FactsError, HeadError, HubError
from probing.core.files.atomic import atomic_copy, atomic_folder, link_or_copy
from probing.core.files.checksums import file_sha256
from probing.core.head_kinds import STORED, TIED
from probing.core.paths import cache_folder
from probing.models.encoders.catalogue import heads_of
from probing.models.encoders.load import Encoder
from probing.models.heads.files import (
    head_path,
    heads_folder,
    load_heads,
    read_identity,
    read_weights,
    refuse_damage,
    train_command,
    validation_losses,
)
from probing.models.heads.recipe import HeadRecipe
from probing.models.heads.training import text_sha256
from probing.workflows.heads.work import head_text
from probing.workflows.share.manifest import SharedManifest

#: Head files need no model in their name: the folder has it.
HEADS = "heads"
#: The hub's name of the text that ``fetch wikitext-2`` brings.
WIKITEXT = "Salesforce/wikitext"


@dataclass(frozen=True)
class HeadSet:
    """One head per layer, or a replicate for the last layer.

    Attributes:
        kind: one of ``STORED``.
        seed: 0, or that of a replicate.
        recipe: of the files, parsed.
        losses: rows of ``validation_losses``, one per layer.
        folder: of the files.
    """

    kind: str
    seed: int
    recipe: dict
    losses: list[dict]
    folder: Path


def gather_heads(model: str, encoder: Encoder, kinds: Sequence[str], target: Path) -> list[HeadSet]:
    """Copies every complete set of a model's heads below ``target``.

    Args:
        model: the user's name for it.
        encoder: the model.
        kinds: required ones; none: all that exist.
        target: folder to share.

    Raises:
        HeadError: if a required kind is missing, or a file is damaged or belongs to other weights.
    """
    found = []
    for kind in kinds or STORED:
        seeds = {0} | {_seed(path) for root in heads_of(encoder, cache_folder()) for path in root.glob(f"{kind}-seed*")}
        for seed in sorted(seeds):
            layers = list(range(encoder.layers)) if seed == 0 else [encoder.depth]
            folder = heads_folder(model, encoder, kind, cache_folder(), seed, layers)
            if folder is None:
                continue
            load_heads(folder, encoder, kind, layers)
            for layer in layers:
                shared = target / HEADS / encoder.weights_id[:16] / f"{kind}-seed{seed}"
                link_or_copy(head_path(folder, layer), head_path(shared, layer))
            recipe = json.loads(read_identity(head_path(folder, layers[0])).recipe)
            found.append(HeadSet(kind, seed, recipe, validation_losses(folder, layers), folder))
    if missing := [
        kind for kind in kinds or (TIED,) if (kinds or not found) and all(heads.kind != kind for heads in found)
    ]:
        command, named = (
            train_command(encoder, missing[0]),
            f"{missing[0]} heads" if kinds else "trained heads of any kind",
        )
        raise HeadError(f"no {named} of {encoder.name} exist for every layer; train them with: {command}")
    return found


def known_text(sets: Sequence[HeadSet]) -> list[str]:
    """The hub's name of the text that all heads learned from, if it is the fetched WikiText-2."""
    try:
        fetched = text_sha256(*head_text(None, None))
    except FactsError:
        return []
    return [WIKITEXT] if {heads.recipe["text_sha256"] for heads in sets} == {fetched} else []


def check_heads(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` if a head's model, layer or kind differs from its path, though its checksum is right, or a
    set has gaps.
    """
    layers, shapes = defaultdict[str, set[int]](set), defaultdict[str, set[str]](set)
    for file in manifest.content:
        _, weights, kind_and_seed, name = file.path.split("/")
        try:
            identity, tensors = read_identity(folder / file.path), read_weights(folder / file.path)
            refuse_damage(folder / file.path, identity, tensors)
        except HeadError as error:
            raise HubError(f"{file.path} of {title} is not a head: {error}; nothing was taken") from error
        try:
            recipe = HeadRecipe(**json.loads(identity.recipe))
        except (TypeError, ValueError) as error:
            got = str(error).partition("\n")[0]
            raise HubError(
                f"{file.path} of {title} has no recipe that can be read ({got}); nothing was taken"
            ) from error
        layer = int(name.removeprefix("layer-").removesuffix(".safetensors"))
        try:
            validation_losses((folder / file.path).parent, [layer])
        except (TypeError, ValueError, LookupError) as error:
            raise HubError(
                f"{file.path} of {title} has no validation losses that can be read ({error!r}); nothing was taken"
            ) from error
        said = (identity.weights, identity.kind, identity.layer, recipe.seed)
        expected = (manifest.weights, kind_and_seed.split("-")[0], layer, _seed(Path(kind_and_seed)))
        if said != expected or not manifest.weights.startswith(weights):
            raise HubError(
                f"{file.path} of {title} is a head of (weights, kind, layer, seed) {said}, expected {expected}; nothing"
                " was taken"
            )
        layers[kind_and_seed].add(layer)
        shapes[kind_and_seed.split("-")[0]].add(
            str(sorted((name, tuple(tensor.shape)) for name, tensor in tensors.items()))
        )
    for heads, found in layers.items():
        # A replicate exists for the last layer only; the number of layers is not known without the model.
        if _seed(Path(heads)) == 0 and (gaps := sorted(set(range(max(found))) - found)):
            raise HubError(
                f"{title} has {heads} of layers up to {max(found)}, but none of layer {gaps[0]}; nothing was taken"
            )
    for kind, several in shapes.items():
        if len(several) > 1:
            raise HubError(
                f"the {kind} heads of {title} have weights of {len(several)} different shapes, expected one; nothing"
                " was taken"
            )


def place_heads(folder: Path, manifest: SharedManifest, cache: Path) -> list[Path]:
    """Stores checked heads where ``probe`` and ``ask`` look; a complete set gets its name at once.

    Raises:
        HubError: before anything is stored, if other heads are in the place of these.
    """
    for file in manifest.content:
        path = cache / file.path
        if path.is_file() and file_sha256(path) != file.sha256:
            raise HubError(
                f"{path} holds different heads from those pulled; delete its folder to store the pulled ones, or keep"
                " yours"
            )
    targets = []
    for source in sorted({(folder / file.path).parent for file in manifest.content}):
        target = cache / source.relative_to(folder)
        targets.append(target)
        if target.is_dir():
            for path in sorted(source.iterdir()):
                if not (target / path.name).is_file():
                    atomic_copy(path, target / path.name)
            continue
        with atomic_folder(target) as half:
            for path in sorted(source.iterdir()):
                atomic_copy(path, half / path.name)
    return targets


def _seed(folder: Path) -> int:
    return int(folder.name.rpartition("-seed")[2])
