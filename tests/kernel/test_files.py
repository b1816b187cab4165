"""Files that are there whole or not at all, where they lie, and what every run is made with."""

import errno
import hashlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import ReadWriteLock

from probing.kernel import files, registry
from probing.kernel.errors import CacheError, LockError
from probing.kernel.files import atomic_copy, atomic_file, atomic_folder, atomic_text, no_room, rename_folder
from probing.kernel.jobs.shards import claimed
from probing.kernel.locks import exclusive_lock, shared_lock
from probing.kernel.provenance import Provenance, canonical_json, fingerprint_of, stored_provenance

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_keeps_what_it_held_until_the_new_one_is_whole(tmp_path, monkeypatch):
    target = atomic_text(tmp_path / "some" / "file", "old")
    monkeypatch.setattr(
        "shutil.copyfile",
        lambda source, temporary: temporary.write_text("ha") and _raise(OSError(errno.ENOSPC, "full")),
    )
    with pytest.raises(OSError, match="full"):
        atomic_copy(tmp_path / "new", target)
    assert target.read_text() == "old"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_what_a_killed_process_left_an_hour_ago_is_removed_by_the_next_write_to_the_folder(tmp_path):
    killed, working, other = (
        tmp_path / name for name in ("a.npy.17-0123abcd.tmp", "b.npy.18-0123abcd.tmp", "mine.tmp")
    )
    for path in (killed, working, other):
        path.write_text("half")
    for path in (killed, other):
        os.utime(path, (0, 0))
    with atomic_file(tmp_path / "c.npy") as temporary:
        temporary.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["c.npy", working.name, other.name])


def test_a_folder_that_several_use_is_removed_by_the_last_one_that_is_done_with_it(tmp_path):
    kept = atomic_text(tmp_path / "states" / "window", "1")
    with shared_lock(kept.parent) as second:
        with shared_lock(kept.parent) as first:
            first()
            assert kept.is_file()
        second()
        assert not kept.parent.exists()


def test_where_there_are_no_locks_a_folder_is_removed_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(ReadWriteLock, "read_lock", lambda self: _raise(sqlite3.OperationalError("disk I/O error")))
    kept = atomic_text(tmp_path / "states" / "window", "1")
    with shared_lock(kept.parent) as remove:
        remove()
    assert not kept.parent.exists()


USER = """
import sys
from pathlib import Path
from probing.kernel.locks import shared_lock
with shared_lock(Path(sys.argv[1])):
    print("used", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["done", "killed"])
def test_a_folder_that_another_process_uses_is_not_removed_until_that_process_ends(tmp_path, end):
    kept = atomic_text(tmp_path / "states" / "window", "1")
    with another_process(USER, kept.parent) as process:
        assert process.stdout.readline() == "used\n"
        with shared_lock(kept.parent) as remove:
            remove()
        assert kept.is_file()
        if end == "killed":
            process.kill()
        process.communicate("")
    with shared_lock(kept.parent) as remove:
        remove()
        remove()
    assert not kept.parent.exists()


HOLDER = """
import sys
from pathlib import Path
from probing.kernel.locks import exclusive_lock
with exclusive_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_process_that_waits_says_which_process_on_which_machine_works_on_what(tmp_path):
    said, lock = [], tmp_path / ".model.lock"
    with another_process(HOLDER, lock) as process:
        assert process.stdout.readline() == "held\n"

        def say(text):
            said.append(text)
            process.kill()

        with exclusive_lock(lock, say):
            pass
    assert len(said) == 1 and f"process {process.pid} on {socket.gethostname()} is working on model;" in said[0]


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("fcntl.flock", lambda *_: _raise(OSError(errno.ENOLCK, "no locks")))
    with (
        pytest.raises(LockError, match=r"a\.lock: this file system has no locks .*PROBING_CACHE"),
        exclusive_lock(tmp_path / "a.lock"),
    ):
        pass


@contextmanager
def another_process(code, *given):
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_folder_appears_when_it_is_complete_and_not_at_all_after_an_error(tmp_path):
    target = tmp_path / "model"
    with pytest.raises(ValueError, match="half way"), atomic_folder(target) as half:
        atomic_text(half / "a", "1")
        raise ValueError("half way")
    assert list(tmp_path.iterdir()) == []
    with atomic_folder(target) as half:
        atomic_text(half / "a", "1")
        assert not target.exists()
    atomic_text(target / "mine", "mine")
    with atomic_folder(target, replace=True) as half:
        atomic_text(half / "a", "2")
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("a", "2")]


def test_what_a_killed_process_left_of_a_folder_is_removed_after_an_hour(tmp_path):
    killed, working, other = (tmp_path / name for name in (".a.17-0123abcd.part", ".b.18-0123abcd.part", ".mine.part"))
    for folder in (killed, working, other):
        atomic_text(folder / "weights", "half")
        os.utime(folder, (0, 0))
    os.utime(killed / "weights", (0, 0))
    with atomic_folder(tmp_path / "c"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["c", working.name, other.name])


def test_bytes_are_on_disk_before_a_file_or_a_folder_has_its_name(tmp_path, monkeypatch):
    synced, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append((tmp_path / "x").exists()), real(handle)))
    atomic_text(tmp_path / "x", "1")
    # The file before, the folder that holds it after.
    assert synced == [False, True]
    synced.clear()
    (tmp_path / "x").unlink()
    with atomic_folder(tmp_path / "x") as half:
        (half / "a").touch()
        (half / "b").touch()
    assert synced == [False, False, True]


def _raise(error):
    raise error


