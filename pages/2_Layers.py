"""Layers: where in a model knowledge appears, for which relations, and whether that depends on how a layer is read."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import DEFINITION_WORDS, LayersSelection
from probing.choices import METRICS as METRIC_WORDS
from probing.compared.report_heads import costs, losses, points_lost, read_out
from probing.facts.figures import metric_curve, series_name
from probing.facts.figures_pairs import loss_points
from probing.facts.figures_relations import MAX_LINES, ORDERS, relation_curves, relation_map
from probing.facts.forgotten import DEFINITIONS
from probing.facts.page_candidates import draw_candidates
from probing.facts.page_carried import draw_carried
from probing.facts.page_clearest import findings
from probing.facts.report_forgotten import by_model, forgotten, relation_forgetting, with_yardsticks
from probing.facts.report_layers import (
    METRIC_COLUMNS,
    WITH_MAJORITY,
    by_layer,
    early_exit,
    precision_by_relation,
    total,
)
from probing.facts.runs import pairs
from probing.facts.store_facts import count_facts
from probing.facts.totals import hits_of, steepest
from probing.heads.figures import head_losses
from probing.kernel.app import blocks, filters, frame, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View, derived, go, heads_command, link, probe_command, run_of, show
from probing.kernel.app.save import plot
from probing.kernel.app.texts import escape, filled, listing
from probing.kernel.columns import Columns
from probing.kernel.fact import PROBE_SETS
from probing.kernel.figures.looks import bert_first, head_name, set_name
from probing.kernel.figures.yardsticks import MODES, above
from probing.kernel.metric import RANKS
from probing.kernel.models.names import BERT, HEADS, LEAST_SQUARES, LOGIT_LENS, head_order
from probing.kernel.store.stored import fact_runs
from probing.terms import METRICS

TABS = {
    "relations": "Relations",
    "carried": "Does the model go by it?",
    "heads": "Does the reader matter?",
    "candidates": "Answers of several words",
}
NO_FACTS = "No facts are left under these filters. Loosen them."
#: Familiar relations of the paper's Figure 3: member of, diplomatic relation, official language.
FIGURE_3 = ("P463", "P530", "P37")

CURVE = (
    "Right answers (P@k): the right word (one token) is among a layer's first k. Dashed: the commonest answer, for k ="
    " 1; dotted: a blind guess; long dashes: the control."
)
CURVE_HOW = (
    "A sentence with a gap goes into the model once. At every layer a head turns the state at the gap into a ranking of"
    " all words. Bands: 95 % intervals. Grey, dashed: always giving the relation's commonest answer. Dotted: a blind"
    " guess, that is, the same facts asked with somebody else's name in the question (a swapped subject that does not"
    " have the answer); only facts with such a subject count. Grey, dashes and dots: one of the relation's answers by"
    " chance. Beyond a yardstick: the value minus it; 0 is the yardstick. Macro: every relation counts once; micro:"
    " every fact. A click on a point opens its facts."
)
MAP = (
    "One row per relation, on the same layers: the stronger the shade, the more facts are known. A click on a cell"
    " opens its facts."
)
MAP_HOW = (
    "Rows stand by the first layer with half of what the last layer knows, unless another order is chosen. ○: the last"
    " layer is not above always giving the relation's commonest answer, by the 95 % interval. In differences, to the"
    " base or to a yardstick, blue is more and orange fewer. The scale is the same for all models. The pointer shows a"
    " cell's numbers."
)
RELATIONS = (
    "Some inner layer knows more of these relations than the last layer. A base has some, too. A row shows its model"
    " above and below."
)
DETAILS = (
    "Half known from: the first layer with half of what the last one knows. A row opens the facts that its best inner"
    " layer knows."
)
RELATION_CURVES = (
    "Right answers by layer of some relations. Bands are 95 % intervals; dashed: the commonest answer; dotted: a blind"
    " guess."
)
READERS = "The same model and facts, read in different ways. Where the lines differ, a result depends on the reader."
READERS_HOW = (
    "A layer's knowledge is visible only through a head. Retrained reader (tied): its transform is trained for the"
    " layer. Own output layer (logit_lens): the pre-trained head, untrained. Full head (full): everything is trained,"
    " as in the paper. Fitted map (least_squares) and tuned lens (tuned_lens): an affine map from the layer to the last"
    " one, by least squares or by training. Dotted: a blind guess through the same reader. Bands are 95 % intervals."
)
LOSSES = "Lower: the reader predicts a layer's words better. It does not mean that the layer knows facts."
LOSSES_HOW = (
    "Cross-entropy of masked word pieces of a validation text, in nats, by layer. Own output layer: the pre-trained"
    " head at every layer, untrained. The table has the means over the inner layers and what the training cost, all"
    " layers together."
)
LOST = (
    "Filled: lost beyond blind guesses. Open: all that is lost. If the points of one model lie apart, the reader"
    " matters."
)
LOST_HOW = (
    "A model's loss is its base's share minus its own at the last layer, both read in the same way, over facts (micro)."
    " Filled points count only what comes from the subject: they are minus the same for a swapped subject. Lines are 95"
    " % intervals, paired fact by fact where both models' answers are stored; others, and those of filled points, treat"
    " the shares as independent, which is rather wide. In the data: apart, whether the intervals of two readers do not"
    " touch; changed, whether they also lie differently to 0."
)


def with_usual_lines(view: View) -> View:
    """The view with the usual lines: BERT, base, control and the two with the clearest findings; all of own facts."""
    if selection.current().models or not PROBE_SETS.keys() & {*view.chosen.probe_sets}:
        return view
    runs = view.runs.drop_duplicates("model").set_index("model")
    clearest = [finding.model for finding in findings(view)[:2]]
    bases = {str(runs["base"].get(model) or model) for model in clearest}
    lines = {BERT, *clearest, *bases, *view.controls}
    models = tuple(model for model in bert_first(view.colours) if model in lines)
    return replace(view, chosen=replace(view.chosen, models=models)) if clearest else view


def metric_of(view: View) -> str:
    metric = selection.of(LayersSelection).metric
    return f"p_at_{view.chosen.k}" if metric == "p_at_k" else metric


def apart(view: View) -> bool:
    """Whether a set of the user's own is shown with others, which its few facts' wide bands would cover."""
    sets = view.chosen.probe_sets
    return len(sets) > 1 and any(name not in PROBE_SETS for name in sets)


def bar(view: View, table: pd.DataFrame, metric: str) -> str:
    """Draws the filters of the page; returns the yardstick that is subtracted."""
    more = ("heads", "probe_sets", "average", "exposures", "in_subject")
    words, own = {**METRIC_WORDS, **filters.MODES}, ("metric", "minus", "panels")
    with filters.bar(view, "models", "k", more=more, own=own, words=words) as place:
        with place:
            selection.bound("metric")
            mode = filters.choose(view, "minus", undefined(table, metric))
            panels = apart(view)
            selection.bound("panels", value=panels or None, disabled=panels)
        if len(table):
            point_menu(view, table)
    return mode


def undefined(table: pd.DataFrame, metric: str) -> dict[str, str]:
    """The yardsticks that cannot be subtracted, each with the reason."""
    if table.empty:
        return {}
    return filters.undefined(table, majority=metric in WITH_MAJORITY, swapped=METRIC_COLUMNS[metric][2] is not None)


def curve_points(view: View, metric: str) -> pd.DataFrame:
    """A metric of the chosen runs by layer; no rows if no facts are left."""
    table = view.report(by_layer, tuple(view.overlaid["run_id"]), metric, view.chosen.average)
    return table.iloc[:0] if table["value"].isna().all() else table.drop(columns="seed")


def say(view: View, table: pd.DataFrame) -> None:
    """The page's sentence: the steepest step of the first line."""
    first = table[table["run_id"] == table["run_id"].iloc[0]]
    line = dict(zip(first["layer"].astype(int), first["value"] * 100, strict=True))
    if step := steepest(line):
        words = "Between layers {before} and {after}, {model} goes from {low:.0f} to {high:.0f} % of the facts."
        model = view.name(first["model"].iloc[0])
        blocks.sentence(words, before=step[0], after=step[1], model=model, low=line[step[0]], high=line[step[1]])


