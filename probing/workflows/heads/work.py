"""The workers of ``train-heads``, in any process: open the model once, then train one group of layers after the
other.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.core.errors import FactsError
from probing.core.nesia.corpus import wikitext_sentences
from probing.core.paths import cache_folder
from probing.jobs.job import Job, Shard
from probing.models.encoders.load import Encoder
from probing.models.heads.files import head_path
from probing.models.heads.masked_states import StatesCache
from probing.models.heads.recipe import HeadRecipe, text_sha256
from probing.models.heads.training import is_finished, train_heads
from probing.models.runtime.torch_settings import number_format
from probing.workflows.stored_runs import opened_again, refuse_differing

#: Part of WikiText-2 -> names of its file in several releases.
FETCHED = {"train": ("wiki.train.tokens", "train.txt"), "valid": ("wiki.valid.tokens", "valid.txt")}
#: The function that opens the worker in another process.
OPENER = "probing.workflows.heads.work:open_training"


@dataclass(frozen=True)
class HeadWork:
    """Trains the heads of shards; a ``Worker`` of the job that ``head_job`` makes.

    Attributes:
        train, valid: sentences.
        folder: where the heads go.
        half: whether they are stored in float16.
        budget: bytes that hidden states may take on disk.
    """

    encoder: Encoder
    train: Sequence[str]
    valid: Sequence[str]
    recipe: HeadRecipe
    folder: Path
    half: bool
    budget: int

    @property
    def dtype(self) -> str:
        """The number format that heads are stored in."""
        return "float16" if self.half else "float32"

    def __call__(self, arguments: Sequence[Mapping[str, Any]], finished: Callable[[int, list[Path]], None]) -> None:
        """Trains all layers of all shards together, so that the encoder runs as seldom as the budget allows."""
        layers = [layer for given in arguments for layer in given["layers"]]
        states = StatesCache(cache_folder() / "head-states", self.budget)
        dtype = number_format(self.dtype)
        train_heads(self.encoder, self.train, self.valid, self.recipe, self.folder, states, dtype, layers)
        for place, given in enumerate(arguments):
            finished(place, [head_path(self.folder, layer) for layer in given["layers"]])


def head_job(
    opened: HeadWork,
    layers: Sequence[int],
    layers_per_shard: int,
    setup: Mapping[str, Any],
    texts: tuple[Path | None, Path | None],
    environment: Mapping[str, str],
) -> Job:
    """The job of a set of heads: a shard is a group of layers. All shards use the same hidden states on disk.

    ``setup`` is of ``stored_runs.setup_of``.

    Raises:
        HeadError: if a head of another recipe is in the place of one of these.
    """
    for layer in layers:
        is_finished(head_path(opened.folder, layer), opened.recipe, opened.encoder, number_format(opened.dtype))
    setup = {
        **setup,
        "recipe": opened.recipe.model_dump(),
        "texts": [str(path.absolute()) if path else None for path in texts],
        "folder": str(opened.folder.absolute()),
        "half": opened.half,
        "budget": opened.budget,
    }
    groups = [list(layers[start : start + layers_per_shard]) for start in range(0, len(layers), layers_per_shard)]
    shards = [Shard(f"layers-{group[0]:02d}-{group[-1]:02d}", {"layers": group}) for group in groups]
    decides = [
        opened.encoder.weights_id,
        opened.encoder.configuration,
        opened.recipe.canonical(),
        str(opened.folder.absolute()),
        opened.half,
    ]
    folder = cache_folder() / "jobs" / f"heads-{hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:16]}"
    return Job(folder, OPENER, setup, shards, environment, opened)


def open_training(setup: Mapping[str, Any]) -> HeadWork:
    """The worker of ``head_job`` in another process, checked against the coordinator's.

    Raises:
        JobError: if model, text or program differ here.
        ProbingError: if one of them is missing here.
    """
    train, valid = head_text(*(Path(path) if path else None for path in setup["texts"]))
    encoder, _ = opened_again(setup)
    recipe = HeadRecipe(**setup["recipe"])
    refuse_differing({"text": (text_sha256(train, valid), recipe.text_sha256)})
    return HeadWork(encoder, train, valid, recipe, Path(setup["folder"]), setup["half"], setup["budget"])


def head_text(train: Path | None, valid: Path | None) -> tuple[list[str], list[str]]:
    """Training and validation sentences, from files or from the fetched WikiText-2.

    Raises:
        FactsError: if there is no text, naming the command that fetches it.
    """
    return list(wikitext_sentences(train or fetched_text("train"))), list(
        wikitext_sentences(valid or fetched_text("valid"))
    )


def fetched_text(part: str) -> Path:
    """The file of a part of the fetched WikiText-2, ``train`` or ``valid``.

    Raises:
        FactsError: if it was not fetched.
    """
    folder = cache_folder() / "downloads" / "wikitext-2"
    for name in FETCHED[part]:
        if found := sorted(folder.rglob(name)):
            return found[0]
    raise FactsError(
        f"no {part} text for heads in {folder}; fetch it with: python -m probing fetch wikitext-2 (or name files:"
        " --text FILE --valid FILE)"
    )
