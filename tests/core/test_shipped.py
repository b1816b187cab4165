import json

import pytest

from data.making.triples import read_triples, write_shipped_triples
from probing.core.errors import FactsError
from probing.core.facts.lama import read_lama
from probing.core.facts.templates import Relation, shipped_relations
from probing.core.paths import FACTS_FOLDER

OURS = {
    "P36": Relation("P36", "trex", "capital", "1-1", {"default": "The capital of [X] is [Y]."}),
    "place_of_birth": Relation("place_of_birth", "google_re", "birth", "N-1", {"default": "[X] was born in [Y]."}),
}


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def labels(subject, answer, **more):
    return {"sub_label": subject, "obj_label": answer, **more}


@pytest.fixture()
def lama(tmp_path):
    folder = tmp_path / "lama"
    evidence = [{"masked_sentence": "a sentence that may not be shipped [MASK]", "obj_surface": "Paris"}]
    write(folder / "TREx" / "P36.jsonl", labels(" France ", "Paris", evidences=evidence), labels("France", "Paris"))
    wrong = {"judgments": [{"judgment": "no"}, {"judgment": "no"}, {"judgment": "yes"}]}
    write(folder / "Google_RE" / "place_of_birth_test.jsonl", labels("Ann", "Rome"), labels("Ben", "Rome", **wrong))
    return folder


def test_only_labels_are_written_each_triple_once_and_none_judged_wrong(lama, tmp_path):
    assert write_shipped_triples(lama, None, OURS, tmp_path / "out") == {"P36": 1, "place_of_birth": 1}
    written = "".join(path.read_text() for path in sorted((tmp_path / "out").rglob("*.jsonl")))
    rows = [json.loads(line) for line in written.splitlines()]
    assert rows == [labels("Ann", "Rome"), labels("France", "Paris")]


def test_further_triples_fill_what_lama_lacks_and_other_relations_stay_out(lama, tmp_path):
    more = tmp_path / "more"
    write(more / "P36.jsonl", labels("France", "Paris"), labels("Italy", "Rome"))
    write(more / "P9999.jsonl", labels("x", "y"))
    assert write_shipped_triples(lama, more, OURS, tmp_path / "out") == {"P36": 2, "place_of_birth": 1}
    assert read_triples(tmp_path / "out" / "TREx") == {"P36": [("France", "Paris"), ("Italy", "Rome")]}


def test_what_was_written_is_read_as_lama(lama, tmp_path):
    write_shipped_triples(lama, None, OURS, tmp_path / "out")
    read = {facts.probe_set: [fact.prompt for fact in facts.facts] for facts in read_lama(tmp_path / "out", OURS)}
    assert read == {"trex": ["The capital of France is [MASK]."], "google_re": ["Ann was born in [MASK]."]}


def test_a_triple_without_labels_is_named_by_file_and_line(tmp_path):
    write(tmp_path / "P36.jsonl", labels("France", "Paris"), {"sub_label": "Italy"})
    with pytest.raises(FactsError, match=r"P36\.jsonl, line 2: 'obj_label'"):
        read_triples(tmp_path)


def test_the_shipped_triples_are_labels_only_of_our_relations():
    relations = shipped_relations()
    paths = sorted((FACTS_FOLDER / "lama").rglob("*.jsonl"))
    assert len(paths) >= 40
    for path in paths:
        assert path.stem.removesuffix("_test") in relations
        first = json.loads(path.read_text(encoding="utf-8").split("\n", 1)[0])
        assert set(first) == {"sub_label", "obj_label"}
