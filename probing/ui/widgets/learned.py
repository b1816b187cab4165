"""Whether a fine-tuned model learned its task, as a mark on its name, as a badge in a sentence, and as a table."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import pandas as pd
import streamlit as st

from probing.core.metrics import METRICS
from probing.core.tasks.learned import Verdict, amount, in_words
from probing.figures.model_looks import MARKS, says_so
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: Verdict -> what follows a name in a sentence.
BADGES: Mapping[Verdict, Markdown] = {
    "learned": Markdown(":green-badge[task learned]"),
    "not learned": Markdown(":red-badge[trained, not learned]"),
    "cannot tell": Markdown(":orange-badge[cannot tell]"),
    "no score stored": Markdown(":gray-badge[task score unknown]"),
    "control": Markdown(":gray-badge[control]"),
}
_KEY: Mapping[str, Markdown] = {
    " ✓": Markdown("✓ learned its task: the task score lies above its baseline with its 95 % interval"),
    " ✗": Markdown("✗ trained, not learned: what it lost cannot be put down to its task"),
    " ?": Markdown("? cannot tell: too few test items, or no task score or baseline is stored"),
    " (control)": Markdown("control: trained further on its base's own text, so it has no task"),
}
_LABELS = {metric.label: metric for metric in METRICS.values()}
#: What a column of the task table says, and how.
_COLUMNS: dict[str, Any] = {
    "value": "score", "baseline_name": "baseline is", "other_name": "compared with",
    "n": st.column_config.NumberColumn("items", help="What was scored: questions, queries, sentences, words or masked tokens."),
    "decides": st.column_config.CheckboxColumn(help="Whether the verdict on the model rests on this score."),
    "verdict": st.column_config.TextColumn(help=escape(METRICS["learned"].definition)),
    "definition": st.column_config.TextColumn("what the metric is", width="large"),
}  # fmt: skip


class Marked(Protocol):
    """What knows the verdicts on models: a page's view."""

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Fine-tuned model -> verdict; other models are not in it."""

    @property
    def learned(self) -> pd.DataFrame:
        """What ``reports.learned.learned`` gives."""


def badge(name: str, verdict: Verdict | None) -> Markdown:
    """What follows the name of a model in a sentence; ``""`` for a base, and for a control whose name says so."""
    return Markdown("") if verdict is None or says_so(name, verdict) else Markdown(" ") + BADGES[verdict]


def mark_key(view: Marked, models: Iterable[str]) -> Markdown:
    """One line on what the marks on these models mean, for the caption of a figure that names them; ``""`` where none has a mark."""
    there = {MARKS[view.verdicts[model]] for model in models if model in view.verdicts}
    words = [said for sign, said in _KEY.items() if sign in there]
    return filled("{words}.", words=joined("; ", words)) if words else Markdown("")


def evidence(view: Marked, models: Iterable[str]) -> Markdown:
    """The task scores that the verdicts on these models rest on, a line each, as help beside their badges; ``""`` without any."""
    table = view.learned
    rows = table[table["model"].isin(list(models)) & table["value"].notna()]
    return joined("\n", (filled("- {line}", line=_score_in_words(row)) for _, row in rows.iterrows()))


def task_sentence(view: Marked, model: str, name: str = "") -> Markdown:
    """The task score that the verdict on a model rests on, its baseline, and a second score that misses its own, as a sentence.

    Args:
        view: the page's.
        model: whose score.
        name: what the sentence calls the model; ``""``: it begins with "Its".

    Returns:
        ``""`` where no score is stored.
    """
    table = view.learned
    rows = table[(table["model"] == model) & table["value"].notna()]
    if rows.empty:
        return Markdown("")
    row = rows.iloc[0]
    baseline = (
        filled("no baseline is stored")
        if pd.isna(row["baseline"])
        else filled("against a baseline of {score} ({which})", score=_score(row, "baseline"), which=row["baseline_name"])
    )
    return filled(
        "{whose} task score is {metric} {interval}, {baseline}{short}.", whose=filled("{name}'s", name=name) if name else Markdown("Its"),
        metric=row["metric"], interval=_interval(row), baseline=baseline, short=_short(row),
    )  # fmt: skip


def task_words(view: Marked, model: str, name: str = "") -> Markdown:
    """``task_sentence``, and what follows where the model did not learn its task; ``""`` where no score is stored."""
    said = task_sentence(view, model, name)
    if view.verdicts.get(model) != "not learned":
        return said
    word = Markdown("It was trained and did not learn its task, so these changes cannot be put down to that task.")
    return joined(" ", [said, word]) if said else word


def _score(row: pd.Series, column: str, metric: str = "metric", unit: str = " %") -> Markdown:
    """A share in per cent, a correlation as it is."""
    return Markdown(amount(row[metric], float(row[column]), unit))


def _interval(row: pd.Series) -> Markdown:
    """ "10.8 % (9.2 to 12.6)"."""
    return filled("{value} ({low} to {high})", value=_score(row, "value"), **{end: _score(row, end, unit="") for end in ("low", "high")})


def _short(row: pd.Series) -> Markdown:
    """ "; its task accuracy of 66.1 % is below its baseline of 69.1 % (majority label)"; ``""`` where no second score misses its own."""
    if not row["short_metric"]:
        return Markdown("")
    return filled(
        "; its {metric} of {value} is below its baseline of {baseline} ({which})", metric=row["short_metric"],
        which=row["short_baseline_name"],
        **{name: _score(row, f"short_{name}", "short_metric") for name in ("value", "baseline")},
    )  # fmt: skip


def _score_in_words(row: pd.Series) -> Markdown:
    score = filled(
        "{model}: {metric} {interval} over {n:,}", model=row["model"], metric=row["metric"], interval=_interval(row), n=int(row["n"])
    )
    if pd.isna(row["baseline"]):
        return filled("{score}; no baseline is stored", score=score)
    base = _score(row, "baseline")
    return filled("{score}; {name}: {baseline}{short}", score=score, name=row["baseline_name"], baseline=base, short=_short(row))


def task_table(table: pd.DataFrame, label: Callable[[str], str], *, stamp: Stamp, name: str) -> None:
    """Shows task scores with intervals, baselines, verdicts and what each metric is.

    Args:
        table: of ``reports.learned.scores``.
        label: what figures and menus call a model; its stored name has a column of its own.
        stamp, name: as ``blocks.table_with_download`` has them.
    """
    numbers = {
        column: st.column_config.NumberColumn(_heading(column), format="%.3f") for column in ("value", "low", "high", "baseline", "other")
    }
    table = table.assign(definition=[_LABELS[metric].definition if metric in _LABELS else "" for metric in table["metric"]])
    shown = table.assign(id=table["model"], model=table["model"].map(label), verdict=table["verdict"].map(in_words))
    blocks.table_with_download(
        table, shown=shown, stamp=stamp, name=name, height="content",
        column_order=[
            "model", "verdict", "metric", "value", "low", "high", "baseline", "baseline_name", "other", "other_name", "n", "decides",
            "objective", "base", "id", "definition",
        ],
        column_config={**_COLUMNS, **numbers, "model": st.column_config.TextColumn(pinned=True)},
    )  # fmt: skip


def _heading(column: str) -> str:
    return {"value": "score", "other": "other value"}.get(column, column)
