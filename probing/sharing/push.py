"""Shares trained heads, or stored runs, through the Hugging Face Hub or a folder."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from probing.facts.sources import read_facts
from probing.facts.stored_run import predictions_path, run_files
from probing.heads.files import head_path, heads_folder, load_heads, read_identity, train_command, validation_losses
from probing.heads.recipe import text_sha256
from probing.heads.training_run import head_text
from probing.kernel.errors import FactsError, HeadError, HubError, Say, StoreError
from probing.kernel.fact import PHRASES, shipped_relations
from probing.kernel.files import (
    atomic_folder,
    atomic_text,
    cache_folder,
    file_sha256,
    link_or_copy,
    pulled_folders,
    result_folders,
)
from probing.kernel.locks import exclusive_lock
from probing.kernel.models.catalogue import heads_of as roots_of_heads
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import HEADS as KINDS_OF_HEADS
from probing.kernel.models.names import STORED, TIED, canonical_heads, find_entry
from probing.kernel.provenance import fingerprint_problem
from probing.kernel.registry import has_data
from probing.kernel.store.columns import Table
from probing.kernel.store.kinds import FACTS, Kind
from probing.kernel.store.parquet import files_of, read_table, table_of, without_texts, write_table
from probing.sharing.card import MADE_BY, Origin, card, origin_of_runs
from probing.sharing.share import (
    CARD,
    DATA,
    MANIFEST,
    PATHS,
    Manifest,
    asked_hub,
    described,
    first_problem,
    kind_of,
    read_manifest,
    refuse_name,
    repository_type,
    rows_of,
    title_of,
)
from probing.subjects import HEADS, kinds_of

#: The hub's name of the text that ``fetch wikitext-2`` brings.
_WIKITEXT = "Salesforce/wikitext"
#: Template sets that ship with the facts.
_OUR_TEMPLATES = ("default", "paraphrase")
_OF_ONE_RUN = re.compile(r"-[0-9a-f]{16}\.parquet$")


def heads_of(what: str) -> tuple[str, ...]:
    """The kinds of heads that shared files of this content can be of; none if they are of no heads."""
    if what == HEADS:
        return STORED
    return KINDS_OF_HEADS if any(kind.name == FACTS for kind in kinds_of(what)) else ()


@dataclass(frozen=True)
class PushRequest:
    """The results to share."""

    what: str  #: ``heads`` go to a model repository, all else to a data set repository
    model: str  #: registry name, hub id or folder; for runs its name in ``runs``
    to: str | None = None  #: repository on the hub, OWNER/NAME; or None with
    to_folder: Path | None = None  #: a folder instead of the hub
    private: bool = False  #: makes a new repository private
    heads: Sequence[str] = ()  #: kinds of heads; none: all that exist
    runs: Sequence[Path] = ()  #: folders of runs; none: one's own and the snapshot, not what was pulled
    base: str | None = None  #: model whose head a headless model uses
    licence: str | None = None  #: on the card; None: the model's
    language: str = "en"  #: of text or facts, in the hub's spelling
    #: Of a model on the hub whose heads are shared; None: what the registry pins, else the main branch.
    revision: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", canonical_heads(self.heads))

    @property
    def where(self) -> str:
        """The name of the share for ``pull``."""
        return self.to or f"--from-folder {self.to_folder}"


def push(request: PushRequest, say: Say = print) -> tuple[Manifest, str]:
    """Gathers, describes and shares, the same content once; the manifest, and the commit that a pull can name."""
    outgoing = cache_folder() / "hub" / "outgoing" / request.what
    with exclusive_lock(outgoing.with_suffix(".lock")):
        # Left by a killed push.
        shutil.rmtree(outgoing, ignore_errors=True)
        outgoing.mkdir(parents=True)
        try:
            gather = _heads if request.what == HEADS else _runs
            name, weights, text = gather(request, outgoing, say)
            refuse_name(name)
            atomic_text(outgoing / CARD, text)
            manifest = described(outgoing, request.what, name, weights)
            atomic_text(outgoing / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
            if request.to_folder:
                return manifest, _to_folder(outgoing, request.to_folder, manifest)
            return manifest, _to_hub(outgoing, str(request.to), manifest, request.private)
        finally:
            shutil.rmtree(outgoing)


def _to_hub(outgoing: Path, name: str, manifest: Manifest, private: bool) -> str:
    from huggingface_hub import HfApi

    api, kind = HfApi(library_name="bertnesia-explorer"), repository_type(manifest.what)
    asked_hub("push to", name, kind, api.create_repo, private=private or None, exist_ok=True)
    paths, title = asked_hub("push to", name, kind, api.list_repo_files), title_of(name, kind)
    if MANIFEST in paths:
        there = asked_hub("push to", name, kind, api.hf_hub_download, filename=MANIFEST)
        _refuse_other(read_manifest(Path(there).parent, title), manifest, title)
    elif strange := [path for path in paths if path.startswith((f"{DATA}/", f"{HEADS}/"))]:
        raise HubError(f"{title} holds {strange[0]} and no {MANIFEST}; name a new repository, or one of a push")
    # Files of earlier pushes that this one lacks are deleted.
    options = {"folder_path": outgoing, "delete_patterns": ["heads/*", "data/*"]}
    message = f"{manifest.what} of {manifest.model}"
    return str(asked_hub("push to", name, kind, api.upload_folder, commit_message=message, **options).oid)


def _to_folder(outgoing: Path, folder: Path, manifest: Manifest) -> str:
    """Replaces the share in a folder, its manifest last: until then a pull refuses the folder."""
    if folder.exists() and not folder.is_dir():
        raise HubError(f"{folder} is a file; name a folder")
    if (folder / MANIFEST).is_file():
        _refuse_other(read_manifest(folder, str(folder)), manifest, str(folder))
    elif strange := next(_strange_files(folder), None):
        raise HubError(
            f"{folder} holds {strange} and no {MANIFEST}; name an empty folder, or one that was pushed to before"
        )
    with atomic_folder(folder) as half:
        for path in sorted(path for path in outgoing.rglob("*") if path.is_file()):
            (half / path.relative_to(outgoing)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, half / path.relative_to(outgoing))
        (folder / MANIFEST).unlink(missing_ok=True)
        for part in (DATA, HEADS):
            shutil.rmtree(folder / part, ignore_errors=True)
    return file_sha256(folder / MANIFEST)[:40]


def _refuse_other(there: Manifest, manifest: Manifest, title: str) -> None:
    """Raises a ``HubError`` if a share is of something else than the one that is to replace it."""
    if (there.what, there.model) != (manifest.what, manifest.model):
        raise HubError(
            f"{title} holds {there.what} of {there.model}, which {manifest.what} of {manifest.model} would replace;"
            " name another place"
        )


def _strange_files(folder: Path) -> Iterator[str]:
    """The files of a folder without a manifest that are not what a killed push left."""
    card = folder / CARD
    ours = card.is_file() and MADE_BY in card.read_text(encoding="utf-8", errors="replace")
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        known = name == CARD or any(re.fullmatch(form, name) for form in PATHS.values())
        if not path.is_dir() and not (ours and known):
            yield name


def _heads(request: PushRequest, outgoing: Path, say: Say) -> tuple[str, str, str]:
    """Copies every complete set of a model's heads; returns the model's name and weights, and the card."""
    entry = find_entry(request.model, request.base, revision=request.revision)
    encoder = open_encoder(request.model, request.base, "cpu", revision=request.revision)
    kinds, lines, texts = request.heads, [], set()
    for kind in kinds or STORED:
        of_kind = _heads_of_kind(request.model, encoder, kind, outgoing)
        if not of_kind and kinds:
            raise HeadError(_no_heads(encoder, kind, f"{kind} heads"))
        for seed, folder, layers in of_kind:
            say(f"  {kind}, seed {seed}: {folder}")
            recipe = json.loads(read_identity(head_path(folder, layers[0])).recipe)
            texts.add(recipe["text_sha256"])
            losses = [f"{row['best']:.3f}" for row in validation_losses(folder, layers)]
            of = "all layers" if seed == 0 else f"the last layer, replicate with seed {seed}"
            lines.append(f"`{kind}` heads of {of}; validation loss in nats, by layer: {', '.join(losses)}")
    if not lines:
        raise HeadError(_no_heads(encoder, TIED, "trained heads of any kind"))
    origin = Origin(
        encoder.name, encoder.hub_id, (encoder.revision,), (encoder.base_source,) if encoder.base_source else ()
    )
    try:
        known = [_WIKITEXT] if texts == {text_sha256(*head_text(None, None))} else []
    except FactsError:
        known = []
    licence = request.licence or entry.licence
    text = card(HEADS, origin, lines, outgoing, {}, request.language, licence, request.where, known)
    return encoder.name, encoder.weights_id, text


def _heads_of_kind(model: str, encoder: Encoder, kind: str, outgoing: Path) -> list[tuple[int, Path, list[int]]]:
    """Copies the complete sets of heads of a kind; returns seed, folder and layers of each."""
    roots, found = roots_of_heads(encoder, cache_folder()), []
    names = (path.name.rpartition("-seed")[2] for root in roots for path in root.glob(f"{kind}-seed*"))
    seeds = {0} | {int(seed) for seed in names if seed.isdecimal()}
    for seed in sorted(seeds):
        layers = list(range(encoder.layers)) if seed == 0 else [encoder.depth]
        folder = heads_folder(model, encoder, kind, cache_folder(), seed, layers)
        if folder is None:
            continue
        load_heads(folder, encoder, kind, layers)
        for layer in layers:
            shared = outgoing / HEADS / encoder.weights_id[:16] / f"{kind}-seed{seed}"
            link_or_copy(head_path(folder, layer), head_path(shared, layer))
        found.append((seed, folder, layers))
    return found


def _no_heads(encoder: Encoder, kind: str, named: str) -> str:
    command = train_command(encoder, kind)
    return f"no {named} of {encoder.name} exist for every layer; train them with: {command}"


def _runs(request: PushRequest, outgoing: Path, say: Say) -> tuple[str, str, str]:
    """Copies the runs of all kinds that are shared together; returns the model's name, no weights, and the card."""
    entry, what, folders = find_entry(request.model), request.what, result_folders()
    sources = list(request.runs) or [folder for folder in folders if folder not in pulled_folders()]
    rows = gather_runs(what, entry.name, sources, outgoing, request.heads or heads_of(what), say)
    if request.licence is None and (others := _on_other_data(what, rows, outgoing / DATA)):
        withheld = any(table.withheld for kind in kinds_of(what) for table in kind.tables)
        hidden = "; the words of the sentences are not shared" if withheld else ""
        raise HubError(
            f"the runs of {entry.name} are on {others}: name the licence that their owners allow with --licence{hidden}"
        )
    if problem := first_problem(outgoing, what, entry.name, request.runs or folders):
        # What no pull takes is not pushed.
        raise StoreError(f"the {what} of {entry.name} cannot be shared: {problem}")
    lines = []
    for row in rows:
        lines.append(f"`{row['run_id']}`: {' '.join(kind_of(what, row).describe(row).split())}")
        say(f"  {lines[-1].replace('`', '')}")
    licences = {
        row["task"]: row["licence"]
        for kind in kinds_of(what)
        for table in kind.tables
        if "licence" in table.schema.names
        for row in rows_of(table.name, outgoing)
    }
    origin, licence = origin_of_runs(entry.name, rows), request.licence or entry.licence
    return entry.name, "", card(what, origin, lines, outgoing, licences, request.language, licence, request.where)


