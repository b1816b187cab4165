"""The layer-curve page's numbers and its parts."""

import re

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from probing.core.facts.fact import PROBE_SETS
from probing.core.metrics import METRICS
from probing.figures.knowledge.layer_curve import metric_curve, series_name
from probing.figures.shown_runs import set_name
from probing.figures.yardsticks import MODES
from probing.reports.knowledge.precision import METRIC_COLUMNS, WITH_CHANCE, WITH_MAJORITY, by_layer
from probing.store.knowledge.fact_queries import count_facts
from probing.ui.curves.selection import METRICS as SHOWN
from probing.ui.curves.selection import CurvesSelection
from probing.ui.frame import count_messages, facts_link, selection, yardsticks
from probing.ui.frame.page import View
from probing.ui.widgets import blocks, cards
from probing.ui.widgets.captions import above_words, majority_words, swapped_words
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, filled, joined
from probing.ui.widgets.paper.calls import plot
from probing.ui.widgets.task_marks import marks_once

#: Metric -> the rank that it counts.
_RANK = {"p_at_10": 10, "p_at_100": 100}
#: Metric -> what a model does for a share of facts, in words.
_DOES = {
    "p_at_1": "gives the right word for",
    "p_at_10": "has the right word among its first 10 for",
    "p_at_100": "has the right word among its first 100 for",
    "answer_p_at_1": "ranks the right word first among its relation's answers for",
}


_WHAT = (
    "A sentence with a gap goes into the model once. At every layer a decoding head turns the hidden state at the gap into a "
    "ranking of the whole vocabulary. The curve shows for how many facts the right word ranks first."
)


def draw(view: View) -> None:
    """What the first of the chosen models reaches, the curves, and the facts behind a point."""
    said, options = st.container(), st.popover("Options", icon=":material/tune:")
    with options:
        _controls(view)
    table = _points(view)
    if table.empty:
        view.introduce()
        return
    first = table[table["run_id"] == _first_run(view, table)]
    sentence, more = _headline(view, first, several_heads=table["head"].nunique() > 1)
    with said:
        answer(sentence)
        yardsticks.say_size(table)
    _figure(view, table, options)
    view.introduce()
    metric = selection.of(CurvesSelection).metric
    if metric in _DOES:
        cards.draw(cards.of_shares(first, METRICS[metric].label))
    blocks.in_words(Markdown(_WHAT), more)
    _choose_point(view, table)


def _controls(view: View) -> None:
    """Metric and panels."""
    selection.bound(
        st.segmented_control,
        "Metric",
        "metric",
        view.page,
        options=list(SHOWN),
        required=True,
        wrap=True,
        format_func=lambda name: METRICS[name].label,
    )
    apart = _apart(view)
    why = "Always, if facts of your own are shown next to others: the wide bands of few facts would cover them." if apart else None
    selection.bound(st.toggle, "One panel per probe set", "panels", view.page, value=apart or None, disabled=apart, help=why)


def _apart(view: View) -> bool:
    """Whether a probe set of the user's own is shown next to others."""
    sets = view.chosen.probe_sets
    return len(sets) > 1 and any(name not in PROBE_SETS for name in sets)


def _points(view: View) -> pd.DataFrame:
    """The chosen metric of the chosen runs by layer; no rows, and a message, if no facts are left."""
    own = selection.of(CurvesSelection)
    table = view.report(by_layer, tuple(view.overlaid["run_id"]), own.metric, view.chosen.average)
    if table["value"].isna().all():
        st.info("No facts are left under these filters. Loosen them in the sidebar.")
        return table.iloc[:0]
    return table.drop(columns="seed")


def _first_run(view: View, table: pd.DataFrame) -> str:
    """The run that is first in the order of what was chosen."""
    runs, chosen = table.drop_duplicates("run_id"), view.chosen
    fields = (("probe_set", chosen.probe_sets), ("model", chosen.models), ("head", chosen.heads))
    places = [tuple(order.index(row[field]) for field, order in fields) for row in runs.to_dict("records")]
    return str(runs["run_id"].iloc[places.index(min(places))])


def _headline(view: View, first: pd.DataFrame, several_heads: bool) -> tuple[Markdown, Markdown]:
    """What a run reaches at its last layer, and its yardsticks."""
    row, metric = first.sort_values("layer").iloc[-1], selection.of(CurvesSelection).metric
    head = filled(", read by the {head} head,", head=row["head"]) if several_heads else ""
    mean = yardsticks.averaged(view.chosen.average, int(row["relations"]))
    where = {"head": head, "who": view.called(row["model"]), "layer": int(row["layer"]), "set": set_name(row["probe_set"]), "mean": mean}
    if metric not in _DOES:
        said = filled(
            "At its last layer, {layer}, {who}{head} has {metric} **{value:.3f}** on the {n:,} facts of {set}{mean}.",
            **where,
            n=int(row["n"]),
            metric=METRICS[metric].label,
            value=row["value"],
        )
        return said, Markdown("")
    said = filled(
        "At its last layer, {layer}, {who}{head} {does} **{value:.1f} %** of the {n:,} facts of {set}{mean}.",
        **where,
        n=int(row["n"]),
        does=_DOES[metric],
        value=row["value"] * 100,
    )
    named, average = yardsticks.again(view, row["model"]), view.chosen.average
    majority, more = yardsticks.majority_and_rest(row.to_dict(), named, majority=metric in WITH_MAJORITY, average=average)
    return joined(" ", [one for one in (said, majority) if one]), more


