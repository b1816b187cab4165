"""The text that heads learn from: WikiText, as in the paper."""

from pathlib import Path

from probing.core.errors import FactsError
from probing.core.nesia.corpus import wikitext_sentences
from probing.core.paths import cache_folder

FETCHED = {"train": ("wiki.train.tokens", "train.txt"), "valid": ("wiki.valid.tokens", "valid.txt")}


def head_text(train: Path | None, valid: Path | None) -> tuple[list[str], list[str]]:
    """Training and validation sentences, from files or from the fetched WikiText-2.

    Raises:
        FactsError: if there is no text, naming the command that fetches it.
    """
    return list(wikitext_sentences(train or _fetched("train"))), list(wikitext_sentences(valid or _fetched("valid")))


def _fetched(part: str) -> Path:
    folder = cache_folder() / "downloads" / "wikitext-2"
    for name in FETCHED[part]:
        if found := sorted(folder.rglob(name)):
            return found[0]
    raise FactsError(
        f"no {part} text for heads in {folder}; fetch it with: python -m probing fetch wikitext-2 (or name files: --text FILE --valid FILE)"
    )
