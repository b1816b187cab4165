"""What the paper on fine-tuning and sentence-level probing published: scores, changes of accuracy, claims."""

from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from probing.kernel.provenance import Frozen
from probing.kernel.published import Published, PublishedFigure, refuse_twice, refuse_unknown
from probing.sentences.examples import POOLINGS
from probing.sentences.numbers import LOWER, UPPER

#: The two groups of layers that changes are averaged over.
GROUPS = (LOWER, UPPER)


class PublishedEncoder(Frozen):
    """An encoder of the paper; its stand-ins are close relatives, which are shown under their own names."""

    name: str
    source: str
    stand_ins: tuple[str, ...] = ()
    depth: int


class PublishedTuning(Frozen):
    """A fine-tuning task of the paper: a column of Tables 1 and 4."""

    name: str
    objective: str
    metrics: tuple[str, ...]
    training: str
    validation: str
    note: str = ""
    #: Row of Table 1 -> per cent, one per metric.
    scores: Mapping[str, tuple[float, ...]]

    @model_validator(mode="after")
    def _a_score_for_each_metric(self) -> "PublishedTuning":
        for row, values in self.scores.items():
            if len(values) != len(self.metrics) or not all(-100 <= value <= 100 for value in values):
                raise ValueError(f"{self.name} has the scores {values} of {row}, expected {len(self.metrics)} per cent")
        return self


class PublishedChanges(Frozen):
    """A row of Tables 2 and 5: pooling -> task -> change over lower and upper layers, in points, if it was read."""

    model: str
    task: str
    first: Mapping[str, tuple[float, float]]
    mean: Mapping[str, tuple[float, float]]


class PublishedDrawing(PublishedFigure):
    """A figure of the paper."""

    number: str
    kind: Literal["accuracy", "entropy", "distance", "epochs", "replaced", "first", "mean"]


class PublishedSentences(Published):
    """All that is known of the paper's results. ``settings`` is Table 3."""

    file: ClassVar[str] = "sentence-probing.toml"
    probes: int
    models: tuple[PublishedEncoder, ...]
    tuned: tuple[PublishedTuning, ...]
    settings: Mapping[str, str] = Field(default_factory=dict)
    changes: tuple[PublishedChanges, ...]
    figures: tuple[PublishedDrawing, ...] = ()

    @model_validator(mode="after")
    def _names_are_known(self) -> "PublishedSentences":
        models, tuned = [model.name for model in self.models], [task.name for task in self.tuned]
        rows = [(row.model, row.task) for row in self.changes]
        refuse_twice({"models": models, "fine-tuning tasks": tuned, "rows of Tables 2 and 5": rows})
        refuse_unknown("model", {model for model, _ in rows}, set(models))
        refuse_unknown(
            "fine-tuning task", {name for row in self.changes for name in (*row.first, *row.mean)}, set(tuned)
        )
        return self

    @property
    def tasks(self) -> tuple[str, ...]:
        """The probing tasks, in the order of the tables."""
        return tuple(dict.fromkeys(row.task for row in self.changes))

    @property
    def objectives(self) -> dict[str, str]:
        """What results call a fine-tuning task -> what the paper calls it."""
        return {task.objective: task.name for task in self.tuned}

    def stored_encoders(self, bases: Collection[str]) -> dict[str, str]:
        """Encoder of the paper -> the stored model that it is, or its stand-in."""
        chosen = {
            encoder.name: next((name for name in (encoder.source, *encoder.stand_ins) if name in bases), "")
            for encoder in self.models
        }
        return {name: base for name, base in chosen.items() if base}

    def change(self, model: str, task: str, pooling: str, objective: str) -> tuple[float, float] | None:
        """Change over the lower and over the upper layers, in points; None if it was not read."""
        name = self.objectives.get(objective, "")
        row = next((row for row in self.changes if (row.model, row.task) == (model, task)), None)
        return getattr(row, pooling).get(name) if row and pooling in POOLINGS else None