def draw_curve(view: View, table: pd.DataFrame, metric: str, mode: str) -> None:
    """The picture; a click on a point opens its facts."""
    chosen, label = view.chosen, METRICS[metric].label
    minus = f" minus {MODES[mode]}" if mode != "value" else ""
    runs = table.drop_duplicates("run_id").set_index("run_id")
    blocks.figure(
        drawing(
            metric_curve,
            table,
            metric=metric,
            average=chosen.average,
            mode=mode,
            colours=view.colours,
            labels=filters.labels(view),
            panels=selection.of(LayersSelection).panels or apart(view),
            controls=view.controls,
        ),
        table=table,
        stamp=view.stamp(f"{label}{minus}, {chosen.average}, {view.filter_words()}", tuple(runs.index)),
        name="layer-curves",
        caption=CURVE,
        how=CURVE_HOW,
        alt=f"{label}{minus} by layer for {', '.join(map(view.label, chosen.models))}",
        on_point=lambda point: go(view, **point_fields(view, runs.loc[str(point[0])], int(point[1]))),
    )


def point_fields(view: View, run: pd.Series, layer: int) -> dict[str, Any]:
    """The fields of a link to the facts that a run knows at a layer."""
    return {**{name: run[name] for name in ("model", "head", "probe_set")}, "at_layer": layer, "at_rank": view.chosen.k}


