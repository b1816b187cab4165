"""Which paper is reproduced, with which family of models, and how."""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from probing.kernel.errors import OptionError
from probing.kernel.models.names import HEADS, LOGIT_LENS, TIED, canonical_heads
from probing.kernel.options import Option, Options, spelled
from probing.kernel.requests import ExecutorChoice
from probing.sentences.examples import OURS, PROTOCOLS


class PaperName(StrEnum):
    """The papers that can be reproduced."""

    bertnesia = "bertnesia"
    edge_probing = "edge-probing"
    interplay = "interplay"
    forgetting = "forgetting"


class Stage(StrEnum):
    """The stages, in order."""

    fetch = "fetch"
    finetune = "finetune"
    heads = "heads"
    probe = "probe"
    train = "train"
    measure = "measure"
    tables = "tables"


#: Paper -> options that only some papers use.
OWN = {
    PaperName.bertnesia: ("heads", "facts", "own", "text", "valid", "steps", "tokens", "pieces", "positions", "epochs"),
    PaperName.edge_probing: ("tasks", "seeds"),
    PaperName.interplay: ("tasks", "steps", "tokens", "pieces", "protocol", "blocks", "sentences"),
    PaperName.forgetting: ("valid",),
}


@dataclass(frozen=True)
class ReproduceRequest(Options):
    """A reproduction and its settings."""

    paper: Annotated[PaperName, Option("Which paper is reproduced.")] = PaperName.bertnesia
    family: Annotated[str, Option("A family of the registry.")] = "bert-base"
    heads: Annotated[tuple[str, ...], Option(f"Kinds of heads, separated by commas: {', '.join(HEADS)}.")] = (
        TIED,
        LOGIT_LENS,
    )
    facts: Annotated[str, Option("As for probe; a LAMA folder is probed in its own templates.")] = "all"
    out: Annotated[Path | None, Option("Folder of the tables; none: below cache/reproduction.")] = None
    only: Annotated[Stage | None, Option("One stage instead of all.")] = None
    source: Annotated[Path | None, Option("Folder of local copies; nothing is downloaded.", names=("--from",))] = None
    own: Annotated[bool, Option("Fine-tune every model here, even those that the hub has.")] = False
    text: Annotated[Path | None, Option("Training text of the heads; none: the fetched WikiText-2.")] = None
    valid: Annotated[Path | None, Option("Validation text of the heads; none: the fetched WikiText-2.")] = None
    steps: Annotated[int | None, Option("Fine-tuning steps; none: each objective's own epochs.", least=1)] = None
    tokens: Annotated[int | None, Option("Padded tokens per fine-tuning step instead of rows per step.", least=1)] = (
        None
    )
    pieces: Annotated[int | None, Option("Longest fine-tuning input in word pieces.", least=16)] = None
    positions: Annotated[int, Option("Masked positions that heads learn from.", least=1)] = 30_000
    epochs: Annotated[int, Option("Passes of the heads over their positions.", least=1)] = 3
    tasks: Annotated[
        tuple[str, ...],
        Option("Probing tasks, separated by commas, or all; for edge probing also folders in jiant's format."),
    ] = ("all",)
    seeds: Annotated[int, Option("Number of seeds of edge probing.", least=1)] = 1
    protocol: Annotated[str, Option(f"For sentence probing: {', '.join(PROTOCOLS)}.", known=PROTOCOLS)] = OURS
    blocks: Annotated[int, Option("Blocks of text for perplexity; 0: none.", least=0)] = 300
    sentences: Annotated[int, Option("Maximum number of sentences for attention.", least=2)] = 400
    device: Annotated[str, Option("auto, cpu, cuda or mps.")] = "auto"
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)

    def check(self) -> None:
        """Gives kinds of heads their usual names; raises an ``OptionError`` for an unknown one."""
        object.__setattr__(self, "heads", canonical_heads(self.heads))
        if set(self.heads) - set(HEADS):
            raise OptionError(
                f"got heads {','.join(self.heads)!r}; expected some of {', '.join(HEADS)}, separated by commas"
            )

    def refuse_of_others(self, options: Collection[str]) -> None:
        """Raises an ``OptionError`` if an option was given that this paper's reproduction does not use."""
        for other, names in OWN.items():
            for name in names:
                if name in options and name not in OWN[self.paper]:
                    raise OptionError(
                        f"got {spelled(name)}, which is an option of --paper {other} and not of --paper {self.paper}"
                    )
