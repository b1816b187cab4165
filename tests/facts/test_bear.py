"""BEAR's folder, fetched: its answer spaces are the candidates, its templates the template sets."""

import json

import pytest

from probing.facts.sources import read_facts
from probing.kernel.errors import FactsError
from probing.kernel.fact import NO_CANDIDATE
from probing.kernel.store.parquet import read_table

TEMPLATES = ["The capital of [X] is [Y].", "[Y] is the capital of [X]."]
ANSWERS = {"P36": ("paris", "berlin", "new york city", "red green blue"), "P19": ("rome", "boston", "london")}
FACTS = {
    "P36": [("france", "paris"), ("germany", "berlin"), ("rocky", "new york city"), ("spain", "madrid")],
    "P19": [("rocky balboa", "boston")],
}


def write_bear(folder):
    """A small folder in BEAR's format."""
    metadata = {
        relation: {"templates": TEMPLATES, "answer_space_labels": texts, "answer_space_ids": [f"Q{t}" for t in texts]}
        for relation, texts in ANSWERS.items()
    }
    texts = {"metadata_relations.json": json.dumps(metadata)}
    for relation, facts in FACTS.items():
        more = {"sub_id": "Q1", "sub_aliases": [], "answer_idx": 0}
        rows = [more | {"sub_label": of, "obj_id": f"Q{answer}", "obj_label": answer} for of, answer in facts]
        texts[f"{relation}.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text)


@pytest.fixture
def fetched(run, cache, tmp_path, ours):
    """BEAR from a local clone of its repository; before, the error names the command that fetches it."""
    with pytest.raises(FactsError, match=r"not fetched yet.*python -m probing fetch bear$"):
        read_facts("bear", ours)
    write_bear(tmp_path / "clone" / "BEAR")
    run("fetch", "bear", "--from", tmp_path / "clone")
    return cache / "downloads" / "bear"


def test_the_candidates_of_a_fact_are_the_whole_answer_space(run, cache, fetched, folder_of):
    words = ("--model", folder_of("bert"), "--facts", "bear", "--head", "logit_lens", "--measure", "independent")
    assert f"read 5 = probed 4 + left out (1 {NO_CANDIDATE})" in run("probe", *words).output
    (path,) = (cache / "runs").glob("candidate_facts-*.parquet")
    rows = {row["subject"]: row for row in read_table(path, "candidate_facts").to_pylist()}
    assert set(rows) == {"france", "germany", "rocky", "rocky balboa"}
    assert all(row["candidates"] == len(ANSWERS[row["relation"]]) for row in rows.values())
    assert rows["rocky"]["pieces"] > 1 and rows["rocky"]["prompt"] == "The capital of rocky is [MASK]."
    labels = read_table(cache / "runs" / "relations.parquet", "relations").to_pylist()
    assert {("P19", "bear"), ("P36", "bear")} <= {(row["relation"], row["probe_set"]) for row in labels}


def test_further_templates_are_template_sets(fetched, ours):
    (second,) = read_facts("bear", ours, "bear-2")
    assert {fact.prompt for fact in second.facts if fact.subject == "france"} == {"[MASK] is the capital of france."}
    assert second.template_set == "bear-2" and second.answer_spaces == ANSWERS
    with pytest.raises(FactsError, match=r"no templates 'paraphrase'; expected one of bear-2, default"):
        read_facts("bear", ours, "paraphrase")


@pytest.mark.parametrize("text", ["[1]", '{"P36": {}}', "{", '{"P36": {"templates": [1], "answer_space_labels": []}}'])
def test_other_metadata_are_refused_with_what_is_expected(text, fetched, ours):
    (fetched / "metadata_relations.json").write_text(text)
    with pytest.raises(
        FactsError, match=r"metadata_relations.json: .*expected BEAR's lists templates and answer_space"
    ):
        read_facts("bear", ours)
