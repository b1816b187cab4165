"""Where each property of the base's layers went, and the model's changes in words."""

import pandas as pd
import streamlit as st

from probing.core.sentences.example import POOLINGS
from probing.core.sentences.fates import FATES
from probing.figures.sentences.fate_bars import fate_bars
from probing.figures.sentences.looks import POOLING_NAMES
from probing.reports.fine_tuning.paragraph import Names, paragraph
from probing.reports.sentences.gone import where_gone_shares
from probing.ui.fine_tuning.selection import FineTuningSelection
from probing.ui.fine_tuning.shown import Shown
from probing.ui.frame import navigation, selection
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled, joined

#: Fate -> its meaning, in the order in which fates are tested.
MEANS = {
    "unmoved": "the base's probe reads it as well as before",
    "rescaled": "the base's probe reads it with the fine-tuned model's means and scales",
    "turned": "the base's probe reads it after a mapping that was fitted without labels",
    "re-encoded": "a new probe reads it, even with a quarter of the training sentences",
    "dearer": "a new probe reads it, but needs more than a quarter of the training sentences",
    "other tokens": "the first token lost it, the mean of all tokens did not",
    "other layer": "another layer's probe is as good as the base's best",
    "not linear": "a small neural network still reads it",
    "not found": "nothing here reads it, which does not mean that it is erased",
}
_ACCURACIES = {
    "base_accuracy": "base's probe on the base", "frozen": "base's probe, frozen", "rescaled": "rescaled", "aligned": "aligned",
    "own": "own probe", "quarter": "own, a quarter", "mean": "own, mean of tokens", "best": "own, best layer", "mlp": "MLP",
    "majority": "majority label",
}  # fmt: skip


def draw(shown: Shown) -> None:
    """The bars, and the table of cells with the link to their sentences."""
    counts = shown.gone[shown.gone["counted"] & (shown.gone["where_gone"] != "")] if len(shown.gone) else shown.gone
    if shown.gone.empty:
        return
    shown.view.contents.section("Where each property went")
    st.markdown(
        "Each cell is a task, a vector and a layer at which the base's probe beats the majority label. Its fate is the first in the list "
        "below that holds. A probe reads the property if it is at most one point below the base's and McNemar's test finds no loss."
    )
    with st.expander("The nine fates", icon=":material/route:"):
        st.markdown(joined("\n", [filled("- **{fate}**: {words}", fate=fate, words=words) for fate, words in MEANS.items()]))
    shares = shown.report(where_gone_shares, models=(shown.model,), protocol=shown.protocol, by=("task", "pooling"))
    blocks.figure(
        drawing(fate_bars, shares, titles=shown.titles), table=shares, stamp=shown.stamp("where properties went"), name="where-gone",
        caption="Numbers count layers. Blue to green: the base's own or a new linear probe still reads the property; yellow to red: "
        "neither does, and the colour shows where else it was found.",
        alt="Share of each fate by task and vector",
    )  # fmt: skip
    if len(counts):
        _cells(shown, counts.reset_index(drop=True))


def _cells(shown: Shown, cells: pd.DataFrame) -> None:
    places = cells["where_gone"].map(FATES.index)
    # Lost properties come first: these rows need an explanation.
    cells = cells.assign(_fate=-places).sort_values(["_fate", "task", "pooling", "layer"], kind="stable").drop(columns="_fate")
    cells = cells.reset_index(drop=True)
    keys = list(cells[["task", "pooling", "layer"]].itertuples(index=False, name=None))
    key = f"fine_tuning.gone.{shown.model}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            task, pooling, layer = keys[rows[0]]
            selection.update(gone_task=task, gone_pooling=pooling, gone_layer=int(layer))

    top = pd.DataFrame(
        {"property": cells["task"].map(lambda one: shown.titles.get(one, one)), "vector": cells["pooling"].map(POOLING_NAMES)}
        | {"layer": cells["layer"], "where it went": cells["where_gone"]}
        | {words: cells[name] for name, words in _ACCURACIES.items()}
    )  # fmt: skip
    blocks.table_with_download(
        cells, shown=top, name="where-gone-cells", height=min(38 + 35 * len(top), 320), key=key, on_select=picked,
        selection_mode="single-row", stamp=shown.stamp("fates of properties"),
        column_config={
            "property": st.column_config.TextColumn(pinned=True),
            **{words: st.column_config.NumberColumn(words, format="percent") for words in _ACCURACIES.values()},
        },
    )  # fmt: skip
    _one(shown, cells)


def _one(shown: Shown, cells: pd.DataFrame) -> None:
    """The chosen cell in words, and the link to its sentences."""
    own = selection.of(FineTuningSelection)
    mine = cells[(cells["task"] == own.gone_task) & (cells["pooling"] == own.gone_pooling) & (cells["layer"] == own.gone_layer)]
    row = (mine if len(mine) else cells).iloc[0].to_dict()
    st.markdown(
        filled(
            "**{title}, {pooling}, layer {layer}: {fate}**: {words}. The base's probe had {before:.1f} % right, the model's own has "
            "{after:.1f} % (majority baseline {majority:.1f} %).", title=shown.titles.get(row["task"], row["task"]),
            pooling=POOLING_NAMES[row["pooling"]], layer=int(row["layer"]), fate=row["where_gone"], words=MEANS[row["where_gone"]],
            before=row["base_accuracy"] * 100, after=row["own"] * 100, majority=row["majority"] * 100,
        )
    )  # fmt: skip
    navigation.link(
        "sentence_probes", "The sentences of this cell that turned right or wrong", tuned_model=shown.model, turned_task=row["task"],
        turned_pooling=row["pooling"], turned_layer=int(row["layer"]), turned_example="",
        sentence_protocol="" if shown.protocol == "ours" else shown.protocol,
    )  # fmt: skip


def draw_words(shown: Shown) -> None:
    """The sentences that follow from the numbers by rule."""
    if shown.found.empty:
        return
    names = Names(shown.view.label(shown.model), shown.view.label(shown.base), shown.titles)
    said = paragraph(shown.found, shown.gone, names)
    if not said:
        return
    shown.view.contents.section("In words")
    if shown.view.verdicts.get(shown.model) == "not learned":
        said = ("It was trained and did not learn its task, so none of this can be put down to that task.", *said)
    st.markdown(joined("\n", [filled("- {sentence}", sentence=one) for one in said]))
    words = (
        "These sentences follow from the numbers above by rule. A layer has lost a property if its own probe is worse than the base's "
        "with q ≤ 0.05, and by more than the control's."
    )
    st.caption(Markdown(words))


assert set(MEANS) == set(FATES) and set(POOLINGS) == set(POOLING_NAMES)
