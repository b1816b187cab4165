"""Pages on planted stores."""

import base64
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache as remembered
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.element_tree import AlertBase, Markdown

from probing.kernel.app import selection as navigation
from tests.pages.planted_family import FAMILY
from tests.planted_store import VARIANTS, plant_runs

ROOT = Path(__file__).resolve().parents[2]
#: Page -> its file.
PAGES = {page: file for file, (page, *_) in navigation.PAGES.items() if (ROOT / file).is_file()}

# AppTest reads the metadata of all installed packages for every app, which takes longer than most pages.
manifest_scanner.scan_component_manifests = remembered(manifest_scanner.scan_component_manifests)
_wait = local_script_runner.require_widgets_deltas


def _wait_for_the_thread(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
    """As AppTest's own, which looks a thousand times per second through all messages of the page for the one that ends
    it.
    """
    runner._script_thread.join(timeout)
    _wait(runner, 0.1 if not runner._script_thread.is_alive() else 0)


local_script_runner.require_widgets_deltas = _wait_for_the_thread

_rerun = st.rerun


def _rerun_whole(scope: str | list[str] = "app") -> None:
    """AppTest knows no pages in a run of parts of one, so that it runs all of it after every click."""
    if scope in ("app", "fragment"):
        _rerun(scope)


st.rerun = _rerun_whole

# Tests compare words. Where lines may break is tested in ``tests/kernel/test_text.py``.
for kind in (AlertBase, Markdown):
    kind.value = property(lambda one: one.proto.body.replace("\u00a0", " "))  # type: ignore[method-assign]


def app_at(page: str, query: Mapping[str, object]) -> AppTest:
    """The app at a link, before it runs."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page(PAGES[page]) if page != "home" else None
    for name, value in query.items():
        app.query_params[name] = value
    return app


@pytest.fixture(scope="session")
def planted_snapshots(tmp_path_factory) -> dict[str, Path]:
    """A snapshot folder for each variant: empty, one model, several."""
    root = tmp_path_factory.mktemp("snapshots")
    return {name: plant_runs(root / name.replace(" ", "-"), runs) for name, runs in VARIANTS.items()}


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """Where the pages of a test keep what they make and look for models; a module whose tests only read it may share
    one.
    """
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def visit(planted_snapshots, cache, monkeypatch) -> Callable[..., AppTest]:
    """Opens a page on a planted store, by link if a query is given."""

    def opened(page: str, store: str = "one model", query: dict | None = None, run: bool = True) -> AppTest:
        monkeypatch.setenv("PROBING_SNAPSHOT", str(planted_snapshots[store]))
        monkeypatch.setenv("PROBING_CACHE", str(cache))
        app = app_at(page, query or {})
        return app.run() if run else app

    return opened


@pytest.fixture(scope="session")
def family(tmp_path_factory):
    return plant_runs(tmp_path_factory.mktemp("family"), FAMILY)


def opening(usual: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens a page by link on a snapshot: the usual one, unless another is named."""

    def opened(page: str, snapshot: Path = usual, **query) -> AppTest:
        monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
        monkeypatch.setenv("PROBING_CACHE", str(cache))
        return app_at(page, query).run()

    return opened


def visited(usual: Path, folder: Path) -> Callable[..., AppTest]:
    """As ``opening``, for tests that only look at a page: each link is visited once, and the visits of a snapshot share
    a cache.
    """
    apps: dict[str, AppTest] = {}
    caches: dict[Path, Path] = {}

    def opened(page: str, snapshot: Path = usual, **query) -> AppTest:
        link = json.dumps([page, str(snapshot), query], sort_keys=True)
        if link not in apps:
            cache = caches.setdefault(snapshot, folder / f"cache-{len(caches)}")
            with pytest.MonkeyPatch.context() as patch:
                apps[link] = opening(snapshot, cache, patch)(page, **query)
        return apps[link]

    return opened


@pytest.fixture
def look(family, cache, monkeypatch) -> Callable[..., AppTest]:
    """Opens a page on the planted family."""
    return opening(family, cache, monkeypatch)


@pytest.fixture
def few_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows the majority answers of planted stores, which have too few facts for one."""
    monkeypatch.setattr("probing.kernel.stats.intervals.MIN_FACTS", 1)


@pytest.fixture
def own_snapshot(planted_snapshots, tmp_path) -> Path:
    """A copy of the one-model snapshot that a test may damage."""
    return Path(shutil.copytree(planted_snapshots["one model"], tmp_path / "snapshot"))


@pytest.fixture(scope="module")
def unfolded() -> Iterator[None]:
    """What a page draws once somebody opens it is open: AppTest clicks on no expander."""
    closed = st.expander

    def opened(label: str, **options):
        return closed(label, **options | ({"expanded": True} if "on_change" in options else {}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "expander", opened)
        yield


@pytest.fixture(scope="module")
def popped() -> Iterator[None]:
    """What a page draws once a popover of it is opened is there: that of the quiet rows of figures."""
    popover = st.popover

    def opened(label: str, *, key: str | None = None, **options):
        if "on_change" in options:
            st.session_state[key] = True
        return popover(label, key=key, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "popover", opened)
        yield


def words(app: AppTest) -> str:
    """All text on the page outside the sidebar's navigation."""
    kinds = ("title", "markdown", "caption", "info", "warning", "error", "success", "code")
    texts = [str(one.value) for found in (app.main.header, *(getattr(app, kind) for kind in kinds)) for one in found]
    return "\n".join([*texts, *(one.label.replace("\u00a0", " ") for one in app.main.get("expander"))])


def plain(app: AppTest) -> str:
    """As ``words``, without the signs of markup."""
    return words(app).replace("\\", "").replace("**", "")


def line_with(app: AppTest, *names: str) -> str:
    """The first line of the page that has all of these names, without the signs of markup.

    Raises:
        AssertionError: if no line has.
    """
    found = [line for line in plain(app).split("\n") if all(name in line for name in names)]
    assert found, f"no line has all of {names}"
    return found[0]


def numbers_in(text: str) -> list[float]:
    """The numbers of a text in their order; what a sentence says is tested by them, and not by its wording."""
    return [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?", text)]


os.environ.setdefault("STREAMLIT_BROWSER_GATHER_USAGE_STATS", "false")


@pytest.fixture
def pauses(monkeypatch) -> list[str]:
    """An entry for every moment at which a page's work lets another user's request compute."""
    from probing.kernel.models.queue import Turn

    found: list[str] = []
    pause = Turn.pause

    def counted(turn):
        found.append("pause")
        pause(turn)

    monkeypatch.setattr(Turn, "pause", counted)
    return found


def answers(app: Any, inside: bool = False) -> list[str]:
    """The computed sentences of a page and of its open tab, without the signs of markup."""
    children = app.main.children.values() if isinstance(app, AppTest) else app.children.values()
    found = [
        str(one.value).replace("\\", "").replace("**", "") for one in children if inside and one.type == "markdown"
    ]
    for block in (one for one in children if hasattr(one, "children")):
        found += answers(block, inside or getattr(block.proto, "id", "").endswith(("-answer", "-answer-tab")))
    return found


def charts(app: AppTest) -> list[dict]:
    """The figures of a page."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def numbers(values: Any) -> list[float]:
    """The numbers of a trace, which Plotly may have packed."""
    if isinstance(values, dict):
        values = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return [float("nan") if one is None else float(one) for one in values]


def grids(app: AppTest) -> list[dict]:
    """What the component of the layers' words draws, model by model."""
    drawn = [json.loads(one.proto.json) for one in app.get("bidi_component") if "grids" in one.proto.json]
    return [grid for one in drawn for grid in one["grids"]]


def table_of(app: AppTest, *columns: str) -> pd.DataFrame:
    """The first table that has these columns."""
    return next(one.value for one in app.dataframe if set(columns) <= set(one.value))


def link(app: AppTest, name: str) -> Any:
    """A field of the page's link."""
    value = app.query_params.get(name)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


@pytest.fixture
def headless(tmp_path) -> Path:
    """A classifier that was fine-tuned elsewhere from the tiny model: a body without a masked-LM head or a recorded
    base.
    """
    # Only the tests that need a model load torch.
    from transformers import AutoTokenizer, BertForMaskedLM, BertForSequenceClassification

    from tests.tiny_models import save

    base = save("bert", tmp_path / "cache" / "models" / "tiny")
    body = BertForMaskedLM.from_pretrained(base).bert
    model = BertForSequenceClassification(body.config)
    model.bert.load_state_dict(body.state_dict(), strict=False)
    model.save_pretrained(tmp_path / "classifier")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "classifier")
    return tmp_path / "classifier"
