"""Did the fine-tuned models learn their task? Their task scores with intervals and baselines, and the verdict on each model."""

from dataclasses import asdict

import pandas as pd

from probing.core.tasks.learned import Beside, TaskScore, amount, task_scores, verdict_of
from probing.core.tasks.objectives import CONTROL
from probing.store.database import Database
from probing.store.run_queries import stored_models
from probing.store.run_queries import tasks as stored_scores

_NAMES = ("model", "base", "objective")
_SCORE = ("metric", "value", "low", "high", "baseline", "baseline_name", "other", "other_name", "n", "decides", "verdict")
#: Columns of ``scores``.
COLUMNS = (*_NAMES, *_SCORE)


def scores(db: Database, models: tuple[str, ...] | None = None) -> pd.DataFrame:
    """Every task score of the fine-tuned models, those that decide first.

    Args:
        db: the database.
        models: names to keep; None keeps all.

    Returns:
        model, base, objective, metric, value, low, high (95 % interval), baseline and baseline_name (what has to be beaten), other and
        other_name (a weaker baseline or a comparison), n, decides (whether the verdict on the model rests on this row), verdict (on this
        score). A model without a stored score has one row without numbers.
    """
    rows = [
        {**names, **score}
        for names, found in _by_model(db, models)
        for score in (map(asdict, found) if found else [{"decides": True, "verdict": verdict_of(names["objective"], [])}])
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = ["value", "low", "high", "baseline", "other"]
    words = ["metric", "baseline_name", "other_name"]
    return table.astype(dict.fromkeys(numbers, "float64") | {"n": "Int64"}).fillna(dict.fromkeys(words, ""))


def learned(db: Database, models: tuple[str, ...] | None = None) -> pd.DataFrame:
    """The verdict on each fine-tuned model, with the score that it rests on: a row a model, columns as ``scores``.

    A verdict is ``learned``, ``not learned``, ``cannot tell``, ``no score stored``, or ``control`` for a model that was trained on with
    its base's own text; see ``core.tasks.learned``. ``below`` says in words which other scores of a model that learned are not shown to
    beat their baseline; empty where there is none.
    """
    table = scores(db, models).drop_duplicates("model")
    found = _by_model(db, models)
    verdicts = {names["model"]: verdict_of(names["objective"], mine) for names, mine in found}
    below = {names["model"]: _below(mine) if verdicts[names["model"]] == "learned" else "" for names, mine in found}
    table = table.assign(verdict=table["model"].map(verdicts), below=table["model"].map(below))
    return table.drop(columns="decides").reset_index(drop=True)


def _below(found: list[TaskScore]) -> str:
    return "; ".join(
        f"its {one.metric} of {amount(one.metric, one.value)} is not shown to beat the {amount(one.metric, one.baseline)} of the "
        f"{one.baseline_name}"
        for one in found
        if not one.decides and one.verdict == "not learned" and one.baseline is not None
    )


def _by_model(db: Database, models: tuple[str, ...] | None) -> list[tuple[dict[str, str], list[TaskScore]]]:
    """Names and scores of every fine-tuned model: of those with a run, and of those with a score only."""
    runs = stored_models(db).fillna("")
    tuned = runs[(runs["base"].ne("") & runs["base"].ne(runs["model"])) | runs["objective"].eq(CONTROL)]
    stored = stored_scores(db, models)
    named = pd.concat([tuned[list(_NAMES)], stored[list(_NAMES)]]).fillna("").drop_duplicates("model").sort_values("model")
    if models is not None:
        named = named[named["model"].isin(list(models))]
    beside: dict[str, list[Beside]] = {}
    for row in stored.itertuples():
        value = None if pd.isna(row.chance) else float(row.chance)
        name = "" if pd.isna(row.chance_name) else row.chance_name
        beside.setdefault(row.model, []).append(Beside(row.metric, float(row.value), int(row.n), value, name))
    return [(names, task_scores(names["objective"], beside.get(names["model"], []))) for names in named.to_dict("records")]
