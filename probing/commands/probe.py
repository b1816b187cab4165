"""``probing probe``: ask every layer of a model every fact, and store what it says."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from probing import __version__
from probing.commands.executors import (
    AddressOption,
    SlurmOption,
    ThreadsOption,
    Who,
    WhoOption,
    WorkersOption,
    executor,
    passed_on,
    same_path,
    set_threads,
)
from probing.commands.model_records import copy_beside, drift_from_base, hidden_by_name, refuse_taken_name
from probing.commands.shard_work import ProbeWork, probe_job, write_asked
from probing.core.errors import FactsError, HeadError, ProbingError
from probing.core.fact_sources import read_facts
from probing.core.facts import Fact, FactSet
from probing.core.own_facts import is_own
from probing.core.places import cache_folder, database_folder, result_folders, runs_folder
from probing.core.registry import name_in_files
from probing.core.shipped import FACTS_FOLDER
from probing.core.swapped import WITHOUT_THE_ANSWER, lenders
from probing.core.templates import Relation, read_lama_relations, read_relations
from probing.core.tokenizer_ids import tokenizer_id
from probing.core.whole_files import one_at_a_time
from probing.jobs.claim import claimed
from probing.jobs.coordinator import Executor, run_job

if TYPE_CHECKING:
    from probing.models.encoders import Encoder
    from probing.models.heads import DecodingHead
    from probing.models.probing import RunConfig


def probe(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    facts: Annotated[
        str, typer.Option(help="trex, google_re, common_sense, questions, all; a LAMA folder; or a .jsonl or .csv file.")
    ] = "all",
    head: Annotated[str, typer.Option(help="full, tied or lens.")] = "tied",
    called: Annotated[str | None, typer.Option("--as", help="Name of the probe set of your own facts; none: the file's name.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs; none: cache/runs.")] = None,
    templates: Annotated[str | None, typer.Option(help="Template set; none: a LAMA folder's own, else default.")] = None,
    top: Annotated[int, typer.Option(help="Best tokens to keep for each fact and layer.", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the heads; from 1 on a replicate, of the last layer only.", min=0)] = 0,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model takes.")] = None,
    name: Annotated[str | None, typer.Option(help="How results call the model; none: its registry name or its folder's.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    double: Annotated[bool, typer.Option("--float64", help="Compute in float64.")] = False,
    shard: Annotated[int, typer.Option(help="Facts a shard; a killed run loses the one it computes and the one it writes.", min=1)] = 2048,
    compact: Annotated[bool, typer.Option("--compact", help="A third of the size: rounded, best token only, no swapped subject.")] = False,
    who: WhoOption = Who.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
    slurm: SlurmOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Probe every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.

    A run that was killed goes on under any executor: the fingerprint and the bytes do not depend on who computes.
    """
    import torch

    from probing.models.answers import askable
    from probing.models.catalogue import base_entry, find_entry, heads_folder, open_encoder
    from probing.models.head_files import heads_fingerprint, load_heads, no_heads
    from probing.models.probing import RunConfig, facts_sha256
    from probing.store.build import build_database
    from probing.store.parquet import write_table

    if head == "lens" and seed:
        raise HeadError(f"got seed {seed} for the lens: it is not trained, so it has no other seed; leave --seed out")
    relations = read_relations(FACTS_FOLDER / "relations.toml")
    sets = read_facts(facts, relations, templates, own_name=called)
    target = out or runs_folder()
    used = set_threads(threads)
    encoder = open_encoder(model, base, device, torch.float64 if double else torch.float32, name)
    refuse_taken_name(encoder, [target] if out else result_folders())
    entry = find_entry(model, base, name)
    layers = list(range(encoder.layers + 1)) if seed == 0 else [encoder.layers]
    folder = None if head == "lens" else heads_folder(model, encoder, head, cache_folder(), seed, layers)
    if folder is None and seed:
        raise no_heads(encoder, head, seed)
    heads = load_heads(folder, encoder, head, layers)
    # By name, as the base's own runs are called, also where a folder was named.
    origin = base_entry(entry)
    family = origin.name if origin else ""
    drift = drift_from_base(encoder, entry, family, chosen=base is not None) if origin else []
    workers_of = executor(who, used, encoder.device.type, workers, address, slurm)
    for found in sets:
        kept, answers = askable(found, encoder)
        left = ", ".join(f"{count:,} {reason}" for reason, count in sorted(kept.left_out.items())) or "none"
        typer.echo(f"{found.probe_set}: read {kept.n_read:,} = probed {len(kept.facts):,} + left out ({left})")
        if not kept.facts:
            typer.echo("  nothing is left to probe, so no run is stored")
            continue
        config = RunConfig(
            model=encoder.name,
            weights=encoder.identity,
            model_revision=encoder.revision,
            base=family,
            objective=entry.objective,
            head=head,
            head_recipe=heads_fingerprint(folder, encoder, head, layers[0]),
            seed=seed,
            probe_set=found.probe_set,
            template_set=found.template_set,
            facts_sha256=facts_sha256(kept.facts, answers),
            top_k=1 if compact else top,
            dtype="float64" if double else "float32",
            threads=used,
            shard=shard,
            code_version=__version__,
            compact=compact,
            lenders="" if compact else WITHOUT_THE_ANSWER,
            configuration=encoder.configuration,
            casing=encoder.casing,
        )
        if is_own(found.probe_set) and (words := hidden_by_name(config, [target] if out else result_folders())):
            typer.echo(f"  {words}", err=True)
        run = _Run(encoder, heads, kept, answers, config, target, layers, model, base, folder, workers_of)
        # One process a run: the second waits, and then finds it done.
        with claimed(cache_folder() / "shards" / config.run_id, typer.echo):
            _store(run)
        _write_relations(relations, facts, target)
        copy_beside(model, entry, target)
    if drift and seed == 0:
        write_table("weight_drift", drift, target / f"weight_drift-{name_in_files(encoder.name)}.parquet")
    if out is None:
        build_database(result_folders(), database_folder())


