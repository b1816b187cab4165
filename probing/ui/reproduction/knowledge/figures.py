"""Figures 1 to 18 of the paper, drawn with our numbers."""

import pandas as pd
import streamlit as st

from probing.core.knowledge.published import PublishedFigure
from probing.core.metrics import METRICS
from probing.core.tasks.objectives import BASE
from probing.figures.knowledge.layer_curve import layer_curve
from probing.figures.knowledge.relation_curves import relation_curves
from probing.figures.knowledge.total_bars import total_bars
from probing.figures.shown_runs import set_name
from probing.reports.knowledge.precision import precision, precision_by_relation
from probing.reports.reproduction.knowledge.tables import OTHER_FACTS, beside, shown_set
from probing.reports.shown_baselines import shown_baselines
from probing.ui.frame import navigation, selection
from probing.ui.reproduction.page_view import Shown, titled
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled
from probing.ui.widgets.task_marks import marks_once


def panels(shown: Shown, figure: PublishedFigure) -> dict[str, str]:
    """A figure's probe sets, the paper's own first and of these the largest; none for relations, and for lines of a single model."""
    if figure.kind == "relations" or (figure.kind == "layers" and len(figure.models) == 1):
        return {}
    paper, runs = shown.numbers, shown.about.runs

    def place(theirs: str) -> tuple[bool, int]:
        published = paper.probe_set(theirs)
        return beside(published, runs) == OTHER_FACTS, -published.instances

    sets = {theirs: ours for theirs, ours in _sets(shown, figure).items() if runs["probe_set"].eq(ours).any()}
    return {sets[theirs]: set_name(sets[theirs]) for theirs in sorted(sets, key=place)}


def _sets(shown: Shown, figure: PublishedFigure) -> dict[str, str]:
    """Probe set of the paper -> the one shown for it."""
    return {name: shown_set(shown.numbers.probe_set(name), shown.about.runs) for name in figure.probe_sets}


def draw(shown: Shown, figure: PublishedFigure, panel: str) -> None:
    """Draws ours for a figure of the paper, and links to the page that has all its controls."""
    gathered, paper = shown.about, shown.numbers
    sets = {theirs: ours for theirs, ours in _sets(shown, figure).items() if panel in ("", ours)}
    objectives = [paper.objective(name) for name in figure.models]
    if figure.kind == "bars":
        _bars(shown, figure, objectives, sets, panel)
    elif figure.kind == "relations":
        _relations(shown, figure)
    else:
        for k in figure.ranks:
            _layers(shown, figure, objectives, sets, panel, k)
    missing = [name for name, objective in zip(figure.models, objectives, strict=True) if objective not in gathered.family.members]
    if missing:
        st.caption(filled("Not in this family, so not drawn: {names}.", names=", ".join(missing)))
    if other := [name for name in sets if beside(paper.probe_set(name), gathered.runs) == OTHER_FACTS]:
        st.caption(
            filled(
                "In place of {theirs}: {ours}, **other sentences, not the paper's facts**.",
                theirs=" and ".join(other),
                ours=" and ".join(set_name(sets[name]) for name in other),
            )
        )


def _chosen(frame: pd.DataFrame, objectives: list[str], sets: dict[str, str], **equal) -> pd.DataFrame:
    """Rows of the figure, in the paper's order of models and probe sets."""
    kept = frame["objective"].isin(objectives) & frame["probe_set"].isin(sets.values())
    for column, value in equal.items():
        kept &= frame[column] == value
    order = frame[kept].assign(
        _set=frame["probe_set"].map({ours: n for n, ours in enumerate(sets.values())}),
        _model=frame["objective"].map({one: n for n, one in enumerate(objectives)}),
    )
    return order.sort_values(["_set", "_model"], kind="stable").drop(columns=["_set", "_model"]).reset_index(drop=True)


def _names(sets: dict[str, str]) -> dict[str, str]:
    return {ours: set_name(ours) for ours in sets.values()}


def _labels(shown: Shown) -> dict[str, str]:
    return {model: shown.view.label(model) for model in shown.about.family.models}


