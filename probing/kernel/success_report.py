"""Did the fine-tuned models learn their task? Task scores with intervals and baselines, and the verdicts."""

from dataclasses import asdict

import pandas as pd

from probing.kernel.columns import Columns, floats, integers
from probing.kernel.errors import RegistryError
from probing.kernel.objectives import CONTROL
from probing.kernel.registry import read_registry
from probing.kernel.store.database import Database
from probing.kernel.store.stored import followed_only, stored_models, stored_scores
from probing.kernel.success import Beside, TaskScore, Verdict, task_scores, verdict_of

_NAMES = ("model", "base", "objective")
COLUMNS = Columns(
    *(
        _NAMES,
        "metric",
        floats("value low high baseline"),
        "baseline_name",
        floats("other"),
        "other_name",
        integers("n"),
    ),
    *("decides verdict", floats("closed published"), "published_metric published_source"),
)
SHORT = ("short_metric", "short_value", "short_baseline", "short_baseline_name")


def scores(db: Database, models: tuple[str, ...] | None = None) -> pd.DataFrame:
    """Every task score of the fine-tuned models, the deciding ones first; without a score one row without numbers.

    baseline is the score to beat, other a weaker baseline or a comparison; decides: the verdict on the model rests on
    this row; closed: the share of the way from the baseline to what BERT-base is published to reach. A verdict is
    ``learned``, ``partly``, ``not learned``, ``cannot tell``, ``no score stored``, or ``control`` for a model that was
    trained on with its base's own text; see ``kernel.success``.
    """
    rows = [
        {**names, **score, "verdict": verdict_of(names["objective"], model_scores)}
        for names, model_scores in _by_model(db, models)
        for score in (map(asdict, model_scores) if model_scores else [{"decides": True}])
    ]
    words = ["metric", "baseline_name", "other_name", "published_metric", "published_source"]
    return COLUMNS.frame(rows).fillna(dict.fromkeys(words, ""))


def learned(db: Database, models: tuple[str, ...] | None = None) -> pd.DataFrame:
    """The verdict on each fine-tuned model, with the deciding score: one row per model, columns as ``scores``, and
    ``SHORT``.

    ``SHORT`` is another score of the model that lies below its own baseline, such as an accuracy below the majority
    label's although the correlation is above 0; empty if there is none.
    """
    every = scores(db, models)
    table = (
        every.drop_duplicates("model").merge(_short(every), on="model", how="left").fillna({SHORT[0]: "", SHORT[3]: ""})
    )
    return table.drop(columns="decides").reset_index(drop=True)


def without_weights(db: Database) -> frozenset[str]:
    """The models of which only results are kept: so listed in the registry, or known from series alone."""
    return read_registry().results_only | (followed_only(db) - set(stored_scores(db)["model"]))


def verdicts_by_model(table: pd.DataFrame) -> dict[str, Verdict]:
    """Fine-tuned model -> whether it learned its task. Models that were never probed are looked up in the registry."""
    try:
        listed = read_registry().models
    except RegistryError:
        # Pages that need the registry report its errors.
        listed = ()
    known: dict[str, Verdict] = {model.name: verdict_of(model.objective, ()) for model in listed if model.base}
    return known | dict(zip(table["model"], table["verdict"], strict=True))


def _short(table: pd.DataFrame) -> pd.DataFrame:
    """The first score of each model that does not decide and lies below its baseline."""
    below = table[~table["decides"].astype(bool) & (table["value"] < table["baseline"])].drop_duplicates("model")
    named = dict(zip(("metric", "value", "baseline", "baseline_name"), SHORT, strict=True))
    return below[["model", *named]].rename(columns=named)


def _by_model(db: Database, models: tuple[str, ...] | None) -> list[tuple[dict[str, str], list[TaskScore]]]:
    """Names and scores of every fine-tuned model: with a run, or with a score only."""
    runs = stored_models(db).fillna("")
    tuned = runs[(runs["base"].ne("") & runs["base"].ne(runs["model"])) | runs["objective"].eq(CONTROL)]
    scores = stored_scores(db, models)
    named = (
        pd.concat([tuned[list(_NAMES)], scores[list(_NAMES)]]).fillna("").drop_duplicates("model").sort_values("model")
    )
    if models is not None:
        named = named[named["model"].isin(list(models))]
    by_model: dict[str, list[Beside]] = {}
    for row in scores.itertuples():
        value = None if pd.isna(row.chance) else float(row.chance)
        name = "" if pd.isna(row.chance_name) else row.chance_name
        by_model.setdefault(row.model, []).append(Beside(row.metric, float(row.value), int(row.n), value, name))
    return [
        (names, task_scores(names["objective"], by_model.get(names["model"], []))) for names in named.to_dict("records")
    ]