@st.fragment
def facts_menu(
    label: str,
    names: Mapping[str, str],
    points: pd.DataFrame,
    column: str,
    key: str,
    draw: Callable[[str, int], object],
) -> None:
    """A button with a choice of a line or relation, and of a layer, and the link to its facts, for those who use no
    mouse.

    ``names``: value -> its words; ``points`` has ``layer`` and the column of the values.
    """
    words = filled("Facts of a {label}", label=label.lower())
    place = st.popover(words, icon=":material/list:", key=key, on_change="rerun")
    if place.open:
        with place:
            name = st.selectbox(escape(label), list(names), format_func=names.__getitem__, key=f"{key}.name")
            layers = sorted(int(layer) for layer in points.loc[points[column] == name, "layer"].unique())
            layer = st.selectbox("Known at layer", layers, index=len(layers) - 1, key=f"{key}.layer")
            draw(name, layer)


def point_menu(view: View, table: pd.DataFrame) -> None:
    """The facts behind a point of the curves."""
    runs = table.drop_duplicates("run_id").set_index("run_id", drop=False)
    sets = {name: set_name(name) for name in table["probe_set"]}
    names = {run: series_name(row, table, sets, filters.labels(view)) for run, row in runs.iterrows()}

    def draw(run_id: str, layer: int) -> None:
        if frame.say(view, view.runs.set_index("run_id", drop=False).loc[run_id]):
            return
        rank = (layer, view.chosen.k)
        hits = view.read(
            count_facts, run_id, layer_rank=rank, exposures=view.exposures, answer_in_subject=view.in_subject
        )
        link(view, filled("Open {hits:,} facts", hits=hits), **point_fields(view, runs.loc[run_id], layer))

    facts_menu("Line", names, table, "run_id", "layers.point", draw)


@derived
def base_run(view: View) -> pd.Series | None:
    """The run of the chosen model's base with the same prompts and the same kind of head; None if there is none."""
    # All stored runs are searched: the base's newest run may use other templates than the chosen run.
    stored = view.read(fact_runs)
    stored = stored[stored["role"] == "primary"].sort_values(
        "created", ascending=False, na_position="last", kind="stable"
    )
    together = pairs(stored)
    run_pairs = together[together["run_id"] == run_of(view)["run_id"]]
    return stored.set_index("run_id", drop=False).loc[run_pairs["base_run_id"].iloc[0]] if len(run_pairs) else None


def map_bar(view: View, points: pd.DataFrame, base: pd.Series | None) -> None:
    """Draws the filters of the map, which are also those of the tabs: the model and how it is read."""
    own = ("row_order", *(("against_base",) if base is not None else ()))
    with filters.bar(
        view, "model", more=("head", "probe_set"), own=own, words=ORDERS, label="Map", key="map-filters"
    ) as place:
        with place:
            selection.bound("row_order")
            if base is not None:
                words = filled("Minus its base, {base}", base=view.name(base["model"]))
                selection.bound("against_base", words)
        if points["value"].notna().any():
            relation_menu(view, points)


def relation_menu(view: View, points: pd.DataFrame) -> None:
    """The facts behind a cell of the map."""
    rows = points.drop_duplicates("relation").sort_values("label")

    def draw(relation: str, layer: int) -> None:
        cell = points[(points["relation"] == relation) & (points["layer"] == layer)]
        if len(cell) and pd.notna(cell["value"].iloc[0]):
            n = int(cell["n"].iloc[0])
            words = filled("Open {hits:,} of {n:,} facts", hits=hits_of(float(cell["value"].iloc[0]), n), n=n)
            link(view, words, relation=relation, at_layer=layer, at_rank=view.chosen.k)

    facts_menu(
        "Relation", dict(zip(rows["relation"], rows["label"], strict=True)), points, "relation", "layers.cell", draw
    )


