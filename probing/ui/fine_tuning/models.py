"""All fine-tuned models: a table of measures, which of them correlate, and how far weights moved against what was lost."""

from itertools import combinations

import pandas as pd
import streamlit as st

from probing.core.metrics import METRICS
from probing.core.stats.ranks import FEWEST
from probing.core.tasks.task_success import in_words
from probing.figures.changes.drift_plane import drift_plane
from probing.reports.fine_tuning.by_layer import LOSSES, by_layer
from probing.reports.fine_tuning.measures import TUNED, correlations, measures, within_models
from probing.ui.choices.compare import CompareSelection
from probing.ui.fine_tuning.page_view import Shown
from probing.ui.frame import selection
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, count, escape, filled, joined
from probing.ui.widgets.task_marks import marks_once

#: Measure -> heading and definition.
MEASURES = {
    "probes_first": (
        "probes, first token, points",
        "Change in accuracy of the model's own sentence probes on the first token, in points; mean over tasks and upper layers.",
    ),
    "probes_mean": ("probes, mean of tokens, points", "The same on the mean of all tokens."),
    "facts_lost": ("facts lost", "Share of the facts that the base knows at the last layer and the model does not."),
    "perplexity": ("perplexity", METRICS["masked_perplexity"].definition),
    "emd": ("attention moved, tokens", METRICS["attention_movers_distance"].definition),
    "entropy_change": ("entropy change, nats", METRICS["entropy_change"].definition),
    "cka_last": ("CKA, last layer", METRICS["cka"].definition),
    "drift": ("weight drift", METRICS["weight_drift"].definition),
}
#: Loss -> title of its axis, factor, name in the menu.
PLANE = {
    "facts_lost": ("facts lost, % of what the base knows there", 100, "facts lost"),
    "probes_lost_first": ("accuracy lost, first token, points", 100, "probes, first token"),
    "probes_lost_mean": ("accuracy lost, mean of tokens, points", 100, "probes, mean of tokens"),
    "perplexity_cost": ("log-perplexity saved by putting the layer back, nats", 1, "perplexity"),
    "emd": ("attention moved by, tokens", 1, "attention moved"),
    "cka_lost": ("1 − CKA of sentence vectors", 1, "1 − CKA"),
}
#: Changes of a share, shown in points.
_POINTS = ("probes_first", "probes_mean")
_FORMATS = dict.fromkeys(_POINTS, "%+.1f") | {"facts_lost": "percent", "drift": "percent", "perplexity": "%.0f"}


def draw_table(shown: Shown) -> None:
    """One row per model, and the rank correlations of the measures."""
    table = shown.read(measures, shown.facts, shown.protocol)
    table = table.dropna(subset=list(MEASURES), how="all")
    if table.empty:
        return
    view = shown.view
    view.contents.section("All models")
    st.markdown(
        "All measures of every fine-tuned model. The control and other fine-tuning seeds are at the end: they show how much changes "
        "without a task, or by chance. A larger change alone does not show that the task caused it."
    )
    there = [name for name in MEASURES if table[name].notna().any()]
    top = table.assign(id=table["model"], model=table["model"].map(view.label), verdict=table["verdict"].map(_verdict))
    top[list(_POINTS)] *= 100
    headings = {
        name: st.column_config.NumberColumn(words, help=escape(what), format=_FORMATS.get(name, "%.2f"))
        for name, (words, what) in MEASURES.items()
    }
    blocks.table_with_download(
        table, shown=top, stamp=shown.stamp("measures of what fine-tuning changed", whole=True), name="fine-tuning-models",
        height="content",
        column_order=["model", "role", "verdict", *there, *(["base_perplexity"] if "perplexity" in there else []), "metric", "score",
                      "baseline", "id"],
        column_config={
            "model": st.column_config.TextColumn(pinned=True), "verdict": "task", **headings,
            "base_perplexity": st.column_config.NumberColumn("base's perplexity", format="%.0f"),
            "score": st.column_config.NumberColumn("task score", format="%.3f"),
            "baseline": st.column_config.NumberColumn("its baseline", format="%.3f"), "metric": "task metric",
        },
    )  # fmt: skip
    key = marks_once(view, table["model"])
    if key:
        st.caption(key)
    without = int(table["facts_lost"].isna().sum())
    if "facts_lost" in there and without:
        st.caption(
            filled(
                "“Facts lost” is empty for {models} without predictions of single facts for these heads. *Forgetting* has the shares of "
                "models whose lost facts were searched for.",
                models=count(without, "model"),
            )
        )
    _together(shown, table)


def _verdict(verdict: object) -> str:
    return in_words(verdict) if isinstance(verdict, str) else ""


