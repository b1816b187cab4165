"""When facts are forgotten, by training step, layer, relation and fact; and what prevents it, by recipe."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.forgetting.series import ALL, CHOSEN, HALVES, KNOWN_UP_TO, LINE_DIFFERENCES, REPORTED, story
from probing.forgetting.store import series_counts, series_facts, series_line, series_runs, series_steps
from probing.forgetting.ways import LINE
from probing.kernel.columns import Columns, floats
from probing.kernel.objectives import CONTROL
from probing.kernel.provenance import stored_configuration
from probing.kernel.relatives import NAMES, named
from probing.kernel.report import whole_runs
from probing.kernel.store.database import Database

#: The columns that say which training a row is of.
OF = (*NAMES, "protection", "probe_set")
_FLOW = ("known", "kept", "lost", "returned", "gained")
_COLUMNS = (*OF, "k", "layer", "step", "asked", *_FLOW, "kept_share", "own_minus_swapped", "loss", "score", "metric")


def runs_of_series(db: Database, line: bool = False) -> pd.DataFrame:
    """One series per training and probe set, see ``whole_runs``; ``at_steps`` and ``at_layers`` are what was asked.

    ``line`` gives the lines between base and fine-tuned weights instead.
    """
    series = series_runs(db)
    series = named(series[(series["protection"] == LINE) == line])
    configs = [stored_configuration(config) for config in series["config"]]
    series = series.assign(
        protection=series["protection"].fillna(""),
        at_steps=[tuple(config.get("steps", ())) for config in configs],
        at_layers=[tuple(config.get("asked_layers", ())) for config in configs],
    )
    has = [
        frozenset([*config.get("steps", ()), ("facts", config.get("facts_sha256")), config.get("weights")])
        | ({"scored"} if config.get("scored") else set())
        for config in configs
    ]
    return whole_runs(series, ["model", "probe_set", "protection"], has)


def steps(
    db: Database,
    models: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    k: int = 1,
    layers: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Facts kept, lost, returned and gained at every state of trainings, next to loss and score.

    ``layers`` None keeps the last that was asked. kept_share: of the facts known before the training those that are
    known, kept or returned; NaN if there are none. own_minus_swapped: share known minus share answered rightly with the
    swapped subject, of the facts that have one. loss and score are the newest logged by that step; empty if none was.
    """
    series = _chosen(runs_of_series(db), models, probe_sets)
    counted = _at_layers(_with_names(series_counts(db, list(series["run_id"]), k), series), layers).assign(k=k)
    before = counted["kept"] + counted["lost"] + counted["returned"]
    counted["kept_share"] = (counted["kept"] + counted["returned"]) / before.where(before > 0)
    counted["own_minus_swapped"] = (counted["own"] - counted["swapped"]) / counted["paired"].where(
        counted["paired"] > 0
    )
    logged = series_steps(db, list(series["run_id"]))
    newest = logged.assign(**logged.groupby("run_id")[["loss", "score", "metric"]].ffill())
    counted = counted.merge(newest[["run_id", "step", "loss", "score", "metric"]], on=["run_id", "step"], how="left")
    return counted.sort_values([*OF, "layer", "step"], ignore_index=True)[list(_COLUMNS)]


def logged(db: Database, models: Sequence[str] | None = None, probe_sets: Sequence[str] | None = None) -> pd.DataFrame:
    """Losses and scores at every step that was logged, by training."""
    series = _chosen(runs_of_series(db), models, probe_sets)
    rows = _with_names(series_steps(db, list(series["run_id"])), series)
    rows = rows[rows["loss"].notna() | rows["score"].notna()]
    return rows.sort_values([*OF, "step"], ignore_index=True)[[*OF, "step", "loss", "score", "metric"]]


def relations(
    db: Database,
    models: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    k: int = 1,
    layers: Sequence[int] | None = None,
) -> pd.DataFrame:
    """As ``steps``, for every relation of which a fact is known before the training, without loss and score."""
    series = _chosen(runs_of_series(db), models, probe_sets)
    counted = _at_layers(
        _with_names(series_counts(db, list(series["run_id"]), k, by_relation=True), series), layers
    ).assign(k=k)
    before = counted["kept"] + counted["lost"] + counted["returned"]
    counted = counted[before > 0].assign(kept_share=(counted["kept"] + counted["returned"]) / before.where(before > 0))
    columns = [*OF, "k", "layer", "relation", "step", "asked", *_FLOW, "kept_share"]
    return counted.sort_values([*OF, "layer", "relation", "step"], ignore_index=True)[columns]


