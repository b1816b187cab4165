"""A job: work cut into shards that any process which sees the job's folder can do."""

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from probing.core.errors import JobError


@dataclass(frozen=True)
class Shard:
    """A part of a job that is done whole or not at all.

    Attributes:
        name: how the manifest calls it, once in a job.
        arguments: what the worker needs besides the job's setup; JSON.
    """

    name: str
    arguments: Mapping[str, Any]


class Worker(Protocol):
    """Does shards. Equal arguments give equal bytes on every worker and every time."""

    def __call__(self, arguments: Sequence[Mapping[str, Any]], finished: Callable[[int, list[Path]], None]) -> None:
        """Does shards in order, and calls ``finished(number, files)`` for each of them; a shard that is there is not done again."""


@dataclass(frozen=True)
class Job:
    """The work, in a form that can be sent to another machine.

    Attributes:
        folder: seen under the same path by all machines; the manifest lies in it.
        worker: ``module:function``; the function takes ``setup`` and gives a ``Worker``, once in each process.
        setup: what all shards share; JSON.
        shards: the parts, each with a name of its own.
        environment: variables that workers are to have as the coordinator has them.
        opened: the worker, ready, for an executor in this process; never sent.
    """

    folder: Path
    worker: str
    setup: Mapping[str, Any]
    shards: Sequence[Shard]
    environment: Mapping[str, str] = field(default_factory=dict)
    opened: Worker | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = [shard.name for shard in self.shards]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.folder}: got {len(names)} shards with {len(set(names))} names, expected a name of its own for each")

    def sent(self, shards: Sequence[Shard], token: str) -> str:
        """JSON of everything that another process needs for some shards; ``token`` names the file that it must see."""
        return json.dumps(
            {
                "folder": str(self.folder.absolute()),
                "worker": self.worker,
                "setup": dict(self.setup),
                "environment": dict(self.environment),
                "shards": [[shard.name, dict(shard.arguments)] for shard in shards],
                "token": token,
            }
        )


def open_worker(name: str, setup: Mapping[str, Any]) -> Worker:
    """The worker that ``module:function`` makes of a setup.

    Raises:
        JobError: if there is no such module or function here.
    """
    module, _, function = name.partition(":")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise JobError(
            f"no worker {name} here ({error}); expected bertnesia-explorer of the same version on every machine: pip install -e ."
        ) from error
    return make(setup)
