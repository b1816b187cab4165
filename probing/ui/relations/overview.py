"""The relations page: the map of relations and layers, and the curves of a few."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.knowledge.shares import hits_of
from probing.figures.knowledge.relation_curves import MAX_LINES, relation_curves
from probing.figures.knowledge.relation_map import MARK, ORDERS, not_above_majority, relation_map, row_facts
from probing.figures.shown_runs import set_name
from probing.figures.yardsticks import MODES, above
from probing.reports.knowledge.precision import by_layer, precision_by_relation
from probing.reports.runs import pairs
from probing.store.run_queries import runs as all_runs
from probing.ui.frame import facts_link, selection, yardsticks
from probing.ui.frame.page import View, run_of
from probing.ui.relations.against_base import fewer
from probing.ui.relations.selection import RelationsSelection
from probing.ui.widgets import blocks, cards
from probing.ui.widgets.captions import above_words, majority_words, swapped_words
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, count, filled, joined, listing
from probing.ui.widgets.paper.calls import plot

#: Familiar relations of the paper's Figure 3: member of, diplomatic relation, official language.
_FIGURE_3 = ("P463", "P530", "P37")
_NO_FACTS = "No facts are left under these filters. Loosen them in the sidebar."


def base_run(view: View) -> pd.Series | None:
    """The run of the chosen model's base with the same prompts and the same kind of head; None if there is none."""
    # All stored runs are searched: the base's newest run may use other templates than the chosen run.
    stored = view.read(all_runs)
    stored = stored[stored["role"] == "primary"].sort_values("created", ascending=False, na_position="last", kind="stable")
    together = pairs(stored)
    run_pairs = together[together["run_id"] == run_of(view)["run_id"]]
    return stored.set_index("run_id", drop=False).loc[run_pairs["base_run_id"].iloc[0]] if len(run_pairs) else None


_WHAT = (
    "A relation is a kind of fact: *capital of*, *place of birth*. Heads may predict its facts from the middle layers on, or only at the "
    "last layer. The paper calls a relation forgotten if it is known **better at an inner layer than at the last**. That compares layers "
    "of one model. What fine-tuning cost is the loss against the base, which is given next to it."
)


def draw(view: View) -> tuple[pd.DataFrame, str]:
    """Draws the sentence, the map and its cards; returns the points, see ``_points``, and the mode that is shown."""
    said = st.container()
    with st.popover("Options", icon=":material/tune:"):
        _controls(view)
        points, mode = _points(view)
    sentence, more = Markdown(""), Markdown("")
    whole = None if points["value"].isna().all() else _whole(view)
    if whole is not None:
        sentence, more = _headline(view, points, whole.iloc[-1].to_dict())
        sentence = joined(" ", [one for one in (sentence, fewer(view, points, base_run(view))) if one])
        with said:
            answer(sentence)
            yardsticks.say_size(pd.DataFrame({"n": [points.groupby("relation")["n"].max().sum()]}), view.chosen.probe_set)
    _draw_map(view, points, mode)
    view.introduce()
    if whole is not None:
        cards.draw(cards.of_shares(whole, f"P@{view.chosen.k}, {view.chosen.average}"))
    blocks.in_words(Markdown(_WHAT), more)
    return points, mode


def _whole(view: View) -> pd.DataFrame:
    """The chosen run's P@k by layer; see ``by_layer``."""
    return view.report(by_layer, (run_of(view)["run_id"],), f"p_at_{view.chosen.k}", view.chosen.average).sort_values("layer")


def _controls(view: View) -> None:
    """Rank, order of rows, and whether the base is subtracted."""
    with st.container(gap="small"):
        selection.known_rank(view.page)
        selection.bound(st.selectbox, "Rows", "row_order", view.page, options=list(ORDERS), format_func=ORDERS.__getitem__, width=270)
        if (base := base_run(view)) is not None:
            selection.bound(st.toggle, filled("Difference to {model}", model=view.called(base["model"])), "against_base", view.page)


