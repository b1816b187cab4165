"""A typed sentence that is stored, or has a stored template, with its relation's majority answer."""

import pytest

from probing.reports.knowledge.typed_sentence import asked
from probing.store.opening import open_database
from tests.store.planted import VARIANTS, plant_runs


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    """Four births, three of them in Paris, among other relations and sets without templates."""
    root = tmp_path_factory.mktemp("asked")
    with open_database(plant_runs(root / "snapshot", VARIANTS["several"])) as database:
        yield database


def test_a_stored_sentence_has_its_recorded_answer_and_its_relations_commonest(db):
    found = asked(db, "Rocky Balboa was born in [MASK] .")
    assert (found.probe_set, found.label, found.answers) == ("trex", "place of birth", ("philadelphia",))
    assert (found.majority, found.share, found.n) == ("paris", 3 / 4, 4)


def test_case_and_blanks_make_no_difference(db):
    assert asked(db, "  rocky  balboa was born\nin [MASK] .") == asked(db, "Rocky Balboa was born in [MASK] .")


def test_a_stored_template_with_another_subject_has_no_recorded_answer(db):
    found = asked(db, "Somebody else was born in [MASK] .")
    assert (found.answers, found.majority, found.n) == ((), "paris", 4)
    assert asked(db, "The capital of Spain is [MASK] .").label == "capital"


@pytest.mark.parametrize(
    "prompt", ["", "[MASK]", "[MASK] was born in [MASK] .", "He was not born in [MASK]!", " was born in [MASK] ."]
)
def test_any_other_sentence_is_not_stored(db, prompt):
    assert asked(db, prompt) is None


def test_a_sentence_of_a_set_without_templates_is_found_too(db):
    found = asked(db, "Fish swim in [MASK] .")
    assert (found.probe_set, found.answers, found.n) == ("common_sense", ("water",), 2)
