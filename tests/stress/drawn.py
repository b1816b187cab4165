"""Links, model folders and shares with something drawn that is wrong with them, one after the other."""

import json
import random
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from typer.testing import CliRunner

from probing.kernel.app import selection
from probing.kernel.errors import ProbingError
from probing.kernel.files import atomic_folder, cache_folder, pulled_folders, snapshot_folder
from probing.kernel.store.check import check_store
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table, table_of, write_table
from probing.main import app
from tests import tiny_models
from tests.faults import flips
from tests.fixtures.commands import save_tiny
from tests.kernel.test_broken_folders import cut, flip, set_in, write
from tests.pages.conftest import PAGES, opening, words
from tests.pages.every_tab import links_to_tabs
from tests.sharing.test_sharing import MODELS, make_shares, seal

#: What came of a trial, in few words, and what was wrong with it, empty if nothing.
Outcome = tuple[str, str]
Trial = Callable[[random.Random, int], Outcome]
STRANGE = ("", "-1", "1e999", "NaN", "9" * 40, "null", "tied", "trex", "%00", "\x00", "\u202e", "😀" * 50, "x" * 20_000)
HOSTILE = (
    "<script>x</script>",
    "<img src=x>",
    "[a](javascript:b)",
    "../../../etc/passwd",
    "\\\\host\\share",
    "'; DROP TABLE",
)