def facts(
    db: Database, models: Sequence[str] | None = None, probe_sets: Sequence[str] | None = None, k: int = 1
) -> pd.DataFrame:
    """When each fact that is known before the training was lost at the last layer.

    lost_step: of the first state that does not know it; NaN if all do. returned_step: of the first later state that
    does; NaN if none does. events: how often it is known at one state and not at the next (forgetting events, Toneva et
    al. 2019).
    """
    series = _chosen(runs_of_series(db), models, probe_sets)
    at = {run.run_id: (run.at_steps, len(run.at_layers)) for run in series.itertuples()}
    rows = []
    for row in series_facts(db, list(at)).itertuples():
        steps, layers = at[row.run_id]
        known = (np.asarray(row.buckets).reshape(len(steps), layers)[:, -1] <= KNOWN_UP_TO[k]).tolist()
        if known[0]:
            fate = story(known, steps)
            of_fact = (row.fact_id, row.relation, row.subject, row.object)
            rows.append((row.run_id, k, *of_fact, fate.lost, fate.returned, fate.events, fate.known_last))
    columns = Columns("k fact_id relation subject object", floats("lost_step returned_step"), "events known_last")
    table = Columns("run_id", columns).frame(rows).merge(series[["run_id", *OF]], on="run_id")
    return table.sort_values([*OF, "fact_id"], ignore_index=True)[[*OF, *columns]]


