"""Figures 1 to 18 of BERTnesia, drawn with our numbers."""

import pandas as pd
import streamlit as st

from probing.facts.figures import OVER, layer_curve, total_bars
from probing.facts.figures_relations import relation_curves
from probing.facts.published import PublishedFigure
from probing.facts.report_layers import precision, precision_by_relation
from probing.finetuning.objectives import BASE
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.selection import link
from probing.kernel.app.texts import filled
from probing.kernel.figures.looks import set_name
from probing.kernel.report import shown_baselines
from probing.papers.bertnesia import OTHER_FACTS, beside, shown_set
from probing.papers.page_figures_shown import PaperView, titled
from probing.terms import METRICS

_BARS = "Solid: right at the last layer. Hatched: right at some inner layer only. White marks: what guessing gives."
_LAYERS = "Right answers by layer, mean over relations (macro), as the paper's curves are. Bands are 95 % intervals."
_RELATIONS = (
    "Right first answers of the relations that the paper names. Bands are 95 % intervals; dashed: the commonest answer."
)
_HOW = (
    "Bars count facts (micro), as the authors' code does; the number next to a name is that of the last layer. Guessing"
    " is the commonest answer of the relation, and asking with somebody else's name (swapped subject) if that is"
    " measured. ConceptNet and SQuAD are not shipped: our own sentences stand in their place and are not the same"
    " facts."
)


def titles(paper_view: PaperView) -> dict[str, str]:
    return {str(figure.number): f"Figure {figure.number}: {figure.title}" for figure in paper_view.numbers.figures}


def panels(paper_view: PaperView, number: str) -> dict[str, str]:
    """A figure's probe sets, the paper's own first, then by size; none for relations, and lines of one model."""
    figure = paper_view.numbers.figure(int(number))
    if paper_view.about is None or figure.kind == "relations" or (figure.kind == "layers" and len(figure.models) == 1):
        return {}
    paper, runs = paper_view.numbers, paper_view.about.runs

    def place(theirs: str) -> tuple[bool, int]:
        published = paper.probe_set(theirs)
        return beside(published, runs) == OTHER_FACTS, -published.instances

    sets = {theirs: ours for theirs, ours in _sets(paper_view, figure).items() if runs["probe_set"].eq(ours).any()}
    return {sets[theirs]: set_name(sets[theirs]) for theirs in sorted(sets, key=place)}


def _sets(paper_view: PaperView, figure: PublishedFigure) -> dict[str, str]:
    """Probe set of the paper -> the one shown for it."""
    return {name: shown_set(paper_view.numbers.probe_set(name), paper_view.about.runs) for name in figure.probe_sets}


def draw(paper_view: PaperView, number: str, panel: str) -> None:
    if paper_view.about is None or paper_view.about.runs.empty:
        st.caption("Nothing of ours is stored, so nothing is drawn.")
        return
    figure = paper_view.numbers.figure(int(number))
    sets = [ours for ours in _sets(paper_view, figure).values() if panel in ("", ours)]
    objectives = [paper_view.numbers.objective(name) for name in figure.models]
    if figure.kind == "bars":
        _bars(paper_view, figure, objectives, sets, panel)
    elif figure.kind == "relations":
        _relations(paper_view, figure)
    else:
        for k in figure.ranks:
            _layers(paper_view, figure, objectives, sets, panel, k)
    there = paper_view.about.family.members
    if missing := [name for name, objective in zip(figure.models, objectives, strict=True) if objective not in there]:
        st.caption(filled("Not among our models, so not drawn: {names}.", names=", ".join(missing)))


def _chosen(frame: pd.DataFrame, objectives: list[str], sets: list[str], **equal) -> pd.DataFrame:
    """Rows of the figure, in the paper's order of probe sets and models."""
    chosen = frame["objective"].isin(objectives) & frame["probe_set"].isin(sets)
    for column, value in equal.items():
        chosen &= frame[column] == value
    order = frame[chosen].assign(
        _set=frame["probe_set"].map(_place(sets)), _model=frame["objective"].map(_place(objectives))
    )
    return order.sort_values(["_set", "_model"], kind="stable").drop(columns=["_set", "_model"]).reset_index(drop=True)


