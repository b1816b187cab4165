"""The workers of ``probe``, in any process: open the model once, then probe one shard after the other."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from probing.core.facts.fact import Fact
from probing.core.files.atomic import atomic_file
from probing.core.knowledge.run import RunConfig
from probing.jobs.job import Job, Shard
from probing.models.heads.files import heads_fingerprint, load_heads
from probing.models.knowledge.probe import ProbeWork, probe_shards, shard_numbers
from probing.workflows.stored_runs import opened_again, refuse_differing

#: A run's facts with their answers, in the folder of its shards.
ASKED = "asked.jsonl"
#: The function that opens the worker in another process.
OPENER = "probing.workflows.knowledge.shard_work:open_probing"


@dataclass(frozen=True)
class ProbeWorker:
    """Probes the facts of shards; a ``Worker`` of the job that ``probe_job`` makes."""

    work: ProbeWork

    def __call__(self, arguments: Sequence[Mapping[str, Any]], finished: Callable[[int, list[Path]], None]) -> None:
        """Does shards in order; each is recorded when it is written, while the next ones are computed."""
        numbers = [int(given["shard"]) for given in arguments]
        probe_shards(self.work, numbers, lambda number, path: finished(numbers.index(number), [path]))


def probe_job(work: ProbeWork, setup: Mapping[str, Any], heads: Path | None, environment: Mapping[str, str]) -> Job:
    """The job of a run: a shard is a slice of its facts. ``setup`` is of ``stored_runs.setup_of``."""
    setup = {
        **setup,
        "heads": str(heads.absolute()) if heads else None,
        "config": work.config.model_dump(by_alias=True) | {"head": work.config.head},
        "work": str(work.folder.absolute()),
        "states_cache": str(work.states_cache.absolute()) if work.states_cache else None,
        "layers": work.probed_layers,
        "asked_sha256": hashlib.sha256(_asked(work.facts, work.answers)).hexdigest(),
    }
    shards = [
        Shard(f"shard-{number:05d}", {"shard": number}) for number in shard_numbers(len(work.facts), work.config.shard)
    ]
    return Job(work.folder / work.config.run_id, OPENER, setup, shards, environment, ProbeWorker(work))


def write_asked(job: Job, work: ProbeWork) -> None:
    """Writes the run's facts to a file for workers in other processes."""
    with atomic_file(job.folder / ASKED) as temporary:
        temporary.write_bytes(_asked(work.facts, work.answers))


def open_probing(setup: Mapping[str, Any]) -> ProbeWorker:
    """The worker of ``probe_job`` in another process, checked against the coordinator's.

    Raises:
        JobError: if model, heads, facts or program differ here.
        ProbingError: if one of them is missing here.
    """
    config = RunConfig(**setup["config"])
    encoder, _ = opened_again(setup, config.dtype)
    folder = Path(setup["heads"]) if setup["heads"] else None
    work = Path(setup["work"])
    asked = (work / config.run_id / ASKED).read_bytes()
    recipe = heads_fingerprint(folder, encoder, config.head, setup["layers"][0])
    refuse_differing(
        {"heads": (recipe, config.recipe), "facts": (hashlib.sha256(asked).hexdigest(), setup["asked_sha256"])}
    )
    rows = [json.loads(line) for line in asked.splitlines()]
    facts = [Fact(**{key: value for key, value in row.items() if key != "answer"}) for row in rows]
    heads = load_heads(folder, encoder, config.head, setup["layers"])
    answers, states_cache = (
        [row["answer"] for row in rows],
        Path(setup["states_cache"]) if setup["states_cache"] else None,
    )
    return ProbeWorker(ProbeWork(encoder, heads, facts, answers, config, work, states_cache, list(setup["layers"])))


def _asked(facts: Sequence[Fact], answers: Sequence[int]) -> bytes:
    rows = [asdict(fact) | {"answer": int(answer)} for fact, answer in zip(facts, answers, strict=True)]
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode()
