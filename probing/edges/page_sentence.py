"""One sentence word by word: its spans through the layers (Figure 3 of Tenney et al. 2019), and how to find it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import KINDS, TRACE_PARTS, GrammarSelection
from probing.edges.figures_spans import trace_bars
from probing.edges.page_words import TRAIN_COMMAND, say_missing, with_words
from probing.edges.store import edge_labels, edge_runs, edge_tasks, traced_parts
from probing.edges.store_sentences import count_sentences, sentences, traces
from probing.edges.targets import CUMULATIVE, TASK
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, count, filled, mark_key
from probing.kernel.provenance import TRAINED

_FILTERS = ("trace_task", "trace_label", "settled", "trace_kind")
#: What any change of a filter resets.
_RESTART = {"trace_page": 1, "text_hash": ""}
#: Rows of the list, characters of a hash that are shown, panels that are drawn at first, and at most.
ROWS, HASH, FIRST, MAX_PANELS = 25, 12, 3, 15
#: Stored probabilities are integers up to this.
_STEPS = 255
_HEADINGS = {
    "sentence": st.column_config.TextColumn(width="large"),
    "targets": "labels that pass",
    "ambiguous": "depend on context",
    "revisions": "changes between layers",
}
_CAPTION = "Blue, upwards: the right label. Orange, downwards: the strongest wrong one."
_CAPTION_SETTLED = f"{_CAPTION} Dotted: right from here on."
_HOW = (
    "A probe labels a span of words, or a pair of spans, from the layers 0 to l. A bar is a label's probability as a"
    " share of the sum over all labels, because probes score labels independently; the wrong label is the one with the"
    " greatest mean over all layers. Drawn first are the panels whose most probable label changes most often; the data"
    " have all. Memory: the commonest training label of the same words, or the commonest label of all. A label depends"
    " on context if no label has a mean share above 0.7 over the layers (the paper's rule). Our own sentences were"
    " written for this page and labelled like the data sets: they show what probes do, but are too few for scores. The"
    " dev part also decided when training stopped; the test part did not."
)


@dataclass(frozen=True)
class Traced:
    """The stored answers that the tab shows: the chosen model's runs that have traces of the part, one per task."""

    view: View
    runs: pd.DataFrame
    tasks: dict[str, str]
    model: str
    part: str

    @property
    def own(self) -> GrammarSelection:
        return selection.of(GrammarSelection)

    @property
    def task(self) -> str:
        """The chosen task; ``""`` for all."""
        return self.own.trace_task if self.own.trace_task in self.tasks else ""

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(self.runs["run_id"])

    def labels(self) -> list[str]:
        table = self.view.read(edge_labels)
        return list(table.loc[table["task"] == self.task, "name"])

    def filters(self) -> dict[str, Any]:
        """The active filters, as the store expects them."""
        own = self.own
        return {
            "task": self.task or None,
            "label": own.trace_label if own.trace_label in self.labels() else None,
            "unseen": own.unseen,
            "kind": own.trace_kind,
            "settled": own.settled,
        }

    def stamp(self, what: str) -> Stamp:
        filters = [f"{name} {value}" for name, value in self.filters().items() if value and value != "any"]
        return self.view.stamp(
            ", ".join([what, self.view.label(self.model), TRACE_PARTS[self.part], *filters]), self.run_ids
        )


def draw_sentence(view: View) -> None:
    """The bar of filters, the sentence with its panels, and the list from which one is chosen."""
    if not (traced := _open(view)):
        return blocks.missing("No answers to single words are stored yet.", TRAIN_COMMAND)
    first, below = st.container(), st.container()
    with below:
        sentence = _listing(traced)
    if sentence:
        with first:
            _sentence(traced, sentence)


def traced_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """One run per model and task whose answers can be read layer by layer: of the trained encoder, with cumulative
    probes on the task's labels. Of several, the lowest seed is taken, then the widest probe."""
    candidates = runs[
        (runs["kind"] == CUMULATIVE) & (runs["encoder"] == TRAINED) & (runs["labels"] == TASK) & runs["traced"]
    ]
    chosen = candidates.sort_values(["seed", "width"], ascending=[True, False], kind="stable").drop_duplicates(
        ["model", "task"]
    )
    return chosen.sort_index()