def open_relation(view: View, point: list) -> None:
    """Opens the facts of a relation that are known at a layer."""
    go(view, relation=str(point[0]), at_layer=int(point[1]), at_rank=view.chosen.k)


def draw_map(view: View, mode: str) -> pd.DataFrame:
    """The map of relations on the layers of the curve; returns its points, see ``precision_by_relation``."""
    run, base, chosen, own = run_of(view), base_run(view), view.chosen, selection.of(LayersSelection)
    points = view.report(precision_by_relation, (run["run_id"],), chosen.k)
    mode = mode if mode == "value" or points[f"above_{mode}"].notna().any() else "value"
    map_bar(view, points, base)
    if points["value"].isna().all():
        st.info(NO_FACTS, icon=":material/filter_alt_off:")
        return points
    named, compared = "", points
    if base is not None and own.against_base:
        other = above(view.report(precision_by_relation, (base["run_id"],), chosen.k), mode)[
            ["relation", "layer", "value"]
        ]
        compared = points.merge(other.rename(columns={"value": "base_value"}), on=["relation", "layer"], how="left")
        named = view.name(base["model"])
    fields = {name: run[name] for name in ("model", "head", "probe_set")}
    blocks.figure(
        drawing(relation_map, compared, k=chosen.k, order=own.row_order, base=named, mode=mode, dark=blocks.dark()),
        table=compared,
        stamp=view.stamp(run_words(view, mode) + (f", difference to {named}" if named else ""), (run["run_id"],)),
        name="relation-map",
        caption=MAP,
        how=MAP_HOW,
        alt=f"P@{chosen.k} by relation and layer of {view.label(chosen.model)}",
        on_point=lambda point: open_relation(view, point),
        call=plot("facts", "forgotten", {**fields, "k": chosen.k}, view.filtered)
        if mode == "value" and not named
        else "",
    )
    return points


def run_words(view: View, mode: str = "value") -> str:
    chosen, minus = view.chosen, f" minus {MODES[mode]}" if MODES[mode] else ""
    return (
        f"P@{chosen.k}{minus}, {view.label(chosen.model)} {chosen.head}, {set_name(chosen.probe_set)},"
        f" {view.filter_words()}"
    )


def relations_tab(view: View, points: pd.DataFrame, mode: str) -> None:
    """What an inner layer knows better than the last one, by model and by relation, with curves of some."""
    st.header("Forgotten inside one model (the paper's sense)")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        selection.bound("definition")
        selection.link("compare", "Forgotten by fine-tuning")
    draw_models(view)
    name = view.name(view.chosen.model)
    blocks.folded(
        filled("{model}, relation by relation", model=name),
        lambda: draw_relations(view, points),
        key="details",
        icon="table_rows",
    )
    if points["value"].notna().any():
        blocks.folded(
            "Some relations through the layers",
            lambda: draw_relation_curves(view, points, mode),
            key="curves",
            icon="show_chart",
        )


@derived
def models_tables(view: View, definition: str) -> tuple[tuple[str, ...], pd.DataFrame, pd.DataFrame]:
    """The runs of all models with the chosen head and facts; their better known relations, by model, k and definition,
    and one row per model.
    """
    chosen = view.chosen
    runs = view.runs[(view.runs["head"] == chosen.head) & (view.runs["probe_set"] == chosen.probe_set)]
    run_ids = tuple(runs["run_id"])
    table = view.report(forgotten, run_ids, RANKS, DEFINITIONS)
    if table.empty:
        return run_ids, table, table
    known = view.report(total, run_ids, (chosen.k,), (chosen.average,))
    columns = Columns("last_layer total intermediate_share majority swapped_last inner_own inner_swapped inner_p")
    exits = view.report(early_exit, run_ids, chosen.k).rename(columns={"difference": "exit_gain"})
    numbers = known[["model", *columns]].merge(exits[["model", "early_exit", "exit_gain"]], on="model", how="left")
    numbers = numbers.drop_duplicates("model")
    # Of the same mean as the last layer beside it.
    last, bases = numbers.set_index("model")["last_layer"], dict(zip(runs["model"], runs["base"], strict=True))
    numbers["lost"] = numbers["model"].map(bases).map(last) - numbers["last_layer"]
    by_number = table.assign(names=table["names"].map(" ".join)).merge(numbers, on="model", how="left")
    return run_ids, by_number, by_model(table, definition, list(view.colours)).merge(numbers, on="model", how="left")


