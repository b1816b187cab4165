"""Probes every layer of a model with every fact, and stores the predictions."""

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.facts.fact import FactSet, facts_sha256
from probing.facts.fact_templates import shipped_relations
from probing.facts.probe_probe import ProbeWork, gather_shards, probe_shards, shard_numbers
from probing.facts.requests import ProbeRequest
from probing.facts.requests_run import RunConfig
from probing.facts.sources import is_own
from probing.facts.sources_sources import read_facts
from probing.facts.store_predictions import prediction_columns
from probing.facts.stored_run import (
    has_predictions,
    in_order,
    predictions_path,
    write_asked_facts,
    write_relations,
    write_row,
)
from probing.facts.stored_run_head_training import write_training
from probing.heads.files import chosen_heads, heads_fingerprint, load_heads, no_heads, no_heads_note
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder, require_writable, result_folders
from probing.kernel.jobs.shards import Executor, claimed, run_job
from probing.kernel.jobs.stored_runs import ModelWork, provenance_of, take_pulled
from probing.kernel.models.catalogue import at_same_commits, open_encoder
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.load import Encoder, refuse_differing
from probing.kernel.models.names import LOGIT_LENS, base_entry, find_entry
from probing.kernel.models.records import copy_beside, drift_from_base, hidden_by_name, refuse_taken_name
from probing.kernel.models.tokens import askable
from probing.kernel.models.torch_settings import number_format, set_threads, thread_count
from probing.kernel.registry import ModelEntry, name_in_files
from probing.kernel.requests import Who, executor
from probing.kernel.store.parquet import write_table

_log = logging.getLogger(__name__)

#: Of the user's own facts that are left out, as many are listed.
_MOST_LEFT_OUT = 20


@dataclass(frozen=True)
class Probing(ProbeWork, ModelWork):
    """Probes a run's facts; a shard is a slice of them.

    Attributes:
        heads_folder: of the heads, which each process reads by itself; None for the logit lens.
    """

    heads_folder: Path | None = None

    @property
    def folder(self) -> Path:
        """With the manifest and the shards."""
        return self.shards_folder / self.config.run_id

    @property
    def shards(self) -> dict[str, int]:
        """Name of each shard -> its number."""
        return {f"shard-{number:05d}": number for number in shard_numbers(len(self.facts), self.config.shard)}

    def do(self, names: Sequence[str], finished: Callable[[str, Sequence[Path]], None]) -> None:
        """Does shards in order; each is recorded when it is written, while the next ones are computed."""
        shards = self.shards
        numbers = {shards[name]: name for name in names}
        probe_shards(self, numbers, lambda number, path: finished(numbers[number], [path]))

    def __getstate__(self) -> tuple[int, dict[str, Any]]:
        threads, values = super().__getstate__()
        return threads, values | {"heads": ()}

    def __setstate__(self, state: tuple[int, Mapping[str, Any]]) -> None:
        super().__setstate__(state)
        head, layers = self.config.head, self.probed_layers
        found = heads_fingerprint(self.heads_folder, self.encoder, head, layers[0])
        refuse_differing("heads", found, self.config.recipe)
        vars(self)["heads"] = load_heads(self.heads_folder, self.encoder, head, layers)


@dataclass(frozen=True)
class _Asked:
    """The settings that all sets of facts of a request share.

    Attributes:
        entry: the model's location and base.
        family: name of its base in results; empty for none.
        layers: the probed layers, which the heads are for.
        head: their kind.
        heads_folder: None for the logit lens, which has no file.
        threads: that this process computes with.
    """

    request: ProbeRequest
    entry: ModelEntry
    family: str
    encoder: Encoder
    layers: Sequence[int]
    head: str
    heads: Sequence[DecodingHead]
    heads_folder: Path | None
    threads: int
    workers: Executor


@dataclass(frozen=True)
class ProbedSet:
    """The outcome of one set of facts.

    Attributes:
        facts: the probed ones, and the numbers of left-out facts by reason.
        run_id: of the stored run; None if no fact was left to probe.
    """

    facts: FactSet
    run_id: str | None

    @property
    def key(self) -> tuple[str, str]:
        """Probe set and template set; two models can be compared on sets of facts with the same key."""
        return self.facts.probe_set, self.facts.template_set


def probe(request: ProbeRequest, say: Say = print) -> list[str]:
    """Probes every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.

    A killed run resumes under any executor: the fingerprint and the bytes do not depend on the executor.

    Args:
        request: model and facts.
        say: called with each line for the user.

    Returns:
        The ids of the runs, one per set of facts that has facts to probe.

    Raises:
        ProbingError: if facts, model, heads or base are missing or not usable, or the name is another model's.
    """
    assert request.model, "a model in memory is given to probe_sets"
    sets = read_facts(request.facts, shipped_relations(), request.templates, own_name=request.called)
    set_threads(request.threads)
    encoder = open_encoder(
        request.model, request.base, request.device, number_format(request.dtype), request.name, request.revision
    )
    entry = find_entry(request.model, request.base, request.name, request.revision)
    done = probe_sets(request, sets, encoder, at_same_commits(entry, encoder), say)
    return [one.run_id for one in done if one.run_id]


