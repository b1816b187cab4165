"""Which probes of edge probing are trained, and which spans are asked."""

from dataclasses import dataclass, field
from typing import Annotated

from probing.edges.requests import BITS, EdgeRecipe
from probing.edges.targets_encoders import CUMULATIVE, ENCODERS, KINDS, LABELS, TASK, TRAINED
from probing.kernel.errors import OptionError
from probing.kernel.options import Option, spelled
from probing.kernel.requests import SHIPPED, ModelName, OfModel, StoredRuns


@dataclass(frozen=True)
class EdgesRequest(StoredRuns):
    """The probes to train, the model, and the recipe."""

    tasks: Annotated[tuple[str, ...], Option("all, names separated by commas, or folders in jiant's format.")] = (
        "all",
    )
    kinds: Annotated[tuple[str, ...], Option(f"{', '.join(KINDS)}; several separated by commas.", known=KINDS)] = (
        CUMULATIVE,
    )
    labels: Annotated[tuple[str, ...], Option(f"{', '.join(LABELS)}; several separated by commas.", known=LABELS)] = (
        TASK,
    )
    encoder: Annotated[str, Option(f"{', '.join(ENCODERS)}.", known=ENCODERS)] = TRAINED
    codes: Annotated[bool, Option("Also compute the online code (minimum description length).")] = False
    seeds: Annotated[int, Option("Number of seeds.", least=1)] = 1
    recipe: EdgeRecipe = field(default_factory=EdgeRecipe)
    predictions: Annotated[bool, Option("Whether predictions for single targets are stored.")] = True
    probe_bits: Annotated[int, Option("Bits per weight of the probes that Ask uses: 16, 8 or 6.", known=BITS)] = 16

    def check(self) -> None:
        """Raises ``OptionError`` for options that no probe can have together."""
        if self.codes and CUMULATIVE not in self.kinds:
            raise OptionError(
                f"the online code exists for {CUMULATIVE} probes only; add them with {spelled('kinds')}, or leave"
                f" {spelled('codes')} out"
            )
        self.recipe.check()


@dataclass(frozen=True, kw_only=True)
class TraceRequest(OfModel):
    """A sentence, spans of its words, and the model. Without the second span, tasks of two spans are skipped."""

    sentence: Annotated[str, Option("A sentence, to be split as in treebanks; words between blanks stay unchanged.")]
    span1: Annotated[
        str | None,
        Option("First word, from 0, and the one after the last: 3:5. Without it the words are listed with numbers."),
    ] = None
    span2: Annotated[str | None, Option("A second span, for tasks of two.")] = None
    model: ModelName = SHIPPED
    tasks: Annotated[tuple[str, ...], Option("Tasks, separated by commas; none: all that have probes.")] = ()
