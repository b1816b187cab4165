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
    """A part of a job that is done completely or not at all.

    Attributes:
        name: in the manifest, unique in a job.
        arguments: what the worker needs besides the job's setup; JSON.
    """

    name: str
    arguments: Mapping[str, Any]


class Worker(Protocol):
    """Does shards. Equal arguments give equal bytes on every worker and every time."""

    def __call__(self, arguments: Sequence[Mapping[str, Any]], finished: Callable[[int, list[Path]], None]) -> None:
        """Does shards in order, and calls ``finished(number, files)`` for each of them; a finished shard is not done
        again.
        """


@dataclass(frozen=True)
class Job:
    """The work, in a form that can be sent to another machine.

    Attributes:
        folder: with the manifest; all machines see it under the same path.
        worker: ``module:function``; the function takes ``setup`` and gives a ``Worker``, once in each process.
        setup: what all shards share; JSON.
        shards: the parts, each with its own name.
        environment: variables that workers get from the coordinator.
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
            raise ValueError(
                f"{self.folder}: got {len(names)} shards with {len(set(names))} names, expected a different name for"
                " each"
            )

    def sent(self, shards: Sequence[Shard], token: str) -> str:
        """JSON of all that another process needs for some shards; ``token`` is the file that it must see."""
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
    """The worker that ``module:function`` makes from a setup.

    Raises:
        JobError: if this machine has no such module or function.
    """
    module, _, function = name.partition(":")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise JobError(
            f"no worker {name} here ({error}); expected bertnesia-explorer of the same version on every machine: pip"
            " install -e ."
        ) from error
    return make(setup)
