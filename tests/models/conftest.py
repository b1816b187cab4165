"""Tiny models of every architecture, saved once; all arithmetic on one thread."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from probing.kernel.models.head import PARTS
from probing.kernel.models.load import Encoder, load_encoder
from tests.models import tiny_models

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory) -> Callable[[str], Path]:
    """Architecture -> folder of its tiny model; not to be written to."""
    root, made = tmp_path_factory.mktemp("tiny"), {}

    def folder(architecture: str) -> Path:
        if architecture not in made:
            made[architecture] = tiny_models.save(architecture, root / f"tiny-{architecture}")
        return made[architecture]

    return folder


@pytest.fixture(scope="session")
def encoder_of(folder_of) -> Callable[..., Encoder]:
    """Architecture -> loaded encoder on the CPU, in float32 unless asked."""
    made = {}

    def encoder(architecture: str, dtype: torch.dtype = torch.float32) -> Encoder:
        if (architecture, dtype) not in made:
            made[architecture, dtype] = load_encoder(folder_of(architecture), device="cpu", dtype=dtype)
        return made[architecture, dtype]

    return encoder


@pytest.fixture(params=sorted(PARTS))
def architecture(request) -> str:
    """Every architecture in turn."""
    return request.param


@pytest.fixture()
def bert(encoder_of) -> Encoder:
    """The tiny BERT."""
    return encoder_of("bert")


@pytest.fixture()
def bert_copy(folder_of, tmp_path) -> Path:
    """The tiny BERT's folder, copied for a test that spoils it."""
    return shutil.copytree(folder_of("bert"), tmp_path / "copy")
