"""The figures of the papers with our numbers, and with published ones where the paper prints values."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from probing.edges.figures import place_rows, score_rows
from probing.edges.figures_layers import Axis, layer_bars, task_curves
from probing.facts.figures import OVER, layer_curve, total_bars
from probing.facts.figures_relations import relation_curves
from probing.facts.published import PublishedFigure
from probing.facts.report_layers import precision, precision_by_relation
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.selection import link
from probing.kernel.figures import theme
from probing.kernel.figures.looks import set_name
from probing.kernel.objectives import BASE
from probing.kernel.report import shown_baselines
from probing.papers.bertnesia import OTHER_FACTS, beside, shown_set
from probing.papers.claims import Ours, Paper, Reproduction
from probing.papers.edge_probing import CALLED, EncoderNumbers, bars, published_encoders
from probing.papers.figures import Drawn, reproduced_lines
from probing.papers.interplay import COLA, COLA_MEAN, RTE, SST, Plot, plot
from probing.terms import METRICS


@dataclass(frozen=True)
class PaperView:
    view: View
    paper: Paper
    found: Reproduction

    @property
    def numbers(self) -> Any:
        return self.paper.numbers

    @property
    def ours(self) -> Ours | None:
        """The numbers of ours; None if nothing is stored."""
        return self.found.ours

    @property
    def about(self) -> Any:
        """``Ours.about``; None if nothing is stored."""
        return self.ours.about if self.ours else None

    def stamp(self, what: str, rows: pd.DataFrame | None = None, panel: str = "") -> Stamp:
        """The origin of a table or figure: its runs (``rows``) if not all, and the one ``panel`` that is shown."""
        # Rows that were not probed have no run.
        ids = (
            tuple(rows["run_id"].dropna().drop_duplicates())
            if rows is not None
            else self.ours.run_ids
            if self.ours
            else ()
        )
        return replace(
            self.view.stamp(f"{what}, {self.ours.origin if self.ours else 'published numbers'}", ids), panel=panel
        )


def titled(number: str, panel: str) -> str:
    """The name of a figure, and of its panel if only one is shown."""
    return f"Figure {number}" + (f", {panel}" if panel else "")


#: The figure that the paper does not have, and the panels of a summary, by their names in links.
CURVES, _SCORES, _PLACES = "curves", "scores", "places"
_SCORES_CAPTION = (
    "F1 without context, P(0), is open; F1 of all layers, P(L), is filled. Grey: published, on other data."
)
_PLACES_CAPTION = (
    "Filled: centre of gravity of the weights; open: expected layer. Lines are 95 % intervals. Grey: published."
)
_BARS_CAPTION = (
    "Outlined: what each layer adds to F1, as a share of the most. Solid: weight of each layer; the paper prints none."
)
_CURVES_CAPTION = "F1 of the probe on layers 0 to l, by share of the depth. Grey: published. Bands are 95 % intervals."
_HOW_EDGES = (
    "Ours are on other data, so their level is not comparable with the published one, except for relations and, nearly,"
    " dependencies. Encoders of different depth are compared by share of the depth. Intervals are over seeds and"
    " sentences; the published numbers have none, and of BERT-base only two centres of gravity are published. Not"
    " resolved: all layers together do not clearly gain on layer 0. Dashed levels: the F1 of memory, of the commonest"
    " answer, and of the best answers to equal inputs on our data."
)


def labels(paper_view: PaperView) -> dict[str, str]:
    published = {model.title: f"{model.title} (published)" for model in paper_view.numbers.models}
    return published | ({paper_view.ours.name: paper_view.view.label(paper_view.ours.name)} if paper_view.ours else {})


def _colours(paper_view: PaperView) -> dict[str, str]:
    """Our encoder -> colour; those of the paper have none."""
    return (
        {paper_view.ours.name: paper_view.view.all_colours.get(paper_view.ours.name, theme.NEUTRAL)}
        if paper_view.ours
        else {}
    )


def edge_titles(paper_view: PaperView) -> dict[str, str]:
    return {figure.number: figure.title for figure in paper_view.numbers.figures} | {CURVES: "F1 of every layer"}


def edge_panels(paper_view: PaperView, number: str) -> dict[str, str]:
    """The panels of a figure: scores and places, one per encoder, or one per task."""
    if number == CURVES:
        return {task: CALLED[task] for task in paper_view.found.tables["points"]["task"].drop_duplicates()}
    if paper_view.numbers.figure(number).kind == "summary":
        return {_SCORES: "F1", _PLACES: "Places"}
    return {encoder.name: labels(paper_view)[encoder.name] for encoder in _encoders(paper_view, number)}


def _encoders(paper_view: PaperView, number: str) -> list[EncoderNumbers]:
    named = {paper_view.numbers.model(name).title for name in paper_view.numbers.figure(number).models}
    theirs = [encoder for encoder in published_encoders(paper_view.numbers) if encoder.name in named]
    return [*([paper_view.about] if paper_view.about else []), *theirs]


def draw_edges(paper_view: PaperView, number: str, panel: str) -> None:
    """Draws ours with the published numbers for a figure."""
    if number == CURVES:
        _curves(paper_view, panel)
    elif paper_view.numbers.figure(number).kind == "summary":
        table = paper_view.found.tables["summary"]
        table = table[table["model"].isin([encoder.name for encoder in _encoders(paper_view, number)])]
        if panel != _PLACES:
            _rows(paper_view, number, table, _SCORES)
        if panel != _SCORES:
            _rows(paper_view, number, table, _PLACES)
    else:
        for encoder in _encoders(paper_view, number):
            if panel in ("", encoder.name):
                _edge_bars(paper_view, number, encoder)
    if paper_view.ours:
        link("grammar", "More of this encoder: Grammar")


def _curves(paper_view: PaperView, task: str) -> None:
    points, levels = (paper_view.found.tables[name] for name in ("points", "levels"))
    if task:
        points, levels = points[points["task"] == task], levels[levels["task"] == task]
    what = "F1 by share of depth" + (f", {CALLED[task]}" if task else "")
    axis = Axis("micro F1 of P(l)", shares=True)
    blocks.figure(
        drawing(
            task_curves,
            points,
            levels,
            axis=axis,
            colours=_colours(paper_view),
            labels=labels(paper_view),
            titles=CALLED,
        ),
        table=points,
        stamp=paper_view.stamp(what, panel=task),
        name="edge-score-curves",
        caption=_CURVES_CAPTION,
        how=_HOW_EDGES,
        alt=what,
    )


def _rows(paper_view: PaperView, number: str, table: pd.DataFrame, panel: str) -> None:
    names = {"colours": _colours(paper_view), "labels": labels(paper_view), "titles": CALLED}
    if panel == _SCORES:
        drawn = drawing(score_rows, table, **names)
    else:
        drawn = drawing(place_rows, table, **names, shares=table["last"].nunique() > 1)
    blocks.figure(
        drawn,
        table=table,
        stamp=paper_view.stamp(f"Figure {number}, {panel}"),
        name=f"edge-figure-{number}-{panel}",
        caption=_SCORES_CAPTION if panel == _SCORES else _PLACES_CAPTION,
        how=_HOW_EDGES,
        alt=f"{paper_view.numbers.figure(number).title}: {panel}",
    )


def _edge_bars(paper_view: PaperView, number: str, encoder: EncoderNumbers) -> None:
    table, name = bars(list(CALLED), encoder), labels(paper_view)[encoder.name]
    colour = _colours(paper_view).get(encoder.name, theme.NEUTRAL)
    blocks.figure(
        drawing(layer_bars, table, colour=colour, titles=CALLED, notes=_notes(paper_view, encoder)),
        table=table,
        stamp=paper_view.stamp(f"Figure {number}, {name}"),
        name=f"edge-figure-{number}-{'published' if encoder.published else 'ours'}-{encoder.depth}",
        caption=_BARS_CAPTION,
        how=_HOW_EDGES,
        alt=f"{paper_view.numbers.figure(number).title}: {name}",
    )


def _notes(paper_view: PaperView, encoder: EncoderNumbers) -> dict[str, str]:
    """K of weights and gains, written next to the panels as in the paper."""
    table = paper_view.found.tables["summary"]
    notes = {}
    for row in table[table["model"] == encoder.name].to_dict("records"):
        parts = [
            f"{name} {row[column]:.2f}"
            for column, name in (("k_weights", "K(s)"), ("k_gains", "K(Δ)"))
            if pd.notna(row[column])
        ]
        notes[row["row"]] = "".join(f" · {part}" for part in parts)
    return notes


_BARS = "Solid: right at the last layer. Hatched: right at some inner layer only. White marks: what guessing gives."
_LAYERS = "Right answers by layer, mean over relations (macro), as the paper's curves are. Bands are 95 % intervals."
_RELATIONS = (
    "Right first answers of the relations that the paper names. Bands are 95 % intervals; dashed: the commonest answer."
)
_HOW_FACTS = (
    "Bars count facts (micro), as the authors' code does; the number next to a name is that of the last layer. Guessing"
    " is the commonest answer of the relation, and asking with somebody else's name (swapped subject) if that is"
    " measured. ConceptNet and SQuAD are not shipped: our own sentences stand in their place and are not the same"
    " facts."
)


def fact_titles(paper_view: PaperView) -> dict[str, str]:
    return {str(figure.number): f"Figure {figure.number}: {figure.title}" for figure in paper_view.numbers.figures}


def fact_panels(paper_view: PaperView, number: str) -> dict[str, str]:
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


def draw_facts(paper_view: PaperView, number: str, panel: str) -> None:
    if paper_view.about is None or paper_view.about.runs.empty:
        st.caption("Nothing of ours is stored, so nothing is drawn.")
        return
    figure = paper_view.numbers.figure(int(number))
    sets = [ours for ours in _sets(paper_view, figure).values() if panel in ("", ours)]
    objectives = [paper_view.numbers.objective(name) for name in figure.models]
    if figure.kind == "bars":
        _fact_bars(paper_view, figure, objectives, sets, panel)
    elif figure.kind == "relations":
        _relations(paper_view, figure)
    else:
        for k in figure.ranks:
            _layers(paper_view, figure, objectives, sets, panel, k)
    there = paper_view.about.family.members
    if missing := [name for name, objective in zip(figure.models, objectives, strict=True) if objective not in there]:
        blocks.caption("Not among our models, so not drawn: {names}.", names=", ".join(missing))


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


def _fact_bars(
    paper_view: PaperView, figure: PublishedFigure, objectives: list[str], sets: list[str], panel: str
) -> None:
    table = shown_baselines(_chosen(paper_view.about.total, objectives, sets, k=1, average="micro"))
    table = table.rename(columns={"last_layer": "last", "intermediate_share": "intermediate"})
    names = {probe_set: set_name(probe_set) for probe_set in sets}
    blocks.figure(
        drawing(total_bars, table, k=1, colours=paper_view.view.colours, names=names, labels=_labels(paper_view)),
        table=table,
        stamp=paper_view.stamp(f"{titled(str(figure.number), set_name(panel))}, P@1, micro", table, panel),
        name=f"figure-{figure.number}",
        caption=_BARS,
        how=_HOW_FACTS,
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
        how=_HOW_FACTS,
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
        how=_HOW_FACTS,
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


_ACCURACY, _POINTS = Drawn("right answers, % (accuracy)", 100), Drawn("change, points", 100, signed=True)
#: Kind of figure -> how it is drawn, and its caption.
_LOOKS = {
    "accuracy": (
        _ACCURACY,
        "Solid: mean-pooling; dashed: CLS-pooling. Dotted: the commonest answer, and a probe on surface features.",
    ),
    "entropy": (Drawn("entropy, nats"), "How spread the first token's attention is: mean over sentences, then heads."),
    "distance": (
        Drawn("earth mover's distance, pieces"),
        "How far the first token's attention moved by fine-tuning, in tokens.",
    ),
    "epochs": (
        Drawn("masked-LM perplexity", steps="epoch"),
        "Read with the base's own head on WikiText-2. Epoch 0 is the base.",
    ),
    "replaced": (
        Drawn("masked-LM perplexity", steps="n"),
        "n layers of the base put back. The first n layers are a control of ours.",
    ),
    "first": (_POINTS, "Change by fine-tuning, CLS-pooling. Stars: the same probe against the base's mean-pooling."),
    "mean": (_POINTS, "Change by fine-tuning, mean-pooling."),
}
_HOW_SENTENCES = (
    "Whiskers are 95 % intervals: Wilson's for accuracy, Newcombe's, paired over the same sentences, for its change,"
    " and a bootstrap over sentences or blocks for the others; epochs have one seed each and no interval. The control"
    " was trained further on its base's text. The sentences are not the paper's, unless SentEval's own were fetched."
)


def sentence_titles(paper_view: PaperView) -> dict[str, str]:
    return {figure.number: figure.title for figure in paper_view.numbers.figures}


def _models(paper_view: PaperView) -> dict[str, str]:
    return {BASE: paper_view.about.family.base, **paper_view.about.family.members}


def _label(paper_view: PaperView, objective: str) -> str:
    """The name of an objective's model, marked by whether it learned its task."""
    models = _models(paper_view)
    return paper_view.view.label(models[objective]) if objective in models else objective


