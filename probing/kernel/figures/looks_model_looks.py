"""Names and colours of the stored models, the same on every page."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from probing.finetuning.success import Verdict
from probing.kernel.errors import RegistryError
from probing.kernel.figures.theme import model_colours
from probing.kernel.models.names_model_names import KnownModel, known_model, short_names
from probing.kernel.registry import Registry, read_registry

#: Verdict -> what a name ends with in figures and menus.
MARKS: Mapping[Verdict, str] = {
    "learned": " ✓",
    "partly": " ◐",
    "not learned": " ✗",
    "cannot tell": " ?",
    "no score stored": " ?",
    "control": " (control)",
}


@dataclass(frozen=True)
class Looks:
    """Full names of models -> short names and colours, in the order of menus and figures."""

    names: dict[str, str]
    colours: dict[str, str]
    shipped: frozenset[str]  #: the demonstration models
    results_only: frozenset[str]  #: those without weights: further seeds and kinds of a training, and controls

    @property
    def added(self) -> tuple[str, ...]:
        """The models added to the demonstration models, in the order of menus; none if none of those is stored."""
        return tuple(name for name in self.colours if name not in self.shipped) if self.shipped else ()


def looks_of(runs: pd.DataFrame) -> Looks:
    """Names and colours of all models of the runs: column ``model``, optionally ``base`` and ``objective``."""
    if runs.empty:
        return _looks((), _registry())
    columns = (
        runs[name].fillna("").tolist() if name in runs else [""] * len(runs) for name in ("model", "base", "objective")
    )
    # Empty texts sort first, so the last description of a model is the most complete one.
    described = {model: (model, *rest) for model, *rest in sorted(set(zip(*columns, strict=True)))}
    return _looks(tuple(described.values()), _registry())


def marked(name: str, verdict: Verdict | None) -> str:
    """A model's name in plain text; a mark says whether a fine-tuned one learned its task."""
    return name + mark(name, verdict)


def mark(name: str, verdict: Verdict | None) -> str:
    """What the name of a model ends with; ``""`` for a base, and for a control whose name says so."""
    return "" if verdict is None or says_so(name, verdict) else MARKS[verdict]


def says_so(name: str, verdict: Verdict) -> bool:
    """Whether the name itself says that the model is a control."""
    return verdict == "control" and "control" in name.lower()


def usual_colour(name: str) -> str:
    """The colour of a registered model without regard to others, such as one asked live; else empty."""
    known = known_model(_registry(), name)
    return model_colours([known])[name] if known.listed else ""


@lru_cache(maxsize=16)
def _looks(models: tuple[tuple[str, str, str], ...], registry: Registry) -> Looks:
    known: list[KnownModel] = [known_model(registry, *model) for model in models]
    shipped = frozenset(model.name for model in known if model.shipped or model.results_only)
    return Looks(
        short_names(known),
        model_colours(known),
        shipped,
        frozenset(model.name for model in known if model.results_only),
    )


def _registry() -> Registry:
    """The registry; an empty one if it cannot be read, because results can be shown without it."""
    try:
        return read_registry()
    except RegistryError:
        return Registry(models=(), data=())
