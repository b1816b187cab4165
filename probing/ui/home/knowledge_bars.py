"""The home page's first figure: what the model knows beyond guessing."""

from collections.abc import Iterable

import pandas as pd
import streamlit as st

from probing.core.stats.baselines import may_be_shown
from probing.figures.knowledge.total_bars import above_bars, total_bars
from probing.figures.shown_runs import set_name
from probing.reports.knowledge.precision import precision
from probing.reports.knowledge.total import in_bar_order, total
from probing.reports.wider import wider
from probing.ui.frame import selection, yardsticks
from probing.ui.frame.page import View
from probing.ui.frame.yardsticks import MODES
from probing.ui.home.selection import HomeSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, filled, joined
from probing.ui.widgets.paper.calls import plot
from probing.ui.widgets.task_marks import marks_once

_CAPTION = (
    "Solid bar and number next to the name: known at the last layer. Hatched: known at some inner layer only. Whiskers: 95 % interval of "
    "the total. A union over many layers grows by chance; the triangle shows where the hatched part would end if inner layers found only "
    "as much as they find with a swapped subject. Circle: the last layer with a swapped subject, on the facts that have one.{diamond} "
    "Vertical mark, if heads were re-trained: the union over as many heads of the last layer, a weaker control."
)
_DIAMOND = " Diamond: always giving the relation's most frequent answer."
#: Yardstick, as in the columns of ``precision`` -> its name and the figure's caption.
_ABOVE = {
    "majority": (
        "majority answer",
        "The last layer's share of facts, minus the share for which the relation's most frequent answer is right. Whiskers: 95 % interval. "
        "The number next to a name is this difference. Below 0 the model is worse than always giving that answer.",
    ),
    "swapped": (
        "swapped subject",
        "On the facts that have a swapped subject: the last layer's share with their own subject, minus the share with the swapped one. "
        "Whiskers: paired 95 % interval. The number next to a name is this difference. Only a value above 0 comes from the subject.",
    ),
}
_ENDS = ("", "_low", "_high")


def totals(view: View) -> pd.DataFrame:
    """Last-layer and total knowledge of the chosen runs with their yardsticks, shares in [0, 1]; one row per run, bases first."""
    table = view.report(total, tuple(view.overlaid["run_id"]), (view.chosen.k,), (view.chosen.average,))
    return in_bar_order(table, view.overlaid)


def draw(view: View) -> None:
    """Draws the headline with its yardsticks, and the bars."""
    view.contents.section("What it knows beyond guessing")
    table = totals(view) if len(view.overlaid) else pd.DataFrame({"total": []})
    if table["total"].isna().all():
        st.info("No facts are left under these filters. Loosen them in the sidebar.")
        return
    above = wider(_beyond(view))[["run_id", *(f"above_{name}{end}" for name in _ABOVE for end in _ENDS)]]
    said, more = headline(view, table.dropna(subset=["total"]).merge(above, on="run_id", how="left").iloc[0])
    answer(said)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        selection.bound(
            st.segmented_control,
            "Show",
            "home_minus",
            view.page,
            options=list(MODES),
            required=True,
            wrap=True,
            label_visibility="collapsed",
            format_func=MODES.__getitem__,
        )
        with st.popover("Options", icon=":material/tune:"):
            selection.known_rank(view.page)
    minus = selection.of(HomeSelection).home_minus
    if minus == "value":
        _whole(view, table)
    else:
        _above(view, minus)
    if more:
        blocks.in_words(more)


def _whole(view: View, table: pd.DataFrame) -> None:
    k = view.chosen.k
    caption = _CAPTION.format(diamond=_DIAMOND if table["majority"].notna().any() else "")
    filters = f"total knowledge, rank ≤ {k}, {view.chosen.average}, {view.filter_words()}"
    blocks.figure(
        drawing(total_bars, table, k=k, colours=view.colours, **_named(view, table)),
        table=table,
        stamp=view.stamp(filters, tuple(table["run_id"])),
        name="total-knowledge",
        caption=with_key(view, caption, table["model"]),
        alt="Total knowledge against the last layer, per probe set and model, with the results of guessing",
        call=plot(
            "total",
            model=list(dict.fromkeys(table["model"])),
            head=list(dict.fromkeys(table["head"])),
            probe_set=list(dict.fromkeys(table["probe_set"])),
            k=k,
            average=view.chosen.average,
            filtered=view.filtered,
        ),
    )


def _above(view: View, minus: str) -> None:
    column, baseline, caption = f"above_{minus}", *_ABOVE[minus]
    k = view.chosen.k
    if minus == "majority" and k != 1:
        st.info("The majority answer is a single answer, so it is a baseline only for rank 1: choose rank 1 under Options.")
        return
    table = _beyond(view)
    order = {run_id: place for place, run_id in enumerate(totals(view)["run_id"])}
    table = table.sort_values("run_id", key=lambda ids: ids.map(order))
    points = table.rename(columns={f"{column}{end}": f"above{end}" for end in _ENDS})
    filters = f"last layer minus {baseline}, rank ≤ {k}, {view.chosen.average}, {view.filter_words()}"
    blocks.figure(
        drawing(above_bars, points, baseline=baseline, colours=view.colours, **_named(view, points)),
        table=table,
        stamp=view.stamp(filters, tuple(view.overlaid["run_id"])),
        name="above-guessing",
        caption=with_key(view, caption, table["model"]),
        alt=f"Last layer minus {baseline}, per probe set and model",
    )


