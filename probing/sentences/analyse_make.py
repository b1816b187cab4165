"""Writes our own tasks as files."""

from collections import Counter
from pathlib import Path

from probing.kernel.errors import Say, StoreError
from probing.kernel.files import atomic_text, cache_folder
from probing.sentences.odd_man_out import make_odd_man_out
from probing.sentences.tasks import EWT


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
