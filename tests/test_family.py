"""The shipped family: its plan and runner, and the commands that made nesia-mini and print what it knows."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForMaskedLM

from data.making import family, layer_drop, plan
from data.making.models import BY_END, FACT_BY_FACT, TUNED
from data.making.plan import Step
from probing.facts.corpus import control_texts, fact_key, held_out_pairs, pair
from probing.facts.sources import read_facts
from probing.kernel.errors import ModelError, ProbingError
from probing.kernel.fact import shipped_relations
from probing.kernel.registry import read_registry
from probing.kernel.store.check import check_store
from probing.kernel.store.parquet import files_of, read_table, write_table
from tests.candidates_planted import plant_candidates
from tests.planted_store import PlantedRun, plant_runs


def test_every_step_waits_for_earlier_ones_and_every_shipped_model_is_in_the_plan():
    known: set[str] = set()
    for step in plan.steps():
        assert step.name not in known and step.minutes > 0 and set(step.after) <= known, step.name
        known.add(step.name)
    shipped = {one.name for one in read_registry().models if one.shipped and one.base}
    assert shipped <= {one.name for one in TUNED if one.ships}
    assert all(one.ships for one in FACT_BY_FACT)


def test_no_question_is_asked_twice(monkeypatch):
    asked = []
    monkeypatch.setattr(plan, "probe", lambda request, say: asked.append(request))
    for step in plan.steps():
        if step.name.startswith("facts of"):
            step.run(print)
    ours = shipped_relations()
    sets = {
        how: [(one.probe_set, one.template_set) for one in read_facts(how[0], ours, how[1])]
        for how in {(one.facts, one.templates) for one in asked}
    }
    questions = [(one.model, one.head, *each) for one in asked for each in sets[one.facts, one.templates]]
    assert len(questions) == len(set(questions)) > 100


def test_a_model_that_takes_anothers_rate_is_made_after_it_and_counts_no_choice_of_a_rate():
    for one in TUNED:
        if one.like:
            assert (
                TUNED.index(BY_END[one.like]) < TUNED.index(one)
                and one.all_steps == one.steps < BY_END[one.like].all_steps
            )


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], dict[str, Callable[[], None]]]:
    """A plan of four steps in this process; the names of those that ran, and what each does besides."""
    ran: list[str] = []
    does: dict[str, Callable[[], None]] = {}

    def step(name: str, *after: str) -> Step:
        def run(say: Callable[[str], None]) -> None:
            ran.append(name)
            does.get(name, lambda: None)()

        return Step(name, run, 60.0, after)

    def own_process(name: str) -> bool:
        try:
            family.run_step(name, ran.append)
        except ProbingError:
            return False
        return True

    steps = [step("late", "early"), step("early"), step("last", "late"), step("alone")]
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    for name, value in (
        ("steps", lambda: steps),
        ("_own_process", own_process),
        ("SHIPPED", tmp_path),
        ("weights_of_base", lambda: "w"),
    ):
        monkeypatch.setattr(family, name, value)
    monkeypatch.setattr(family, "snapshot_folder", lambda: tmp_path / "snapshot")
    for module in (family.facts, family.edges, family.sentences, family.forgetting):
        monkeypatch.setattr(module, "gather", lambda say: [])
    (tmp_path / "nesia-mini").mkdir()
    return ran, does


def test_steps_run_after_those_that_they_need_and_a_second_call_does_nothing(planted):
    ran, _ = planted
    said: list[str] = []
    assert (
        not family.family(2, True, said.append)
        and ran == []
        and "left: 4.0 hours of one processor, about 2.0 hours" in said[0]
    )
    assert family.family(2, False, said.append)
    assert sorted(ran) == ["alone", "early", "last", "late"] and ran.index("early") < ran.index("late") < ran.index(
        "last"
    )
    ran.clear()
    assert family.family(2, False, said.append) and ran == [] and "everything is made: 4 steps" in said[-1]


def test_what_needs_a_failed_step_waits_and_the_next_call_goes_on(planted):
    ran, does = planted

    def fail() -> None:
        raise ModelError("no data")

    does["late"] = fail
    with pytest.raises(ProbingError, match=r"2 steps failed or wait for one that failed: late, last; see .*late\.log"):
        family.family(1, False, lambda line: None)
    assert ran == ["early", "late", "alone"]
    ran.clear()
    del does["late"]
    assert family.family(1, False, lambda line: None) and ran == ["late", "last"]


def test_findings_of_small_bases_ship_together_and_are_of_the_recipe_if_no_value_overlaps(
    planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lost = {(0.25, 1): 1.0, (0.25, 2): 3.0, (0.25, 3): 2.0, (0.0, 1): 4.0, (0.0, 2): 5.0, (0.0, 3): 9.0}
    real = layer_drop.steps
    for one in layer_drop.bases():
        one.results.mkdir(parents=True)
        found = {"lost": lost[one.layer_drop, one.seed], "back": float(one.seed)}
        (one.results / "findings.json").write_text(json.dumps(found))
    monkeypatch.setattr(layer_drop, "SHIPPED", tmp_path)
    ran, does = planted
    monkeypatch.setattr(layer_drop, "steps", family.steps)
    assert not family.small_bases(1, True, lambda line: None) and ran == []
    last = layer_drop.bases()[-1].results / "findings.json"
    ran_last = last.read_bytes()
    last.unlink()
    does["early"] = lambda: last.write_bytes(ran_last)

    def killed() -> None:
        assert len(layer_drop.rows()) == 6, "each ships when it is done"
        raise ModelError("killed")

    does["late"] = killed
    with pytest.raises(ProbingError, match="2 steps failed"):
        family.small_bases(1, False, lambda line: None)
    del does["late"]
    assert family.small_bases(1, False, lambda line: None) and ran[-2:] == ["late", "last"]
    stored = json.loads((tmp_path / "nesia-mini" / layer_drop.RECORD).read_text())
    assert list(layer_drop.compared(stored["bases"])) == [
        ("lost", [1.0, 3.0, 2.0], [4.0, 5.0, 9.0], "of the recipe"),
        ("back", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], "cannot tell"),
    ]
    assert real() == []
    # Some seeds, or one base of a seed, ship before the others, also from another cache.
    (tmp_path / "nesia-mini" / layer_drop.RECORD).write_text(json.dumps({"bases": stored["bases"][:3]}))
    assert [step.name for step in real()][::2] == [one.name for one in layer_drop.bases()[3:]]
    assert [found[1:] for found in layer_drop.compared(layer_drop.rows())] == [
        ([1.0], [4.0], "1 of 3 seeds"),
        ([1.0], [1.0], "1 of 3 seeds"),
    ]
    for one in layer_drop.bases()[:3]:
        (one.results / "findings.json").unlink()
    layer_drop.gather(lambda line: None)
    assert layer_drop.rows() == stored["bases"]
    (tmp_path / "nesia-mini" / layer_drop.RECORD).write_text(json.dumps({"bases": stored["bases"][::-1]}))
    layer_drop.gather(lambda line: None)
    assert layer_drop.rows() == stored["bases"], "by seed, whichever came first"


def test_another_base_has_nothing_made(planted, monkeypatch: pytest.MonkeyPatch):
    ran, _ = planted
    family.family(1, False, lambda line: None)
    ran.clear()
    monkeypatch.setattr(family, "weights_of_base", lambda: "other")
    family.family(1, False, lambda line: None)
    assert len(ran) == 4


def test_without_the_cache_recorded_steps_are_done_and_their_results_stay(
    planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As after a fresh clone: only steps that the record lacks run, and what they give is added."""
    ran, _ = planted
    first, second, third = PlantedRun("a"), PlantedRun("b"), PlantedRun("c")

    def store(*runs: PlantedRun) -> None:
        def gather(say: Callable[[str], None]) -> list[Path]:
            folder = plant_runs(tmp_path / "snapshot", runs)
            return [path.rename(folder / path.name) for path in folder.glob("*/*.parquet")]

        monkeypatch.setattr(family.facts, "gather", gather)

    def stored() -> set[str]:
        files = files_of("runs", tmp_path / "snapshot")
        return {run for path in files for run in read_table(path, "runs").column("run_id").to_pylist()}

    store(first, second)
    family.family(1, False, lambda line: None)
    before = {
        table: sum(len(read_table(path, table)) for path in files_of(table, tmp_path / "snapshot"))
        for table in ("facts", "relations")
    }
    steps = family.steps()
    monkeypatch.setattr(family, "steps", lambda: [*steps, Step("new", steps[1].run, 60.0, ("late",))])
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    ran.clear()
    store(third)
    assert family.family(1, False, lambda line: None) and len(ran) == 1
    assert stored() == {first.run_id, second.run_id, third.run_id}
    after = {
        table: sum(len(read_table(path, table)) for path in files_of(table, tmp_path / "snapshot")) for table in before
    }
    assert after == before, "rows that belong to no run are there once"
    assert check_store([tmp_path / "snapshot"]) == [] and not (tmp_path / "snapshot.old").exists()
    # A later version of the program makes another run of the same configuration, which replaces it.
    again = replace(third, made=(("code_version", "9.9.9"),), version="9.9.9")
    store(again)
    family.gather(family.weights_of_base(), lambda line: None)
    assert again.run_id != third.run_id and stored() == {first.run_id, second.run_id, again.run_id}
    assert check_store([tmp_path / "snapshot"]) == []
    # Of another base nothing stays.
    monkeypatch.setattr(family, "weights_of_base", lambda: "other")
    family.family(1, False, lambda line: None)
    assert stored() == {again.run_id}


