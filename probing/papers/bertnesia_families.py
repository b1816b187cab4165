"""Which stored models correspond to BERTnesia's: a base with the models that were fine-tuned from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from probing.facts.published import PublishedKnowledge
from probing.facts.runs import one_run_each
from probing.facts.store import runs as all_runs
from probing.finetuning.objectives import BASE, CONTROL
from probing.kernel.registry import read_registry
from probing.kernel.store.database import Database


@dataclass(frozen=True)
class Family:
    """Which model here stands for which objective, the base among them as ``BASE``.

    ``others``: further models whose objective already has a model, or is not one of the paper's. Seeds and controls of
    which only results ship are left out.
    """

    base: str
    members: Mapping[str, str]
    others: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        return (*self.members.values(), *self.others)

    def objective(self, model: str) -> str:
        """The objective that a model stands for; its own name if there is none."""
        return next((objective for objective, name in self.members.items() if name == model), model)


def families_here(db: Database) -> dict[str, Family]:
    """The families among the stored runs by their base, the largest first.

    A family is a base with all models whose base it is. A family of the registry may name members that have another
    base (the paper's NER model is cased); these belong to the family, too.
    """
    runs = one_run_each(all_runs(db))
    if runs.empty:
        return {}
    models = runs.drop_duplicates("model").fillna({"base": "", "objective": ""}).set_index("model")
    named = {family.base: family for family in read_registry().families}
    bases = sorted(set(models.index[models["base"] == ""]) | (set(models["base"]) - {""}))
    order = [*(model.objective for model in PublishedKnowledge.read().models), CONTROL]
    families = []
    for base in bases:
        entry = named.get(base)
        chosen = {BASE: base} | {member.objective: member.model for member in (entry.members if entry else ())}
        chosen = {objective: model for objective, model in chosen.items() if model in models.index}
        tuned = models[models["base"] == base]
        for model, objective in tuned["objective"].sort_index().items():
            if objective in order and objective not in chosen and model not in chosen.values():
                chosen[objective] = str(model)
        left_out = {*chosen.values(), *(entry.results_only if entry else ())}
        others = tuple(str(model) for model in tuned.index.sort_values() if model not in left_out)
        members = {objective: chosen[objective] for objective in order if objective in chosen}
        if members:
            families.append(Family(base, members, others))
    return {family.base: family for family in sorted(families, key=lambda family: (-len(family.models), family.base))}
