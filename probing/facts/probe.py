"""Probes every layer of a model with every fact, shard by shard, and stores it; a killed run resumes to equal bytes."""

import hashlib
import json
import logging
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from probing.facts.askable import askable
from probing.facts.requests import CARRIED, INDEPENDENT, VOCABULARY, ProbeRequest, RunConfig
from probing.facts.sources import is_own, read_facts
from probing.facts.store import prediction_columns
from probing.facts.stored_run import (
    has_predictions,
    in_order,
    predictions_path,
    write_asked_facts,
    write_relations,
    write_row,
    write_training,
)
from probing.facts.swapped_subjects import swapped_subjects
from probing.heads.decode import LogitsBuffer, read_out
from probing.heads.files import chosen_heads, heads_fingerprint, load_heads, no_heads, no_heads_note
from probing.kernel.errors import ModelError, Say
from probing.kernel.fact import SEVERAL_TOKENS, Fact, FactSet, facts_sha256, shipped_relations
from probing.kernel.files import cache_folder, require_writable, result_folders
from probing.kernel.jobs.shards import Executor, claimed, run_job
from probing.kernel.jobs.stored_runs import ModelWork, provenance_of, take_pulled
from probing.kernel.models.arrays import BackgroundWriter, read_ahead, read_sealed, write_sealed
from probing.kernel.models.catalogue import at_same_commits, open_encoder
from probing.kernel.models.head import Head
from probing.kernel.models.load import Encoder, refuse_differing
from probing.kernel.models.names import LOGIT_LENS, base_entry, find_entry
from probing.kernel.models.records import copy_beside, drift_from_base, hidden_by_name, refuse_taken_name
from probing.kernel.models.states import cached_states, mask_positions, states_at, tokenize
from probing.kernel.models.torch_settings import number_format, set_threads, thread_count
from probing.kernel.registry import ModelEntry, name_in_files
from probing.kernel.requests import FactsConfig, Who, executor
from probing.kernel.store.parquet import write_table

log = logging.getLogger(__name__)
#: The encoder's share of the time per fact; decoding is the rest. It is used for the progress bar only.
ENCODING = 0.75
#: Facts on which a body of shorter numbers is compared with the exact one.
COMPARED = 512
COLUMNS = ("gold_rank", "answer_rank", "swapped_rank", "gold_logp", "top_ids", "top_logp")