def _points(view: View) -> tuple[pd.DataFrame, str]:
    """P@k by relation and layer of the chosen run, with ``base_value`` if the base is subtracted; and the mode that is shown."""
    run, base, k = run_of(view), base_run(view), view.chosen.k
    points = view.report(precision_by_relation, (run["run_id"],), k)
    if points["value"].isna().all():
        return points, "value"
    mode = yardsticks.choose(view, "map_minus", yardsticks.undefined(points, majority=k == 1))
    if base is None or not selection.of(RelationsSelection).against_base:
        return points, mode
    other = above(view.report(precision_by_relation, (base["run_id"],), k), mode)[["relation", "layer", "value"]]
    return points.merge(other.rename(columns={"value": "base_value"}), on=["relation", "layer"], how="left"), mode


def words(view: View, mode: str) -> str:
    """What is shown, for stamps."""
    chosen, minus = view.chosen, f" minus {MODES[mode]}" if MODES[mode] else ""
    return f"P@{chosen.k}{minus}, {view.label(chosen.model)} {chosen.head}, {set_name(chosen.probe_set)}, {view.filter_words()}"


def _headline(view: View, points: pd.DataFrame, row: Mapping[str, Any]) -> tuple[Markdown, Markdown]:
    """How many relations come early and late, and how many beat their yardstick; then what the last layer knows, and more yardsticks."""
    chosen, who = view.chosen, view.called(view.chosen.model)
    value = filled(
        "At its last layer {who} {does} **{value:.1f} %** of the facts of {set}{mean}.",
        who=who,
        does="gives the right word for" if chosen.k == 1 else f"has the right word among its first {chosen.k} for",
        value=row["value"] * 100,
        set=set_name(chosen.probe_set),
        mean=yardsticks.averaged(chosen.average, int(row["relations"])),
    )
    majority, rest = yardsticks.majority_and_rest(row, who, majority=chosen.k == 1, average=chosen.average)
    beaten = not_above_majority(points)
    onsets, below = _onsets(view, points, beaten), _below_majority(points, beaten)
    if not onsets:
        return joined(" ", [one for one in (value, majority) if one]), joined(" ", [one for one in (rest, below) if one])
    # Where the majority answer is not defined, the sentence on relations has no yardstick.
    said = [onsets] if majority else [onsets, value]
    return joined(" ", said), joined(" ", [one for one in (value if majority else None, majority, rest, below) if one])


def _below_majority(points: pd.DataFrame, beaten: Sequence[str]) -> Markdown:
    """The relations whose last layer is not above the majority answer; empty if there are none, or it is not defined."""
    if not beaten:
        return Markdown("")
    labels = dict(zip(points["relation"], points["label"], strict=True))
    return filled(
        "Not above the majority answer by the 95 % interval, marked {mark}: {names}.",
        mark=MARK,
        names=listing([labels[name] for name in beaten], 4),
    )


