"""A model of the hub before it is downloaded: its configuration, and the size of its weights."""

from dataclasses import dataclass
from pathlib import Path

from probing.kernel.models.hub import open_snapshot


@dataclass(frozen=True)
class LookedUp:
    """A model of the hub, with the folder of its configuration."""

    folder: Path
    here: bool  #: whether its weights are on this machine
    weight_bytes: int  #: that a download takes; 0 if it is not known, or they are here


def look_up(hub_id: str, revision: str | None, local_only: bool) -> LookedUp:
    """Looks a model up; only its configuration is downloaded. ModelError: no such model, or no hub."""
    snapshot = open_snapshot(hub_id, revision or None, local_only)
    here = snapshot.is_complete()
    return LookedUp(snapshot.folder, here, 0 if here else snapshot.weight_bytes())
