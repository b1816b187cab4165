"""Which training is followed, and which ones are compared for what they prevent."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from probing.core.options import Option
from probing.workflows.requests.model import OfModel

_FACTS = "trex, google_re, common_sense, questions; a LAMA folder; or a .jsonl or .csv file."


@dataclass(frozen=True)
class FollowRequest(OfModel):
    """The states of one training, its base, and the facts that all are asked."""

    model: Annotated[
        str, Option("Folder with the states of a training: checkpoint-STEP, as finetune --checkpoints or a Trainer leaves them.")
    ]
    base: Annotated[str | None, Option("Model that the training began with; none: the recorded one.")] = field(default=None, kw_only=True)
    facts: Annotated[str, Option(_FACTS)] = "trex"
    size: Annotated[int | None, Option("Ask this many of the facts; none: all.", least=1)] = None
    name: Annotated[str | None, Option("Name of the training in results; none: the folder's.")] = field(default=None, kw_only=True)
    record: Annotated[
        Path | None,
        Option(
            "Folder of the finished model, whose record has losses and scores; none: of that name in cache/models, else the states' own."
        ),
    ] = None
    out: Annotated[Path | None, Option("Folder of the results; none: cache/runs.")] = None
    threads: Annotated[int | None, Option("Processors; none: as many as torch uses here.", least=1, most=1024)] = None