def gather_runs(
    what: str, model: str, sources: Sequence[Path], outgoing: Path, heads: Sequence[str] = (), say: Say = print
) -> list[dict]:
    """Copies the files of a model's runs, their tasks and the model; the first of several sources of a run counts.

    Sentences that a table withholds are shared only if the licence of a built-in task allows it; those of a user's file
    never are. Returns the rows of the runs, by kind.
    """
    rows: dict[str, dict] = {}
    left_out, target, read = set(), outgoing / DATA, lru_cache(8)(read_table)
    for kind in kinds_of(what):
        for source, path in [(folder, path) for folder in sources for path in files_of(kind.runs, folder)]:
            for row in read(path, kind.runs).to_pylist():
                run_id = row["run_id"]
                if row["model"] != model or run_id in rows or row.get("head", "") not in (*heads, ""):
                    continue
                if kind.name == FACTS and not predictions_path(path.parent, run_id).is_file():
                    left_out.add(run_id)
                    continue
                if problem := fingerprint_problem(run_id, row["config"]):
                    raise StoreError(f"{path}: {problem}; run `{kind.command}` again")
                rows[run_id] = row
                for table in (table for table in kind.tables if table.per in ("run_id", "task", "task protocol")):
                    _gather(kind, table, row, path, source, target, read)
                if kind.name != FACTS:
                    continue
                # Every folder has files of relations, with different rows.
                relations = [one for one in path.parent.glob("relations*.parquet") if table_of(one) == "relations"]
                needed = [*run_files(path.parent, row), *(relations or [path.with_name("relations.parquet")])]
                if missing := [file for file in needed if not file.is_file()]:
                    raise StoreError(f"run {run_id} lacks {missing[0]}; run `probe` again to complete it")
                for file in needed:
                    of_folder = f"relations-{file_sha256(file)[:16]}.parquet"
                    _link(file, target / (of_folder if file in relations else file.name))
        for table in (table for table in kind.tables if table.per == "model"):
            name = table.file_name({"model": model})
            for found in [path for source in sources for path in sorted(source.rglob(name))][:1]:
                _link(found, target / name)
    if not rows:
        kinds = kinds_of(what)
        named = " and no ".join(kind.title for kind in kinds)
        of_heads = f" with heads {', '.join(heads)}" if heads else ""
        raise StoreError(
            f"no {named} of {model}{of_heads} in {', '.join(map(str, sources)) or 'any folder'}; "
            f"python -m probing {kinds[0].command} --model {model}"
        )
    if left_out:
        say(f"  left out, as they have only counts and no predictions: {', '.join(sorted(left_out))}")
    return list(rows.values())