def _together(shown: Shown, table: pd.DataFrame) -> None:
    """Which measures correlate over models, if there are enough of them."""
    pairs = correlations(table)
    if pairs.empty:
        st.caption(
            filled(
                "Rank correlations need the same two measures for at least {least} fine-tuned models, without the control and other seeds; "
                "here at most {models} {have} two in common.",
                least=FEWEST,
                models=count(n := _most_together(table), "model"),
                have="has" if n == 1 else "have",
            )
        )
        return
    clear = pairs[pairs["q"] <= 0.05]
    said = (
        joined(
            "; ",
            [
                filled("{first} and {second}: {rho:+.2f}", first=_name(row.first), second=_name(row.second), rho=row.rho)
                for row in clear.itertuples()
            ],
        )
        if len(clear)
        else Markdown("none is significant at q ≤ 0.05")
    )
    most = count(int(pairs["n"].max()), "model")
    with st.expander(
        filled("Which measures correlate over models? ({pairs}, n at most {most})", pairs=count(len(pairs), "pair"), most=most),
        icon=":material/scatter_plot:",
    ):
        st.markdown(
            filled(
                "Spearman's rank correlation over fine-tuned models; the control and other seeds are left out. {said}. q is corrected for "
                "all {pairs} pairs; with so few models only the strongest can be significant. Models differ in their probe tasks, and some "
                "share a task or data, so read these as hints, not as tests.",
                said=filled("Significant at q ≤ 0.05: {said}", said=said) if len(clear) else filled("Of these {said}", said=said),
                pairs=len(pairs),
            )
        )
        words = pairs.assign(first=pairs["first"].map(_name), second=pairs["second"].map(_name))
        blocks.table_with_download(
            pairs,
            shown=words,
            stamp=shown.stamp("rank correlations over models", whole=True),
            name="fine-tuning-correlations",
            column_config={
                **{name: st.column_config.NumberColumn(name, format="%.2f") for name in ("rho", "p", "q")},
                "n": st.column_config.NumberColumn("models"),
            },
        )


def _most_together(table: pd.DataFrame) -> int:
    """The greatest number of fine-tuned models that have the same two measures."""
    there = table.loc[table["role"] == TUNED, list(MEASURES)].notna()
    return max(int((there[one] & there[other]).sum()) for one, other in combinations(MEASURES, 2))


def _name(measure: str) -> str:
    return MEASURES[measure][0]


def draw_plane(shown: Shown) -> None:
    """Drift against the chosen loss, one point per model and layer."""
    view = shown.view
    table = shown.read(by_layer, shown.facts, shown.protocol)
    table = table[table["model"] == table["stands"]]
    losses = [name for name in LOSSES if table.dropna(subset=["drift", name]).shape[0]]
    if not losses:
        return
    view.contents.section("Drift against loss")
    wish = selection.of(CompareSelection).plane_loss
    loss = selection.bound(
        st.segmented_control,
        "What was lost",
        "plane_loss",
        view.page,
        value=wish if wish in losses else losses[0],
        options=losses,
        required=True,
        wrap=True,
        format_func=lambda name: PLANE[name][2],
    )
    title, factor, _ = PLANE[loss]
    points = table.dropna(subset=["drift", loss]).reset_index(drop=True)
    st.markdown(_tendency(shown, points, loss))
    blocks.figure(
        drawing(
            drift_plane,
            points,
            loss=loss,
            title=title,
            factor=factor,
            colours=view.all_colours,
            labels={model: view.label(model) for model in points["model"]},
            controls=shown.controls,
        ),
        table=points[["model", "layer", "drift", loss]],
        stamp=shown.stamp(f"weight drift against {PLANE[loss][2]}", whole=True),
        name="fine-tuning-plane",
        caption=filled(
            "One point per model and layer, labelled with the layer if there is space; 0 is the embeddings. "
            "A layer's states depend on all weights below it, so a layer can lose something although its own weights did not move. {key}",
            key=marks_once(view, points["model"]),
        ),
        alt=f"Change of weights against {title}, one point per model and layer",
    )


def _tendency(shown: Shown, points: pd.DataFrame, loss: str) -> Markdown:
    """Whether layers that moved more lost more, model by model."""
    by_model = within_models(points, loss)
    tuned = by_model[~by_model["model"].isin(shown.controls)]
    if tuned.empty:
        return filled("A rank correlation needs at least {least} layers of one model with both measures.", least=FEWEST)
    up = tuned[tuned["rho"] > 0]
    said = filled(
        "In {clear} of the {models}, the layers that moved more lost more (rank correlation over layers above 0 with p ≤ 0.05). "
        "It is above 0 in {up}; layers of one model are not independent",
        clear=int((up["p"] <= 0.05).sum()) or "none",
        models=count(len(tuned), "fine-tuned model"),
        up=len(up) or "none",
    )
    control = by_model[by_model["model"].isin(shown.controls)]
    if control.empty:
        return filled("{said}.", said=said)
    first = control.iloc[0]
    return filled("{said}; in the control the correlation is {rho:+.2f} (p = {p:.2g}).", said=said, rho=first["rho"], p=first["p"])
