"""A folder of any architecture is asked facts of one and of several tokens by command, notebook and page, without an
option that names a head.
"""

import pandas as pd
import pytest

import probing
from probing.kernel.store.parquet import read_table
from tests import tiny_models
from tests.pages.conftest import plain

ROWS = [
    ("france", "capital", "paris", "The capital of france is [MASK]."),
    ("germany", "capital", "berlin", "The capital of germany is [MASK]."),
    ("italy", "capital", "the sun city", "The capital of italy is [MASK]."),
]
pytestmark = pytest.mark.slow
EVERY = pytest.mark.parametrize("architecture", sorted(tiny_models.KINDS | tiny_models.WHOLE))


@pytest.fixture
def facts(tmp_path):
    path = tmp_path / "cities.csv"
    pd.DataFrame(ROWS, columns=["subject", "relation", "object", "prompt"]).to_csv(path, index=False)
    return path


def stored(folder, table):
    (path,) = folder.glob(f"{table}-*.parquet")
    return read_table(path, table).to_pandas()


@EVERY
def test_command_and_notebook_give_a_fact_the_same_rank_at_every_layer(architecture, run, cache, folder_of, facts):
    folder, runs = folder_of(architecture), cache / "runs"
    for measure in ("vocabulary", "independent"):
        run("probe", "--model", folder, "--facts", facts, "--measure", measure)
    predicted = stored(runs, "predictions")
    ranked = stored(runs, "candidate_ranks").merge(stored(runs, "candidate_facts"), on="fact_id")
    layers = tiny_models.LAYERS + 1
    assert len(predicted) == 2 * layers and len(ranked) == 3 * layers
    model = probing.load(folder, device="cpu")
    found = model.probe(facts, out=cache / "notebook", progress=False).table
    both = found.merge(predicted, on=["fact_id", "layer"])
    assert len(both) == len(predicted) and (both["rank"] == both["gold_rank"]).all()
    for of_fact in ranked.groupby("prompt"):
        ranks = model.rank(of_fact[0], [answer for *_, answer, _ in ROWS])
        for row in of_fact[1].itertuples():
            ours = ranks[(ranks["layer"] == row.layer) & (ranks["candidate"] == row.object)]
            assert ours["log_likelihood"].item() == pytest.approx(row.log_likelihood, abs=1e-4)
            assert ours["rank"].item() == row.rank


@EVERY
def test_the_page_takes_the_folder_and_offers_its_run(architecture, visit, folder_of, facts):
    app = visit("own_model", "empty", {"own_tab": "new"})
    app.text_input(key="own_model.my_model").set_value(str(folder_of(architecture))).run()
    app.text_area(key="own_model.pasted").set_value(facts.read_text()).run()
    assert not app.exception and f"{architecture}, {tiny_models.LAYERS} layers of" in plain(app)
    assert not app.button(key="own_model.run").disabled