def _gather(
    kind: Kind, table: Table, row: dict, path: Path, source: Path, target: Path, read: Callable[..., pa.Table]
) -> None:
    """Copies the rows of a run or of its task: from a file of their own, or of many as in the snapshot, in the nearest
    folder.
    """
    name = table.file_name(row)
    if (target / name).is_file():
        return
    withheld = table.withheld if table.withheld and not kind.open_tasks.get(row["task"], False) else ()
    seen = False
    for folder in (folder for folder in path.parents if folder == source or source in folder.parents):
        own = folder / name
        if own.is_file() and not withheld:
            link_or_copy(own, target / name)
            return
        every = (one for one in sorted(folder.glob(f"{table.name}*.parquet")) if table_of(one) == table.name)
        joint = [own] if own.is_file() else [one for one in every if not _OF_ONE_RUN.search(one.name)]
        parts = [read(one, table.name) for one in joint]
        seen |= (folder / f"{table.name}.parquet").is_file()
        for column in table.per.split():
            parts = [rows.filter(pc.equal(rows.column(column), row[column])) for rows in parts]
        if any(map(len, parts)):
            rows = pa.concat_tables(parts)
            write_table(table.name, without_texts(rows, *withheld) if withheld else rows, target / name)
            return
    if not seen and table.per != "run_id":
        raise StoreError(f"run {row['run_id']} lacks {name}; run `{kind.command}` again to complete it")