def _open(view: View) -> Traced | None:
    """The bar, and the stored answers that it keeps; None if there are none."""
    runs = traced_runs(view.read(edge_runs)) if view.database is not None else pd.DataFrame()
    if runs.empty:
        return None
    own = selection.of(GrammarSelection)
    models = [model for model in view.all_colours if model in set(runs["model"])]
    model = own.edge_model if own.edge_model in models else models[0]
    model_runs = runs[runs["model"] == model]
    stored = view.read(traced_parts)
    parts = [
        part for part in TRACE_PARTS if part in set(stored.loc[stored["run_id"].isin(model_runs["run_id"]), "part"])
    ]
    part = own.trace_part if own.trace_part in parts else parts[0]
    model_runs = model_runs[model_runs["run_id"].isin(stored.loc[stored["part"] == part, "run_id"])]
    titles = view.read(edge_tasks).drop_duplicates("task").set_index("task")["title"]
    tasks = {task: str(titles.get(task, task)) for task in model_runs["task"]}
    traced = Traced(view, model_runs, tasks, model, part)
    with filters.bar(view, own=_FILTERS, words={**tasks, **KINDS}, key="sentence-filters") as place:
        if len(models) > 1:
            selection.bound(
                "edge_model",
                value=model,
                options=models,
                format_func=view.label,
                width=200,
                help=mark_key(view.verdicts, models),
                resets={"trace_page": 1},
            )
        if len(parts) > 1:
            selection.bound("trace_part", value=part, options=parts, resets=_RESTART)
        with place:
            _filters(traced)
    values = ((own.edge_model, view.all_colours), (own.trace_part, parts), (own.trace_task, tasks))
    blocks.say_ignored([TRACE_PARTS.get(name, name) for name, there in values if name and name not in there])
    return traced


def _filters(traced: Traced) -> None:
    titles, labels, last = traced.tasks, traced.labels(), int(traced.runs["layers"].max()) - 1
    selection.bound(
        "trace_task",
        value=traced.task,
        options=["", *titles],
        format_func=lambda task: titles.get(task, "any"),
        resets={**_RESTART, "trace_label": ""},
    )
    if labels:
        label = traced.filters()["label"] or ""
        selection.bound(
            "trace_label",
            value=label,
            options=["", *labels],
            format_func=lambda value: value or "any",
            resets=_RESTART,
        )
    selection.bound(
        "settled",
        options=[None, *range(last + 1)],
        format_func=lambda layer: "any" if layer is None else "0 (embeddings)" if layer == 0 else str(layer),
        resets=_RESTART,
    )
    selection.bound("trace_kind", resets=_RESTART)


