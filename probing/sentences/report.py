"""The reports of sentence-level probing, and the panels of its probes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from probing.kernel.columns import Columns
from probing.kernel.objectives import CONTROL
from probing.kernel.relatives import named, relatives
from probing.kernel.report import Choice, Filter, Panel, Read, Report, Reports, refuse_unstored
from probing.kernel.store.database import Database
from probing.sentences.examples import OURS, OWN, POOLINGS, PROTOCOLS, READINGS
from probing.sentences.report_accuracy import COLUMNS, accuracies, best_probes, best_read, learning_curve, only
from probing.sentences.report_changes import PROPERTY_COLUMNS, changes, group_means, where_gone, where_gone_shares
from probing.sentences.store import sentence_runs
from probing.sentences.tasks import SENTENCE_TASKS

_ACCURACY_SHOWN = COLUMNS.without("base objective protocol right dev_right code_length above_majority")
ACCURACY = _ACCURACY_SHOWN.without("portion low high seed_low seed_high seeds")
_CHANGES_SHOWN = Columns(
    "model base task pooling layer base_accuracy accuracy change low high q family mean_change mean_q control_change",
    "control_spread inside_control seed_low seed_high seeds within_seeds",
)
_FATES_SHOWN = PROPERTY_COLUMNS.without("objective counted best_layer")


def _of_models(function: Callable[..., pd.DataFrame]) -> Callable[[Database, Choice], pd.DataFrame]:
    """A report of models and tasks by one protocol."""
    return lambda db, choice: _kept(function(db, choice["model"], choice["task"], choice["protocol"]), choice)


def _accuracy(db: Database, choice: Choice) -> pd.DataFrame:
    return _kept(
        accuracies(db, choice["model"], choice["task"], choice["protocol"], choice["reading"] or (OWN,)), choice
    )


def _fates(db: Database, choice: Choice) -> pd.DataFrame:
    return _kept(where_gone(db, choice["model"], choice["protocol"]), choice)


def _kept(table: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    return only(table, task=choice["task"], pooling=choice["pooling"]).reset_index(drop=True)


def _refuse(db: Database, choice: Choice) -> None:
    runs = sentence_runs(db)
    runs = runs[runs["protocol"] == choice["protocol"]]
    refuse_unstored(
        "probes", choice, {"model": runs["model"], "task": runs["task"]}, f" by protocol {choice['protocol']}"
    )


SENTENCES = Reports(
    "sentences",
    (
        Report("accuracy", "every probe", _accuracy, ACCURACY, further=True, shown=_ACCURACY_SHOWN),
        Report("changes", "fine-tuned models against their base", _of_models(changes), shown=_CHANGES_SHOWN),
        Report("groups", "mean change of lower and upper layers", _of_models(group_means)),
        Report("where-gone", "fates of the properties in the base's layers", _fates, shown=_FATES_SHOWN),
        Report("curve", "with fewer training sentences", _of_models(learning_curve)),
    ),
    (
        Filter("model", "Model; repeatable. None: all, but only the lowest seed of models that differ by seed."),
        Filter("task", "Task; repeatable. None: all."),
        Filter("pooling", f"{', '.join(POOLINGS)}; repeatable. None: both.", known=POOLINGS),
        Filter(
            "reading",
            f"For accuracy: {', '.join(READINGS)}; repeatable. None: own.",
            known=READINGS,
            only=("accuracy",),
        ),
        Filter("protocol", ", ".join(PROTOCOLS), known=PROTOCOLS, usual=OURS, single=True),
    ),
    _refuse,
)


#: More models than this cannot be distinguished in a panel: each has one line per pooling.
MAX_MODELS = 4


@dataclass(frozen=True)
class SentencePanels:
    """The panels of one choice; ``tasks`` has the titles of the chosen ones, in the order of tables."""

    read: Read
    models: tuple[str, ...]
    tasks: dict[str, str]
    poolings: tuple[str, ...]
    protocol: str

    @cached_property
    def accuracies(self) -> pd.DataFrame:
        """The accuracy of each probe on all training sentences."""
        table = self._of(accuracies, self.models)
        return in_panel_order(table[table["pooling"].isin(self.poolings)], self.models, tuple(self.tasks))

    @cached_property
    def best(self) -> pd.DataFrame:
        """The best probe of the first model for each task, the one farthest above its baselines first."""
        every = self.accuracies
        return best_read(every[every["model"] == self.models[0]]).sort_values("beyond", ascending=False, kind="stable")

    def panels(self) -> Panel:
        """Accuracy by layer, a panel per task; first those that the first model's probes read best."""
        ordered = [*self.best["task"], *(task for task in self.tasks if task not in set(self.best["task"]))]
        return Panel(in_panel_order(self.accuracies, self.models, ordered), {"titles": self.tasks, "best": self.best})

    def changes(self, model: str) -> Panel:
        """The changes of a fine-tuned model from its base, tasks by layers, of every pooling."""
        return Panel(in_panel_order(self._of(changes, (model,)), (model,), tuple(self.tasks)), {"titles": self.tasks})

    def fates(self, model: str) -> Panel:
        """Fates of the properties of a fine-tuned model's base, by task and pooling."""
        shares = self.read(where_gone_shares, models=(model,), protocol=self.protocol, by=("task", "pooling"))
        return Panel(
            shares[shares["task"].isin(self.tasks) & shares["pooling"].isin(self.poolings)], {"titles": self.tasks}
        )

    @cached_property
    def every_curve(self) -> pd.DataFrame:
        every = self._of(learning_curve, self.models)
        return every[every["pooling"].isin(self.poolings) & every["model"].isin(self.models)]

    def curve(self, task: str, layer: int | None) -> Panel:
        """The learning curve of a task, see ``curve_rows``."""
        return Panel(curve_rows(self.every_curve[self.every_curve["task"] == task], self.models, layer), {})

    def _of(self, function: Callable[..., pd.DataFrame], models: tuple[str, ...]) -> pd.DataFrame:
        return self.read(function, models=models, tasks=tuple(self.tasks), protocol=self.protocol)


