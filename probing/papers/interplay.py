"""The paper on fine-tuning and sentence-level probing: our bases compared with it, and its tables next to ours.

The paper prints no values of its figures, so only ours can be drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from probing.changes.report import epoch_perplexities, perplexities, values
from probing.changes.store import change_runs
from probing.kernel.columns import Columns, floats
from probing.kernel.objectives import BASE, CONTROL
from probing.kernel.objectives import TASKS as OBJECTIVES
from probing.kernel.recipe import FinetuneRecipe
from probing.kernel.relatives import named, relatives
from probing.kernel.store.database import Database
from probing.kernel.success import TRAINED_NOT_LEARNED
from probing.kernel.success_report import learned, scores
from probing.papers.claims import OF_THE_BASE, Ours, Paper, Subject
from probing.sentences import store
from probing.sentences.examples import FIRST, MEAN, OURS, OWN, POOLINGS, QUICK, SENTEVAL
from probing.sentences.numbers import change, layer_group
from probing.sentences.published import GROUPS, PublishedSentences
from probing.sentences.report_accuracy import accuracies, counted, stored
from probing.sentences.report_changes import changes, group_means
from probing.sentences.store import sentence_runs

#: Objectives of the paper, by their names in results, and CoLA fine-tuned on the mean over all tokens.
COLA, SST, RTE, SQUAD, COLA_MEAN = "CoLA", "SST-2", "RTE", "QA-SQuAD-1", "CoLA (mean)"
TUNED = (COLA, SST, RTE, SQUAD)
#: Objectives that are compared with the paper: its own, CoLA on the mean, and the control.
COMPARED = (*TUNED, COLA_MEAN, CONTROL)


@dataclass(frozen=True)
class SentenceFamily:
    """A base with the model that stands for each objective, and the protocol of its probes (``ours`` without any)."""

    base: str
    members: Mapping[str, str]
    depth: int
    protocol: str = OURS

    @property
    def models(self) -> tuple[str, ...]:
        return (self.base, *self.members.values())


def families_here(db: Database) -> dict[str, SentenceFamily]:
    """Bases with probes of the paper's tasks or with measured changes, those with most models first."""
    probed, measured = named(sentence_runs(db)), named(change_runs(db))
    probed = probed[probed["task"].isin(PublishedSentences.read().tasks)]
    models = pd.concat([probed, measured])
    stands = relatives(models).stands if len(models) else {}
    bases = sorted(set(models.loc[models["base"].eq(""), "model"]) | (set(models["base"]) - {""}))
    families = [
        SentenceFamily(base, _members(models, base, stands), _depth(models, base), _protocol(probed, base))
        for base in bases
    ]
    return {family.base: family for family in sorted(families, key=lambda family: (-len(family.members), family.base))}


def _members(models: pd.DataFrame, base: str, stands: Mapping[str, str]) -> dict[str, str]:
    tuned = models[models["base"].eq(base)].drop_duplicates("model")
    tuned = tuned[tuned["model"].map(stands).eq(tuned["model"])].sort_values("model")
    first = tuned.drop_duplicates("objective").set_index("objective")["model"]
    return {objective: str(first[objective]) for objective in COMPARED if objective in first.index}


def _depth(models: pd.DataFrame, base: str) -> int:
    return int(models.loc[models["model"].eq(base) | models["base"].eq(base), "layers"].max()) - 1


def _protocol(probed: pd.DataFrame, base: str) -> str:
    """The protocol by which most of the base's and its children's tasks were probed; of several the larger one."""
    counts = probed.loc[probed["model"].eq(base) | probed["base"].eq(base), "protocol"].value_counts()
    return max(
        (OURS, SENTEVAL, QUICK),
        key=lambda protocol: (int(counts.get(protocol, 0)), -(OURS, SENTEVAL, QUICK).index(protocol)),
    )


