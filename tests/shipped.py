"""Where the results that ship with the repository are."""

from probing.core.registry import REPOSITORY

SNAPSHOT = REPOSITORY / "data" / "snapshot"
