"""The text that models are measured on: WikiText-2's raw test part, before rare words were taken out."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from probing.facts.corpus import share_of, wikitext_sentences
from probing.kernel.errors import TextError

#: The data set of the registry, and its file.
DATA_SET, FILE = "wikitext-2-raw", "wiki.test.raw"
#: How many words a sentence has that attention and states are measured on.
FEWEST_WORDS, MAX_WORDS = 5, 28


def raw_text(downloads: Path) -> Path:
    """The raw test text of WikiText-2."""
    path = downloads / DATA_SET / FILE
    if not path.is_file():
        raise TextError(
            f"no {path}; perplexity and attention are measured on it: fetch it with: python -m probing fetch {DATA_SET}"
        )
    return path


def text_lines(path: Path) -> list[str]:
    """The lines that are not empty, `` @-@ `` and the like undone, in order."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TextError(f"cannot read {path}: {error}; expected UTF-8 text") from error
    cleaned = [re.sub(r" @(\W)@ ", r"\1", line.strip()) for line in lines if line.strip()]
    if not cleaned:
        raise TextError(f"{path} has no text; expected lines of words")
    return cleaned


def chosen_sentences(path: Path, limit: int, plain: bool = False) -> list[str]:
    """Up to ``limit`` distinct sentences of 5 to 28 words, by hash: fewer are the beginning of more.

    ``plain``: each line is a sentence, of any length; otherwise the text is in WikiText's layout.
    """
    lines = text_lines(path)
    sentences = (
        lines
        if plain
        else [text for text in wikitext_sentences(path) if FEWEST_WORDS <= len(text.split()) <= MAX_WORDS]
    )
    chosen = sorted(dict.fromkeys(sentences), key=lambda text: (share_of("changes", text), text))[:limit]
    if len(chosen) < 2:
        kind = "lines" if plain else f"sentences of {FEWEST_WORDS} to {MAX_WORDS} words"
        raise TextError(f"{path} has {len(chosen)} different {kind}, expected at least 2")
    return chosen


def text_sha256(lines: Sequence[str]) -> str:
    """Fingerprint of lines in their order."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
