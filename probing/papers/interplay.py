"""Tables 1 to 5 of the paper next to ours. ``why``: the reason for an empty cell and the command that fills it."""

from collections.abc import Mapping

import pandas as pd

from probing.finetuning.success import TRAINED_NOT_LEARNED
from probing.finetuning.success_report import scores
from probing.kernel.store.database import Database
from probing.papers.interplay_families import SentenceFamily
from probing.papers.interplay_measurements import SentenceNumbers
from probing.sentences.examples import POOLINGS
from probing.sentences.published import GROUPS, PublishedSentences

#: The row of Table 1 with numbers on the test set.
TEST_SET = "Devlin et al. (2019)"
SCORE_COLUMNS = (
    "tuned",
    "metric",
    TEST_SET,
    "BERT",
    "RoBERTa",
    "ALBERT",
    "ours",
    "low",
    "high",
    "baseline",
    "baseline_name",
    "verdict",
    "model",
    "why",
)
CHANGE_COLUMNS = (
    "tuned",
    "task",
    "pooling",
    "group",
    "BERT",
    "RoBERTa",
    "ALBERT",
    "ours",
    "low",
    "high",
    "control",
    "seed_low",
    "seed_high",
    "why",
)
#: Verdict on a model -> what its cells say of it.
_TRAINED = {"partly": "task partly learned", **dict.fromkeys(("not learned", "cannot tell"), TRAINED_NOT_LEARNED)}
#: Name of a pooling for readers.
POOLED = {"first": "CLS", "mean": "mean"}
#: A published cell that could not be read from the text of the paper.
NOT_READ = "not read"


def table_1(db: Database | None, family: SentenceFamily | None, published: PublishedSentences) -> pd.DataFrame:
    """Table 1: task scores, published and ours: ``SCORE_COLUMNS``, per cent.

    ``low`` and ``high`` are the 95 % interval of ours, ``baseline`` is the score that it has to beat.
    """
    ours = scores(db, family.models) if db is not None and family else pd.DataFrame(columns=["model", "metric"])
    rows = []
    for tuned in published.tuned:
        model = family.members.get(tuned.objective, "") if family else ""
        for place, metric in enumerate(tuned.metrics):
            theirs = [
                tuned.scores[row][place] if row in tuned.scores else None
                for row in (TEST_SET, "BERT", "RoBERTa", "ALBERT")
            ]
            stored = ours[ours["model"].eq(model) & ours["metric"].eq(metric)]
            why = (
                ""
                if len(stored)
                else _no_model(family, tuned.objective)
                if not model
                else "its task score is not stored"
            )
            row = stored.iloc[0] if len(stored) else pd.Series(dtype=object)
            known = [row.get(name) for name in ("value", "low", "high", "baseline")]
            numbers = [None if value is None or pd.isna(value) else 100 * float(value) for value in known]
            words = [str(row.get(name, "")) for name in ("baseline_name", "verdict")]
            rows.append((tuned.name, metric, *theirs, *numbers, *words, model, why))
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS)).astype(dict.fromkeys(SCORE_COLUMNS[2:10], "float64"))


def changes_beside(ours: SentenceNumbers | None, published: PublishedSentences) -> pd.DataFrame:
    """Tables 2 and 5: change of accuracy in points: ``CHANGE_COLUMNS``, one row per cell, in the order of the tables.

    A published cell that was not read is empty. ``control`` is the control's change, ``seed_low`` and ``seed_high`` the
    smallest and the largest change of models that differ only in their seed.
    """
    rows = []
    for tuned in published.tuned:
        for task in published.tasks:
            for pooling in POOLINGS:
                for place, group in enumerate(GROUPS):
                    cells = [published.change(model.name, task, pooling, tuned.objective) for model in published.models]
                    theirs = [cell[place] if cell else None for cell in cells]
                    rows.append(
                        (
                            tuned.name,
                            task,
                            pooling,
                            group,
                            *theirs,
                            *_ours(ours, (tuned.objective, task, pooling, group)),
                        )
                    )
    names = [model.name for model in published.models]
    columns = [*CHANGE_COLUMNS[:4], *names, *CHANGE_COLUMNS[7:]]
    numbers = [*names, *CHANGE_COLUMNS[7:-1]]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, "float64"))


def _ours(ours: SentenceNumbers | None, cell: tuple[str, str, str, str]) -> tuple:
    """Value, ends, the control's value, ends over seeds, and why there is no value."""
    objective, task, *_ = cell
    if ours is None:
        return (*[None] * 6, _no_model(None, objective))
    groups = ours.groups
    for column, value in zip(("objective", "task", "pooling", "group"), cell, strict=True):
        groups = groups[groups[column].eq(value)]
    if groups.empty:
        return (*[None] * 6, _why(ours.family, objective, task))
    numbers = groups.iloc[0][["value", "low", "high", "control", "seed_low", "seed_high"]]
    return (
        *(None if pd.isna(number) else 100 * float(number) for number in numbers),
        _TRAINED.get(ours.learned.get(objective, ""), ""),
    )


def _why(family: SentenceFamily, objective: str, task: str) -> str:
    model = family.members.get(objective)
    if not model:
        return _no_model(family, objective)
    base = f"python -m probing sentences train --model {family.base} --tasks {task}"
    return f"not probed; to make it: {base}, then the same with --model {model}"


def _no_model(family: SentenceFamily | None, objective: str) -> str:
    base = family.base if family else "nesia-mini"
    return f"no model; to make it: python -m probing finetune --model {base} --objective {objective.lower()}"


def settings(published: PublishedSentences, recipes: Mapping[str, Mapping[str, object]]) -> pd.DataFrame:
    """Table 3: ``setting, published``, and one column per objective of ours with the values of its recipe."""
    fields = {
        "Learning rate": "learning_rate",
        "Warmup steps": "warm_up",
        "Learning rate schedule": "schedule",
        "Batch size": "batch",
        "Epochs": "epochs",
        "Weight decay": "weight_decay",
        "Dropout": "dropout",
        "Adam beta 2": "beta2",
    }
    rows = [
        (name, value, *(_setting(recipe, fields.get(name, "")) for recipe in recipes.values()))
        for name, value in published.settings.items()
    ]
    return pd.DataFrame(rows, columns=["setting", "published", *recipes])


def _setting(recipe: Mapping[str, object], field: str) -> str:
    value = recipe.get(field)
    return "" if value is None else str(value)


def data(published: PublishedSentences) -> pd.DataFrame:
    """Table 4: ``tuned, training, validation, note``, as printed."""
    rows = [(model.name, model.training, model.validation, model.note) for model in published.tuned]
    return pd.DataFrame(rows, columns=["tuned", "training", "validation", "note"])


def called(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the names of poolings and groups of layers for readers."""
    groups = {"lower": "0 to L/2", "upper": "above L/2"}
    return table.assign(pooling=table["pooling"].map(POOLED), group=table["group"].map(groups))
