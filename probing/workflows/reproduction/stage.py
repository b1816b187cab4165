"""Names of the papers and of the stages of ``reproduce``, known without torch."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from probing.core.errors import OptionError

T = TypeVar("T")


class Paper(StrEnum):
    """The papers that can be reproduced."""

    bertnesia = "bertnesia"
    edge_probing = "edge-probing"
    interplay = "interplay"


class Stage(StrEnum):
    """The stages, in order."""

    fetch = "fetch"
    finetune = "finetune"
    heads = "heads"
    probe = "probe"
    train = "train"
    measure = "measure"
    build = "build"
    tables = "tables"


def stages_of(stages: Mapping[Stage, T], only: Stage | None, paper: str) -> dict[Stage, T]:
    """The requested stages, in order.

    Args:
        stages: all that the paper has.
        only: one of them; None: all.
        paper: its name in ``--paper``.

    Raises:
        OptionError: if the paper has no such stage.
    """
    if only is not None and only not in stages:
        raise OptionError(f"got the stage {only.value!r}; --paper {paper} has {', '.join(stages)}")
    return {stage: do for stage, do in stages.items() if only in (None, stage)}
