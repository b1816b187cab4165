"""A user's own file of labelled sentences: read, probed at every layer of a chosen model, and not stored."""

import hashlib
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import code, count, filled, joined, size_words
from probing.kernel.errors import ProbingError
from probing.kernel.stats.intervals import SMALL_SET
from probing.kernel.user_tables import SUFFIXES
from probing.live import page_live_models as live_models
from probing.sentences import tasks
from probing.sentences.examples import PARTS, POOLINGS, SentenceData
from probing.sentences.figures import layer_panels
from probing.sentences.page_probes import CAPTION, HOW
from probing.sentences.readers import FEWEST_EXAMPLES
from probing.sentences.report_accuracy import best_read
from probing.sentences.splits import MAX_AT_ONCE, cut_to

if TYPE_CHECKING:
    from probing.sentences.predictions import Curve

SAMPLE = "sentence\tlabel\nThe dogs are barking .\tplural\nThe dog is barking .\tsingular\n"


@dataclass(frozen=True)
class Upload:
    """A file that was read: the sentences that are probed, how many the file has (``whole``), and its sha256."""

    data: SentenceData
    whole: int
    sha256: str


def draw_own_file(view: View) -> None:
    """Upload, check, probe, curve."""
    st.header("Can your own labels be read from a model's layers?")
    st.markdown(
        filled(
            "A table (CSV, TSV, JSON or Parquet) with the columns {names}; {more} may follow. It needs {least}"
            " sentences per label; at most {most:,} are used. The file stays on this machine and is not stored.",
            names=joined(" and ", map(code, ("sentence", "label"))),
            more=joined(", ", map(code, ("pair", "part", "group"))),
            least=FEWEST_EXAMPLES,
            most=MAX_AT_ONCE,
        )
    )
    st.code(SAMPLE, language=None)
    kind = "text/tab-separated-values"
    blocks.download("Save this sample", SAMPLE, "own-sentences.tsv", kind, "own-sentences.sample")
    offered = {name: choice for name, choice in live_models.choices().items() if choice.here}
    left, right = st.columns(2)
    with left:
        file = st.file_uploader("Your sentences", type=[suffix[1:] for suffix in SUFFIXES], key="own-sentences.file")
    with right:
        words = {name: choice.called(view.label(name)) for name, choice in offered.items()}
        model = selection.bound("live_model", value=selection.current().live_model or view.chosen.model, options=words)
    if file is None:
        return
    try:
        upload = read_upload(file.getvalue(), file.name)
    except ProbingError as error:
        blocks.problem(error)
        return
    _summary(upload, offered[model])
    key = f"own-sentences.{upload.sha256[:16]}.{model}"
    with st.container(horizontal=True):
        clicked = st.button(
            filled("Probe every layer of {model}", model=view.name(model)), type="primary", key="own-sentences.ask"
        )
        cancel = st.empty()
    if clicked:
        st.session_state.pop(key, None)
        # A click reruns the page, which ends this run at the next step of the progress bar.
        cancel.button("Cancel", key="own-sentences.cancel", icon=":material/close:")
        try:
            st.session_state[key] = probed(upload.data, offered[model])
        except ProbingError as error:
            blocks.problem(error)
        cancel.empty()
    if key in st.session_state:
        _answer(view, model, upload.data, *st.session_state[key])


def read_upload(content: bytes, name: str) -> Upload:
    """A file of labelled sentences, cut to ``MAX_AT_ONCE``; a refusal names line and reason."""
    _, data = tasks.read_upload(content, name)
    whole = sum(len(data.parts[part]) for part in PARTS)
    return Upload(cut_to(data, MAX_AT_ONCE), whole, hashlib.sha256(content).hexdigest())


def _summary(upload: Upload, choice: live_models.Choice) -> None:
    data = upload.data
    train, dev, test = (len(data.parts[part]) for part in PARTS)
    left = joined(", ", (filled("{n:,} {reason}", n=n, reason=reason) for reason, n in sorted(data.dropped.items())))
    st.markdown(
        filled(
            "{labels}: {shown}. {train:,} sentences train the probes, {dev:,} choose their regularisation and {test:,}"
            " test them{left}.{how}",
            labels=count(len(data.labels), "label"),
            shown=", ".join(data.labels[:8]) + (", …" if len(data.labels) > 8 else ""),
            train=train,
            dev=dev,
            test=test,
            left=filled("; left out: {left}", left=left) if left else "",
            how=filled(" Read as {how}.", how=data.said) if data.said else "",
        )
    )
    if upload.whole > train + dev + test:
        blocks.note(
            "Of {n:,} sentences, {most:,} are used here. For all of them:", n=upload.whole, most=train + dev + test
        )
        command = f"python -m probing sentences train --model {shlex.quote(choice.location)} --tasks YOUR_FILE.tsv"
        blocks.command_line(command)


def probed(data: SentenceData, choice: live_models.Choice) -> tuple[pd.DataFrame, int]:
    """The accuracy of each layer's probes, as ``sentences.report_accuracy`` gives it, and how many sentences were too
    long.

    A rerun of the page ends it: Streamlit stops the script when it updates the progress bar.
    """
    from probing.sentences.predictions import quick_curve

    bar = st.progress(0.0, text="Loading the model …")

    def at(share: float) -> None:
        bar.progress(share, text=filled("Reading and probing: {share:.0f} %", share=share * 100))

    curve = live_models.in_turn(choice, lambda turn, live: quick_curve(data, live.encoder, at, turn.pause))
    bar.empty()
    return _table(choice.name, data.task, curve), curve.too_long


def _table(model: str, task: str, curve: "Curve") -> pd.DataFrame:
    """One row per pooling and layer, as ``sentences.report_accuracy.accuracies`` has them."""
    rows = []
    for (place, layer), right in np.ndenumerate(curve.right):
        rows.append(
            {
                "model": model,
                "task": task,
                "pooling": POOLINGS[place],
                "layer": layer,
                "c": float(curve.c[place, layer]),
                "dev_right": int(curve.dev_right[place, layer]),
                "accuracy": right / curve.n_test,
                "low": curve.low[place, layer],
                "high": curve.high[place, layer],
                "right": int(right),
                "n_train": curve.n_train,
                "n_test": curve.n_test,
                "majority": curve.majority / curve.n_test,
                "surface": curve.surface / curve.n_test,
            }
        )
    return pd.DataFrame(rows)


def _answer(view: View, model: str, data: SentenceData, table: pd.DataFrame, too_long: int) -> None:
    best = best_read(table)
    best_row = best.iloc[0]
    st.header(
        filled(
            "Layer {layer} labels {share:.0f} % right; the commonest answer {majority:.0f} %, length and words alone"
            " {surface:.0f} %.",
            layer=int(best_row["layer"]),
            share=best_row["accuracy"] * 100,
            majority=best_row["majority"] * 100,
            surface=best_row["surface"] * 100,
        )
    )
    if too_long:
        blocks.note("{n} too long for the model and left out.", n=count(too_long, "sentence is", "sentences are"))
    if (n := int(best_row["n_test"])) < SMALL_SET:
        st.info(size_words(n, "test sentences"), icon=":material/straighten:")
    colours = view.colours_of([model])
    blocks.figure(
        drawing(
            layer_panels,
            table,
            colours=colours,
            labels={model: view.label(model)},
            titles={data.task: data.task},
            best=best,
        ),
        table=table,
        stamp=Stamp(f"own sentences, {view.label(model)}"),
        name="own-sentences",
        caption=CAPTION,
        how=HOW,
        alt="Right answers of probes on your sentences by layer",
    )
