"""What a capability declares of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Command(NamedTuple):
    """A command: the module that has its function or group, and its line in the list of commands."""

    module: str
    line: str


@dataclass(frozen=True, eq=False)
class Capability:
    """A question that is asked of models, with all that the program does and shows of it.

    What is declared in other rooms is named as ``module:name`` and imported when it is needed, so that the list of
    commands loads none of it: ``kind`` a ``store.kinds.Kind``, ``reports`` a ``reports.report.Reports``. ``name`` is
    that of its folder in every room and of its group of commands. Without ``line`` its commands
    have no group; ``reporting`` is the line of the command that reports what is stored.
    """

    name: str
    kind: str
    #: What its runs are shared as, alone or with those of other capabilities.
    shared: str
    reports: str
    line: str = ""
    commands: Mapping[str, Command] = field(default_factory=dict)
    reporting: str = ""
