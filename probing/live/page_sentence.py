"""The tab of a whole sentence: attention of a token, what probes say, and the same word twice."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from probing.changes.figures_attention import PANELS, attention_map, attention_panels, head_map
from probing.changes.report import values as stored_measures
from probing.choices import SENTENCES, AskSelection
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import count, filled, joined, listing
from probing.kernel.errors import ProbingError
from probing.kernel.figures import theme
from probing.kernel.figures.axis import layer_lines
from probing.kernel.models.names import LOGIT_LENS
from probing.live import page_live_models as live_models
from probing.live import page_models
from probing.live.page_gaps import CHANGED, named
from probing.live.page_live_models import Choice
from probing.live.page_models import choose, choose_others, chosen, is_named, labelled_colours, ready
from probing.sentences.figures import POOLING_NAMES
from probing.sentences.numbers import VERDICT_COLUMNS
from probing.sentences.report_accuracy import accuracies, best_predicting

if TYPE_CHECKING:
    from probing.changes.passes import OneModel, SentenceAttention


def models_of(attention: "SentenceAttention") -> "list[OneModel]":
    """The models whose attention it is, the base first."""
    return [of_model for of_model in (attention.before, attention.own) if of_model is not None]


def attention_of(of_model: "OneModel", token: int, head: int | None) -> np.ndarray:
    """(layers, tokens) what a token attends to, by one head or by the mean of all."""
    shares: np.ndarray = (of_model.maps.mean(1) if head is None else of_model.maps[:, head])[:, token]
    return shares


def attention_rows(attention: "SentenceAttention", token: int, head: int | None) -> pd.DataFrame:
    """``model, layer, place, token, share``: what a token attends to."""
    rows = [
        (of_model.name, layer, place, target, float(share))
        for of_model in models_of(attention)
        for layer, shares in enumerate(attention_of(of_model, token, head), 1)
        for place, (target, share) in enumerate(zip(attention.tokens, shares, strict=True), 1)
    ]
    return pd.DataFrame(rows, columns=["model", "layer", "place", "token", "share"])


def attention_values(attention: "SentenceAttention", token: int, head: int | None) -> pd.DataFrame:
    """``model, measure, layer, value``: entropy, shares and, of two models, distances."""
    rows = [
        (model, measure, layer, float(value))
        for measure, model, values in attention.by_layer(token, head)
        for layer, value in enumerate(values, start=1)
    ]
    return pd.DataFrame(rows, columns=["model", "measure", "layer", "value"])


def best_verdicts(
    tables: Mapping[str, pd.DataFrame],
    changed: Mapping[str, pd.DataFrame],
    stored: pd.DataFrame,
    names: Callable[[str], str],
) -> pd.DataFrame:
    """What the best probe of each model and property says, next to its yardstick; one row per property and model.

    Of a changed sentence (``changed``, in the same rows as ``found``, or empty) also what the probe says then, and how
    many of the probes that are better than the commonest label change theirs.
    """
    rows = []
    for model, table in tables.items():
        for task, of_task in table.groupby("task", sort=False):
            at = best_predicting(of_task, stored[(stored["model"] == model) & (stored["task"] == task)])
            best = of_task.loc[at]
            row = {
                "property": best["title"],
                "model": names(model),
                "says": best["label"],
                "p": best["p"],
                "right in tests": best["accuracy"],
                "commonest label": best["majority"],
                "no better than that": "yes" if best["chance"] else "",
                "layer": int(best["layer"]),
                "read from": best["pooling"],
            }
            if model in changed:
                other = changed[model].loc[of_task.index]
                counts = ~of_task["chance"].astype(bool)
                turned = int(((of_task["number"] != other["number"]) & counts).sum())
                row |= {"swapped: says": other.loc[at, "label"], "swapped: p": other.loc[at, "p"]}
                row |= {"probes that change": f"{turned} of {int(counts.sum())}"}
            rows.append(row)
    return pd.DataFrame(rows)


def swapped(words: Sequence[str], place: int) -> str:
    """The sentence in which a word, from 1, changes places with the next one; ``""`` if there is none."""
    if not 0 < place < len(words):
        return ""
    return " ".join((*words[: place - 1], words[place], words[place - 1], *words[place + 1 :]))


MODELS = 2
#: Maximum number of rows of a map; the table has all tokens.
MAX_TOKENS = 48
MAP = "What the chosen token attends to, layer by layer; each column sums to 1, and both models have one scale."
MAP_HOW = (
    "Attention says from which tokens a layer takes what it adds to the chosen token; it is not how important a word"
    " is. The chosen token is bold. A long sentence is drawn up to its 48th token; Data has all."
)
PANELS_CAPTION = "Dotted: equal attention to all tokens."
PANELS_HOW = (
    "Entropy: 0 if one token gets all attention, ln n if all n tokens get the same. Distance: the earth mover's, by how"
    " many tokens attention has to be moved on average to turn the first model's into the second's. Data also has the"
    " total variation."
)
HEADS = "One number per head and layer; a click on a cell chooses its head."
HEADS_HOW = "Of two models the distance between them, in tokens; of one model the entropy, in nats."
TWICE = "Mean cosine of a word's states: 1 if they are equal. Dotted: different words (anisotropy), if that is stored."
TWICE_HOW = (
    "At layer 0 the states of a word differ by their positions only. Different words have a cosine above 0, too."
)


def draw_sentence(view: View, sentence: str) -> None:
    """Draws the choice of models, and what they do with the sentence."""
    own = selection.of(AskSelection)
    text, pair = " ".join(sentence.split()), " ".join(own.second.split())
    words = text.split()
    with filters.bar(view, own=("live_models", "second", "swapped"), label="Options") as place:
        choose(view)
        page_models.choose_example("sentence", {example: {"second": ""} for example in SENTENCES})
        with place:
            choose_others(view, MODELS)
            selection.bound("second", resets={"attending": None})
            most = max(len(words) - 1, 0)
            selection.bound("swapped", max_value=most, value=own.swapped if own.swapped <= most else 0)
    if not text:
        st.info("Type a sentence, or choose an example.", icon=":material/edit:")
        return
    choices = ready(view, chosen(view, MODELS))
    if not choices:
        return
    base = live_models.base_of(choices[-1])
    if base and base not in live_models.choices():
        words_of = "{name} was fine-tuned from {base}, which is not in this menu."
        blocks.note(words_of, base=base, name=view.name(choices[-1].name))
    try:
        attention = page_models.attention(choices[-1], choices[0] if len(choices) > 1 else None, text, pair)
    except ProbingError as error:
        blocks.problem(error)
        attention = None
    if attention is not None:
        _attention(view, choices[-1], attention)
    _probes(view, choices, text, pair, swapped(words, own.swapped))
    if attention is not None:
        _same_word(view, attention)


def _attention(view: View, model: Choice, attention: "SentenceAttention") -> None:
    """Draws the choice of token and head, one map per model, and the numbers by layer."""
    tokenizer = live_models.load(model, LOGIT_LENS).encoder.tokenizer
    unknown = attention.tokens.count(str(tokenizer.unk_token))
    if unknown:
        words = "{n} of {all} are unknown to the model, which treats all unknown ones alike."
        blocks.note(words, "help", n=count(unknown, "word piece"), all=len(attention.tokens))
    summary = st.container()
    token, head = _chosen(attention, str(tokenizer.mask_token))
    both = models_of(attention)
    maps = {of_model.name: attention_of(of_model, token, head) for of_model in both}
    most = [(name, int(shares[-1].argmax()), float(shares[-1].max())) for name, shares in maps.items()]
    parts = [
        filled(
            "{where}**{token}** ({share:.0f} %)",
            where=f"in {view.name(name)} at " if place else "",
            token=attention.tokens[at],
            share=share * 100,
        )
        for place, (name, at, share) in enumerate(most)
    ]
    with summary:
        blocks.sentence(
            "In the last layer **{token}** looks most at {parts}.",
            token=attention.tokens[token],
            parts=joined("; ", parts),
        )
    which = "mean of all heads" if head is None else f"head {head + 1}"
    stamp = Stamp(f"{', '.join(maps)}, attention of {attention.tokens[token]}, {which}, {' '.join(attention.tokens)}")
    table, top = attention_rows(attention, token, head), max(float(shares.max()) for shares in maps.values())
    for number, (place, (name, shares)) in enumerate(zip(st.columns(len(maps)), maps.items(), strict=True), 1):
        with place:
            st.markdown(filled("**{model}**", model=view.label(name)))
            blocks.figure(
                drawing(
                    attention_map, shares[:, :MAX_TOKENS], attention.tokens[:MAX_TOKENS], maximum=top, marked=token
                ),
                table=table[table["model"] == name],
                stamp=stamp,
                name=f"live-attention-{number}",
                caption=MAP,
                how=MAP_HOW,
                alt=f"What {attention.tokens[token]} attends to in {view.label(name)}",
            )
    place = st.expander(
        "Attention by layer and head", icon=":material/ssid_chart:", key="ask.by-layer", on_change="rerun"
    )
    if place.open:
        with place:
            _by_layer(view, attention, token, head, stamp)


def _chosen(attention: "SentenceAttention", gap: str) -> tuple[int, int | None]:
    """Draws the choice; returns the attending token, by default the gap or else one in the middle, and the head, both
    from 0; head None means the mean of all.
    """
    own, heads, tokens = selection.of(AskSelection), attention.own.maps.shape[1], list(attention.tokens)
    usual = tokens.index(gap) if gap in tokens else len(tokens) // 2
    token = usual if own.attending is None or own.attending >= len(tokens) else own.attending
    head = own.attention_head if own.attention_head <= heads else 0
    offered = {
        "attending": (
            "Attention of",
            token,
            len(attention.tokens),
            lambda place: f"{place + 1}. {attention.tokens[place]}",
        ),
        "attention_head": (
            "Head",
            head,
            heads + 1,
            ["mean of all heads", *(f"head {n}" for n in range(1, heads + 1))].__getitem__,
        ),
    }
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for name, (label, value, n, written) in offered.items():
            selection.bound(
                name,
                filled("{label}", label=label),
                value=value,
                options=list(range(n)),
                format_func=written,
                width=200,
                label_visibility="collapsed",
            )
    return token, head - 1 if head else None


def _by_layer(view: View, attention: "SentenceAttention", token: int, head: int | None, stamp: Stamp) -> None:
    """Draws entropy, distance and shares by layer, and one number per head and layer."""
    values, n, names = (
        attention_values(attention, token, head),
        len(attention.tokens),
        [of_model.name for of_model in models_of(attention)],
    )
    drawn = values[values["measure"].isin(PANELS)]
    blocks.figure(
        drawing(
            attention_panels,
            drawn.assign(name=drawn["model"].map(view.label)),
            colours=labelled_colours(view, names),
            dashes={view.label(name): theme.line_dash(name in view.controls) for name in names},
            yardsticks={"entropy": math.log(n), "first": 1 / n, "self": 1 / n},
        ),
        table=values,
        stamp=stamp,
        name="live-attention-layers",
        caption=PANELS_CAPTION,
        how=PANELS_HOW,
        alt="Entropy, distance and shares of attention by layer",
    )
    if attention.distance is not None:
        by_head, what, unit = attention.distance[..., token], "distance between the two models", "tokens"
    else:
        by_head, what, unit = attention.own.entropy[..., token], "entropy", "nats"
    rows = [
        (layer + 1, number + 1, value)
        for layer, of_layer in enumerate(by_head)
        for number, value in enumerate(of_layer)
    ]
    blocks.figure(
        drawing(head_map, by_head, what=what, unit=unit, maximum=float(by_head.max()), marked=head),
        table=pd.DataFrame(rows, columns=["layer", "head", f"{what}, {unit}"]),
        stamp=stamp,
        name="live-attention-heads",
        caption=HEADS,
        how=HEADS_HOW,
        alt=f"Heads by layer: {what}",
        on_point=lambda point: selection.update(attention_head=int(point[0])),
    )


def _probes(view: View, choices: list[Choice], text: str, pair: str, other: str) -> None:
    """Draws what the best probe of each property says, one row per property and model."""
    st.header("What probes say")
    found = {
        choice.name: table
        for choice in choices
        if (table := _verdicts(view, choice, text, pair)) is not None and len(table)
    }
    if not found:
        return
    changed: dict[str, pd.DataFrame] = {}
    if other:
        st.markdown(filled("> {other}", other=other))
        try:
            changed = {choice.name: _table(choice, other, pair) for choice in choices if choice.name in found}
        except ProbingError as error:
            # In its new place a word may have more word pieces, so that the sentence becomes too long.
            blocks.problem(error)
    none = pd.DataFrame(columns=["model", "task", "pooling", "layer", "accuracy", "dev_right"])
    stored = view.read(accuracies, tuple(found)) if view.database is not None else none
    best = best_verdicts(found, changed, stored, view.label)
    every = [
        table.assign(sentence=words) for words, tables in ((text, found), (other, changed)) for table in tables.values()
    ]
    blocks.table_with_download(
        pd.concat(every, ignore_index=True).drop(columns=["number", "classes"]),
        shown=best.assign(**{"read from": best["read from"].map(POOLING_NAMES)}),
        stamp=Stamp(f"{', '.join(found)}, {text}"),
        name="live-verdicts",
        column_config={
            name: st.column_config.NumberColumn(format="percent")
            for name in ("p", "right in tests", "commonest label", "swapped: p")
        },
    )


def _verdicts(view: View, choice: Choice, text: str, pair: str) -> pd.DataFrame | None:
    """The predictions of a model's probes; a message if a named model has none, or asking fails."""
    name, stamps = view.name(choice.name), page_models.probes_of(choice)
    if not stamps and not is_named(view, choice):
        return None
    if not stamps:
        what = filled("No sentence probes are trained on the layers of {name} yet.", name=name)
        blocks.missing(what, f"python -m probing sentences train --model {shlex.quote(choice.location)} --tasks all")
        return None
    try:
        table = _table(choice, text, pair)
    except ProbingError as error:
        blocks.problem(error)
        return None
    left = sorted({read.title for stamp in stamps if (read := page_models.read(*stamp)).pairs != bool(pair)})
    if left:
        needs = "a single sentence" if pair else "two sentences"
        blocks.caption(
            "Not applied to {name}, for they need {needs}: {titles}.", name=name, needs=needs, titles=listing(left, 8)
        )
    return table


