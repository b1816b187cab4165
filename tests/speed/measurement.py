"""The result of a benchmark: our time and a named alternative's, taken in the same run, and what was equal."""

import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from probing.kernel.errors import ProbingError
from probing.kernel.registry import REPOSITORY

#: Tokens of BERT-base's vocabulary.
BERT_BASE_TOKENS = 30_522
#: The random model of BERT-base's size has this model's tokens, and made-up words for the rest of its vocabulary.
SHIPPED_MODEL = REPOSITORY / "data" / "models" / "nesia-mini"


@dataclass(frozen=True)
class Measurement:
    """One row of ``make bench``.

    Attributes:
        name: what was measured.
        ours_seconds: our time.
        alternative: description of the alternative; empty if there is none.
        alternative_seconds: its time in the same run.
        ratio: alternative divided by ours, unless the name states otherwise (ours by alternative, a size, a share).
        bound: limit of the ratio.
        at_most: whether the bound is a maximum, not a minimum.
        equal: what was equal, and how it was checked.
        note: slice, extrapolation, spread.
    """

    name: str
    ours_seconds: float
    alternative: str
    alternative_seconds: float | None
    ratio: float | None
    bound: float | None
    at_most: bool
    equal: str
    note: str = ""

    def met(self) -> bool | None:
        """Whether the bound is met; None if there is no bound or no ratio."""
        if self.ratio is None or self.bound is None:
            return None
        return self.ratio <= self.bound if self.at_most else self.ratio >= self.bound


def seconds_of(call: Callable[[], object]) -> float:
    """Seconds of one call, until a GPU is done, too."""
    start = time.perf_counter()
    call()
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def require_equal(equal: bool, found: str) -> None:
    """Stops a benchmark whose two sides give different results, because its ratio would mean nothing.

    Raises:
        ProbingError: with the difference.
    """
    if not equal:
        raise ProbingError(f"the benchmark's two sides differ: {found}")


def alternate(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of ``rounds`` calls of each, in turn, after one call of each that is not counted.

    They alternate, so that a machine that slows down slows both.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for taken, call in zip(times, (ours, theirs), strict=True):
            seconds = seconds_of(call)
            if number:
                taken.append(seconds)
    return times


def random_bert_base(folder: Path) -> Path:
    """Folder of a model of BERT-base's size: 12 layers of 768, 30,522 tokens, random weights of seed 0; it is made
    once.

    Speed does not depend on weights. The WordPiece tokenizer is real: the shipped model's tokens, and made-up words
    that no word of a text starts with, so texts have the same word pieces as in the shipped model.
    """
    place = folder / "random-bert-base"
    if place.is_dir():
        return place
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    shipped = json.loads((SHIPPED_MODEL / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    tokens = sorted(shipped, key=lambda token: shipped[token])
    tokens += [f"qxq{number}" for number in range(BERT_BASE_TOKENS - len(tokens))]
    temporary = folder / f"{place.name}.{os.getpid()}.{uuid.uuid4().hex}.tmp"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertForMaskedLM(BertConfig(pad_token_id=shipped["[PAD]"])).save_pretrained(temporary)
    BertTokenizer(vocab={token: number for number, token in enumerate(tokens)}, do_lower_case=True).save_pretrained(
        temporary
    )
    try:
        temporary.rename(place)
    except OSError:
        # Another process made it in the meantime, with the same bytes.
        shutil.rmtree(temporary)
    return place