def _place(names: list[str]) -> dict[str, int]:
    return {name: n for n, name in enumerate(names)}


def _labels(paper_view: PaperView) -> dict[str, str]:
    return {model: paper_view.view.label(model) for model in paper_view.about.family.models}


def _bars(paper_view: PaperView, figure: PublishedFigure, objectives: list[str], sets: list[str], panel: str) -> None:
    table = shown_baselines(_chosen(paper_view.about.total, objectives, sets, k=1, average="micro"))
    table = table.rename(columns={"last_layer": "last", "intermediate_share": "intermediate"})
    names = {probe_set: set_name(probe_set) for probe_set in sets}
    blocks.figure(
        drawing(total_bars, table, k=1, colours=paper_view.view.colours, names=names, labels=_labels(paper_view)),
        table=table,
        stamp=paper_view.stamp(f"{titled(str(figure.number), set_name(panel))}, P@1, micro", table, panel),
        name=f"figure-{figure.number}",
        caption=_BARS,
        how=_HOW,
        alt=figure.title,
    )
    _link(paper_view, table, average="micro", k=1)


def _layers(
    paper_view: PaperView, figure: PublishedFigure, objectives: list[str], sets: list[str], panel: str, k: int
) -> None:
    runs = paper_view.about.runs
    runs = runs[runs["objective"].isin(objectives) & runs["probe_set"].isin(sets)].set_index("run_id")
    points = paper_view.view.read(precision, tuple(runs.index), (k,), "macro")
    table = shown_baselines(_chosen(points.assign(objective=points["run_id"].map(runs["objective"])), objectives, sets))
    title = f"right answers, % ({METRICS[f'p_at_{k}'].label}, {OVER['macro']})"
    several = table["probe_set"].nunique() > 1
    drawn = drawing(
        layer_curve,
        table,
        title=title,
        unit="share",
        colours=paper_view.view.colours,
        names={probe_set: set_name(probe_set) for probe_set in sets},
        labels=_labels(paper_view),
        panels=several and table["model"].nunique() > 1,
        controls=paper_view.view.controls,
    )
    blocks.figure(
        drawn,
        table=table,
        stamp=paper_view.stamp(f"{titled(str(figure.number), set_name(panel))}, P@{k}, macro", table, panel),
        name=f"figure-{figure.number}-{k}",
        alt=f"{figure.title}, P@{k}",
        caption=_LAYERS,
        how=_HOW,
    )
    if len(table):
        _link(paper_view, table, average="macro", k=k)


def _relations(paper_view: PaperView, figure: PublishedFigure) -> None:
    runs = paper_view.about.runs
    runs = runs[(runs["objective"] == BASE) & (runs["probe_set"] == "trex")]
    if runs.empty:
        st.caption("The base was not probed on T-REx with these heads, so nothing is drawn.")
        return
    table = shown_baselines(paper_view.view.read(precision_by_relation, (runs["run_id"].iloc[0],), 1))
    table = table[table["relation"].isin(figure.relations)]
    table = (
        table.assign(_place=table["relation"].map(figure.relations.index))
        .sort_values(["_place", "layer"])
        .drop(columns="_place")
    )
    blocks.figure(
        drawing(relation_curves, table, k=1),
        table=table,
        stamp=paper_view.stamp(f"Figure {figure.number}, P@1", runs),
        name=f"figure-{figure.number}",
        alt=figure.title,
        caption=_RELATIONS,
        how=_HOW,
    )
    _link(paper_view, runs, k=1)


def _link(paper_view: PaperView, table: pd.DataFrame, **changes) -> None:
    """A link to the curves of the same runs."""
    link(
        "layers",
        "The same with all options: Layers",
        models=tuple(dict.fromkeys(table["model"])),
        heads=tuple(dict.fromkeys(paper_view.about.runs["head"])),
        probe_sets=tuple(dict.fromkeys(table["probe_set"])),
        **changes,
        **selection.ALL_FACTS,
    )