def _onsets(view: View, points: pd.DataFrame, beaten: Sequence[str]) -> Markdown:
    """How many relations are half known by the middle layer, and how many only at the last; empty if nothing is known.

    Where the majority answer is defined, only relations that are above it count: others may be guessed.
    """
    last, early = int(points["layer"].max()), row_facts(points[~points["relation"].isin(beaten)]).dropna(subset=["onset"])
    if early.empty or last < 2:
        return Markdown("")
    guessed = points["above_majority_low"].notna().any()
    first = filled(
        "The last layer of {who} {knows} of {all}. Of these, **{early} come early**: the middle layer, {middle}, already knows at least "
        "half as many.",
        who=view.called(view.chosen.model),
        knows=filled("is above the relation's commonest answer in **{n}**", n=len(early))
        if guessed
        else filled("knows facts in **{n}**", n=len(early)),
        all=count(points["relation"].nunique(), "relation"),
        early=int((early["onset"] <= last // 2).sum()),
        middle=last // 2,
    )
    late = int((early["onset"] == last).sum())
    second = (
        filled("**{late} come late**: no layer before the last, {last}, knows half as many.", late=late, last=last)
        if late
        else Markdown("**None comes late**, with less than half until the last layer.")
    )
    return joined(" ", [first, second])


def _draw_map(view: View, points: pd.DataFrame, mode: str) -> None:
    """The heat map; a click on a cell, or the link below the map, opens the cell's facts."""
    if points["value"].isna().all():
        st.info(_NO_FACTS, icon=":material/filter_alt_off:")
        return
    chosen, run = view.chosen, run_of(view)
    base = view.label(run["base"]) if "base_value" in points else ""
    blocks.figure(
        drawing(relation_map, points, k=chosen.k, order=selection.of(RelationsSelection).row_order, base=base, mode=mode),
        table=points,
        stamp=view.stamp(words(view, mode) + (f", difference to {base}" if base else ""), (run["run_id"],)),
        name="relation-map",
        caption=_map_caption(points, mode, base),
        alt=f"P@{chosen.k} by relation and layer of {view.label(chosen.model)}",
        call=""
        if mode != "value" or base
        else plot("forgotten", model=run["model"], head=run["head"], probe_set=run["probe_set"], k=chosen.k, filtered=view.filtered),
        on_point=lambda point: facts_link.go(view, relation=str(point[0]), at_layer=int(point[1]), at_rank=chosen.k),
    )
    _by_hand(view, points)


def _map_caption(points: pd.DataFrame, mode: str, base: str) -> str:
    said = ["One row per relation, one column per layer."]
    of = f"more facts than {base}" if base else f"more facts than the {MODES[mode]} gives" if MODES[mode] else ""
    said.append(f"Blue: {of}; orange: fewer." if of else "The stronger the blue, the more facts are known.")
    if mode == "swapped":
        last = points[points["layer"] == points["layer"].max()]
        said.append(f"Only the {int(last['swapped_n'].sum()):,} of {int(last['n'].sum()):,} facts that have a swapped subject count.")
    if points["majority"].notna().any():
        said.append(f"{MARK}: the last layer is not above always giving the relation's most frequent answer, by the 95 % interval.")
    said.append("“Earliest first” sorts by the first layer with half of what the last layer knows.")
    return " ".join([*said, "Point at a cell for its numbers and baselines; click it to open its facts."])


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


def draw_curves(view: View, points: pd.DataFrame, mode: str) -> None:
    """The curves of some relations, with their baselines."""
    points = points.dropna(subset=["value"])
    if points.empty:
        return
    view.contents.section("Some relations through the layers")
    rows = points.sort_values("label").drop_duplicates("relation")
    cardinality = rows["cardinality"].fillna("")
    labels = dict(zip(rows["relation"], rows["label"] + cardinality.map(lambda one: f" ({one})" if one else ""), strict=True))
    shown = [name for name in selection.of(RelationsSelection).relations if name in labels][:MAX_LINES] or _telling(points)
    selection.bound(
        st.multiselect,
        "Relations",
        "relations",
        view.page,
        value=tuple(shown),
        options=list(labels),
        format_func=labels.__getitem__,
        max_selections=MAX_LINES,
    )
    if beyond := [labels[name] for name in selection.of(RelationsSelection).relations if name in labels][MAX_LINES:]:
        st.info(
            filled("At most {most} relations are drawn. Ignored: {names}", most=MAX_LINES, names=listing(beyond)),
            icon=":material/link_off:",
        )
    drawn = points[points["relation"].isin(shown)]
    drawn = drawn.assign(_place=drawn["relation"].map(shown.index)).sort_values(["_place", "layer"]).drop(columns="_place")
    said = f"{majority_words(drawn)}{swapped_words(drawn, 'relation')}" if mode == "value" else above_words(drawn, mode, "relation")
    blocks.figure(
        drawing(relation_curves, above(drawn, mode), k=view.chosen.k),
        table=drawn,
        stamp=view.stamp(f"{words(view, mode)}, {', '.join(shown)}", (run_of(view)["run_id"],)),
        name="relation-curves",
        caption=f"Bands are 95 % intervals. {said} Click a point to open its facts.",
        alt=f"P@{view.chosen.k} by layer of {', '.join(shown)}",
        on_point=lambda point: facts_link.go(view, relation=str(point[0]), at_layer=int(point[1]), at_rank=view.chosen.k),
    )


def _telling(points: pd.DataFrame) -> list[str]:
    """The paper's three relations if they are stored, else those with the most facts."""
    there = [name for name in _FIGURE_3 if name in set(points["relation"])]
    by_size = points.groupby("relation")["n"].max().sort_values(ascending=False, kind="stable")
    return (there + [name for name in by_size.index if name not in there])[:3]
