"""The caption of a figure in a paper: how to read the marks that it shows, how many values, and whose."""

import html
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import plotly.graph_objects as go

#: A caption has at most that many words.
MOST = 60
#: Column -> what it counts.
_COUNTS = {"n": "n", "n_test": "test sentences", "facts": "facts", "sentences": "sentences"}
#: A mark -> the words that speak of it.
MARKS = {
    "band": r"\bbands?\b",
    "whisker": r"\bwhiskers?\b",
    "dotted": r"\bdotted\b",
    "dashed": r"\bdash(ed|es)\b",
    "hatched": r"\bhatched\b",
    "diamond": r"\bdiamonds?\b",
    "triangle": r"\btriangles?\b",
    "cross": r"\bcross(es)?\b",
    "open": r"\bopen:",
    "✓": "✓",
    "◐": "◐",
    "✗": "✗",
    "?": r"\?(?= cannot)",
}
#: What a mark says wherever it stands.
_ALWAYS = {
    "band": "Bands: 95 % intervals.",
    "✓": "✓ task learned.",
    "◐": "◐ partly learned.",
    "✗": "✗ not learned.",
    "?": "? cannot tell.",
}
#: Beginnings of Plotly's names of symbols -> the mark.
_SYMBOLS = {"diamond": "diamond", "triangle": "triangle", "x": "cross"}
#: Sentences of a page that say what a mouse does.
_OF_MOUSE = re.compile(r"\b(click|point at|hover|tap)\b", re.IGNORECASE)


def caption(words: str, filters: str, table: pd.DataFrame, figure: go.Figure, data: str = "") -> str:
    """The caption of a figure in plain text, of at most ``MOST`` words.

    Of ``words``, sentences on the mouse and on marks that the figure lacks are left out; of ``filters``, what follows a
    semicolon; of ``data``, its fingerprint, the runs after the middle dot.
    """
    names_by_mark = marks(figure)
    chosen = _first(re.sub(r" [✓◐✗?](?=\W|$)", "", filters.partition(";")[0]), 14)
    head = f"{chosen[:1].upper()}{chosen[1:]}." if chosen else ""
    tail = [*notes(table), f"BERTnesia Explorer, {data.partition(' · ')[0]}." if data else ""]
    left = MOST - sum(len(text.split()) for text in (head, *tail))
    on_marks: list[str] = []
    others: list[str] = []
    explained: set[str] = set()
    for sentence in re.split(r"(?<=[.!?])\s+|; (?=[◐✗?✓] )", words.strip()):
        named = _spoken(sentence)
        if not sentence or named - set(names_by_mark) or named & {"✓", "◐", "✗", "?"} or _OF_MOUSE.search(sentence):
            continue
        (on_marks if named else others).append(sentence)
    on_marks = [
        sentence if len(sentence.split()) <= 12 else f"{sentence.split(', ')[0].rstrip('.')}." for sentence in on_marks
    ]
    sentences: list[str] = []
    for mark, names in names_by_mark.items():
        explanation = next(
            (on_mark for on_mark in on_marks if mark in _spoken(on_mark) and len(on_mark.split()) <= 14), ""
        )
        sentence = (
            explanation or _ALWAYS.get(mark) or (f"{mark.capitalize()}: {', '.join(names[:2])}." if names else "")
        )
        if mark in explained or not sentence or len(sentence.split()) > left:
            continue
        explained |= _spoken(sentence) | {mark}
        sentences.append(sentence)
        left -= len(sentence.split())
    for sentence in others:
        if len(sentence.split()) > left:
            break
        sentences.append(sentence)
        left -= len(sentence.split())
    return " ".join(part for part in (head, *sentences, *tail) if part)


def marks(figure: go.Figure) -> dict[str, list[str]]:
    """The marks of a figure that need an explanation -> names of what they stand for, if any."""
    names_by_mark: dict[str, list[str]] = {}
    content = figure.to_plotly_json()
    for trace in content["data"]:
        for mark in _of_trace(trace):
            name = html.unescape(re.sub(r"<[^>]+>", " ", str(trace.get("name") or "")))
            names_by_mark.setdefault(mark, [])
            if name and name not in names_by_mark[mark]:
                names_by_mark[mark].append(name)
    if all(symbol.endswith("-open") for trace in content["data"] for symbol in _symbols(trace)):
        # Where every marker is open, none is told from another by it.
        names_by_mark.pop("open", None)
    texts = str([content["layout"].get("annotations"), *(trace.get("name") for trace in content["data"])])
    texts += str([axis.get("ticktext") for name, axis in content["layout"].items() if "axis" in name])
    for badge in "✓◐✗":
        if badge in texts:
            names_by_mark[badge] = []
    if re.search(r"\w \?", texts):
        names_by_mark["?"] = []
    return names_by_mark


def _of_trace(trace: dict[str, Any]) -> Iterator[str]:
    mode, marker = trace.get("mode") or "", trace.get("marker") or {}
    if trace.get("fill") == "toself" and "interval" in str(trace.get("name")):
        yield "band"
    elif "lines" in mode:
        dash = (trace.get("line") or {}).get("dash", "solid")
        yield from ("dotted",) if dash == "dot" else ("dashed",) if "dash" in dash else ()
    if any((trace.get(name) or {}).get("visible", True) and trace.get(name) for name in ("error_x", "error_y")):
        yield "whisker"
    shapes = (marker.get("pattern") or {}).get("shape") or ""
    if trace.get("type") == "bar" and any(
        shape in "/\\x" for shape in ([shapes] if isinstance(shapes, str) else shapes) if shape
    ):
        yield "hatched"
    for symbol in _symbols(trace):
        yield from (mark for start, mark in _SYMBOLS.items() if re.match(rf"{start}(-|$)", symbol))
        if symbol.endswith("-open"):
            yield "open"


def _symbols(trace: dict[str, Any]) -> list[str]:
    """The markers that can be seen, each once."""
    marker = trace.get("marker") or {}
    if "markers" not in (trace.get("mode") or "") or marker.get("opacity") == 0:
        return []
    symbols = marker.get("symbol", "circle")
    return list(dict.fromkeys([symbols] if isinstance(symbols, str) else map(str, symbols)))


def _spoken(sentence: str) -> set[str]:
    """The marks that a sentence speaks of."""
    return {mark for mark, words in MARKS.items() if re.search(words, sentence, re.IGNORECASE)}


def _first(text: str, most: int) -> str:
    """The first words of a text; an ellipsis stands for the others."""
    words = text.split()
    return " ".join(words[:most]) + ("…" if len(words) > most else "")


def notes(table: pd.DataFrame) -> list[str]:
    """How many values a figure has, if its table says so."""
    for name in [name for name in _COUNTS if name in table and table[name].notna().any()][:1]:
        low, high = int(table[name].min()), int(table[name].max())
        return [f"{_COUNTS[name]} = {low:,}." if low == high else f"{_COUNTS[name]} = {low:,} to {high:,}."]
    return []
