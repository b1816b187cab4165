"""Measures what fine-tuning changed in a model, part by part in any process, and stores it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, cast

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from probing.changes.measure import measure
from probing.changes.measures import ChangeRunConfig
from probing.changes.minimal_pairs import chosen_sentences, raw_text, text_lines, text_sha256
from probing.changes.perplexity import (
    BLOCK_PIECES,
    MaskedBlocks,
    base_cross_entropy,
    cross_entropy,
    masked_blocks,
    replaced_cross_entropy,
)
from probing.changes.requests import ChangesRequest
from probing.changes.tables import ALL_HEADS
from probing.kernel.errors import Say
from probing.kernel.files import atomic_text, cache_folder
from probing.kernel.jobs.stored_runs import RunFiles, TaskWork, do_job, places_of, provenance_of
from probing.kernel.models.catalogue import Opened, open_models
from probing.kernel.models.layer_swap import NotReplaceable, check_replaceable
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import weight_drift
from probing.kernel.models.torch_settings import set_threads, thread_count
from probing.kernel.registry import name_in_files
from probing.kernel.requests import ExecutorChoice
from probing.kernel.store.parquet import read_table, write_table

#: Parts of a run: attention and states; perplexity of the model and of its base; with layers replaced.
STATES, WHOLE = "states", "whole"
REPLACED = ("last", "first", "single")


@dataclass(frozen=True)
class ChangeWork(Opened, TaskWork):
    """Measures one run; a shard is a part of it."""

    request: ChangesRequest  #: what is measured
    text: Path  #: of the sentences; ``request.text`` if that is given
    blocks_text: Path | None  #: of the blocks; None: no perplexity
    left_out: Mapping[str, str]  #: why no layers can be put back; empty if they can
    target: Path  #: folder of the Parquet files

    @property
    def folder(self) -> Path:
        """With the manifest, and with parts until all are done."""
        return self.place("changes", self.run_id, self.target)

    @cached_property
    def shards(self) -> dict[str, str]:
        """The parts of the run."""
        replaced = self.request.replaced and self.base and not self.left_out
        parts = [WHOLE, *(REPLACED if replaced else ())] if self.blocks_text else []
        return {part: part for part in (STATES, *parts)}

    @cached_property
    def config(self) -> ChangeRunConfig:
        """The configuration of the run."""
        base, head = self.base, "the base's head" if self.base else "its own head"
        return ChangeRunConfig(
            **provenance_of(self.encoder, base, self.objective, head, self.request.seed, thread_count()),
            base_weights=base.weights_id if base else "",
            sentences_sha256=text_sha256(self.sentences),
            sentences=len(self.sentences),
            blocks_sha256=self.blocks.sha256 if self.blocks_text else "",
            blocks=self.request.blocks,
            block_pieces=self.pieces,
            replaced=self.request.replaced,
        )

    @property
    def run_id(self) -> str:
        """Of the run."""
        return self.config.fingerprint

    @property
    def pieces(self) -> int:
        """Pieces per block."""
        return min(BLOCK_PIECES, self.encoder.max_pieces)

    def make(self, shard: str) -> list[Path]:
        """Measures a part of the run."""
        return self._states() if shard == STATES else [self._perplexity(shard)]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences that attention and states are measured on."""
        return chosen_sentences(self.text, self.request.sentences, self.request.text is not None)

    @cached_property
    def blocks(self) -> MaskedBlocks:
        """The blocks that perplexity is measured on."""
        assert self.blocks_text
        lines, request = text_lines(self.blocks_text), self.request
        return masked_blocks(lines, self.encoder.tokenizer, request.blocks, self.pieces, request.seed)

    def part_file(self, part: str) -> Path:
        """The file of a part's perplexities until all parts are done; for the states, of the left-out sentences."""
        return self.folder / f"{part}-{self.run_id}.{'json' if part == STATES else 'parquet'}"

    def _states(self) -> list[Path]:
        with tqdm(desc=f"{self.encoder.name}: attention and states", total=len(self.sentences), unit="sentence") as bar:
            found = measure(self.sentences, self.encoder, self.base, self.request.seed, bar.update)
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


_TABLES = ("change_values", "perplexity", "change_runs")


def measure_changes(request: ChangesRequest, say: Say = print) -> Path:
    """Measures attention, similarity of states and perplexity of a model and its base; returns the results' folder."""
    set_threads(request.threads)
    raw = raw_text(cache_folder() / "downloads") if request.text is None or request.blocks else None
    opened = open_models(request.model, request.base, request.device, request.name, request.revision)
    encoder, base = opened.encoder, opened.base
    left_out = _not_replaceable(encoder, base) if base and request.replaced else {}
    target, _ = places_of(request, encoder)
    work = ChangeWork(
        **vars(opened),
        request=replace(request, executor=ExecutorChoice()),
        text=(request.text or raw or Path()).absolute(),
        blocks_text=raw.absolute() if raw and request.blocks else None,
        left_out=left_out,
        target=target.absolute(),
    )
    run = RunFiles(work.config, _TABLES, work.target)
    if run.whole():
        say(f"{encoder.name}: run {work.run_id} exists already")
    else:
        do_job(request, work, say, finish=lambda: _gather(work, run))
        for reason in left_out.values():
            say(f"  no layers are put back: {reason}")
    beside = f"and {base.name}" if base else "alone"
    say(f"{encoder.name} {beside}: {target}")
    return target


def _not_replaceable(encoder: Encoder, base: Encoder) -> dict[str, str]:
    """Why no layers can be put back; empty if they can."""
    try:
        check_replaceable(encoder, base)
    except NotReplaceable as error:
        return {"replaced layers": str(error)}
    return {}


def _gather(work: ChangeWork, run: RunFiles) -> None:
    """Joins the parts of the perplexities, and writes the drift of the weights and, last, the run's row."""
    encoder, config = work.encoder, work.config
    found = [read_table(work.part_file(part), "perplexity") for part in work.shards if part != STATES]
    noted = json.loads(work.part_file(STATES).read_text(encoding="utf-8"))
    if work.base is not None:
        bodies = [
            {name: weight.detach().cpu() for name, weight in one.body.named_parameters()}
            for one in (work.base, encoder)
        ]
        drift = [{"model": encoder.name, "base": work.base.name} | row for row in weight_drift(*bodies)]
        write_table("weight_drift", drift, work.target / f"weight_drift-{name_in_files(encoder.name)}.parquet")
    row = config.row | {
        "variant": work.variant,
        "tuned_seed": work.tuned_seed,
        "layers": encoder.layers,
        "heads": int(encoder.body.config.num_attention_heads),
        "width": encoder.hidden,
        "sentences": noted["sentences"],
        "blocks": config.blocks,
        "block_pieces": config.block_pieces,
        "left_out": json.dumps(noted["left_out"] | work.left_out, sort_keys=True),
    }
    run.write({"perplexity": pa.concat_tables(found) if found else [], "change_runs": [row]}, encoder)
