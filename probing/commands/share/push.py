"""``probing push``: share trained heads, or the predictions of every layer."""

import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing import __version__
from probing.core.errors import HubError
from probing.core.files.atomic import write_whole
from probing.core.files.locks import one_at_a_time
from probing.core.files.share_manifest import CARD, MANIFEST, describe
from probing.core.paths import cache_folder, result_folders


class Shared(StrEnum):
    heads = "heads"
    predictions = "predictions"


#: Template sets of our own writing; prompts of any other may be somebody's.
OWN_TEMPLATES = {"default", "paraphrase"}


def push(
    what: Annotated[Shared, typer.Argument(help="heads go to a model repository, predictions to a data set repository.")],
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder; for predictions as `runs` lists it.")],
    to: Annotated[str | None, typer.Option(help="Repository on the Hugging Face Hub: OWNER/NAME.")] = None,
    to_folder: Annotated[Path | None, typer.Option(help="Folder instead of the hub.")] = None,
    head: Annotated[str | None, typer.Option(help="Kinds of heads, separated by commas; none: all that are there.")] = None,
    runs: Annotated[list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: the snapshot and cache/runs.")] = None,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model takes.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence that the card names; none: the model's.")] = None,
    language: Annotated[str, typer.Option(help="Language of text or facts, as the hub writes it.")] = "en",
    private: Annotated[bool, typer.Option("--private", help="A new repository is seen by its owner only.")] = False,
) -> None:
    """Share heads or predictions with a card and the sha256 of every file; pushing the same again changes nothing."""
    from probing.workflows.share.hub import HubRepository, LocalFolder

    if (to is None) == (to_folder is None):
        raise typer.BadParameter("got both or neither of --to OWNER/NAME and --to-folder DIR; expected one")
    place = LocalFolder(to_folder) if to_folder else HubRepository(str(to), what.value, private)
    where = to or f"--from-folder {to_folder}"
    outgoing = cache_folder() / "hub" / "outgoing" / what.value
    with one_at_a_time(outgoing.with_suffix(".lock")):
        # What a killed push left behind.
        shutil.rmtree(outgoing, ignore_errors=True)
        outgoing.mkdir(parents=True)
        if what is Shared.heads:
            name, weights, card = _heads(model, base, head, outgoing, language, licence, where)
        else:
            name, weights, card = _predictions(model, head, runs, outgoing, language, licence, where)
        write_whole(outgoing / CARD, card)
        manifest = describe(outgoing, what.value, name, weights, __version__)
        write_whole(outgoing / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
        commit = place.put(outgoing, what.value, f"{what.value} of {name}")
        shutil.rmtree(outgoing)
    size = sum(file.size for file in manifest.files)
    typer.echo(f"{what.value} of {name}: {len(manifest.files)} files, {size:,} bytes, at {place.title}")
    typer.echo(f"take them with: python -m probing pull {where} --revision {commit}")


def _heads(model: str, base: str | None, head: str | None, outgoing: Path, language: str, licence: str | None, where: str):
    from probing.core.model_folders import find_entry
    from probing.models.encoders.catalogue import open_encoder
    from probing.workflows.share.cards import heads_card
    from probing.workflows.share.heads import gather_heads, known_text

    entry = find_entry(model, base)
    encoder = open_encoder(model, base, "cpu")
    sets = gather_heads(model, encoder, _kinds(head, {"full", "tied"}), outgoing)
    for heads in sets:
        typer.echo(f"  {heads.kind}, seed {heads.seed}: {heads.folder}")
    card = heads_card(entry, encoder.identity, sets, known_text(sets), language, licence or entry.licence, where)
    return encoder.name, encoder.identity, card


def _predictions(
    model: str, head: str | None, runs: list[Path] | None, outgoing: Path, language: str, licence: str | None, where: str
) -> tuple[str, str, str]:
    from probing.core.model_folders import find_entry
    from probing.store.schema import SCHEMAS
    from probing.store.sources import table_of
    from probing.workflows.share.cards import predictions_card
    from probing.workflows.share.runs import gather_runs

    entry = find_entry(model)
    rows = gather_runs(entry.name, _kinds(head, {"full", "tied", "lens"}) or ["full", "tied", "lens"], runs or result_folders(), outgoing)
    others = sorted({row["template_set"] for row in rows} - OWN_TEMPLATES)
    if others and licence is None:
        raise HubError(
            f"the facts of {entry.name}'s runs have prompts of the template set {', '.join(others)}, which are not this project's own: "
            "name the licence that their owners allow with --licence"
        )
    for row in rows:
        typer.echo(f"  {row['run_id']}: {row['probe_set']}, {row['head']}, seed {row['seed']}, {row['n_probed']:,} facts")
    there = {table_of(path) for path in outgoing.rglob("*.parquet")}
    tables = [table for table in SCHEMAS if table in there]
    return entry.name, "", predictions_card(entry, rows, tables, language, licence or entry.licence, where)


def _kinds(head: str | None, known: set[str]) -> list[str]:
    kinds = [kind.strip() for kind in (head or "").split(",") if kind.strip()]
    if unknown := sorted(set(kinds) - known):
        raise typer.BadParameter(f"got head {', '.join(unknown)}; expected some of {', '.join(sorted(known))}")
    return kinds
