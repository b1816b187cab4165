"""Names and colours of the stored models, the same on every page, and which runs a page shows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import pandas as pd

from probing.kernel.errors import RegistryError
from probing.kernel.fact import PROBE_SETS
from probing.kernel.figures.theme import model_colours
from probing.kernel.models.names import (
    BERT,
    FULL,
    HEADS,
    LEAST_SQUARES,
    LOGIT_LENS,
    TIED,
    TUNED_LENS,
    KnownModel,
    known_model,
    short_names,
)
from probing.kernel.registry import Registry, read_registry
from probing.kernel.success import Verdict

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
    return "" if verdict is None or (verdict == "control" and "control" in name.lower()) else MARKS[verdict]


def usual_colours(names: Iterable[str]) -> dict[str, str]:
    """Model -> colour, of models of which only the names are known, such as those that are asked live."""
    registry = _registry()
    return _colours([known_model(registry, name) for name in names], registry)


def _colours(models: Iterable[KnownModel], registry: Registry) -> dict[str, str]:
    return model_colours(models, [known_model(registry, entry.name) for entry in registry.models])


@lru_cache(maxsize=16)
def _looks(models: tuple[tuple[str, str, str], ...], registry: Registry) -> Looks:
    known: list[KnownModel] = [known_model(registry, *model) for model in models]
    shipped = frozenset(model.name for model in known if model.shipped or model.results_only)
    return Looks(
        short_names(known),
        _colours(known, registry),
        shipped,
        frozenset(model.name for model in known if model.results_only),
    )


def _registry() -> Registry:
    """The registry; an empty one if it cannot be read, because results can be shown without it."""
    try:
        return read_registry()
    except RegistryError:
        return Registry(models=(), data=())


#: Kind of head -> its name in words; a layer is read with it.
HEAD_NAMES = {
    TIED: "retrained reader",
    LOGIT_LENS: "own output layer",
    FULL: "full head, as in the paper",
    LEAST_SQUARES: "fitted map",
    TUNED_LENS: "tuned lens",
}
#: Field of the single run -> the field of overviews that it follows until the user chooses it.
ONE_OF_SEVERAL = {"model": "models", "head": "heads", "probe_set": "probe_sets"}
MAX_DEFAULT_MODELS = 8
#: More lines than this cannot be distinguished; beyond it only the first probe set is shown by default.
MAX_DEFAULT_LINES = 8


@dataclass(frozen=True)
class RunNames:
    """Which runs are shown: the plural ones are overviews', the others one run's; empty: the page's default."""

    models: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    probe_sets: tuple[str, ...] = ()
    model: str = ""
    head: str = ""
    probe_set: str = ""


Chosen = TypeVar("Chosen", bound=RunNames)


def set_name(probe_set: str) -> str:
    return PROBE_SETS.get(probe_set, probe_set)


def head_name(head: str) -> str:
    """The name of a kind of head in words."""
    return HEAD_NAMES.get(head, head)


def set_order(probe_set: str) -> int:
    """Position of a probe set in lists; the user's own sets come last."""
    return list(PROBE_SETS).index(probe_set) if probe_set in PROBE_SETS else len(PROBE_SETS)


def bert_first(models: Iterable[str]) -> list[str]:
    """Models in the order in which a page begins with them: BERT, then as given."""
    return sorted(models, key=lambda model: model != BERT)


def fit(chosen: Chosen, runs: pd.DataFrame) -> tuple[Chosen, dict[str, list[str]]]:
    """The choice with defaults and without names that are not in the store, and field -> the names removed."""
    if runs.empty:
        return chosen, {}
    unknown: dict[str, list[str]] = {}

    def keep(field: str, there: Sequence[str]) -> list[str]:
        names = getattr(chosen, field)
        names = (names,) if isinstance(names, str) and names else names
        if gone := [name for name in names if name not in there]:
            unknown[field] = gone
        return [name for name in names if name in there]

    heads = [head for head in HEADS if head in set(runs["head"])] + sorted(set(runs["head"]) - set(HEADS))
    sets = sorted(runs["probe_set"].unique(), key=lambda name: (set_order(name), name))
    order = {"model": bert_first(looks_of(runs).colours), "head": heads, "probe_set": sets}
    overview = _overview(runs, order, {column: keep(field, order[column]) for column, field in ONE_OF_SEVERAL.items()})
    several: dict[str, Any] = {field: tuple(overview[column]) for column, field in ONE_OF_SEVERAL.items()}
    fitted = replace(chosen, **several)
    # The single run: each choice narrows the next, and by default follows the choice for overviews.
    model = (keep("model", order["model"]) or overview["model"])[0]
    of_model = runs[runs["model"] == model]
    # A probe set that was chosen without a kind of head is read with one that it has.
    of_set = of_model[of_model["probe_set"] == chosen.probe_set] if chosen.probe_set and not chosen.head else of_model
    its_heads = [name for name in heads if name in set((of_set if len(of_set) else of_model)["head"])]
    head = (keep("head", its_heads) or [name for name in overview["head"] if name in its_heads] or its_heads)[0]
    of_head = of_model[of_model["head"] == head]
    its_sets = [name for name in sets if name in set(of_head["probe_set"])]
    probe_set = (
        keep("probe_set", its_sets) or [name for name in overview["probe_set"] if name in its_sets] or its_sets
    )[0]
    return replace(fitted, model=model, head=head, probe_set=probe_set), unknown


