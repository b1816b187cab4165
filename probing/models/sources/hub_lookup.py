"""A model of the hub before it is downloaded: its configuration, and the size of its weights."""

from dataclasses import dataclass
from pathlib import Path

from probing.models.sources.snapshot import open_snapshot


@dataclass(frozen=True)
class LookedUp:
    """A model of the hub.

    Attributes:
        folder: with its configuration.
        here: whether its weights are on this machine.
        weight_bytes: that a download takes; 0 if it is not known, or they are here.
    """

    folder: Path
    here: bool
    weight_bytes: int


def look_up(hub_id: str, revision: str | None, local_only: bool) -> LookedUp:
    """Looks a model up; of its files only the configuration is downloaded.

    Args:
        hub_id: OWNER/NAME.
        revision: branch, tag or commit; None: the main branch.
        local_only: whether the hub may not be asked.

    Raises:
        ModelError: if there is no such model, or the hub cannot be reached.
    """
    found = open_snapshot(hub_id, revision or None, local_only)
    here = found.is_complete()
    return LookedUp(found.folder, here, 0 if here else found.weight_bytes())
