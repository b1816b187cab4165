"""LAMA's own files, whole and in small, and what of them ships."""

import gzip
import json

import pytest

from data.making.triples import read_triples, write_shipped_triples
from probing.facts.lama import folder_relations, json_lines, read_lama
from probing.kernel.errors import FactsError
from probing.kernel.fact import DUPLICATE, JUDGED_WRONG, NOT_ONE_MASK, Relation, shipped_relations
from probing.kernel.files import FACTS_FOLDER

BORN = {"relation": "P19", "template": "[X] was born in [Y] .", "label": "place of birth", "type": "N-1"}
ROCKY = {"sub_label": "Rocky Balboa", "obj_label": "Philadelphia"}


@pytest.fixture(scope="module")
def whole(shared_data, ours):
    """LAMA's own files, read once: probe set -> facts."""
    return {facts.probe_set: facts for facts in read_lama(shared_data / "lama", ours)}


def test_trex_takes_the_folders_own_templates(tmp_path, lines, ours):
    lines("relations.jsonl", [BORN])
    lines("TREx/P19.jsonl", [ROCKY])
    (found,) = read_lama(tmp_path, ours)
    assert found.template_set == "lama"
    assert [f.prompt for f in found.facts] == ["Rocky Balboa was born in [MASK]."]


def test_trex_takes_our_templates_where_the_folder_has_none_or_we_ask_for_them(tmp_path, lines, ours):
    lines("TREx/P19.jsonl", [ROCKY])
    assert read_lama(tmp_path, ours)[0].template_set == "default"
    lines("relations.jsonl", [BORN])
    (found,) = read_lama(tmp_path, ours, "paraphrase")
    assert found.facts[0].template == ours["P19"].templates["paraphrase"]


@pytest.mark.parametrize(
    "named", ["TREx", "T-REx", "trex", "T_REX", "TREx/high_ranked", "data/TREx", "lama/data/TREx/a/b"]
)
@pytest.mark.parametrize("file", ["P19.jsonl", "P19.json", "P19.jsonl.gz"])
def test_a_part_is_found_in_any_case_and_nesting_and_templates_beside_it(named, file, tmp_path, ours):
    path, above = tmp_path / named / file, tmp_path / named.lower().replace("-", "").replace("_", "").split("trex")[0]
    path.parent.mkdir(parents=True)
    text = "\ufeff" + json.dumps({"sub_label": "Rocky\x07 Balboa", "obj_label": "Philadelphia"}) + "\r\n"
    path.write_bytes(gzip.compress(text.encode()) if file.endswith("gz") else text.encode())
    (above / "relations.jsonl").write_text("\ufeff" + json.dumps(BORN))
    (found,) = read_lama(tmp_path, ours)
    assert (found.template_set, [fact.prompt for fact in found.facts]) == (
        "lama",
        ["Rocky  Balboa was born in [MASK]."],
    )
    assert set(folder_relations(tmp_path)) == {"P19"}


def test_files_called_as_parts_take_the_name_of_their_folder(tmp_path, lines, ours):
    lines("relations.jsonl", [BORN, {"relation": "P20", "template": "[X] died in [Y] ."}])
    rows = {f"TREx/P{n}/{part}.jsonl": f"{part}{n}" for n in (19, 20) for part in ("train", "dev", "test")}
    for name, subject in rows.items():
        lines(name, [{**ROCKY, "sub_label": subject}])
    (found,) = read_lama(tmp_path, ours)
    assert {fact.subject: fact.relation for fact in found.facts} == {s: f"P{s[-2:]}" for s in rows.values()}
    assert "dev20 died in [MASK]." in {fact.prompt for fact in found.facts}


def test_a_relation_in_two_folders_is_refused_with_both(tmp_path, lines, ours):
    for language in ("de", "en"):
        lines(f"TREx/{language}/P19.jsonl", [ROCKY])
    lines("TREx/de/P20.jsonl", [ROCKY])
    with pytest.raises(FactsError, match=r"relation P19 in several folders \(TREx/de, TREx/en\).*take the other"):
        read_lama(tmp_path, ours)


