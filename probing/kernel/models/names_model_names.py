"""Short names of models for figures, menus and sentences; tables, links and files keep the full name."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from probing.finetuning.objectives import CALLED
from probing.kernel.registry import Registry, name_in_files

#: The seed at the end of a name.
_SEED = re.compile(r"-seed-(\d+)$")
#: A name of this many characters is shown whole; a longer one is cut in the middle, less and less until it differs from
#: all others.
LENGTHS = (28, 40, 60)


@dataclass(frozen=True)
class KnownModel:
    """What is known of a model apart from its full name, as results have it."""

    name: str
    base: str = ""
    objective: str = ""
    #: The base of the registry's family that has the model; else the model's own base, or its name.
    family: str = ""
    #: The family's in the registry; families that are not in it come last.
    place: int = 0
    #: Whether it is in the registry or has the name that ``finetune`` gives by itself.
    listed: bool = False
    shipped: bool = False
    #: Whether results of it are part of the repository, and no weights.
    results_only: bool = False
    colour: str = ""

    @property
    def tuned(self) -> bool:
        """Whether it was fine-tuned from another model."""
        return self.base not in ("", self.name)


def known_model(registry: Registry, name: str, base: str = "", objective: str = "") -> KnownModel:
    """A model as the registry describes it, else by ``base`` and ``objective``, as its runs have them."""
    entry = next((model for model in registry.models if model.name == name), None)
    base, objective = (entry.base, entry.objective) if entry else (base, objective)
    named = {name_in_files(f"{base}-{CALLED[objective].name}")} if base and objective in CALLED else set()
    place, family = next(
        (
            (place, candidate.base)
            for place, candidate in enumerate(registry.families)
            if name in (candidate.base, *(member.model for member in candidate.members))
        ),
        (len(registry.families), base or name),
    )
    results_only = name in registry.results_only
    if entry is None and base:
        place = next((place for place, candidate in enumerate(registry.families) if candidate.base == base), place)
    return KnownModel(
        name,
        base,
        objective,
        family,
        place,
        listed=entry is not None or name in named or results_only,
        shipped=entry is not None and entry.shipped,
        results_only=results_only,
        colour=entry.colour if entry else "",
    )


def short_names(models: Iterable[KnownModel]) -> dict[str, str]:
    """Full name -> short name, different for any two; of *all* models of the store, so that a filter renames none.

    A listed fine-tuned model is called by its objective, with its base if fine-tuned models of several families are
    among these, and with its seed if it is a further training of which only results ship. A listed base keeps its name.
    All others keep theirs too, cut in the middle if they are long.
    """
    known = {model.name: model for model in models}
    several = len({model.family for model in known.values() if _by_objective(model)}) > 1
    candidates = {name: _candidates(model, several) for name, model in known.items()}
    chosen = dict.fromkeys(known, 0)
    while clashing := [name for name in _alike(candidates, chosen) if chosen[name] + 1 < len(candidates[name])]:
        for name in clashing:
            chosen[name] += 1
    return {name: candidates[name][place] for name, place in chosen.items()}


def _by_objective(model: KnownModel) -> bool:
    return model.listed and model.tuned and bool(model.objective)


def _candidates(model: KnownModel, several: bool) -> Sequence[str]:
    """Names for a model, the shortest first; the last is its own, which no other model has."""
    if _by_objective(model):
        seed = _SEED.search(model.name) if model.results_only else None
        objective = f"{model.objective}, seed {seed[1]}" if seed else model.objective
        with_base = f"{shortened(model.base, LENGTHS[0])} · {objective}"
        return (with_base, model.name) if several else (objective, with_base, model.name)
    return (model.name,) if model.listed else (*(shortened(model.name, length) for length in LENGTHS), model.name)


def _alike(candidates: dict[str, Sequence[str]], chosen: dict[str, int]) -> list[str]:
    """The models whose chosen name another one has too; capitals make no difference."""
    by_short_name: dict[str, list[str]] = {}
    for name, place in chosen.items():
        by_short_name.setdefault(candidates[name][place].casefold(), []).append(name)
    return [name for names in by_short_name.values() if len(names) > 1 for name in names]


def shortened(name: str, length: int) -> str:
    """At most ``length`` characters, cut in the middle; the number of a checkpoint is kept whole."""
    if len(name) <= length:
        return name
    checkpoint = re.search(r"/checkpoint-\d+$", name)
    tail = max((length - 1) // 2, len(checkpoint.group()) if checkpoint else 0)
    head = max(length - 1 - tail, 1)
    return f"{name[:head]}…{name[-tail:]}"
