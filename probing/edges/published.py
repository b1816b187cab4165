"""What the paper on edge probing published: the F1 of every cumulative probe, and what follows from it."""

from collections.abc import Collection
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from probing.kernel.provenance import Frozen
from probing.kernel.published import Published, PublishedFigure, refuse_twice


class PublishedEncoder(Frozen):
    """An encoder of the paper; ``source`` is its hub id, ``depth`` its layers above the embeddings."""

    name: str
    title: str
    source: str
    depth: int


class PublishedTask(Frozen):
    """A task of the paper with its numbers by encoder: F1 of P(0) to P(L) in per cent, K(s) in bits.

    A task of a user's folder that has a name of ``authors``, as their code calls it, is on the paper's own data.
    """

    name: str
    title: str
    authors: tuple[str, ...] = ()
    data: str
    #: Of the training part; None if it is not published, like ``labels``.
    targets: int | None = None
    labels: int | None = None
    f1: dict[str, tuple[float, ...]]
    centre_of_gravity: dict[str, float] = Field(default_factory=dict)
    k_weights: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _f1_is_per_cent(self) -> "PublishedTask":
        if wrong := [value for values in self.f1.values() for value in values if not 0 <= value <= 100]:
            raise ValueError(f"{self.name} has the F1 {wrong[0]}, expected 0 to 100 per cent")
        return self


class PublishedScore(Frozen):
    """One published F1, in [0, 1]."""

    model: str
    task: str
    layer: int
    f1: float


class PublishedPlot(PublishedFigure):
    """A figure of the paper: a summary by task, or weights and gains by layer."""

    number: str
    kind: Literal["summary", "layers"]
    models: tuple[str, ...]


class PublishedEdges(Published):
    """All that is known of the paper's results."""

    file: ClassVar[str] = "edge-probing.toml"
    models: tuple[PublishedEncoder, ...]
    tasks: tuple[PublishedTask, ...]
    figures: tuple[PublishedPlot, ...] = ()

    @model_validator(mode="after")
    def _every_layer_is_there(self) -> "PublishedEdges":
        depths = {model.name: model.depth for model in self.models}
        for task in self.tasks:
            for what, numbers in (
                ("F1", task.f1),
                ("centre of gravity", task.centre_of_gravity),
                ("K(s)", task.k_weights),
            ):
                if unknown := set(numbers) - set(depths):
                    raise ValueError(
                        f"{task.name} has the {what} of {sorted(unknown)}, expected some of {sorted(depths)}"
                    )
            for model, values in task.f1.items():
                if len(values) != depths[model] + 1:
                    raise ValueError(
                        f"{task.name} has {len(values)} F1s of {model}, expected {depths[model] + 1}, from layer 0 on"
                    )
            for model, centre in task.centre_of_gravity.items():
                if not 0 <= centre <= depths[model]:
                    raise ValueError(
                        f"{task.name} has the centre of gravity {centre} on {model}, expected 0 to {depths[model]}"
                    )
        refuse_twice({"models": [model.name for model in self.models], "tasks": [task.name for task in self.tasks]})
        return self

    def model(self, name: str) -> PublishedEncoder:
        """The encoder of that name."""
        return next(encoder for encoder in self.models if encoder.name == name)

    def task(self, name: str) -> PublishedTask | None:
        """The task that has that name here; None if the paper has no such task."""
        return next((task for task in self.tasks if task.name == name), None)

    def stored_tasks(self, there: Collection[str]) -> dict[str, str]:
        """Task of the paper -> the task with results that represents it, on the paper's own data if there is one."""
        chosen = {
            task.name: next((name for name in (*task.authors, task.name) if name in there), None) for task in self.tasks
        }
        return {task: name for task, name in chosen.items() if name}

    @cached_property
    def scores(self) -> tuple[PublishedScore, ...]:
        """Every published F1 as a row: by encoder, task and layer."""
        return tuple(
            PublishedScore(model=model.name, task=task.name, layer=layer, f1=value / 100)
            for model in self.models
            for task in self.tasks
            for layer, value in enumerate(task.f1.get(model.name, ()))
        )
