"""The files of a model that hold its weights, and the identity of the weights."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from probing.kernel.errors import ModelError


def weight_files(folder: str | Path) -> list[Path]:
    """The weight files of a folder, in order; ModelError if there are none."""
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