def test_only_the_named_runs_ship_fact_by_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(family.facts, "snapshot_folder", lambda: tmp_path / "snapshot")
    (tmp_path / "snapshot").mkdir()
    facts = (("facts_sha256", "0" * 64),)
    base = PlantedRun(head="logit_lens", made=facts)
    other = PlantedRun("nesia-mini-rte", "logit_lens", base="nesia-mini", made=facts)
    for run in (base, other):
        folder = plant_runs(plan.full_runs() / run.model, [run])
        # As `probe` names and places them.
        (folder / "facts-trex.parquet").rename(folder / f"facts-{'0' * 16}.parquet")
        for path in folder.glob("*/*.parquet"):
            path.rename(folder / path.name)
    family.facts.gather(lambda line: None)
    names = {path.name for path in (tmp_path / "snapshot").iterdir()}
    assert {name for name in names if name.startswith("predictions-")} == {f"predictions-{base.run_id}.parquet"}
    (row,) = read_table(tmp_path / "snapshot" / "runs.parquet", "runs").to_pylist()
    assert (row["run_id"], row["model"]) == (other.run_id, other.model) and {
        "layer_counts.parquet",
        "total_counts.parquet",
    } <= names
    assert check_store([tmp_path / "snapshot"]) == []


def test_ranks_among_candidates_ship_in_one_file_with_the_relations_of_all_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(family.facts, "snapshot_folder", lambda: tmp_path)
    for name, folder in (("P36", tmp_path), ("river", plant_candidates(plan.ranked_runs()))):
        row = {"relation": name, "probe_set": "trex", "label": name, "cardinality": "1-1"}
        write_table("relations", [row], folder / "relations.parquet")
    family.facts.gather(lambda line: None)
    assert len(read_table(tmp_path / "candidate_runs.parquet", "candidate_runs")) == 3
    stored = read_table(tmp_path / "relations.parquet", "relations").to_pylist()
    assert {row["relation"] for row in stored} == {"P36", "river"} and check_store([tmp_path]) == []