def _figure(view: View, table: pd.DataFrame, options: DeltaGenerator) -> None:
    """Draws the curves, and among the options the yardstick to subtract."""
    chosen, own, metric = view.chosen, selection.of(CurvesSelection), METRICS[selection.of(CurvesSelection).metric]
    why = yardsticks.undefined(table, majority=own.metric in WITH_MAJORITY, swapped=METRIC_COLUMNS[own.metric][2] is not None)
    with options:
        mode = yardsticks.choose(view, "minus", why)
    minus = f" minus {MODES[mode]}" if mode != "value" else ""
    drawn = drawing(
        metric_curve,
        table,
        metric=own.metric,
        average=chosen.average,
        mode=mode,
        colours=view.colours,
        labels=yardsticks.labels(view),
        panels=own.panels or _apart(view),
        controls=view.controls,
    )
    filters = f"{metric.label}{minus}, {chosen.average}, {view.filter_words()}"
    blocks.figure(
        drawn,
        table=table,
        stamp=view.stamp(filters, tuple(table["run_id"].unique())),
        name="layer-curves",
        caption=f"{_caption(own.metric, table, mode)} {marks_once(view, table['model'].unique())}".rstrip(),
        on_point=_remember,
        call=_call(view, table, own.metric) if mode == "value" else "",
        alt=f"{metric.label}{minus} by layer for {', '.join(map(view.label, chosen.models))}",
    )


def _call(view: View, table: pd.DataFrame, metric: str) -> str:
    """The call that draws the curves; only those of P@k have one."""
    found = re.fullmatch(r"p_at_(\d+)", metric)
    if not found:
        return ""
    chosen = {name: list(dict.fromkeys(table[name])) for name in ("model", "head", "probe_set")}
    return plot("curve", **chosen, k=int(found[1]), average=view.chosen.average, filtered=view.filtered)


def _caption(metric: str, table: pd.DataFrame, mode: str) -> str:
    words = ["Bands are 95 % intervals."]
    if mode != "value":
        words.append(above_words(table, mode))
    else:
        words.append(majority_words(table).rstrip())
        if metric in WITH_CHANCE and table["chance"].notna().any():
            words.append("Grey, dashes and dots: one of the relation's answers by chance.")
        if METRIC_COLUMNS[metric][2]:
            words.append(swapped_words(table))
    words.append(f"{METRICS[metric].definition} Click a point to see its facts.")
    return " ".join(word for word in words if word)


def _remember(point: list) -> None:
    selection.update(point_run=str(point[0]), point_layer=int(point[1]))


def _choose_point(view: View, table: pd.DataFrame) -> None:
    """Leads from a point to its facts; a click in the figure, the menus here, or the page's link choose the point."""
    runs, own = table.drop_duplicates("run_id").set_index("run_id", drop=False), selection.of(CurvesSelection)
    sets = {name: set_name(name) for name in table["probe_set"]}
    names = {run: series_name(row, table, sets, yardsticks.labels(view)) for run, row in runs.iterrows()}
    run_id = own.point_run if own.point_run in names else _first_run(view, table)
    layers = sorted(table.loc[table["run_id"] == run_id, "layer"])
    layer = int(own.point_layer if own.point_layer in layers else layers[-1])  # type: ignore[arg-type]
    with st.container(border=True):
        st.markdown("**The facts behind a point**")
        line, number = st.columns(2)
        with line:
            selection.bound(st.selectbox, "Line", "point_run", view.page, value=run_id, options=list(names), format_func=names.__getitem__)
        with number:
            selection.bound(st.select_slider, "Layer", "point_layer", view.page, value=layer, options=layers)
        if count_messages.say(view, view.runs.set_index("run_id", drop=False).loc[run_id]):
            return
        row, k = runs.loc[run_id], _RANK.get(own.metric, 1)
        here = table[(table["run_id"] == run_id) & (table["layer"] == layer)].iloc[0]
        hits = view.read(count_facts, run_id, layer_rank=(layer, k), exposures=view.exposures, answer_in_subject=view.in_subject)
        said = filled(
            "**{hits:,}** of {n:,} facts have rank ≤ {k} at layer {layer} (micro).", hits=hits, n=int(here["n"]), k=k, layer=layer
        )
        micro = _over_facts(view, run_id, layer, k)
        st.markdown(joined(" ", [said, yardsticks.beside(micro, view.called(row["model"]), majority=k == 1)]))
        run = {name: row[name] for name in ("model", "head", "probe_set")}
        facts_link.link(view, "Show these facts", **run, at_layer=layer, at_rank=k)


def _over_facts(view: View, run_id: str, layer: int, k: int) -> dict:
    """The yardsticks of a count of facts, which is never a mean over relations."""
    table = view.report(by_layer, (run_id,), f"p_at_{k}", "micro")
    return table[table["layer"] == layer].iloc[0].to_dict()
