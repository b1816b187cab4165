"""The words of sentences that results store only as a hash: they are looked up in the fetched data sets."""

from pathlib import Path

import pandas as pd
import streamlit as st

from probing.edges.store_sentences import tasks_of_texts
from probing.edges.tasks import EDGE_TASKS, read_task
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, State, code, files_state, filled
from probing.kernel.errors import EdgeDataError
from probing.kernel.files import cache_folder


def with_words(view: View, part: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table, with words from a fetched data set for sentences that have none in the store.

    Tasks are read one after the other until every sentence of the table is found.
    """
    of_task = _lacking(view, part, table)
    hashes_lacking, text_of = set().union(*of_task.values()), dict[str, str]()
    for task, hashes in of_task.items():
        if hashes - text_of.keys():
            texts = _fetched(task)
            text_of |= {text_hash: texts[text_hash] for text_hash in hashes_lacking & texts.keys()}
    return table.assign(text=table["text"].fillna(table["text_sha256"].map(text_of))) if text_of else table


def fetch_command(view: View, part: str, table: pd.DataFrame) -> str:
    """The command that fetches the words that the table lacks; ``""`` if no data set of the registry has them."""
    data_sets, there = dict[str, None](), set[str]()
    for task, hashes in _lacking(view, part, table).items():
        if task in EDGE_TASKS and hashes - there:
            data_sets |= dict.fromkeys(EDGE_TASKS[task].data_set)
            there |= hashes
    return f"python -m probing fetch {' '.join(data_sets)}" if data_sets else ""


def say_missing(view: View, part: str, table: pd.DataFrame, named: Markdown) -> None:
    """A caption on what is shown instead of missing words, and how to get them; nothing if none are missing."""
    if not table["text"].isna().any():
        return
    command = fetch_command(view, part, table)
    words = (
        filled("{command} fetches the words", command=code(command))
        if command
        else Markdown("no registered data set has the words")
    )
    st.caption(filled("{named}; {words}.", named=named, words=words))


def _lacking(view: View, part: str, table: pd.DataFrame) -> dict[str, set[str]]:
    """Task -> hashes of its sentences without words, in the order of tasks."""
    hashes = tuple(dict.fromkeys(table.loc[table["text"].isna(), "text_sha256"]))
    rows = view.read(tasks_of_texts, part, hashes) if hashes else pd.DataFrame(columns=["task", "text_sha256"])
    return {str(task): set(of_task["text_sha256"]) for task, of_task in rows.groupby("task", sort=False)}


def _fetched(task: str) -> dict[str, str]:
    """sha256 -> text of the sentences of a task; none if its data sets were not fetched, or cannot be read."""
    if task not in EDGE_TASKS:
        return {}
    downloads = cache_folder() / "downloads"
    return _texts(task, str(downloads), files_state(downloads / name for name in EDGE_TASKS[task].data_set))


@st.cache_data(max_entries=16, show_spinner="Reading the fetched sentences …")
def _texts(task: str, downloads: str, state: State) -> dict[str, str]:
    """The sentences outside the training part; ``state`` only serves as part of the cache key."""
    if not state:
        return {}
    try:
        _, data = read_task(task, Path(downloads))
    except (EdgeDataError, OSError):
        return {}
    return {
        record.sha256: record.text for name, part in data.parts().items() if name != "train" for record in part.records
    }
