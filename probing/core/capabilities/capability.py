"""What a capability declares of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Command(NamedTuple):
    """A command.

    Attributes:
        module: has the function of the command's name, or the group of that name; imported when the command is called.
        line: in the list of commands; the first of the function's docstring.
    """

    module: str
    line: str


@dataclass(frozen=True, eq=False)
class Capability:
    """A question that is asked of models, with all that the program does and shows of it.

    What is declared in other rooms is named as ``module:name`` and imported when it is needed, so that the list of
    commands loads none of it.

    Attributes:
        name: of its folder in every room and of its group of commands.
        kind: its ``store.kinds.Kind`` of runs.
        shared: what its runs are shared as, alone or with those of other capabilities.
        reports: its ``reports.report.Reports``.
        line: of its group in the list of commands; empty: its commands have no group.
        commands: of its group.
        reporting: line of the group's command that reports what is stored, the last one.
    """

    name: str
    kind: str
    shared: str
    reports: str
    line: str = ""
    commands: Mapping[str, Command] = field(default_factory=dict)
    reporting: str = ""