def events(
    db: Database, models: Sequence[str] | None = None, probe_sets: Sequence[str] | None = None, k: int = 1
) -> pd.DataFrame:
    """How long the facts that are known before a training last at its last layer.

    lost_for_good and came_back: lost, and not known or known at the end; several: with two forgetting events or more;
    half_lost_step: the first state by which half of the facts were lost once; NaN if they never are.
    """
    table = facts(db, models, probe_sets, k)
    rows = []
    for key, some in table.groupby([*OF, "k"], dropna=False, sort=True):
        steps_of_loss = np.sort(some["lost_step"].fillna(np.inf).to_numpy())
        half = steps_of_loss[(len(some) - 1) // 2]
        lost = some["lost_step"].notna()
        rows.append(
            dict(zip([*OF, "k"], key, strict=True))
            | {
                "facts": len(some),
                "never_lost": int((~lost).sum()),
                "lost_for_good": int((lost & ~some["known_last"]).sum()),
                "came_back": int((lost & some["known_last"]).sum()),
                "several": int((some["events"] > 1).sum()),
                "half_lost_step": half if np.isfinite(half) else np.nan,
            }
        )
    names = [*OF, "k", "facts", "never_lost", "lost_for_good", "came_back", "several", "half_lost_step"]
    return pd.DataFrame(rows, columns=names)


def ranks_of_fact(db: Database, model: str, probe_set: str, fact_id: str) -> pd.DataFrame:
    """The buckets of one fact: step, layer, bucket; empty if the training has none of it."""
    series = _chosen(runs_of_series(db), [model], [probe_set])
    for run in series.itertuples():
        rows = series_facts(db, [run.run_id]).query("fact_id == @fact_id")
        if len(rows):
            grid = np.asarray(rows["buckets"].iloc[0]).reshape(len(run.at_steps), len(run.at_layers))
            cells = [
                (step, layer, int(grid[a, b]))
                for a, step in enumerate(run.at_steps)
                for b, layer in enumerate(run.at_layers)
            ]
            return pd.DataFrame(cells, columns=["step", "layer", "bucket"])
    return pd.DataFrame(columns=["step", "layer", "bucket"])


def _chosen(
    series: pd.DataFrame, models: Sequence[str] | None, probe_sets: Sequence[str] | None, of: str = "model"
) -> pd.DataFrame:
    for column, names in ((of, models), ("probe_set", probe_sets)):
        if names is not None:
            series = series[series[column].isin(list(names))]
    return series


def _with_names(rows: pd.DataFrame, series: pd.DataFrame) -> pd.DataFrame:
    return rows.merge(series[["run_id", *OF]], on="run_id")


def at_end(db: Database, run_ids: Sequence[str], k: int) -> pd.DataFrame:
    """Counts (``series_counts``) of series at their last state and the last layer that was asked; one row each."""
    last = _at_layers(series_counts(db, run_ids, k), None)
    return last[last["step"] == last.groupby("run_id")["step"].transform("max")]


def _at_layers(counted: pd.DataFrame, layers: Sequence[int] | None) -> pd.DataFrame:
    """The rows of these layers; None: of the last one of each series."""
    if layers is not None:
        return counted[counted["layer"].isin(list(layers))].copy()
    return counted[counted["layer"] == counted.groupby("run_id")["layer"].transform("max")].copy()


#: End of a column's name -> what it is over seeds.
_ENDS = {"": "mean", "_low": "min", "_high": "max"}
#: Trainings that agree in these differ by their seed alone, and were asked equally many facts.
_POINT = ["base", "objective", "probe_set", "protection", "variant", "asked"]
COLUMNS = Columns(
    *("base objective protection probe_set k", Columns("seeds", dtype="int64")),
    "metric score score_low score_high facts kept kept_low kept_high kept_count",
    *(Columns("dominated control", dtype="bool"), Columns("asked", dtype="int64")),
    *("variant", Columns("steps", dtype="int64")),
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
    runs = runs_of_series(db)
    runs = _chosen(runs[runs["protection"] != ""], objectives, probe_sets, "objective")
    ids = list(runs["run_id"])
    last = at_end(db, ids, k)
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
            | {"k": k, "seeds": len(some), "metric": next(iter(some["metric"].dropna()), "")}
            | {"control": key[1] == CONTROL, "steps": length[some["run_id"]].max()}
            | {name: some[name].mean() for name in ("facts", "kept_count")}
            | {f"{name}{end}": getattr(some[name], how)() for name in ("score", "kept") for end, how in _ENDS.items()}
        )
    recipes = COLUMNS.without("dominated").frame(rows)
    recipes["dominated"] = [_dominated(recipe, recipes) for _, recipe in recipes.iterrows()]
    return COLUMNS.of(recipes)


def _dominated(recipe: pd.Series, recipes: pd.DataFrame) -> bool:
    """Whether another recipe of the same task scores and keeps at least as much, and more of one of the two."""
    same = [recipes[name] == recipe[name] for name in ("base", "objective", "probe_set", "asked")]
    others = recipes[pd.concat(same, axis=1).all(axis=1)]
    as_much = (others["score"] >= recipe["score"]) & (others["kept"] >= recipe["kept"])
    return bool((as_much & ((others["score"] > recipe["score"]) | (others["kept"] > recipe["kept"]))).any())


#: How far below the fine-tuned model's the score of the offered point may be.
_BELOW = 0.01


def line(
    db: Database, models: Sequence[str] | None = None, probe_sets: Sequence[str] | None = None, k: int = 1
) -> pd.DataFrame:
    """The points of lines between base and fine-tuned weights, with the columns of ``series_line``, by half."""
    runs = _chosen(runs_of_series(db, line=True), models, probe_sets)
    rows = series_line(db, list(runs["run_id"]), k).merge(runs[["run_id", *NAMES, "probe_set"]], on="run_id")
    order = rows["half"].map(HALVES.index).rename("order")
    return LINE_COLUMNS.frame(rows.assign(order=order).sort_values(["model", "probe_set", "order", "a"]))


LINE_COLUMNS = Columns(
    *(NAMES, "probe_set k half a facts known kept gained paired swapped"),
    *(floats(*LINE_DIFFERENCES, "score"), "metric examples"),
)


def offered(points: pd.DataFrame) -> float | None:
    """The weight that keeps the most at a score at most a point below the fine-tuned model's, on the choosing half.

    ``points``: ``line`` of one model, probe set and k. None without scores: by facts alone it is always 0.
    """
    half = points[points["half"] == CHOSEN]
    scores = half["score"].astype(float)
    enough = half[scores >= scores.iloc[-1] - _BELOW]
    return None if enough.empty else float(enough.sort_values(["kept", "a"])["a"].iloc[-1])


def line_in_words(points: pd.DataFrame) -> list[str]:
    """What a line shows; ``points`` as for ``offered``."""
    base, mean, tuned = (points[(points["half"] == ALL) & (points["a"] == a)].iloc[0] for a in (0, 0.5, 1))
    words = [
        f"Of {base.known:,} facts that {base.base} knows, {base.model} keeps {tuned.kept:,}, and the mean of both"
        f" {mean.kept:,}."
    ]
    if (best := offered(points)) is None:
        return [*words, "Without a score none is best: by facts alone it is always the base."]
    half = points[points["half"] == REPORTED].set_index("a")
    at, own = half.loc[best], half.loc[1.0]
    of = "the fine-tuned model itself" if best == 1 else f"{best:g} of the fine-tuned weights"
    against = (
        f", {100 * at.difference:+.1f} points (95 % interval {100 * at.low:+.1f} to {100 * at.high:+.1f}) against the"
        f" fine-tuned model; {at.metric} {at.score:.3f}, there {own.score:.3f}"
    )
    examples = f" ({at.examples:,} examples)" if at.examples > 1 else " (one number, by which it was chosen, too)"
    return [
        *words,
        f"Offered, by one half of facts and examples: {of}. On the other half it keeps {at.kept:,} of {at.known:,}"
        f" facts{f'; {at.metric} {at.score:.3f}' if best == 1 else against}{examples}.",
    ]
