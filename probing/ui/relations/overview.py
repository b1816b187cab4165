"""The relations page: the map of relations and layers, and the curves of a few."""

import pandas as pd
import streamlit as st

from probing.core.knowledge.onset import half_of_them_by
from probing.core.knowledge.shares import hits_of
from probing.figures.knowledge.relation_curves import MOST_LINES, relation_curves
from probing.figures.knowledge.relation_map import ORDERS, relation_map, row_facts
from probing.reports.knowledge.precision import precision_by_relation
from probing.reports.runs import pairs
from probing.store.run_queries import runs as all_runs
from probing.ui.frame import facts_link, selection
from probing.ui.frame.page import View, run_of
from probing.ui.frame.run_choice import set_name
from probing.ui.relations.selection import RelationsSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.captions import swapped_words
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import count, filled, listing

#: Relations of the paper's Figure 3 that a reader knows: member of, diplomatic relation, official language.
_FIGURE_3 = ("P463", "P530", "P37")
_NO_FACTS = "No facts are left under these filters. Loosen exposure or “answer stands in the subject” in the sidebar."


def base_run(view: View) -> pd.Series | None:
    """The run of the chosen model's base that asked the same prompts through the same head; None where there is none."""
    # Among all runs: a base may have been asked in the run's templates before it was asked in others.
    stored = view.read(all_runs)
    stored = stored[stored["role"] == "primary"].sort_values("created", ascending=False, na_position="last", kind="stable")
    together = pairs(stored)
    mine = together[together["run_id"] == run_of(view)["run_id"]]
    return stored.set_index("run_id", drop=False).loc[mine["base_run_id"].iloc[0]] if len(mine) else None


