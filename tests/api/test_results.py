"""Stored results in a notebook: every frame holds what the command of the same name prints as JSON."""

import gc
import inspect
import json
from contextlib import suppress

import duckdb
import numpy as np
import pandas as pd
import pytest

from probing.api.results import Results, open_results
from probing.core.errors import FigureError, OptionError, ProbingError, StoreError
from probing.core.forgetting.ways import MOVED
from probing.reports.table_text import objects
from probing.store.kinds import KINDS
from probing.store.knowledge.fact_queries import search_facts
from tests.planted_relatives import BASE, COLA, CONTROL
from tests.store.planted import PlantedRun, plant_runs


@pytest.fixture()
def printed(run, snapshot, monkeypatch):
    """What a command prints with ``--json``."""
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    monkeypatch.setenv("PROBING_CACHE", str(snapshot.parent / "cache"))
    return lambda *words: json.loads(run(*words, "--json").stdout)


def as_json(table: pd.DataFrame) -> list[dict]:
    """The rows as JSON has them."""
    return json.loads(json.dumps(objects(table)))


@pytest.mark.parametrize(
    ("method", "words", "given"),
    [
        (
            "curve",
            ["precision", "--model", COLA.name, "--head", "tied", "--k", "10", "--k", "1", "--average", "micro"],
            {"model": COLA.name, "head": "tied", "k": [10, 1], "average": "micro"},
        ),
        ("total", ["total", "--probe-set", "trex", "--k", "100"], {"probe_set": ["trex"], "k": 100}),
        (
            "forgotten",
            ["forgotten", "--definition", "strict", "--model", BASE.name],
            {"definition": "strict", "model": BASE.name},
        ),
        ("transitions", ["transitions", "--model", CONTROL.name, "--k", "1"], {"model": [CONTROL.name], "k": 1}),
        ("tasks", ["tasks", "--model", COLA.name], {"model": COLA.name}),
    ],
)
def test_a_frame_of_facts_holds_what_the_command_prints(results, printed, method, words, given):
    table = getattr(results, method)(**given)
    assert len(table) and as_json(table) == printed("report", *words)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["summary", "--task", "srl", "--part", "test", "--unseen"], {"task": "srl", "part": "test", "unseen": True}),
        (["scores", "--kind", "at", "--model", "nesia-mini"], {"kind": "at", "model": "nesia-mini"}),
        (["labels", "--task", "pos", "--part", "dev"], {"task": ["pos"], "part": ["dev"]}),
    ],
)
def test_a_frame_of_edges_holds_what_the_command_prints(results, printed, words, given):
    table, found = results.edges(words[0], **given), printed("edges", "report", *words)
    assert len(table) and as_json(table) == (found[words[0]] if isinstance(found, dict) else found)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["accuracy", "--reading", "frozen", "--model", COLA.name], {"reading": "frozen", "model": COLA.name}),
        (["changes", "--task", "bigram-shift", "--pooling", "mean"], {"task": "bigram-shift", "pooling": "mean"}),
        (["curve", "--model", BASE.name], {"model": [BASE.name]}),
    ],
)
def test_a_frame_of_sentences_holds_what_the_command_prints(results, printed, words, given):
    table = results.sentences(words[0], **given)
    assert len(table) and as_json(table) == printed("sentences", "report", *words)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (
            ["values", "--model", COLA.name, "--measure", "cka-mean", "--heads"],
            {"model": COLA.name, "measure": "cka-mean", "heads": True},
        ),
        (["epochs"], {}),
    ],
)
def test_a_frame_of_changes_holds_what_the_command_prints(results, printed, words, given):
    table = results.changes(words[0], **given)
    assert as_json(table) == printed("changes", "report", *words) and (len(table) or words[0] == "epochs")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["memory"], {}),
        (["falls", "--k", "1"], {"k": 1}),
        (
            ["facts", "--model", COLA.name, "--relation", "P36", "--way", MOVED],
            {"model": COLA.name, "relation": "P36", "way": MOVED},
        ),
    ],
)
def test_a_frame_of_lost_facts_holds_what_the_command_prints(results, printed, words, given):
    table = results.forgetting(words[0], **given)
    assert len(table) and as_json(table) == printed("forgetting", "report", *words)


def test_further_filters_keep_the_rows_that_they_name(results):
    every = results.curve(k=1, average="macro")
    assert results.curve(k=1, average="macro", layer=[0, 2]).equals(
        every[every["layer"].isin([0, 2])].reset_index(drop=True)
    )
    assert set(results.transitions(base=BASE.name)["base"]) == {BASE.name}
    assert set(results.sentences(layer=3)["layer"]) == {3}


