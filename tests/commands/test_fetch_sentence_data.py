"""``fetch`` brings what sentence-level probing reads, and ``sentences tasks`` lists and counts it."""

import hashlib
import json

from probing.core.registry import DataEntry, DataFile, read_registry
from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.workflows.fetch import fetch_data


def test_what_sentence_probing_reads_can_be_fetched_from_the_local_copies(run, cache, shared_data):
    names = sorted({name for task in SENTENCE_TASKS.values() for name in task.data_sets} - {"senteval"})
    assert names == ["glue", "ud-english-ewt", "x-probe"]
    run("fetch", *names, "--from", shared_data)
    for name in names:
        entry = read_registry().data_set(name)
        assert entry.licence and entry.homepage.startswith("https://")
        assert all(file.sha256 and file.url.startswith("https://") for file in entry.files)
    assert "ok  fetched data" in run("check").output
    rows = json.loads(run("sentences", "tasks", "rte", "tree-depth", "--counts", "--as", "json").output)
    assert [(row["task"], row["rows"], row["train"], row["fetched"]) for row in rows] == [
        ("rte", 2_767, 2_124, "yes"),
        ("tree-depth", 10_000, 5_235, "yes"),
    ]


def test_a_local_copy_may_have_another_path_than_the_fetched_file(tmp_path):
    file = DataFile(path="CoLA/train.tsv", local="glue-cola/train.tsv", sha256=hashlib.sha256(b"hello").hexdigest())
    entry = DataEntry(name="set", title="", folder=".", licence="", files=(file,))
    for number, place in enumerate(("glue-cola", "CoLA")):
        copy = tmp_path / str(number) / place / "train.tsv"
        copy.parent.mkdir(parents=True)
        copy.write_bytes(b"hello")
        got = fetch_data(entry, tmp_path / str(number), tmp_path / f"target{number}")
        assert (got / "CoLA" / "train.tsv").read_bytes() == b"hello"


def test_tasks_are_listed_without_their_data(run, cache, tmp_path):
    lines = run("sentences", "tasks").output.splitlines()
    assert len(lines) == 1 + len(SENTENCE_TASKS) and all(line.rstrip().endswith("no") for line in lines[1:])
    assert "87 repeated" not in run("sentences", "tasks", "--counts").output
    path = tmp_path / "mine.csv"
    path.write_text("sentence,label\n" + "".join(f"Sentence {place},{'ab'[place % 2]}\n" for place in range(100)))
    (row,) = json.loads(run("sentences", "tasks", path, "--counts", "--as", "json").output)
    assert (row["task"], row["rows"], row["train"], row["majority"], row["source"]) == (
        "mine",
        100,
        60,
        0.5,
        "mine.csv",
    )