#: The measures of attention that Figure 2 draws.
ENTROPY, DISTANCE = "entropy-first", "emd-first"
_ENDS = ("value", "low", "high")
ACCURACY_COLUMNS = Columns("encoder task pooling layer", _ENDS, "majority surface")
GROUP_COLUMNS = Columns("objective task pooling group", _ENDS, "control seed_low seed_high")
CHANGE_COLUMNS = Columns(
    "encoder objective task pooling layer", _ENDS, "over_mean over_mean_low over_mean_high control"
)
VALUE_COLUMNS = Columns("encoder objective measure layer", _ENDS)
PERPLEXITY_COLUMNS = Columns("encoder objective replaced n embeddings", _ENDS, "perplexity")
EPOCH_COLUMNS = Columns("encoder objective epoch perplexity")


@dataclass(frozen=True)
class SentenceNumbers:
    """The numbers of a base and its fine-tuned models; unknown ones have no row, accuracies and changes are shares.

    ``accuracies`` has the paper's other stored encoders, too. ``groups``: change after fine-tuning, mean over the lower
    and the upper layers, with the control's; ``changes``: the same by layer, and ``over_mean`` against the base's own
    mean-pooled probe. ``values`` are of attention. ``perplexities``: the log of the model's perplexity over its base's.
    ``learned``: objective -> verdict, see ``kernel.success_report``.
    """

    family: SentenceFamily
    accuracies: pd.DataFrame
    groups: pd.DataFrame
    changes: pd.DataFrame
    values: pd.DataFrame
    perplexities: pd.DataFrame
    epochs: pd.DataFrame
    learned: Mapping[str, str]


def numbers_of(
    db: Database, family: SentenceFamily, others: Mapping[str, SentenceFamily], published: PublishedSentences
) -> SentenceNumbers:
    """The numbers of a base and its fine-tuned models, and accuracies of the paper's other encoders (``others``)."""
    stands = [others[base] for base in published.stored_encoders(others).values() if base != family.base]
    scored = [_accuracies(db, encoder_family, published) for encoder_family in (family, *stands)]
    there = [table for table in scored if len(table)]
    verdicts = learned(db, family.models).set_index("model")["verdict"]
    return SentenceNumbers(
        family,
        pd.concat(there, ignore_index=True) if there else scored[0],
        **_of_probes(db, family, published),
        **_of_changes(db, family),
        learned={
            objective: verdicts[model]
            for objective, model in family.members.items()
            if model in verdicts.index and objective != CONTROL
        },
    )


def _accuracies(db: Database, family: SentenceFamily, published: PublishedSentences) -> pd.DataFrame:
    """Accuracy of the base's own probes on the paper's tasks: ``ACCURACY_COLUMNS``."""
    own_accuracies = accuracies(db, [family.base], published.tasks, family.protocol)
    return own_accuracies.rename(columns={"accuracy": "value"}).assign(encoder=family.base)[list(ACCURACY_COLUMNS)]


def _of_probes(db: Database, family: SentenceFamily, published: PublishedSentences) -> dict[str, pd.DataFrame]:
    """Field of the numbers -> table, from the probes."""
    objectives = {model: objective for objective, model in family.members.items()}
    tuned = [model for objective, model in family.members.items() if objective in TUNED]
    pairs = stored(db, family.protocol)
    counts = pairs.named(store.pairs(db, pairs.run_ids))
    counts = counts[
        counts["reading"].eq(OWN)
        & counts["with_reading"].eq(OWN)
        & counts["portion"].eq(1)
        & counts["with_portion"].eq(1)
    ]
    counts = counts[
        counts["layer"].eq(counts["with_layer"]) & counts["pooling"].eq(FIRST) & counts["with_pooling"].eq(MEAN)
    ]
    counts = counts[
        counts["model"].isin(tuned) & counts["task"].isin(published.tasks) & counts["with_model"].eq(family.base)
    ]
    ends = [change(counted(row))[1:3] for row in counts.to_dict("records")]
    over = counts[["model", "task", "pooling", "layer"]].join(
        pd.DataFrame(ends, columns=["over_mean_low", "over_mean_high"], index=counts.index).astype("float64")
    )
    changed = changes(db, tuned, published.tasks, family.protocol)
    changed = changed.rename(columns={"change": "value", "control_change": "control", "mean_change": "over_mean"})
    changed = changed.merge(over, on=["model", "task", "pooling", "layer"], how="left")
    changed = changed.assign(encoder=family.base, objective=changed["model"].map(objectives))
    return {
        "changes": changed[list(CHANGE_COLUMNS)],
        "groups": _groups(changed, group_means(db, tuned, published.tasks, family.protocol), family.depth),
    }


