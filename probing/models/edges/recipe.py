"""The recipe of a probe's training, which decides its weights."""

from probing.core.errors import OptionError
from probing.core.files.frozen import Frozen
from probing.core.provenance import canonical_json

#: Number formats in which hidden states are kept.
DTYPES = ("float16", "float32")


class EdgeRecipe(Frozen):
    """Training settings of probes. The form of the probe, dropout, clipping and the loss are those of the authors' code (jiant).

    Attributes:
        width: width of the projection and of the hidden layer; the authors' is 256.
        dropout: dropout before the last layer.
        learning_rate: initial learning rate of Adam with amsgrad; the authors' is 0.0001.
        batch: sentences per step.
        clip: maximum norm of a probe's gradient.
        check_every: steps between evaluations on the development part; 0 is half an epoch, but at least 50.
        most_checks: maximum number of evaluations before a probe ends.
        halve_after: evaluations in a row without a better F1 after which a probe's learning rate is halved.
        patience: evaluations in a row without a better F1 after which a probe ends.
        check_records: number of sentences of the development part, from its start, that an evaluation uses.
        states_dtype: number format of hidden states on disk, one of ``DTYPES``.
    """

    width: int = 256
    dropout: float = 0.3
    learning_rate: float = 1e-3
    batch: int = 32
    clip: float = 5.0
    check_every: int = 0
    most_checks: int = 20
    halve_after: int = 2
    patience: int = 5
    check_records: int = 5_000
    states_dtype: str = "float16"

    def check(self) -> None:
        """Raises an ``OptionError`` if no probe can be trained with a setting."""
        least = {"width": 1, "batch": 1, "most_checks": 1, "halve_after": 1, "patience": 1, "check_records": 1, "check_every": 0}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise OptionError(f"got {name} {getattr(self, name)}, expected {bound} or more")
        if not 0 <= self.dropout < 1:
            raise OptionError(f"got dropout {self.dropout}, expected at least 0 and less than 1")
        if not 0 < self.learning_rate < 1 or not self.clip > 0:
            raise OptionError(f"got learning rate {self.learning_rate} and clip {self.clip}, expected both above 0 and a rate below 1")

        if self.states_dtype not in DTYPES:
            raise OptionError(f"got states as {self.states_dtype!r}, expected {' or '.join(DTYPES)}")

    def canonical(self) -> str:
        """Canonical JSON."""
        return canonical_json(self.model_dump())
