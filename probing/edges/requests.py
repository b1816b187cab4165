"""The recipe of a probe's training, which decides its weights."""

from typing import Annotated

from probing.kernel.errors import OptionError
from probing.kernel.options import Option, refuse_out_of_range
from probing.kernel.provenance import Frozen, canonical_json

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