@dataclass(frozen=True)
class _Run:
    """A model with heads, a set of facts that it is asked, and who asks."""

    encoder: "Encoder"
    heads: "Sequence[DecodingHead]"
    kept: FactSet
    answers: Sequence[int]
    config: "RunConfig"
    target: Path
    layers: Sequence[int]
    model: str
    base: str | None
    heads_folder: Path | None
    workers: Executor


def _store(run: _Run) -> None:
    """Writes a run and what belongs to it, as far as they are not there."""
    from probing.commands.stored_predictions import prediction_columns
    from probing.models.configuration import tokens_of
    from probing.models.probing import gather_shards
    from probing.store.parquet import write_table

    encoder, config, layers = run.encoder, run.config, run.layers
    run_id = config.run_id
    predictions, stored = run.target / f"predictions-{run_id}.parquet", run.target / f"runs-{run_id}.parquet"
    order = sorted(range(len(run.kept.facts)), key=lambda n: (run.kept.facts[n].relation, n))
    facts = [run.kept.facts[n] for n in order]
    # A fine-tuned model has its base's tokenizer, stored once.
    tokens = tokens_of(encoder.tokenizer)
    tokenizer = tokenizer_id(name_in_files(config.base or encoder.base), tokens)
    # Cheap, and thus written where they are missing or torn, even if the predictions are there already.
    _whole("facts", run.target / f"facts-{config.facts_sha256[:16]}.parquet", [_fact_row(fact, config.template_set) for fact in facts])
    if config.lenders:
        _whole("lenders", run.target / f"lenders-{run_id}.parquet", _lender_rows(run_id, facts))
    vocabulary = [{"tokenizer": tokenizer, "id": i, "token": token} for i, token in enumerate(tokens)]
    _whole("vocabulary", run.target / f"vocabulary-{tokenizer}.parquet", vocabulary)
    work = cache_folder() / "shards"
    done = _rows("predictions", predictions) == len(layers) * len(facts)
    if not done:
        _ask(run, facts, [run.answers[n] for n in order], work)
        columns = gather_shards(facts, config, work, layers)
        write_table("predictions", prediction_columns(run_id, facts, columns, layers, config.compact), predictions)
    unlisted = {"weights", "head_recipe", "facts_sha256", "threads", "shard", "compact", "lenders", "configuration", "casing"}
    row = config.model_dump(exclude=unlisted) | {
        "run_id": run_id,
        "role": "primary" if config.seed == 0 else "replicate",
        "layers": encoder.layers + 1,
        "n_read": run.kept.n_read,
        "n_probed": len(facts),
        "left_out": json.dumps(run.kept.left_out, sort_keys=True),
        "tokenizer": tokenizer,
        "config": config.canonical(),
    }
    # Written last: a run exists once its row does. What was read and left out may change while the kept facts stay.
    if not (done and _same_row(stored, row)):
        now = {"device": str(encoder.device), "created": datetime.now(UTC).isoformat(timespec="seconds")}
        write_table("runs", [row | now], stored)
    shutil.rmtree(work / run_id, ignore_errors=True)
    typer.echo(f"  {run_id} is there already: {predictions}" if done else f"  {run_id}: {predictions}")


