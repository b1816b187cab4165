"""The files of a model that hold its weights, and the identity of the weights."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from probing.core.errors import ModelError

#: Weights as transformers stores them, in the order in which it looks for them: in one file, or as a list of shards.
LAYOUTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_VOCABULARIES = ("tokenizer.json", "vocab")


def chosen_weights(names: Iterable[str], shards: Callable[[str], Sequence[str]]) -> list[str]:
    """Names of the weight files that are loaded; none if there are no weights.

    Args:
        names: of all files.
        shards: the names of the shards that the file of that name lists.
    """
    there = set(names)
    for layout in LAYOUTS:
        if layout in there:
            return list(shards(layout)) if layout.endswith(".index.json") else [layout]
    return []


def has_tokenizer(names: Iterable[str]) -> bool:
    """Whether a vocabulary is among the files."""
    return any(name.endswith(".model") or name.startswith(_VOCABULARIES) for name in names)


def weight_files(folder: str | Path) -> list[Path]:
    """The weight files of a folder, in order.

    Raises:
        ModelError: if there are none.
    """
    files = sorted([*Path(folder).glob("*.safetensors"), *Path(folder).glob("pytorch_model*.bin")])
    if not files:
        raise ModelError(f"{folder} has no weight files; expected model.safetensors")
    return files


def identity_of(files: Iterable[Path]) -> str:
    """sha256 over weight files, name and bytes, independent of their folder."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def weights_id_of(folder: str | Path) -> str:
    """``identity_of`` the weight files of a folder."""
    return identity_of(weight_files(folder))


def joint_weights_id(weights: str, base_weights: str) -> str:
    """Identity of a model with two sets of weights: its own and its base's."""
    return hashlib.sha256(f"{weights}+{base_weights}".encode()).hexdigest()