def test_several_right_answers_of_a_row_are_facts_with_one_prompt(tmp_path, lines, ours):
    lines("TREx/P19.jsonl", [{**ROCKY, "obj_label": ["Philadelphia", "Philly"]}, {**ROCKY, "obj_label": [3]}])
    (found,) = read_lama(tmp_path, ours)
    assert [fact.object for fact in found.facts] == ["Philadelphia", "Philly"] and found.left_out == {"malformed": 1}
    assert len({fact.prompt for fact in found.facts}) == 1


def test_a_folder_of_tables_is_told_to_be_named_file_by_file(tmp_path, lines, ours):
    lines("data/train-00000.csv", [])
    with pytest.raises(FactsError, match=r"none of LAMA's parts; got data/train-00000\.csv; .* name one file"):
        read_lama(tmp_path, ours)


def test_published_names_of_parts_are_read_and_all_else_is_named(tmp_path, lines, ours):
    row = {"masked_sentences": ["He was a [MASK]."], "obj_label": "poet"}
    lines("SQUAD/test.jsonl", [row])
    lines("Concept_Net/test.jsonl", [row])
    lines("GoogleRE/place_of_birth_test.jsonl", [ROCKY])
    for name in (
        "Wikidata/P1.jsonl",
        "SQUAD/notes.txt",
        "SQUAD/test.json",
        "SQUAD/._test.jsonl",
        "GoogleRE/date_of_birth_test.jsonl",
        "a.txt",
    ):
        lines(name, [])
    found = read_lama(tmp_path, ours)
    assert {one.probe_set: len(one.facts) for one in found} == {"google_re": 1, "conceptnet": 1, "squad": 1}
    named = "SQUAD/notes.txt; SQUAD/test.json; Wikidata; a.txt; GoogleRE/date_of_birth_test.jsonl (empty)"
    assert found[0].said == f"files, folders or template sets not read: 5 ({named})"


def test_a_folder_beside_the_parts_is_named(tmp_path, lines, ours):
    lines("TREx/P19.jsonl", [])
    with pytest.raises(FactsError, match=r"no fact in them; expected \.jsonl files that are not empty"):
        read_lama(tmp_path, ours)
    with pytest.raises(
        FactsError, match=rf"TREx is one part of LAMA; expected the folder that has the parts, {tmp_path}"
    ):
        read_lama(tmp_path / "TREx", ours)
    (tmp_path / "a" / "Squad").mkdir(parents=True)
    (tmp_path / "b" / "squad").mkdir(parents=True)
    (tmp_path / "TREx" / "P19.jsonl").unlink()
    (tmp_path / "TREx").rmdir()
    with pytest.raises(FactsError, match=rf"parts in several folders; expected one of {tmp_path}/a, {tmp_path}/b"):
        read_lama(tmp_path, ours)


def test_further_templates_of_a_relation_are_further_template_sets(tmp_path, lines, ours):
    second = {"relation": "P19", "template": "[X] is from [Y] ."}
    lines("relations.jsonl", [BORN, BORN, second, {"relation": "P20", "template": "[X] died in [Y]"}])
    lines("TREx/P19.jsonl", [ROCKY])
    lines("TREx/P20.jsonl", [ROCKY])

    def asked(template_set):
        (found,) = read_lama(tmp_path, ours, template_set)
        return found.template_set, [fact.prompt for fact in found.facts], found.said.partition("not read: ")[2]

    born = ["Rocky Balboa was born in [MASK].", "Rocky Balboa died in [MASK]"]
    assert asked(None) == ("lama", born, "1 (the templates lama-2 of relations.jsonl)")
    assert asked("lama-2") == ("lama-2", ["Rocky Balboa is from [MASK]."], "1 (TREx/P20.jsonl)")
    with pytest.raises(FactsError, match="no template in the set lama-3 for the relations P19, P20"):
        asked("lama-3")


