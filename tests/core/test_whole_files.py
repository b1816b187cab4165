"""Files that are there whole or not at all, and what a full disk is called."""

import errno
import os
import threading

import pytest

from probing.core.files.atomic import copy_whole, place_folder, whole_file, write_whole
from probing.core.files.disk_errors import no_room
from probing.core.files.locks import one_at_a_time, used_together


def test_a_file_keeps_what_it_held_until_the_new_one_is_whole(tmp_path, monkeypatch):
    target = write_whole(tmp_path / "some" / "file", "old")
    monkeypatch.setattr("shutil.copyfile", lambda source, temporary: temporary.write_text("ha") and _raise(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        copy_whole(tmp_path / "new", target)
    assert target.read_text() == "old"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_what_a_killed_process_left_an_hour_ago_is_tidied_by_whoever_writes_beside_it(tmp_path):
    killed, working, other = (tmp_path / name for name in ("a.npy.17-0123abcd.tmp", "b.npy.18-0123abcd.tmp", "mine.tmp"))
    for path in (killed, working, other):
        path.write_text("half")
    for path in (killed, other):
        os.utime(path, (0, 0))
    with whole_file(tmp_path / "c.npy") as temporary:
        temporary.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["c.npy", working.name, other.name])


def test_a_folder_that_several_use_is_removed_by_the_last_one_that_is_done_with_it(tmp_path):
    kept = write_whole(tmp_path / "states" / "window", "1")
    with used_together(kept.parent) as second:
        with used_together(kept.parent) as first:
            first()
            assert kept.is_file()
        second()
        assert not kept.parent.exists()


def test_where_no_locks_are_kept_a_folder_is_removed_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("fcntl.flock", lambda *_: _raise(OSError(errno.ENOLCK, "no locks")))
    kept = write_whole(tmp_path / "states" / "window", "1")
    with used_together(kept.parent) as remove:
        remove()
    assert not kept.parent.exists()


def _raise(error):
    raise error


def test_a_finished_folder_gets_its_name_at_once_and_leaves_other_files_alone(tmp_path):
    for target in (tmp_path / "new", tmp_path / "there"):
        half = tmp_path / "half"
        write_whole(half / "a", "1")
        if target.name == "there":
            write_whole(target / "a", "0")
            write_whole(target / "mine", "mine")
        place_folder(half, target)
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
    assert no_room(RuntimeError("[enforce fail at inline_container.cc:145] PytorchStreamReader failed reading zip archive")) is None


def test_one_at_a_time_is_one_at_a_time(tmp_path):
    inside, most, first = [], [], threading.Barrier(4)

    def work():
        first.wait()
        for _ in range(20):
            with one_at_a_time(tmp_path / "a.lock"):
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
    with whole_file(tmp_path / "shared") as temporary:
        temporary.unlink()
        temporary.touch(mode=0o600)
    assert (tmp_path / "shared").stat().st_mode == ordinary.stat().st_mode