def tasks_of_runs(about: pd.DataFrame, runs: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """The tasks of a protocol that these runs have, in the order of tables; the user's own tasks come last."""
    chosen_tasks = about[(about["protocol"] == protocol) & about["task"].isin(runs["task"])]
    return chosen_tasks.sort_values("task", key=lambda tasks: tasks.map(_place), kind="stable")


def _place(task: str) -> int:
    return list(SENTENCE_TASKS).index(task) if task in SENTENCE_TASKS else len(SENTENCE_TASKS)


def usual_models(runs: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """The models that are shown by default: the first in the order of menus that is not fine-tuned, and its control."""
    bases = set(runs.loc[runs["base"].fillna("") == "", "model"])
    first = next((model for model in models if model in bases), models[0])
    control = runs.loc[(runs["base"] == first) & (runs["objective"] == CONTROL), "model"]
    return [first, *[model for model in models if model in set(control)][:1]]


def compared_models(runs: pd.DataFrame, models: Sequence[str], also: str = "") -> list[str]:
    """The fine-tuned models compared with their base, controls last; ``also`` is kept beside its sibling."""
    runs = named(runs)
    stands = relatives(runs).stands
    tuned = runs[runs["base"].isin(runs["model"])]
    there = {model for model in tuned["model"] if stands[model] == model or model == also}
    controls = set(runs.loc[runs["objective"] == CONTROL, "model"])
    return sorted((model for model in models if model in there), key=lambda model: model in controls)


def in_panel_order(table: pd.DataFrame, models: Sequence[str], tasks: Sequence[str]) -> pd.DataFrame:
    """The rows of these tasks (and models, if the table has several) in their order, by pooling and layer."""
    rows = table[table["task"].isin(list(tasks))]
    places = {"_task": rows["task"].map(list(tasks).index)}
    if rows["model"].nunique() > 1:
        rows = rows[rows["model"].isin(list(models))]
        places = {"_task": rows["task"].map(list(tasks).index), "_model": rows["model"].map(list(models).index)}
    ordered = rows.assign(**places).sort_values([*places, "pooling", "layer"], kind="stable")
    return ordered.drop(columns=list(places)).reset_index(drop=True)


def curve_rows(table: pd.DataFrame, models: Sequence[str], layer: int | None = None) -> pd.DataFrame:
    """The rows of a learning curve at one layer, or at the best one of each model and pooling, in the order of lines.

    The best one has the best probe on all training sentences on dev; the lowest of equally good ones.
    """
    cell = ["model", "pooling", "layer"]
    best = best_probes(table[table["portion"] == 1], ("model", "pooling"))[cell]
    points = table[table["layer"] == layer] if layer is not None else table.merge(best, on=cell)
    places = list(models).index
    return points.sort_values(
        ["model", "pooling", "n_train"], key=lambda column: column.map(places) if column.name == "model" else column
    )
