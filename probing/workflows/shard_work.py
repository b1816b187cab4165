"""What workers of ``probe`` do, in whatever process: open the model once, then ask it one shard after the other."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probing import __version__
from probing.core.errors import JobError
from probing.core.facts.fact import Fact
from probing.core.files.atomic import whole_file
from probing.jobs.job import Job, Shard

if TYPE_CHECKING:
    from probing.models.encoders.head import DecodingHead
    from probing.models.encoders.load import Encoder
    from probing.models.knowledge.probe import RunConfig

#: A run's facts with their answers, beside its shards.
ASKED = "asked.jsonl"
#: The function that opens the worker in another process.
OPENER = "probing.workflows.shard_work:open_probing"


@dataclass(frozen=True)
class ProbeWork:
    """Asks the facts of shards; a ``Worker`` of the job that ``probe_job`` makes."""

    encoder: "Encoder"
    heads: "Sequence[DecodingHead]"
    facts: Sequence[Fact]
    answers: Sequence[int]
    config: "RunConfig"
    work: Path
    states_cache: Path
    layers: Sequence[int]

    def __call__(self, arguments: Sequence[Mapping[str, Any]], finished: Callable[[int, list[Path]], None]) -> None:
        """Does shards in order; each is noted when it is written, while the next ones are computed."""
        from probing.models.knowledge.probe import probe_shards

        numbers = [int(given["shard"]) for given in arguments]
        probe_shards(
            self.encoder, self.heads, self.facts, self.answers, self.config, self.work, self.states_cache, self.layers, numbers,
            lambda number, path: finished(numbers.index(number), [path]),
        )  # fmt: skip


def probe_job(opened: ProbeWork, model: str, base: str | None, heads: Path | None, environment: Mapping[str, str]) -> Job:
    """The job of a run: a shard is a slice of its facts."""
    from probing.models.knowledge.probe import shard_numbers

    setup = {
        "model": model,
        "base": base,
        "device": opened.encoder.device.type,
        "heads": str(heads.absolute()) if heads else None,
        "config": opened.config.model_dump(by_alias=True),
        "work": str(opened.work.absolute()),
        "states_cache": str(opened.states_cache.absolute()),
        "layers": list(opened.layers),
        "asked_sha256": hashlib.sha256(_asked(opened.facts, opened.answers)).hexdigest(),
    }
    shards = [Shard(f"shard-{number:05d}", {"shard": number}) for number in shard_numbers(len(opened.facts), opened.config.shard)]
    return Job(opened.work / opened.config.run_id, OPENER, setup, shards, environment, opened)


def write_asked(job: Job, opened: ProbeWork) -> None:
    """Puts the run's facts where workers of other processes read them."""
    with whole_file(job.folder / ASKED) as temporary:
        temporary.write_bytes(_asked(opened.facts, opened.answers))


def open_probing(setup: Mapping[str, Any]) -> ProbeWork:
    """The worker of ``probe_job`` in another process, checked to be what the coordinator has.

    Raises:
        JobError: if model, heads, facts or program are others here.
        ProbingError: if one of them is not here.
    """
    import torch

    from probing.models.encoders.catalogue import open_encoder
    from probing.models.heads.files import heads_fingerprint, load_heads
    from probing.models.knowledge.probe import RunConfig

    config = RunConfig(**setup["config"])
    torch.set_num_threads(config.threads)
    encoder = open_encoder(setup["model"], setup["base"], setup["device"], torch.float64 if config.dtype == "float64" else torch.float32)
    folder = Path(setup["heads"]) if setup["heads"] else None
    work = Path(setup["work"])
    asked = (work / config.run_id / ASKED).read_bytes()
    here = {
        "version": (__version__, config.code_version),
        "weights": (encoder.identity, config.weights),
        "configuration": (encoder.configuration, config.configuration),
        "heads": (heads_fingerprint(folder, encoder, config.head, setup["layers"][0]), config.recipe),
        "facts": (hashlib.sha256(asked).hexdigest(), setup["asked_sha256"]),
    }
    for what, (got, expected) in here.items():
        if got != expected:
            raise JobError(f"a worker's {what}: got {got[:60]}, expected {expected[:60]}, the coordinator's; install and share the same")
    rows = [json.loads(line) for line in asked.splitlines()]
    facts = [Fact(**{key: value for key, value in row.items() if key != "answer"}) for row in rows]
    heads = load_heads(folder, encoder, config.head, setup["layers"])
    return ProbeWork(
        encoder, heads, facts, [row["answer"] for row in rows], config, work, Path(setup["states_cache"]), list(setup["layers"])
    )


def _asked(facts: Sequence[Fact], answers: Sequence[int]) -> bytes:
    rows = [asdict(fact) | {"answer": int(answer)} for fact, answer in zip(facts, answers, strict=True)]
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode()
