"""``probing probe``: ask every layer of a model every fact, and store what it says."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
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
from probing.core.errors import HeadError
from probing.core.facts.fact import Fact, FactSet
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.knowledge.swapped import WITHOUT_THE_ANSWER
from probing.core.paths import cache_folder, database_folder, result_folders, runs_folder
from probing.core.registry import name_in_files
from probing.jobs.coordinator import Executor, run_job
from probing.jobs.lock import claimed
from probing.workflows.model_records import copy_beside, drift_from_base, refuse_taken_name
from probing.workflows.shard_work import ProbeWork, probe_job, write_asked
from probing.workflows.stored_run import has_predictions, in_order, predictions_path, write_asked_facts, write_relations, write_row

if TYPE_CHECKING:
    from probing.models.encoders.head import DecodingHead
    from probing.models.encoders.load import Encoder
    from probing.models.knowledge.probe import RunConfig


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

    from probing.core.model_folders import base_entry, find_entry
    from probing.models.encoders.answer_tokens import askable
    from probing.models.encoders.catalogue import open_encoder
    from probing.models.heads.files import heads_fingerprint, heads_folder, load_heads, no_heads
    from probing.models.knowledge.probe import RunConfig, facts_sha256
    from probing.store.build import build_database
    from probing.store.parquet import write_table

    if head == "lens" and seed:
        raise HeadError(f"got seed {seed} for the lens: it is not trained, so it has no other seed; leave --seed out")
    relations = shipped_relations()
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
    drift = drift_from_base(encoder, entry, family, typer.echo, chosen=base is not None) if origin else []
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
        run = _Run(encoder, heads, kept, answers, config, target, layers, model, base, folder, workers_of)
        # One process a run: the second waits, and then finds it done.
        with claimed(cache_folder() / "shards" / config.run_id, typer.echo):
            _store(run)
        write_relations(relations, facts, target, typer.echo)
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
    from probing.models.knowledge.probe import gather_shards
    from probing.store.knowledge.predictions import prediction_columns
    from probing.store.parquet import write_table

    encoder, config, layers, run_id = run.encoder, run.config, run.layers, run.config.run_id
    predictions = predictions_path(run.target, run_id)
    order = in_order(run.kept.facts)
    facts = [run.kept.facts[n] for n in order]
    # Cheap, and thus written where they are missing or damaged, even if the predictions are there already.
    tokenizer = write_asked_facts(facts, config, encoder, run.target, typer.echo)
    work = cache_folder() / "shards"
    done = has_predictions(run.target, run_id, len(layers) * len(facts), typer.echo)
    if not done:
        _ask(run, facts, [run.answers[n] for n in order], work)
        columns = gather_shards(facts, config, work, layers)
        write_table("predictions", prediction_columns(run_id, facts, columns, layers, config.compact), predictions)
    write_row(config, run.kept, encoder, tokenizer, run.target, typer.echo, done)
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