def draw_models(view: View) -> None:
    """Every model: what its last and all of its layers know, and how many relations are better known inside."""
    chosen, definition = view.chosen, selection.of(LayersSelection).definition
    run_ids, table, wide = models_tables(view, definition)
    if table.empty:
        blocks.note("No relations of {sets} are stored that can be compared.", sets=set_name(chosen.probe_set))
        return
    models = list(wide["model"])
    number = st.column_config.NumberColumn
    shown = {
        "model": st.column_config.TextColumn(pinned=True),
        "last_layer": number("last layer", format="percent"),
        "total": number("any layer", format="percent"),
        f"n P@{chosen.k}": "better inside",
        "relations": "of relations",
        "lost": number("lost, points", format="points"),
        "majority": number("commonest answer", format="percent"),
        "swapped_last": number("blind guess", format="percent"),
        "early_exit": number("best layer each (early exit)", format="percent"),
        "intermediate_share": number("known only inside", format="percent"),
    }
    st.caption(RELATIONS)
    blocks.table_with_download(
        table,
        shown=wide[list(shown)].assign(model=wide["model"].map(view.label)),
        stamp=view.stamp(f"relations better known inside, {run_words(view)}", run_ids),
        name="forgotten-relations",
        pick=lambda row: selection.update(model=models[row]),
        key=f"layers.models.{definition}.{chosen.head}.{chosen.probe_set}",
        height=38 + 35 * min(len(wide), 4),
        column_config=shown,
    )
    if view.runs["base"].fillna("").eq("").all():
        blocks.missing("No fine-tuned model is stored yet.", blocks.FINETUNE_COMMAND)


def draw_relations(view: View, points: pd.DataFrame) -> None:
    """Every relation of the chosen run: known from which layer, where best, how surely; a row opens its facts."""
    chosen, run = view.chosen, run_of(view)
    table = view.report(relation_forgetting, (run["run_id"],), chosen.k)
    if table.empty:
        return
    definition = selection.of(LayersSelection).definition
    relations = with_yardsticks(table, points).drop(columns=["run_id", "model", "head", "probe_set"])
    relations = relations.sort_values([definition, "drop"], ascending=False, ignore_index=True)
    number = st.column_config.NumberColumn
    first = Columns(
        *("label onset last best_inner best_layer drop", definition),
        *("above_guess majority swapped_last swapped_inner doubling", Columns(DEFINITIONS).without(definition)),
    )
    st.caption(DETAILS)
    blocks.table_with_download(
        relations,
        stamp=view.stamp(f"relations better known inside, {run_words(view)}", (run["run_id"],)),
        name="relation-forgetting",
        pick=lambda row: open_relation(view, relations.loc[row, ["relation", "best_layer"]].tolist()),
        key=f"layers.relations.{run['run_id']}.{chosen.k}.{definition}",
        height=38 + 35 * min(len(relations), 4),
        column_order=[*first, *(name for name in relations if name not in first)],
        column_config={
            "label": st.column_config.TextColumn("relation", pinned=True),
            "onset": number("half known from layer"),
            "last": number("last layer", format="percent"),
            "best_inner": number("best inner layer", format="percent"),
            "best_layer": number("at layer"),
            "drop": number("inner minus last, points", format="points"),
            "above_guess": "above guessing there",
            "majority": number("commonest answer", format="percent"),
            "swapped_last": number("blind guess, last", format="percent"),
            "swapped_inner": number("blind guess, inner", format="percent"),
            "doubling": "last layer doubles it",
            **DEFINITION_WORDS,
            **{f"p_{name}": number(f"p, {name}", format="%.2g") for name in ("authors", "strict")},
            "family_size": "tests corrected for",
            "relation": "id",
        },
    )