def _bars(shown: Shown, figure: PublishedFigure, objectives: list[str], sets: dict[str, str], panel: str) -> None:
    table = shown_baselines(_chosen(shown.about.total, objectives, sets, k=1, average="micro"))
    table = table.rename(columns={"last_layer": "last", "intermediate_share": "intermediate"})
    blocks.figure(
        drawing(total_bars, table, k=1, colours=shown.view.colours, names=_names(sets), labels=_labels(shown)),
        table=table,
        stamp=shown.stamp(f"{titled(figure.number, set_name(panel))}, P@1, micro", table, panel),
        name=f"figure-{figure.number}",
        caption="Solid, and the number next to the name: known at the last layer. Hatched: known at some inner layer only. Over facts "
        "(micro), as the authors' code pools them. White marks show what guessing gives: the majority answer, "
        f"and a swapped subject if it is measured. {marks_once(shown.view, table['model'].unique())}".rstrip(),
        alt=figure.title,
    )
    _link("home", shown, table, "Open with all controls on Home", k=1, average="micro")


def _layers(shown: Shown, figure: PublishedFigure, objectives: list[str], sets: dict[str, str], panel: str, k: int) -> None:
    runs = shown.about.runs
    runs = runs[runs["objective"].isin(objectives) & runs["probe_set"].isin(sets.values())].set_index("run_id")
    points = shown.view.read(precision, tuple(runs.index), (k,), "macro")
    table = shown_baselines(_chosen(points.assign(objective=points["run_id"].map(runs["objective"])), objectives, sets))
    metric = METRICS[f"p_at_{k}"]
    several = table["probe_set"].nunique() > 1
    apart = several and table["model"].nunique() > 1
    title = f"{metric.label}, macro"
    drawn = drawing(
        layer_curve,
        table,
        title=title if several or table.empty else f"{set_name(table['probe_set'].iloc[0])}, {title}",
        unit="share",
        colours=shown.view.colours,
        names=_names(sets),
        labels=_labels(shown),
        panels=apart,
        controls=shown.view.controls,
    )
    blocks.figure(
        drawn,
        table=table,
        stamp=shown.stamp(f"{titled(figure.number, set_name(panel))}, {title}", table, panel),
        name=f"figure-{figure.number}-{k}",
        alt=f"{figure.title}, {metric.label}",
        caption=f"{metric.label} by layer, mean over relations (macro), as the paper's curves are. Bands are 95 % intervals. "
        f"{marks_once(shown.view, table['model'].unique())}".rstrip(),
    )
    if len(table):
        _link(
            "layer_curves",
            shown,
            table,
            filled("Open {metric} with all controls on Layer curves", metric=metric.label),
            metric=metric.name,
            average="macro",
            panels=apart,
        )


def _relations(shown: Shown, figure: PublishedFigure) -> None:
    runs = shown.about.runs
    runs = runs[(runs["objective"] == BASE) & (runs["probe_set"] == "trex")]
    if runs.empty:
        st.info(filled("{base} was not probed on T-REx with these heads.", base=shown.view.called(shown.about.family.base)))
        return
    table = shown_baselines(shown.view.read(precision_by_relation, (runs["run_id"].iloc[0],), 1))
    table = table[table["relation"].isin(figure.relations)]
    table = table.assign(_place=table["relation"].map(figure.relations.index)).sort_values(["_place", "layer"]).drop(columns="_place")
    blocks.figure(
        drawing(relation_curves, table, k=1),
        table=table,
        stamp=shown.stamp(f"Figure {figure.number}, P@1", runs),
        name=f"figure-{figure.number}",
        alt=figure.title,
        caption="P@1 by layer of the relations that the paper names. Bands are 95 % intervals; dashed: the relation's majority answer.",
    )
    navigation.link(
        "relations",
        "Open with all controls on Relations",
        model=shown.about.family.base,
        head=runs["head"].iloc[0],
        probe_set="trex",
        k=1,
        relations=figure.relations,
        **selection.ALL_FACTS,
    )


def _link(page: str, shown: Shown, table: pd.DataFrame, label: str, **changes) -> None:
    navigation.link(
        page,
        label,
        models=tuple(dict.fromkeys(table["model"])),
        heads=tuple(dict.fromkeys(shown.about.runs["head"])),
        probe_sets=tuple(dict.fromkeys(table["probe_set"])),
        **changes,
        **selection.ALL_FACTS,
    )
