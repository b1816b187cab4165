"""``probing facts`` and ``phrases``: the shipped triples, from fetched copies of LAMA, and inverse facts of them."""

from pathlib import Path
from typing import Annotated

import typer

from data.making.triples import write_phrases, write_shipped_triples
from probing.kernel.fact import PHRASES, shipped_relations
from probing.kernel.files import FACTS_FOLDER


def facts(
    lama: Annotated[Path, typer.Option(help="LAMA folder.")],
    triples: Annotated[Path | None, typer.Option(help="Folder of further T-REx triples (P*.jsonl).")] = None,
    out: Annotated[Path, typer.Option(help="Folder to write, in LAMA's layout.")] = FACTS_FOLDER / "lama",
) -> None:
    """Write the shipped triples: labels of T-REx and Google-RE, without sentences, templates or judgements."""
    written = write_shipped_triples(lama, triples, shipped_relations(), out)
    typer.echo(f"{sum(written.values()):,} triples of {len(written)} relations in {out}")


def phrases(out: Annotated[Path, typer.Option(help="Folder to write.")] = FACTS_FOLDER / PHRASES) -> None:
    """Write the shipped facts whose answers have two to four words: triples of T-REx, asked for their subject."""
    written = write_phrases(shipped_relations(), out)
    typer.echo(f"{sum(written.values()):,} facts of {len(written)} relations in {out}")
