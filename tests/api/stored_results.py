"""A planted store with everything that a report can be made of, for the tests of stored results."""

from pathlib import Path

from probing.api.results import Results
from tests.edges_planted import plant_edge_runs
from tests.fine_tuning_planted import plant_everything
from tests.forgetting_planted import plant_forgetting


def plant_all(root: Path) -> Path:
    """Facts, edges, sentences and changes below one snapshot folder."""
    plant_everything(root / "snapshot" / "everything")
    plant_edge_runs(root / "snapshot" / "edges")
    plant_forgetting(root / "snapshot" / "forgetting")
    return root / "snapshot"


def opened(snapshot: Path, root: Path) -> Results:
    """The results of the snapshot, in a database below ``root``."""
    return Results(snapshot, root / "database")
