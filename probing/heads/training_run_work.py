"""The work of ``train-heads``, in any process: one group of layers after the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.facts.corpus import wikitext_sentences
from probing.heads.files import head_path
from probing.heads.recipe import HeadRecipe
from probing.heads.states import StatesCache
from probing.heads.train import is_finished, train_heads
from probing.kernel.errors import FactsError
from probing.kernel.files import cache_folder
from probing.kernel.jobs.stored_runs import ModelWork
from probing.kernel.models.load import Encoder
from probing.kernel.models.torch_settings import number_format

#: Part of WikiText-2 -> names of its file in several releases.
FETCHED = {"train": ("wiki.train.tokens", "train.txt"), "valid": ("wiki.valid.tokens", "valid.txt")}


@dataclass(frozen=True)
class HeadWork(ModelWork):
    """Trains heads; a shard is a group of layers. All shards use the same hidden states on disk.

    Attributes:
        train, valid: sentences.
        layers: those of the heads; ``layers_per_shard`` of them are a shard.
        target: where the heads go.
        half: whether they are stored in float16.
        budget: bytes that hidden states may take on disk.
    """

    encoder: Encoder
    train: Sequence[str]
    valid: Sequence[str]
    recipe: HeadRecipe
    layers: Sequence[int]
    layers_per_shard: int
    target: Path
    half: bool
    budget: int

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
