"""The figures of reports: what a page draws of a report, for a choice of its filters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from probing.api.arguments import checked, whole_number
from probing.changes.figures import evidence_panels
from probing.compared.report_evidence import MEASURED, PERPLEXITY, TuningPanels
from probing.edges.figures import order_matrix, place_rows
from probing.edges.figures_layers import axis_of, task_curves
from probing.edges.report_panels import MAX_MODELS, EdgePanels, usual_models
from probing.edges.report_summary import PARTS
from probing.edges.store import edge_runs, edge_tasks
from probing.edges.targets import AT, CUMULATIVE
from probing.facts import report_candidates, report_carried
from probing.facts.figures import candidate_curve, metric_curve, total_bars
from probing.facts.figures_carried import carried_curves
from probing.facts.figures_pairs import alluvial
from probing.facts.figures_relations import relation_map
from probing.facts.report import chosen_pairs, chosen_runs
from probing.facts.report_forgotten import forgotten
from probing.facts.report_layers import by_layer, in_bar_order, precision_by_relation, total
from probing.facts.report_pairs import transitions
from probing.facts.runs import pair_identities
from probing.forgetting.figures import fall_curves, lesson_bars, outcome_bars, saving_marks
from probing.forgetting.report_outcome import stored_runs, with_keys
from probing.forgetting.store import falls
from probing.kernel.errors import FigureError, OptionError, StoreError
from probing.kernel.figures import theme
from probing.kernel.figures.looks import RunNames, fit, looks_of, marked, overlaid, set_name, set_order
from probing.kernel.metric import RANKS
from probing.kernel.models.names import head_order
from probing.kernel.objectives import CONTROL
from probing.kernel.relatives import tuned_models
from probing.kernel.report import Choice, shown_baselines
from probing.kernel.stats.intervals import AVERAGES
from probing.kernel.store.database import Database
from probing.kernel.store.stored import stored_models
from probing.kernel.success_report import learned, verdicts_by_model
from probing.sentences import report
from probing.sentences.examples import OWN, POOLINGS
from probing.sentences.figures import layer_panels, learning_lines
from probing.sentences.figures_changes import change_map, fate_bars
from probing.sentences.store import sentence_runs, sentence_tasks

if TYPE_CHECKING:
    from probing.kernel.figures.theme import go


@dataclass(frozen=True)
class Asked:
    """What is drawn, and how models look.

    Attributes:
        db: the open database.
        choice: the report with the values of its filters.
        dark: whether the notebook is dark.
        colours: model -> colour, in the order of menus.
        labels: model -> its short name, with a mark for whether a fine-tuned model learned its task.
        controls: models that were trained further on their base's own text.
    """

    db: Database
    choice: Choice
    dark: bool
    colours: dict[str, str]
    labels: dict[str, str]
    controls: tuple[str, ...]

    @classmethod
    def of(cls, db: Database, choice: Choice, dark: bool) -> "Asked":
        """With the looks of all stored models."""
        described = stored_models(db)
        looks, verdicts = looks_of(described), verdicts_by_model(learned(db))
        labels = {model: marked(name, verdicts.get(model)) for model, name in looks.names.items()}
        controls = sorted(set(described.loc[described["objective"] == CONTROL, "model"]))
        return cls(db, choice, dark, looks.colours, labels, tuple(controls))

    @property
    def lines(self) -> dict[str, Any]:
        """Names and colours of the models, as figures take them."""
        return {"colours": self.colours, "labels": self.labels}

    def read(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Reads a report, see ``kernel.report.Read``."""
        return function(self.db, *args, **kwargs)

    def single(self, name: str, usual: Any = None) -> Any:
        """The one value of a filter; ``usual`` if it has none.

        Raises:
            FigureError: if there are several.
        """
        values = self.choice[name] or ()
        if len(values) > 1:
            raise FigureError(f"got {name}={list(values)}; the figure shows only one {name}: give a single value")
        return values[0] if values else usual

    def models(self, stored: pd.DataFrame, usual: Callable[..., list[str]], most: int) -> tuple[str, ...]:
        """The chosen models, by default the usual ones of the page.

        Raises:
            FigureError: if there are more than ``most``, or nothing is stored.
        """
        if stored.empty:
            command = f"python -m probing {self.choice.kind} train --model nesia-mini --tasks all"
            raise FigureError(f"no probes are stored; make some with: {command}")
        models = self.choice["model"] or usual(stored, [one for one in self.colours if one in set(stored["model"])])
        if len(models) > most:
            raise FigureError(f"got {len(models)} values of model; the figure shows at most {most}: narrow model")
        return tuple(models)