def links(work: Path) -> Trial:
    """A link to a page with up to five fields, known and unknown, and what the shipped results make of it."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PROBING_PUBLIC", "1")
    open_page = opening(snapshot_folder(), work / "cache", patch)

    def trial(rng: random.Random, _: int) -> Outcome:
        page = rng.choice(sorted(PAGES))
        query: dict[str, Any] = dict(rng.choice(links_to_tabs(page)))
        for name in rng.choices([*selection.PAGE_FIELDS[page], "no_such_field"], k=rng.randint(1, 5)):
            if name == "no_such_field" or not name.endswith(("_tab", "_view")) or rng.random() < 0.2:
                query[name] = rng.choices(STRANGE + HOSTILE, k=rng.choice((1, 1, 1, 3)))
        seen = open_page(page, **query)
        html = " ".join(one.value for one in seen.markdown if one.proto.allow_html)
        wrong = [f"an exception: {one.value}" for one in seen.exception]
        wrong += [f"the page has {part!r}" for part in ("<script", "<img src=x") if part in html]
        wrong += ["the page names a folder of the machine"] if str(Path.home()) in words(seen) else []
        return "opened", f"{page} {query}: {wrong}" if wrong else ""

    return trial


def folders(work: Path) -> Trial:
    """The folder of a model of any architecture of which one or two things are broken."""

    def value(rng: random.Random) -> Any:
        return rng.choice((-1, 0, 1, 2.5, 10**9, "x", "", None, ..., [], [3], {}, {"a": 1}, True, rng.randint(0, 99)))

    def damage(folder: Path, rng: random.Random) -> str:
        path = rng.choice(sorted(path for path in folder.iterdir() if path.is_file()))
        kind = rng.choice(("cut", "flip", "write", "lose", "set"))
        if kind == "set" and path.suffix == ".json" and isinstance(content := json.loads(path.read_text()), dict):
            name, new = rng.choice(sorted(content)), value(rng)
            set_in(path.name, **{name: new})(folder)
            return f"{path.name}: {name} is {new!r}"
        if kind == "cut":
            cut(path.name, rng.random())(folder)
        elif kind == "flip":
            flip(path.name, rng.random())(folder)
        elif kind == "write":
            write(path.name, rng.choice((b"", b"{}", b"[]", b"null", rng.randbytes(300))))(folder)
        else:
            path.unlink()
        return f"{kind} {path.name}"

    kinds = sorted(tiny_models.KINDS | tiny_models.WHOLE)

    def trial(rng: random.Random, number: int) -> Outcome:
        kind, folder = kinds[number % len(kinds)], work / "broken"
        shutil.rmtree(folder, ignore_errors=True)
        torch.manual_seed(0)
        tiny_models.save(kind, folder)
        done = [damage(folder, rng) for _ in range(rng.choice((1, 1, 2)))]
        came, wrong = _command("ask", "The capital of [MASK].", "--model", folder, "--head", "logit_lens")
        return came, f"{kind}, {done}: {wrong}" if wrong else ""

    return trial


def _command(*given: object) -> Outcome:
    """Calls a command, which is done or refuses in one line."""
    result = CliRunner().invoke(app, [str(word) for word in given])
    if result.exit_code == 0:
        return "answered", ""
    error = result.exception
    if isinstance(error, ProbingError):
        line = str(error)
        one = "\n" not in line and "\x1b" not in line and 20 < len(line) < 1000
        return "refused", "" if one else f"no line: {line!r}"
    return "raised", f"{error!r} {result.output[-300:]}"


def shares(work: Path) -> Trial:
    """A share of any kind with another value, row, column or order, and sums that fit; and its taker."""
    made, patch = work / "shares", pytest.MonkeyPatch()
    if not made.is_dir():
        with atomic_folder(made) as half:
            make_shares(half, save_tiny(half / "tiny-bert"))
    patch.setenv("PROBING_SNAPSHOT", str(work / "no-snapshot"))

    def other(value: Any, rng: random.Random) -> Any:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return rng.choice((value + 1, value - 1, 0, 1, 255, 2**31 - 1, -1))
        if isinstance(value, float):
            return rng.choice((value + 0.01, -value, 0.0, 1.0, 1e30, float("nan"), float("inf")))
        if isinstance(value, list):
            return rng.choice(([], value[::-1], value * 2, value[:-1]))
        text = "".join(rng.choices(string.printable, k=8))
        return rng.choice((None, "", text, "<b>x</b>", "\x1b[2J", "x" * 5000, f"{value}x", str(value)[:-1]))

    def change(rows: list[dict], rng: random.Random) -> tuple[list[dict], str]:
        what = rng.choice(("value", "value", "value", "column", "lose", "twice", "order"))
        at = rng.randrange(len(rows))
        name = rng.choice(sorted(rows[0]))
        if what in ("value", "column"):
            new = {name: other(rows[at][name], rng)}
            changed = [row | (new if what == "column" or place == at else {}) for place, row in enumerate(rows)]
            return changed, f"{what} {at}: {new}"[:100]
        if what == "order":
            return rng.sample(rows, len(rows)), "another order"
        return [*rows[:at], *rows[at + (1 if what == "lose" else 0) :], *rows[at : at + (what == "twice")]], what

    def trial(rng: random.Random, _: int) -> Outcome:
        share, taker = work / "share", work / "taker"
        for folder in (share, taker):
            shutil.rmtree(folder, ignore_errors=True)
        kind = rng.choice((*MODELS, "predictions"))
        shutil.copytree(made / kind, share)
        patch.setenv("PROBING_CACHE", str(taker / "cache"))
        while True:
            path = rng.choice(sorted(share.rglob("*.parquet")))
            table = str(table_of(path))
            rows, what = change(read_table(path, table).to_pylist(), rng)
            try:
                write_table(table, rows, path)
                break
            except (ProbingError, pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError, TypeError):
                continue  # No file can have such a value.
        seal(share)
        came, wrong = _command("pull", "--from-folder", share)
        if came == "refused" and pulled_folders():
            wrong = "refused, and something is there"
        if came == "answered":
            came = "taken"
            with open_database(cache_folder() / "shared") as opened:
                left_out = [*opened.left_out["name"]]
            wrong = wrong or "; ".join([*map(str, check_store(pulled_folders())), *left_out])
        print(came, path.name, what)
        return came, f"{path.name}, {what}: {wrong}" if wrong else ""

    return trial


class Bits:
    """Files of every kind, each with one other bit."""

    def __init__(self, work: Path):
        shutil.rmtree(work)
        work.mkdir()
        self._flips = flips.Flips(work, 0, random.Random(work.name))

    def __len__(self) -> int:
        return len(self._flips)

    def __call__(self, _: random.Random, number: int) -> Outcome:
        return self._flips.opened(number)