def draw_relation_curves(view: View, points: pd.DataFrame, mode: str) -> None:
    """The curves of some relations, with their yardsticks."""
    points = points.dropna(subset=["value"])
    mode = mode if mode == "value" or points[f"above_{mode}"].notna().any() else "value"
    rows = points.sort_values("label").drop_duplicates("relation")
    cardinality = rows["cardinality"].fillna("")
    labels = dict(
        zip(rows["relation"], rows["label"] + cardinality.map(lambda kind: f" ({kind})" if kind else ""), strict=True)
    )
    chosen = [name for name in selection.of(LayersSelection).relations if name in labels]
    lines = chosen[:MAX_LINES] or telling(points)
    selection.bound("relations", value=tuple(lines), options=labels, max_selections=MAX_LINES)
    if beyond := [labels[name] for name in chosen[MAX_LINES:]]:
        words = "At most {most} relations are drawn. Ignored: {names}"
        blocks.note(words, "link_off", most=MAX_LINES, names=listing(beyond))
    places = {name: place for place, name in enumerate(lines)}
    drawn = points[points["relation"].isin(lines)].assign(_place=lambda rows: rows["relation"].map(places))
    drawn = drawn.sort_values(["_place", "layer"]).drop(columns="_place")
    blocks.figure(
        drawing(relation_curves, above(drawn, mode), k=view.chosen.k),
        table=drawn,
        stamp=view.stamp(f"{run_words(view, mode)}, {', '.join(lines)}", (run_of(view)["run_id"],)),
        name="relation-curves",
        caption=RELATION_CURVES,
        how=CURVE_HOW,
        alt=f"P@{view.chosen.k} by layer of {', '.join(lines)}",
        on_point=lambda point: open_relation(view, point),
    )


def telling(points: pd.DataFrame) -> list[str]:
    """The paper's three relations if they are stored, else those with the most facts."""
    there = [name for name in FIGURE_3 if name in set(points["relation"])]
    by_size = points.groupby("relation")["n"].max().sort_values(ascending=False, kind="stable")
    return (there + [name for name in by_size.index if name not in there])[:3]


def heads_tab(view: View, mode: str) -> None:
    """A model and probe set by every stored kind of head: curves, loss and cost, and what fine-tuning lost."""
    chosen, runs = view.chosen, view.runs
    kinds = runs[(runs["model"] == chosen.model) & (runs["probe_set"] == chosen.probe_set)]
    kinds = kinds.sort_values("head", key=lambda heads: heads.map(head_order))
    st.header(filled("Does the reader of {model} matter?", model=view.name(chosen.model)))
    if len(kinds) < 2:
        words = "{model} was probed on {facts} through one reader only: {head}."
        read = head_name(kinds["head"].iloc[0])
        added = LOGIT_LENS if kinds["head"].iloc[0] != LOGIT_LENS else LEAST_SQUARES
        message = filled(words, model=view.name(chosen.model), facts=set_name(chosen.probe_set), head=read)
        blocks.missing(message, heads_command({**kinds.iloc[0], "head": added}))
    draw_readers(view, kinds, mode)
    draw_losses(view, kinds)
    draw_lost(view)


def heads_stamp(view: View, what: str, runs: pd.DataFrame) -> Stamp:
    """Filters and fingerprint of a figure of several kinds of heads."""
    where = f"{view.label(view.chosen.model)}, {set_name(view.chosen.probe_set)}, {view.filter_words()}"
    return view.stamp(f"{what} by kind of head, {where}", tuple(runs["run_id"].unique()))


def draw_readers(view: View, kinds: pd.DataFrame, mode: str) -> None:
    """Right answers by layer, one line per kind of head."""
    chosen, metric = view.chosen, f"p_at_{view.chosen.k}"
    table = view.report(by_layer, tuple(kinds["run_id"]), metric, chosen.average)
    if table["value"].isna().all():
        st.info(NO_FACTS, icon=":material/filter_alt_off:")
        return
    mode = "value" if mode in undefined(table, metric) else mode
    reach = 100 * table.groupby("layer")["value"].agg(["min", "max"])
    layer = (reach["max"] - reach["min"]).idxmax()
    numbers = {"n": table["run_id"].nunique(), "layer": layer, "low": reach["min"][layer], "high": reach["max"][layer]}
    words = "By {n} readers, layer {layer} knows {low:.0f} to {high:.0f} % of the facts; no other layer is as unsure."
    blocks.tab_sentence(words, **numbers)
    blocks.figure(
        drawing(
            metric_curve,
            table.drop(columns="seed"),
            metric=metric,
            average=chosen.average,
            mode=mode,
            colours=view.colours,
            labels=filters.labels(view),
            controls=view.controls,
        ),
        table=table,
        stamp=heads_stamp(view, f"P@{chosen.k}, {chosen.average}", table),
        name="heads-curves",
        caption=READERS,
        how=READERS_HOW,
        alt=f"P@{chosen.k} by layer of {view.label(chosen.model)} by kind of head",
    )


