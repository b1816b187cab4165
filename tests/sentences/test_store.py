"""Sentence probes and changes among the results, and what `check` says of damaged ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from probing.kernel.store.check import check_store
from probing.kernel.store.opening import open_database
from probing.kernel.store.stored import stored_models
from probing.sentences.examples import MEAN, OWN
from tests.changes_planted import change_run_id, plant_changes
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, SST_2
from tests.sentences_planted import (
    COORDINATION,
    ODD,
    PlantedSentenceRun,
    plant_sentence_runs,
    plant_sentences,
)

#: A base and two other models on one task.
FEW = tuple(PlantedSentenceRun(model, ODD) for model in (BASE, COLA, SST_2))


SENTENCES, CHANGES = "sentences", "changes"


def test_runs_have_kind_and_provenance_and_are_no_runs_on_facts(tmp_path: Path):
    measured = (BASE, COLA, CONTROL)
    with open_database(plant_sentences(tmp_path, FEW, measured)) as db:
        kinds = db.query("SELECT kind, count(*) AS n FROM runs GROUP BY kind").set_index("kind")["n"].to_dict()
        assert kinds == {SENTENCES: len(FEW), CHANGES: len(measured)}
        one = db.query("SELECT * FROM runs_of_sentences WHERE run_id = $run", {"run": FEW[0].run_id}).iloc[0]
        assert (one["weights"], one["dtype"], one["task"], one["kind"]) == (
            "weights of planted",
            "float32",
            ODD.name,
            SENTENCES,
        )
        assert db.query("SELECT kind FROM runs_of_changes")["kind"].tolist() == [CHANGES] * len(measured)
        assert set(stored_models(db)["model"]) == {model.name for model in (BASE, COLA, SST_2, CONTROL)}
        assert db.query("SELECT * FROM fact_runs").empty


Rows = list[dict]


def first(rows: Rows, where: Callable[[dict], bool], **change: object) -> Rows:
    """The rows with the first that fulfils the condition changed."""
    place = next(number for number, row in enumerate(rows) if where(row))
    return [row | change if number == place else row for number, row in enumerate(rows)]


def without(rows: Rows, where: Callable[[dict], bool]) -> Rows:
    return [row for row in rows if not where(row)]


def own(row: dict, layer: int = 2, pooling: str = MEAN) -> bool:
    """Whether a row is of an own probe on all training sentences; of a pair, with the base's at the same place."""
    beside = row.get("with_layer", layer), row.get("with_pooling", pooling)
    return (row["layer"], row["pooling"], row["reading"], row["portion"]) == (layer, pooling, OWN, 1) and beside == (
        layer,
        pooling,
    )


ANY = lambda row: True  # noqa: E731
#: Name -> table, change, and what `check` says.
DAMAGE: dict[str, tuple[str, Callable[[Rows], Rows], str]] = {
    "fingerprint": (
        "sentence_runs",
        lambda rows: first(rows, ANY, config=rows[0]["config"].replace('"seed":0', '"seed":7')),
        "the fingerprint of",
    ),
    "unknown task": (
        "sentence_runs",
        lambda rows: first(rows, ANY, task="my-task"),
        "no row of sentence_tasks describes its task my-task",
    ),
    "protocol": (
        "sentence_runs",
        lambda rows: first(rows, ANY, protocol="mine"),
        "protocol is 'mine', expected one of ours",
    ),
    "other n_test": (
        "sentence_runs",
        lambda rows: first(rows, ANY, n_test=150),
        "it was tested on 150 sentences and left 0 out",
    ),
    "more layers": ("sentence_runs", lambda rows: first(rows, ANY, layers=LAST + 2), "expected [0, 1, 2, 3, 4, 5]"),
    "scores of a layer": ("sentence_scores", lambda rows: without(rows, own), "have scores of the layers [0, 1, 3, 4]"),
    "no scores": ("sentence_scores", lambda rows: [], "it has no scores"),
    "score of other sentences": ("sentence_scores", lambda rows: first(rows, own, n_test=199), "was tested on 199"),
    "too many right": (
        "sentence_scores",
        lambda rows: first(rows, own, right=201),
        "more sentences right than there are",
    ),
    "answers of a probe": ("sentence_predictions", lambda rows: without(rows, own), "has a score but no answers"),
    "an answer": (
        "sentence_predictions",
        lambda rows: first(rows, own, predicted=[0] * 199),
        "has 199 answers, expected 200",
    ),
    "label number": (
        "sentence_predictions",
        lambda rows: first(rows, own, predicted=[2] * 200),
        "answers the label number 2",
    ),
    "left out answers": (
        "sentence_predictions",
        lambda rows: first(rows, own, predicted=[255] + [0] * 199),
        "has 199 answers, the run",
    ),
    "pair of a change": (
        "sentence_pairs",
        lambda rows: without(rows, own),
        "of the model's own probes are compared with the base's",
    ),
    "row of the run": ("sentence_runs", lambda rows: [], "has rows of sentence_"),
}


