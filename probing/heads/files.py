"""Heads on disk: safetensors files whose metadata identifies model, layer and recipe."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from probing.kernel.errors import HeadError
from probing.kernel.files import atomic_file, atomic_text
from probing.kernel.models.arrays import sum_of
from probing.kernel.models.catalogue import heads_of
from probing.kernel.models.head import DecodingHead, Head, fresh_copy
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import HEADS, LOGIT_LENS, TIED, find_entry
from probing.kernel.options import spelled

#: Metadata key of a head's identity, as JSON.
IDENTITY = "decoding_head"
#: Parts of the identity that are written only if they are not empty.
LATER = ("configuration", "starts")


@dataclass(frozen=True)
class HeadIdentity:
    """The model and layer of a head, and its training."""

    model: str
    weights: str
    layer: int
    kind: str  #: one of ``STORED``
    recipe: str  #: canonical JSON
    validation: str  #: JSON list of ``[step, loss]``, step 0 being the start
    crc32: str = field(default="", compare=False)  #: of the weights, filled in when they are written
    configuration: str = ""
    #: JSON of the validation loss of the closed-form ``map`` and of ``lens``, the head without it, if both were tried;
    #: the lower one was the start. ``positions``: on how many first positions, if not all.
    starts: str = ""


def head_path(folder: Path, layer: int) -> Path:
    return folder / f"layer-{layer:02d}.safetensors"


def write_seconds(folder: Path, layer: int, recipe: str, seconds: float) -> None:
    """Writes a training's duration next to the head; not into its file, because equal heads are equal bytes."""
    atomic_text(_seconds_path(folder, layer), json.dumps({"recipe": recipe, "seconds": round(seconds, 3)}))


def read_seconds(folder: Path, layer: int, recipe: str) -> float | None:
    """Duration of a head's training; None if none is stored for this recipe."""
    try:
        noted = json.loads(_seconds_path(folder, layer).read_text(encoding="utf-8"))
        return float(noted["seconds"]) if noted["recipe"] == recipe else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _seconds_path(folder: Path, layer: int) -> Path:
    return folder / f"seconds-{layer:02d}.json"


