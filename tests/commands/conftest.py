"""A tiny masked language model with random weights, and an empty cache of its own for every test."""

import itertools
import json
from collections.abc import Callable, Iterator
from functools import cache as cached
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from probing import check
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.parquet import read_table

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "paris",
    "berlin",
    "rome",
    "france",
    "germany",
    "italy",
    "the",
    "capital",
    "of",
    "is",
    "was",
    "born",
    "in",
    "a",
    "city",
    ".",
    ",",
    "and",
    "it",
    "to",
    "rocky",
    "philadelphia",
    "boston",
    "jazz",
    "music",
    "plays",
    "sun",
    "moon",
    "red",
    "green",
    "blue",
    "water",
    "stone",
    "one",
    "two",
    "three",
    "four",
]


def bytes_of(folder: Path) -> dict[str, object]:
    """Content of every file of results; of runs the rows without the time, of all others the bytes."""
    found: dict[str, object] = {}
    for path in sorted(folder.glob("*.parquet")):
        found[path.name] = path.read_bytes()
        if (table := path.name.partition("-")[0]).endswith("_runs"):
            found[path.name] = [{**row, "created": None} for row in read_table(path, table).to_pylist()]
    return found


@pytest.fixture(scope="package", autouse=True)
def checked_once() -> Iterator[None]:
    """``check`` reads the shipped facts, models, heads and probes once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "_facts_problems", cached(check._facts_problems))
        for name in (
            "weights_id_of",
            "read_identity",
            "read_weights",
            "refuse_damage",
            "read_edge_probes",
            "read_sentence_probes",
        ):
            patch.setattr(check, name, once_if_shipped(getattr(check, name)))
        yield


def once_if_shipped(read: Callable[..., Any]) -> Callable[..., Any]:
    """As ``read``, but a path in ``data``, where no test changes anything, is read once per run of the tests."""
    known: dict[Path, Any] = {}

    def call(path: str | Path, *more: Any) -> Any:
        if not Path(path).is_relative_to(REPOSITORY / "data"):
            return read(path, *more)
        if Path(path) not in known:
            known[Path(path)] = read(path, *more)
        return known[Path(path)]

    return call


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> Path:
    """A folder with a BERT of two layers of 16 and 40-odd tokens."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    model = BertForMaskedLM(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    assert model.num_parameters() < 20_000
    model.save_pretrained(folder)
    BertTokenizer(vocab={word: number for number, word in enumerate(WORDS)}, do_lower_case=True).save_pretrained(folder)
    return folder


@pytest.fixture()
def cache(tmp_path, monkeypatch) -> Path:
    """The cache folder of one test; the snapshot is empty."""
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "snapshot"))
    return tmp_path / "cache"


@pytest.fixture()
def at(monkeypatch) -> Callable[[Path], Path]:
    """Points the program to the cache and the snapshot of a folder."""

    def point(folder: Path) -> Path:
        monkeypatch.setenv("PROBING_CACHE", str(folder / "cache"))
        monkeypatch.setenv("PROBING_SNAPSHOT", str(folder / "snapshot"))
        return folder

    return point


class Killed(BaseException):
    """As SIGKILL, nobody handles it."""


@pytest.fixture()
def dies(monkeypatch) -> Callable[..., Callable[[], None]]:
    """Lets a function of a module be called so often, after which the process is gone."""

    def after(module: Any, name: str, calls: int) -> Callable[[], None]:
        real, count = getattr(module, name), itertools.count()

        def mortal(*given, **named):
            if next(count) == calls:
                raise Killed
            return real(*given, **named)

        monkeypatch.setattr(module, name, mortal)
        return lambda: monkeypatch.setattr(module, name, real)

    return after


@pytest.fixture()
def facts_file(tmp_path) -> Path:
    """Six facts as JSONL, one of which the tiny vocabulary splits and one of which has two masks."""
    rows = [
        ("france", "capital", "Paris", "The capital of France is [MASK]."),
        ("germany", "capital", "Berlin", "The capital of Germany is [MASK]."),
        ("italy", "capital", "Rome", "The capital of Italy is [MASK]."),
        ("Rocky", "born", "Philadelphia", "Rocky was born in [MASK]."),
        ("x", "born", "Zanzibar", "The city is [MASK]."),
        ("y", "born", "Boston", "The [MASK] is [MASK]."),
    ]
    path = tmp_path / "facts.jsonl"
    path.write_text(
        "".join(json.dumps(dict(zip(("subject", "relation", "object", "prompt"), r, strict=True))) + "\n" for r in rows)
    )
    return path
