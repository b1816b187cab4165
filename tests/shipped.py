"""Where the results that ship with the repository are."""

from probing.kernel.registry import REPOSITORY

SNAPSHOT = REPOSITORY / "data" / "snapshot"
