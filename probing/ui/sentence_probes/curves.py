"""The accuracy of each layer's probes, one panel per task."""

from functools import partial

import streamlit as st

from probing.core.stats.baselines import SMALL_SET
from probing.figures.sentences.layer_panels import layer_panels
from probing.ui.frame import selection
from probing.ui.sentence_probes.page_view import TRAIN_COMMAND, Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.captions import size_words
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import code, filled
from probing.ui.widgets.paper.calls import plot

_NAMES = {"value": "accuracy", "majority": "minus majority", "surface": "minus surface baseline"}
_WORDS = {
    "value": "Share of the test sentences that a layer's probe labels correctly.",
    "majority": "Above 0: more correct sentences than with the commonest training label, which is the same at every layer.",
    "surface": "Above 0: more correct sentences than the same probe has from length, first letter, final mark and words alone.",
}


def draw(shown: Shown) -> None:
    """The switch, the panels, and the tasks in numbers."""
    shown.view.contents.section("Layer by layer")
    mode = selection.bound(
        st.segmented_control,
        "Show",
        "sentence_minus",
        shown.view.page,
        options=list(_NAMES),
        required=True,
        wrap=True,
        format_func=_NAMES.__getitem__,
    )
    panel = shown.panels.panels()
    table = panel.rows
    if table.empty:
        blocks.missing(
            "No probes are stored for these models and tasks.",
            f"python -m probing sentences train --model {shown.models[0]} --tasks {','.join(shown.tasks)}",
        )
        return
    own = shown.about[shown.about["level"].eq("own") & shown.about["task"].isin(list(shown.tasks))]
    for name, n in zip(own["title"], own["n_test"], strict=True):
        if n < SMALL_SET:
            st.info(size_words(int(n), "test sentences", str(name)), icon=":material/straighten:")
    control = bool(set(shown.controls) & set(shown.models))
    seeds = table["seed_low"].notna().any() and bool((table["seeds"] > 1).any())
    blocks.figure(
        drawing(layer_panels, table, mode=mode, colours=shown.colours, labels=shown.labels, controls=shown.controls, **panel.options),
        table=table,
        stamp=shown.stamp(f"sentence probes, {_NAMES[mode]}"),
        call=""
        if mode != "value"
        else plot(
            "sentences",
            "accuracy",
            model=list(shown.models),
            task=list(shown.tasks),
            pooling=list(shown.own.poolings) or None,
            protocol=shown.protocol,
        ),
        name="sentence-layers",
        caption=filled(
            "{words} Dashed: the first token's state; solid: the mean over all tokens. Bands are 95 % intervals.{fixed}{seeds}{control} "
            "Layer 0 holds no context, and its first token is the same vector for every sentence, so its probe gives the majority. {key}",
            words=_WORDS[mode],
            fixed="" if mode == "value" else " They treat the baseline as exact.",
            seeds=" Whiskers: the range over several fine-tuning seeds." if seeds else "",
            control=" Open markers: the control." if control else "",
            key=shown.key(),
        ),
        alt="Accuracy of sentence probes by layer, one panel per task, with majority and surface baseline",
    )
    blocks.folded("The tasks: sentences, labels, sources", partial(_about, shown), key="sentence-tasks.fold", icon="info")


def _about(shown: Shown) -> None:
    """The tasks in numbers."""
    about = shown.about[shown.about["task"].isin(list(shown.tasks))]
    about = about.assign(labels=[", ".join(map(str, labels)) for labels in about["labels"]])
    columns = ["title", "level", "labels", "n_train", "n_dev", "n_test", "dropped", "source", "licence", "task", "sha256"]
    blocks.table_with_download(
        about[[column for column in columns if column in about]],
        stamp=shown.stamp("tasks of sentence probes"),
        name="sentence-tasks",
        column_config={
            "title": st.column_config.TextColumn("task", pinned=True),
            "task": "name on the command line",
            "dropped": st.column_config.TextColumn("left out", help="Reason and number of sentences."),
            **{f"n_{part}": st.column_config.NumberColumn(f"{part} sentences") for part in ("train", "dev", "test")},
        },
    )
    st.caption(filled("A file of your own is a task too: {command}", command=code(f"{TRAIN_COMMAND.rsplit(' ', 1)[0]} YOUR_FILE.tsv")))