def _shown_runs(asked: Asked) -> tuple[RunNames, pd.DataFrame]:
    """The chosen runs of facts, and those of them that a page shows at first.

    Raises:
        StoreError: if no run has the chosen names together, or a named model has none.
    """
    runs, names = chosen_runs(asked.db, asked.choice), ("model", "head", "probe_set")
    models, heads, probe_sets = (tuple(asked.choice[name] or ()) for name in names)
    lacking = tuple(name for name in models if name not in set(runs["model"]))
    if runs.empty or lacking:
        given = zip(names, (lacking or models, heads, probe_sets), strict=True)
        words = ", ".join(f"{name} {' or '.join(values)}" for name, values in given if values)
        raise StoreError(f"no run on facts has {words or 'these names'} together; results.runs lists the stored runs")
    return fit(RunNames(models, heads, probe_sets), runs)[0], runs


def _overview(asked: Asked) -> pd.DataFrame:
    shown, runs = _shown_runs(asked)
    return overlaid(runs, shown.models, shown.heads, shown.probe_sets)


def _precision(asked: Asked) -> "go.Figure":
    """Layer curves: P@k by layer, one line per run, with 95 % intervals, majority answer and swapped subject."""
    k, average = asked.single("k", RANKS[0]), asked.single("average", AVERAGES[0])
    points = shown_baselines(by_layer(asked.db, tuple(_overview(asked)["run_id"]), f"p_at_{k}", average))
    return metric_curve(points, metric=f"p_at_{k}", average=average, controls=asked.controls, **asked.lines)


def _total(asked: Asked) -> "go.Figure":
    """Knowledge of the last layer and of inner layers only, one bar per run, with the guessing baseline."""
    runs, k, average = _overview(asked), asked.single("k", RANKS[0]), asked.single("average", AVERAGES[0])
    table = shown_baselines(in_bar_order(total(asked.db, tuple(runs["run_id"]), (k,), (average,)), runs))
    return total_bars(table, k=k, names={name: set_name(name) for name in table["probe_set"]}, **asked.lines)


def _forgotten(asked: Asked) -> "go.Figure":
    """The map of one run, one row per relation and one column per layer; a definition keeps what is forgotten by it."""
    for name in ("model", "head", "probe_set"):
        asked.single(name)
    k, definition, (one, runs) = asked.single("k", RANKS[0]), asked.single("definition"), _shown_runs(asked)
    of_one = (runs["model"] == one.model) & (runs["head"] == one.head) & (runs["probe_set"] == one.probe_set)
    run_ids = tuple(runs.loc[of_one, "run_id"].head(1))
    points = shown_baselines(precision_by_relation(asked.db, run_ids, k))
    if definition is not None:
        gone = [one for names in forgotten(asked.db, run_ids, (k,), (definition,))["names"] for one in names]
        if not gone:
            return theme.empty(f"By the definition “{definition}” this run has forgotten no relation at rank ≤ {k}.")
        points = points[points["relation"].isin(gone)]
    return relation_map(points, k=k, dark=asked.dark)


def _transitions(asked: Asked) -> "go.Figure":
    """The flow of facts that one fine-tuned model kept, gained and lost, and the fates of the lost ones."""
    for name in ("model", "head", "probe_set", "base"):
        asked.single(name)
    models = list(asked.colours)
    pairs = pair_identities(asked.db, chosen_pairs(asked.db, asked.choice)).sort_values(
        ["model", "head", "probe_set"],
        key=lambda one: one.map({"model": models.index, "head": head_order, "probe_set": set_order}[one.name]),
    )
    table = transitions(asked.db, pairs.head(1), (asked.single("k", RANKS[0]),))
    if table.empty or not table["n"].iloc[0]:
        raise FigureError(
            "no fine-tuned model of this selection is stored fact by fact with its base; the table of facts transitions"
            " lists the pairs, model= and base= name any two models"
        )
    row: dict[str, Any] = table.iloc[0].to_dict()
    return alluvial(row, base=row["base"], model=row["model"], **asked.lines)


def _among_candidates(asked: Asked) -> "go.Figure":
    """P@1 among candidates by layer, one line per model, with 95 % intervals, and what gives right answers blindly."""
    for name in ("probe_set", "measure", "candidates_file", "dtype"):
        asked.single(name)
    wanted = {name: asked.choice[name] or () for name in report_candidates.ORDER}
    average = asked.single("average", AVERAGES[0])
    runs = report_candidates.alike(report_candidates.chosen(asked.db, asked.choice), **wanted)
    if runs.empty:
        raise StoreError("no ranks among candidates have the chosen names together; results.runs lists the stored runs")
    points = report_candidates.by_layer(asked.db, runs, (average,))
    return candidate_curve(points, average=average, controls=asked.controls, **asked.lines)


