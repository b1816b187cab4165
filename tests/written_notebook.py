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

PLOTLY = "application/vnd.plotly.v1+json"
NOTEBOOK = REPOSITORY / "docs" / "notebook.ipynb"


def read() -> Any:
    """The stored notebook."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(notebook: Any, folder: Path, **settings: object) -> Any:
    """The notebook with what its cells give in a kernel of its own, with no network and an empty cache in ``folder``.

    Raises:
        CellExecutionError: with its text and its traceback, if a cell fails.
    """
    places = {"PROBING_CACHE": folder / "cache", "TMPDIR": folder, "JUPYTER_RUNTIME_DIR": folder, "IPYTHONDIR": folder}
    there = {"PYTHONPATH": REPOSITORY, "HF_HUB_OFFLINE": 1, "OMP_NUM_THREADS": 1} | places | settings
    resources = {"metadata": {"path": str(folder if "PROBING_REPOSITORY" in settings else NOTEBOOK.parent)}}
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False, resources=resources)
    client.execute(env=os.environ | {name: str(value) for name, value in there.items()})
    return notebook


def write() -> None:
    """Stores the notebook with its outputs: hosts show pictures, but not the figures of plotly."""
    with TemporaryDirectory() as folder:
        notebook = executed(read(), Path(folder))
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for cell in cells:
            # Bars of progress.
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        shown = [one for cell in cells for one in cell.outputs if PLOTLY in one.get("data", ())]
        pictures = [Path(folder, f"{number}.png") for number in range(len(shown))]
        # One browser for all.
        plotly.io.write_images([plotly.io.from_json(json.dumps(one.data[PLOTLY])) for one in shown], pictures)
        for one, picture in zip(shown, pictures, strict=True):
            small = io.BytesIO()
            Image.open(picture).convert("RGB").quantize(64).save(small, "PNG", optimize=True)
            one.data = nbformat.from_dict({"image/png": base64.b64encode(small.getvalue()).decode()})
            one.metadata = nbformat.from_dict({})
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    write()
