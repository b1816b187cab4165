"""The tab of what fine-tuning changed beyond facts: attention, states, weights, and the properties of sentences."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from probing.changes.figures import evidence_panels
from probing.changes.store import change_runs
from probing.choices import CHANGES as _KINDS
from probing.choices import CompareSelection
from probing.compared.report_evidence import (
    DISTANCE,
    DRIFT,
    EDGES,
    ENTROPY,
    LIKENESS,
    PERPLEXITY,
    PROBE,
    TuningPanels,
)
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.filters import Reading
from probing.kernel.app.frame import View
from probing.kernel.app.save import plot
from probing.kernel.app.selection import open_later
from probing.kernel.app.texts import filled, joined
from probing.kernel.errors import ProbingError
from probing.kernel.files import State, cache_folder, files_state
from probing.sentences.examples import FIRST, POOLINGS
from probing.sentences.figures import POOLING_NAMES
from probing.sentences.figures_changes import change_map, fate_bars
from probing.sentences.numbers import BOUND
from probing.sentences.report import in_panel_order
from probing.sentences.report_changes import NO_PREDICTIONS, NOT_TRAINED, changes, turned_sentences, where_gone_shares
from probing.sentences.store import sentence_runs, sentence_tasks
from probing.sentences.tasks import SENTENCE_TASKS, SOURCES, read_task

#: Digits of a sentence's sha256 that identify it in results.
DIGITS = 16


def with_words(table: pd.DataFrame, task: str, protocol: str) -> pd.DataFrame:
    """The table, with words from a fetched data set for sentences that have none in the store."""
    lacking = table["text"].isna() | (table["text"] == "")
    if not lacking.any():
        return table
    texts = table["example"].map(_fetched(task, protocol))
    return table.assign(text=table["text"].where(~lacking, texts))


def say_missing(task: str, source: str) -> None:
    """One line on sentences that are left out, and the command that fetches them."""
    st.info("These sentences are not shipped (licence); fetch them to read them.", icon=":material/info:")
    if task in SENTENCE_TASKS:
        blocks.command_line(fetch_command(task, source))


def fetch_command(task: str, source: str) -> str:
    """The command that fetches the words of a built-in task: from its source, or from the first of its data sets."""
    data_sets = SENTENCE_TASKS[task].data_sets
    named = [name for name in data_sets if SOURCES[name].title == source]
    return f"python -m probing fetch {(named or data_sets)[0]}"


def _fetched(task: str, protocol: str) -> dict[str, str]:
    """Name -> words of the test sentences of a task; none if its data sets were not fetched, or cannot be read."""
    if task not in SENTENCE_TASKS:
        return {}
    downloads = cache_folder() / "downloads"
    return _texts(
        task, protocol, str(downloads), files_state(downloads / name for name in SENTENCE_TASKS[task].data_sets)
    )


@st.cache_data(max_entries=16, show_spinner="Reading the fetched sentences …")
def _texts(task: str, protocol: str, downloads: str, state: State) -> dict[str, str]:
    """The test sentences by name; ``state`` only serves as part of the cache key."""
    if not state:
        return {}
    try:
        _, data = read_task(task, Path(downloads), protocol)
    except (ProbingError, OSError):
        return {}
    return {sentence.sha256[:DIGITS]: words_of(sentence.text, sentence.pair) for sentence in data.parts["test"]}


def words_of(text: str, pair: str) -> str:
    """A sentence, or a pair of them, on one line."""
    return f"{text} ‖ {pair}" if pair else text


def stored(tuning_view: "TuningView") -> bool:
    """Whether single sentences of the model are stored, and not counts alone."""
    runs = tuning_view.read(sentence_runs)
    return bool(runs.loc[runs["model"] == tuning_view.model, "answered"].astype(bool).any())


def draw_turned_sentences(tuning_view: "TuningView", table: pd.DataFrame) -> None:
    """The choice of a cell, and the list of its sentences; the table is of ``sentences.report_changes.changes``."""
    st.header("Sentences that turned right or wrong")
    task, pooling, layer, way = _chosen(tuning_view, table)
    sentences = tuning_view.read(
        turned_sentences, tuning_view.model, task, pooling, layer, protocol=tuning_view.protocol
    )
    if sentences.empty:
        st.info("Both probes are right on the same sentences.", icon=":material/info:")
        return
    sentences = with_words(
        sentences if way == "both" else sentences[sentences["turned"] == way], task, tuning_view.protocol
    )
    readable = sentences[sentences["text"].notna() & (sentences["text"] != "")].reset_index(drop=True)
    if len(readable) < len(sentences):
        sources = tuning_view.read(sentence_tasks).set_index("task")["source"]
        say_missing(task, str(sources.get(task, "")))
    elif sentences.empty:
        st.info("No sentence turned this way.", icon=":material/info:")
    if len(readable):
        _list(tuning_view, readable, f"{tuning_view.titles[task]}, {POOLING_NAMES[pooling]}, layer {layer}")


def _chosen(tuning_view: "TuningView", table: pd.DataFrame) -> tuple[str, str, int, str]:
    """The cell of the link, the map or the menus, else that of the largest change (ties: first token); and the way."""
    own = selection.of(CompareSelection)
    ranked = table.assign(_size=-table["change"].abs(), _pooling=table["pooling"] != FIRST)
    ranked = ranked.sort_values(["_size", "_pooling"], kind="stable")
    tasks = list(dict.fromkeys(table["task"]))
    task = own.gone_task if own.gone_task in tasks else ranked["task"].iloc[0]
    ranked = ranked[ranked["task"] == task]
    poolings = [pooling for pooling in POOLINGS if pooling in set(ranked["pooling"])]
    pooling = own.gone_pooling if own.gone_pooling in poolings else ranked["pooling"].iloc[0]
    ranked = ranked[ranked["pooling"] == pooling]
    layers = sorted(ranked["layer"].astype(int))
    wish = own.gone_layer
    layer = int(ranked["layer"].iloc[0]) if wish is None or wish not in layers else wish
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        resets = {"gone_pooling": "", "gone_layer": None}
        titles = {name: tuning_view.titles[name] for name in tasks}
        selection.bound("gone_task", value=task, options=titles, resets=resets)
        selection.bound("gone_pooling", value=pooling, options=poolings)
        selection.bound("gone_layer", value=layer, options=layers)
        way = selection.bound("turned_way")
    return str(task), str(pooling), layer, way


def _list(tuning_view: "TuningView", table: pd.DataFrame, where: str) -> None:
    """The sentences; a row opens the page that asks the model."""

    def pick(row: int) -> None:
        text = str(table["text"].iloc[row])
        open_later("ask", afresh=True, ask_view="sentence", whole=text, live_model=tuning_view.model)

    said = map(tuning_view.view.label, (tuning_view.base, tuning_view.model))
    top = table[["text", "turned", "gold", "base_said", "tuned_said"]]
    top = top.set_axis(["sentence", "turned", "right", *said], axis="columns")
    blocks.table_with_download(
        table,
        shown=top,
        name="sentence-turned",
        column_config={"sentence": st.column_config.TextColumn(width="large")},
        height=min(38 + 35 * len(top), 320),
        pick=pick,
        key=f"compare.turned.{tuning_view.model}.{where}",
        stamp=tuning_view.stamp(f"sentences that turned, {where}"),
    )
    blocks.caption("Select a sentence to ask {model} about it.", model=tuning_view.view.name(tuning_view.model))


_MEASURE, _TRAIN = "python -m probing changes measure --model", "python -m probing sentences train --tasks all --model"
#: Measurement -> its name, the prefixes of its panels, and the command that makes it.
MEASURES = {
    "attention": ("attention", (ENTROPY, DISTANCE), _MEASURE),
    "perplexity": ("perplexity", (PERPLEXITY,), _MEASURE),
    "similarity": ("similarity of states", (LIKENESS,), _MEASURE),
    "weights": ("weights", (DRIFT,), _MEASURE),
    "grammar": ("grammar (edge probes)", (EDGES,), "python -m probing edges train --tasks all --model"),
    "sentences": ("sentences (probes)", (PROBE,), _TRAIN),
}
_CAPTION = "Grey: the control, trained on the base's own text."
_HOW = (
    "Training changes a model even if it learns nothing, so the control and other seeds stand beside it; grey points"
    " changed no more than the control did. Bands are 95 % intervals; whiskers reach over several seeds. Attention: the"
    " entropy of the first token's attention, and how far its attention moved, in tokens (earth mover's distance)."
    " Perplexity at layer l: with the base's layers l to the last, 1 to l, or l alone put back; the dotted line is the"
    " model as it is. Similarity: CKA of sentence vectors, and the cosine of the same token's states; 1 is unchanged."
    " Weights: change in per cent of the norm of the base's. Grammar: mean F1 of edge probes. Sentences: accuracy of"
    " the model's own probes minus that of its base's."
)
_CHANGE = "Points; blue: read better than in the base, orange: worse."
_CLICKED = f"{_CHANGE} Click for sentences."
_CHANGE_HOW = (
    "Accuracy of the fine-tuned model's own probes minus that of its base's, on the same test sentences. A change"
    " counts if McNemar's exact test has q ≤ 0.05 (Benjamini and Hochberg over all tasks, vectors and layers of the"
    " model) and it is greater than the control's there, than the control's spread over layers, and than that of its"
    " seeds. In brackets: of one seed only, and seeds of another model differ by as much. “First token against the"
    " base's mean” is Figure 4 of Mosbach et al. (2020): the base's own first token is often below its mean, which is"
    " no effect of fine-tuning; stars there: q ≤ 0.05. Data has intervals, p, and the range over seeds."
)
_FATES = "Numbers are layers; the control shows what any training moves."
_FATES_HOW = (
    "Each cell is a task, a vector and a layer at which the base's probe beats the commonest answer. Its fate is the"
    " first that holds. As before: the base's probe, unchanged. Same layer, new reader: a new probe of the same layer,"
    " linear or a small neural network. Other layer or token: the probe of the mean of all tokens, or that of the"
    " layer that is best on the development part. Not found: every one of these is worse than the base's was, though"
    " another kind of probe may read the property as well. Undecided: no probe holds, and the test sentences are too"
    " few to say that all have lost it. A probe holds if it beats the commonest answer and is, over the whole of"
    f" Newcombe's interval, worse by less than {-100 * BOUND:.0f} points. Data has the accuracies of every cell."
)


@dataclass(frozen=True)
class TuningView(TuningPanels):
    view: View

    def stamp(self, what: str) -> Stamp:
        """Filters and fingerprint of what is shown of the model."""
        runs = (self.read(change_runs), self.read(sentence_runs))
        ids = tuple(run for table in runs for run in table.loc[table["model"] == self.model, "run_id"])
        return self.view.stamp(f"{what}, {self.view.label(self.model)} against {self.view.label(self.base)}", ids)


def draw_changes(view: View, tuned: str) -> None:
    """The tab, for a fine-tuned model against its own recorded base."""
    st.header("What else changed?")
    tuning_view = TuningView(Reading(view).report, tuned, None, view)
    if tuned not in set(tuning_view.tuned["model"]):
        words = filled(
            "{model} is not stored as a fine-tuned model, so it has no base to compare with.", model=view.name(tuned)
        )
        blocks.missing(
            words if tuned else "No fine-tuned model is stored yet.", f"{_MEASURE} {tuned or 'nesia-mini-rank-msmarco'}"
        )
        return
    _measurements(tuning_view)
    table = in_panel_order(
        tuning_view.read(changes, models=(tuned,), protocol=tuning_view.protocol), (tuned,), tuple(tuning_view.titles)
    )
    if table.empty:
        return
    st.header("Are properties of sentences still read?")
    fates, single = tuning_view.gone[tuning_view.gone["fate"] != ""], stored(tuning_view)
    left, right = st.columns(2, gap="medium") if len(fates) else (st.container(), None)
    with left:
        _changes(tuning_view, table, single)
    if right:
        with right:
            _fates(tuning_view, fates)
    if single:
        draw_turned_sentences(tuning_view, table)
    untold = fates.empty and tuning_view.gone["why"].isin([NO_PREDICTIONS, NOT_TRAINED]).any()
    if lacking := [
        words
        for words, is_so in (("where properties are read now", untold), ("which sentences turned", not single))
        if is_so
    ]:
        words = filled("Not stored for {model}: {what}.", model=view.name(tuned), what=joined(", ", lacking))
        blocks.missing(words, f"{_TRAIN} {tuned}")


def _measurements(tuning_view: TuningView) -> None:
    """The chosen measurement by layer, and the commands of those that are missing."""
    panels = set(tuning_view.found["panel"])
    there = [name for name, (_, prefixes, _) in MEASURES.items() if any(panel.startswith(prefixes) for panel in panels)]
    view = tuning_view.view
    if there:
        measure = selection.bound("beyond_measure", options=there, format_func=lambda name: MEASURES[name][0])
        panel_rows = tuning_view.found[tuning_view.found["panel"].str.startswith(MEASURES[measure][1])]
        moved = panel_rows["inside_control"].dropna().astype(bool)
        words = (
            "At {n} of {all} points its {measure} changed more than in the control."
            if len(moved)
            else "{all} points of its {measure} are stored, and no control to compare them with."
        )
        numbers = {"n": int((~moved).sum()), "all": len(moved) or len(panel_rows)}
        blocks.tab_sentence(words, measure=MEASURES[measure][0], **numbers)
        blocks.figure(
            drawing(
                evidence_panels,
                panel_rows,
                names=[
                    view.label(name) if name else ""
                    for name in (tuning_view.model, tuning_view.base, tuning_view.control)
                ],
                colours=[view.all_colours[name] for name in (tuning_view.model, tuning_view.base)],
                tasks=tuning_view.titles,
                tall=True,
            ),
            table=panel_rows,
            stamp=tuning_view.stamp(f"{MEASURES[measure][0]} by layer"),
            name="beyond-facts",
            caption=_CAPTION,
            how=_HOW,
            alt=f"{MEASURES[measure][0]} of {view.label(tuning_view.model)}, layer by layer",
        )
    lacking = {words: command for name, (words, _, command) in MEASURES.items() if name not in there}
    if lacking:
        words = filled(
            "Not measured for {model}: {what}.", model=view.name(tuning_view.model), what=joined(", ", lacking)
        )
        blocks.missing(
            words, "\n".join(f"{command} {tuning_view.model}" for command in dict.fromkeys(lacking.values()))
        )


def _changes(tuning_view: TuningView, table: pd.DataFrame, single: bool) -> None:
    """Tasks by layers; a click chooses the cell whose sentences are listed, if single ones are stored."""
    kind = selection.bound("change_kind")
    model, base = (tuning_view.view.label(name) for name in (tuning_view.model, tuning_view.base))
    blocks.figure(
        drawing(change_map, table, kind=kind, titles=tuning_view.titles, model=model, base=base),
        table=table,
        stamp=tuning_view.stamp(f"change of sentence probes, {_KINDS[kind]}"),
        name="sentence-change",
        call=(
            plot(
                "sentences",
                "changes",
                {"model": tuning_view.model, "pooling": kind, "protocol": tuning_view.protocol},
            )
            if kind in POOLING_NAMES
            else ""
        ),
        caption=_CLICKED if single else _CHANGE,
        how=_CHANGE_HOW,
        alt=f"Change of sentence probes of {model} by task and layer",
        on_point=(
            (lambda cell: selection.update(gone_task=cell[0], gone_pooling=cell[1], gone_layer=int(cell[2])))
            if single
            else None
        ),
    )


def _fates(tuning_view: TuningView, fates: pd.DataFrame) -> None:
    """Where each property is read: task by task, and of the control all tasks together."""
    shares = tuning_view.read(
        where_gone_shares, models=(tuning_view.model,), protocol=tuning_view.protocol, by=("task", "pooling")
    )
    control = (
        tuning_view.read(
            where_gone_shares, models=(tuning_view.control,), protocol=tuning_view.protocol, by=("pooling",)
        )
        if tuning_view.control
        else shares[:0]
    )
    blocks.figure(
        drawing(
            fate_bars,
            pd.concat([shares, control.assign(task=control["model"])], ignore_index=True),
            titles=tuning_view.titles
            | {tuning_view.control: tuning_view.view.label(tuning_view.control) if tuning_view.control else ""},
        ),
        table=fates,
        stamp=tuning_view.stamp("where properties are read"),
        name="where-gone",
        call=plot("sentences", "where-gone", {"model": tuning_view.model, "protocol": tuning_view.protocol}),
        caption=_FATES,
        how=_FATES_HOW,
        alt="Share of each fate by task and vector, of the model and of its control",
    )
