"""The layer-curve page's numbers and its parts."""

import pandas as pd
import streamlit as st

from probing.core.metrics import METRICS
from probing.figures.layer_curve import layer_curve, series_name
from probing.reports.precision import METRIC_COLUMNS, WITH_MAJORITY, by_layer
from probing.ui import facts_behind, parts, selection
from probing.ui.chosen_runs import set_name
from probing.ui.drawings import drawing
from probing.ui.page import View
from probing.ui.results import Results
from probing.ui.text import filled

#: Columns of the curve's table.
_POINTS = ["run_id", "model", "head", "probe_set", "layer", "value", "low", "high", "n", "relations", "majority", "swapped", "swapped_n"]
#: Metric -> the rank that it counts.
_RANK = {"p_at_10": 10, "p_at_100": 100}


@st.cache_data(max_entries=64, show_spinner="Averaging …")
def points(
    data_version: str, _results: Results, runs: tuple[tuple[str, str, str, str], ...], metric: str, average: str,
    exposures: tuple[str, ...] | None, in_subject: bool | None,
) -> pd.DataFrame:  # fmt: skip
    """A metric by run and layer with its interval and baselines.

    Args:
        data_version: fingerprint of the data; part of the cache's key.
        runs: (run id, model, head, probe set) of each.
        metric: a key of ``METRICS`` among ``selection.CURVE_METRICS``.
        average: ``macro`` or ``micro``.
        exposures, in_subject: filters; None keeps all.

    Returns:
        One row per run and layer, shares in [0, 1]: ``run_id, model, head, probe_set, layer, value, low, high, n,
        relations, majority, swapped, swapped_n``. A baseline that is not defined is empty.
    """
    return by_layer(_results.database, [run[0] for run in runs], metric, average, exposures, in_subject)[_POINTS]


def controls(view: View) -> None:
    """Metric, average and panels."""
    selection.bound(
        st.segmented_control, "Metric", "metric", view.page, options=list(selection.CURVE_METRICS), required=True, wrap=True,
        format_func=lambda name: METRICS[name].label,
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        selection.bound(
            st.segmented_control, "Mean over", "average", view.page, options=list(selection.AVERAGES), required=True,
            format_func={"macro": "relations (macro)", "micro": "facts (micro)"}.get,
        )  # fmt: skip
        selection.bound(st.toggle, "One panel per probe set", "panels", view.page)


def draw(view: View) -> pd.DataFrame:
    """Draws the curves of the chosen runs; returns their points."""
    chosen, runs = view.chosen, view.overlaid
    key = tuple(runs[["run_id", "model", "head", "probe_set"]].itertuples(index=False, name=None))
    assert view.results is not None
    table = points(view.results.data_version, view.results, key, chosen.metric, chosen.average, view.exposures, view.in_subject)
    metric = METRICS[chosen.metric]
    if table["value"].isna().all():
        st.info("No facts are left under these filters. Loosen exposure or “answer stands in the subject” in the sidebar.")
        return table.iloc[:0]
    names = {name: set_name(name) for name in table["probe_set"].unique()}
    drawn = drawing(
        layer_curve, table, title=f"{metric.label}, {chosen.average}", unit=_unit(metric.unit), colours=view.colours, names=names,
        panels=chosen.panels, controls=view.controls,
    )  # fmt: skip
    filters = f"{metric.label}, {chosen.average}, {view.filter_words()}"
    parts.figure(
        drawn, table=table, stamp=view.stamp(filters, tuple(runs["run_id"])), name="layer-curves",
        caption=_caption(chosen.metric, table), on_point=_remember,
        alt=f"{metric.label} by layer for {', '.join(chosen.models)}",
    )  # fmt: skip
    return table


def _unit(unit: str) -> str:
    return "share" if unit.startswith("share") else unit


def _caption(metric: str, table: pd.DataFrame) -> str:
    words = ["Bands are 95 % intervals."]
    if metric in WITH_MAJORITY:
        words.append("Dashed: always giving the relation's most frequent answer.")
    if METRIC_COLUMNS[metric][2]:
        words.append(swapped_words(table))
    return " ".join([*words, f"{METRICS[metric].definition} Click a point to see its facts."])


def swapped_words(points: pd.DataFrame, line: str = "run_id") -> str:
    """What the dotted lines are, how many facts have one, and where there is none.

    Args:
        points: columns ``n, swapped_n`` of ``reports.precision`` beside the one that tells the lines apart.
        line: name of that column.
    """
    measured = points[points["swapped_n"].notna()]
    if measured.empty:
        return "Swapped subject: not measured here."
    sizes = measured.groupby(line, sort=False)[["n", "swapped_n"]].max().drop_duplicates()
    has = ", ".join(f"{int(with_one):,} of {int(n):,}" for n, with_one in sizes.itertuples(index=False))
    words = (
        "Dotted: the swapped subject, the same facts asked about another subject of the relation that does not have the answer; what "
        f"lies above it comes from the subject. {has} facts have such a subject; the dotted lines count only these."
    )
    missing = points[line].nunique() - measured[line].nunique()
    return f"{words} Not measured for {missing} of the curves." if missing else words


def _remember(point: list) -> None:
    st.session_state["layer_curves.point"] = (str(point[0]), int(point[1]))


def choose_point(view: View, table: pd.DataFrame) -> None:
    """The way from a point to its facts, by a click in the figure or by choosing here."""
    if table.empty:
        return
    runs = table.drop_duplicates("run_id").set_index("run_id")
    names = {run: series_name(row, table, {s: set_name(s) for s in table["probe_set"]}) for run, row in runs.iterrows()}
    run_id, layer = st.session_state.get("layer_curves.point", (None, None))
    run_id = run_id if run_id in names else next(iter(names))
    layers = sorted(table.loc[table["run_id"] == run_id, "layer"])
    layer = layer if layer in layers else layers[-1]
    # Given before they are drawn, so that a click in the figure moves them.
    st.session_state["layer_curves.line"], st.session_state["layer_curves.layer"] = run_id, layer

    def moved() -> None:
        _remember([st.session_state["layer_curves.line"], st.session_state["layer_curves.layer"]])

    with st.container(border=True):
        st.markdown("**The facts behind a point**")
        line, number = st.columns(2)
        line.selectbox("Line", list(names), format_func=names.__getitem__, key="layer_curves.line", on_change=moved)
        number.select_slider("Layer", layers, key="layer_curves.layer", on_change=moved)
        row, k = runs.loc[run_id], _RANK.get(view.chosen.metric, 1)
        here = table[(table["run_id"] == run_id) & (table["layer"] == layer)].iloc[0]
        assert view.results is not None
        hits = view.results.read(
            "count_facts", run_id=run_id, layer_rank=(layer, k), exposures=view.exposures, answer_in_subject=view.in_subject
        )
        st.markdown(filled("**{hits:,}** of {n:,} facts have rank ≤ {k} at layer {layer}.", hits=hits, n=int(here["n"]), k=k, layer=layer))
        run = {name: row[name] for name in ("model", "head", "probe_set")}
        facts_behind.link(view, "Show these facts", **run, at_layer=layer, at_rank=k)