def _groups(changed: pd.DataFrame, means: pd.DataFrame, depth: int) -> pd.DataFrame:
    """The changes of the two groups of layers, as ``group_means`` has them, with the means of the layers' ends."""
    groups = [layer_group(int(layer), depth) for layer in changed["layer"]]
    keys = ["model", "task", "pooling", "group"]
    ends = (
        changed.assign(group=pd.Series(groups, index=changed.index, dtype=object))
        .groupby(keys, sort=False)[["low", "high"]]
        .mean()
    )
    table = means.rename(columns={"mean_change": "value", "control_change": "control"}).merge(
        ends.reset_index(), on=keys, how="left"
    )
    return table[list(GROUP_COLUMNS)]


def _of_changes(db: Database, family: SentenceFamily) -> dict[str, pd.DataFrame]:
    """Field of the numbers -> table, from the measures of attention and perplexity."""
    measured, epochs = values(db, family.models, (DISTANCE, ENTROPY)), epoch_perplexities(db, family.models)
    put_back = perplexities(db, family.models).drop(columns=["low", "high"])
    put_back = put_back.rename(columns={"log_change": "value", "change_low": "low", "change_high": "high"})
    objectives = {model: objective for objective, model in family.members.items()}
    tables = {
        "values": (measured, VALUE_COLUMNS),
        "perplexities": (put_back, PERPLEXITY_COLUMNS),
        "epochs": (epochs, EPOCH_COLUMNS),
    }
    return {
        name: table.assign(encoder=family.base, objective=table["model"].map(objectives).fillna(BASE))[list(columns)]
        for name, (table, columns) in tables.items()
    }


POINT_COLUMNS = ("panel", "encoder", "objective", "dashed", "x", "value", "low", "high")
LEVEL_COLUMNS = ("panel", "name", "value")
#: Panels of Figure 3c and 3d; the second is the control that the paper lacks.
PUT_BACK = {"last": "last n layers put back", "first": "first n layers put back"}


class Plot(NamedTuple):
    """A figure of the paper with our numbers.

    ``dashed`` points are of CLS-pooling if both poolings are drawn; ``levels`` are yardsticks of a panel; ``stars``
    compare with the encoder's own mean-pooled probe.
    """

    points: pd.DataFrame
    levels: pd.DataFrame
    stars: pd.DataFrame


def plot(ours: SentenceNumbers, kind: str) -> Plot:
    """The points of a figure of the base and its models; one of pre-trained encoders shows all stored ones."""
    nothing = pd.DataFrame(columns=list(LEVEL_COLUMNS)), pd.DataFrame(columns=list(POINT_COLUMNS))
    if kind == "accuracy":
        return _accuracy(ours, nothing[1])
    if kind in POOLINGS:
        return _changes(ours, kind)
    if kind == "replaced":
        return _replaced(ours, nothing[1])
    if kind == "epochs":
        epochs = ours.epochs
        epochs = epochs[epochs["objective"].isin([COLA, SST, CONTROL])]
        points = epochs.assign(
            panel="", dashed=False, x=epochs["epoch"], value=epochs["perplexity"], low=np.nan, high=np.nan
        )
        return Plot(points[list(POINT_COLUMNS)], *nothing)
    measure = ENTROPY if kind == "entropy" else DISTANCE
    values = ours.values[ours.values["measure"].eq(measure)]
    values = values[values["objective"].isin([BASE, COLA, COLA_MEAN, CONTROL])]
    return Plot(values.assign(panel="", dashed=False, x=values["layer"])[list(POINT_COLUMNS)], *nothing)


