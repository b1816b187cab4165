"""The notebook of the Python API runs from its first cell to its last, and shows what its text says."""

import json

import nbformat
import pandas as pd
import pytest
from nbclient.exceptions import CellExecutionError

from probing.kernel.registry import REPOSITORY, read_registry
from probing.kernel.store.parquet import read_table
from tests import written_notebook
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
    "own": [mine.name, mine.head, len(asked[mine.name].curve())],
    "names": by_model[by_model["layer"] == 8].set_index("model")["value"].to_dict(),
    "lost": transitions.set_index("model")["lost"].to_dict(),
    "forgotten": forgotten.set_index("model")["forgotten"].to_dict(),
    "words": words.words, "said": words.answers["answer"].tolist(), "role": roles.answers["answer"].tolist(),
    "tasks": sorted(last["task"].unique()), "at_last": last["layer"].unique().tolist(),
    "distance": int(sentence.attention["emd-mean"].count()),
    "cka": cka[cka["layer"] == 8].set_index("model")["value"].to_dict(),
}, default=str))
"""


@pytest.fixture(scope="module")
def notebook():
    return written_notebook.read()


def shows(cell) -> list[str]:
    """What a cell printed, and its tables as text."""
    return [
        one.get("text") or one.data.get("text/plain", "figure") for one in cell.outputs if one.get("name") != "stderr"
    ]


def test_the_notebook_is_valid_and_small_and_has_outputs_that_any_host_shows(notebook, repo_root):
    nbformat.validate(notebook)
    text = written_notebook.NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 400_000 and "vnd.plotly" not in text and str(repo_root) not in text
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    pictures = [one for cell in code for one in cell.outputs if "image/png" in one.get("data", ())]
    assert len(code) > 20 and all(cell.execution_count for cell in code) and len(pictures) >= 7
    assert "(docs/notebook.ipynb)" in (repo_root / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Output of the last cell after a separate kernel has run all others, with no network and an empty cache."""
    run = written_notebook.read()
    run.cells = [*run.cells, nbformat.v4.new_code_cell(SUMMARY)]
    written_notebook.execute(run, tmp_path_factory.mktemp("notebook"))
    (printed,) = [
        output.text for output in run.cells[-1].outputs if output.output_type == "stream" and output.name == "stdout"
    ]
    return json.loads(printed), run


def test_every_cell_runs_and_tables_and_figures_are_shown(found):
    _, run = found
    shown = [set(output.get("data", ())) for cell in run.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum(written_notebook.PLOTLY in kinds for kinds in shown) >= 7, "figures"
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


def test_the_stored_outputs_are_those_of_what_ships(found):
    """Else: make screenshots. Cells that a training comes before may differ by the machine."""
    for stored, again in zip(written_notebook.read().cells, found[1].cells, strict=False):
        assert "results.report" not in stored.source or shows(stored) == shows(again)


def test_without_the_repository_three_parts_ask_bert_from_the_hub_and_the_fourth_says_what_is_missing(tmp_path):
    bert = read_registry().model("bert-base-uncased")
    of_hub = tmp_path / "hub" / f"models--{bert.source.replace('/', '--')}"
    for name in ("snapshots", "refs"):
        (of_hub / name).mkdir(parents=True)
    (of_hub / "snapshots" / bert.revision).symlink_to(REPOSITORY / "data" / "models" / "nesia-mini")
    (of_hub / "refs" / "main").write_text(bert.revision)
    run = written_notebook.read()
    with pytest.raises(CellExecutionError, match=r"no results: .*clone the repository"):
        written_notebook.execute(run, tmp_path, PROBING_REPOSITORY=tmp_path / "none", HF_HUB_CACHE=tmp_path / "hub")
    (stopped,) = [cell for cell in run.cells if "no results: " in str(cell.get("outputs"))]
    assert stopped.source.startswith("results = probing.results()")
    said, asked = (shows(next(cell for cell in run.cells if text in cell.source)) for text in ("except", "median"))
    assert "environment variable PROBING_REPOSITORY" in said[0] and "philadelphia" in said[1]
    assert "bert-base-uncased" in asked[0]


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
    assert got["names"]["nesia-mini"] < 0.5 < 0.8 < got["names"]["my-model"], "training taught the names"


def test_words_and_sentences_are_read_by_the_shipped_probes(found):
    got, _ = found
    assert got["words"] == ["The", "old", "king", "lived", "in", "France", "."]
    assert len(got["said"]) == 3 and got["said"][1] == "VBD" and len(got["role"]) == 1
    assert got["tasks"] and got["at_last"] == [8] and got["distance"] == 8
