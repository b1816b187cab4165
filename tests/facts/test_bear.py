"""BEAR's folder, fetched: its answer spaces are the candidates, its templates the template sets."""

import json
import zipfile

import pytest

from probing.facts.fact import NO_CANDIDATE
from probing.facts.sources import read_facts
from probing.kernel.errors import FactsError
from probing.kernel.fetch import fetch_data
from probing.kernel.registry import read_registry
from probing.kernel.store.parquet import read_table

TEMPLATES = ("The capital of [X] is [Y].", "[Y] is the capital of [X].")
ANSWERS = {"P36": ("paris", "berlin", "new york city", "red green blue"), "P19": ("rome", "boston", "london")}
FACTS = {
    "P36": [("france", "paris"), ("germany", "berlin"), ("rocky", "new york city"), ("spain", "madrid")],
    "P19": [("rocky balboa", "boston")],
}


def write_bear(folder, templates=TEMPLATES):
    """A small folder in BEAR's format."""
    folder.mkdir(parents=True)
    ids = {text: f"Q{n}" for n, text in enumerate(text for texts in ANSWERS.values() for text in texts)}
    metadata = {
        relation: {
            "templates": list(templates),
            "answer_space_labels": list(texts),
            "answer_space_ids": [ids[text] for text in texts],
        }
        for relation, texts in ANSWERS.items()
    }
    (folder / "metadata_relations.json").write_text(json.dumps(metadata))
    for relation, facts in FACTS.items():
        rows = [
            {"sub_id": f"Q9{n}", "sub_label": subject, "sub_aliases": [], "obj_id": ids.get(answer, "Q99")}
            | {"obj_label": answer, "answer_idx": 0}
            for n, (subject, answer) in enumerate(facts)
        ]
        (folder / f"{relation}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def fetched(run, cache, tmp_path):
    """BEAR from a local clone of its repository."""
    write_bear(tmp_path / "clone" / "BEAR")
    run("fetch", "bear", "--from", tmp_path / "clone")
    return cache / "downloads" / "bear"


def test_both_parts_come_out_of_their_owners_archive(tmp_path):
    for name in ("bear", "bear-big"):
        entry = read_registry().data_set(name)
        part = write_bear(tmp_path / entry.archive_root)
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for path in sorted(part.iterdir()):
                archive.write(path, path.relative_to(tmp_path))
        here = entry.model_copy(update={"url": (tmp_path / f"{name}.zip").as_uri()})
        got = fetch_data(here, None, tmp_path / "downloads" / name)
        assert {path.name: path.read_bytes() for path in got.iterdir()} == {
            path.name: path.read_bytes() for path in part.iterdir()
        }


def test_without_fetching_the_error_names_the_command(cache, ours):
    for name in ("bear", "bear-big"):
        with pytest.raises(FactsError, match=f"not fetched yet.*python -m probing fetch {name}$"):
            read_facts(name, ours)


def test_the_candidates_of_a_fact_are_the_whole_answer_space(run, cache, fetched, folder_of):
    words = ("--model", folder_of("bert"), "--facts", "bear", "--head", "logit_lens", "--measure", "independent")
    shown = run("probe", *words).output
    assert f"read 5 = probed 4 + left out (1 {NO_CANDIDATE})" in shown
    (path,) = (cache / "runs").glob("candidate_facts-*.parquet")
    rows = {row["subject"]: row for row in read_table(path, "candidate_facts").to_pylist()}
    assert set(rows) == {"france", "germany", "rocky", "rocky balboa"}
    for row in rows.values():
        assert row["candidates"] == len(ANSWERS[row["relation"]])
    assert rows["rocky"]["pieces"] > 1 and rows["rocky"]["prompt"] == "The capital of rocky is [MASK]."
    labels = read_table(cache / "runs" / "relations.parquet", "relations").to_pylist()
    assert {("P19", "bear"), ("P36", "bear")} <= {(row["relation"], row["probe_set"]) for row in labels}


def test_further_templates_are_template_sets(fetched, ours):
    (second,) = read_facts("bear", ours, "bear-2")
    assert {fact.prompt for fact in second.facts if fact.subject == "france"} == {"[MASK] is the capital of france."}
    assert second.template_set == "bear-2" and second.candidates == ANSWERS
    with pytest.raises(FactsError, match=r"no templates 'paraphrase'; expected one of bear-2, default"):
        read_facts("bear", ours, "paraphrase")


@pytest.mark.parametrize(
    "content", ["[1]", '{"P36": {}}', "{", '{"P36": {"templates": [1], "answer_space_labels": []}}']
)
def test_other_metadata_are_refused_with_what_is_expected(content, fetched, ours):
    (fetched / "metadata_relations.json").write_text(content)
    with pytest.raises(
        FactsError, match=r"metadata_relations.json: .*expected BEAR's lists templates and answer_space"
    ):
        read_facts("bear", ours)