def _accuracy(ours: SentenceNumbers, stars: pd.DataFrame) -> Plot:
    accuracies = ours.accuracies
    points = accuracies.assign(
        panel=accuracies["task"], objective=BASE, dashed=accuracies["pooling"].eq(FIRST), x=accuracies["layer"]
    )
    tasks = accuracies.drop_duplicates("task")
    levels = [(row.task, name, getattr(row, name)) for row in tasks.itertuples() for name in ("majority", "surface")]
    return Plot(points[list(POINT_COLUMNS)], pd.DataFrame(levels, columns=list(LEVEL_COLUMNS)), stars)


def _changes(ours: SentenceNumbers, pooling: str) -> Plot:
    changes = ours.changes
    changes = changes[changes["objective"].isin(TUNED) & changes["pooling"].eq(pooling)]
    placed = changes.assign(panel=changes["task"], dashed=False, x=changes["layer"])
    control = placed[placed["control"].notna()].drop_duplicates(["encoder", "task", "layer"])
    control = control.assign(objective=CONTROL, value=control["control"], low=np.nan, high=np.nan)
    points = pd.concat([points_of[list(POINT_COLUMNS)] for points_of in (placed, control)], ignore_index=True)
    stars = placed.assign(value=placed["over_mean"], low=placed["over_mean_low"], high=placed["over_mean_high"])
    stars = stars[stars["value"].notna()] if pooling != MEAN else stars.iloc[:0]
    levels = pd.DataFrame(
        [(task, "no change", 0.0) for task in dict.fromkeys(changes["task"])], columns=list(LEVEL_COLUMNS)
    )
    return Plot(points, levels, stars[list(POINT_COLUMNS)])


def _replaced(ours: SentenceNumbers, stars: pd.DataFrame) -> Plot:
    perplexities = ours.perplexities
    base = perplexities[perplexities["objective"].eq(BASE) & perplexities["replaced"].eq("none")]
    perplexities = perplexities[
        perplexities["objective"].isin([COLA, SST, CONTROL]) & ~perplexities["embeddings"].astype(bool)
    ]
    tables = []
    for replaced, panel in PUT_BACK.items():
        rows = perplexities[perplexities["replaced"].isin(["none", replaced])]
        ends = {end: rows["perplexity"] * np.exp(rows[end] - rows["value"]) for end in ("low", "high")}
        tables.append(
            rows.assign(panel=panel, dashed=False, x=rows["n"], **ends)
            .assign(value=rows["perplexity"])
            .sort_values("x")
        )
    levels = [(panel, "the base", float(base["perplexity"].iloc[0])) for panel in PUT_BACK.values() if len(base)]
    return Plot(
        pd.concat(tables, ignore_index=True)[list(POINT_COLUMNS)],
        pd.DataFrame(levels, columns=list(LEVEL_COLUMNS)),
        stars,
    )