def test_labels_lose_their_outer_spaces_before_duplicates_are_found(tmp_path, lines, ours):
    lines("TREx/P19.jsonl", [ROCKY, {"sub_label": " Rocky Balboa", "obj_label": "Philadelphia "}])
    (found,) = read_lama(tmp_path, ours)
    assert (len(found.facts), found.left_out, found.n_read) == (1, {DUPLICATE: 1}, 2)


def test_google_re_leaves_out_what_more_judges_deny_than_affirm(tmp_path, lines, ours):
    def judged(subject, *votes):
        return {"sub_label": subject, "obj_label": "Oslo", "judgments": [{"judgment": vote} for vote in votes]}

    lines(
        "Google_RE/place_of_birth_test.jsonl",
        [judged("A", "yes", "no", "no"), judged("B", "yes", "no"), judged("C"), judged("D", "no"), judged("E", "skip")],
    )
    (found,) = read_lama(tmp_path, ours)
    assert [f.subject for f in found.facts] == ["B", "C", "E"]
    assert (found.n_read, found.left_out) == (5, {JUDGED_WRONG: 2})
    assert {f.relation for f in found.facts} == {"place_of_birth"}


def test_conceptnets_predicate_is_a_column_and_no_relation(tmp_path, lines, ours):
    rows = [
        {"masked_sentences": ["Rocks are [MASK]."], "obj_label": "solid", "sub": "rock", "pred": "HasProperty"},
        {"masked_sentences": ["Birds can [MASK]."], "obj_label": "fly", "sub": "bird", "pred": "CapableOf"},
    ]
    lines("ConceptNet/test.jsonl", rows)
    (found,) = read_lama(tmp_path, ours)
    assert {f.relation for f in found.facts} == {"conceptnet"}
    assert [(f.subject, f.pred) for f in found.facts] == [("rock", "HasProperty"), ("bird", "CapableOf")]


def test_squads_facts_have_no_subject_and_their_prompt_is_their_template(tmp_path, lines, ours):
    lines("Squad/test.jsonl", [{"masked_sentences": ["He was a [MASK]."], "obj_label": "poet", "sub_label": "Squad"}])
    (found,) = read_lama(tmp_path, ours)
    assert (found.facts[0].subject, found.facts[0].template) == ("", "He was a [MASK].")


def test_several_sentences_are_one_text_or_several_wordings(tmp_path, lines, ours):
    rows = [
        {"masked_sentences": ["It rained.", "The ground is [MASK]."], "obj_label": "wet"},
        {"masked_sentences": ["The sky is [MASK].", "So is the [MASK]."], "obj_label": "blue"},
        {"masked_sentences": [], "obj_label": "nothing"},
    ]
    lines("Squad/test.jsonl", rows)
    (found,) = read_lama(tmp_path, ours)
    assert [f.prompt for f in found.facts] == [
        "It rained. The ground is [MASK].",
        "The sky is [MASK].",
        "So is the [MASK].",
    ]
    assert (found.n_read, found.left_out) == (4, {NOT_ONE_MASK: 1})
    assert {f.object for f in found.facts[1:]} == {"blue"}


