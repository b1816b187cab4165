"""Names and colours of the stored models in figures, as on the pages."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probing.core.tasks.objectives import CONTROL
from probing.figures.model_looks import looks_of, marked
from probing.reports.task_success import learned, verdicts_by_model
from probing.store.database import Database
from probing.store.run_queries import stored_models

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class ModelLooks:
    """Attributes:
    colours: model -> colour, in the order of menus.
    labels: model -> its short name, with a mark for whether a fine-tuned model learned its task.
    controls: models that were trained further on their base's own text.
    """

    colours: dict[str, str]
    labels: dict[str, str]
    controls: tuple[str, ...]


def model_looks(db: Database) -> ModelLooks:
    """The looks of all stored models."""
    described = stored_models(db)
    looks, verdicts = looks_of(described), verdicts_by_model(learned(db))
    labels = {model: marked(name, verdicts.get(model)) for model, name in looks.names.items()}
    return ModelLooks(
        looks.colours, labels, tuple(sorted(set(described.loc[described["objective"] == CONTROL, "model"])))
    )
