"""The tabs on whether the model goes by what a layer shows: of one model, and of a fine-tuned one beside its base."""

import pandas as pd
import streamlit as st

from probing.facts.figures_carried import carried_curves
from probing.facts.report_carried import READ_NOT_CARRIED, by_layer, lost, newest
from probing.facts.requests import CARRIED
from probing.facts.store_carried import carried_runs
from probing.kernel.app import blocks
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.save import plot
from probing.kernel.app.texts import filled
from probing.kernel.figures.looks import set_name
from probing.kernel.stats.intervals import may_be_shown

CURVES = "Shaded: facts that a layer lets one read, while its state does not yet bring the answer. Dotted: nulls."
CURVES_HOW = (
    "Facts that the last layer answers. Read here: the answer is first at this layer, by the model's own head. Carried:"
    " the gap's state after this layer is put into the same sentence with the subject masked, and the last layer"
    " answers; facts that this sentence answers by itself are left out. Against another: into the sentence of another"
    " subject with another answer, which may overrule it. Null of both: another fact's state. Settled: the answer stays"
    " although the gap does not see the subject above this layer; its null hides as many other tokens, mostly the"
    " relation's words. Bands: 95 % intervals. That a head reads an answer does not show that the model goes by it;"
    " that a state carries it does not show that nothing else does."
)
INNER = "Of facts that a layer reads and the last one does not: what comes first when their state is carried."
INNER_HOW = (
    "The gap's state after the layer is put into the same sentence with the subject masked. Where neither the right"
    " answer nor what the last layer says comes first, another token does. Layers that read few such facts have wide"
    " bands."
)
SHARES = ("carried_share", "carried_low", "carried_high")
_COMMAND = "python -m probing probe --model {model} --facts {facts} --measure " + CARRIED


def draw_carried(view: View) -> None:
    """The tab of Layers: the page's model on its facts."""
    st.header("Does the model go by what a layer shows?")
    if (runs := _runs(view, [view.chosen.model])) is None:
        return
    points = view.read(by_layer, tuple(runs["run_id"]))
    _curves(view, runs, points)
    if (points["part"].eq("inner") & points["n"].gt(0)).any():
        st.markdown("### Facts that only an inner layer reads")
        _figure(view, runs, points, "inner", "carried-inner", INNER, INNER_HOW)


def draw_carried_pair(view: View, tuned: str, base: str) -> None:
    """The tab of Compare models: a fine-tuned model and its base on the same facts, and what was lost."""
    if (runs := _runs(view, [base, tuned])) is None:
        return
    _curves(view, runs, view.read(by_layer, tuple(runs["run_id"])))
    table = view.read(lost, tuple(runs.loc[runs["model"] == tuned, "run_id"]))
    inner = table[table["layer"].between(1, table["layer"].max() - 1)]
    if inner.empty:
        return
    st.header("Lost facts, layer by layer")
    best = inner.loc[inner["read"].idxmax()]
    words = (
        "Of {lost:,} facts that {tuned} lost, layer {layer} still reads {read:,}; of {measured:,} of these that were"
        " tried, its state brings back {carried:,}."
    )
    numbers = {name: int(best[name]) for name in ("lost", "layer", "read", "measured", "carried")}
    st.markdown(filled(words, tuned=view.name(tuned), **numbers))
    blocks.table_with_download(
        table,
        shown=table.assign(**{name: table[name].where(table["measured"].map(may_be_shown)) for name in SHARES}),
        stamp=_stamp(view, runs),
        name="carried-lost",
        height=38 + 35 * min(len(table), 13),
        column_order=["layer", "lost", "read", "read_share", "measured", "carried", *SHARES],
        column_config={name: st.column_config.NumberColumn(format="percent") for name in ("read_share", *SHARES)},
    )


def _runs(view: View, models: list[str]) -> pd.DataFrame | None:
    """A run of each model on one probe set, the page's if it is stored; else shows the commands that make them."""
    asked, stored = view.chosen.probe_set, newest(view.read(carried_runs))
    stored = stored[stored["model"].isin(models) & (stored["template_set"] == "default")]
    whole = [name for name, some in stored.groupby("probe_set") if set(models) <= set(some["model"])]
    if not whole:
        here = set(stored.loc[stored["probe_set"] == asked, "model"])
        command = "\n".join(_COMMAND.format(model=model, facts=asked) for model in models if model not in here)
        blocks.missing("It is not measured yet whether this model goes by what its layers show.", command)
        return None
    shown = asked if asked in whole else whole[0]
    words = filled("Measured on {facts}.", facts=set_name(shown)) if shown != asked else filled("")
    if view.filtered:
        words += " All facts are counted here: this has no such filters."
    if words:
        st.info(words, icon=":material/info:")
    found = stored[stored["probe_set"] == shown]
    return found.sort_values("model", key=lambda names: names.map(models.index), ignore_index=True)


def _curves(view: View, runs: pd.DataFrame, points: pd.DataFrame) -> None:
    """The sentence with numbers, and the curves."""
    own = points[(points["run_id"] == runs["run_id"].iloc[-1]) & (points["part"] == "known")]
    wide = own.assign(value=own["value"].fillna(own["above_null"])).pivot(
        index="layer", columns="measure", values="value"
    )
    if wide[READ_NOT_CARRIED].notna().any():
        layer = int(wide[READ_NOT_CARRIED].idxmax())
        at = 100 * wide.loc[layer]
        words = "After layer {layer} of {model}, {read:.0f} % of these facts can be read, and {alone:.0f} % are carried"
        words += ", {against:.0f} % against another subject." if pd.notna(at["against"]) else "."
        numbers = {name: at[name] for name in ("read", "alone", "against")}
        blocks.tab_sentence(words, layer=layer, model=view.name(runs["model"].iloc[-1]), **numbers)
    _figure(view, runs, points, "known", "carried", CURVES, CURVES_HOW)


def _figure(view: View, runs: pd.DataFrame, points: pd.DataFrame, part: str, name: str, caption: str, how: str) -> None:
    filters = {"model": list(runs["model"]), "probe_set": list(runs["probe_set"].unique())}
    blocks.figure(
        drawing(carried_curves, points, part=part, labels={model: view.label(model) for model in view.all_colours}),
        table=points[points["part"] == part],
        stamp=_stamp(view, runs),
        name=name,
        caption=caption,
        how=how,
        alt=caption,
        call=plot("facts", "carried", filters) if part == "known" else "",
    )


def _stamp(view: View, runs: pd.DataFrame) -> Stamp:
    words = f"carried, {', '.join(runs['model'])}, {set_name(runs['probe_set'].iloc[0])}, all facts"
    return view.stamp(words, tuple(runs["run_id"]))
