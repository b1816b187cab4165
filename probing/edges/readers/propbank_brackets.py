"""Constituents from the parse bits of a CoNLL file."""

import re
from collections.abc import Sequence
from pathlib import Path

from probing.edges.readers.own_tasks_data_lines import wrong
from probing.edges.targets import Span, Target

#: What opens before a word, the word's place, what closes after it: ``(S(NP*``, ``*``, ``*))``.
_BIT = re.compile(r"(?P<open>(?:\([^()*\s]+)*)\*(?P<close>\)*)")


def bare_label(label: str) -> str:
    """A label without function tags and indices: ``NP-SBJ-1`` and ``NP=2`` are ``NP``; ``-LRB-`` stays."""
    if label.startswith("-"):
        return label
    return re.split(r"[-=]", label, maxsplit=1)[0]


def nonterminals(bits: Sequence[str], path: Path, line: int) -> list[Target]:
    """One target per nonterminal, including the top node, outer ones before inner ones; tags of words do not count.

    ``bits`` are those of each word, ``line`` is that of the first.
    """
    ends: list[int] = []
    opened: list[tuple[int, str]] = []
    waiting: list[int] = []
    for place, bit in enumerate(bits):
        match = _BIT.fullmatch(bit)
        if not match:
            raise wrong(path, line + place, f"got the parse bit {bit!r}, expected one such as (S(NP*, * or *))")
        for label in match["open"].split("(")[1:]:
            waiting.append(len(opened))
            opened.append((place, bare_label(label)))
            ends.append(-1)
        if len(match["close"]) > len(waiting):
            raise wrong(path, line + place, f"the parse bit {bit!r} closes more brackets than are open")
        for _ in match["close"]:
            ends[waiting.pop()] = place + 1
    if waiting:
        raise wrong(
            path, line + len(bits) - 1, f"the sentence ends, and {len(waiting)} brackets of its parse are still open"
        )
    return [Target((start, end), None, (label,)) for (start, label), end in zip(opened, ends, strict=True)]


def merged(targets: Sequence[Target]) -> list[Target]:
    """One target for each span, or pair of spans, with the labels of all its targets."""
    labels: dict[tuple[Span, Span | None], set[str]] = {}
    for target in targets:
        labels.setdefault((target.span1, target.span2), set()).update(target.labels)
    return [Target(span1, span2, tuple(sorted(names))) for (span1, span2), names in labels.items()]
