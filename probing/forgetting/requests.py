"""Which lost facts are looked for, which training is followed, and which recipes are compared."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from probing.finetuning.requests import TrainingLength
from probing.forgetting.ways import LESSONS
from probing.kernel.errors import OptionError
from probing.kernel.objectives import TASKS
from probing.kernel.options import Option, Options, spelled
from probing.kernel.requests import OfModel


@dataclass(frozen=True)
class TunedAndBase(OfModel):
    """A fine-tuned model, its base, and the facts that both are asked."""

    base: Annotated[str | None, Option("Model that it was fine-tuned from; none: the recorded one.")] = field(
        default=None, kw_only=True
    )
    facts: Annotated[
        str, Option("trex, google_re, common_sense, questions, everyday; a LAMA folder; or a file with a table.")
    ] = "trex"
    name: Annotated[str | None, Option("Name of the model in results; none: its registry name or its folder's.")] = (
        field(default=None, kw_only=True)
    )
    threads: Annotated[int | None, Option("Processors; none: as many as torch uses here.", least=1, most=1024)] = None
    called: Annotated[
        str | None, Option("Name of the probe set of your own facts; none: the file's name.", names=("--as",))
    ] = None


@dataclass(frozen=True)
class RecoverRequest(TunedAndBase):
    """How lost facts are looked for."""

    k: Annotated[int, Option("A fact is known if the rank of its answer is at most k.", known=(1, 10))] = 1
    seeds: Annotated[
        int, Option("How often relearning is repeated, with other halves and another order.", least=1, most=10)
    ] = 3
    rate: Annotated[float, Option("Learning rate of relearning.", least=1e-6, most=0.1)] = 2e-4
    templates: Annotated[
        str | None,
        Option(
            "Template set in which lost facts are asked once more, as paraphrase: lost for this wording, or in general?"
        ),
    ] = None
    lessons: Annotated[
        tuple[str, ...],
        Option(
            "Relearn from 480 lessons of one kind, too: same, in another wording (--templates, else paraphrase), of"
            " other relations, unlike in both, or kept facts only; repeatable.",
            known=tuple(LESSONS),
            repeated=True,
        ),
    ] = ()
    plant: Annotated[
        int | None,
        Option(
            "Draw so many arbitrary answers, teach the base a random half of them, and fine-tune it again: do taught"
            " answers come back more often than guesses, and are they saved more than the untaught half?",
            least=100,
        ),
    ] = None
    savings: Annotated[
        bool,
        Option(
            "Also teach what the base said, and counterfeits of equal probability, in one training: which is learned"
            " faster?"
        ),
    ] = False
    text: Annotated[
        Path | None,
        Option("Text for the fitted head, in the form of WikiText; none: the fetched WikiText-2, validation part."),
    ] = None
    positions: Annotated[int, Option("Masked pieces that the fitted head is fitted to.", least=100)] = 8192
    out: Annotated[Path | None, Option("Folder of the runs; none: cache/runs.")] = None


@dataclass(frozen=True)
class LineRequest(TunedAndBase):
    """Facts that means of the weights of both are asked, or one mean to save."""

    size: Annotated[int | None, Option("Ask this many of the facts; none: all.", least=1)] = None
    data: Annotated[Path | None, Option("Data that a model of finetune is scored on; none: the fetched ones.")] = None
    save: Annotated[
        float | None, Option("Ask nothing, and write the model with this share of its own weights.", 0, 1)
    ] = None
    out: Annotated[Path | None, Option("Folder of the runs, or of the model that --save writes; none: in cache.")] = (
        None
    )


_FACTS = "trex, google_re, common_sense, questions, everyday; a LAMA folder; or a file with a table."


@dataclass(frozen=True)
class FollowRequest(OfModel):
    """The states of one training, its base, and the facts that all are asked."""

    model: Annotated[
        str,
        Option(
            "Folder with the states of a training: checkpoint-STEP, as finetune --checkpoints or a Trainer leaves them."
        ),
    ]
    base: Annotated[str | None, Option("Model that the training began with; none: the recorded one.")] = field(
        default=None, kw_only=True
    )
    facts: Annotated[str, Option(_FACTS)] = "trex"
    size: Annotated[int | None, Option("Ask this many of the facts; none: all.", least=1)] = None
    name: Annotated[str | None, Option("Name of the training in results; none: the folder's.")] = field(
        default=None, kw_only=True
    )
    record: Annotated[
        Path | None,
        Option(
            "Folder of the finished model, whose record has losses and scores; none: of that name in cache/models, else"
            " the states' own."
        ),
    ] = None
    out: Annotated[Path | None, Option("Folder of the results; none: cache/runs.")] = None
    threads: Annotated[int | None, Option("Processors; none: as many as torch uses here.", least=1, most=1024)] = None


#: Recipes that are compared if none are named: parts of a recipe are joined by "+".
RECIPES = (
    "unprotected",
    "rate=0.5",
    "rate=0.25",
    "freeze=0.5",
    "freeze=0.75",
    "replay=0.1",
    "replay=0.5",
    "average=0.25",
    "average=0.5",
)
_PARTS = ("rate", "freeze", "replay", "average")


@dataclass(frozen=True)
class PreventRequest(Options):
    """One fine-tuning in several recipes and seeds, and the facts that each is asked."""

    model: Annotated[str, Option("Base encoder: registry name, hub id or folder.")]
    objective: Annotated[str, Option(f"Objective of the fine-tuning: {', '.join(TASKS)}.", known=tuple(TASKS))]
    data: Annotated[Path | None, Option("Folder of the data set (control: a text file); none: the fetched one.")] = None
    facts: Annotated[str, Option(_FACTS)] = "trex"
    size: Annotated[int | None, Option("Ask this many of the facts; none: all.", least=1)] = None
    recipes: Annotated[
        tuple[str, ...],
        Option(
            "Recipes: unprotected, or parts joined by +: rate=SHARE (of the learning rate), freeze=SHARE (of the"
            " layers, the lowest), replay=SHARE, average=WEIGHT."
        ),
    ] = RECIPES
    seeds: Annotated[tuple[int, ...], Option("Seeds of each recipe.", least=0)] = (1, 2)
    length: TrainingLength = field(default_factory=TrainingLength)
    freeze_embeddings: Annotated[bool, Option("Leave the word embeddings unchanged, in every recipe.")] = False
    replay_text: Annotated[
        Path | None,
        Option("The base's own text for replay, in the form of WikiText; none: the fetched WikiText-2, training part."),
    ] = None
    out: Annotated[Path | None, Option("Folder of the results; none: cache/runs.")] = None
    threads: Annotated[int | None, Option("Processors; none: as many as torch uses here.", least=1, most=1024)] = None
    device: Annotated[str, Option("auto or cpu.", known=("auto", "cpu"))] = "auto"

    def check(self) -> None:
        """Refuses a recipe that is none."""
        for recipe in self.recipes:
            parts_of(recipe)


def parts_of(recipe: str) -> dict[str, float]:
    """The parts of a recipe; empty if it is unprotected.

    >>> parts_of("freeze=0.5+average=0.25"), parts_of("unprotected")
    ({'freeze': 0.5, 'average': 0.25}, {})
    """
    shares: dict[str, float] = {}
    for part in () if recipe == "unprotected" else recipe.split("+"):
        name, _, value = part.partition("=")
        try:
            shares[name] = float(value)
        except ValueError:
            shares[name] = -1.0
        if name not in _PARTS or not 0 < shares[name] <= (1 if name == "freeze" else 0.99):
            expected = f"unprotected, or parts such as {', '.join(RECIPES[1::2])}, with shares above 0 and up to 0.99"
            raise OptionError(f"got {spelled('recipes', recipe)}; expected {expected}")
    return shares
