"""The commands that made nesia-mini and that print what it knows."""

import json
from dataclasses import replace

import pytest

from probing.core.errors import ModelError
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.nesia.control_text import control_texts
from probing.core.nesia.corpus import fact_key, held_out_pairs, pair
from probing.store.parquet import read_table


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
    for module in ("probing.core.nesia.control_text", "data.making.pretrain"):
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
        "--stage",
        "stated",
        "--exposure-only",
    )
    found = {
        row["fact_key"]: row["exposure"] for row in read_table(model / "exposure-made.parquet", "exposure").to_pylist()
    }
    assert found[fact_key(fact)] == "held out"


def test_exposures_of_a_folder_without_a_record_of_training_are_refused(run, text):
    folder, _ = text
    with pytest.raises(ModelError, match=r"training\.json is missing"):
        run("pretrain", "--lama", folder / "lama", "--wikitext", folder / "wiki", "--out", folder, "--exposure-only")


def test_a_control_reads_the_text_that_its_base_had(text):
    folder, _ = text
    whole, alone = ({text for _, text in control_texts(folder / "wiki", lama)} for lama in (folder / "lama", None))
    assert alone < whole and not any("grew up in that town" in one for one in whole)
