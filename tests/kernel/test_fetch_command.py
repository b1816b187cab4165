"""What ``fetch`` brings for each use, and downloads from a server that fails, breaks off, or has nothing."""

import hashlib
import http.server
import io
import json
import tarfile
import threading
from contextlib import contextmanager

import pytest

from probing.edges.tasks import EDGE_TASKS, read_task
from probing.kernel import fetch as downloads
from probing.kernel.errors import RegistryError
from probing.kernel.fetch import download, download_member, fetch_data
from probing.kernel.registry import DataEntry, DataFile, read_registry
from probing.sentences.tasks import SENTENCE_TASKS

CONTENT = bytes(range(256)) * 400


class Handler(http.server.BaseHTTPRequestHandler):
    """Does what the server's plan says, answer by answer; then gives the whole file, or the range that is asked for."""

    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        what = self.server.plan.pop(0) if self.server.plan else "whole"
        if isinstance(what, int):
            self.send_response(what)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if what == "drop":
            self.close_connection = True
            return
        content, version = self.server.content, self.server.version
        ranged = asked and self.server.ranges and self.headers.get("If-Range") == version
        begin = int(asked.removeprefix("bytes=").removesuffix("-")) if ranged else 0
        self.send_response(206 if ranged else 200)
        if ranged:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - begin))
        if version:
            self.send_header("ETag", version)
        self.end_headers()
        self.wfile.write(content[begin:] if what == "whole" else content[begin : begin + 50_000])

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The waits, which take no time."""
    waited = []
    monkeypatch.setattr(downloads.time, "sleep", waited.append)
    return waited


@contextmanager
def serving(*plan, content=CONTENT, version='"one"', ranges=True):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.plan, server.content, server.version, server.ranges, server.asked = (
            list(plan),
            content,
            version,
            ranges,
            [],
        )
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_port}/file.bin"
        finally:
            server.shutdown()
            thread.join()


def test_a_server_that_fails_twice_is_asked_a_third_time_after_growing_waits(tmp_path, waits):
    with serving(503, "drop") as (server, url):
        download(url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert len(server.asked) == 3 and waits == [1.0, 2.0]


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path):
    with serving("part", 500, "part") as (server, url):
        download(url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=50000-", "bytes=50000-", "bytes=100000-"]


@pytest.mark.parametrize("kind", [{"ranges": False}, {"version": ""}])
def test_where_the_server_cannot_go_on_the_file_is_downloaded_whole_again(kind, tmp_path):
    with serving("part", **kind) as (server, url):
        download(url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT and len(server.asked) == 2


def test_a_file_that_changed_meanwhile_is_not_patched_together(tmp_path, monkeypatch):
    with serving("part") as (server, url):

        def changed(_):
            server.content, server.version = CONTENT[::-1], '"two"'

        monkeypatch.setattr(downloads.time, "sleep", changed)
        download(url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]


def test_what_is_not_there_is_asked_for_once(tmp_path, waits):
    with (
        serving(404) as (server, url),
        pytest.raises(RegistryError, match=rf"cannot download {url} \(1 try: HTTP 404 Not Found\)"),
    ):
        download(url, tmp_path / "file")
    assert len(server.asked) == 1 and not waits


def test_after_the_last_try_the_error_names_the_address_the_tries_and_the_last_reason(tmp_path, waits):
    with (
        serving(500, 500, 500, 502) as (server, url),
        pytest.raises(RegistryError, match=rf"{url} \(4 tries, the last: HTTP 502 .*--from FOLDER"),
    ):
        download(url, tmp_path / "file")
    assert len(server.asked) == 4 and waits == [1.0, 2.0, 4.0]


def packed(name):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=0) as archive:
        found = tarfile.TarInfo(f"folder/{name}")
        found.size = len(CONTENT)
        archive.addfile(found, io.BytesIO(CONTENT))
    return stream.getvalue()


def test_a_member_of_an_archive_that_breaks_off_is_taken_at_the_next_try(tmp_path):
    with serving("part", content=packed("a.tsv")) as (server, url):
        download_member(url, "a.tsv", tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == CONTENT and len(server.asked) == 2
    with serving(content=packed("a.tsv")) as (server, url), pytest.raises(RegistryError, match="has no member b"):
        download_member(url, "b.tsv", tmp_path / "b.tsv")
    with (
        serving(content=b"no archive" * 100) as (server, url),
        pytest.raises(RegistryError, match="is not a tar archive"),
    ):
        download_member(url, "a.tsv", tmp_path / "a.tsv")
    assert len(server.asked) == 1


def test_fetch_leaves_nothing_under_a_files_name_until_it_is_whole(tmp_path):
    with serving(*[500] * 4, "part") as (_, url):
        entry = DataEntry(name="s", title="", folder="s", licence="", files=(DataFile(path="a.bin", url=url),))
        with pytest.raises(RegistryError, match="4 tries"):
            fetch_data(entry, None, tmp_path / "out")
        assert not list((tmp_path / "out").iterdir())
        fetch_data(entry, None, tmp_path / "out")
    assert (tmp_path / "out" / "a.bin").read_bytes() == CONTENT


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


def test_what_sentence_probing_reads_can_be_fetched_from_the_local_copies(run, cache, shared_data):
    names = sorted({name for task in SENTENCE_TASKS.values() for name in task.data_sets} - {"senteval"})
    assert names == ["glue", "ud-english-ewt", "x-probe"]
    run("fetch", *names, "--from", shared_data)
    for name in names:
        entry = read_registry().data_set(name)
        assert entry.licence and entry.homepage.startswith("https://")
        assert all(file.sha256 and file.url.startswith("https://") for file in entry.files)
    assert "ok  fetched data" in run("check").output
    rows = json.loads(run("sentences", "tasks", "rte", "tree-depth", "--counts", "--as", "json").output)
    assert [(row["task"], row["rows"], row["train"], row["fetched"]) for row in rows] == [
        ("rte", 2_767, 2_124, "yes"),
        ("tree-depth", 10_000, 5_235, "yes"),
    ]


def test_a_local_copy_may_have_another_path_than_the_fetched_file(tmp_path):
    file = DataFile(path="CoLA/train.tsv", local="glue-cola/train.tsv", sha256=hashlib.sha256(b"hello").hexdigest())
    entry = DataEntry(name="set", title="", folder=".", licence="", files=(file,))
    for number, place in enumerate(("glue-cola", "CoLA")):
        copy = tmp_path / str(number) / place / "train.tsv"
        copy.parent.mkdir(parents=True)
        copy.write_bytes(b"hello")
        got = fetch_data(entry, tmp_path / str(number), tmp_path / f"target{number}")
        assert (got / "CoLA" / "train.tsv").read_bytes() == b"hello"