def test_a_finished_folder_gets_its_name_at_once_and_leaves_other_files_alone(tmp_path):
    for target in (tmp_path / "new", tmp_path / "there"):
        half = tmp_path / "half"
        atomic_text(half / "a", "1")
        if target.name == "there":
            atomic_text(target / "a", "0")
            atomic_text(target / "mine", "mine")
        rename_folder(half, target)
        assert (target / "a").read_text() == "1" and not half.exists()
    assert (tmp_path / "there" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "x"),
        OSError(errno.EFBIG, "File too large"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        RuntimeError('I/O error: Os { code: 28, message: "No space left on device" }'),
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0"),
    ],
)
def test_a_full_disk_is_known_whatever_library_wrote(error):
    assert "make room" in no_room(error)
    try:
        try:
            raise error
        except Exception as first:
            raise ValueError("later") from first
    except ValueError as later:
        assert "make room" in no_room(later)


def test_other_errors_are_no_full_disk():
    assert no_room(OSError(errno.EACCES, "Permission denied")) is None
    assert (
        no_room(
            RuntimeError("[enforce fail at inline_container.cc:145] PytorchStreamReader failed reading zip archive")
        )
        is None
    )


def test_a_lock_that_another_process_keeps_is_waited_for_up_to_a_limit_and_its_holder_is_named(tmp_path):
    lock, said = tmp_path / "pull.lock", []
    with another_process(HOLDER, lock) as process:
        assert process.stdout.readline() == "held\n"
        with (
            pytest.raises(LockError, match=f"process {process.pid} on .* has held {lock}"),
            exclusive_lock(lock, said.append, limit=0.1),
        ):
            pytest.fail("two hold it")
        assert len(said) == 1
    with exclusive_lock(lock, limit=20):
        pass


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_lock_path_that_is_no_file_is_named(tmp_path, kind):
    lock = tmp_path / "a.lock"
    lock.mkdir() if kind == "folder" else lock.symlink_to(tmp_path / "gone")
    with pytest.raises(LockError, match=rf"a\.lock is a {kind}"), exclusive_lock(lock):
        pytest.fail("there is no lock")
    with pytest.raises(LockError), claimed(tmp_path / "a"):
        pytest.fail("there is no lock")


def test_an_exclusive_lock_admits_one_at_a_time(tmp_path):
    inside, most, first = [], [], threading.Barrier(4)

    def work():
        first.wait()
        for _ in range(20):
            with exclusive_lock(tmp_path / "a.lock"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 80


def test_a_file_may_be_read_by_whom_the_user_lets_read_whatever_a_library_thinks(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    with atomic_file(tmp_path / "shared") as temporary:
        temporary.unlink()
        temporary.touch(mode=0o600)
    assert (tmp_path / "shared").stat().st_mode == ordinary.stat().st_mode


@pytest.mark.parametrize("value", [None, ""])
def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None):
    monkeypatch.chdir(tmp_path)
    for name in ("PROBING_CACHE", "PROBING_SNAPSHOT", "PROBING_REGISTRY"):
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    assert files.cache_folder() == registry.REPOSITORY / "cache"
    assert files.snapshot_folder() == registry.REPOSITORY / "data" / "snapshot"
    assert registry.read_registry().models


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path: Path):
    files.require_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    with pytest.raises(
        CacheError, match=r"cannot write .*file/runs: Not a directory; the cache is .*: make it writable, or set"
    ):
        files.require_writable(tmp_path / "file" / "runs")
    assert files.cannot_write(ValueError("x")) is None
    assert files.cannot_write(PermissionError(13, "Permission denied", "/there")).startswith(
        "cannot write /there: Permission denied"
    )


MADE = {
    "model": "nesia-mini",
    "weights": "abc",
    "model_revision": "local",
    "base": "",
    "objective": "pre-training",
    "recipe": '{"seed":0}',
    "seed": 0,
    "dtype": "float32",
    "threads": 2,
    "code_version": "0.2.0",
}
#: As versions up to 0.2 wrote it, without what came later.
TEXT = (
    r'{"base":"","code_version":"0.2.0","dtype":"float32","head_recipe":"{\"seed\":0}","model":"nesia-mini","model_revision":"local",'
    r'"objective":"pre-training","seed":0,"threads":2,"weights":"abc"}'
)


class OnSpans(Provenance):
    """A kind of run to come."""

    spans: str
    pooled: bool = False


def test_equal_configurations_have_the_text_and_the_name_that_they_had():
    made = Provenance(**MADE)
    assert made.canonical() == TEXT
    assert made.fingerprint == hashlib.sha256(TEXT.encode()).hexdigest()[:16]
    assert Provenance(**json.loads(TEXT)) == made


def test_a_later_option_is_left_out_where_it_has_its_default():
    assert json.loads(Provenance(**MADE, casing="cased").canonical()) == {**json.loads(TEXT), "casing": "cased"}


def test_a_kind_of_run_adds_what_it_depends_on():
    run = OnSpans(**MADE, spans="ontonotes")
    assert json.loads(run.canonical()) == {**json.loads(TEXT), "spans": "ontonotes"}
    assert run.fingerprint != Provenance(**MADE).fingerprint
    assert stored_provenance(run.canonical()) == MADE


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"colour": 1}'])
def test_a_configuration_that_says_nothing_of_it_has_no_provenance(text: str):
    assert stored_provenance(text) == {}


def test_the_fingerprint_is_of_the_text():
    assert fingerprint_of(canonical_json({"b": 1, "a": "é"})) == fingerprint_of('{"a":"\\u00e9","b":1}')
    assert canonical_json({"a": "é"}, ascii_only=False) == '{"a":"é"}'
