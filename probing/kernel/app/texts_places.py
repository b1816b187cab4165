"""Folders of the server, which a user of a page does not need to know."""

import os
import re
from pathlib import Path

from probing.kernel.files_paths import cache_folder, snapshot_folder
from probing.kernel.registry import REPOSITORY


def without_server_folders(text: str) -> str:
    """A message or command with short names for the server's folders: ``cache/models/mine`` for the path of that
    folder.

    Commands with these names work in the folder of the repository if the cache is at its usual place.
    """
    for folder, name in _named():
        text = re.sub(rf"{re.escape(folder)}(?=[/\\]|[^\w.-]|$)", name.replace("\\", r"\\"), text)
    return text


def _named() -> list[tuple[str, str]]:
    """Folders of this server and their names, longer paths first."""
    folders = {Path.home(): "~", REPOSITORY: ".", snapshot_folder(): "data/snapshot", cache_folder(): "cache"}
    paths = [Path(text) for text in os.environ.get("PROBING_MODELS", "").split(os.pathsep) if text]
    folders |= {folder: folder.name for folder in paths}
    spelt = {
        str(way): name
        for folder, name in folders.items()
        for way in (folder.absolute(), folder.resolve())
        if way.parent != way
    }
    return sorted(spelt.items(), key=lambda pair: -len(pair[0]))