def _overview(
    runs: pd.DataFrame, order: Mapping[str, list[str]], chosen: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """What an overview lays over each other: the names that the user chose, or a column's default.

    A default offers only names that have a run with the chosen ones, BERT first, and a user's own models and facts only
    if one of them is chosen; of the kinds of heads it is the one that most models have. Each chosen model has at least
    one line: its kind of head and its probe set are shown, too.
    """
    there, looks = runs, looks_of(runs)
    for column, names in chosen.items():
        there = there[there[column].isin(names)] if names else there
    there = there if len(there) else runs
    own = {*looks.added, *(name for name in order["probe_set"] if name not in PROBE_SETS)} - {BERT}
    if not own & {*chosen["model"], *chosen["probe_set"]}:
        shipped = there[~there["model"].isin(own) & ~there["probe_set"].isin(own)]
        there = shipped if len(shipped) else there
    offered = {column: [name for name in names if name in set(there[column])] for column, names in order.items()}
    models = chosen["model"] or offered["model"][:MAX_DEFAULT_MODELS]
    heads = chosen["head"] or [common_head(there[there["model"].isin(models)], offered["head"])]
    sets = offered["probe_set"]
    sets = chosen["probe_set"] or (sets if len(models) * len(sets) <= MAX_DEFAULT_LINES else sets[:1])
    widened = {"model": models, "head": list(heads), "probe_set": list(sets)}
    for name in chosen["model"]:
        if name in offered["model"]:
            _widen(widened, there[there["model"] == name], order)
    # What the user chose keeps the user's order.
    return {column: chosen[column] or sorted(names, key=order[column].index) for column, names in widened.items()}


def common_head(runs: pd.DataFrame, heads: Sequence[str]) -> str:
    """Of some kinds of heads the one that probed most models fact by fact, then at all, the first of several."""
    whole = runs[~runs["counted"].astype(bool)] if "counted" in runs else runs

    def models(head: str) -> tuple[int, int]:
        in_full, at_all = (table.loc[table["head"] == head, "model"].nunique() for table in (whole, runs))
        return in_full, at_all

    return max(heads, key=models)


def _widen(overview: dict[str, list[str]], model_runs: pd.DataFrame, order: Mapping[str, list[str]]) -> None:
    """Adds the kind of head and the probe set of one run of a model unless a run of it is shown already."""

    def distance(run: pd.Series) -> tuple[Any, ...]:
        columns = ("head", "probe_set")
        return *(run[column] not in overview[column] for column in columns), *(
            order[column].index(run[column]) for column in columns
        )

    nearest = min((run for _, run in model_runs.iterrows()), key=distance)
    for column in ("head", "probe_set"):
        if nearest[column] not in overview[column]:
            overview[column].append(nearest[column])


def overlaid(
    runs: pd.DataFrame, models: Sequence[str], heads: Sequence[str], probe_sets: Sequence[str]
) -> pd.DataFrame:
    """The runs of these models, heads and probe sets, in the order in which figures lay them over each other."""
    return in_line_order(
        runs[runs["model"].isin(models) & runs["head"].isin(heads) & runs["probe_set"].isin(probe_sets)]
    )


def in_line_order(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs in the order of the lines of a figure."""
    places = zip(runs["probe_set"].map(set_order), runs["model"], runs["head"], range(len(runs)), strict=True)
    return runs.iloc[[place for *_, place in sorted(places)]]


def followed(chosen: RunNames, fitted: RunNames) -> dict[str, str]:
    """The fields of the single run that follow the overviews' choice, which links of its pages lack."""
    return {
        field: getattr(fitted, field)
        for field, several in ONE_OF_SEVERAL.items()
        if getattr(chosen, several) and not getattr(chosen, field)
    }
