"""What version 0.2 wrote can still be read, continued, shared and linked to, with the same numbers."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from streamlit.testing.v1 import AppTest

from probing.core.head_kinds import canonical_head
from tests.pages.conftest import PAGES, ROOT, words

KEPT = Path(__file__).parent / "fixtures" / "v0_2"
BASE, TUNED, CONTROL = "tiny-bert", "tiny-bert-qa-squad-1", "tiny-bert-control"
REPORTS = json.loads((KEPT / "reports.json").read_text(encoding="utf-8"))
LINKS = json.loads((KEPT / "links.json").read_text(encoding="utf-8"))
#: What names a row of a report.
NAMES = ("base", "model", "head", "seed", "probe_set", "k", "average", "layer", "definition")
#: Columns of 0.2's reports that have another name now, because the word claimed more than was measured.
RENAMED = {"erased": "not_read"}
Ranks = dict[tuple[str, int], int]


def use(cache: Path, patch: pytest.MonkeyPatch) -> Path:
    """Makes ``cache`` the program's; there is no snapshot, and paths are relative to the fixture, as in its commands."""
    patch.setenv("PROBING_CACHE", str(cache))
    patch.setenv("PROBING_SNAPSHOT", str(cache.parent / "no-snapshot"))
    patch.chdir(KEPT)
    return cache


@pytest.fixture(scope="module", autouse=True)
def threads_as_before() -> Iterator[None]:
    """``--threads`` is for the whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[Path]:
    """A copy of 0.2's cache, not to be changed; its database is built once."""
    with pytest.MonkeyPatch.context() as patch:
        yield use(shutil.copytree(KEPT / "cache", tmp_path_factory.mktemp("v0_2") / "cache"), patch)


@pytest.fixture
def own_store(tmp_path, monkeypatch) -> Path:
    """A copy of 0.2's cache that a test may change."""
    return use(shutil.copytree(KEPT / "cache", tmp_path / "cache"), monkeypatch)


@pytest.fixture
def empty_store(tmp_path, monkeypatch) -> Path:
    return use(tmp_path / "cache", monkeypatch)


def rows(path: Path) -> list[dict]:
    return pq.read_table(path).to_pylist()


def gold_ranks(predictions: Path) -> Ranks:
    return {(row["fact_id"], row["layer"]): row["gold_rank"] for row in rows(predictions)}


def in_order(predictions: Path) -> list[dict]:
    return sorted(rows(predictions), key=lambda row: (row["fact_id"], row["layer"]))


def stored_run(model: str, head: str) -> tuple[dict, Path]:
    """The row and the predictions of the run on T-REx that 0.2 stored."""
    wanted = (model, head, "trex", 0)
    found = [row for path in (KEPT / "cache" / "runs").glob("runs-*.parquet") for row in rows(path)]
    (row,) = [row for row in found if (row["model"], row["head"], row["probe_set"], row["seed"]) == wanted]
    return row, KEPT / "cache" / "runs" / f"predictions-{row['run_id']}.parquet"


def now_called(value: Any) -> Any:
    """What is stored or selected, by the name that this version gives it."""
    return [now_called(one) for one in value] if isinstance(value, list) else canonical_head(value) if isinstance(value, str) else value


def by_name(report: list[dict]) -> dict[tuple, dict]:
    named = {tuple(now_called(row.get(name)) for name in NAMES): row for row in report}
    assert len(named) == len(report), "two rows have one name"
    return named


def assert_same_numbers(now: list[dict], then: list[dict]) -> None:
    """Every row of 0.2's report is there with what 0.2 printed; further keys are allowed, further rows are not."""
    found, expected = by_name(now), by_name(then)
    assert found.keys() == expected.keys()
    for name, row in expected.items():
        got = {key: found[name][RENAMED.get(key, key)] for key in row}
        assert got == {
            key: pytest.approx(value, rel=1e-9) if isinstance(value, float) else now_called(value) for key, value in row.items()
        }, name


@pytest.mark.parametrize("what", REPORTS)
def test_the_store_builds_and_its_reports_have_the_numbers_of_0_2(run, store, what):
    assert_same_numbers(json.loads(run("report", what, "--json").stdout), REPORTS[what])


@pytest.mark.parametrize(
    ("model", "head", "seed", "layers"), [(BASE, "tied", 0, 3), (BASE, "full", 0, 3), (TUNED, "tied", 0, 3), (BASE, "tied", 1, 1)]
)
def test_trained_heads_open_and_fit_their_model(store, model, head, seed, layers):
    from probing.models.encoders.catalogue import open_encoder
    from probing.models.heads.files import heads_folder, load_heads

    encoder = open_encoder(model, device="cpu")
    wanted = list(range(3))[-layers:]
    folder = heads_folder(model, encoder, head, store, seed, wanted)
    assert folder is not None
    assert len(load_heads(folder, encoder, head, wanted)) == layers


