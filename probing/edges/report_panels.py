"""The tables behind the figures of edge probing: chosen models and tasks, and the predictions for chosen spans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from probing.edges.numbers import half_layer
from probing.edges.report import PUBLISHED_MODELS, TaskYardsticks, by_label, published_scores, summarise_published
from probing.edges.report_curves import HALVES, compression, f1_by_layer, halves, selectivity, weights_by_layer
from probing.edges.report_summary import PARTS, summary, tasks_in_order
from probing.edges.targets import CUMULATIVE, Span
from probing.edges.tasks import SPANS_ARE
from probing.edges.words import SpanTrace
from probing.kernel.provenance import TRAINED
from probing.kernel.report import Panel, Read

#: More models than this cannot be distinguished in a row.
MAX_MODELS = 4
#: More labels than this do not fit in a figure.
MAX_LABELS = 20
#: Column of the summary -> name of the level.
_LEVELS = {"memory": "memory", "majority": "commonest label", "ceiling": "ceiling"}


@dataclass(frozen=True)
class EdgePanels:
    """The panels of one choice; ``tasks`` has the titles of the chosen ones, in the order of tables."""

    read: Read
    models: tuple[str, ...]
    tasks: dict[str, str]
    part: str
    unseen: bool
    published: bool

    @cached_property
    def every_summary(self) -> pd.DataFrame:
        """The summary of every encoder and part."""
        return self._chosen(self.read(summary, unseen=self.unseen, models=self.models, tasks=tuple(self.tasks)))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The summary of the trained encoders on the chosen part, with F1 of P(L) on the other part."""
        return on_part(self.every_summary, self.part)

    @cached_property
    def paper(self) -> pd.DataFrame:
        """The published numbers of the chosen tasks; no rows if they are not wanted."""
        return published_summary(tuple(self.tasks) if self.published else ())

    def places(self) -> Panel:
        """Centre of gravity, expected layer, F1 and its yardsticks, one row per task and model."""
        table = with_published(self.summary, self.paper)
        return Panel(table.assign(row=table["task"]), {"titles": self.tasks, "shares": table["last"].nunique() > 1})

    def f1(self, kind: str) -> pd.DataFrame:
        """F1 of probes of a kind by layer, without published numbers."""
        points = self.read(
            f1_by_layer, kind, part=self.part, unseen=self.unseen, models=self.models, tasks=tuple(self.tasks)
        )
        return self._chosen(points)

    def halves(self) -> pd.DataFrame:
        """Where half of the gain is there in the chosen models and, if wanted, the paper's smaller; see ``halves``."""
        chosen = {"models": self.models, "tasks": tuple(self.tasks)}
        ours = self._chosen(self.read(halves, part=self.part, unseen=self.unseen, **chosen))
        theirs = published_halves(tuple(self.tasks)) if self.published and len(ours) else ours.iloc[:0]
        return pd.concat([ours, theirs], ignore_index=True)

    def curves(self, mode: str) -> Panel:
        """F1 by layer of a kind of probe, or ``selectivity`` or ``compression``, with the levels of each task."""
        return Panel(self._points(mode), {"titles": self.tasks, "levels": self._levels(mode)})

    def _points(self, mode: str) -> pd.DataFrame:
        if mode == "compression":
            return self._chosen(self.read(compression))
        if mode == "selectivity":
            points = self.read(selectivity, part=self.part)
            on_seen = points.drop(columns=["value", "f1", "control"]).rename(
                columns=lambda name: name.removesuffix("_seen")
            )
            return self._chosen(on_seen.dropna(subset=["value"]))
        points = self.f1(mode)
        return (
            with_published_scores(points, tuple(self.tasks))
            if mode == CUMULATIVE and self.published and len(points)
            else points
        )

    def _levels(self, mode: str) -> pd.DataFrame:
        if mode in ("selectivity", "compression"):
            name, value = ("no selectivity", 0.0) if mode == "selectivity" else ("uniform code", 1.0)
            return pd.DataFrame([(task, name, value) for task in self.tasks], columns=["task", "name", "value"])
        return task_levels(self.summary)

    def bars(self, model: str) -> pd.DataFrame:
        """A model's mixing weights, and gains in F1 of P(l) over P(l-1), by task and layer. Papers have no weights."""
        every = published_scores() if model in PUBLISHED_MODELS.values() else self.f1(CUMULATIVE)
        weights = self._chosen(self.read(weights_by_layer))
        of_model = (
            rows[rows["task"].isin(self.tasks) & (rows["model"] == model) & (rows["encoder"] == TRAINED)]
            for rows in (every, weights)
        )
        curve, weights = (rows.sort_values(["task", "layer"]) for rows in of_model)
        gains = curve.assign(gain=curve.groupby("task", sort=False)["value"].diff())[["task", "layer", "gain"]]
        both = gains.merge(weights[["task", "layer", "weight", "normed"]], on=["task", "layer"], how="outer")
        places = list(self.tasks).index
        both = both.sort_values(
            ["task", "layer"],
            key=lambda column: column.map(places) if column.name == "task" else column,
            ignore_index=True,
        )
        return both.astype({"weight": "float64", "normed": "float64"})

    def labels(self, task: str) -> Panel:
        """The resolved expected layers of the most frequent labels of a task; its ``table`` has all labels."""
        labels = self._chosen(self.read(by_label, task, part=self.part, unseen=self.unseen, models=self.models))
        table = labels[labels["encoder"] == TRAINED]
        drawn = frequent_labels(table.dropna(subset=["expected_layer"]))
        return Panel(drawn, {"shares": drawn["last"].nunique() > 1}, table)

    def order(self, model: str) -> Panel:
        """The pairs of tasks of a model."""
        return Panel(
            self.read(tasks_in_order, model, tuple(self.tasks), part=self.part, unseen=self.unseen),
            {"titles": self.tasks},
        )

    def _chosen(self, table: pd.DataFrame) -> pd.DataFrame:
        return in_order(table, self.models, tuple(self.tasks))