def test_facts_are_those_that_the_page_lists(results):
    runs = results.runs
    (run_id,) = runs.loc[(runs["what"] == "facts") & (runs["model"] == COLA.name), "run_id"]
    db = results.database
    pd.testing.assert_frame_equal(results.facts(COLA.name), search_facts(db, run_id, order="layers known"))
    assert list(results.facts(COLA.name, part="still_inside")["last_rank"]) == [50]
    versus = {
        "part": "lost",
        "versus": runs.loc[(runs["what"] == "facts") & (runs["model"] == BASE.name), "run_id"].iloc[0],
    }
    pd.testing.assert_frame_equal(
        results.facts(COLA.name, part="lost", base=BASE.name, order="fact"), search_facts(db, run_id, **versus)
    )
    assert set(results.facts(COLA.name, relation="P36")["relation"]) == {"P36"}
    assert len(results.facts(COLA.name, limit=3)) == 3 and len(results.facts(COLA.name, limit=None)) == 10
    assert list(results.facts(COLA.name, known="never")["layers_known"].unique()) == [0]
    assert set(results.facts(COLA.name, last_known=2)["last_layer"]) == {2}
    assert (
        results.facts(COLA.name, exposure=["stated", "unseen"]).empty
        and len(results.facts(COLA.name, exposure="unknown")) == 10
    )
    at_layer = {"layer_rank": (2, 10)}
    pd.testing.assert_frame_equal(
        results.facts(COLA.name, at_layer=2, at_rank=10, order="fact"), search_facts(db, run_id, **at_layer)
    )


def test_one_fact_is_there_layer_by_layer_for_every_run(results):
    fact_id = results.facts(COLA.name, part="still_inside").loc[0, "fact_id"]
    table = results.fact(fact_id, model=[COLA.name, BASE.name])
    assert set(table["model"]) == {COLA.name, BASE.name} and table["layer"].tolist() == 2 * list(
        range(table["layer"].max() + 1)
    )
    assert table.loc[table["model"] == COLA.name, "gold_rank"].iloc[-1] == 50
    assert ((table["probability"] > 0) & (table["probability"] <= 1)).all()


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda r: r.curve(model="bert"), StoreError, f"no run with model='bert'; there are .*{BASE.name}"),
        (lambda r: r.total(k=5), OptionError, "got k=5; expected one of 1, 10, 100"),
        (lambda r: r.curve(layer=99), OptionError, "got layer 99; there are 0, 1"),
        (lambda r: r.curve(model=[]), OptionError, "empty list for model"),
        (
            lambda r: r.transitions(base="other"),
            OptionError,
            f"got base='other'; expected one of {BASE.name}, {COLA.name}",
        ),
        (
            lambda r: r.transitions(model=BASE.name),
            StoreError,
            f"{BASE.name} has no stored base; name the model to compare with in base=",
        ),
        (
            lambda r: r.edges("summaries"),
            OptionError,
            "got what='summaries'; expected one of summary, scores, labels, tasks, models",
        ),
        (
            lambda r: r.edges(task="parsing"),
            OptionError,
            "no probes of the task 'parsing' are stored; there are those of pos",
        ),
        (lambda r: r.sentences("groups", layer=1), OptionError, "this table has no layer"),
        (lambda r: r.sentences("changes", reading="mlp"), OptionError, "reports that have it: accuracy"),
        (
            lambda r: r.facts(part="gone"),
            OptionError,
            "got part='gone'; expected one of kept, gained, lost, never, still_inside",
        ),
        (lambda r: r.facts(BASE.name, part="lost"), OptionError, "has no base; name the model to compare with in base"),
        (lambda r: r.facts(base=COLA.name), OptionError, "without part"),
        (lambda r: r.facts(colour="red"), OptionError, "got the filter colour; expected one of text, known"),
        (lambda r: r.facts(at_rank=1), OptionError, "at_rank without at_layer"),
        (lambda r: r.facts(limit=-1), OptionError, "got limit=-1"),
        (lambda r: r.facts(model=[COLA.name, BASE.name]), FigureError, "only one model can be shown here"),
        (lambda r: r.fact("0"), OptionError, "got fact_id '0', which is not stored"),
    ],
)
def test_what_is_not_known_is_refused_with_what_there_is(results, ask, error, words):
    with pytest.raises(error, match=words):
        ask(results)


def test_models_and_runs_are_listed_and_shown(results):
    models = results.models.set_index("model")
    assert models.at[COLA.name, "base"] == BASE.name and models.at[COLA.name, "changes"]
    assert models.at[BASE.name, "heads"] == ("tied",) and models.at[BASE.name, "probe_sets"] == ("trex",)
    assert set(models.at["nesia-mini", "edge_tasks"]) == {"pos", "srl", "proto-roles"}
    assert results.runs["run_id"].is_unique and set(results.runs["what"]) == set(KINDS)
    assert f"{len(models)} models; heads: tied; probe sets: trex" in repr(results) and results.fingerprint in repr(
        results
    )
    shown = results._repr_html_()
    assert results.fingerprint in shown and f"<td>{COLA.name}</td>" in shown


def test_results_close_at_the_end_of_the_block_and_by_themselves(snapshot):
    with Results(snapshot) as found:
        database = found.database
    assert repr(found) == "Results(closed)" and "closed" in found._repr_html_()
    with pytest.raises(StoreError, match=r"these results are closed; open them again with probing\.results\(\)"):
        found.curve()
    found = Results(snapshot)
    database = found.database
    del found
    gc.collect()
    with pytest.raises((duckdb.Error, StoreError)):
        database.query("SELECT 1")


