"""Reports of sentence-level probing as text, CSV, LaTeX or JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from probing.core.errors import OptionError
from probing.core.options import spelled
from probing.core.sentences.example import OURS, OWN, POOLINGS, PROTOCOLS, READINGS
from probing.reports.choices import refuse_unknown_words
from probing.reports.sentences.accuracy import accuracies, learning_curve
from probing.reports.sentences.changed import changes, group_means
from probing.reports.sentences.gone import where_gone
from probing.reports.sentences.stored import only
from probing.reports.table_text import Form, as_json, latex_table, objects, text_table
from probing.store.database import Database
from probing.store.sentences import queries

#: The keys of JSON's objects of accuracies, which programs rely on; further ones come after them.
ACCURACY = ("model", "task", "pooling", "layer", "reading", "c", "accuracy", "n_train", "n_test", "majority", "surface")
#: Columns of the reports as text and LaTeX.
SHOWN: dict[str, tuple[str, ...]] = {
    "accuracy": (*ACCURACY[:5], "portion", "c", "accuracy", "low", "high", *ACCURACY[7:], "seed_low", "seed_high", "seeds"),
    "changes": (
        "model", "base", "task", "pooling", "layer", "base_accuracy", "accuracy", "change", "low", "high", "q", "family", "mean_change",
        "mean_q", "control_change", "control_spread", "inside_control", "seed_low", "seed_high", "seeds", "within_seeds",
    ),
    "where-gone": (
        "model", "base", "task", "pooling", "layer", "fate", "undecided", "needed", "why", "base_accuracy", "own", "frozen", "rescaled",
        "aligned", "quarter", "base_quarter", "mean", "best", "mlp", "majority", "n_test",
    ),
}  # fmt: skip


class What(StrEnum):
    """What is reported."""

    accuracy = "accuracy"
    changes = "changes"
    groups = "groups"
    where_gone = "where-gone"
    curve = "curve"


@dataclass(frozen=True)
class SentenceChoice:
    """The report and its probes; None keeps all.

    Attributes:
        what: the report.
        models, tasks, poolings, readings: names to keep; of models that differ only in their seed None keeps one.
        protocol: of ``core.sentences.example.PROTOCOLS``.

    Raises:
        OptionError: for an unknown name, and for readings with a report other than accuracy.
    """

    what: What = What.accuracy
    models: Sequence[str] | None = None
    tasks: Sequence[str] | None = None
    poolings: Sequence[str] | None = None
    readings: Sequence[str] | None = None
    protocol: str = OURS

    def __post_init__(self) -> None:
        for option, wanted, known in (
            ("pooling", self.poolings, POOLINGS),
            ("reading", self.readings, READINGS),
            ("protocol", (self.protocol,), PROTOCOLS),
        ):
            refuse_unknown_words(option, wanted, known)
        if self.readings and self.what is not What.accuracy:
            raise OptionError(f"got {spelled('reading')} with {self.what}; only accuracy has it")


def refuse_unknown(db: Database, choice: SentenceChoice) -> None:
    """Raises an ``OptionError`` that lists the stored ones if a model or task is not stored."""
    runs = queries.sentence_runs(db)
    runs = runs[runs["protocol"] == choice.protocol]
    for column, wanted in (("model", choice.models), ("task", choice.tasks)):
        if unknown := sorted(set(wanted or ()) - set(runs[column])):
            stored = ", ".join(dict.fromkeys(runs[column])) or "none"
            by = f"by protocol {choice.protocol}"
            raise OptionError(f"no probes of the {column} {unknown[0]!r} are stored {by}; there are those of {stored}")


def report(db: Database, choice: SentenceChoice) -> pd.DataFrame:
    """The frame of the report."""
    models, tasks, protocol = choice.models, choice.tasks, choice.protocol
    made: dict[What, Callable[[], pd.DataFrame]] = {
        What.accuracy: lambda: accuracies(db, models, tasks, protocol, choice.readings or (OWN,)),
        What.changes: lambda: changes(db, models, tasks, protocol),
        What.groups: lambda: group_means(db, models, tasks, protocol),
        What.where_gone: lambda: where_gone(db, models, protocol),
        What.curve: lambda: learning_curve(db, models, tasks, protocol),
    }
    return only(made[choice.what](), task=tasks, pooling=choice.poolings).reset_index(drop=True)


def json_table(db: Database, choice: SentenceChoice) -> pd.DataFrame:
    """The report with its columns in the order of JSON."""
    table = report(db, choice)
    first = [name for name in ACCURACY if name in table] if choice.what is What.accuracy else []
    return table[[*first, *(name for name in table if name not in first)]]


def written(db: Database, choice: SentenceChoice, form: Form) -> str:
    """The report in that form."""
    if form == "json":
        return as_json(objects(json_table(db, choice)))
    table = report(db, choice)
    if form == "csv":
        return table.to_csv(index=False)
    shown = table[list(SHOWN.get(choice.what.value, table.columns))]
    return latex_table(shown) if form == "latex" else text_table(shown)
