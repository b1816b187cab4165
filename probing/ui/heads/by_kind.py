"""One model and probe set through every stored kind of head: P@k by layer, validation loss by layer, and what the heads cost."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.head_kinds import HEADS, LEAST_SQUARES, LOGIT_LENS
from probing.figures.knowledge.head_losses import head_losses
from probing.figures.knowledge.layer_curve import layer_curve
from probing.figures.shown_runs import set_name
from probing.figures.yardsticks import MODES, above
from probing.reports.knowledge.heads.training import costs, losses
from probing.reports.knowledge.precision import by_layer
from probing.ui.frame import selection, yardsticks
from probing.ui.frame.count_messages import heads_command, probe_command
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.captions import above_words, majority_words, swapped_words
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled, joined


def runs_of(view: View) -> pd.DataFrame:
    """The runs of the chosen model and probe set, one per kind of head, in the order of the kinds."""
    chosen, runs = view.chosen, view.runs
    kinds = runs[(runs["model"] == chosen.model) & (runs["probe_set"] == chosen.probe_set)]
    return kinds.sort_values("head", key=lambda heads: heads.map(lambda head: (*HEADS, head).index(head)))


_WHAT = (
    "A decoding head turns a layer's hidden state into a ranking of the vocabulary. A layer's knowledge is visible only through a head. "
    "This page compares all stored kinds of heads, each with its swapped subject. An answer that the swapped subject also gets "
    "does not come from the subject."
)


def _controls(view: View) -> None:
    """The rank up to which a fact counts as known."""
    selection.known_rank(view.page)


def _points(view: View) -> pd.DataFrame:
    """P@k by layer of every kind of head; no rows, and a message, if no facts are left."""
    table = view.report(by_layer, tuple(runs_of(view)["run_id"]), f"p_at_{view.chosen.k}", view.chosen.average)
    if table["value"].isna().all():
        st.info("No facts are left under these filters. Loosen them in the sidebar.")
        return table.iloc[:0]
    return table.drop(columns="seed")


def draw_curves(view: View, numbers: Markdown) -> pd.DataFrame:
    """P@k by layer, one line per kind of head, with the yardsticks; returns the points.

    Args:
        view: the page.
        numbers: what the kinds of heads change, in words, for those who ask.
    """
    options = st.popover("Options", icon=":material/tune:")
    with options:
        _controls(view)
    table = _points(view)
    if table.empty:
        view.introduce()
        return table
    k, chosen = view.chosen.k, view.chosen
    yardsticks.say_size(table, chosen.probe_set)
    with options:
        mode = yardsticks.choose(view, "heads_minus", yardsticks.undefined(table, majority=k == 1))
    minus = f" minus {MODES[mode]}" if mode != "value" else ""
    drawn = drawing(
        layer_curve,
        above(table, mode),
        title=f"P@{k}{minus}, {chosen.average}{', points' if minus else ''}",
        unit="share",
        colours=view.colours,
        names={chosen.probe_set: set_name(chosen.probe_set)},
        labels=yardsticks.labels(view),
        controls=view.controls,
    )
    words = above_words(table, mode) if minus else f"{majority_words(table)}{swapped_words(table)}"
    blocks.figure(
        drawn,
        table=table,
        stamp=_stamp(view, f"P@{k}{minus}, {chosen.average}", table),
        name="heads-curves",
        caption=f"Bands are 95 % intervals. {words}",
        alt=f"P@{k}{minus} by layer of {view.label(chosen.model)} by kind of head",
    )
    view.introduce()
    blocks.in_words(Markdown(_WHAT), numbers, _said(view, table))
    return table


def _stamp(view: View, what: str, table: pd.DataFrame):
    where = f"{view.label(view.chosen.model)}, {set_name(view.chosen.probe_set)}, {view.filter_words()}"
    return view.stamp(f"{what} by kind of head, {where}", tuple(table["run_id"].unique()))


def _said(view: View, table: pd.DataFrame) -> Markdown:
    """What the inner layers know under the kinds that differ most, or under the only one; compared with a swapped subject."""
    k, model = view.chosen.k, view.chosen.model
    right = "the right word" if k == 1 else f"the right word among the first {k}"
    last = table["layer"].max()
    inner = table[(table["layer"] > 0) & (table["layer"] < last)].dropna(subset=["value"])
    if inner.empty:
        inner = table[table["layer"] == last]
    best = inner.loc[inner.groupby("head")["value"].idxmax()]
    spread = inner.groupby("layer")["value"].agg(lambda values: values.max() - values.min())
    if best["head"].nunique() == 1:
        row = best.iloc[0].to_dict()
        first = filled(
            "Through its {head} heads, the best inner layer of {model}, {layer}, gives {right} for **{value:.1f} %** of the {n:,} facts"
            "{mean}.",
            head=row["head"],
            model=view.called(model),
            layer=int(row["layer"]),
            right=right,
            value=row["value"] * 100,
            n=int(row["n"]),
            mean=yardsticks.averaged(view.chosen.average, int(row["relations"])),
        )
        return joined(" ", [first, yardsticks.beside(row, yardsticks.again(view, model), majority=k == 1, average=view.chosen.average)])
    layer = int(spread.idxmax())
    here = inner[inner["layer"] == layer].sort_values("value")
    least, most = here.iloc[0].to_dict(), here.iloc[-1].to_dict()
    first = filled(
        "The kinds of heads differ most at layer {layer} of {model}: {right} for {least} and {most} of the facts{mean}.",
        layer=layer,
        model=view.called(model),
        right=right,
        least=_share(least),
        most=_share(most),
        mean=yardsticks.averaged(view.chosen.average, int(most["relations"])),
    )
    return joined(" ", [first, _beside(least, most, view.chosen.average)])


def _share(row: Mapping[str, Any]) -> Markdown:
    return filled("**{value:.1f} %** ({head})", value=row["value"] * 100, head=row["head"])


def _beside(least: Mapping[str, Any], most: Mapping[str, Any], average: str) -> Markdown:
    """The yardsticks of both kinds; a macro mean is no share of the facts that have a swapped subject."""
    words = []
    if pd.notna(most["swapped"]) and pd.notna(least["swapped"]):
        words.append(
            filled(
                "Asked about a **swapped subject** they still give it for {least:.1f} % and {most:.1f} % of {of}: "
                "the subject accounts for {above_least:+.1f} points ({least_low:+.1f} to {least_high:+.1f}) and {above_most:+.1f} "
                "({most_low:+.1f} to {most_high:+.1f}).",
                least=least["swapped"] * 100,
                most=most["swapped"] * 100,
                of="the facts, as the mean over relations" if average == "macro" else f"the {int(most['swapped_n']):,} facts that have one",
                above_least=points(least["above_swapped"]),
                above_most=points(most["above_swapped"]),
                **{
                    f"{name}_{end}": points(row[f"above_swapped_{end}"])
                    for name, row in (("least", least), ("most", most))
                    for end in ("low", "high")
                },
            )
        )
    if pd.notna(most["majority"]):
        words.append(
            filled("Always giving the relation's commonest answer would be right for {share:.1f} %.", share=most["majority"] * 100)
        )
    return joined(" ", words)


def points(share: float) -> float:
    """A difference of shares in points, rounded for display; 0 has no sign."""
    return round(share * 100, 1) + 0.0


def draw_losses(view: View, points: pd.DataFrame) -> None:
    """Validation loss by layer, and what the heads cost."""
    view.contents.section("Validation loss and cost")
    runs = runs_of(view)
    table = view.read(losses, tuple(runs["run_id"]))
    if table.empty:
        trained = runs[runs["head"] != LOGIT_LENS]
        blocks.missing(
            "No validation losses are stored for these heads: they are stored when a model is probed on the machine that has its heads.",
            probe_command((trained if len(trained) else runs).iloc[0])
            if len(trained)
            else heads_command({**runs.iloc[0], "head": LEAST_SQUARES}),
        )
        return
    cost = costs(table)
    st.markdown(_bought(cost))
    blocks.figure(
        drawing(head_losses, table),
        table=table,
        stamp=_stamp(view, "validation loss", runs),
        name="heads-losses",
        caption="Cross-entropy of the masked word pieces of a validation text, in nats: lower is better. The line “logit_lens” is the "
        "pre-trained head at every layer, untrained. A low loss means that a head reads a layer's words well, not that it knows facts.",
        alt="Validation loss by layer, one line per kind of head",
    )
    number = st.column_config.NumberColumn
    blocks.table_with_download(
        cost,
        stamp=_stamp(view, "cost of training", runs),
        name="heads-cost",
        column_config={
            "start": "training begins at",
            "steps": number(help="Gradient steps of all layers together; a head in closed form takes none."),
            "seconds": number(format="%.1f", help="Training of all layers together, without the encoder's forward pass."),
            "inner_loss": number("loss, inner layers", format="%.3f", help="Mean over the layers 1 to L-1, in nats."),
            "below_lens": number("below the logit lens", format="%.3f", help="Loss of the logit lens minus this one, as the same mean."),
            "last_loss": number("loss, last layer", format="%.3f"),
        },
    )


def _bought(cost: pd.DataFrame) -> Markdown:
    """How far each kind is below the logit lens, and what its training cost."""
    trained = cost[(cost["head"] != LOGIT_LENS) & cost["below_lens"].notna()].sort_values("below_lens", ascending=False)
    if trained.empty:
        return Markdown("The loss of the logit lens is not stored, so these losses have no yardstick here.")
    parts = [
        filled(
            "{head} **{below:.2f} nats** ({steps:,} steps{time})",
            head=row.head,
            below=row.below_lens,
            steps=row.steps,
            time=f", {_time(row.seconds)}" if pd.notna(row.seconds) else "",
        )
        for row in trained.itertuples()
    ]
    return filled("Averaged over the inner layers, the loss is below that of the logit lens by: {parts}.", parts=joined("; ", parts))


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
