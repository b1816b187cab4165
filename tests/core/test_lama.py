"""LAMA's own files, whole and in small."""

import json

import pytest

from probing.core.errors import FactsError
from probing.core.facts.fact import DUPLICATE, JUDGED_WRONG, NOT_ONE_MASK
from probing.core.facts.lama import json_lines, known_probe_sets, read_lama

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


def test_a_template_set_nobody_has_is_an_error(tmp_path, lines, ours):
    lines("TREx/P19.jsonl", [ROCKY])
    with pytest.raises(FactsError, match=r"P19 has no template in set 'baroque'.*default"):
        read_lama(tmp_path, ours, "baroque")


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


def test_several_sentences_are_one_text_with_exactly_one_mask_or_left_out(tmp_path, lines, ours):
    rows = [
        {"masked_sentences": ["It rained.", "The ground is [MASK]."], "obj_label": "wet"},
        {"masked_sentences": ["The sky is [MASK].", "So is the [MASK]."], "obj_label": "blue"},
        {"masked_sentences": [], "obj_label": "nothing"},
    ]
    lines("Squad/test.jsonl", rows)
    (found,) = read_lama(tmp_path, ours)
    assert [f.prompt for f in found.facts] == ["It rained. The ground is [MASK]."]
    assert (found.n_read, found.left_out) == (3, {NOT_ONE_MASK: 2})


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
def test_a_malformed_line_is_named(tmp_path, ours, name, line, message):
    path = tmp_path / name
    path.parent.mkdir()
    # The empty first line shows that lines are counted as an editor counts them.
    path.write_text("\n" + line + "\n", encoding="utf-8")
    with pytest.raises(FactsError, match=message):
        read_lama(tmp_path, ours)


def test_a_file_that_is_no_utf8_is_an_error(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(FactsError, match="expected UTF-8"):
        list(json_lines(tmp_path / "x.jsonl"))


def test_a_line_separator_inside_a_label_does_not_end_the_line(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"a": "one\u2028two"}, ensure_ascii=False) + "\r\n", encoding="utf-8")
    assert list(json_lines(tmp_path / "x.jsonl")) == [(1, {"a": "one\u2028two"})]


def test_a_folder_without_any_part_is_an_error(tmp_path, ours):
    with pytest.raises(FactsError, match="none of LAMA's parts; expected one of TREx, Google_RE, ConceptNet, Squad"):
        read_lama(tmp_path, ours)
    with pytest.raises(FactsError, match="no folder"):
        read_lama(tmp_path / "absent", ours)


def test_lama_has_four_probe_sets():
    assert known_probe_sets() == ["trex", "google_re", "conceptnet", "squad"]


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
