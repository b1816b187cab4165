"""Where the program reads and writes."""

from pathlib import Path

import pytest

from probing.core import paths, registry
from probing.core.errors import CacheError
from probing.core.files import disk_errors


@pytest.mark.parametrize("value", [None, ""])
def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None):
    monkeypatch.chdir(tmp_path)
    for name in ("PROBING_CACHE", "PROBING_SNAPSHOT", "PROBING_REGISTRY"):
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    assert paths.cache_folder() == registry.REPOSITORY / "cache"
    assert paths.snapshot_folder() == registry.REPOSITORY / "data" / "snapshot"
    assert registry.read_registry().models


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path: Path):
    disk_errors.require_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    with pytest.raises(
        CacheError, match=r"cannot write .*file/runs: Not a directory; the cache is .*: make it writable, or set"
    ):
        disk_errors.require_writable(tmp_path / "file" / "runs")
    assert disk_errors.cannot_write(ValueError("x")) is None
    assert disk_errors.cannot_write(PermissionError(13, "Permission denied", "/there")).startswith(
        "cannot write /there: Permission denied"
    )
