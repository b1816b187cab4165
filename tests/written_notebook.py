"""``make screenshots`` stores docs/notebook.ipynb with its outputs; ``tests/api/test_notebook.py`` compares them."""

import base64
import io
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import plotly.io
from nbclient import NotebookClient
from PIL import Image

from probing.kernel.registry import REPOSITORY

NOTEBOOK = REPOSITORY / "docs" / "notebook.ipynb"
PLOTLY = "application/vnd.plotly.v1+json"


def read() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def execute(notebook: Any, folder: Path, **settings: object) -> None:
    """Runs the cells in a kernel of its own in ``folder``, with no network and an empty cache."""
    places = dict.fromkeys(("PROBING_CACHE", "TMPDIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"), folder)
    there = {"PYTHONPATH": REPOSITORY, "HF_HUB_OFFLINE": 1, "OMP_NUM_THREADS": 1, **places, **settings}
    of: dict[str, Any] = {"record_timing": False, "resources": {"metadata": {"path": str(folder)}}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", **of).execute(
        env=os.environ | {name: str(value) for name, value in there.items()}
    )


if __name__ == "__main__":
    notebook = read()
    with TemporaryDirectory() as folder:
        execute(notebook, Path(folder))
        for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
            # Without bars of progress.
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        # Hosts show pictures, but not plotly's figures. One browser draws all, as wide as a notebook's column.
        shown = [one for cell in notebook.cells for one in cell.get("outputs", ()) if PLOTLY in one.get("data", ())]
        pictures = [Path(folder, f"{number}.png") for number in range(len(shown))]
        figures = [plotly.io.from_json(json.dumps(one.data[PLOTLY])) for one in shown]
        plotly.io.write_images(figures, pictures, width=1000, height=[one.layout.height or 450 for one in figures])
        for one, picture in zip(shown, pictures, strict=True):
            small = io.BytesIO()
            Image.open(picture).convert("RGB").quantize(64).save(small, "PNG", optimize=True)
            one.update(data={"image/png": base64.b64encode(small.getvalue()).decode()}, metadata={})
    nbformat.write(notebook, NOTEBOOK)