def _listing(traced: Traced) -> str:
    """The list of sentences; returns the hash of the one to show, ``""`` if none is found."""
    own, filters = traced.own, traced.filters()
    total = traced.view.read(count_sentences, traced.run_ids, traced.part, **filters)
    if not total:
        st.info("No sentence passes these filters.", icon=":material/filter_alt_off:")
        defaults = {name: selection.default_of(traced.view.page, name) for name in (*_FILTERS, "unseen", "trace_page")}
        st.button("Clear all filters", on_click=selection.update, kwargs=defaults)
        return own.text_hash
    pages = -(-total // ROWS)
    page = min(max(own.trace_page, 1), pages)
    offset = (page - 1) * ROWS
    table = traced.view.read(
        sentences, traced.run_ids, traced.part, order=own.trace_order, offset=offset, limit=ROWS, **filters
    )
    table = with_words(traced.view, traced.part, table)
    keys = list(table["text_sha256"])
    _head(traced, total, page, pages)
    key = f"grammar.list.{abs(hash((traced.run_ids, traced.part, page, own.trace_order, *map(str, filters.values()))))}"
    top = table.assign(sentence=[named(row) for row in table.to_dict("records")])[list(_HEADINGS)]
    blocks.choices(top, lambda row: selection.update(text_hash=keys[row]), key=key, headings=_HEADINGS)
    say_missing(traced.view, traced.part, table, Markdown("The words of some sentences are not shipped"))
    return own.text_hash or keys[0]


def _head(traced: Traced, total: int, page: int, pages: int) -> None:
    """The number of sentences, their order, and the buttons to other pages of the list."""
    st.header(filled("{sentences} to choose from", sentences=count(total, "sentence")), anchor="sentences")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        selection.bound("trace_order", resets=_RESTART)
        for label, icon, other in (("Back", "chevron_left", page - 1), ("More", "chevron_right", page + 1)):
            if pages > 1:
                st.button(
                    filled("{label}", label=label),
                    key=f"grammar.{label}",
                    icon=f":material/{icon}:",
                    disabled=not 1 <= other <= pages,
                    on_click=selection.update,
                    kwargs={"trace_page": other, "text_hash": ""},
                )


def named(row: Mapping[str, Any]) -> str:
    """A sentence by its words, or by its hash if they are not available."""
    return str(row["text"]) if has_words(row) else f"text {row['text_sha256'][:HASH]}"


def has_words(row: Mapping[str, Any]) -> bool:
    return isinstance(row["text"], str) and bool(row["text"])


def _sentence(traced: Traced, sentence: str) -> None:
    """The sentence, and one panel per label of its spans."""
    rows = traced.view.read(traces, traced.run_ids, traced.part, sentence, **traced.filters())
    if rows.empty:
        blocks.note("This model has no stored answers to the link's sentence on this part of the data.", "link_off")
        return
    rows = in_tasks(traced, with_words(traced.view, traced.part, rows))
    first = rows.iloc[0].to_dict()
    source = f" ({first['document']})" if isinstance(first["document"], str) and first["document"] else ""
    st.header(filled("{sentence}{source}", sentence=named(first), source=source), anchor="sentence")
    say_missing(traced.view, traced.part, rows.head(1), Markdown("Spans are word positions, counted from 1"))
    targets = rows.drop_duplicates(["task", "target"])
    passing = int(targets["passes"].sum())
    kept = rows if traced.own.every_target or not passing else rows[rows["passes"]]
    panels = panels_of(traced, kept)
    with st.container(horizontal=True, gap="medium"):
        if passing < len(targets):
            selection.bound("every_target")
        if panels["panel"].nunique() > FIRST:
            selection.bound("other_panels")
    each = panels.drop_duplicates("panel")
    blocks.tab_sentence(right_labels(each["settled"], panels["layer"].max()))
    drawn = most_revised(panels, MAX_PANELS if traced.own.other_panels else FIRST)
    blocks.figure(
        drawing(trace_bars, drawn),
        table=panels,
        stamp=traced.stamp(f"text {sentence[:HASH]}"),
        name="edge-traces",
        caption=_CAPTION_SETTLED if drawn["settled"].notna().any() else _CAPTION,
        how=_HOW,
        alt="Share of the right label and of the strongest wrong one by layer, one panel per label",
    )


def right_labels(settled: pd.Series, last: int) -> Markdown:
    """How many labels are right at the last layer, and when the latest of them was."""
    n, late = int(settled.notna().sum()), int((settled == last).sum())
    words = filled("{n} of {every} are right at the last layer", n=n, every=count(len(settled), "label"))
    if late:
        return words + filled(", {late} of these not yet at the one before.", late=late)
    return words + (
        filled(", and all of these from layer {layer:.0f} on.", layer=settled.max()) if n else Markdown(".")
    )


def in_tasks(traced: Traced, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows in the order of tasks, and of targets in the sentence."""
    places = rows.assign(_task=rows["task"].map(list(traced.tasks).index))
    return (
        places.sort_values(["_task", "start1", "end1", "target", "layer"]).drop(columns="_task").reset_index(drop=True)
    )


def title_of_target(tasks: Mapping[str, str], row: Mapping[str, Any]) -> str:
    """ "entities: Toronto", "Semantic roles: smoked → Toronto"; without words "entities: words 2–3"."""
    spans = [(row["start1"], row["end1"])]
    if pd.notna(row["start2"]):
        spans.append((row["start2"], row["end2"]))
    words = row["text"].split(" ") if has_words(row) else None
    return f"{tasks[row['task']]}: {' → '.join(_span(int(start), int(end), words) for start, end in spans)}"


def _span(start: int, end: int, words: list[str] | None) -> str:
    if words is not None:
        return " ".join(words[start:end])
    return f"word {start + 1}" if end == start + 1 else f"words {start + 1}–{end}"


def panels_of(traced: Traced, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the figure: one per target, right label (or none) and layer."""
    points = []
    for row in rows.to_dict("records"):
        total = row["p_sum"] or 1
        for place, gold in enumerate(list(row["gold"]) or [""]):
            p = row["p_gold"][place] if len(row["p_gold"]) > place else 0
            points.append(
                {
                    "panel": f"{row['task']}.{row['target']}.{place}",
                    "title": title_of_target(traced.tasks, row),
                    "task": row["task"],
                    "gold": gold or "(no label)",
                    "wrong": row["wrong"],
                    "layer": int(row["layer"]),
                    "p_gold": p / total,
                    "p_wrong": row["p_wrong"] / total,
                    "sigmoid_gold": p / _STEPS,
                    "sigmoid_wrong": row["p_wrong"] / _STEPS,
                    "top": row["top"],
                    "right": row["right"],
                    "settled": int(row["settled"]) if row["settled"] >= 0 else None,
                    "revisions": int(row["revisions"]),
                    "memory": " + ".join(row["memory"]),
                    "memory_right": bool(row["memory_right"]),
                    "mean_share": row["strongest_mean"],
                    "in_training": bool(row["seen"]),
                }
            )
    return pd.DataFrame(points).astype({"settled": "float64"})


def most_revised(panels: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many panels, in their order: those whose most probable label changes most often; ties: the first."""
    each = panels.drop_duplicates("panel").sort_values("revisions", ascending=False, kind="stable")
    return panels[panels["panel"].isin(each["panel"].head(most))]