def draw_losses(view: View, kinds: pd.DataFrame) -> None:
    """Validation loss by layer, and what the heads cost."""
    st.markdown("### How well each reads, and what it cost")
    table = view.read(losses, tuple(kinds["run_id"]))
    if table.empty:
        trained = kinds[kinds["head"] != LOGIT_LENS]
        made = (
            probe_command(trained.iloc[0]) if len(trained) else heads_command({**kinds.iloc[0], "head": LEAST_SQUARES})
        )
        blocks.missing(
            "No validation losses are stored; they are when a model is probed on the machine that has its heads.", made
        )
        return
    blocks.figure(
        drawing(head_losses, table),
        table=table,
        stamp=heads_stamp(view, "validation loss", kinds),
        name="heads-losses",
        caption=LOSSES,
        how=LOSSES_HOW,
        alt="Validation loss by layer, one line per kind of head",
    )
    number = st.column_config.NumberColumn
    cost = costs(table)
    blocks.table_with_download(
        cost,
        shown=cost.assign(head=cost["head"].map(head_name)),
        stamp=heads_stamp(view, "cost of training", kinds),
        name="heads-cost",
        column_config={
            "head": "read with",
            "start": "training begins at",
            "steps": number("training steps"),
            "seconds": number(format="%.1f"),
            "inner_loss": number("loss, inner layers", format="%.3f"),
            "below_lens": number("below the own output layer", format="%.3f"),
            "last_loss": number("loss, last layer", format="%.3f"),
        },
    )


def draw_lost(view: View) -> None:
    """What every fine-tuned model lost under each kind of head."""
    st.markdown("### What fine-tuning cost under each reader")
    k, probe_set = view.chosen.k, view.chosen.probe_set
    table = view.report(points_lost, pairs(view.runs[view.runs["probe_set"] == probe_set]), k)
    if table.empty:
        blocks.missing("No fine-tuned model is stored together with its base on these facts.", blocks.FINETUNE_COMMAND)
        return
    if table["value"].isna().all() or not table["n"].sum():
        st.info(NO_FACTS, icon=":material/filter_alt_off:")
        return
    several = table.groupby("model")["head"].transform("nunique") > 1
    losses = table[several] if several.any() else table
    verdicts = read_out(losses)
    verdicts = verdicts.loc[verdicts["what"] == "lost", ["model", "apart", "changed"]]
    kinds = [head for head in HEADS if head in set(losses["head"])]
    words = (
        f"P@{k} lost at the last layer, {set_name(probe_set)}, {', '.join(kinds)} heads, micro, {view.filter_words()}"
    )
    blocks.figure(
        drawing(loss_points, losses, k=k, colours=view.colours, labels=filters.labels(view), controls=view.controls),
        table=table.merge(verdicts, on="model", how="left"),
        stamp=view.stamp(words, tuple(dict.fromkeys((*losses["base_run_id"], *losses["run_id"])))),
        name="heads-lost",
        caption=LOST,
        how=LOST_HOW,
        alt=f"Points of P@{k} lost by fine-tuned model and kind of head, all and beyond blind guesses",
    )


def draw(view: View) -> None:
    view = with_usual_lines(view)
    sentence_place = st.container()
    metric = metric_of(view)
    curve = curve_points(view, metric)
    mode = bar(view, curve, metric)
    if curve.empty:
        st.info(NO_FACTS, icon=":material/filter_alt_off:")
    else:
        steps = curve if metric.startswith("p_at") else curve_points(view, f"p_at_{view.chosen.k}")
        with sentence_place:
            say(view, steps)
            filters.say_size(curve)
        draw_curve(view, curve, metric, mode)
    draw_tab(view, draw_map(view, mode), mode)


@st.fragment
def draw_tab(view: View, relations: pd.DataFrame, mode: str) -> None:
    with selection.open_tab("layers_tab", TABS, view.page) as tab:
        if tab == "relations":
            relations_tab(view, relations, mode)
        elif tab == "heads":
            heads_tab(view, mode)
        elif tab == "carried":
            draw_carried(view)
        else:
            draw_candidates(view)


show("layers", "Layers", "Where does knowledge appear?", draw)
