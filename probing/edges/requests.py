"""Which probes of edge probing are trained, by which recipe, and which spans are asked."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Annotated

from probing.edges.targets import CUMULATIVE, KINDS, LABELS, TASK, Part, TaskData
from probing.kernel.errors import OptionError
from probing.kernel.options import Option, refuse_out_of_range, spelled
from probing.kernel.provenance import ENCODERS, TRAINED, Frozen, Provenance, canonical_json
from probing.kernel.requests import SHIPPED, ModelName, OfModel, StoredRuns


class EdgeRunConfig(Provenance):
    """All that decides the numbers of a run."""

    task: str
    data: str
    #: ``cumulative``, ``at`` or ``full``.
    kind: str
    #: ``task`` or ``control``.
    labels: str
    #: ``trained``, ``random`` or ``random-body``.
    encoder: str
    codes: bool = False


def part_sha256(part: Part) -> str:
    """sha256 over the words, spans and labels of a part."""
    digest = hashlib.sha256()
    for record in part.records:
        targets = [[target.span1, target.span2, target.labels] for target in record.targets]
        digest.update((json.dumps([record.words, targets], ensure_ascii=False) + "\n").encode())
    return digest.hexdigest()


def data_sha256(data: TaskData) -> str:
    """sha256 over all parts of a task."""
    return hashlib.sha256(
        json.dumps({name: part_sha256(part) for name, part in data.parts().items()}).encode()
    ).hexdigest()


#: Number formats in which hidden states are kept.
DTYPES = ("float16", "float32")
#: Bits per stored weight: 16 is float16; 8 and 6 are integers with a scale per row, and 6 is also compressed.
BITS = (16, 8, 6)


class EdgeRecipe(Frozen):
    """Training settings of probes. Form, dropout, clipping and loss are those of the authors' code (jiant)."""

    width: Annotated[int, Option("Width of a probe; the authors' is 256.", least=1)] = 256
    dropout: float = 0.3
    #: of Adam with amsgrad
    learning_rate: Annotated[
        float, Option("Learning rate at the start; the authors' is 0.0001.", names=("--rate",))
    ] = 1e-3
    batch: Annotated[int, Option("Sentences per step.", least=1)] = 32
    clip: float = 5.0  #: maximum norm of a probe's gradient
    #: 0: half an epoch, but at least 50 steps
    check_every: Annotated[
        int, Option("Steps from one check on the development part to the next; 0: half a pass.", least=0)
    ] = 0
    most_checks: Annotated[int, Option("Maximum number of checks of a probe.", least=1)] = 20
    halve_after: Annotated[
        int, Option("Checks in a row without a better F1 that halve its learning rate.", least=1)
    ] = 2
    patience: Annotated[int, Option("Checks in a row without a better F1 that end a probe.", least=1)] = 5
    check_records: int = 5_000  #: sentences of the development part, from its start, that an evaluation uses
    states_dtype: Annotated[str, Option("Format of hidden states on disk: float16 or float32.", known=DTYPES)] = (
        "float16"
    )

    def check(self) -> None:
        """Raises an ``OptionError`` if no probe can be trained with a setting."""
        refuse_out_of_range(self)
        if self.check_records < 1:
            raise OptionError(f"got {self.check_records} sentences per evaluation, expected 1 or more")
        if not 0 <= self.dropout < 1:
            raise OptionError(f"got dropout {self.dropout}, expected at least 0 and less than 1")
        if not 0 < self.learning_rate < 1 or not self.clip > 0:
            raise OptionError(
                f"got learning rate {self.learning_rate} and clip {self.clip}, expected both above 0 and a rate below 1"
            )

    def canonical(self) -> str:
        """Canonical JSON."""
        return canonical_json(self.model_dump())


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
