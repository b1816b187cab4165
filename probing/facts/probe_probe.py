"""Probes every layer of a model on every fact: one pass, shard by shard; a killed run resumes to equal bytes."""

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from probing.facts.fact import Fact
from probing.facts.requests_run import RunConfig
from probing.facts.swapped_subjects import swapped_subjects
from probing.heads.decode import LogitsBuffer, read_out
from probing.kernel.errors import ModelError
from probing.kernel.models.arrays import BackgroundWriter, read_ahead, read_sealed, write_sealed
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import cached_states, tokenize
from probing.kernel.models.torch_settings import thread_count

log = logging.getLogger(__name__)
#: The encoder's share of the time per fact; decoding is the rest. It is used for the progress bar only.
ENCODING = 0.75
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
    heads: Sequence[DecodingHead]
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


def probe(work: ProbeWork) -> dict[str, np.ndarray]:
    """Probes every fact at every layer: the result of ``gather_shards``."""
    probe_shards(work)
    return gather_shards(work)


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