def _beyond(view: View) -> pd.DataFrame:
    """The last layers of the chosen runs with their yardsticks; see ``precision``."""
    return view.report(precision, tuple(view.overlaid["run_id"]), (view.chosen.k,), view.chosen.average, last_only=True)


def with_key(view: View, caption: str, models: Iterable[str]) -> Markdown:
    """A figure's caption, followed by the meaning of the marks on its models."""
    return joined(" ", [part for part in (caption, marks_once(view, models)) if part])


def _named(view: View, table: pd.DataFrame) -> dict[str, dict[str, str]]:
    """The names of probe sets and models in figures."""
    return {
        "names": {name: set_name(name) for name in table["probe_set"]},
        "labels": {model: view.label(model) for model in table["model"]},
    }


def headline(view: View, row: pd.Series) -> tuple[Markdown, Markdown]:
    """What one run knows and its first yardstick; then the other yardsticks. Both may be read alone."""
    k = view.chosen.k
    right = "gives the right word" if k == 1 else f"has the right word among its first {k}"
    mean = yardsticks.averaged(view.chosen.average)
    value = filled(
        "{model} {right} for **{last:.1f} %** of {probe_set} facts{mean}",
        model=view.called(row["model"]),
        right=right,
        last=row["last"] * 100,
        probe_set=set_name(row["probe_set"]),
        mean=mean,
    )
    most = Markdown("")
    if pd.notna(row["majority"]):
        most = filled("; always giving the relation's commonest answer is right for **{most:.1f} %**", most=row["majority"] * 100)
    said, more = [filled("{value}{most}.", value=value, most=most), above_majority_words(row)], [inner_words(row)]
    if pd.notna(row["swapped_last"]):
        swapped = filled(
            "Asked about a swapped subject it still {right} for **{swapped:.1f} %**, compared with {matched:.1f} % for their own "
            "subject on the same facts. {verdict}",
            right="gives that word" if k == 1 else "has that word there",
            swapped=row["swapped_last"] * 100,
            matched=row["matched_last"] * 100,
            verdict=from_subject_words(row),
        )
        (more if most else said).insert(0 if most else 1, swapped)
    elif not may_be_shown(row["n"]):
        said.append(yardsticks.few(row["n"]))
    elif not most:
        said.append(Markdown("Guessing is not measured here, so this number has no yardstick."))
    return joined(" ", [one for one in said if one]), joined(" ", [one for one in more if one])


def above_majority_words(row: pd.Series) -> Markdown:
    """Whether the value is above the majority answer or below it, or neither if the interval contains 0; empty if it is not defined."""
    if pd.isna(row["above_majority"]):
        return Markdown("")
    words = filled("So {words}.", words=_beside_guess(*(row[f"above_majority{end}"] * 100 for end in _ENDS)))
    shown = round(row["last"] * 100, 1) - round(row["majority"] * 100, 1)
    exact = row["above_majority_low"] <= 0 <= row["above_majority_high"] or f"{shown:.1f}" == f"{row['above_majority'] * 100:.1f}"
    return words if exact else joined(" ", [words, Markdown("The difference is taken before rounding.")])


def from_subject_words(row: pd.Series) -> Markdown:
    """How much of the value comes from the subject; empty if no swapped subject is stored."""
    if pd.isna(row["above_swapped"]):
        return Markdown("")
    return filled("So {words}.", words=_from_subject(*(row[f"above_swapped{end}"] * 100 for end in _ENDS)))


def _beside_guess(points: float, low: float, high: float) -> Markdown:
    if low <= 0 <= high:
        return filled(
            "it is **not clearly different** from the commonest answer ({low:+.1f} to {high:+.1f} points, 95 % interval)",
            low=low,
            high=high,
        )
    near, far = sorted((abs(low), abs(high)))
    return filled(
        "it is **{points:.1f} points {side}** the commonest answer (95 % interval {near:.1f} to {far:.1f})",
        points=abs(points),
        side="above" if points > 0 else "below",
        near=near,
        far=far,
    )


def _from_subject(points: float, low: float, high: float) -> Markdown:
    """How much of the run's share comes from the subject."""
    if low <= 0:
        return filled("none of it clearly comes from the subject ({low:+.1f} to {high:+.1f} points, 95 % interval)", low=low, high=high)
    return filled(
        "**{points:.1f} points** of its share come from the subject (95 % interval {low:.1f} to {high:.1f})",
        points=points,
        low=low,
        high=high,
    )


def inner_words(row: pd.Series) -> Markdown:
    """The gain of inner layers compared with its null, in words."""
    if pd.isna(row["inner_n"]) or not int(row["inner_n"]):
        if pd.isna(row["intermediate"]):
            return Markdown("")
        return filled(
            "Some layer has it for {total:.1f} %. A union over layers grows by chance; no swapped subject is stored to show by how much.",
            total=row["total"] * 100,
        )
    own, swapped, n = int(row["inner_own"]), int(row["inner_swapped"]), int(row["inner_n"])
    return filled(
        "Of all facts that the last layer misses with both their own and the swapped subject, some inner layer finds **{own:.1f} %** with "
        "their own subject and {swapped:.1f} % with the swapped one: {verdict}.",
        own=own / n * 100,
        swapped=swapped / n * 100,
        verdict=_verdict(own, swapped, row["inner_p"]),
    )


def _verdict(own: int, swapped: int, p: float) -> str:
    """How much of the inner layers' gain comes from the subject."""
    if own <= swapped:
        return "none of this gain comes from the subject"
    unsure = "" if p < 0.05 else ", which may be chance"
    return f"about {100 * (own - swapped) / own:.0f} % of the gain comes from the subject{unsure}"
