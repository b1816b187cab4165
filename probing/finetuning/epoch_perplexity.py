"""Perplexity while a model is fine-tuned."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from probing.changes.minimal_pairs import raw_text, text_lines, text_sha256
from probing.changes.perplexity import BLOCK_PIECES, cross_entropy, masked_blocks
from probing.finetuning.setup import Prepared
from probing.finetuning.trainer import Model
from probing.kernel.errors import ModelError, Say, TextError
from probing.kernel.files import atomic_text, cache_folder
from probing.kernel.models.head import pretrained_head


class EpochPerplexity:
    """Called by ``finetune``: perplexity at masked pieces of a text, by the base's own head on the changed body.

    The values are kept with the checkpoints, as a resumed training does not repeat its beginning.
    """

    def __init__(self, lines: list[str], ready: Prepared, kept: Path):
        self.head, self.kept, self.text_sha256 = copy.deepcopy(pretrained_head(ready.before)), kept, text_sha256(lines)
        pieces = min(BLOCK_PIECES, ready.max_pieces)
        try:
            self.blocks = masked_blocks(lines, ready.tokenizer, pieces=pieces)
        except TextError as error:
            raise TextError(
                f"{error}; perplexity by epoch needs a longer text: name one with --perplexity-text"
            ) from error
        self.seen: dict[str, dict[str, Any]] = {}
        if kept.is_file():
            stored = json.loads(kept.read_text(encoding="utf-8"))
            if stored["text"] != self.text_sha256:
                raise ModelError(
                    f"{kept} is of another text; name that one with --perplexity-text, or delete {kept.parent}"
                )
            self.seen = stored["seen"]

    def __call__(self, model: Model, step: int, epoch: float) -> None:
        body = getattr(model, model.base_model_prefix)
        sums = cross_entropy(body, self.head.to(body.device), self.blocks)
        row = {"epoch": epoch, "step": step, "blocks": len(self.blocks), "masked": int(self.blocks.masked.sum())}
        self.seen[str(step)] = row | {"cross_entropy": float(sums.sum())}
        atomic_text(self.kept, json.dumps({"text": self.text_sha256, "seen": self.seen}))

    def rows(self, model: str, base: str) -> list[Mapping[str, Any]]:
        """Rows of the table ``epoch_perplexity``, by step."""
        return [{"model": model, "base": base, **self.seen[step]} for step in sorted(self.seen, key=int)]


def epoch_perplexity(text: Path | None, ready: Prepared, kept: Path, say: Say) -> EpochPerplexity | None:
    """The perplexity to measure; None, with a line on why, if no text is given and WikiText-2's is not fetched."""
    if text is not None:
        return EpochPerplexity(text_lines(text), ready, kept)
    try:
        return EpochPerplexity(text_lines(raw_text(cache_folder() / "downloads")), ready, kept)
    except TextError as error:
        say(f"  perplexity by epoch is left out: {error}")
        return None
