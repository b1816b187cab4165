"""What versions 0.3 to 0.7 stored can be opened, checked and shared, with the numbers that they printed.

``tests/fixtures/earlier/make_results.py`` made the results with each version, and what its reports print.
"""

import json
import shutil
from pathlib import Path

import pytest

from probing.store.check import check_store

KEPT = Path(__file__).parent / "fixtures" / "earlier"
VERSIONS = ("0.3", "0.4", "0.5", "0.6", "0.7")
#: Columns with another name today, because the word claimed more than was measured.
RENAMED = {"erased": "not_read"}
#: What is shared -> the table of its runs, and the model that has some.
SHARED = {"predictions": ("runs", "tiny-bert"), "edges": ("edge_runs", "tiny-bert"), "sentences": ("sentence_runs", "tiny-bert-tuned")}


def folder_of(version: str) -> Path:
    return KEPT / f"v{version.replace('.', '_')}"


@pytest.fixture()
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "no-snapshot"))
    return tmp_path / "cache"


def tables(report: object) -> dict[str, list[dict]]:
    """The tables of a report: one without a name, or several by name."""
    return report if isinstance(report, dict) else {"": report}


def assert_same_numbers(now: list[dict], then: list[dict]) -> None:
    """The same rows in the same order; there may be further columns."""
    assert len(now) == len(then)
    for found, expected in zip(now, then, strict=True):
        got = {key: found[RENAMED.get(key, key)] for key in expected}
        got |= {key: "lens" for key in ("head",) if got.get(key) == "logit_lens" and expected[key] == "lens"}
        assert got == {key: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value for key, value in expected.items()}


@pytest.mark.parametrize("version", VERSIONS)
def test_results_of_an_earlier_version_are_whole_and_give_the_numbers_that_it_printed(version, cache, run):
    kept = json.loads((folder_of(version) / "reports.json").read_text(encoding="utf-8"))
    assert kept["version"].startswith(f"{version}.")
    shutil.copytree(folder_of(version) / "results", cache / "runs")
    assert check_store([cache / "runs"]) == []
    for words, then in kept["reports"].items():
        now = json.loads(run(*words.split(), "--json").stdout)
        for name, rows in tables(then).items():
            assert_same_numbers(tables(now)[name], rows)


@pytest.mark.parametrize("version", VERSIONS)
def test_results_of_an_earlier_version_are_shared_and_pulled(version, cache, run, tmp_path, monkeypatch):
    results = folder_of(version) / "results"
    for what, (table, model) in SHARED.items():
        if not list(results.glob(f"{table}-*.parquet")):
            continue
        run("push", what, "--model", model, "--runs", results, "--to-folder", tmp_path / what, "--licence", "CC0-1.0")
        monkeypatch.setenv("PROBING_CACHE", str(tmp_path / f"cache-{what}"))
        run("pull", "--from-folder", tmp_path / what)
        pulled = {path.name for path in (tmp_path / f"cache-{what}").rglob(f"{table}-*.parquet")}
        assert pulled and pulled <= {path.name for path in results.glob(f"{table}-*.parquet")}
        assert check_store([tmp_path / f"cache-{what}"]) == []
