"""A planted store with everything that a report can be made of, for the tests of stored results."""

from pathlib import Path

from tests.candidates_planted import plant_candidates
from tests.carried_planted import plant_carried
from tests.edges_planted import plant_edge_runs
from tests.fine_tuning_planted import plant_everything
from tests.forgetting_planted import plant_forgetting
from tests.series_planted import PREVENTED, SERIES, plant_series


def plant_all(root: Path) -> Path:
    """Runs of all kinds below one snapshot folder."""
    plant_everything(root / "snapshot" / "everything")
    plant_candidates(root / "snapshot" / "candidates")
    plant_carried(root / "snapshot" / "carried")
    plant_edge_runs(root / "snapshot" / "edges")
    plant_forgetting(root / "snapshot" / "forgetting")
    plant_series(root / "snapshot" / "series", SERIES + PREVENTED)
    return root / "snapshot"