def _ask(run: _Run, facts: Sequence[Fact], answers: Sequence[int], work: Path) -> None:
    """Has every shard of the run done by its executor."""
    opened = ProbeWork(run.encoder, run.heads, facts, answers, run.config, work, cache_folder() / "states", run.layers)
    job = probe_job(opened, same_path(run.model), run.base and same_path(run.base), run.heads_folder, passed_on())
    if run.workers.name != Who.local:
        write_asked(job, opened)
    outcome = run_job(job, run.workers)
    if run.workers.name != Who.local:
        typer.echo(f"  {outcome.told()}")


def _readable(table: str, path: Path):
    """The table in a file, None where there is none; a torn one is named, for its caller makes it again."""
    from probing.store.parquet import read_table

    if not path.is_file():
        return None
    try:
        return read_table(path, table)
    except ProbingError as error:
        typer.echo(f"  {error}; it is made again")
        return None


def _rows(table: str, path: Path) -> int | None:
    found = _readable(table, path)
    return None if found is None else found.num_rows


def _whole(table: str, path: Path, rows: list[dict]) -> None:
    """Writes a table that is missing, torn or, having come from elsewhere, says otherwise."""
    from probing.store.parquet import as_stored, write_table

    found = _readable(table, path)
    if found is None or not found.equals(as_stored(table, rows)):
        write_table(table, rows, path)


def _same_row(path: Path, row: dict) -> bool:
    found = _readable("runs", path)
    if found is None or found.num_rows != 1:
        return False
    (stored,) = found.to_pylist()
    return all(stored[key] == value for key, value in row.items())


def _lender_rows(run_id: str, facts: Sequence[Fact]) -> list[dict]:
    """Whose prompt each fact borrows; without those that nobody can lend to."""
    ids = [fact.fact_id for fact in facts]
    pairs = zip(ids, lenders(facts), strict=True)
    return [{"run_id": run_id, "fact_id": fact_id, "lender_id": ids[lender]} for fact_id, lender in pairs if lender is not None]


def _fact_row(fact, template_set: str) -> dict:
    return {
        "fact_id": fact.fact_id,
        "probe_set": fact.probe_set,
        "relation": fact.relation,
        "subject": fact.subject,
        "object": fact.object,
        "prompt": fact.prompt,
        "template": fact.template,
        "template_set": template_set,
        "answer_in_subject": fact.answer_in_subject,
        "pred": fact.pred,
    }


def _write_relations(ours: dict[str, Relation], source: str, target: Path) -> None:
    """Adds what is known of relations to what is stored of others."""
    rows = dict(ours)
    theirs = Path(source) / "relations.jsonl"
    if theirs.is_file():
        rows = {**read_lama_relations(theirs), **rows}
    if not rows:
        raise FactsError("no relations are known; expected data/facts/relations.toml")
    table = [{"relation": r.name, "probe_set": r.probe_set, "label": r.label, "cardinality": r.cardinality} for r in rows.values()]
    path = target / "relations.parquet"
    # Two that read it at once would each write what the other does not know.
    with one_at_a_time(cache_folder() / "locks" / "relations.lock"):
        found = _readable("relations", path)
        stored = [] if found is None else found.to_pylist()
        _whole("relations", path, list({(row["probe_set"], row["relation"]): row for row in [*stored, *table]}.values()))