@pytest.mark.parametrize(
    ("model", "head", "more"),
    [(BASE, "lens", ()), (BASE, "tied", ()), (BASE, "full", ()), (TUNED, "tied", ("--compact",)), (CONTROL, "lens", ())],
)
def test_a_new_run_agrees_with_that_of_0_2_in_all_columns_but_name_version_and_swapped_subject(run, store, tmp_path, model, head, more):
    row, predictions = stored_run(model, head)
    command = ("--model", model, "--facts", "facts/lama", "--head", head, "--top", row["top_k"], *more)
    run("probe", *command, "--threads", 1, "--device", "cpu", "--out", tmp_path / "runs")
    (made,) = rows(next((tmp_path / "runs").glob("runs-*.parquet")))
    # A vocabulary is called by its tokens now; the configuration holds the version, and more than before.
    other = {"run_id", "code_version", "config", "created", "tokenizer"}
    assert {name: made[name] for name in row if name not in other} == {name: now_called(row[name]) for name in row if name not in other}
    found = in_order(next((tmp_path / "runs").glob("predictions-*.parquet")))
    expected = in_order(predictions)
    assert len(found) == len(expected) > 100
    for name in ("fact_id", "layer", "gold_rank", "answer_rank", "top_ids"):
        assert [one[name] for one in found] == [one[name] for one in expected], name
    for name in ("gold_logp", "top_logp"):
        assert np.allclose([one[name] for one in found], [one[name] for one in expected], rtol=0, atol=1e-5), name


def test_a_half_finished_probe_is_resumed_or_computed_again(run, own_store):
    half = json.loads((KEPT / "half_finished_probe.json").read_text(encoding="utf-8"))
    left = own_store / "shards" / half["run_id"]
    before = {path.name: path.read_bytes() for path in left.iterdir()}
    known = set((own_store / "runs").glob("predictions-*.parquet"))
    run(*half["command"])
    (made,) = set((own_store / "runs").glob("predictions-*.parquet")) - known
    ranks = {(fact, layer): rank for fact, by_layer in half["gold_rank_by_layer"].items() for layer, rank in enumerate(by_layer)}
    assert gold_ranks(made) == ranks
    # A version that gives the run another fingerprint leaves what it cannot use as it was.
    resumed = made.stem == f"predictions-{half['run_id']}"
    assert not left.exists() if resumed else before == {path.name: path.read_bytes() for path in left.iterdir()}


def test_shared_heads_can_be_pulled_into_an_empty_cache_and_asked(run, empty_store):
    run("pull", "--from-folder", "shared/heads")
    shutil.copytree(KEPT / "cache" / "models", empty_store / "models")
    answer = json.loads(run("ask", "Anna was born in [MASK].", "--model", BASE, "--head", "tied", "--json").stdout)
    assert [layer["layer"] for layer in answer["layers"]] == [0, 1, 2]


def test_shared_predictions_can_be_pulled_into_an_empty_cache_and_reported(run, empty_store):
    run("pull", "--from-folder", "shared/predictions")
    for what in ("precision", "total", "forgotten"):
        assert_same_numbers(json.loads(run("report", what, "--json").stdout), [row for row in REPORTS[what] if row["model"] == CONTROL])


def selected(app: AppTest, page: str, field: str) -> object:
    """What the widget of a field shows."""
    (widget,) = [one for one in (*app.main, *app.sidebar) if getattr(one, "key", None) == f"{page}.{field}"]
    return widget.value


@pytest.mark.parametrize("number", range(len(LINKS)), ids=[link["link"].partition("?")[0] or "Home" for link in LINKS])
def test_a_link_of_0_2_opens_its_page_and_selects_what_it_says(store, number):
    path, _, query = LINKS[number]["link"].partition("?")
    page = next(name for name, file in PAGES.items() if Path(file).stem.partition("_")[2] == path)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if path:
        app.switch_page(PAGES[page])
    for name, values in parse_qs(query).items():
        app.query_params[name] = values
    app.run()
    assert not app.exception and not app.warning and not app.error
    assert not [note.value for note in app.info if "link_off" in note.icon], "a value was left aside"
    wanted = {field: now_called(value) for field, value in LINKS[number]["selects"].items()}
    assert {field: selected(app, page, field) for field in wanted} == wanted
    assert app.get("plotly_chart") or page == "methods"
    shown = words(app).replace("\\", "") + "".join(table.value.to_csv() for table in app.dataframe)
    assert all(text in shown for text in LINKS[number]["shows"])
