"""Encoders, with the base that they are compared with, by registry name, hub id or folder."""

import shlex
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from probing.kernel.errors import ModelError, ProbingError
from probing.kernel.models.hub import HUB_ERRORS, check_configuration, joint_weights_id
from probing.kernel.models.load import BaseSource, Encoder, load_encoder
from probing.kernel.models.names import base_entry, find_entry, variant_and_seed
from probing.kernel.options import spelled
from probing.kernel.registry import ModelEntry, read_registry, where_data_are


@dataclass(frozen=True)
class Opened:
    """A model and its record; a base has no ``base``."""

    encoder: Encoder
    base: Encoder | None
    objective: str
    variant: str
    tuned_seed: int | None


def open_base(entry: ModelEntry, device: str = "cpu") -> Encoder:
    """Loads the base of an entry that has one."""
    origin = base_entry(entry)
    assert origin is not None, f"{entry.name} has no base"
    by_name = origin.name == entry.base and not entry.base_source and origin.source != entry.base_folder
    return open_entry(origin, device, options=f"--model {shlex.quote(entry.base)}" if by_name else "")


def open_encoder(
    model: str,
    base: str | None = None,
    device: str = "auto",
    dtype: torch.dtype = torch.float32,
    name: str | None = None,
    revision: str | None = None,
) -> Encoder:
    """Loads a model by registry name, hub id or folder, with its base's head if it has no own one.

    ModelError: the base does not exist, or is not the one that was fine-tuned; HeadError: no head, and no known base.
    """
    entry = find_entry(model, base, name, revision)
    if base is not None:
        require_base(entry)
    options = {"--model": model, "--revision": revision, "--base": base, "--name": name}
    written = " ".join(f"{option} {shlex.quote(str(value))}" for option, value in options.items() if value is not None)
    try:
        return open_entry(entry, device, dtype, written)
    except ModelError as error:
        known = [registered.name for registered in read_registry().models]
        if (
            model in known
            or "/" in model
            or Path(entry.location).is_dir()
            or not isinstance(error.__cause__, HUB_ERRORS)
        ):
            raise
        raise ModelError(
            f"{model!r} is neither a name of the registry ({', '.join(known)}) nor a folder; {error}"
        ) from error


def open_entry(entry: ModelEntry, device: str, dtype: torch.dtype = torch.float32, options: str = "") -> Encoder:
    """Loads the model of an entry; ``options`` are those of a command that opens it again."""
    origin = base_entry(entry)
    if lacking := next((model.name for model in (entry, origin) if model and model.lacks_data), None):
        raise ModelError(where_data_are(lacking))
    found = load_encoder(
        entry.location,
        name=entry.name,
        base=BaseSource(origin.location, origin.name, entry.base_weights, origin.revision or None) if origin else None,
        revision=entry.revision or None,
        device=device,
        dtype=dtype,
        options=options,
    )
    opens = partial(open_entry, _for_others(entry, origin, found), found.device.type, dtype, options)
    return replace(found, opens=opens)


def _for_others(entry: ModelEntry, origin: ModelEntry | None, opened: Encoder) -> ModelEntry:
    """The entry of an opened model, with its base, for processes that start in another folder: at the same commits, by
    absolute paths.
    """
    held = {}
    if not entry.shipped and Path(entry.source).is_dir():
        held["source"] = str(Path(entry.source).absolute())
    if origin and not origin.shipped and Path(origin.source).is_dir():
        held |= {"base": origin.name, "base_folder": str(Path(origin.source).absolute())}
    return at_same_commits(entry, opened).model_copy(update=held)


def open_models(model: str, base: str | None, device: str, name: str | None, revision: str | None = None) -> Opened:
    """A model and its base, if it has one; ModelError and HeadError as ``opened_base`` and ``open_encoder``."""
    entry = find_entry(model, base, name, revision)
    encoder = open_encoder(model, base, device, name=name, revision=revision)
    entry = at_same_commits(entry, encoder)
    variant, seed = variant_and_seed(Path(entry.location))
    return Opened(encoder, opened_base(encoder, entry), entry.objective, variant, seed)


def opened_base(encoder: Encoder, entry: ModelEntry) -> Encoder | None:
    """The model that a loaded one was fine-tuned from; None if it was not.

    ModelError: it is not the one that was fine-tuned, or has another shape, or the model's name.
    """
    origin = base_entry(entry)
    if origin is None:
        return None
    try:
        base = replace(open_base(entry, str(encoder.device)), name=origin.name)
    except ProbingError as error:
        raise ModelError(
            f"{encoder.name} was fine-tuned from {origin.name}, which cannot be used: {error}; name its folder"
            f" ({spelled('base')})"
        ) from error
    if entry.base_weights and base.weights_id != entry.base_weights:
        raise ModelError(
            f"the base {origin.name} has weights {base.weights_id[:12]}, {encoder.name} was fine-tuned from"
            f" {entry.base_weights[:12]}; name the folder of the original base ({spelled('base')})"
        )
    check_comparable(encoder, base)
    if base.name == encoder.name:
        raise ModelError(
            f"{encoder.name} and its base have the same name; give the model another with {spelled('name')}"
        )
    return base


def check_comparable(encoder: Encoder, base: Encoder) -> None:
    """Raises a ``ModelError`` unless two models have the same layers, heads and width."""
    (layers, heads, width), (others, other_heads, other_width) = (
        (model.depth, int(model.body.config.num_attention_heads), model.hidden) for model in (encoder, base)
    )
    if (layers, heads, width) != (others, other_heads, other_width):
        raise ModelError(
            f"{encoder.name} has {layers} layers of {width} with {heads} heads, {base.name} {others} of {other_width}"
            f" with {other_heads}; expected the model that it was fine-tuned from ({spelled('base')})"
        )


def at_same_commits(entry: ModelEntry, encoder: Encoder) -> ModelEntry:
    """The entry at the commits that were opened, so that what is opened later comes from the same ones."""
    origin = base_entry(entry)
    own = {"revision": encoder.revision} if encoder.hub_id else {}
    of_base = {"base": origin.name, "base_source": encoder.base_source} if origin and encoder.base_source else {}
    return entry.model_copy(update=own | of_base)


def require_base(entry: ModelEntry) -> None:
    """ModelError unless the base of an entry exists; its weights are not loaded."""
    origin = base_entry(entry)
    if origin is None or origin.name in {registered.name for registered in read_registry().models}:
        return
    try:
        check_configuration(origin.location, origin.revision or None)
    except ModelError as error:
        raise ModelError(f"the base {entry.base} cannot be used: {error}; name another ({spelled('base')})") from error


def heads_of(encoder: Encoder, cache: Path) -> tuple[Path, Path]:
    """The two folders of an encoder's trained heads: by its weights, and by weights and configuration."""
    return (
        cache / "heads" / encoder.weights_id[:16],
        cache / "heads" / joint_weights_id(encoder.weights_id, encoder.configuration)[:16],
    )
