"""Runs on whether the model goes by what its layers show; a killed run resumes to equal bytes."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from probing.facts.askable import askable
from probing.facts.carried import Case, Sentence, chosen, measure_cases, sentences, with_hosts
from probing.facts.probe import Asked, configuration
from probing.facts.requests import CarriedRunConfig
from probing.facts.tables import CARRIED_GROUPS
from probing.heads.decode import read_out
from probing.kernel.errors import Say
from probing.kernel.fact import FactSet, facts_sha256
from probing.kernel.files import cache_folder
from probing.kernel.jobs.stored_runs import RunFiles, TaskWork, do_job
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.models.layer_swap import layers_path, no_cut
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import states_at
from probing.kernel.provenance import canonical_json
from probing.kernel.version import __version__

_TABLES = ("carried_facts", "carried_layers", "carried_runs")
#: Facts that the unchanged model is asked at a time; most facts of a shard, as each takes many passes.
_ASKED, _MOST = 4096, 250


@dataclass(frozen=True)
class Carrying(TaskWork):
    """Measures a run's sample; a shard is a slice of it."""

    encoder: Encoder
    cases: Sequence[Case]
    read: np.ndarray  #: (layers, cases) bool, by the model's own head
    config: CarriedRunConfig
    counts: Mapping[str, int]  #: of the facts that were asked, by group
    shards_folder: Path
    progress: bool

    @property
    def folder(self) -> Path:
        """With the manifest and the shards."""
        return self.shards_folder / self.config.run_id

    @property
    def size(self) -> int:
        """Facts of a shard."""
        return min(self.config.shard, _MOST)

    @property
    def shards(self) -> dict[str, int]:
        """Name of each shard -> its number."""
        return {f"shard-{number:05d}": number for number in range(-(-len(self.cases) // self.size))}

    def make(self, shard: int) -> list[Path]:  # type: ignore[override]
        """Measures a slice of the sample."""
        self.measured(shard)
        return [self._path(shard)]

    def measured(self, shard: int) -> dict[str, np.ndarray]:
        """``guessed`` and, (layers, cases), the flags of a slice."""
        cases = self.cases[shard * self.size : (shard + 1) * self.size]

        def make() -> dict[str, np.ndarray]:
            title = f"carry {self.config.model} {self.config.probe_set}"
            with tqdm(total=len(cases), unit="fact", desc=title, disable=not self.progress) as bar:
                found = measure_cases(cases, self.encoder, bar.update)
            return found

        return stored_arrays(self._path(shard), make)

    def _path(self, shard: int) -> Path:
        return self.folder / f"shard-{shard:05d}.safetensors"


def prepared(asked: Asked, found: FactSet) -> tuple[FactSet, Carrying]:
    """The facts that the model can be asked, and the work on a sample of those that a layer knows."""
    request, encoder = asked.request, asked.encoder
    layers_path(encoder.body)  # Refused before anything is asked.
    kept, answers = askable(found, encoder)
    asks = sentences(kept.facts, encoder)
    read = _read(asked, asks, answers, facts_sha256(kept.facts, answers))
    cases = [Case(*each) for each in zip(kept.facts, answers, asks, read[-1].tolist(), strict=True)]
    last, inner = read[-1], read[1:-1].any(0) & ~read[-1]
    groups = [[case for case, one in zip(cases, some, strict=True) if one] for some in (last, inner)]
    known, unknown = (chosen(some, request.sample) for some in groups)
    sample = [*with_hosts(groups[0], known), *unknown]
    number = {case.fact.fact_id: n for n, case in enumerate(cases)}
    partners = [[one and one.fact.fact_id for one in (case, case.host, case.third, case.other)] for case in sample]
    config = CarriedRunConfig(
        **configuration(asked, kept, facts_sha256([one.fact for one in sample], [one.answer for one in sample])),
        hosts_sha256=hashlib.sha256(canonical_json([len(known), partners]).encode()).hexdigest(),
        sample=request.sample,
    )
    return kept, Carrying(
        encoder,
        sample,
        read[:, [number[case.fact.fact_id] for case in sample]],
        config,
        dict(zip(CARRIED_GROUPS, map(len, groups), strict=True)),
        cache_folder().absolute() / "shards",
        request.progress,
    )


def _read(asked: Asked, asks: Sequence[Sentence], answers: Sequence[int], facts: str) -> np.ndarray:
    """(layers, cases) whether the answer is first at each layer of the unchanged model, by its own head."""
    encoder, parts = asked.encoder, []
    # As for other cached states: sums depend on precision, threads, device and the batching of a version.
    computed = [encoder.dtype_name, asked.threads, encoder.device.type, __version__]
    decides = [encoder.weights_id, encoder.configuration, facts, *computed]
    folder = cache_folder() / "states" / f"read-{hashlib.sha256(canonical_json(decides).encode()).hexdigest()[:16]}"
    with tqdm(total=len(asks), unit="fact", desc=f"read {encoder.name}", disable=not asked.request.progress) as bar:
        for first in range(0, len(asks), _ASKED):

            def make(first: int = first) -> dict[str, np.ndarray]:
                some, gold = asks[first : first + _ASKED], answers[first : first + _ASKED]
                states = states_at([one.row for one in some], [one.gap for one in some], encoder, passed=bar.update)
                alone = [[answer] for answer in gold]
                layers = zip(asked.heads, states, strict=True)
                ranks = [
                    read_out(head, one, gold, [()] * len(gold), alone, 1, encoder.device).gold_rank
                    for head, one in layers
                ]
                return {"read": np.stack(ranks) == 1}

            parts.append(stored_arrays(folder / f"{first:08d}.safetensors", make)["read"])
    return np.concatenate([np.zeros((encoder.layers, 0), bool), *parts], axis=1)


def store(asked: Asked, kept: FactSet, work: Carrying, say: Say) -> None:
    """Writes a run's tables, if they are missing."""
    config, encoder, cases = work.config, work.encoder, work.cases
    if not cases:
        say("  no layer answers any of these facts, so nothing can be carried and no run is stored")
        return
    known = [case for case in cases if case.known]
    without = {
        "without a host": sum(case.host is None for case in known),
        "without a third fact": sum(case.host is not None and case.third is None for case in known),
        "without as many other tokens": sum(not case.same_words for case in known),
        "without their subject in the prompt": sum(not case.asked.subject for case in known),
    }
    row = config.row | {
        **{name: getattr(config, name) for name in ("head", "template_set", "probe_set", "dtype")},
        "layers": encoder.layers,
        "n_read": kept.n_read,
        "n_probed": len(kept.facts),
        **{f"n_{part}": n for part, n in work.counts.items()},
        "left_out": json.dumps(kept.left_out, sort_keys=True),
    }
    counted = ", ".join(f"{n:,} {words}" for words, n in without.items() if n) or "every fact has all that is measured"
    say(f"  {len(known):,} of {work.counts['known']:,} facts that the last layer answers: {counted}")
    if why := no_cut(encoder.body):
        say(f"  nothing is settled: {why}")
    run = RunFiles(config, _TABLES, asked.request.target)
    if run.whole():
        say(f"  {config.run_id} exists already: {run.file(_TABLES[1])}")
        return

    def finish() -> None:
        parts = [work.measured(number) for number in work.shards.values()]
        joined = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
        run.write(
            {
                "carried_facts": _fact_rows(config.run_id, cases, joined.pop("guessed")),
                "carried_layers": _columns(config.run_id, cases, {"read": work.read.astype(np.float32), **joined}),
                "carried_runs": [row],
            },
            encoder,
        )
        shutil.rmtree(work.folder, ignore_errors=True)

    do_job(asked.request, work, say, finish=finish)
    say(f"  {config.run_id}: {run.file(_TABLES[1])}")


def _fact_rows(run_id: str, cases: Sequence[Case], guessed: np.ndarray) -> list[dict]:
    """The rows of ``carried_facts``."""
    names = ("fact_id", "relation", "subject", "object", "prompt", "answer_in_subject")
    return [
        {
            "run_id": run_id,
            **{name: getattr(case.fact, name) for name in names},
            "part": CARRIED_GROUPS[not case.known],
            "guessed": one == 1,
            "host": case.host and case.host.fact.fact_id,
            "host_object": case.host and case.host.fact.object,
            "third": case.third and case.third.fact.fact_id,
        }
        for case, one in zip(cases, guessed, strict=True)
    ]


def _columns(run_id: str, cases: Sequence[Case], flags: Mapping[str, np.ndarray]) -> dict[str, pa.Array]:
    """The columns of ``carried_layers``, from (layers, cases) flags that are NaN where there is none."""
    layers = len(flags["read"])
    return {
        "run_id": pa.array([run_id] * layers * len(cases)),
        "fact_id": pa.array([case.fact.fact_id for case in cases] * layers),
        "layer": pa.array(np.repeat(np.arange(layers, dtype=np.uint8), len(cases))),
        **{name: pa.array(each.ravel() == 1, mask=np.isnan(each.ravel())) for name, each in flags.items()},
    }
