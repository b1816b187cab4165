"""A planted store of everything that a base and its relatives can be asked: facts, sentences, and what fine-tuning
changed.
"""

from pathlib import Path

from probing.sentences.examples import OURS
from tests.changes_planted import plant_changes
from tests.pages.planted_family import base_rank, tuned_rank
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, MODELS, SST_2, PlantedModel
from tests.planted_store import PlantedRun, plant_runs
from tests.sentences_planted import RUNS, plant_sentence_runs

#: Of the models with facts.
ASKED = (BASE, COLA, SST_2, CONTROL)


def rank_of(model: PlantedModel, number: int, layer: int) -> int:
    """The gold rank of a fact: the base and the control know facts 0 to 5 from layer 2 on, the others lost most of
    them.
    """
    rank = base_rank if model in (BASE, CONTROL) else tuned_rank
    return rank(number, min(layer, 3))


def fact_run(model: PlantedModel) -> PlantedRun:
    """A model's run of facts."""
    return PlantedRun(
        model=model.name,
        base=model.base,
        objective=model.objective,
        layers=LAST + 1,
        rank=lambda n, layer: rank_of(model, n, layer),
    )


def plant_facts(folder: Path) -> Path:
    """Facts alone."""
    return plant_runs(folder, [fact_run(model) for model in ASKED])


def plant_everything(folder: Path) -> Path:
    """Facts, sentences and changes of all models."""
    plant_facts(folder / "facts")
    plant_sentence_runs(folder, [run for run in RUNS if run.protocol == OURS])
    return plant_changes(folder, MODELS)
