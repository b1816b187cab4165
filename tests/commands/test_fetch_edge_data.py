"""``fetch`` brings what edge probing reads, and says how files came about that have no address."""

import hashlib

import pytest

from probing.core.edges.tasks import EDGE_TASKS, read_task
from probing.core.errors import RegistryError
from probing.core.registry import DataEntry, DataFile, read_registry
from probing.workflows.fetch import fetch_data


def test_what_edge_probing_reads_can_be_fetched_from_the_local_copies(run, cache, shared_data):
    names = sorted({name for task in EDGE_TASKS.values() for name in task.data_set})
    assert names == ["conll2003", "ewt-propbank", "gum", "semeval2010-task8", "spr2-uds", "ud-english-ewt"]
    run("fetch", *names, "--from", shared_data)
    for name in names:
        entry = read_registry().data_set(name)
        assert entry.homepage.startswith("https://") and all(file.sha256 for file in entry.files)
    assert "ok  fetched data" in run("check").output
    _, data = read_task("relations", cache / "downloads")
    assert data.train.targets == 6_851


def test_files_without_an_address_say_how_they_were_made(cache, tmp_path):
    made = DataFile(path="a.gz", sha256=hashlib.sha256(b"hello").hexdigest())
    (tmp_path / "there.txt").write_text("there")
    other = DataFile(path="b.txt", url=(tmp_path / "there.txt").as_uri())
    entry = DataEntry(
        name="set", title="", folder="set", licence="", files=(made, other), made="The halves were joined."
    )
    with pytest.raises(
        RegistryError, match=r"1 file \(a\.gz\) of set cannot be downloaded; .*--from FOLDER\. The halves were joined\."
    ):
        fetch_data(entry, None, tmp_path / "target")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "a.gz").write_bytes(b"hello")
    assert (fetch_data(entry, None, tmp_path / "target") / "b.txt").read_text() == "there"