def _carried(asked: Asked) -> "go.Figure":
    """What is read, carried and settled by layer, a panel for each model, at most two."""
    points = asked.read(report_carried.by_layer, list(report_carried.chosen(asked.db, asked.choice)["run_id"]))
    if points["run_id"].nunique() > 2:
        raise FigureError("the figure shows one or two runs; narrow them by model and probe_set")
    return carried_curves(points, labels=asked.labels)


def _edges(asked: Asked, published: bool = True) -> EdgePanels:
    """The panels of the page Grammar; the figures other than F1 by layer show cumulative probes."""
    runs = edge_runs(asked.db)
    models = asked.models(runs, usual_models, MAX_MODELS)
    titles = edge_tasks(asked.db).drop_duplicates("task").set_index("task")["title"]
    tasks = {task: titles[task] for task in titles.index if task in set(asked.choice["task"] or runs["task"])}
    kinds = (CUMULATIVE, AT) if asked.choice.report.name == "scores" else (CUMULATIVE,)
    if (kind := asked.single("kind", CUMULATIVE)) not in kinds:
        raise FigureError(f"got kind={kind!r}; the figure shows {' or '.join(kinds)} probes: change kind")
    part = asked.single("part", PARTS[0])
    return EdgePanels(asked.read, models, tasks, part, asked.choice["unseen"], published)


@checked
def _edge_summary(asked: Asked, published: bool = True) -> "go.Figure":
    """Centre of gravity and expected layer, one row per task."""
    panel = _edges(asked, published).places()
    return place_rows(panel.rows, **asked.lines, **panel.options)


@checked
def _edge_scores(asked: Asked, published: bool = True) -> "go.Figure":
    """F1 by layer, one panel per task."""
    kind = asked.single("kind", CUMULATIVE)
    panel = _edges(asked, published).curves(kind)
    return task_curves(panel.rows, axis=axis_of(panel.rows, kind), **asked.lines, **panel.options)


def _edge_labels(asked: Asked) -> "go.Figure":
    """Expected layers of the labels of one task."""
    panels = _edges(asked)
    panel = panels.labels(asked.single("task", next(iter(panels.tasks))))
    return place_rows(panel.rows, **asked.lines, **panel.options)


def _edge_order(asked: Asked) -> "go.Figure":
    """Which of two tasks comes first in one model."""
    panels = _edges(asked)
    panel = panels.order(asked.single("model", panels.models[0]))
    return order_matrix(panel.rows, **panel.options)


def _sentences(asked: Asked, tuned: bool = False) -> report.SentencePanels:
    """The panels of sentence probes: of the models that a page compares, or of one fine-tuned model."""
    choice, runs = asked.choice, sentence_runs(asked.db)
    if choice["reading"] and tuple(choice["reading"]) != (OWN,):
        raise FigureError(f"got reading={list(choice['reading'])}; the figure shows own probes: leave reading out")
    runs = runs[runs["protocol"] == choice["protocol"]]
    models = (_compared(asked, runs),) if tuned else asked.models(runs, report.usual_models, report.MAX_MODELS)
    about = report.tasks_of_runs(sentence_tasks(asked.db), runs, choice["protocol"]).set_index("task")["title"]
    tasks = {task: about[task] for task in about.index if task in (choice["task"] or about.index)}
    return report.SentencePanels(asked.read, models, tasks, choice["pooling"] or POOLINGS, choice["protocol"])


def _compared(asked: Asked, runs: pd.DataFrame) -> str:
    """The one fine-tuned model that is compared with its base, by default the first."""
    model = asked.single("model", "")
    there = report.compared_models(runs, list(asked.colours), model)
    if not there or (model and model not in there):
        raise FigureError(
            f"{model or 'no model'} has no stored base; name a fine-tuned one in model: {', '.join(there) or 'none'}"
        )
    return model or there[0]


def _accuracy(asked: Asked) -> "go.Figure":
    """Accuracy of sentence probes by layer, one panel per task."""
    panel = _sentences(asked).panels()
    return layer_panels(panel.rows, controls=asked.controls, **asked.lines, **panel.options)


def _sentence_changes(asked: Asked) -> "go.Figure":
    """Changes of one fine-tuned model from its base, tasks by layers."""
    panels = _sentences(asked, tuned=True)
    (model,), panel = panels.models, panels.changes(panels.models[0])
    base = next(iter(panel.rows["base"]), "")
    kind, names = asked.single("pooling", POOLINGS[0]), asked.labels
    return change_map(panel.rows, kind=kind, model=names[model], base=names.get(base, base), **panel.options)


