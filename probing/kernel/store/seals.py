"""Whether a Parquet file has the bytes that were written, found out before any library opens it.

Those who read a file trust its footer: a wrong byte there can end the process. ``seal`` puts a checksum of all other
bytes before the footer, where no reader looks. A file that ships is compared with ``data/SHA256SUMS``. Any other file,
which an earlier version wrote, is first read by a process of its own (``strange``).
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from probing.kernel.errors import StoreError
from probing.kernel.files import atomic_text, cache_folder
from probing.kernel.registry import REPOSITORY
from probing.kernel.store import strange
from probing.kernel.store.strange import Contents

_MARK = b"probing.seal"
_LENGTH = len(_MARK) + hashlib.sha256().digest_size
#: What every file of the format ends with; the length of the footer stands before it.
_FORMAT = b"PAR1"
_END = 4 + len(_FORMAT)
_CHUNK = 1 << 20
#: The sha256 of every shipped file; written by `make sums`.
SHIPPED = REPOSITORY / "data" / "SHA256SUMS"
#: Seconds: what took longer is remembered in the cache, so that the next process need not do it again.
_LONG = 0.5
#: Seconds after which a process that reads strange files is ended.
_PATIENCE = 600

#: A file with its size and the time of its last change; other bytes have another one.
_State = tuple[Path, int, int]
#: Why a file is damaged, empty if it is not.
_known: dict[_State, str] = {}


def seal(path: Path) -> None:
    """Puts the sha256 of a Parquet file before its footer; sealed files with equal rows have equal bytes, too."""
    with path.open("r+b") as stream:
        stream.seek(_place(stream))
        footer = stream.read()
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256").digest()
        stream.seek(-len(footer), os.SEEK_END)
        stream.write(_MARK + digest + footer)


def _place(stream: BinaryIO) -> int:
    """Where the footer begins, by what the file says of its length; an ``OSError`` if it is not one of Parquet."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _END))
    length, form = stream.read(_END - len(_FORMAT)), stream.read()
    if form != _FORMAT:
        raise OSError(
            f"it has {size:,} bytes, expected a Parquet file. It is truncated or no Parquet: delete it and run again"
            " the command that made it"
        )
    return size - _END - int.from_bytes(length, "little")


def sums(path: Path) -> tuple[str, str]:
    """sha256 of a file without its seal, in hex, as it is and as its seal says; the latter is empty without a seal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        place = _place(stream) - _LENGTH
        stream.seek(max(0, place))
        found = stream.read(_LENGTH)
        sealed = place > 0 and found.startswith(_MARK)
        stream.seek(0)
        left = place if sealed else sys.maxsize
        while chunk := stream.read(min(_CHUNK, left)):
            digest.update(chunk)
            left -= len(chunk)
        if sealed:
            stream.seek(place + _LENGTH)
            digest.update(stream.read())
    return digest.hexdigest(), found.removeprefix(_MARK).hex() if sealed else ""


def refuse_damage(path: Path) -> None:
    """Raises a ``StoreError`` if a file is damaged; it is looked at once for each change."""
    examine([path])
    if (state := _state(path)) and (why := _known.get(state)):
        raise StoreError(why)


def examine(paths: Iterable[Path], again: bool = False) -> None:
    """Finds out which files are damaged, those of unknown hand in one process; ``again``: not from memory."""
    began = monotonic()
    states = {path: state for path in paths if (state := _state(path)) and (again or state not in _known)}
    noted = _noted() if states and not again else {}
    new = {path: state for path, state in states.items() if noted.get(str(path.absolute())) != list(state[1:])}
    found = {path: _by_sum(path) for path in new}
    _known.update({state: why for path, state in states.items() if (why := found.get(path, "")) is not None})
    read_strange({path: None for path, why in found.items() if why is None})
    if new and monotonic() - began > _LONG:
        kept = {path: state for path, state in _noted().items() if Path(path).exists()}
        kept |= {str(path.absolute()): list(state[1:]) for path, state in new.items() if _known.get(state) == ""}
        with suppress(OSError):
            atomic_text(cache_folder() / "examined.json", json.dumps(kept, indent=0))


def read_strange(asked: Mapping[Path, Contents | None]) -> dict[Path, Contents]:
    """What files of unknown hand hold, up to their bounds, or without bounds as DuckDB is to read them next.

    A file that ends the process which reads it is damaged, and another process reads those after it.
    """
    states, found = {path: _state(path) for path in asked}, dict[Path, Contents]()
    while left := [path for path in asked if path not in found]:
        lines = [json.dumps([str(path), (most := asked[path]) and asdict(most)]) for path in left]
        try:
            done = subprocess.run(
                [sys.executable, "-m", strange.__name__],
                input="\n".join(lines).encode(),
                capture_output=True,
                timeout=_PATIENCE,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                check=False,
            )
            code, said, errors = done.returncode, done.stdout, done.stderr
            how = f"it ends the process that reads it ({signal.Signals(-code).name if code < 0 else code})"
        except subprocess.TimeoutExpired as late:
            said, errors, how = late.stdout or b"", late.stderr or b"", f"it cannot be read in {_PATIENCE} s"
        ready, *answers = said.decode().splitlines() or [""]
        if ready != strange.READY:
            why = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise StoreError(f"cannot start a process that reads {left[0]} ({why}); start the program again")
        found |= {path: Contents(**json.loads(answer)) for path, answer in zip(left, answers, strict=False)}
        if len(answers) < len(left):
            found[left[len(answers)]] = Contents(problem=how)
    whys = {path: read.problem and _damaged(path, read.problem) for path, read in found.items()}
    _known.update({state: whys[path] for path, state in states.items() if state})
    return found


def _damaged(path: Path, why: str) -> str:
    return f"cannot read {path}: {why}; the file is damaged: delete it and run again the command that made it"


def _state(path: Path) -> _State | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return path, stat.st_size, stat.st_mtime_ns


def _by_sum(path: Path) -> str | None:
    """Why a file is damaged, by its seal, its end, or as one that ships; empty if it is not, None if it is strange."""
    try:
        now, sealed = sums(path)
    except OSError as error:
        return f"cannot read {path}: {error}"
    if sealed:
        return "" if now == sealed else _damaged(path, "its bytes are not those that were written")
    if shipped_sums().get(path.absolute(), now) != now:
        return f"{path} is not the file that ships; restore {SHIPPED.parent} as it was shipped"
    # Also a copy of a file that ships.
    return "" if now in shipped_sums().values() else None


@cache
def shipped_sums() -> dict[Path, str]:
    """File that ships -> its sha256; empty where the list is missing or cannot be read."""
    try:
        lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {SHIPPED.parent / name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}


def _noted() -> dict[str, list[int]]:
    """Path -> size and time of files that an earlier process found without damage."""
    try:
        noted = json.loads((cache_folder() / "examined.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
