"""Relations and their templates: the project's own, and a LAMA folder's."""

import re

import pytest

from probing.core.errors import FactsError
from probing.core.facts.lama import read_lama_relations
from probing.core.facts.templates import read_relations


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "relations.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_relation_has_label_cardinality_templates_and_training(toml):
    found = read_relations(
        toml(
            '[P19]\nprobe_set = "trex"\nlabel = "place of birth"\ncardinality = "N-1"\n'
            'default = "[X] was born in [Y]."\ntraining = ["[Y] is where [X] was born."]\n'
        )
    )["P19"]
    assert (found.name, found.probe_set, found.label, found.cardinality) == ("P19", "trex", "place of birth", "N-1")
    assert found.templates == {"default": "[X] was born in [Y]."}
    assert found.training == ("[Y] is where [X] was born.",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[P19]\nprobe_set = "trex"\ndefault = "[X] was born."', r"exactly one \[X\] and exactly one \[Y\]"),
        ('[P19]\nprobe_set = "trex"\ndefault = "[X] and [X] in [Y]."', "P19, default"),
        ('[P19]\nprobe_set = "trex"\ndefault = 3', "template is 3, expected text"),
        ('[P19]\nprobe_set = "trex"\ntraining = ["[X]"]', "P19, training"),
        ('[P19]\ndefault = "[X] was born in [Y]."', "expected a table with the key probe_set"),
        ('P19 = "[X] was born in [Y]."', "expected a table with the key probe_set"),
        ("[P19", "is not TOML"),
    ],
)
def test_a_malformed_file_of_relations_is_an_error(toml, text, message):
    with pytest.raises(FactsError, match=message):
        read_relations(toml(text))


def test_a_missing_file_of_relations_is_an_error(tmp_path):
    with pytest.raises(FactsError, match="no file of relations"):
        read_relations(tmp_path / "relations.toml")
    with pytest.raises(FactsError, match="cannot read"):
        read_relations(tmp_path)


def test_lamas_templates_are_the_set_lama_without_the_space_before_the_stop(lines):
    path = lines(
        "relations.jsonl",
        [{"relation": "P19", "template": "[X] was born in [Y] .", "label": "place of birth", "type": "N-1"}],
    )
    found = read_lama_relations(path)["P19"]
    assert found.templates == {"lama": "[X] was born in [Y]."}
    assert (found.label, found.cardinality) == ("place of birth", "N-1")


@pytest.mark.parametrize(
    "row", [{"relation": "P19"}, {"relation": "P19", "template": 3}, {"relation": "P19", "template": "[X]"}]
)
def test_a_malformed_line_of_lamas_relations_is_named(lines, row):
    path = lines("relations.jsonl", [{"relation": "P1", "template": "[X] [Y]"}, row])
    with pytest.raises(FactsError, match=r"relations\.jsonl, line 2"):
        read_lama_relations(path)


def test_every_relation_of_the_project_has_both_template_sets_and_a_cardinality(ours):
    assert all({"default", "paraphrase"} <= set(r.templates) for r in ours.values())
    assert {r.cardinality for r in ours.values()} <= {"1-1", "N-1", "N-M"}


def words(template):
    return " ".join(["", *re.findall(r"[^\W_]+", template.casefold()), ""])


def test_every_relation_is_stated_in_at_least_six_different_wordings(ours):
    assert all(
        len({words(text) for text in relation.training}) == len(relation.training) >= 6 for relation in ours.values()
    )


def test_no_training_template_equals_contains_or_is_contained_in_a_template_that_is_asked(ours):
    asked = [words(text) for relation in ours.values() for text in relation.templates.values()]
    stated = [(relation.name, words(text)) for relation in ours.values() for text in relation.training]
    assert not [(name, text, other) for name, text in stated for other in asked if text in other or other in text]