def probe_sets(
    request: ProbeRequest, sets: Sequence[FactSet], encoder: Encoder, entry: ModelEntry, say: Say = print
) -> list[ProbedSet]:
    """As ``probe``, with facts and a model that are loaded already.

    Args:
        request: its ``facts`` only say where further relations are described.
        sets: the facts.
        encoder: the open model.
        entry: its location and base, at the commits that were opened.
        say: called with each line for the user.

    Raises:
        ProbingError: as ``probe``.
    """
    relations, target = shipped_relations(), request.target
    for folder in (cache_folder(), target):
        require_writable(folder)
    refuse_taken_name(encoder, [target] if request.out else result_folders())
    asked, drift = _opened(request, encoder, entry, say)
    done = []
    for found in sets:
        if found.said:
            say(f"{found.probe_set}: {found.said}")
        kept, answers = askable(found, encoder)
        say(
            f"{found.probe_set}: read {kept.n_read:,} = probed {len(kept.facts):,} + left out"
            f" ({kept.left_out_in_words})"
        )
        if is_own(found.probe_set):
            for fact, reason in kept.dropped[:_MOST_LEFT_OUT]:
                say(f"  left out, {reason}: {fact.prompt} ({fact.object})")
        if not kept.facts:
            say("  nothing is left to probe, so no run is stored")
            done.append(ProbedSet(kept, None))
            continue
        work = _work(asked, kept, answers)
        if is_own(found.probe_set) and (
            note := hidden_by_name(work.config, [target] if request.out else result_folders())
        ):
            _log.warning("  %s", note)
        # One process per run: the second waits, and then finds it finished.
        with claimed(work.folder, say):
            _store(asked, kept, work, say)
        done.append(ProbedSet(kept, work.config.run_id))
        write_relations(relations, request.facts, target, say)
        if request.model:
            copy_beside(request.model, asked.entry, target)
    if any(one.run_id for one in done) and asked.heads_folder:
        write_training(encoder.name, request.seed, asked.heads_folder, asked.layers, target, say)
    if drift and request.seed == 0:
        write_table("weight_drift", drift, target / f"weight_drift-{name_in_files(encoder.name)}.parquet")
    return done


def _opened(request: ProbeRequest, encoder: Encoder, entry: ModelEntry, say: Say) -> tuple[_Asked, list[dict]]:
    """Heads, base and executor of a request, and the rows of the model's drift from its base."""
    seed, threads = request.seed, thread_count()
    layers = list(range(encoder.layers)) if seed == 0 else [encoder.depth]
    head, folder = chosen_heads(request.model or None, encoder, request.head, cache_folder(), seed, layers)
    if request.head is None and head == LOGIT_LENS:
        say(no_heads_note(encoder))
    if folder is None and seed:
        raise no_heads(encoder, head, seed)
    heads = load_heads(folder, encoder, head, layers)
    # By name, as in the base's own runs, even if a folder was given.
    origin = base_entry(entry)
    family = origin.name if origin else ""
    drift = drift_from_base(encoder, entry, family, say, chosen=request.base is not None) if origin else []
    workers = executor(request.executor, threads, encoder.device.type)
    return _Asked(request, entry, family, encoder, layers, head, heads, folder, threads, workers), drift


def _work(asked: _Asked, kept: FactSet, answers: Sequence[int]) -> Probing:
    """The work on one set of facts, in the order in which they are stored."""
    order, cache = in_order(kept.facts), cache_folder().absolute()
    return Probing(
        asked.encoder,
        asked.heads,
        [kept.facts[n] for n in order],
        [answers[n] for n in order],
        _configuration(asked, kept, facts_sha256(kept.facts, answers)),
        cache / "shards",
        cache / "states",
        asked.layers,
        asked.request.progress,
        asked.heads_folder and asked.heads_folder.absolute(),
    )


def _configuration(asked: _Asked, kept: FactSet, facts_sha256: str) -> RunConfig:
    """The configuration that a run's result depends on."""
    request, encoder, entry = asked.request, asked.encoder, asked.entry
    recipe = heads_fingerprint(asked.heads_folder, encoder, asked.head, asked.layers[0])
    return RunConfig(
        **provenance_of(encoder, asked.family, entry.objective, recipe, request.seed, asked.threads)
        | {
            "base_source": entry.base_source,
            "dtype": request.dtype,
        },
        head=asked.head,
        probe_set=kept.probe_set,
        template_set=kept.template_set,
        facts_sha256=facts_sha256,
        top_k=1 if request.compact else request.top,
        shard=request.shard,
        compact=request.compact,
        lenders=request.lenders,
    )


def _store(asked: _Asked, kept: FactSet, work: Probing, say: Say) -> None:
    """Writes a run and its tables, if they are missing."""
    config, facts, target, layers = work.config, work.facts, asked.request.target, work.probed_layers
    predictions = predictions_path(target, config.run_id)
    # Cheap, and thus written if missing or damaged, even if the predictions exist already.
    tokenizer = write_asked_facts(facts, config, work.encoder, target, say)
    take_pulled([predictions, target / f"runs-{config.run_id}.parquet"])
    done = has_predictions(target, config.run_id, len(layers) * len(facts), say)
    if not done:
        outcome = run_job(work, asked.workers)
        if asked.workers.name != Who.local:
            say(f"  {outcome.summary()}")
        columns = gather_shards(work)
        write_table(
            "predictions", prediction_columns(config.run_id, facts, columns, layers, config.compact), predictions
        )
    write_row(config, kept, work.encoder, tokenizer, target, say, done)
    shutil.rmtree(work.folder, ignore_errors=True)
    say(f"  {config.run_id} exists already: {predictions}" if done else f"  {config.run_id}: {predictions}")
