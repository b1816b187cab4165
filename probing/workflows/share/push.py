"""Shares trained heads, or the predictions of every layer, with a card and the sha256 of every file."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing import __version__
from probing.core.capabilities.registry import HEADS
from probing.core.errors import HubError
from probing.core.files.atomic import atomic_text
from probing.core.files.locks import exclusive_lock
from probing.core.head_kinds import HEADS as KINDS_OF_HEADS
from probing.core.head_kinds import STORED, canonical_heads
from probing.core.model_folders import find_entry
from probing.core.paths import cache_folder, result_folders
from probing.models.encoders.catalogue import open_encoder
from probing.store.kinds import FACTS, kinds_of
from probing.store.schema import SCHEMAS
from probing.store.sources import table_of
from probing.workflows.output import Say
from probing.workflows.share.cards import Origin, heads_card, origin_of_runs, results_card
from probing.workflows.share.heads import gather_heads, known_text
from probing.workflows.share.hub import HubRepository, LocalFolder
from probing.workflows.share.manifest import CARD, MANIFEST, SharedManifest, describe, refuse_name
from probing.workflows.share.results import gather_results, own_tasks, task_licences
from probing.workflows.share.runs import foreign_facts, foreign_ids


def heads_of(what: str) -> tuple[str, ...]:
    """The kinds of heads that shared files of this content can be of; none if they are of no heads."""
    return STORED if what == HEADS else KINDS_OF_HEADS if _of_facts(what) else ()


def _of_facts(what: str) -> bool:
    return any(kind.name == FACTS for kind in kinds_of(what))


@dataclass(frozen=True)
class PushRequest:
    """The results to share.

    Attributes:
        what: ``heads`` go to a model repository, all else to a data set repository.
        model: registry name, hub id or folder; for predictions its name in ``runs``.
        heads: kinds of heads; none: all that exist.
        runs: folders of runs; none: the snapshot and ``cache/runs``.
        base: model whose head a headless model uses.
        licence: on the card; None: the model's.
        language: of text or facts, in the hub's spelling.
        revision: of a model on the hub whose heads are shared; None: what the registry pins, else the main branch.
    """

    what: str
    model: str
    heads: Sequence[str] = ()
    runs: Sequence[Path] = ()
    base: str | None = None
    licence: str | None = None
    language: str = "en"
    revision: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", canonical_heads(self.heads))


@dataclass(frozen=True)
class Pushed:
    """The shared files: manifest, remote, and the commit that a pull can name."""

    manifest: SharedManifest
    title: str
    commit: str


def push(request: PushRequest, place: LocalFolder | HubRepository, where: str, say: Say = print) -> Pushed:
    """Gathers, describes and shares; sharing the same content again changes nothing.

    Args:
        request: the results to share.
        place: the remote.
        where: the remote's name for ``pull``, for the card.
        say: called with a line for each shared item.

    Raises:
        HeadError, HubError: if there is nothing to share, a licence is missing, or the remote refuses it.
    """
    outgoing = cache_folder() / "hub" / "outgoing" / request.what
    with exclusive_lock(outgoing.with_suffix(".lock")):
        # Left by a killed push.
        shutil.rmtree(outgoing, ignore_errors=True)
        outgoing.mkdir(parents=True)
        gather = _heads if request.what == HEADS else _results
        try:
            name, weights, card = gather(request, outgoing, where, say)
            refuse_name(name)
            atomic_text(outgoing / CARD, card)
            manifest = describe(outgoing, request.what, name, weights, __version__)
            atomic_text(outgoing / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
            commit = place.put(outgoing, request.what, f"{request.what} of {name}")
        finally:
            shutil.rmtree(outgoing)
    return Pushed(manifest, place.title, commit)


def _heads(request: PushRequest, outgoing: Path, where: str, say: Say) -> tuple[str, str, str]:
    """Copies the heads; returns the model's name and weights, and the card."""
    entry = find_entry(request.model, request.base, revision=request.revision)
    encoder = open_encoder(request.model, request.base, "cpu", revision=request.revision)
    sets = gather_heads(request.model, encoder, list(request.heads), outgoing)
    for heads in sets:
        say(f"  {heads.kind}, seed {heads.seed}: {heads.folder}")
    origin = Origin(
        encoder.name, encoder.hub_id, (encoder.revision,), (encoder.base_source,) if encoder.base_source else ()
    )
    card = heads_card(
        origin, encoder.weights_id, sets, known_text(sets), request.language, request.licence or entry.licence, where
    )
    return encoder.name, encoder.weights_id, card


def _results(request: PushRequest, outgoing: Path, where: str, say: Say) -> tuple[str, str, str]:
    """Copies the runs of all kinds that are shared together; returns the model's name, no weights, and the card."""
    entry, what, sources = find_entry(request.model), request.what, list(request.runs) or result_folders()
    kinds = kinds_of(what)
    left: list[str] = []
    rows = gather_results(what, entry.name, sources, outgoing, request.heads or heads_of(what), left.append)
    if request.licence is None and (others := _foreign(what, rows, outgoing)):
        withheld = any(table.withheld for kind in kinds for table in kind.tables)
        hidden = "; the words of the sentences are not shared" if withheld else ""
        raise HubError(
            f"the runs of {entry.name} are on {others}: name the licence that their owners allow with --licence{hidden}"
        )
    for row in rows:
        said = next(kind.describe(row) for kind in kinds if kind.holds(row))
        say(f"  {row['run_id']}: {said}")
    if left:
        say(f"  left out, as they have only counts and no predictions: {', '.join(sorted(set(left)))}")
    origin, licence = origin_of_runs(entry.name, rows), request.licence or entry.licence
    card = results_card(
        what, origin, rows, _tables(outgoing), task_licences(what, outgoing), request.language, licence, where
    )
    return entry.name, "", card


def _foreign(what: str, rows: Sequence[dict], outgoing: Path) -> str:
    """What the runs are on that is not this project's own, in words; empty if there is nothing."""
    if facts := foreign_facts(rows, outgoing) if _of_facts(what) else foreign_ids(rows, outgoing, kinds_of(what)):
        return f"{'; '.join(facts)}, which are not this project's own"
    tasks = own_tasks(what, rows)
    return f"the task {', '.join(tasks)}, whose data are not this project's" if tasks else ""


def _tables(outgoing: Path) -> list[str]:
    """The tables that have a file."""
    there = {table_of(path) for path in outgoing.rglob("*.parquet")}
    return [table for table in SCHEMAS if table in there]