def save_head(head: DecodingHead, identity: HeadIdentity, folder: Path, dtype: torch.dtype = torch.float32) -> Path:
    """Writes a head's own parameters atomically; only a full head has the vocabulary matrix among them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = head_path(folder, identity.layer)
    tensors = {name: p.detach().to("cpu", dtype).contiguous() for name, p in head.trainable(identity.kind).items()}
    identity = replace(identity, crc32=sum_of({name: tensor.numpy() for name, tensor in tensors.items()}))
    stored = {name: value for name, value in vars(identity).items() if name not in LATER or value}
    with atomic_file(path) as temporary:
        # One entry, because safetensors writes several in an order that changes from file to file, and equal heads must
        # be equal bytes.
        save_file(tensors, temporary, metadata={IDENTITY: json.dumps(stored, sort_keys=True)})
    return path


def read_identity(path: Path) -> HeadIdentity:
    """The identity inside a head file; HeadError if it is missing, unreadable or not a head."""
    if not path.is_file():
        raise HeadError(f"no head at {path}; train heads with: python -m probing train-heads --model MODEL --head KIND")
    try:
        with safe_open(path, framework="pt") as stream:
            metadata = stream.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise HeadError(
            f"{path} is not a readable safetensors file ({error}); delete it and train the head again"
        ) from error
    try:
        return HeadIdentity(**json.loads(metadata[IDENTITY]))
    except (KeyError, TypeError, json.JSONDecodeError, RecursionError):
        expected = ", ".join(HeadIdentity.__dataclass_fields__)
        message = f"{path} has no identity of a head (expected {expected}); it was not written by this project"
        raise HeadError(message) from None


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The weights inside a head file, by name."""
    with safe_open(path, framework="pt") as stream:
        return {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118


def stored_dtype(path: Path) -> torch.dtype:
    """The number format of a head file's weights."""
    with safe_open(path, framework="pt") as stream:
        return stream.get_tensor(next(iter(stream.keys()))).dtype


def refuse_damage(path: Path, identity: HeadIdentity, tensors: dict[str, torch.Tensor]) -> None:
    """Raises a ``HeadError`` if weights are not those that were written, or are not finite."""
    if other := [name for name, tensor in tensors.items() if tensor.dtype not in (torch.float32, torch.float16)]:
        raise HeadError(
            f"{path}: {other[0]} is in {str(tensors[other[0]].dtype).removeprefix('torch.')}, expected float32 or"
            " float16"
        )
    if not tensors:
        raise HeadError(f"{path} holds no weights; delete it and train or pull the head again")
    if identity.crc32 != sum_of({name: tensor.numpy() for name, tensor in tensors.items()}):
        raise HeadError(
            f"{path} is damaged: its weights are not those that were written; delete it and train or pull the head"
            " again"
        )
    if strange := [name for name, tensor in tensors.items() if not tensor.isfinite().all()]:
        raise HeadError(
            f"{path}: {strange[0]} holds numbers that are not finite; delete it and train or pull the head again"
        )


def load_head(folder: Path, encoder: Encoder, layer: int, kind: str) -> DecodingHead:
    """One layer's head; HeadError if it belongs to another encoder, layer or kind, or lacks a part."""
    path = head_path(folder, layer)
    identity = read_identity(path)
    expected = {"weights": encoder.weights_id, "configuration": encoder.configuration, "layer": layer, "kind": kind}
    for key, value in expected.items():
        got = getattr(identity, key)
        if got != value:
            text = f"{str(got)[:12]} (model {identity.model})" if key in ("weights", "configuration") else got
            raise HeadError(
                f"{path} belongs to {key} {text}, expected {str(value)[:12]} of {encoder.name}; train heads for this"
                f" model: {train_command(encoder, kind)}"
            )
    head = fresh_copy(encoder.head, kind)
    tensors = read_weights(path)
    if "dense.bias" in tensors:
        # A head that started with the closed-form map has this bias in every architecture.
        head.give_bias()
    own = head.trainable(kind)
    if set(tensors) != set(own):
        raise HeadError(f"{path} holds {sorted(tensors)}, expected exactly {sorted(own)}")
    for name, parameter in own.items():
        if tensors[name].shape != parameter.shape:
            raise HeadError(f"{path}: {name} has shape {tuple(tensors[name].shape)}, expected {tuple(parameter.shape)}")
    refuse_damage(path, identity, tensors)
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(tensors[name])
    return head.to(encoder.device).eval()


def train_command(encoder: Encoder, kind: str, seed: int = 0) -> str:
    """The command that trains heads of this encoder."""
    return f"python -m probing train-heads {encoder.options} --head {kind}" + (f" --seed {seed}" if seed else "")


def no_heads(encoder: Encoder, kind: str, seed: int = 0) -> HeadError:
    """Error for missing heads: train them or, without a seed, use the pre-trained head."""
    which = f"no {kind} heads{f' of seed {seed}' if seed else ''} exist for {encoder.name}"
    without = "" if seed else f"; without any training: {spelled('head', LOGIT_LENS)}"
    return HeadError(f"{which}; train them with: {train_command(encoder, kind, seed)}{without}")


def load_heads(folder: Path | None, encoder: Encoder, kind: str, layers: Sequence[int] | None = None) -> list[Head]:
    """A head per layer, 0..L by default: from ``folder``, or the pre-trained head on every layer (``logit_lens``)."""
    layers = range(encoder.layers) if layers is None else layers
    if kind not in HEADS:
        raise HeadError(f"head kind {kind!r} is unknown; expected one of {', '.join(HEADS)}")
    if kind == LOGIT_LENS:
        return [encoder.head] * len(layers)
    if folder is None:
        raise no_heads(encoder, kind)
    recipes = {read_identity(head_path(folder, layer)).recipe for layer in layers}
    if len(recipes) != 1:
        raise HeadError(
            f"the heads in {folder} come from {len(recipes)} recipes, expected one; delete the folder and train them"
            " again"
        )
    return [load_head(folder, encoder, layer, kind) for layer in layers]


def heads_fingerprint(folder: Path | None, encoder: Encoder, kind: str, layer: int = 0) -> str:
    """Recipe of the heads in a run's configuration, from one layer's head; equal for equal training."""
    if kind == LOGIT_LENS or folder is None:
        return "pre-trained"
    return read_identity(head_path(folder, layer)).recipe


def validation_losses(folder: Path, layers: Sequence[int]) -> list[dict]:
    """Validation loss of the layers' heads at the start and at the best checkpoint, and of both starts, if tried.

    ``positions`` is the number of positions of ``logit_lens`` and ``map``, if not all were used.
    """
    rows = []
    for layer in layers:
        identity = read_identity(head_path(folder, layer))
        curve = json.loads(identity.validation)
        best = min(curve, key=lambda point: point[1])
        starts = json.loads(identity.starts or "{}")
        row = {"layer": layer, "start": curve[0][1], "best": best[1], "best_step": best[0], "steps": curve[-1][0]}
        row |= {name: float(starts[way]) for way, name in (("lens", LOGIT_LENS), ("map", "map")) if way in starts}
        rows.append(row | ({"positions": int(starts["positions"])} if "positions" in starts else {}))
    return rows


def trained_heads_folder(encoder: Encoder, kind: str, seed: int, cache: Path) -> Path:
    """Folder of trained heads: by weights, and by configuration if those there have another one."""
    usual, apart = heads_of(encoder, cache)
    paths = sorted((usual / f"{kind}-seed{seed}").glob("layer-*.safetensors"))[:1]
    foreign = any(read_identity(path).configuration != encoder.configuration for path in paths)
    return (apart if foreign or (apart / f"{kind}-seed{seed}").is_dir() else usual) / f"{kind}-seed{seed}"


def heads_folder(
    model: str | None, encoder: Encoder, kind: str, cache: Path, seed: int = 0, layers: Sequence[int] | None = None
) -> Path | None:
    """Folder of this encoder's heads of a kind: next to a shipped model, else in the cache; None if a layer has none.

    ``model`` is the name that the encoder was opened by, None from memory. Heads of the same weights in another
    configuration are found last, and refused when they are loaded.
    """
    usual, apart = heads_of(encoder, cache)
    candidates = [root / f"{kind}-seed{seed}" for root in (apart, usual)]
    if seed == 0 and model is not None:
        candidates.insert(0, Path(find_entry(model).location) / "heads" / kind)
    for folder in candidates:
        # Heads may still be in training, so only a complete set counts.
        if all(head_path(folder, layer).is_file() for layer in layers or range(encoder.layers)):
            return folder
    return None


def chosen_heads(
    model: str | None,
    encoder: Encoder,
    kind: str | None,
    cache: Path,
    seed: int = 0,
    layers: Sequence[int] | None = None,
) -> tuple[str, Path | None]:
    """The kind of heads that reads an encoder, and their folder.

    By default ``tied`` if they are trained, else ``logit_lens``, which every model has.
    """
    if kind == LOGIT_LENS:
        return kind, None
    folder = heads_folder(model, encoder, kind or TIED, cache, seed, layers)
    return (LOGIT_LENS, None) if kind is None and folder is None and not seed else (kind or TIED, folder)


def no_heads_note(encoder: Encoder) -> str:
    """The line for a user who names no heads of a model that has no trained ones."""
    return (
        f"no {TIED} heads are trained for {encoder.name}, so its pre-trained head reads every layer, the logit lens "
        f"({spelled('head', LOGIT_LENS)}); train heads with: {train_command(encoder, TIED)}"
    )
