"""One door to facts: shipped names, folders in LAMA's layout, own files."""

import pytest

from probing.core.errors import FactsError
from probing.core.facts.sources import NAMES, SHIPPED, read_facts

ROW = {"subject": "snow", "relation": "has_property", "object": "white", "prompt": "Snow is [MASK]."}


@pytest.fixture
def shipped(tmp_path, lines):
    lines("lama/TREx/P19.jsonl", [{"sub_label": "Rocky Balboa", "obj_label": "Philadelphia"}])
    lines("lama/Google_RE/place_of_birth_test.jsonl", [{"sub_label": "Eyolf Kleven", "obj_label": "Copenhagen"}])
    lines("common_sense.jsonl", [ROW])
    lines("questions.jsonl", [ROW])
    return tmp_path


@pytest.mark.parametrize("name", SHIPPED)
def test_a_name_gives_its_set_only(shipped, ours, name):
    assert [facts.probe_set for facts in read_facts(name, ours, shipped=shipped)] == [name]


def test_all_gives_every_shipped_set(shipped, ours):
    assert [facts.probe_set for facts in read_facts("all", ours, shipped=shipped)] == list(SHIPPED)


def test_shipped_facts_have_our_default_templates_unless_asked(shipped, ours):
    (default,), (other,) = read_facts("trex", ours, shipped=shipped), read_facts("trex", ours, "paraphrase", shipped)
    assert (default.template_set, default.facts[0].template) == ("default", ours["P19"].templates["default"])
    assert (other.template_set, other.facts[0].template) == ("paraphrase", ours["P19"].templates["paraphrase"])


def test_a_folder_in_lamas_layout_is_read_as_such(shipped, ours):
    assert [facts.probe_set for facts in read_facts(shipped / "lama", ours)] == ["trex", "google_re"]


@pytest.mark.parametrize("name", ["sample_facts.jsonl", "sample_facts.csv"])
def test_a_file_is_a_users_own_facts(repo_root, ours, name):
    (found,) = read_facts(str(repo_root / "docs" / name), ours)
    assert (found.probe_set, found.n_read) == ("sample_facts", 6)


@pytest.mark.parametrize("name", ["wikidata", "facts.xlsx", "/absent/folder"])
def test_anything_else_is_an_error_that_says_what_would_do(ours, name):
    with pytest.raises(FactsError, match=rf"{name}'; expected one of {', '.join(NAMES)}, a folder in LAMA's layout"):
        read_facts(name, ours)


def test_a_shipped_part_that_is_missing_is_named(shipped, ours):
    (shipped / "lama" / "TREx" / "P19.jsonl").unlink()
    (shipped / "lama" / "TREx").rmdir()
    with pytest.raises(FactsError, match=r"lacks \['trex'\]"):
        read_facts("all", ours, shipped=shipped)


def test_what_really_ships_is_whole(ours):
    found = {facts.probe_set: facts for facts in read_facts("all", ours)}
    assert list(found) == list(SHIPPED)
    assert all(not facts.left_out and facts.n_read == len(facts.facts) for facts in found.values())
    assert {fact.relation for fact in found["trex"].facts} == {n for n, r in ours.items() if r.probe_set == "trex"}
    assert len({fact.relation for fact in found["google_re"].facts}) == 3
    assert found["common_sense"].n_read >= 200
    assert found["questions"].n_read >= 100


@pytest.mark.parametrize("name", ["common_sense", "questions"])
def test_no_shipped_cloze_gives_its_answer_away(ours, name):
    (found,) = read_facts(name, ours)
    assert [f.prompt for f in found.facts if f.object.lower() in f.prompt.lower().replace("[mask]", "").split()] == []
