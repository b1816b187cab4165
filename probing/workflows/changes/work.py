"""The workers of ``changes measure``, in any process: open model and base once, then measure one part after the
other.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from tqdm import tqdm

from probing.core.changes.text import chosen_sentences, text_lines
from probing.core.files.atomic import atomic_text
from probing.models.changes.measure import measure
from probing.models.changes.perplexity import (
    MaskedBlocks,
    base_cross_entropy,
    cross_entropy,
    masked_blocks,
    replaced_cross_entropy,
)
from probing.models.encoders.catalogue import Opened, with_base
from probing.store.parquet import write_table
from probing.store.tables.changes import ALL_HEADS
from probing.workflows.stored_runs import Tasks, opened_again, refuse_differing

#: The function that opens the worker in another process.
OPENER = "probing.workflows.changes.work:open_changes"
#: Parts of a run: attention and states; perplexity of the model and of its base; with layers replaced.
STATES, WHOLE = "states", "whole"
REPLACED = ("last", "first", "single")


@dataclass(frozen=True)
class Asked:
    """The text that is measured on.

    Attributes:
        text: of the sentences.
        plain: whether each of its lines is a sentence.
        sentences: their maximum number.
        blocks_text: of the blocks.
        blocks, pieces: number of blocks, and pieces per block; no blocks: no perplexity.
        seed: of blocks, masks and intervals.
    """

    text: str
    plain: bool
    sentences: int
    blocks_text: str
    blocks: int
    pieces: int
    seed: int


@dataclass(frozen=True)
class ChangeWork(Opened, Tasks):
    """Measures parts of one run; a ``Worker`` of the job that ``measure_changes`` makes.

    Attributes:
        asked: the text.
        target: folder of the Parquet files.
        run_id: of the run.
        folder: of parts.
    """

    asked: Asked
    target: Path
    run_id: str = ""
    folder: Path = Path()

    def do(self, name: str) -> list[Path]:
        """Measures a part of the run."""
        return self._states() if name == STATES else [self._perplexity(name)]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences that attention and states are measured on."""
        return chosen_sentences(Path(self.asked.text), self.asked.sentences, self.asked.plain)

    @cached_property
    def blocks(self) -> MaskedBlocks:
        """The blocks that perplexity is measured on."""
        return masked_blocks(
            text_lines(Path(self.asked.blocks_text)),
            self.encoder.tokenizer,
            self.asked.blocks,
            self.asked.pieces,
            self.asked.seed,
        )

    def part_file(self, part: str) -> Path:
        """The file of a part's perplexities until all parts are done; for the states, of the left-out sentences."""
        return self.folder / f"{part}-{self.run_id}.{'json' if part == STATES else 'parquet'}"

    def _states(self) -> list[Path]:
        with tqdm(desc=f"{self.encoder.name}: attention and states", total=len(self.sentences), unit="sentence") as bar:
            found = measure(self.sentences, self.encoder, self.base, self.asked.seed, bar.update)
        rows = [
            asdict(one) | {"run_id": self.run_id, "head": ALL_HEADS if one.head is None else one.head}
            for one in found.values
        ]
        noted = self.part_file(STATES)
        atomic_text(noted, json.dumps({"sentences": found.sentences, "left_out": dict(found.left_out)}, sort_keys=True))
        return [write_table("change_values", rows, self.target / f"change_values-{self.run_id}.parquet"), noted]

    def _perplexity(self, part: str) -> Path:
        batches = len(list(self.blocks.batches())) * (2 if part == WHOLE and self.base else 1)
        with tqdm(desc=f"{self.encoder.name}: perplexity, {part}", total=batches, unit="batch") as bar:
            rows = self._whole(bar.update) if part == WHOLE else self._replaced(part, bar.update)
        return write_table("perplexity", rows, self.part_file(part))

    def _whole(self, passed: Callable[[], object]) -> list[dict]:
        """Of the unchanged model, and of its base, which equals the model with all layers and the embeddings put
        back.
        """
        if self.base is None:
            return [self._row("none", 0, False, base_cross_entropy(self.encoder, self.blocks, passed))]
        own = cross_entropy(self.encoder.body, self.base.head, self.blocks, passed)
        theirs = base_cross_entropy(self.base, self.blocks, passed)
        return [self._row("none", 0, False, own), self._row("last", self.encoder.depth, True, theirs)]

    def _replaced(self, part: str, passed: Callable[[], object]) -> list[dict]:
        assert self.base is not None
        found = replaced_cross_entropy(
            self.encoder, self.base, cast(Literal["last", "first", "single"], part), self.blocks, passed
        )
        return [self._row(part, n, False, sums) for n, sums in enumerate(found) if n]

    def _row(self, replaced: str, n: int, embeddings: bool, sums: np.ndarray) -> dict:
        # The total is computed from the sums as stored, so that it can be computed again from them.
        stored, masked = sums.astype(np.float32), self.blocks.masked
        return {
            "run_id": self.run_id,
            "replaced": replaced,
            "n": n,
            "embeddings": embeddings,
            "masked": int(masked.sum()),
            "cross_entropy": float(stored.astype(np.float64).sum()),
            "by_block": stored.tolist(),
            "masked_by_block": masked.tolist(),
        }


def open_changes(setup: Mapping[str, Any]) -> ChangeWork:
    """The worker in another process, checked against the coordinator's.

    Raises:
        JobError: if model, base or program differ here.
    """
    opened = with_base(*opened_again(setup))
    refuse_differing({"base": (opened.base.weights_id if opened.base else "", setup["base_weights"])})
    asked, target, folder = Asked(**setup["asked"]), Path(setup["target"]), Path(setup["folder"])
    return ChangeWork(**vars(opened), asked=asked, target=target, run_id=setup["run_id"], folder=folder)