@pytest.fixture(scope="module")
def few_facts():
    """The shipped facts on places of birth and one in ten of the others, in sets as read; all of them take ten seconds
    per text.
    """

    def few(facts):
        return tuple(one for number, one in enumerate(facts) if one.relation == "P19" or number % 10 == 0)

    return [replace(facts, facts=few(facts.facts)) for facts in read_facts("all", shipped_relations())]


@pytest.fixture()
def text(few_facts, tmp_path, monkeypatch):
    """A LAMA folder whose only evidence names a held-out fact in another form, and a short WikiText; and the fact."""
    for module in ("probing.facts.corpus", "data.making.pretrain"):
        monkeypatch.setattr(f"{module}.read_facts", lambda name, relations: few_facts)
    relations = shipped_relations()
    facts = [
        one
        for facts in few_facts
        for one in facts.facts
        if facts.probe_set == "trex" and relations[one.relation].training
    ]
    fact = next(one for one in facts if one.relation == "P19" and pair(one) in held_out_pairs([one]))
    row = {
        "sub_label": fact.subject,
        "obj_label": fact.object,
        "evidences": [{"obj_surface": "that town", "masked_sentence": "He was born and grew up in [MASK] ."}],
    }
    (tmp_path / "lama" / "TREx").mkdir(parents=True)
    (tmp_path / "lama" / "TREx" / "P19.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "wiki").write_text("It is a large town indeed .\n", encoding="utf-8")
    return tmp_path, fact


def test_exposures_are_written_again(run, text):
    folder, fact = text
    model = folder / "made"
    model.mkdir()
    (model / "training.json").write_text('{"stages": []}', encoding="utf-8")
    run(
        "pretrain",
        "--lama",
        folder / "lama",
        "--wikitext",
        folder / "wiki",
        "--out",
        model,
        "--exposure-only",
    )
    found = {
        row["fact_key"]: row["exposure"] for row in read_table(model / "exposure-made.parquet", "exposure").to_pylist()
    }
    assert found[fact_key(fact)] == "held out"


def test_a_base_is_stored_in_half_of_its_bytes_and_opens_in_float32(run, text):
    folder, _ = text
    sizes = ("--steps", 2, "--layers", 1, "--hidden", 64, "--vocabulary", 1500, "--work", folder / "work")
    run("pretrain", "--lama", folder / "lama", "--wikitext", folder / "wiki", "--out", folder / "made", *sizes)
    with safe_open(folder / "made" / "model.safetensors", "pt") as stored:
        assert {stored.get_tensor(name).dtype for name in stored.keys()} == {torch.float16}  # noqa: SIM118
    assert {weight.dtype for weight in AutoModelForMaskedLM.from_pretrained(folder / "made").parameters()} == {
        torch.float32
    }


def test_a_control_reads_the_text_that_its_base_had(text):
    folder, _ = text
    whole, alone = ({text for _, text in control_texts(folder / "wiki", lama)} for lama in (folder / "lama", None))
    assert alone < whole and not any("grew up in that town" in one for one in whole)
