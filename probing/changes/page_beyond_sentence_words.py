"""The words of sentences that results store only as a hash: they are looked up in the fetched data sets."""

from pathlib import Path

import pandas as pd
import streamlit as st

from probing.kernel.app import blocks
from probing.kernel.app.texts import State, files_state
from probing.kernel.errors import ProbingError
from probing.kernel.files import cache_folder
from probing.sentences.tasks import SENTENCE_TASKS, SOURCES, read_task

#: Digits of a sentence's sha256 that identify it in results.
DIGITS = 16


def with_words(table: pd.DataFrame, task: str, protocol: str) -> pd.DataFrame:
    """The table, with words from a fetched data set for sentences that have none in the store."""
    lacking = table["text"].isna() | (table["text"] == "")
    if not lacking.any():
        return table
    texts = table["example"].map(_fetched(task, protocol))
    return table.assign(text=table["text"].where(~lacking, texts))


def say_missing(task: str, source: str) -> None:
    """One line on sentences that are left out, and the command that fetches them."""
    st.info("These sentences are not shipped (licence); fetch them to read them.", icon=":material/info:")
    if task in SENTENCE_TASKS:
        blocks.command_line(fetch_command(task, source))


def fetch_command(task: str, source: str) -> str:
    """The command that fetches the words of a built-in task: from its source, or from the first of its data sets."""
    data_sets = SENTENCE_TASKS[task].data_sets
    named = [name for name in data_sets if SOURCES[name].title == source]
    return f"python -m probing fetch {(named or data_sets)[0]}"


def _fetched(task: str, protocol: str) -> dict[str, str]:
    """Name -> words of the test sentences of a task; none if its data sets were not fetched, or cannot be read."""
    if task not in SENTENCE_TASKS:
        return {}
    downloads = cache_folder() / "downloads"
    return _texts(
        task, protocol, str(downloads), files_state(downloads / name for name in SENTENCE_TASKS[task].data_sets)
    )


@st.cache_data(max_entries=16, show_spinner="Reading the fetched sentences …")
def _texts(task: str, protocol: str, downloads: str, state: State) -> dict[str, str]:
    """The test sentences by name; ``state`` only serves as part of the cache key."""
    if not state:
        return {}
    try:
        _, data = read_task(task, Path(downloads), protocol)
    except (ProbingError, OSError):
        return {}
    return {sentence.sha256[:DIGITS]: words_of(sentence.text, sentence.pair) for sentence in data.parts["test"]}


def words_of(text: str, pair: str) -> str:
    """A sentence, or a pair of them, on one line."""
    return f"{text} ‖ {pair}" if pair else text