def shard_numbers(n_facts: int, shard: int) -> range:
    """Numbers of the shards of this many facts, with ``shard`` facts each; the last one may be shorter."""
    return range(-(-n_facts // shard))


def shard_path(work: Path, config: RunConfig, number: int) -> Path:
    """Path of a finished shard of a run below the folder of all runs' shards."""
    return work / config.run_id / f"shard-{number:05d}.safetensors"


@dataclass(frozen=True)
class ProbeWork:
    """The inputs of a run, with one head per layer."""

    encoder: Encoder
    heads: Sequence[Head]
    facts: Sequence[Fact]  #: that the model can be asked
    answers: Sequence[int]  #: (facts,) token id of each right answer
    config: RunConfig
    shards_folder: Path  #: of finished shards; a killed run resumes from it
    states_cache: Path | None = None  #: None keeps no states
    layers: Sequence[int] | None = None  #: of the heads; None: 0..L
    progress: bool = True

    @property
    def probed_layers(self) -> list[int]:
        """The probed layers."""
        return list(range(self.encoder.layers) if self.layers is None else self.layers)

    def shard(self, number: int) -> Path:
        """Path of a finished shard."""
        return shard_path(self.shards_folder, self.config, number)


def probe_shards(
    work: ProbeWork, numbers: Iterable[int] | None = None, finished: Callable[[int, Path], None] | None = None
) -> list[Path]:
    """Probes the facts of some shards (None: all) at every layer; complete shards are not computed again.

    A shard's bytes depend on the run's configuration alone, not on other shards or processes. ``finished`` is called
    with number and path of each complete shard, in order, in the thread that writes.
    """
    encoder, heads, facts, answers, config, layers = (
        work.encoder,
        work.heads,
        work.facts,
        work.answers,
        work.config,
        work.probed_layers,
    )
    if not facts or len(heads) != len(layers):
        got = f"{len(facts)} facts and {len(heads)} heads"
        raise ModelError(f"{encoder.name}: got {got}, expected at least one fact and {len(layers)} heads")
    there = shard_numbers(len(facts), config.shard)
    chosen = list(there if numbers is None else numbers)
    if strange := [number for number in chosen if number not in there]:
        raise ModelError(
            f"{encoder.name}: got shard {strange[0]}, expected 0 to {there[-1]}: there are {len(facts)} facts"
        )
    swapped_of = _swapped(facts, config)
    among = _answers_of_relations(facts, answers)
    buffer = LogitsBuffer()

    def block(number: int) -> tuple[range, list[list[int]]] | None:
        if _read_finished(work.shard(number), layers) is not None:
            return None
        some = range(number * config.shard, min((number + 1) * config.shard, len(facts)))
        return some, tokenize([facts[n].prompt for n in some], encoder)

    def keep(number: int, part: dict[str, np.ndarray] | None) -> None:
        path = work.shard(number)
        if part is not None:
            write_sealed(part, path)
        if finished is not None:
            finished(number, path)

    sizes = [min((number + 1) * config.shard, len(facts)) - number * config.shard for number in chosen]
    what = f"probe {config.model} {config.head} {config.probe_set}"
    bar = tqdm(total=sum(sizes), unit="fact", desc=what, disable=not work.progress)
    with bar, BackgroundWriter() as writing:
        for number, size, planned in zip(chosen, sizes, read_ahead(chosen, block), strict=True):
            part, done = None, _Done(bar, size)
            if planned is not None:
                some, rows = planned
                prompts = [facts[n].prompt for n in some]
                states_path = _states_path(work.states_cache, encoder, config, rows)
                states = cached_states(prompts, encoder, states_path, rows, writing.later, done.passed)
                gold, swapped = (
                    [answers[n] for n in some],
                    [[answers[number] for number in swapped_of[n]] for n in some],
                )
                right = [among[facts[n].probe_set, facts[n].relation] for n in some]
                readings = []
                for layer, head in zip(layers, heads, strict=True):
                    readings.append(
                        read_out(head, states[layer], gold, swapped, right, config.top_k, encoder.device, buffer)
                    )
                    done.to(ENCODING + (1 - ENCODING) * len(readings) / len(heads))
                part = {name: np.stack([getattr(reading, name) for reading in readings]) for name in COLUMNS}
            writing.later(keep, number, part)
            done.to(1)
    return [work.shard(number) for number in chosen]


def gather_shards(work: ProbeWork) -> dict[str, np.ndarray]:
    """All shards of a run as one; ModelError with the path of the first that is missing or cannot be read.

    gold_rank, answer_rank, other_rank (0 where there is no swapped subject) and gold_logp: (layers, facts); top_ids and
    top_logp: (layers, facts, k).
    """
    parts = []
    for number in shard_numbers(len(work.facts), work.config.shard):
        path = work.shard(number)
        part = _read_finished(path, work.probed_layers)
        if part is None:
            raise ModelError(
                f"shard {path} is missing or damaged; expected every shard of run {work.config.run_id}; probe it again"
            )
        parts.append(part)
    result = {name: np.concatenate([part[name] for part in parts], axis=1) for name in COLUMNS}
    result["other_rank"] = np.zeros_like(result["gold_rank"])
    result["other_rank"][:, [number for swapped in _swapped(work.facts, work.config) for number in swapped]] = (
        result.pop("swapped_rank")
    )
    return result


class _Done:
    """Progress of a shard, shown in whole facts."""

    def __init__(self, bar: tqdm, size: int) -> None:
        self._bar, self._size, self._shown, self._encoded = bar, size, 0, 0

    def passed(self, count: int) -> None:
        """Reports that the encoder has processed ``count`` more prompts."""
        self._encoded += count
        self.to(ENCODING * self._encoded / self._size)

    def to(self, share: float) -> None:
        """Reports that this share of the shard is done."""
        whole = int(share * self._size)
        self._bar.update(whole - self._shown)
        self._shown = whole


def _swapped(facts: Sequence[Fact], config: RunConfig) -> list[list[int]]:
    """For each fact the numbers of those that have it as swapped subject, in order; none in a compact run."""
    guests: list[list[int]] = [[] for _ in facts]
    if config.compact:
        return guests
    for number, other in enumerate(swapped_subjects(facts)):
        if other is not None:
            guests[other].append(number)
    return guests


def _answers_of_relations(facts: Sequence[Fact], answers: Sequence[int]) -> dict[tuple[str, str], list[int]]:
    """The distinct answers of each relation of each probe set, in order."""
    answer_sets: dict[tuple[str, str], set[int]] = defaultdict(set)
    for fact, answer in zip(facts, answers, strict=True):
        answer_sets[fact.probe_set, fact.relation].add(answer)
    return {key: sorted(ids) for key, ids in answer_sets.items()}


def _read_finished(path: Path, layers: Sequence[int]) -> dict[str, np.ndarray] | None:
    """A shard's columns; None if it is missing, damaged or has other layers."""
    if not path.is_file():
        return None
    try:
        part = read_sealed(path)
    except OSError as error:
        log.warning("%s cannot be read (%s); its facts are probed again", path, error)
        return None
    return part if set(part) == set(COLUMNS) and len(part["gold_rank"]) == len(layers) else None


def _states_path(cache: Path | None, encoder: Encoder, config: RunConfig, rows: Sequence[Sequence[int]]) -> Path | None:
    if cache is None:
        return None
    # Sums depend on precision, device, number of threads and the batching of a version; a run's bytes must not depend
    # on the cache.
    computed = [str(next(encoder.body.parameters()).dtype), encoder.device.type, thread_count(), config.code_version]
    # A checksum of token ids, not of prompts, because the same words may be different tokens.
    text = json.dumps([encoder.weights_id, encoder.configuration, computed, *rows])
    return cache / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.safetensors"


#: Of the user's own facts that are left out, as many are listed.
_MOST_LEFT_OUT = 20


class HeadsWork(ModelWork):
    """Work on a model with a head for each of its ``probed_layers``, which every process reads by itself.

    A shard is a slice of the ``facts``.
    """

    config: FactsConfig
    facts: Sequence[Fact]
    shards_folder: Path
    heads: Sequence[Head]
    heads_folder: Path | None
    probed_layers: Sequence[int]

    @property
    def folder(self) -> Path:
        """With the manifest and the shards."""
        return self.shards_folder / self.config.run_id

    @property
    def shards(self) -> dict[str, int]:
        """Name of each shard -> its number."""
        return {f"shard-{number:05d}": number for number in shard_numbers(len(self.facts), self.config.shard)}

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
class Probing(ProbeWork, HeadsWork):  # type: ignore[misc]  # the layers are a property
    """Probes a run's facts; a shard is a slice of them."""

    heads_folder: Path | None = None  #: of the heads, which each process reads by itself; None for the logit lens

    def do(self, names: Sequence[str], finished: Callable[[str, Sequence[Path]], None]) -> None:
        """Does shards in order; each is recorded when it is written, while the next ones are computed."""
        shards = self.shards
        numbers = {shards[name]: name for name in names}
        probe_shards(self, numbers, lambda number, path: finished(numbers[number], [path]))


@dataclass(frozen=True)
class Asked:
    """The settings that all sets of facts of a request share."""

    request: ProbeRequest
    entry: ModelEntry  #: the model's location and base
    family: str  #: name of its base in results; empty for none
    encoder: Encoder
    layers: Sequence[int]  #: the probed layers, which the heads are for
    head: str  #: their kind
    heads: Sequence[Head]
    heads_folder: Path | None  #: None for the logit lens, which has no file
    threads: int  #: that this process computes with
    workers: Executor


@dataclass(frozen=True)
class ProbedSet:
    """The outcome of one set of facts."""

    facts: FactSet  #: the probed ones, and the numbers of left-out facts by reason
    run_id: str | None  #: of the stored run; None if no fact was left to probe

    @property
    def key(self) -> tuple[str, str]:
        """Probe set and template set; two models can be compared on sets of facts with the same key."""
        return self.facts.probe_set, self.facts.template_set


def probe(request: ProbeRequest, say: Say = print) -> list[str]:
    """Probes every layer of a model; the ids of the runs, one per set of facts that has facts to probe.

    A killed run resumes under any executor: the fingerprint and the bytes do not depend on the executor.
    """
    assert request.model, "a model in memory is given to probe_sets"
    sets = read_facts(request.facts, shipped_relations(), request.templates, own_name=request.called)
    set_threads(request.threads)
    encoder = open_encoder(
        request.model, request.base, request.device, number_format(request.dtype), request.name, request.revision
    )
    if request.dtype == "bfloat16":
        exact = open_encoder(request.model, request.base, request.device, revision=request.revision)
        asked = [askable(kept, exact) for kept in sets]
        every = [pair for kept, answers in asked for pair in zip(kept.facts, answers, strict=True)]
        if every:
            say(against_exact(encoder, exact, random.Random(0).sample(every, min(len(every), COMPARED)))[1])
    entry = find_entry(request.model, request.base, request.name, request.revision)
    done = probe_sets(request, sets, encoder, at_same_commits(entry, encoder), say)
    return [one.run_id for one in done if one.run_id]


def against_exact(encoder: Encoder, exact: Encoder, asked: Sequence[tuple[Fact, int]]) -> tuple[list[float], str]:
    """Seconds of the exact and the shorter body; in words the speed and how many of the own head's ranks stay equal."""
    rows, gold = tokenize([fact.prompt for fact, _ in asked], exact), [answer for _, answer in asked]
    places, seconds, ranks = mask_positions(rows, exact), [], []
    for body in (exact, encoder):
        # The first pass of a model sets it up.
        states_at(rows[:8], places[:8], body)
        began = time.perf_counter()
        states = states_at(rows, places, body)
        seconds.append(time.perf_counter() - began)
        alone = [[answer] for answer in gold]
        read = [read_out(body.head, state, gold, [[]] * len(gold), alone, 1, body.device) for state in states]
        ranks.append(np.array([layer.gold_rank for layer in read]))
    equal, right = ranks[0] == ranks[1], (ranks[0] == 1) == (ranks[1] == 1)
    return seconds, (
        f"{encoder.dtype_name} against {exact.dtype_name} on {len(rows):,} facts: {seconds[0] / seconds[1]:.2f} times"
        f" the speed, {equal.mean():.1%} of the ranks equal over all layers, {equal[-1].mean():.1%} at the last one;"
        f" first or not first alike {right.mean():.1%}"
    )


def probe_sets(
    request: ProbeRequest, sets: Sequence[FactSet], encoder: Encoder, entry: ModelEntry, say: Say = print
) -> list[ProbedSet]:
    """As ``probe``, with loaded facts and model; ``request.facts`` only say where relations are described."""
    relations, target = shipped_relations(), request.target
    for folder in (cache_folder(), target):
        require_writable(folder)
    refuse_taken_name(encoder, [target] if request.out else result_folders())
    asked, drift = _opened(request, encoder, entry, say)
    prepare, store, runs = _prepared, _store, "runs"
    if request.measure == CARRIED:
        from probing.facts import carried_run

        prepare, store, runs = carried_run.prepared, carried_run.store, "carried_runs"  # type: ignore[assignment]
    elif request.measure != VOCABULARY:
        from probing.facts import candidate_run

        prepare, store, runs = candidate_run.prepared, candidate_run.store, "candidate_runs"  # type: ignore[assignment]
    done = []
    for found in sets:
        if found.said:
            say(f"{found.probe_set}: {found.said}")
        kept, work = prepare(asked, found)
        other = ""
        if request.measure == VOCABULARY and SEVERAL_TOKENS in kept.left_out:
            other = f"; `probe --measure {INDEPENDENT}` asks answers of several tokens"
        say(
            f"{found.probe_set}: read {kept.n_read:,} = probed {len(kept.facts):,} + left out"
            f" ({kept.left_out_in_words}){other}"
        )
        if is_own(found.probe_set):
            for fact, reason in kept.dropped[:_MOST_LEFT_OUT]:
                say(f"  left out, {reason}: {fact.prompt} ({fact.object})")
        if not kept.facts:
            say("  nothing is left to probe, so no run is stored")
            done.append(ProbedSet(kept, None))
            continue
        if is_own(found.probe_set) and (
            note := hidden_by_name(work.config, [target] if request.out else result_folders(), runs)
        ):
            log.warning("  %s", note)
        if request.model:
            copy_beside(request.model, asked.entry, target)
        store(asked, kept, work, say)
        done.append(ProbedSet(kept, work.config.run_id))
        write_relations(relations, request.facts, target, say)
    if any(one.run_id for one in done) and asked.heads_folder:
        write_training(encoder.name, request.seed, asked.heads_folder, asked.layers, target, say)
    if drift and request.seed == 0:
        write_table("weight_drift", drift, target / f"weight_drift-{name_in_files(encoder.name)}.parquet")
    return done


def _opened(request: ProbeRequest, encoder: Encoder, entry: ModelEntry, say: Say) -> tuple[Asked, list[dict]]:
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
    return Asked(request, entry, family, encoder, layers, head, heads, folder, threads, workers), drift


def _prepared(asked: Asked, found: FactSet) -> tuple[FactSet, Probing]:
    """The facts that the model can be asked, and the work on them, in the order in which they are stored."""
    kept, answers = askable(found, asked.encoder)
    order, cache = in_order(kept.facts), cache_folder().absolute()
    return kept, Probing(
        asked.encoder,
        asked.heads,
        [kept.facts[n] for n in order],
        [answers[n] for n in order],
        RunConfig(
            **configuration(asked, kept, facts_sha256(kept.facts, answers)),
            top_k=1 if asked.request.compact else asked.request.top,
            compact=asked.request.compact,
            lenders=asked.request.swapped_rule,
        ),
        cache / "shards",
        cache / "states",
        asked.layers,
        asked.request.progress,
        asked.heads_folder and asked.heads_folder.absolute(),
    )


def configuration(asked: Asked, kept: FactSet, facts_sha256: str) -> dict[str, Any]:
    """The fields of ``FactsConfig`` of a run."""
    request, encoder, entry = asked.request, asked.encoder, asked.entry
    recipe = heads_fingerprint(asked.heads_folder, encoder, asked.head, asked.layers[0])
    return provenance_of(encoder, asked.family, entry.objective, recipe, request.seed, asked.threads) | {
        "base_source": entry.base_source,
        "dtype": encoder.dtype_name,
        "head": asked.head,
        "probe_set": kept.probe_set,
        "template_set": kept.template_set,
        "facts_sha256": facts_sha256,
        "shard": request.shard,
    }


def _store(asked: Asked, kept: FactSet, work: Probing, say: Say) -> None:
    """Writes a run and its tables, if they are missing; a second process waits, and then finds it finished."""
    with claimed(work.folder, say):
        _write(asked, kept, work, say)


def _write(asked: Asked, kept: FactSet, work: Probing, say: Say) -> None:
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
