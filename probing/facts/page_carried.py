"""The tabs on whether the model goes by what a layer shows: of one model, and of a fine-tuned one beside its base."""

import pandas as pd
import streamlit as st

from probing.facts.figures_carried import carried_curves
from probing.facts.report_carried import by_layer, lost, newest
from probing.facts.requests import CARRIED
from probing.facts.store_carried import carried_runs
from probing.kernel.app import blocks
from probing.kernel.app.figure_cache import drawing
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
LOST = "Facts that only the base answers at its last layer."
_COMMAND = "python -m probing probe --model {model} --facts {facts} --measure " + CARRIED


def draw_carried(view: View) -> None:
    """The tab of Layers: the page's model on its facts."""
    st.header("Does the model go by what a layer shows?")
    runs = _runs(view, [view.chosen.model], view.chosen.probe_set)
    if runs is None:
        return
    points = view.read(by_layer, tuple(runs["run_id"]))
    _curves(view, runs, points)
    if (points["part"].eq("inner") & points["n"].gt(0)).any():
        st.markdown("### Facts that only an inner layer reads")
        blocks.figure(
            drawing(carried_curves, points, part="inner", labels=_labels(view)),
            table=points[points["part"] == "inner"],
            stamp=_stamp(view, runs),
            name="carried-inner",
            caption=INNER,
            how=INNER_HOW,
            alt="Share of facts that a layer reads and the last one does not whose state brings the right answer",
        )


def draw_carried_pair(view: View, tuned: str, base: str) -> None:
    """The tab of Compare models: a fine-tuned model and its base on the same facts, and what was lost."""
    runs = _runs(view, [base, tuned], view.chosen.probe_set)
    if runs is None:
        return
    table = view.read(lost, tuple(runs.loc[runs["model"] == tuned, "run_id"]))
    inner = table[table["layer"].between(1, table["layer"].max() - 1)]
    if len(inner):
        best = inner.loc[inner["read"].idxmax()]
        st.markdown(
            filled(
                "Of {lost:,} facts that {tuned} lost, layer {layer} still reads {read:,}; of {measured:,} of these its"
                " state brings back {carried:,}.",
                tuned=view.name(tuned),
                **{name: int(best[name]) for name in ("lost", "layer", "read", "measured", "carried")},
            )
        )
    _curves(view, runs, view.read(by_layer, tuple(runs["run_id"])))
    if len(table):
        st.caption(LOST)
        percent = st.column_config.NumberColumn
        blocks.table_with_download(
            table,
            shown=table.assign(
                **{name: table[name].where(table["measured"].map(may_be_shown)) for name in _CARRIED_SHARES}
            ),
            stamp=_stamp(view, runs),
            name="carried-lost",
            column_order=["layer", "lost", "read", "read_share", "measured", "carried", *_CARRIED_SHARES],
            column_config={
                "read": "still read",
                "read_share": percent("of lost", format="percent"),
                "measured": "of these measured",
                "carried": "carried alone",
                **{
                    name: percent(words, format="percent")
                    for name, words in zip(_CARRIED_SHARES, ("of measured", "low", "high"), strict=True)
                },
            },
        )


_CARRIED_SHARES = ("carried_share", "carried_low", "carried_high")


def _labels(view: View) -> dict[str, str]:
    return {model: view.label(model) for model in view.all_colours}


def _stamp(view: View, runs: pd.DataFrame):
    words = f"carried, {', '.join(runs['model'])}, {set_name(runs['probe_set'].iloc[0])}, all facts"
    return view.stamp(words, tuple(runs["run_id"]))


def _runs(view: View, models: list[str], probe_set: str) -> pd.DataFrame | None:
    """A run of each model on one probe set, the page's if it is stored; else shows the commands that make them."""
    stored = newest(view.read(carried_runs))
    stored = stored[stored["model"].isin(models) & (stored["template_set"] == "default")]
    whole = [name for name, some in stored.groupby("probe_set") if set(models) <= set(some["model"])]
    if not whole:
        lacking = [model for model in models if model not in set(stored["model"])] or models
        command = "\n".join(_COMMAND.format(model=model, facts=probe_set) for model in lacking)
        blocks.missing("It is not measured yet whether this model goes by what its layers show.", command)
        return None
    shown = probe_set if probe_set in whole else whole[0]
    if shown != probe_set:
        words = "Measured on {shown}, not on {asked}."
        st.info(filled(words, shown=set_name(shown), asked=set_name(probe_set)), icon=":material/info:")
    if view.filtered:
        st.info("All facts are counted here: this has no such filters.", icon=":material/filter_alt_off:")
    found = stored[stored["probe_set"] == shown]
    return found.sort_values("model", key=lambda names: names.map(models.index), ignore_index=True)


def _curves(view: View, runs: pd.DataFrame, points: pd.DataFrame) -> None:
    """The sentence with numbers, and the curves."""
    own = points[(points["run_id"] == runs["run_id"].iloc[-1]) & (points["part"] == "known")]
    wide = own.pivot(index="layer", columns="measure", values="value")
    wide["gap"] = own[own["measure"] == "read minus alone"].set_index("layer")["above_null"]
    if wide["gap"].notna().any():
        layer = int(wide["gap"].idxmax())
        at = wide.loc[layer]
        against = filled(", {against:.0f} % against another subject", against=100 * at["against"])
        st.markdown(
            filled(
                "After layer {layer} of {model}, {read:.0f} % of these facts can be read, and {alone:.0f} % are"
                " carried{against}.",
                layer=layer,
                model=view.name(runs["model"].iloc[-1]),
                read=100 * at["read"],
                alone=100 * at["alone"],
                against=against if pd.notna(at["against"]) else filled(""),
            )
        )
    blocks.figure(
        drawing(carried_curves, points, labels=_labels(view)),
        table=points[points["part"] == "known"],
        stamp=_stamp(view, runs),
        name="carried",
        caption=CURVES,
        how=CURVES_HOW,
        alt="Facts read, carried and settled, by layer",
        call=plot(
            "facts",
            "carried",
            {"model": list(runs["model"]), "probe_set": list(runs["probe_set"].unique())},
            False,
        ),
    )
