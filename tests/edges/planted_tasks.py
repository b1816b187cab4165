"""Small tasks in the authors' format, in words of the tiny model, and what a run of them left."""

from pathlib import Path

import numpy as np

from probing.edges.requests import EdgeRecipe
from probing.kernel.store.parquet import read_table
from tests.edges.edge_files import write_own

TOWNS, COLOURS, OTHERS = (
    ("paris", "berlin", "rome"),
    ("red", "green", "blue"),
    ("the", "is", "a", "city", "sun", "moon", "zebra"),
)
#: Trains in a second and a half.
QUICK = EdgeRecipe(width=6, learning_rate=0.02, batch=8, check_every=10, most_checks=3)
PARTS = ("train", "dev", "test")


def kind_of(word: str) -> str:
    return "town" if word in TOWNS else "colour" if word in COLOURS else "other"


def kinds(spans: int = 1, sentences: int = 30, several: bool = False, seed: int = 0) -> dict[str, list[dict]]:
    """Parts of a task that asks whether a word is a town, a colour or another; of two words, whether they are of one
    kind.
    """
    draw, found = np.random.default_rng(seed), {}
    for part in PARTS:
        rows = []
        for _ in range(sentences):
            words = [str(word) for word in draw.choice([*TOWNS, *COLOURS, *OTHERS], 5)]
            targets = []
            for place in (0, 2, 3):
                label = (
                    kind_of(words[place])
                    if spans == 1
                    else "same"
                    if kind_of(words[place]) == kind_of(words[4])
                    else "other"
                )
                given = {"span1": [place, place + 1], "label": label}
                if spans == 2:
                    given["span2"] = [4, 5]
                if several:
                    given["label"] = (
                        [label, "long"] if len(words[place]) > 4 else [] if words[place] == "a" else [label]
                    )
                targets.append(given)
            rows.append({"text": " ".join(words), "targets": targets})
        found[part] = rows
    # Only the development part has it.
    found["dev"][3]["targets"][1]["label"] = "unheard"
    return found


def task_folder(folder: Path, **given) -> Path:
    """A folder with the task of ``kinds``."""
    return write_own(folder, **kinds(**given))


def tables_of(folder: Path, table: str, task: str | None = None) -> list[dict]:
    """Rows of a table of all runs; of one task's, if it is named."""
    runs = {
        row["run_id"]
        for path in folder.glob("edge_runs-*.parquet")
        for row in read_table(path, "edge_runs").to_pylist()
        if row["task"] == task
    }
    rows = [row for path in sorted(folder.glob(f"{table}-*.parquet")) for row in read_table(path, table).to_pylist()]
    return [row for row in rows if task is None or row.get("run_id") in runs or row.get("task") == task]
