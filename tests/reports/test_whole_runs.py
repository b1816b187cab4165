"""Which of several runs of one model reports use; only measurements on the same text are compared."""

import json

import pandas as pd
import pytest

from probing.core.provenance import canonical_json, fingerprint_of
from probing.core.sentences.example import OWN, POOLINGS, READINGS
from probing.reports.changes.measures import values
from probing.reports.changes.perplexity import perplexities
from probing.reports.fine_tuning.evidence import ENTROPY, evidence
from probing.reports.sentences.accuracy import accuracies
from probing.reports.sentences.property_places import where_gone
from probing.reports.whole_runs import whole_runs
from probing.store.opening import open_database
from tests.changes_planted import change_config, plant_changes
from tests.planted_relatives import BASE, COLA, CONTROL
from tests.sentences_planted import BIGRAM, PlantedSentenceRun, plant_sentence_runs

LATER = "2027-01-01T00:00:00Z"


def test_the_newest_run_counts_unless_an_older_one_has_all_that_it_has_and_more():
    runs = pd.DataFrame({"model": ["a", "a", "a", "b", "b"], "run": [5, 4, 3, 2, 1]})
    has = [frozenset(one) for one in ("xy", "xz", "xyz", "x", "y")]
    assert whole_runs(runs, ["model"], has)["run"].tolist() == [3, 2]
    assert whole_runs(runs.iloc[:0], ["model"], []).empty


class Described(PlantedSentenceRun):
    """A run that says which probes it has."""

    readings = READINGS

    @property
    def config(self) -> str:
        more = {"poolings": list(POOLINGS), "readings": list(self.readings), "portions": [1, 4, 16]}
        return canonical_json(json.loads(super().config) | more)


class OwnOnly(Described):
    readings = (OWN,)


def test_a_later_run_with_fewer_readings_does_not_hide_the_fates(tmp_path):
    few = OwnOnly(COLA, BIGRAM)

    def only_own(table, rows):
        mine = [one for one in rows if one.get("run_id") == few.run_id]
        if not mine:
            return rows
        if table == "sentence_runs":
            return [one | {"created": LATER} for one in rows]
        return [one for one in rows if one["reading"] == OWN]

    plant_sentence_runs(tmp_path / "runs", [Described(BASE, BIGRAM), Described(COLA, BIGRAM), few], only_own)
    with open_database(tmp_path / "runs") as db:
        assert (where_gone(db)["fate"] != "").any()
        assert set(accuracies(db, [COLA.name], readings=None)["reading"]) == set(READINGS)


def again(run_id: str, **changed):
    """What plants a model's rows as another, later run with another configuration."""

    def change(table, rows):
        found = []
        for one in rows:
            if table == "change_runs":
                config = canonical_json(json.loads(one["config"]) | changed)
                one = one | {"config": config, "created": LATER}
            found.append(one | ({"run_id": run_id} if "run_id" in one else {}))
        return found

    return change


def test_a_later_run_without_perplexity_does_not_hide_it(tmp_path):
    plant_changes(tmp_path / "runs", [BASE, COLA])
    less = {"blocks_sha256": "", "blocks": 0}
    config = json.loads(change_config(COLA)) | less
    run_id = fingerprint_of(canonical_json(config))

    def change(table, rows):
        if table in ("perplexity", "epoch_perplexity", "weight_drift"):
            return []
        return [one | ({"blocks": 0} if table == "change_runs" else {}) for one in again(run_id, **less)(table, rows)]

    plant_changes(tmp_path / "runs" / "later", [COLA], change)
    with open_database(tmp_path / "runs") as db:
        assert len(perplexities(db, [COLA.name]))


@pytest.fixture
def other_text(tmp_path):
    """A base and a control, and a fine-tuned model that was measured on sentences of its own."""
    plant_changes(tmp_path / "runs", [BASE, CONTROL])
    config = json.loads(change_config(COLA)) | {"sentences_sha256": "mine", "blocks_sha256": "mine"}
    change = again(fingerprint_of(canonical_json(config)), sentences_sha256="mine", blocks_sha256="mine")
    plant_changes(tmp_path / "runs" / "own", [COLA], change)
    with open_database(tmp_path / "runs") as db:
        yield db


def test_values_of_other_sentences_are_not_compared_with_a_models(other_text):
    found = values(other_text, [COLA.name])
    assert (
        len(found) and found[["base_value", "control_value"]].isna().all().all() and not found["inside_control"].any()
    )
    assert perplexities(other_text, [COLA.name])["control_log_change"].isna().all()


def test_without_the_bases_entropy_no_change_of_it_is_claimed(other_text):
    found = evidence(other_text, COLA.name, None, "ours")
    rows = found[found["panel"] == ENTROPY]
    assert len(rows) and rows["change"].isna().all() and rows["value"].notna().all()
