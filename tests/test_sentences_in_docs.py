"""The documentation of sentence probing has the counts that the program gives."""

from pathlib import Path

from probing.core.sentences.tasks import ALL, SENTENCE_TASKS, SOURCES
from probing.workflows.sentences.task_list import task_list

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "sentences.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """Cells of the first table below a heading, without its first line."""
    part = TEXT.split(f"### {heading}\n")[1].split("\n### ")[0]
    lines = part[part.index("\n|") :].split("\n\n")[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_documentation_lists_the_tasks_and_what_they_ask():
    assert [cells[:2] for cells in table("Tasks")] == [[f"`{name}`", task.asks] for name, task in SENTENCE_TASKS.items()]
    assert len(ALL) == 6 and "`all` means the first six tasks" in TEXT


def test_the_documentation_has_every_source_with_its_licence():
    for name, source in SOURCES.items():
        (line,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}`") and line.count("|") == 4]
        assert source.licence in line and line.endswith(f"| {'yes' if source.open else 'no'} |")


def test_the_documentation_has_the_counts_of_the_data_sets(shared_data, tmp_path):
    (tmp_path / "glue").mkdir()
    for name, place in {
        "x-probe": "senteval-like-xprobe-en", "ud-english-ewt": "ud-english-ewt",
        "glue/CoLA": "glue-cola", "glue/SST-2": "glue-sst2", "glue/RTE": "glue-rte",
    }.items():  # fmt: skip
        (tmp_path / name).symlink_to(shared_data / place)
    counted = task_list(tmp_path, counts=True)[["rows", "labels", "train", "dev", "test", "dropped"]].astype(object).to_numpy().tolist()
    assert [cells[3:] for cells in table("Tasks")] == [[f"{one:,}" for one in row[:-1]] + row[-1:] for row in counted]
