"""Whether a fine-tuned model learned its task: a mark on its name, a badge in a sentence, and a table."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import pandas as pd

from probing.core.tasks.task_success import Verdict, amount
from probing.figures.model_looks import MARKS, says_so
from probing.ui.widgets.markdown import Markdown, filled, joined

#: Verdict -> badge after a model's name in a sentence; it ends with the task score, if one is stored.
BADGES: Mapping[Verdict, Markdown] = {
    "learned": Markdown(":green-badge[task learned{score}]"),
    "partly": Markdown(":orange-badge[task partly learned{score}]"),
    "not learned": Markdown(":red-badge[trained, not learned{score}]"),
    "cannot tell": Markdown(":gray-badge[task: cannot tell{score}]"),
    "no score stored": Markdown(":gray-badge[task score unknown]"),
    "control": Markdown(":gray-badge[control]"),
}
_KEY: Mapping[str, Markdown] = {
    " ✓": Markdown(
        "✓ learned its task: the task score lies above its baseline with its 95 % interval, and at least halfway to the score that "
        "BERT-base is published to reach, if one is published; its losses may still have other causes than the task"
    ),
    " ◐": Markdown("◐ partly: only above its baseline, less than halfway to the published score"),
    " ✗": Markdown("✗ trained, not learned: its losses cannot be attributed to its task"),
    " ?": Markdown("? cannot tell: too few test items, or no task score or baseline is stored"),
    " (control)": Markdown("control: trained further on its base's pre-training text, so it has no task"),
}


class Marked(Protocol):
    """An object with verdicts on models, such as a page's view."""

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Fine-tuned model -> verdict; other models are not in it."""

    @property
    def learned(self) -> pd.DataFrame:
        """The table of ``reports.task_success.learned``."""

    @property
    def explained(self) -> set[str]:
        """The marks that a caption of the page has explained; ``marks_once`` adds to it."""


def badge(name: str, verdict: Verdict | None, score: str = "") -> Markdown:
    """Badge after a model's name in a sentence; ``""`` for a base, and for a control whose name contains "control".

    Args:
        name: the name that is shown.
        verdict: on the model.
        score: the deciding task score, of ``score_words``.
    """
    if verdict is None or says_so(name, verdict):
        return Markdown("")
    return Markdown(" ") + filled(BADGES[verdict], score=filled(": {score}", score=score) if score else "")


def score_words(table: pd.DataFrame) -> dict[str, str]:
    """Model -> the task score behind the verdict, such as "F1 10.8 %"; without models that have none.

    Args:
        table: of ``reports.task_success.learned``.
    """
    there = table[table["value"].notna() & table["verdict"].ne("control")]
    return {row.model: f"{row.metric} {amount(row.metric, float(row.value))}" for row in there.itertuples()}


def mark_key(view: Marked, models: Iterable[str]) -> Markdown:
    """One line that explains the marks on these models, for the help of a menu; ``""`` if none has a mark."""
    return _meanings(_marks(view, models))


def marks_once(view: Marked, models: Iterable[str]) -> Markdown:
    """As ``mark_key``, for captions: every mark is explained once per page, below the first figure that has it."""
    new = _marks(view, models) - view.explained
    view.explained.update(new)
    return _meanings(new)


def _marks(view: Marked, models: Iterable[str]) -> set[str]:
    return {MARKS[view.verdicts[model]] for model in models if model in view.verdicts}


def _meanings(signs: set[str]) -> Markdown:
    words = [said for sign, said in _KEY.items() if sign in signs]
    return filled("{words}.", words=joined("; ", words)) if words else Markdown("")


def evidence(view: Marked, models: Iterable[str]) -> Markdown:
    """The task scores behind the verdicts on these models, one per line, as the help text of their badges; ``""`` if there are none."""
    table = view.learned
    rows = table[table["model"].isin(list(models)) & table["value"].notna()]
    return joined("\n", (filled("- {line}", line=_score_in_words(row)) for _, row in rows.iterrows()))


def task_sentence(view: Marked, model: str, name: str = "") -> Markdown:
    """One sentence: the task score behind the verdict on a model, its baseline, a second score if that is below its baseline, and the
    share of the way to the published score.

    Args:
        view: the page's view.
        model: the model.
        name: the model's name in the sentence; with ``""`` the sentence begins with "Its".

    Returns:
        ``""`` if no score is stored.
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
        "{whose} task score is {metric} {interval}, {baseline}{short}{published}.",
        whose=filled("{name}'s", name=name) if name else Markdown("Its"),
        metric=row["metric"],
        interval=_interval(row),
        baseline=baseline,
        short=_short(row),
        published=_published(row),
    )


def task_words(view: Marked, model: str, name: str = "") -> Markdown:
    """``task_sentence``, and the consequence if the model did not learn its task; ``""`` if no score is stored."""
    said = task_sentence(view, model, name)
    verdict = view.verdicts.get(model)
    if verdict not in ("not learned", "partly"):
        return said
    word = (
        Markdown("It learned its task only partly, so these changes are those of a model that does the task badly.")
        if verdict == "partly"
        else Markdown("It did not learn the task that it was trained on, so these changes cannot be attributed to that task.")
    )
    return joined(" ", [said, word]) if said else word


def _score(row: pd.Series, column: str, metric: str = "metric", unit: str = " %") -> Markdown:
    """A share in per cent, or a correlation as a plain number."""
    return Markdown(amount(row[metric], float(row[column]), unit))


def _interval(row: pd.Series) -> Markdown:
    """ "10.8 % (9.2 to 12.6)"."""
    return filled("{value} ({low} to {high})", value=_score(row, "value"), **{end: _score(row, end, unit="") for end in ("low", "high")})


def _short(row: pd.Series) -> Markdown:
    """ "; its task accuracy of 66.1 % is below its baseline of 69.1 % (majority label)"; ``""`` if no second score is below its own."""
    if not row["short_metric"]:
        return Markdown("")
    return filled(
        "; its {metric} of {value} is below its baseline of {baseline} ({which})",
        metric=row["short_metric"],
        which=row["short_baseline_name"],
        **{name: _score(row, f"short_{name}", "short_metric") for name in ("value", "baseline")},
    )


def _published(row: pd.Series) -> Markdown:
    """ "; 8 % of the way from there to the published F1 of 88.5 % (Wallat et al. 2020)"; ``""`` if no score is published.

    The published score may be another one than that of the row, with another baseline.
    """
    if pd.isna(row["closed"]):
        return Markdown("")
    if row["published_metric"] == row["metric"]:
        words = "; {share:.0f} % of the way from there to the published {metric} of {value} ({source})"
    else:
        words = "; in another score, its {metric}, {share:.0f} % of the way from that score's baseline to the published {value} ({source})"
    return filled(
        words,
        share=100 * row["closed"],
        metric=row["published_metric"],
        value=_score(row, "published", "published_metric"),
        source=row["published_source"],
    )


def _score_in_words(row: pd.Series) -> Markdown:
    score = filled(
        "{model}: {metric} {interval} over {n:,}", model=row["model"], metric=row["metric"], interval=_interval(row), n=int(row["n"])
    )
    if pd.isna(row["baseline"]):
        return filled("{score}; no baseline is stored", score=score)
    base = _score(row, "baseline")
    return filled(
        "{score}; {name}: {baseline}{short}{published}",
        score=score,
        name=row["baseline_name"],
        baseline=base,
        short=_short(row),
        published=_published(row),
    )
