"""The notebook of the Python API runs from its first cell to its last, and shows what its text says."""

import json
import os

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from probing.kernel.store.parquet import read_table
from tests.shipped import SNAPSHOT

pytestmark = pytest.mark.slow
#: A last cell that prints what the test looks at; ``results`` are closed by then, tables stay.
SUMMARY = """
import json
print(json.dumps({
    "layers": [int(layer) for layer in curve["layer"]],
    "last_layer": float(curve["value"].iloc[-1]),
    "total": float(total["total"].iloc[0]), "of_the_last": float(total["last_layer"].iloc[0]),
    "philadelphia": int(answer.watched["rank"].iloc[-1]),
    "own": [mine.name, mine.head, len(probed.curve())],
    "capitals": by_model[by_model["layer"] == 8].set_index("model")["value"].to_dict(),
    "lost": transitions.set_index("model")["lost"].to_dict(),
    "forgotten": forgotten.set_index("model")["forgotten"].to_dict(),
    "words": words.words, "said": words.answers["answer"].tolist(), "role": roles.answers["answer"].tolist(),
    "tasks": sorted(last["task"].unique()), "at_last": last["layer"].unique().tolist(),
    "distance": int(sentence.attention["emd-mean"].count()),
    "cka": cka[cka["layer"] == 8].set_index("model")["value"].to_dict(),
}, default=str))
"""


@pytest.fixture(scope="module")
def notebook(repo_root):
    return nbformat.read(repo_root / "docs" / "notebook.ipynb", as_version=4)


def test_the_notebook_is_valid_small_and_without_outputs(notebook, repo_root):
    nbformat.validate(notebook)
    assert (repo_root / "docs" / "notebook.ipynb").stat().st_size < 60_000
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) > 20 and not any(cell.outputs or cell.execution_count for cell in code)
    parts = [
        line
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("## ")
    ]
    assert len(parts) >= 8
    assert "(docs/notebook.ipynb)" in (repo_root / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found(notebook, repo_root, tmp_path_factory):
    """Output of the last cell after a separate kernel has run all others, with no network and an empty cache."""
    folder = tmp_path_factory.mktemp("notebook")
    cache = folder / "cache"
    settings = {
        "PROBING_CACHE": cache,
        "PYTHONPATH": repo_root,
        "HF_HUB_OFFLINE": 1,
        "OMP_NUM_THREADS": 1,
        "JUPYTER_RUNTIME_DIR": folder,
        "IPYTHONDIR": folder,
        "TMPDIR": folder,
    }
    run = nbformat.from_dict(notebook)
    run.cells = [*notebook.cells, nbformat.v4.new_code_cell(SUMMARY)]
    client = NotebookClient(
        run, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(repo_root / "docs")}}
    )
    # A cell that fails raises here, with its text and its traceback.
    client.execute(env=os.environ | {name: str(value) for name, value in settings.items()})
    (printed,) = [
        output.text for output in run.cells[-1].outputs if output.output_type == "stream" and output.name == "stdout"
    ]
    return json.loads(printed), run


def test_every_cell_runs_and_tables_and_figures_are_shown(found):
    _, run = found
    shown = [set(output.get("data", ())) for cell in run.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("application/vnd.plotly.v1+json" in kinds for kinds in shown) >= 7, "figures"
    assert sum("text/html" in kinds for kinds in shown) >= 15, "tables"
    errors = [
        output.text
        for cell in run.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.get("name") == "stderr"
    ]
    # tqdm asks for ipywidgets, which draw its bars; without them it draws text.
    assert not [text for text in errors if ("Warning" in text and "TqdmWarning" not in text) or "Traceback" in text]


def raw(model: str, head: str) -> tuple[dict, pd.DataFrame]:
    """The row of a shipped run on T-REx, and the rank of each fact's answer, one row per fact and one column per
    layer.
    """
    wanted = (model, head, "trex", "default", 0)
    rows = [row for path in SNAPSHOT.glob("runs-*.parquet") for row in read_table(path, "runs").to_pylist()]
    (run,) = [
        row
        for row in rows
        if (*(row[name] for name in ("model", "head", "probe_set", "template_set")), row["seed"]) == wanted
    ]
    table = read_table(
        SNAPSHOT / f"predictions-{run['run_id']}.parquet", "predictions", ["fact_id", "layer", "gold_rank"]
    ).to_pandas()
    return run, table.pivot(index="fact_id", columns="layer", values="gold_rank")


def test_the_numbers_are_those_of_the_shipped_results(found):
    got, _ = found
    run, ranks = raw("nesia-mini", "tied")
    last = run["layers"] - 1
    assert got["layers"] == list(range(last + 1)) == list(ranks)
    assert got["of_the_last"] == pytest.approx((ranks[last] == 1).sum() / run["n_probed"])
    assert got["total"] == pytest.approx((ranks.loc[:, 1:] == 1).any(axis=1).sum() / run["n_probed"])
    known = raw("nesia-mini", "logit_lens")[1][last] == 1
    for model, lost in got["lost"].items():
        assert lost == (raw(model, "logit_lens")[1][last][known.index[known]] > 1).sum(), model
    assert set(got["lost"]) < set(got["forgotten"]) and "nesia-mini-control" in got["lost"]
    assert got["cka"]["nesia-mini-cola"] < got["cka"]["nesia-mini-control"] <= 1


def test_a_model_and_facts_of_ones_own_are_asked_at_every_layer(found):
    got, _ = found
    assert got["philadelphia"] == 1 and got["own"] == ["my-model", "logit_lens", 9]
    assert got["capitals"]["nesia-mini"] < 0.5 < 0.8 < got["capitals"]["my-model"], "training taught the capitals"


def test_words_and_sentences_are_read_by_the_shipped_probes(found):
    got, _ = found
    assert got["words"] == ["The", "old", "king", "lived", "in", "France", "."]
    assert len(got["said"]) == 3 and got["said"][1] == "VBD" and len(got["role"]) == 1
    assert got["tasks"] and got["at_last"] == [8] and got["distance"] == 8