def _where_gone(asked: Asked) -> "go.Figure":
    """Fates of the properties of one fine-tuned model's base, by task."""
    panels = _sentences(asked, tuned=True)
    panel = panels.fates(panels.models[0])
    return fate_bars(panel.rows, **panel.options)


def _learning(asked: Asked, layer: int | None = None) -> "go.Figure":
    """The learning curve of one task, at one layer or at the best one of each line."""
    panels = _sentences(asked)
    task, every = asked.single("task", next(iter(panels.tasks), "")), panels.every_curve
    every = every[every["task"] == task]
    if every["portion"].nunique() < 2:
        raise FigureError(f"probes of {task} on a part of the training sentences are not stored; change model or task")
    if layer is not None and whole_number("layer", layer) not in (there := sorted(set(every["layer"]))):
        raise OptionError(f"got layer={layer}; there are {', '.join(map(str, there))}")
    return learning_lines(panels.curve(task, layer).rows, controls=asked.controls, **asked.lines)


def _change_values(asked: Asked) -> "go.Figure":
    """Attention and similarity of states of one fine-tuned model, on one layer axis."""
    measures = asked.choice["measure"] or tuple(MEASURED)
    if unknown := [name for name in measures if name not in MEASURED]:
        raise FigureError(f"got measure {unknown[0]}, which the page does not draw; it draws {', '.join(MEASURED)}")
    if asked.choice["heads"]:
        raise FigureError("got heads=True; the figure shows whole layers: leave heads out")
    places = {MEASURED[name] for name in measures}
    return _changed(asked, lambda rows: [one in places for one in zip(rows["panel"], rows["line"], strict=True)])


def _perplexity(asked: Asked) -> "go.Figure":
    """Perplexity of one fine-tuned model with layers of its base put back."""
    return _changed(asked, lambda rows: rows["panel"] == PERPLEXITY)


def _changed(asked: Asked, kept: Callable[[pd.DataFrame], Any]) -> "go.Figure":
    """Panels of one fine-tuned model, by default the first."""
    stored = set(tuned_models(asked.db)["model"])
    models = [model for model in asked.colours if model in stored]
    model = asked.single("model", next((one for one in models if one not in asked.controls), ""))
    if model not in models:
        raise OptionError(f"got model {model!r}; fine-tuned models are {', '.join(models) or 'none'}")
    panels = TuningPanels(asked.read, model, None)
    called = [asked.labels.get(name, name) for name in (model, panels.base, panels.control)]
    colours = [asked.colours[model], asked.colours.get(panels.base, theme.PALETTE[0])]
    return evidence_panels(panels.found[kept(panels.found)], names=called, colours=colours, tasks=panels.titles)


def _by_model(asked: Asked, bars: Callable[..., "go.Figure"]) -> "go.Figure":
    """Of 100 facts that the base knew, or lost, or that were taught again: the bars or marks of each model."""
    table = asked.choice.report.table(asked.db, asked.choice)
    _one_set(table)
    return bars(table, labels=asked.labels)


def _falls(asked: Asked) -> "go.Figure":
    """How far lost facts fell, one curve per model."""
    runs = stored_runs(asked.db, asked.choice["model"], asked.choice["probe_set"], asked.choice["k"])
    _one_set(runs)
    return fall_curves(with_keys(runs, falls(asked.db, list(runs["run_id"]))), **asked.lines)


def _one_set(table: pd.DataFrame) -> None:
    """Raises a ``FigureError`` for several probe sets or ranks."""
    if several := [name for name in ("probe_set", "k") if table[name].nunique() > 1]:
        raise FigureError(f"the figure shows only one {several[0]}; choose one")


#: Kind and name of a report -> the function that draws it.
FIGURES: dict[tuple[str, str], Callable[..., "go.Figure"]] = {
    ("facts", "precision"): _precision,
    ("facts", "total"): _total,
    ("facts", "forgotten"): _forgotten,
    ("facts", "transitions"): _transitions,
    ("candidates", "layers"): _among_candidates,
    ("facts", "carried"): _carried,
    ("edges", "summary"): _edge_summary,
    ("edges", "scores"): _edge_scores,
    ("edges", "labels"): _edge_labels,
    ("edges", "tasks"): _edge_order,
    ("sentences", "accuracy"): _accuracy,
    ("sentences", "changes"): _sentence_changes,
    ("sentences", "where-gone"): _where_gone,
    ("sentences", "curve"): _learning,
    ("changes", "values"): _change_values,
    ("changes", "perplexity"): _perplexity,
    ("forgetting", "lessons"): partial(_by_model, bars=lesson_bars),
    ("forgetting", "outcome"): partial(_by_model, bars=outcome_bars),
    ("forgetting", "falls"): _falls,
    ("forgetting", "savings"): partial(_by_model, bars=saving_marks),
}
