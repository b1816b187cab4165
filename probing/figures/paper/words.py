"""What the caption of a figure in a paper states of its numbers: how many, the intervals, the heads and the yardsticks."""

import re

import pandas as pd

from probing.core.head_kinds import HEADS

#: Column -> what it counts.
_COUNTS = {"n": "n", "n_test": "test sentences", "facts": "facts", "sentences": "sentences"}
#: Column -> yardstick, as the pages call it.
_YARDSTICKS = {
    "majority": "majority answer",
    "swapped": "swapped subject",
    "chance": "chance",
    "surface": "surface baseline",
    "ceiling": "ceiling",
    "memory": "memory",
    "random_encoder": "random encoder",
    "control": "control",
    "seed_union": "union over re-trained heads",
}
#: Sentences of a page that say what a mouse does.
_OF_MOUSE = re.compile(r"\b([Cc]lick|[Pp]oint at|[Hh]over|[Tt]ap)\b")


def caption(words: str, filters: str, table: pd.DataFrame, data: str = "") -> str:
    """The caption of a figure in plain text.

    Args:
        words: how to read the figure, as on its page; sentences on the mouse are left out.
        filters: the selection, in words.
        table: the numbers of the figure.
        data: fingerprint of the data.
    """
    kept = [sentence for sentence in re.split(r"(?<=[.!?])\s+", words.strip()) if sentence and not _OF_MOUSE.search(sentence)]
    parts = [
        f"{filters[:1].upper()}{filters[1:]}." if filters else "",
        *kept,
        *(note for note in notes(table) if "95 %" not in note or "95 %" not in words),
        f"BERTnesia Explorer, {data}." if data else "",
    ]
    return " ".join(part for part in parts if part)


def notes(table: pd.DataFrame) -> list[str]:
    """Sentences on number, interval, heads and yardsticks; only on what the table has.

    Args:
        table: a row per value; of its columns, counts such as ``n``, ends of intervals such as ``low``, ``head`` and yardsticks are read.
    """
    there = [str(name) for name in table if table[name].notna().any()]
    found = []
    for name in [name for name in _COUNTS if name in there][:1]:
        low, high = int(table[name].min()), int(table[name].max())
        found.append(f"{_COUNTS[name]} = {low:,}." if low == high else f"{_COUNTS[name]} = {low:,} to {high:,}.")
    if any(name == "low" or (name.endswith("_low") and name != "seed_low") for name in there):
        found.append("Intervals: 95 %.")
    if "head" in there:
        heads = sorted({str(one) for one in table["head"].dropna()}, key=lambda one: ((*HEADS, one)).index(one))
        found.append(f"{'Head' if len(heads) == 1 else 'Heads'}: {', '.join(one.replace('_', ' ') for one in heads)}.")
    if known := [words for name, words in _YARDSTICKS.items() if name in there]:
        found.append(f"{'Yardstick' if len(known) == 1 else 'Yardsticks'}: {', '.join(known)}.")
    return found