def controls(view: View) -> None:
    """Rank, order of rows, and whether the base is taken off."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        selection.bound(
            st.segmented_control, "A fact counts as known with rank", "k", view.page, options=list(selection.RANKS), required=True,
            format_func=lambda k: "1" if k == 1 else f"≤ {k}",
        )  # fmt: skip
        selection.bound(st.selectbox, "Rows", "row_order", view.page, options=list(ORDERS), format_func=ORDERS.__getitem__, width=270)
        if (base := base_run(view)) is not None:
            selection.bound(st.toggle, filled("Difference to {model}", model=base["model"]), "against_base", view.page)


def points_of(view: View) -> pd.DataFrame:
    """P@k by relation and layer of the chosen run; with ``base_value`` where the base is taken off."""
    run, base = run_of(view), base_run(view)
    points = view.report(precision_by_relation, (run["run_id"],), view.chosen.k)
    if base is None or not selection.of(RelationsSelection).against_base:
        return points
    other = view.report(precision_by_relation, (base["run_id"],), view.chosen.k)
    return points.merge(other[["relation", "layer", "value"]].rename(columns={"value": "base_value"}), on=["relation", "layer"], how="left")


def words(view: View) -> str:
    """What is shown, for stamps."""
    chosen = view.chosen
    return f"P@{chosen.k}, {chosen.model} {chosen.head}, {set_name(chosen.probe_set)}, {view.filter_words()}"


def draw_map(view: View, points: pd.DataFrame) -> None:
    """The heat map; a click on a cell opens its facts, and so does a link below it."""
    if points["value"].isna().all():
        st.info(_NO_FACTS, icon=":material/filter_alt_off:")
        return
    chosen, run = view.chosen, run_of(view)
    base = run["base"] if "base_value" in points else ""
    rows = row_facts(points)
    early = rows.dropna(subset=["onset"])
    if len(early) > 1:
        half = half_of_them_by([int(layer) for layer in early["onset"]])
        st.markdown(
            filled(
                "**{early}** of {relations} have a right answer at the last layer. Half of them have reached half of that by "
                "**layer {half}** of {layers}.",
                early=len(early),
                relations=count(len(rows), "relation"),
                half=half,
                layers=int(points["layer"].max()),
            )
        )
    blocks.figure(
        drawing(relation_map, points, k=chosen.k, order=selection.of(RelationsSelection).row_order, base=base), table=points,
        stamp=view.stamp(words(view) + (f", difference to {base}" if base else ""), (run["run_id"],)), name="relation-map",
        caption="A row is a relation, a column a layer; the stronger the blue, the more facts are known"
        + (filled(" than {base} knows there; orange: fewer", base=base) if base else "")
        + ". “Earliest first”: by the first layer with half of what the last layer knows. Click a cell to open its facts.",
        alt=f"P@{chosen.k} by relation and layer of {chosen.model}",
        on_point=lambda point: facts_link.go(view, relation=str(point[0]), at_layer=int(point[1]), at_rank=chosen.k),
    )  # fmt: skip
    _by_hand(view, points)


def _by_hand(view: View, points: pd.DataFrame) -> None:
    """A cell chosen without a mouse."""
    rows, layers = points.drop_duplicates("relation"), sorted(int(layer) for layer in points["layer"].unique())
    labels = dict(zip(rows["relation"], rows["label"], strict=True))
    with st.container(border=True), st.container(horizontal=True, vertical_alignment="bottom"):
        relation = st.selectbox("Facts of", sorted(labels, key=lambda name: labels[name]), format_func=labels.__getitem__, width=260)
        layer = st.selectbox("known at layer", layers, index=len(layers) - 1, width=140)
        cell = points[(points["relation"] == relation) & (points["layer"] == layer)]
        if len(cell) and pd.notna(cell["value"].iloc[0]):
            n = int(cell["n"].iloc[0])
            hits = hits_of(float(cell["value"].iloc[0]), n)
            facts_link.link(
                view, filled("Open {hits:,} of {n:,} facts", hits=hits, n=n), relation=relation, at_layer=layer, at_rank=view.chosen.k
            )


def draw_curves(view: View, points: pd.DataFrame) -> None:
    """The curves of some relations, with their baselines."""
    points = points.dropna(subset=["value"])
    if points.empty:
        return
    view.contents.section("Some relations through the layers")
    rows = points.sort_values("label").drop_duplicates("relation")
    labels = {row.relation: f"{row.label} ({row.cardinality})" if row.cardinality else str(row.label) for row in rows.itertuples()}
    shown = [name for name in selection.of(RelationsSelection).relations if name in labels][:MOST_LINES] or _telling(points)
    selection.bound(
        st.multiselect, "Relations", "relations", view.page, value=tuple(shown), options=list(labels), format_func=labels.__getitem__,
        max_selections=MOST_LINES,
    )  # fmt: skip
    if beyond := [labels[name] for name in selection.of(RelationsSelection).relations if name in labels][MOST_LINES:]:
        st.info(
            filled("At most {most} relations are drawn, so left aside: {names}", most=MOST_LINES, names=listing(beyond)),
            icon=":material/link_off:",
        )
    mine = points[points["relation"].isin(shown)]
    mine = mine.assign(_place=mine["relation"].map(shown.index)).sort_values(["_place", "layer"]).drop(columns="_place")
    blocks.figure(
        drawing(relation_curves, mine, k=view.chosen.k), table=mine,
        stamp=view.stamp(f"{words(view)}, {', '.join(shown)}", (run_of(view)["run_id"],)), name="relation-curves",
        caption="Bands are 95 % intervals (Wilson). Dashed: always giving the relation's most frequent answer. "
        f"{swapped_words(mine, 'relation')} Click a point to open its facts.",
        alt=f"P@{view.chosen.k} by layer of {', '.join(shown)}",
        on_point=lambda point: facts_link.go(view, relation=str(point[0]), at_layer=int(point[1]), at_rank=view.chosen.k),
    )  # fmt: skip


def _telling(points: pd.DataFrame) -> list[str]:
    """The paper's three relations where they are stored, else those with the most facts."""
    there = [name for name in _FIGURE_3 if name in set(points["relation"])]
    by_size = points.groupby("relation")["n"].max().sort_values(ascending=False, kind="stable")
    return (there + [name for name in by_size.index if name not in there])[:3]
