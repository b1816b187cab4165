"""Reports of what fine-tuning changed as text, CSV, LaTeX or JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from probing.core.errors import OptionError
from probing.core.options import spelled
from probing.reports.changes.measured import values
from probing.reports.changes.perplexity import epoch_perplexities, perplexities
from probing.reports.table_text import Form, as_json, latex_table, objects, text_table
from probing.store.changes import queries
from probing.store.database import Database

#: The keys of JSON's objects of values, which programs rely on; further ones come after them.
VALUES = ("model", "base", "layer", "measure", "value", "low", "high")
#: Columns of the report of values as text and LaTeX.
SHOWN = (
    "model", "base", "measure", "layer", "head", "value", "low", "high", "n", "base_value", "control_value", "seed_low", "seed_high",
    "seeds",
)  # fmt: skip


class What(StrEnum):
    """What is reported."""

    values = "values"
    perplexity = "perplexity"
    epochs = "epochs"


@dataclass(frozen=True)
class ChangeChoice:
    """The report and its models; None keeps all.

    Attributes:
        what: the report.
        models, measures: names to keep; of models that differ only in their seed None keeps one.
        heads: whether values of single heads are included.

    Raises:
        OptionError: for measures or heads with a report other than values.
    """

    what: What = What.values
    models: Sequence[str] | None = None
    measures: Sequence[str] | None = None
    heads: bool = False

    def __post_init__(self) -> None:
        if (self.measures or self.heads) and self.what is not What.values:
            raise OptionError(f"got {spelled('measure' if self.measures else 'heads')} with {self.what}; only values have it")


def refuse_unknown(db: Database, choice: ChangeChoice) -> None:
    """Raises an ``OptionError`` that lists the stored ones if a model or measure is not stored."""
    runs = queries.change_runs(db)
    models = set(queries.epochs(db)["model"]) if choice.what is What.epochs else set(runs["model"])
    measures = set(queries.values(db, list(runs["run_id"]))["measure"]) if choice.measures else set()
    for what, wanted, known in (("model", choice.models, models), ("measure", choice.measures, measures)):
        if unknown := sorted(set(wanted or ()) - known):
            stored = ", ".join(sorted(known)) or "none"
            raise OptionError(f"no values of the {what} {unknown[0]!r} are stored; there are those of {stored}")


def report(db: Database, choice: ChangeChoice) -> pd.DataFrame:
    """The frame of the report."""
    if choice.what is What.values:
        return values(db, choice.models, choice.measures, choice.heads)
    return (perplexities if choice.what is What.perplexity else epoch_perplexities)(db, choice.models)


def json_table(db: Database, choice: ChangeChoice) -> pd.DataFrame:
    """The report with its columns in the order of JSON."""
    table = report(db, choice)
    first = list(VALUES) if choice.what is What.values else []
    return table[[*first, *(name for name in table if name not in first)]]


def written(db: Database, choice: ChangeChoice, form: Form) -> str:
    """The report in that form."""
    if form == "json":
        return as_json(objects(json_table(db, choice)))
    table = report(db, choice)
    if form == "csv":
        return table.to_csv(index=False)
    shown = table[list(SHOWN)] if choice.what is What.values else table
    return latex_table(shown) if form == "latex" else text_table(shown)