def _table(choice: Choice, text: str, pair: str) -> pd.DataFrame:
    rows = [
        row
        for verdicts in page_models.verdicts(choice, page_models.probes_of(choice), text, pair)
        for row in verdicts.rows(choice.name)
    ]
    return VERDICT_COLUMNS.frame(rows)


def _same_word(view: View, attention: "SentenceAttention") -> None:
    """Draws the similarity of a repeated word's states, one line per word and model."""
    st.header("The same word twice")
    table = attention.similarities()
    if table.empty:
        st.caption("No word occurs twice in this sentence. Write a word twice to compare its states at every layer.")
        return
    names = [of_model.name for of_model in models_of(attention)]
    lines, colours, dashes = named(view, table)
    if view.database is not None:
        usual = view.read(stored_measures, tuple(names), ("anisotropy",)).rename(columns={"value": "similarity"})
        usual = usual.assign(name=[f"different words · {view.label(model)}" for model in usual["model"]])
        lines = pd.concat([lines, usual[["name", "model", "layer", "similarity"]]], ignore_index=True)
        hues = view.colours_of(names)
        colours |= {f"different words · {view.label(model)}": hues[model] for model in names}
        dashes |= dict.fromkeys(usual["name"], CHANGED)
    blocks.figure(
        drawing(similarity_lines, lines, colours, dashes),
        table=table,
        stamp=Stamp(f"{', '.join(names)}, same word, {' '.join(attention.tokens)}"),
        name="live-same-word",
        caption=TWICE,
        how=TWICE_HOW,
        alt="Self-similarity by layer",
    )


def similarity_lines(lines: pd.DataFrame, colours: dict[str, str], dashes: dict[str, str]):
    figure = layer_lines(lines, "similarity", "%{y:.3f}", colours=colours, dashes=dashes)
    figure.update_yaxes(title_text="similarity (cosine)")
    return figure