def _colour(paper_view: PaperView, objective: str) -> str:
    """The model's colour on every page; if it has none, one of its objective."""
    known = paper_view.view.all_colours.get(_models(paper_view).get(objective, ""))
    of_objective = theme.OBJECTIVE_COLOURS.get(objective)
    others = (COLA, COLA_MEAN, SST, RTE)
    place = others.index(objective) if objective in others else 4
    return known or (of_objective[0] if of_objective else theme.OTHER_COLOURS[place])


def sentence_panels(paper_view: PaperView, number: str) -> dict[str, str]:
    drawn = plot(paper_view.about, paper_view.numbers.figure(number).kind).points["panel"] if paper_view.about else ()
    return {panel: panel for panel in dict.fromkeys(drawn)}


def draw_sentences(paper_view: PaperView, number: str, panel: str) -> None:
    if paper_view.about is None:
        st.caption("Nothing of ours is stored, so nothing is drawn.")
        return
    figure = paper_view.numbers.figure(number)
    plotted, (drawn, caption) = plot(paper_view.about, figure.kind), _LOOKS[figure.kind]
    if panel:
        plotted = Plot(*(rows[rows["panel"] == panel] for rows in plotted))
    several = plotted.points["encoder"].nunique() > 1
    labels, colours = {}, {}
    for encoder, objective in dict.fromkeys(zip(plotted.points["encoder"], plotted.points["objective"], strict=True)):
        line = f"{encoder} {objective}"
        labels[line] = (
            paper_view.view.label(encoder) if several and objective == BASE else _label(paper_view, objective)
        )
        colours[line] = (
            paper_view.view.all_colours.get(encoder, _colour(paper_view, BASE))
            if several
            else _colour(paper_view, objective)
        )
    points, stars = (
        points_of.assign(line=points_of["encoder"] + " " + points_of["objective"])
        for points_of in (plotted.points, plotted.stars)
    )
    blocks.figure(
        drawing(reproduced_lines, points, plotted.levels, stars, drawn=drawn, colours=colours, labels=labels),
        table=plotted.points,
        stamp=paper_view.stamp(titled(number, panel), panel=panel),
        name=f"interplay-figure-{number}",
        caption=caption,
        how=_HOW_SENTENCES,
        alt=figure.title,
    )


class PaperFigures(NamedTuple):
    """The figures of a paper: number -> title, the panels of one, and the function that draws ours."""

    titles: Callable[[PaperView], dict[str, str]]
    panels: Callable[[PaperView, str], dict[str, str]]
    draw: Callable[[PaperView, str, str], None]


#: Paper -> its figures.
FIGURES = {
    "bertnesia": PaperFigures(fact_titles, fact_panels, draw_facts),
    "edge-probing": PaperFigures(edge_titles, edge_panels, draw_edges),
    "interplay": PaperFigures(sentence_titles, sentence_panels, draw_sentences),
}
