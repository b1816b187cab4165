"""Which probes of whole sentences are trained and which sentence is analysed; the configuration names the run."""

from dataclasses import dataclass, field
from typing import Annotated

from probing.kernel.options import Option
from probing.kernel.provenance import Provenance
from probing.kernel.requests import SHIPPED, ModelName, OfModel, StoredRuns, TunedFrom
from probing.sentences.examples import OURS, POOLINGS, PROTOCOLS, READINGS


class SentenceRunConfig(Provenance):
    """All that decides a run's numbers; ``data`` is ``SentenceData.sha256``, the base a fine-tuned model's."""

    task: str
    data: str
    protocol: str
    poolings: tuple[str, ...]
    readings: tuple[str, ...]
    portions: tuple[int, ...]
    codes: bool
    base_weights: str = ""
    base_configuration: str = ""


@dataclass(frozen=True)
class SentencesRequest(StoredRuns):
    """The probes to train, the model, and the protocol."""

    base: TunedFrom = field(default=None, kw_only=True)
    tasks: Annotated[
        tuple[str, ...],
        Option("all, names separated by commas, or tables with sentence and label, or folders of such parts."),
    ] = ("all",)
    protocol: Annotated[
        str, Option(f"{', '.join(PROTOCOLS)}: how sentences are split and probes are fitted.", known=PROTOCOLS)
    ] = OURS
    pooling: Annotated[
        tuple[str, ...], Option(f"{', '.join(POOLINGS)}; several separated by commas.", known=POOLINGS)
    ] = POOLINGS
    readings: Annotated[
        tuple[str, ...] | None,
        Option(
            f"{', '.join(READINGS)}; several separated by commas. None: all that are possible for the model.",
            known=READINGS,
        ),
    ] = None
    #: Of the learning curve of the reading ``own``.
    portions: Annotated[
        tuple[int, ...],
        Option("n for one in n of the training sentences; several separated by commas.", least=1, most=255),
    ] = (1, 4, 16)
    predictions: Annotated[bool, Option("Whether the prediction for each test sentence is stored.")] = True
    codes: Annotated[bool, Option("Whether the online code (minimum description length) is computed.")] = True
    seed: Annotated[int, Option("Seed of the MLP's start.", least=0)] = 0


@dataclass(frozen=True, kw_only=True)
class SentenceAskRequest(OfModel):
    """One sentence, or two, and the model."""

    text: Annotated[str, Option("A sentence.", argument=True)]
    pair: Annotated[str, Option("A second sentence, which follows the first.")] = ""
    model: ModelName = SHIPPED
    base: TunedFrom = None
