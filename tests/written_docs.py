"""``make docs`` writes the table of architectures in docs/heads.md again, and ``tests/test_docs.py`` compares it."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from probing.kernel.models.checkpoint import IN_PYTHON, REFUSED, why_unusable
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.load import load_encoder
from probing.kernel.registry import REPOSITORY
from tests import tiny_models

DOCS = REPOSITORY / "docs" / "heads.md"
HEADER = "| `model_type` | heads | norm on top | texts of a batch |\n|---|---|---|---|\n"


def with_architectures(text: str) -> str:
    """The document with what is found of every masked language model of transformers: of a tiny one, or of its
    configuration.
    """
    rows = {kind: f"none: it {why_unusable(kind, 3, False)} | | |" for kind in REFUSED}
    for kind, name in IN_PYTHON.items():
        rows[kind] = f"none with its own tokenizer, `{name}`, which is in Python only | | |"
    with TemporaryDirectory() as folder:
        for kind in (tiny_models.KINDS | tiny_models.WHOLE).keys() - IN_PYTHON.keys():
            encoder = load_encoder(tiny_models.save(kind, Path(folder, kind)), device="cpu")
            heads = "all kinds" if isinstance(encoder.head, DecodingHead) else "logit lens"
            norm = f"`{encoder.on_top}`" if encoder.on_top else ""
            rows[kind] = f"{heads} | {norm} | {'of equal length' if encoder.reads_padding else 'any'} |"
    table = HEADER + "".join(f"| {kind} | {row}\n" for kind, row in sorted(rows.items()))
    return re.sub(rf"{re.escape(HEADER)}(\|.*\n)+", lambda _: table, text)


if __name__ == "__main__":
    DOCS.write_text(with_architectures(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