def test_the_named_folders_are_opened_instead_of_the_usual_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(plant_runs(tmp_path / "usual", [PlantedRun()])))
    other = plant_runs(tmp_path / "other", [PlantedRun(model="other-bert")])
    with open_results() as usual, open_results([other]) as found, open_results(str(other)) as again:
        assert set(usual.curve()["model"]) == {"nesia-mini"} and set(found.curve()["model"]) == {"other-bert"}
        assert found.fingerprint == again.fingerprint != usual.fingerprint
    with pytest.raises(StoreError, match="no folder"):
        open_results(tmp_path / "nowhere")


def test_without_a_folder_of_results_the_error_says_where_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "none"))
    with pytest.raises(StoreError, match="clone the repository, which has the shipped results, or name folders"):
        open_results()


def test_what_is_not_stored_is_an_empty_frame(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    with Results(plant_runs(tmp_path / "runs", [PlantedRun()])) as found:
        for method in ("transitions", "tasks", "edges", "sentences", "changes", "forgetting"):
            assert getattr(found, method)().empty, method
    (tmp_path / "names").mkdir()
    (tmp_path / "runs" / "relations.parquet").rename(tmp_path / "names" / "relations.parquet")
    with Results(tmp_path / "names") as found:
        for method in ("curve", "total", "forgotten"):
            assert getattr(found, method)().empty, method
        assert found.models.empty and found.runs.empty and "0 models" in repr(found)
        with pytest.raises(StoreError, match="no probed facts are stored"):
            found.facts()


def test_a_folder_without_results_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"no results in .*empty; expected files such as predictions-<run>\.parquet"):
        open_results(tmp_path / "empty")
    (tmp_path / "cache" / "runs").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"no results: neither .* holds any; clone the repository"):
        open_results()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((5,), "got 5 for folders; expected the path of a folder"),
        (([],), "got an empty list for folders; name at least one folder"),
        (("",), "got '' for folders"),
        ((["runs", 5],), "got 5 for folders"),
    ],
)
def test_folders_that_are_no_paths_are_refused(tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    plant_runs(tmp_path / "runs", [PlantedRun()])
    with pytest.raises(OptionError, match=words):
        open_results(*given)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.curve(k=1.0), r"got k=1\.0, of type float; expected a whole number or a list of whole numbers"),
        (lambda r: r.curve(k=True), "got k=True, of type bool"),
        (lambda r: r.curve(layer=["a"]), r"got layer=\['a'\], of type list"),
        (lambda r: r.curve(model=5), "got model=5, of type int; expected a name or a list of names"),
        (lambda r: r.total(templates=None), "got templates=None, of type NoneType; expected a text"),
        (lambda r: r.facts(limit="x"), "got limit='x', of type str; expected a whole number"),
        (lambda r: r.fact(None), "got fact_id=None"),
        (lambda r: r.edges(unseen="yes"), "got unseen='yes', of type str; expected True or False"),
        (lambda r: r.plot.curve(k=1.0), r"got k=1\.0"),
        (lambda r: r.plot.facts(relation=pd.DataFrame({1: range(9)})), "got relation=.*, of type DataFrame"),
    ],
)
def test_an_argument_of_another_type_is_refused_by_its_name(results, ask, words):
    with pytest.raises(OptionError, match=words):
        ask(results)


def test_numbers_of_numpy_and_columns_of_pandas_are_arguments_like_others(results):
    wanted = results.curve(model=[BASE.name], k=1, layer=[0, 1])
    assert results.curve(model=pd.Series([BASE.name]), k=np.int64(1), layer=np.arange(2)).equals(wanted)
    with pytest.raises(TypeError, match=r"Results\.curve\(\) got an unexpected keyword argument 'modle'"):
        results.curve(modle=BASE.name)


@pytest.mark.parametrize("ask", [lambda r: r.curve(layer=99), lambda r: r.plot.curve(layer=99)])
def test_an_unknown_layer_is_refused_before_anything_is_computed(results, monkeypatch, ask):
    def refused(*_, **__):
        raise AssertionError

    monkeypatch.setattr("probing.reports.knowledge.precision.parallel_map", refused)
    with pytest.raises(OptionError, match="got layer 99; there are 0, 1"):
        ask(results)


def test_whatever_is_given_is_used_or_refused_in_words(results, odd):
    """By every argument of every report and figure: no error of a library."""
    given = [
        (of, name)
        for of in (results, results.plot)
        for name in dir(type(of))
        if callable(getattr(type(of), name)) and name[0] != "_"
    ]
    asked = 0
    for of, name in given:
        for argument, about in inspect.signature(getattr(of, name)).parameters.items():
            if about.kind is not about.VAR_KEYWORD and name != "close":
                asked += 1
                with suppress(ProbingError):
                    try:
                        getattr(of, name)(**{argument: odd})
                    except TypeError as error:
                        assert "missing a required argument" in str(error), (name, argument)
    assert asked > 60
    with pytest.raises(ProbingError):
        Results(odd)
