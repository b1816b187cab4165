"""What a model is fine-tuned on, and which fine-tuned model is scored again."""

from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from probing.kernel.errors import OptionError
from probing.kernel.objectives import POOLINGS, TASKS, Task, task_named
from probing.kernel.options import Option, Options, refuse_out_of_range, spelled
from probing.kernel.requests import ModelName


@dataclass(frozen=True)
class TrainingLength:
    """Length and settings of the training, if they differ from the objective's."""

    steps: Annotated[int | None, Option("Training steps; none: the objective's own epochs.", least=1)] = None
    tokens: Annotated[int | None, Option("Padded tokens per step instead of rows per step.", least=1)] = None
    batch: Annotated[int | None, Option("Rows per step.", least=1)] = None
    rate: Annotated[float | None, Option("Peak learning rate.")] = None
    pieces: Annotated[int | None, Option("Longest input in word pieces.", least=16)] = None
    dropout: Annotated[
        float | None, Option("Dropout everywhere in the model; none: the objective's or the base's.", least=0, most=0.9)
    ] = None
    looks: Annotated[
        int | None, Option("Score the model this often on a development part and keep the best state.", least=1)
    ] = None
    patience: Annotated[
        int | None, Option("End the training after this many looks without a better score.", least=1)
    ] = None
    bfloat16: Annotated[
        bool,
        Option(
            "Compute products in bfloat16: faster on GPUs and on processors with such instructions, slower on others."
        ),
    ] = False

    def __post_init__(self) -> None:
        refuse_out_of_range(self)

    def settings(self, task: Task) -> dict[str, Any]:
        """Fields of the recipe: the objective's, replaced by those that are given."""
        settings_asked = {
            "steps": self.steps,
            "tokens_per_step": self.tokens,
            "batch": self.batch,
            "learning_rate": self.rate,
        }
        settings_asked |= {"looks": self.looks, "patience": self.patience, "bfloat16": self.bfloat16}
        settings = {**task.settings} | {name: value for name, value in settings_asked.items() if value}
        if self.dropout is not None:
            settings["dropout"] = self.dropout
        if self.pieces:
            settings |= {"max_pieces": self.pieces, "stride": min(settings.get("stride", 128), self.pieces // 3)}
        return settings


@dataclass(frozen=True)
class Protection:
    """What the training does against forgetting."""

    freeze_layers: Annotated[
        int, Option("Leave the embeddings and this many of the lowest layers unchanged.", least=0)
    ] = 0
    replay: Annotated[
        float,
        Option(
            "Share of each batch's tokens that are the base's own text, for masked language modelling.",
            least=0,
            most=0.9,
        ),
    ] = 0.0
    replay_text: Annotated[
        Path | None,
        Option(
            "The base's own text for --replay, in the form of WikiText; none: the fetched WikiText-2, training part."
        ),
    ] = None
    average: Annotated[
        float,
        Option(
            "Weight of the base in the mean of both models' weights that is taken after the training.",
            least=0,
            most=0.99,
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        refuse_out_of_range(self)

    def settings(self) -> dict[str, Any]:
        """Fields of the recipe that are not at their defaults."""
        fields = {"frozen_layers": self.freeze_layers, "replay": self.replay, "average": self.average}
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True)
class FinetuneRequest(Options):
    """A fine-tuning. Every field's annotation has its description."""

    model: Annotated[str, Option("Base encoder: registry name, hub id or folder.")]
    objective: Annotated[str, Option(f"Objective of the fine-tuning: {', '.join(TASKS)}.", known=tuple(TASKS))]
    data: Annotated[Path | None, Option("Folder of the data set (control: a text file); none: the fetched one.")] = None
    _: KW_ONLY
    lama: Annotated[
        Path | None, Option("For the control of nesia-mini: LAMA folder of nesia-mini's training text.")
    ] = None
    out: Annotated[Path | None, Option("Folder of the finished model; none: cache/models/MODEL-OBJECTIVE.")] = None
    length: TrainingLength = field(default_factory=TrainingLength)
    protection: Protection = field(default_factory=Protection)
    freeze_embeddings: Annotated[bool, Option("Leave the word embeddings unchanged.")] = False
    difference: Annotated[bool, Option("Store the difference from the base.")] = False
    bits: Annotated[int | None, Option("Bits per weight of --difference: 8 or 4; none: 8.", known=(8, 4))] = None
    pooling: Annotated[
        str | None,
        Option(
            f"For cola, sst-2, rte: input of the head, {' or '.join(POOLINGS)}; none: the first token.", known=POOLINGS
        ),
    ] = None
    seed: Annotated[int, Option("Seed of order, masks and the task's head.", least=0)] = 1
    perplexity_text: Annotated[
        Path | None,
        Option("Text whose perplexity is measured after each pass; none: WikiText-2's raw test text, if fetched."),
    ] = None
    rates: Annotated[
        tuple[float, ...],
        Option("Learning rates, such as 1e-4,2e-4: the best after a third of --steps, by --looks.", least=1e-9, most=1),
    ] = ()
    shuffled_labels: Annotated[
        bool, Option("Train on shuffled labels: the control of the task.", names=("--shuffle-labels",))
    ] = False
    checkpoints: Annotated[int, Option("Keep this many states of the training in cache/checkpoints.", least=0)] = 0
    revision: Annotated[
        str | None,
        Option("Branch, tag or commit of a model on the hub; none: what the registry pins, else its main branch."),
    ] = None
    device: Annotated[str, Option("auto or cpu.", known=("auto", "cpu"))] = "auto"

    def check(self) -> None:
        """Refuses bits without a difference, several rates together with one, and rates that nothing chooses from."""
        if self.protection.replay_text and not self.protection.replay:
            raise OptionError(f"got {spelled('replay_text')} without {spelled('replay')}; give both, or neither")
        if self.bits and not self.difference:
            raise OptionError(
                f"got {spelled('bits', self.bits)} without {spelled('difference')}; give both, or neither"
            )
        if self.rates and self.length.rate:
            raise OptionError(f"got {spelled('rates')} and {spelled('rate')}; give one of them")
        if self.rates and not (self.length.steps and self.length.looks):
            needed = f"{spelled('steps')} and {spelled('looks')}"
            raise OptionError(
                f"got {spelled('rates')} without {needed}; a rate is chosen by the development score after a third of"
                " the steps"
            )

    @property
    def task(self) -> Task:
        """The objective, with the requested pooling, on gold or shuffled labels."""
        task = task_named(self.objective).pooled(self.pooling)
        return task.shuffled() if self.shuffled_labels else task


@dataclass(frozen=True)
class ScoreRequest(Options):
    """A model that ``finetune`` made, and the data. Every field's annotation has its description."""

    model: ModelName
    _: KW_ONLY
    base: Annotated[str | None, Option("Model that it was fine-tuned from; none: the recorded one.")] = None
    data: Annotated[Path | None, Option("Folder of the data set (control: a text file); none: the fetched one.")] = None
    lama: Annotated[
        Path | None, Option("For the control of nesia-mini: LAMA folder of nesia-mini's training text.")
    ] = None
    device: Annotated[str, Option("auto or cpu.", known=("auto", "cpu"))] = "auto"