#: The row of Table 1 with numbers on the test set.
TEST_SET = "Devlin et al. (2019)"
#: The other rows, and the columns of Tables 2 and 5.
_THEIRS = ("BERT", "RoBERTa", "ALBERT")
SCORE_COLUMNS = Columns(
    "tuned metric", floats((TEST_SET, *_THEIRS), "ours low high baseline"), "baseline_name verdict model why"
)
CHANGE_TABLE_COLUMNS = Columns(
    "tuned task pooling group", floats(_THEIRS, "ours low high control seed_low seed_high"), "why"
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
            theirs = [tuned.scores[row][place] if row in tuned.scores else None for row in (TEST_SET, *_THEIRS)]
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
    return SCORE_COLUMNS.frame(rows)


def changes_beside(ours: SentenceNumbers | None, published: PublishedSentences) -> pd.DataFrame:
    """Tables 2 and 5: change of accuracy in points: ``CHANGE_TABLE_COLUMNS``, a row per cell in the tables' order.

    A published cell that was not read is empty. ``control`` is the control's change, ``seed_low`` and ``seed_high`` the
    smallest and the largest change of models that differ only in their seed.
    """
    rows = []
    for tuned in published.tuned:
        for task in published.tasks:
            for pooling in POOLINGS:
                for place, group in enumerate(GROUPS):
                    cells = [published.change(model.name, task, pooling, tuned.objective) for model in published.models]
                    theirs = {
                        model.name: cell[place] if cell else None
                        for model, cell in zip(published.models, cells, strict=True)
                    }
                    where = {"task": task, "pooling": pooling, "group": group}
                    rows.append({"tuned": tuned.name, **where, **theirs, **_ours(ours, tuned.objective, where)})
    return CHANGE_TABLE_COLUMNS.frame(rows)


def _ours(ours: SentenceNumbers | None, objective: str, where: Mapping[str, str]) -> dict[str, object]:
    """Our columns of ``CHANGE_TABLE_COLUMNS``; ``why`` alone if there is no value."""
    if ours is None:
        return {"why": _no_model(None, objective)}
    groups = ours.groups
    for column, value in {"objective": objective, **where}.items():
        groups = groups[groups[column].eq(value)]
    if groups.empty:
        return {"why": _why(ours.family, objective, where["task"])}
    numbers = groups.iloc[0][["value", "low", "high", "control", "seed_low", "seed_high"]].rename({"value": "ours"})
    return {**(100 * numbers.astype("float64")), "why": _TRAINED.get(ours.learned.get(objective, ""), "")}


def _why(family: SentenceFamily, objective: str, task: str) -> str:
    model = family.members.get(objective)
    if not model:
        return _no_model(family, objective)
    base = f"python -m probing sentences train --model {family.base} --tasks {task}"
    return f"not probed; to make it: {base}, then the same with --model {model}"


def _no_model(family: SentenceFamily | None, objective: str) -> str:
    base = family.base if family else "nesia-mini"
    return f"no model; to make it: python -m probing finetune --model {base} --objective {objective.lower()}"


def settings_table(published: PublishedSentences, recipes: Mapping[str, Mapping[str, object]]) -> pd.DataFrame:
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


def measure(db: Database, base: str) -> Ours:
    """The numbers of a base with its fine-tuned models; ``about`` is its ``SentenceNumbers``."""
    families = families_here(db)
    family = families[base]
    probed, measured = sentence_runs(db), change_runs(db)
    own_probes = probed[probed["model"].isin(family.models) & probed["protocol"].eq(family.protocol)]
    ids = tuple(pd.concat([own_probes["run_id"], measured.loc[measured["model"].isin(family.models), "run_id"]]))
    origin = f"{base} by the protocol {family.protocol} with the published numbers"
    models = {**INTERPLAY.numbers.stored_encoders(families), **family.members, OF_THE_BASE: base}
    subject = Subject(models, ({"protocol": family.protocol},))
    return Ours(base, numbers_of(db, family, families, INTERPLAY.numbers), ids, origin, subject)


def tables(published: PublishedSentences, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """Tables 1, 2 with 5, 3 and 4, published and ours."""
    recipes = {
        objective.label: _recipe(objective.settings)
        for objective in OBJECTIVES.values()
        if objective.label in published.objectives
    }
    return {
        "scores": table_1(db, ours.about.family if ours else None, published),
        "changes": changes_beside(ours.about if ours else None, published),
        "settings": settings_table(published, recipes),
        "data": data(published),
    }


def _recipe(settings: object) -> dict[str, object]:
    """Every field of a recipe with these settings."""
    defaults = {name: field.default for name, field in FinetuneRecipe.model_fields.items() if not field.is_required()}
    return defaults | dict(settings)  # type: ignore[call-overload]


INTERPLAY = Paper(
    "interplay",
    PublishedSentences,
    "sentence probes",
    families_here,
    measure,
    tables,
    ("scores", "changes", "settings", "data"),
)
