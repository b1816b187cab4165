"""What prevents forgetting: the score on the task against the facts that are kept, one point per recipe."""

from collections.abc import Sequence

import pandas as pd

from probing.finetuning.objectives import CONTROL
from probing.forgetting import report_series
from probing.forgetting.store_series_queries import series_steps
from probing.kernel.store.database import Database

#: End of a column's name -> what it is over seeds.
_ENDS = {"": "mean", "_low": "min", "_high": "max"}
#: Trainings that agree in these differ by their seed alone, and were asked equally many facts.
_POINT = ["base", "objective", "probe_set", "protection", "variant", "asked"]
COLUMNS = (
    "base",
    "objective",
    "protection",
    "probe_set",
    "k",
    "seeds",
    "metric",
    "score",
    "score_low",
    "score_high",
    "facts",
    "kept",
    "kept_low",
    "kept_high",
    "kept_count",
    "dominated",
    "control",
    "asked",
    "variant",
    "steps",
)


def prevention(
    db: Database, k: int = 1, objectives: Sequence[str] | None = None, probe_sets: Sequence[str] | None = None
) -> pd.DataFrame:
    """One point per base, objective, protection and further recipe, at the last state and layer of its trainings.

    Numbers are means over seeds, score and kept with smallest and largest. facts: known before, that have a swapped
    subject; kept: of them the share that is known minus the share answered rightly with the swapped subject;
    kept_count: of all facts known before those known now. dominated: another recipe of the objective, asked equally
    many facts, has as much of both and more of one. variant is equal if only the seed differs.
    """
    runs = report_series.runs(db)
    runs = runs[runs["protection"] != ""]
    for column, names in (("objective", objectives), ("probe_set", probe_sets)):
        if names is not None:
            runs = runs[runs[column].isin(list(names))]
    ids = list(runs["run_id"])
    last = report_series.at_end(db, ids, k)
    steps = series_steps(db, ids)
    length = last.set_index("run_id")["step"]
    scored = steps[steps["score"].notna()].groupby("run_id").tail(1)[["run_id", "score", "metric"]]
    table = (
        runs.rename(columns={"facts": "asked"})[["run_id", *_POINT]]
        .merge(last.drop(columns="asked"), on="run_id")
        .merge(scored, on="run_id", how="left")
    )
    pairs = table["before_paired"].where(table["before_paired"] > 0)
    share, number = (table["before_own"] - table["before_swapped"]) / pairs, table["kept"] + table["returned"]
    table = table.assign(kept=share, kept_count=number, facts=table["before_paired"])
    rows = []
    for key, some in table.groupby(_POINT, sort=True):
        rows.append(
            dict(zip(_POINT, key, strict=True))
            | {
                "k": k,
                "seeds": len(some),
                "metric": next(iter(some["metric"].dropna()), ""),
                "control": key[1] == CONTROL,
            }
            | {
                "facts": some["facts"].mean(),
                "kept_count": some["kept_count"].mean(),
                "steps": length[some["run_id"]].max(),
            }
            | {f"{name}{end}": getattr(some[name], how)() for name in ("score", "kept") for end, how in _ENDS.items()}
        )
    recipes = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "dominated"])
    recipes["dominated"] = [_dominated(recipe, recipes) for _, recipe in recipes.iterrows()]
    # Empty columns have no type of their own.
    return recipes[list(COLUMNS)].astype(
        {"control": "bool", "dominated": "bool", "seeds": "int64", "asked": "int64", "steps": "int64"}
    )


def _dominated(recipe: pd.Series, recipes: pd.DataFrame) -> bool:
    """Whether another recipe of the same task scores and keeps at least as much, and more of one of the two."""
    same = [recipes[name] == recipe[name] for name in ("base", "objective", "probe_set", "asked")]
    others = recipes[pd.concat(same, axis=1).all(axis=1)]
    as_much = (others["score"] >= recipe["score"]) & (others["kept"] >= recipe["kept"])
    return bool((as_much & ((others["score"] > recipe["score"]) | (others["kept"] > recipe["kept"]))).any())
