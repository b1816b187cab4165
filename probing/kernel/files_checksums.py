"""The checksum of a file."""

import hashlib
from collections.abc import Iterator
from pathlib import Path


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def differing_files(listed: Path) -> Iterator[tuple[Path, str]]:
    """Files that are missing, changed, or in a folder of sha256sum's list next to them and not listed."""
    lines = listed.read_text(encoding="utf-8").splitlines()
    sums = {listed.parent / name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}
    for path, sha256 in sums.items():
        if not path.is_file():
            yield path, "missing"
        elif file_sha256(path) != sha256:
            yield path, "changed"
    for folder in sorted({path.parent for path in sums}):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path not in sums and not path.name.startswith((".", "README", listed.name)):
                yield path, "not part of what ships"
