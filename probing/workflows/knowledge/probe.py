"""Asks every layer of a model every fact, and stores what it says."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from probing import __version__
from probing.core.errors import HeadError
from probing.core.facts.custom import is_own
from probing.core.facts.fact import FactSet
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.knowledge.swapped import WITHOUT_THE_ANSWER
from probing.core.model_folders import base_entry, find_entry
from probing.core.paths import cache_folder, database_folder, result_folders, runs_folder
from probing.core.registry import ModelEntry, name_in_files
from probing.jobs.coordinator import Executor, run_job
from probing.jobs.lock import claimed
from probing.models.encoders.answer_tokens import askable
from probing.models.encoders.catalogue import open_encoder
from probing.models.encoders.head import DecodingHead
from probing.models.encoders.load import Encoder
from probing.models.heads.files import heads_fingerprint, heads_folder, load_heads, no_heads
from probing.models.knowledge.probe import ProbeWork, RunConfig, facts_sha256, gather_shards
from probing.models.runtime.torch_settings import number_format, set_threads
from probing.store.build import build_database
from probing.store.knowledge.predictions import prediction_columns
from probing.store.parquet import write_table
from probing.workflows.executors import ExecutorChoice, Who, executor, passed_on, same_path
from probing.workflows.head_training import write_training
from probing.workflows.knowledge.shard_work import probe_job, write_asked
from probing.workflows.knowledge.stored_run import (
    has_predictions,
    in_order,
    predictions_path,
    write_asked_facts,
    write_relations,
    write_row,
)
from probing.workflows.model_records import copy_beside, drift_from_base, hidden_by_name, refuse_taken_name
from probing.workflows.say import Say

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProbeRequest:
    """What is asked of which model, and how.

    Attributes:
        model: registry name, hub id or folder.
        facts: what ``read_facts`` takes: trex, google_re, common_sense, questions, all; a LAMA folder; or a .jsonl or .csv file.
        head: one of ``HEADS``.
        called: name of the probe set of one's own facts; None takes the file's.
        out: folder of the runs; None is the usual one.
        templates: template set; None is a LAMA folder's own, else default.
        top: best tokens kept for each fact and layer.
        seed: of the heads; from 1 on a replicate, of the last layer only.
        base: base model whose head a headless model takes.
        name: how results call the model; None is its registry name or its folder's.
        device: auto, cpu, cuda or mps.
        double: whether to compute in float64.
        shard: facts a shard.
        compact: whether to keep a third: rounded, best token only, no swapped subject.
        lenders: rule of ``core.knowledge.swapped.RULES`` by which facts borrow the prompts for the swapped subject.
        threads: processors of a shard; None leaves them as they are.
        executor: who computes.
        rebuild: whether the database is built when the runs are in the usual folder.
    """

    model: str
    facts: str = "all"
    head: str = "tied"
    called: str | None = None
    out: Path | None = None
    templates: str | None = None
    top: int = 10
    seed: int = 0
    base: str | None = None
    name: str | None = None
    device: str = "auto"
    double: bool = False
    shard: int = 2048
    compact: bool = False
    lenders: str = WITHOUT_THE_ANSWER
    threads: int | None = None
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)
    rebuild: bool = True

    @property
    def target(self) -> Path:
        """Folder of the runs."""
        return self.out or runs_folder()

    @property
    def dtype(self) -> str:
        """The number format of the computation."""
        return "float64" if self.double else "float32"


@dataclass(frozen=True)
class _Asked:
    """What a request has in common for all its sets of facts.

    Attributes:
        entry: where the model lies and what it was made from.
        family: how results call its base; empty for none.
        layers: the layers asked, which the heads are for.
        heads_folder: None for the lens, which is in no file.
        threads: that this process computes with.
    """

    request: ProbeRequest
    entry: ModelEntry
    family: str
    encoder: Encoder
    layers: Sequence[int]
    heads: Sequence[DecodingHead]
    heads_folder: Path | None
    threads: int
    workers: Executor


def probe(request: ProbeRequest, say: Say = print) -> list[str]:
    """Probes every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.

    A run that was killed goes on under any executor: the fingerprint and the bytes do not depend on who computes.

    Args:
        request: what is asked.
        say: called with each line for the user.

    Returns:
        The ids of the runs, one for each set of facts of which something can be asked.

    Raises:
        OptionError: for an option of another executor.
        ProbingError: if facts, model, heads or base are not there or not usable, or the name is another model's.
    """
    if request.head == "lens" and request.seed:
        raise HeadError(f"got seed {request.seed} for the lens: it is not trained, so it has no other seed; leave --seed out")
    relations = shipped_relations()
    sets = read_facts(request.facts, relations, request.templates, own_name=request.called)
    target, threads = request.target, set_threads(request.threads)
    encoder = open_encoder(request.model, request.base, request.device, number_format(request.dtype), request.name)
    refuse_taken_name(encoder, [target] if request.out else result_folders())
    asked, drift = _opened(request, encoder, threads, say)
    run_ids = []
    for found in sets:
        kept, answers = askable(found, encoder)
        left = ", ".join(f"{count:,} {reason}" for reason, count in sorted(kept.left_out.items())) or "none"
        say(f"{found.probe_set}: read {kept.n_read:,} = probed {len(kept.facts):,} + left out ({left})")
        if not kept.facts:
            say("  nothing is left to probe, so no run is stored")
            continue
        work = _work(asked, kept, answers)
        if is_own(found.probe_set) and (note := hidden_by_name(work.config, [target] if request.out else result_folders())):
            _log.warning("  %s", note)
        # One process a run: the second waits, and then finds it done.
        with claimed(work.folder / work.config.run_id, say):
            _store(asked, kept, work, say)
        run_ids.append(work.config.run_id)
        write_relations(relations, request.facts, target, say)
        copy_beside(request.model, asked.entry, target)
    if run_ids and asked.heads_folder:
        write_training(encoder.name, request.seed, asked.heads_folder, asked.layers, target, say)
    if drift and request.seed == 0:
        write_table("weight_drift", drift, target / f"weight_drift-{name_in_files(encoder.name)}.parquet")
    if request.rebuild and request.out is None:
        build_database(result_folders(), database_folder())
    return run_ids


def _opened(request: ProbeRequest, encoder: Encoder, threads: int, say: Say) -> tuple[_Asked, list[dict]]:
    """Heads, base and executor of a request, and the rows of the model's drift from its base."""
    head, seed = request.head, request.seed
    entry = find_entry(request.model, request.base, request.name)
    layers = list(range(encoder.layers + 1)) if seed == 0 else [encoder.layers]
    folder = None if head == "lens" else heads_folder(request.model, encoder, head, cache_folder(), seed, layers)
    if folder is None and seed:
        raise no_heads(encoder, head, seed)
    heads = load_heads(folder, encoder, head, layers)
    # By name, as the base's own runs are called, also where a folder was named.
    origin = base_entry(entry)
    family = origin.name if origin else ""
    drift = drift_from_base(encoder, entry, family, say, chosen=request.base is not None) if origin else []
    workers = executor(request.executor, threads, encoder.device.type)
    return _Asked(request, entry, family, encoder, layers, heads, folder, threads, workers), drift