def test_damage_of_a_run_is_named(tmp_path: Path):
    source = plant_sentence_runs(tmp_path / "runs", [FEW[0]])
    ids = {}
    for name, (table, change, _) in DAMAGE.items():
        run = PlantedSentenceRun(replace(COLA, name=name), ODD)
        ids[name] = run.run_id
        plant_sentence_runs(
            source, [run], lambda found, rows, table=table, change=change: change(rows) if found == table else rows
        )
    problems = check_store([source])
    for name, (_, _, said) in DAMAGE.items():
        assert any(said in problem and (ids[name] in problem or name == "fingerprint") for problem in problems), name
    assert not any(FEW[0].run_id in problem for problem in problems)


TASK_DAMAGE: dict[str, tuple[str, Callable[[Rows], Rows], str]] = {
    "surface": (
        "sentence_tasks",
        lambda rows: first(rows, ANY, surface_right=500),
        "more sentences right than there are",
    ),
    "data": ("sentence_tasks", lambda rows: first(rows, ANY, sha256="0" * 64), "it is of the data"),
    "a sentence": ("sentence_examples", lambda rows: rows[:-1], "expected the places 0 to 199"),
    "label": ("sentence_examples", lambda rows: first(rows, ANY, label=2), "each with one of 2 labels"),
    "text": (
        "sentence_examples",
        lambda rows: first(rows, ANY, text="Another."),
        "another text or label than its name",
    ),
}


@pytest.mark.parametrize("name", TASK_DAMAGE)
def test_damage_of_a_tasks_data_is_named(tmp_path: Path, name: str):
    table, change, said = TASK_DAMAGE[name]
    source = plant_sentence_runs(
        tmp_path / "runs", FEW[:1], lambda found, rows: change(rows) if found == table else rows
    )
    assert said in "\n".join(check_store([source]))


def of(measure: str, layer: int) -> Callable[[dict], bool]:
    return lambda row: (row["measure"], row["layer"]) == (measure, layer)


def put_back(replaced: str, n: int) -> Callable[[dict], bool]:
    return lambda row: (row["replaced"], row["n"]) == (replaced, n)


CHANGE_DAMAGE: dict[str, tuple[str, Callable[[Rows], Rows], str]] = {
    "fewer layers": (
        "change_runs",
        lambda rows: first(rows, ANY, layers=LAST),
        "is of a layer or head that the model does not have",
    ),
    "head": ("change_values", lambda rows: first(rows, ANY, head=7), "head 7, is of a layer or head"),
    "a layer": (
        "change_values",
        lambda rows: without(rows, of("cka-mean", 2)),
        "cka-mean has values of the layers [0, 1, 3, 4]",
    ),
    "nothing": ("change_values", lambda rows: [], ""),
    "unchanged": (
        "perplexity",
        lambda rows: without(rows, put_back("none", 0)),
        "0 perplexities are of the unchanged model",
    ),
    "masked pieces": ("perplexity", lambda rows: first(rows, ANY, masked=3), "other masked pieces"),
    "blocks": ("perplexity", lambda rows: first(rows, ANY, by_block=[1.0]), "is of 1 blocks, the run of 12"),
    "row of the run": ("change_runs", lambda rows: [], "has rows of change_values"),
}


def test_damage_of_changes_is_named(tmp_path: Path):
    source = plant_changes(tmp_path / "runs", [BASE])
    ids = {}
    for name, (table, change, _) in CHANGE_DAMAGE.items():
        model = replace(COLA, name=name)
        ids[name] = change_run_id(model)
        plant_changes(
            source, [model], lambda found, rows, table=table, change=change: change(rows) if found == table else rows
        )
    problems = check_store([source])
    assert not any(change_run_id(BASE) in problem for problem in problems)
    for name, (_, _, said) in CHANGE_DAMAGE.items():
        own = [problem for problem in problems if ids[name] in problem]
        assert any(said in problem for problem in own) if said else own == [], name


def test_the_planted_store_has_no_problem(tmp_path: Path):
    runs = [PlantedSentenceRun(model, task) for model in (BASE, SST_2, CONTROL) for task in (COORDINATION, ODD)]
    source = plant_changes(plant_sentence_runs(tmp_path / "runs", runs), [BASE, CONTROL])
    assert check_store([source]) == []


def test_without_answers_counts_alone_are_no_problem_and_are_reported(tmp_path: Path):
    source = plant_sentence_runs(
        tmp_path / "runs", FEW, lambda table, rows: [] if table == "sentence_predictions" else rows
    )
    assert check_store([source]) == []
    with open_database(source) as database:
        assert len(database.query("SELECT * FROM runs_of_sentences")) == len(FEW)