def usual_models(runs: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """The models that are shown by default: those that are not fine-tuned, else all; at most ``MAX_MODELS``."""
    own = set(runs.loc[runs["base"].isna() | (runs["base"] == ""), "model"])
    return ([model for model in models if model in own] or list(models))[:MAX_MODELS]


def in_order(table: pd.DataFrame, models: Sequence[str], tasks: Sequence[str]) -> pd.DataFrame:
    """The rows of these models and tasks, in their order."""
    rows = table[table["model"].isin(list(models)) & table["task"].isin(list(tasks))]
    places = {"_task": rows["task"].map(list(tasks).index), "_model": rows["model"].map(list(models).index)}
    return rows.assign(**places).sort_values(["_task", "_model"], kind="stable").drop(columns=["_task", "_model"])


def on_part(table: pd.DataFrame, part: str) -> pd.DataFrame:
    """The summary of the trained encoders on a part of the data, with F1 of P(L) on the other (``f1_last_PART``)."""
    trained = table[table["encoder"] == TRAINED]
    other = next(name for name in PARTS if name != part)
    f1_of_other = trained[trained["part"] == other][["model", "task", "f1_last"]].rename(
        columns={"f1_last": f"f1_last_{other}"}
    )
    return trained[trained["part"] == part].merge(f1_of_other, on=["model", "task"], how="left")


def published_summary(tasks: Sequence[str]) -> pd.DataFrame:
    """The published numbers of these tasks, in their order."""
    table = summarise_published()
    rows = table[table["task"].isin(list(tasks))]
    return (
        rows.assign(_task=rows["task"].map(list(tasks).index)).sort_values("_task", kind="stable").drop(columns="_task")
    )


def with_published(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Our summary with the published one below it."""
    if theirs.empty:
        return ours
    if ours.empty:
        return theirs
    both = pd.concat([ours, theirs.reindex(columns=ours.columns)], ignore_index=True)
    counts = dict.fromkeys(("seeds", "targets", "probes", "probes_stopped"), "Int64")
    return both.astype(counts | {"last": "int64", "weights_near_uniform": "boolean"})


def with_published_scores(points: pd.DataFrame, tasks: Sequence[str]) -> pd.DataFrame:
    """F1 by layer of cumulative probes with the published values of these tasks below it."""
    theirs = published_scores()
    return pd.concat(
        [points, theirs[theirs["task"].isin(list(tasks))].reindex(columns=points.columns)], ignore_index=True
    )


def published_halves(tasks: Sequence[str]) -> pd.DataFrame:
    """The layers of BERT-base in these tasks, or in all that are published if these are others, as ``halves``."""
    every = published_scores()
    of_base = every[every["model"] == PUBLISHED_MODELS["base"]]
    lines = of_base.sort_values("layer").groupby("task", sort=False)["value"].agg(list)
    rows = [(task, len(f1) - 1, half_layer(f1), f1[-1] - f1[0]) for task, f1 in lines.items()]
    table = pd.DataFrame(rows, columns=["task", "last", "half", "gain"]).assign(model=PUBLISHED_MODELS["base"])
    table = HALVES.frame(table.reindex(columns=list(HALVES)))
    chosen = table[table["task"].isin(list(tasks))]
    return chosen if len(chosen) else table


def task_levels(summary: pd.DataFrame) -> pd.DataFrame:
    """The yardsticks of each task, one row each: task, name, value."""
    first = summary.drop_duplicates("task")
    rows = [(row["task"], name, row[column]) for row in first.to_dict("records") for column, name in _LEVELS.items()]
    return pd.DataFrame(rows, columns=["task", "name", "value"])


def frequent_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the most frequent labels of ``by_label``, the most frequent first, with the label as ``row``."""
    frequent = table.groupby("label")["n"].max().sort_values(ascending=False, kind="stable")
    labels = list(frequent.index[:MAX_LABELS])
    drawn = table[table["label"].isin(labels)]
    drawn = drawn.assign(row=drawn["label"], _place=drawn["label"].map(labels.index)).sort_values(
        "_place", kind="stable"
    )
    return drawn.drop(columns="_place")


PANEL_LABELS = 3
#: Task -> words for labels that are numbers.
_IN_WORDS = {task: {"1": "the same", "0": "not the same"} for task in ("coreference", "coreference-gum")}


def label_in_words(task: str, name: str) -> str:
    """The display name of a label."""
    return _IN_WORDS.get(task, {}).get(name, name.replace("_", " "))


def text_of(words: Sequence[str], span: Span) -> str:
    return " ".join(words[span[0] : span[1]])


def label_rows(model: str, traces: Sequence[SpanTrace]) -> pd.DataFrame:
    """Every label of every task at every layer: ``p`` is its sigmoid, ``share`` is p over the sum of the p of all
    labels.

    A span is written ``3:5``; ``span2`` is empty if the task has one span.
    """
    rows = [
        (model, trace.task, *_written(trace), layer, label, float(p), float(share))
        for trace in traces
        for layer, (ps, shares) in enumerate(zip(trace.p, trace.shares, strict=True))
        for label, p, share in zip(trace.labels, ps, shares, strict=True)
    ]
    return pd.DataFrame(rows, columns=["model", "task", "span1", "span2", "layer", "label", "p", "share"])


def answer_rows(model: str, traces: Sequence[SpanTrace]) -> pd.DataFrame:
    """The last layer's prediction for every task and span, or pair of spans.

    ``settled`` is the first layer from which the prediction stays the last layer's; ``f1`` is that of the last layer's
    probe on the development part, in [0, 1].
    """
    rows = [
        (model, trace.task, trace.title, *_written(trace), ", ".join(trace.answer), trace.settled, float(trace.f1[-1]))
        for trace in traces
    ]
    return pd.DataFrame(rows, columns=["model", "task", "title", "span1", "span2", "answer", "settled", "f1"])


def panel_rows(words: Sequence[str], traces: Sequence[SpanTrace]) -> pd.DataFrame:
    """The rows of ``span_bars``: for each task the labels that best show how the prediction develops."""
    rows = []
    for panel, trace in enumerate(traces):
        shares, name = (trace.p, f"{trace.title} (p of each)") if trace.several else (trace.shares, trace.title)
        title = f"{name}: {' / '.join(text_of(words, span) for span in trace.spans)}"
        best = [
            ", ".join(
                f"{label_in_words(trace.task, trace.labels[number])} {shares[layer, number]:.2f}"
                for number in trace.best(layer)
            )
            for layer in range(len(trace.p))
        ]
        rows += [
            (
                panel,
                title,
                place,
                label_in_words(trace.task, trace.labels[number]),
                layer,
                shares[layer, number],
                trace.p[layer, number],
                best[layer],
                trace.settled,
            )
            for place, number in enumerate(trace.distinguished(PANEL_LABELS), start=1)
            for layer in range(len(trace.p))
        ]
    return pd.DataFrame(rows, columns=["panel", "title", "place", "label", "layer", "share", "p", "best", "settled"])


def _written(trace: SpanTrace) -> tuple[str, str]:
    first, second = [*(f"{start}:{end}" for start, end in trace.spans), ""][:2]
    return first, second


def said_rows(
    words: Sequence[str], model: str, traces: Sequence[SpanTrace], measures: Mapping[str, TaskYardsticks]
) -> pd.DataFrame:
    """What a model's probes say of chosen words, for readers, with the yardsticks of each task; without them empty
    cells.

    One row per task and span, or pair of spans: the last layer's ``label``, those of lower layers (``before``), the
    first layer from which it stays (``settled``), and ``F1`` of the last layer's probe on the development part.
    """
    rows = []
    for trace in traces:
        answer, measure = ", ".join(label_in_words(trace.task, name) for name in trace.answer), measures.get(trace.task)
        roles = SPANS_ARE.get(trace.task, ("", ""))
        named = [text_of(words, span) for span in trace.spans]
        if len(named) > 1 and roles[0] != roles[1]:
            named = [f"{text} ({role})" for text, role in zip(named, roles, strict=True)]
        before = (
            [] if trace.several or not trace.settled else [label_in_words(trace.task, name) for name in trace.before]
        )
        known = (
            (measure.memory, label_in_words(trace.task, measure.label), measure.share)
            if measure
            else (np.nan, "", np.nan)
        )
        p = float(trace.p[-1].max())
        rows.append(
            (
                model,
                trace.title,
                " / ".join(named),
                answer or "no label",
                trace.settled,
                p,
                ", ".join(before),
                trace.f1[-1],
                *known,
            )
        )
    columns = [
        "model",
        "task",
        "words",
        "label",
        "settled",
        "its p",
        "before",
        "F1",
        "looking words up (F1)",
        "commonest label",
        "share",
    ]
    return pd.DataFrame(rows, columns=columns)