def test_a_fact_that_several_rows_word_is_read_once_by_its_first_and_by_each_further_wording(tmp_path, lines, ours):
    def row(*sentences):
        return {"masked_sentences": list(sentences), "obj_label": "solid", "sub": "rock"}

    lines(
        "ConceptNet/test.jsonl",
        [row("A rock is [MASK].", "Rocks are [MASK]."), row("[MASK] as a rock."), row("Stone is [MASK].")],
    )
    (found,) = read_lama(tmp_path, ours)
    assert [f.prompt for f in found.facts] == ["A rock is [MASK].", "Rocks are [MASK]."]
    assert (found.n_read, found.left_out) == (4, {DUPLICATE: 2})


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("TREx/P19.jsonl", "{", "line 2: not JSON"),
        ("TREx/P19.jsonl", "[1]", "line 2: got list, expected a JSON object"),
        ("TREx/P19.jsonl", '{"sub_label": "A"}', "line 2: 'obj_label' is None, expected text"),
        ("TREx/P19.jsonl", '{"sub_label": " ", "obj_label": "B"}', "line 2: 'sub_label' is ' '"),
        ("Google_RE/place_of_birth_test.jsonl", '{"sub_label": "A", "obj_label": 1941}', "line 2: 'obj_label' is 1941"),
        ("Google_RE/place_of_birth_test.jsonl", '{"judgments": "yes"}', "line 2: judgments is 'yes'"),
        ("Squad/test.jsonl", '{"masked_sentences": "[MASK]"}', "line 2: masked_sentences is"),
    ],
)
def test_a_malformed_line_is_left_out_counted_and_named_and_the_file_only_if_it_has_no_other(
    tmp_path, ours, name, line, message
):
    path = tmp_path / name
    path.parent.mkdir()
    # The empty first line shows that lines are counted as an editor counts them.
    path.write_text("\n" + line + "\n", encoding="utf-8")
    with pytest.raises(FactsError, match=message):
        read_lama(tmp_path, ours)
    good = {**ROCKY, "masked_sentences": ["He is [MASK]."]}
    path.write_text(f"\n{line}\n{json.dumps(good)}\n", encoding="utf-8")
    (found,) = read_lama(tmp_path, ours)
    assert (found.n_read, len(found.facts), found.left_out) == (2, 1, {"malformed": 1})
    assert f"malformed rows left out: 1 ({path.name}, {message}" in found.said


def test_a_file_that_is_no_utf8_is_an_error(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(FactsError, match="line 1: is not UTF-8 text"):
        list(json_lines(tmp_path / "x.jsonl"))


def test_a_line_separator_inside_a_label_does_not_end_the_line(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"a": "one\u2028two"}, ensure_ascii=False) + "\r\n", encoding="utf-8")
    assert list(json_lines(tmp_path / "x.jsonl")) == [(1, {"a": "one\u2028two"})]


@pytest.mark.parametrize(
    ("probe_set", "n_read", "left_out"),
    [
        ("trex", 21800, {DUPLICATE: 14}),
        ("google_re", 5528, {DUPLICATE: 1}),
        ("squad", 305, {NOT_ONE_MASK: 3}),
    ],
)
def test_every_fact_of_lamas_files_is_kept_or_left_out(whole, probe_set, n_read, left_out):
    found = whole[probe_set]
    assert found.n_read == n_read == len(found.facts) + sum(found.left_out.values())
    assert found.left_out == left_out


def test_lamas_files_hold_as_many_lines_as_are_read(shared_data, whole):
    for folder, probe_set in (("TREx", "trex"), ("Google_RE", "google_re"), ("Squad", "squad")):
        paths = (shared_data / "lama" / folder).glob("*.jsonl")
        assert sum(path.read_bytes().count(b"\n") for path in paths) == whole[probe_set].n_read


def test_the_duplicates_of_trex_equal_a_count_in_plain_python(shared_data, whole):
    read = kept = 0
    for path in (shared_data / "lama" / "TREx").glob("*.jsonl"):
        rows = [json.loads(line) for line in path.open(encoding="utf-8")]
        read += len(rows)
        kept += len({(row["sub_label"].strip(), row["obj_label"].strip()) for row in rows})
    assert read - kept == whole["trex"].left_out[DUPLICATE]


def test_fact_ids_of_all_lama_facts_differ(whole):
    ids = [fact.fact_id for facts in whole.values() for fact in facts.facts]
    assert len(set(ids)) == len(ids)


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
