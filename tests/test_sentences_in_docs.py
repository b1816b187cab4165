"""The documentation of sentence probing has the tasks and licences of the program; counts are compared where the data sets are read."""

from pathlib import Path

from probing.core.sentences.tasks import ALL, SENTENCE_TASKS, SOURCES

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