def _link(found: Path, target: Path) -> None:
    if not target.is_file():
        link_or_copy(found, target)


def _on_other_data(what: str, rows: Sequence[dict], data: Path) -> str:
    """What the runs are on that is not this project's own, in words; empty if there is nothing."""
    others, ours = set(), cache(_shipped_facts)
    for row in (row for row in rows if "probe_set" in row):
        tables = [table for table in kind_of(what, row).tables if "fact_id" in table.schema.names]
        files = [(data / table.file_name(row), table.name) for table in tables if table.per == "run_id"]
        asked = [
            fact_id
            for path, table in files
            if path.is_file()
            for fact_id in read_table(path, table, ["fact_id"]).column("fact_id").unique().to_pylist()
        ]
        # Of facts that are not known it is not known whose they are.
        if not asked or set(asked) - ours():
            others.add(f"{row['probe_set']} with the prompts {row['template_set']}")
    if others:
        return f"{'; '.join(sorted(others))}, which are not this project's own"
    built_in = {task for kind in kinds_of(what) for task in kind.open_tasks}
    tasks = sorted({row["task"] for row in rows if "task" in row} - built_in)
    return f"the task {', '.join(tasks)}, whose data are not this project's" if tasks else ""


def _shipped_facts() -> set[str]:
    """Ids of the facts that ship, which depend on their prompts; none without the repository's data."""
    if not has_data():
        return set()
    relations = shipped_relations()
    asked = [(name, templates) for name in ("all", PHRASES) for templates in _OUR_TEMPLATES]
    sets = [one for name, templates in asked for one in read_facts(name, relations, templates)]
    return {fact.fact_id for one in sets for fact in one.facts}
