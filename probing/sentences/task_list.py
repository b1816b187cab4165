"""The tasks of sentence-level probing as a table, with amounts of data; and our own tasks as files."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from probing.kernel.errors import Say, StoreError
from probing.kernel.files import atomic_text, cache_folder
from probing.sentences.examples import OURS, PARTS, SentenceData, majority_right
from probing.sentences.odd_man_out import make_odd_man_out
from probing.sentences.tasks import EWT, SENTENCE_TASKS, SentenceTask, read_task

COUNTS = ("source", "rows", *PARTS, "labels", "majority", "dropped")


def task_list(downloads: Path, names: Sequence[str] = (), counts: bool = False, protocol: str = OURS) -> pd.DataFrame:
    """One row per task; the counts are empty if its data are not fetched.

    ``names`` are tasks, or files; none: all built-in tasks. Any of the data_set is enough. ``majority`` is the test
    accuracy of the most frequent training label in [0, 1]; ``dropped`` reasons with numbers, and the parts, make up all
    ``rows`` of the files.
    """
    rows: list[dict] = []
    for name in names or SENTENCE_TASKS:
        task = SENTENCE_TASKS.get(name)
        there = task is None or any((downloads / one).is_dir() for one in task.data_sets)
        data = None
        if task is None or (counts and there):
            task, data = read_task(name, downloads, protocol)
        rows.append(_about(task, there) | (_counted(task, data) if counts and data is not None else {}))
    return pd.DataFrame(rows, columns=[*_about(next(iter(SENTENCE_TASKS.values())), True), *(COUNTS if counts else ())])


def _about(task: SentenceTask, there: bool) -> dict:
    return {
        "task": task.name,
        "title": task.title,
        "level": task.level,
        "asks": task.asks,
        "data_set": " or ".join(task.data_sets) or "own",
        "licence": task.licence,
        "fetched": "yes" if there else "no",
    }


def _counted(task: SentenceTask, data: SentenceData) -> dict:
    parts = {part: len(data.parts[part]) for part in PARTS}
    return parts | {
        "source": task.source,
        "rows": sum(parts.values()) + sum(data.dropped.values()),
        "labels": len(data.labels),
        "majority": majority_right(data.parts["train"], data.parts["test"]) / parts["test"],
        "dropped": "; ".join(f"{number:,} {reason}" for reason, number in data.dropped.items()),
    }


def write_odd_man_out(source: Path | None, out: Path, say: Say = print) -> Path:
    """Writes odd-man-out as TSV with the columns ``sentence`` and ``label``; equal treebanks give equal bytes.

    ``source`` is a folder of UD English EWT; None: the fetched one.
    """
    examples = make_odd_man_out(source or cache_folder() / "downloads" / EWT)
    try:
        atomic_text(out, "sentence\tlabel\n" + "".join(f"{one.text}\t{one.label}\n" for one in examples))
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error}; name another file with --out") from error
    counts = ", ".join(
        f"{number:,} {label}" for label, number in sorted(Counter(one.label for one in examples).items())
    )
    say(f"odd-man-out: {counts} sentences in {out}")
    return out