def _work(asked: _Asked, kept: FactSet, answers: Sequence[int]) -> ProbeWork:
    """What one set of facts is asked with, the facts in the order in which they are stored."""
    config = _configuration(asked, kept, facts_sha256(kept.facts, answers))
    order = in_order(kept.facts)
    return ProbeWork(
        asked.encoder, asked.heads, [kept.facts[n] for n in order], [answers[n] for n in order], config,
        cache_folder() / "shards", cache_folder() / "states", asked.layers,
    )  # fmt: skip


def _configuration(asked: _Asked, kept: FactSet, facts_sha256: str) -> RunConfig:
    """What a run's result depends on."""
    request, encoder, entry = asked.request, asked.encoder, asked.entry
    return RunConfig(
        model=encoder.name,
        weights=encoder.identity,
        model_revision=encoder.revision,
        base=asked.family,
        objective=entry.objective,
        head=request.head,
        head_recipe=heads_fingerprint(asked.heads_folder, encoder, request.head, asked.layers[0]),
        seed=request.seed,
        probe_set=kept.probe_set,
        template_set=kept.template_set,
        facts_sha256=facts_sha256,
        top_k=1 if request.compact else request.top,
        dtype=request.dtype,
        threads=asked.threads,
        shard=request.shard,
        code_version=__version__,
        compact=request.compact,
        lenders="" if request.compact else request.lenders,
        configuration=encoder.configuration,
        casing=encoder.casing,
    )


def _store(asked: _Asked, kept: FactSet, work: ProbeWork, say: Say) -> None:
    """Writes a run and what belongs to it, as far as they are not there."""
    config, facts, target, layers = work.config, work.facts, asked.request.target, work.wanted
    predictions = predictions_path(target, config.run_id)
    # Cheap, and thus written where they are missing or damaged, even if the predictions are there already.
    tokenizer = write_asked_facts(facts, config, work.encoder, target, say)
    done = has_predictions(target, config.run_id, len(layers) * len(facts), say)
    if not done:
        _ask(asked, work, say)
        columns = gather_shards(work)
        write_table("predictions", prediction_columns(config.run_id, facts, columns, layers, config.compact), predictions)
    write_row(config, kept, work.encoder, tokenizer, target, say, done)
    shutil.rmtree(work.folder / config.run_id, ignore_errors=True)
    say(f"  {config.run_id} is there already: {predictions}" if done else f"  {config.run_id}: {predictions}")


def _ask(asked: _Asked, work: ProbeWork, say: Say) -> None:
    """Has every shard of the run done by its executor."""
    request = asked.request
    job = probe_job(work, same_path(request.model), request.base and same_path(request.base), asked.heads_folder, passed_on())
    elsewhere = asked.workers.name != Who.local
    if elsewhere:
        write_asked(job, work)
    outcome = run_job(job, asked.workers)
    if elsewhere:
        say(f"  {outcome.summary()}")
