"""Ask: what every layer of one or several models says to a sentence of one's own."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from probing.choices import EXAMPLES, OF_EXAMPLE, AskSelection, HomeSelection
from probing.facts.report import Stored
from probing.facts.report import asked as stored_of
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View, show
from probing.kernel.app.texts import Markdown, filled, joined
from probing.kernel.errors import ProbingError
from probing.kernel.fact import MASK
from probing.kernel.figures.theme import ink_on
from probing.kernel.questions import Answer, EveryToken, Question
from probing.kernel.stats.intervals import may_be_shown
from probing.live import page_examples, page_models
from probing.live import page_live_models as live_models
from probing.live.figures import entropy_lines, probability_lines, rank_lines, tint
from probing.live.page_gaps import (
    answer_in,
    ask_gap,
    asked_as,
    choose_right,
    computed,
    draw_changed,
    draw_pairs,
    grids,
    layers_put_back,
    lines,
    named,
    right_words,
)
from probing.live.page_sentence import draw_sentence
from probing.live.page_spans import draw_spans
from probing.live.page_swap import draw_swap
from probing.live.report import every_token_of
from probing.own_model import page_bert

TABS = {
    "gap": "A gap",
    "swap": "Swap",
    "tokens": "All tokens",
    "spans": "Chosen words",
    "sentence": "Whole sentence",
    "pairs": "Pairs",
}
OPTIONS = ("live_models", "live_head", "watch", "top", "pieces", "perturbation", "replaced")
MAX_WATCHED = 6
#: Words of a layer that are asked, for the curves of those that are shown.
TOP = 10
#: Tokens that an opened cell lists.
TOP_OF_CELL = 20
#: Rows and head of the table of all tokens, in pixels, and how many rows are shown before it scrolls.
ROW, ROWS = 35, 18
LINES = {"rank": rank_lines, "probability": probability_lines, "entropy": entropy_lines}
CURVE = "The followed words by layer. Layer 0: before any layer."
SEVERAL_TOKENS = " Several tokens: all masked; worst rank, product of shares."
CURVE_HOW = (
    "Rank: the place of the word in the layer's list of all words, the best on top. Probability: over the whole"
    " vocabulary. Entropy, in nats: how undecided the layer is; 0 if one word has all probability. A word of several"
    " tokens is read with all of them masked, each at its own mask (independent): its probability is their product, its"
    " rank the worst of theirs. Rank 1: the layer, filling every mask by itself, says exactly this word. Entropy of"
    " several masks: their sum."
)
TOKENS = (
    "The best word of each layer at each token; the stronger its colour, the more probable. A click on a cell lists its"
    " twenty best."
)


def examples_of(view: View) -> list[str]:
    """The examples, those of Home first."""
    of_home = [str(example["prompt"]) for example in page_examples.stored_examples(view)] if len(view.runs) else []
    return list(dict.fromkeys([*of_home, *EXAMPLES]))


def first_sentence(view: View) -> str:
    """The sentence that is asked as it was typed, by default that of Home."""
    examples = examples_of(view)
    typed, of_home = selection.current().prompt, min(selection.of(HomeSelection).example, len(examples))
    return examples[of_home - 1] if typed == OF_EXAMPLE else typed


def ask_line(sentence: str) -> None:
    """Draws the sentence of all tabs; Enter and leaving the field send it, too."""
    st.space("small")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        selection.bound(
            "prompt",
            value=sentence,
            max_chars=selection.MAX_TEXT,
            placeholder="Type a sentence with a gap, as in: The capital of France is ___.",
            resets=page_models.fresh(),
            label_visibility="collapsed",
        )
        st.button("Ask", type="primary", key="ask.ask")


def gap(view: View, prompt: str) -> None:
    """The first tab: a sentence with a gap, filled by every layer."""
    stored = view.read(stored_of, prompt) if view.database and prompt.strip() else None
    right, words = right_words(prompt, stored), followed_words(prompt)
    with filters.bar(view, own=OPTIONS, label="Options") as place:
        page_models.choose(view)
        page_models.choose_example("example", {one: {"watch": OF_EXAMPLE} for one in examples_of(view)})
        page_bert.offer(view)
        with place:
            gap_options(view, words)
    if not prompt.strip():
        st.info(r"Type a sentence with a gap, written \[MASK\] or \_\_\_.", icon=":material/edit:")
        return
    if MASK not in prompt:
        page_models.choose_word(prompt)
        return
    own = selection.of(AskSelection)
    there = page_models.ready(view, page_models.chosen(view), own.live_head)
    watch = tuple(dict.fromkeys((*right, *words)))[:MAX_WATCHED]
    questions, answers = ask_gap(view, there, Question(prompt, own.live_head, TOP, watch, pieces=own.pieces or None))
    if not answers:
        return
    word, right = answer_in(view, answers, right)
    choose_right(right)
    how = guesses(next(iter(answers.values())), stored)
    grids(view, list(answers.values()), word, right=right, name="live-tokens", how=how)
    computed(next(iter(answers.values())).device)
    several = prompt.count(MASK) > 1
    if several and own.perturbation:
        st.caption("A changed sentence needs exactly one gap.")
    other = draw_changed(view, questions, answers) if not several else {}
    curve(view, answers, other)
    layers_put_back(view, questions, right)


def followed_words(prompt: str) -> tuple[str, ...]:
    """The words to follow beside the right ones: as typed, or of the example."""
    typed = selection.of(AskSelection).watch
    words = EXAMPLES.get(prompt, "") if typed == OF_EXAMPLE else typed
    return tuple(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))


def gap_options(view: View, words: Sequence[str]) -> None:
    """Draws what a first question does not need."""
    page_models.choose_others(view)
    watch = selection.of(AskSelection).watch
    selection.bound("watch", value=", ".join(words) if watch == OF_EXAMPLE else watch)
    for name in ("live_head", *OPTIONS[3:]):
        selection.bound(name)


def guesses(answer: Answer, stored: Stored | None) -> Markdown:
    """The sentence's yardsticks: chance, a stored relation's commonest answer, and the pieces that the model reads."""
    words, share = "By chance a {what} has {share:.2g} %.", 100 / answer.vocabulary**answer.filled
    what = "word" if answer.filled == 1 else f"phrase of {answer.filled} pieces"
    sentences = [filled(words, what=what, share=share)]
    if stored is not None and may_be_shown(stored.n):
        words = "The commonest answer of such sentences is {most}, right for {share:.0f} % of {n:,} facts."
        sentences.append(filled(words, most=stored.majority, share=stored.share * 100, n=stored.n))
    sentences.append(filled("Word pieces: {pieces}", pieces=" ".join(answer.pieces)))
    return joined(" ", sentences)


def curve(view: View, answers: Mapping[str, Answer], other: Mapping[str, Answer]) -> None:
    """Draws the followed words by layer, as typed and, dotted, in the changed sentence."""
    table = lines(answers, other)
    if table.empty:
        return
    scale = selection.bound("scale")
    drawn, colours, dashes = named(view, table, by_word=scale != "entropy")
    first = next(iter(answers.values()))
    several = any(len(word.ids) > 1 for answer in answers.values() for word in answer.layers[0].watched)
    caption = CURVE + (SEVERAL_TOKENS if several else "")
    blocks.figure(
        drawing(LINES[scale], drawn, colours=colours, dashes=dashes),
        table=table,
        stamp=Stamp(f"{', '.join(answers)}, {first.head} heads, {first.prompt}"),
        name="live-followed",
        caption=f"{caption} Dotted: the changed sentence." if other else caption,
        how=CURVE_HOW,
        alt=f"{scale} by layer of the followed words for: {first.prompt}",
    )


def tokens(view: View, text: str) -> None:
    """The tab of all tokens: the best word of every layer at every token of a sentence."""
    with filters.bar(view, own=["live_head"], label="Options") as place:
        page_models.choose(view)
        page_models.choose_example("example", {example: {} for example in examples_of(view)})
        with place:
            selection.bound("live_head")
    head = selection.of(AskSelection).live_head
    if not text.strip():
        st.info("Type a sentence; it needs no gap.", icon=":material/edit:")
        return
    chosen = next(choice for choice in page_models.chosen(view) if choice.name == page_models.first(view))
    there = page_models.ready(view, [chosen], head)
    if not there:
        return
    try:
        got = live_models.every_token(there[0], text, head, TOP_OF_CELL)
    except ProbingError as error:
        blocks.problem(error)
        return
    cell = opened_cell(got)
    itself = int((got.ids[-1, :, 0] == np.array(got.own)).sum())
    blocks.sentence("The last layer gives {n:,} of the {all:,} tokens back.", n=itself, all=len(got.pieces))
    left, right = st.columns([3, 1]) if cell else (st.container(), None)
    stamp = Stamp(f"{got.model}, {got.head} heads, {got.text}")
    with left:
        token_table(got, stamp)
    if cell and right:
        with right:
            one_cell(got, stamp, *cell)


def token_table(got: EveryToken, stamp: Stamp) -> None:
    """One row per token of the sentence, one column per layer; a click on a cell opens it."""
    best, dark, key = every_token_of(got), blocks.dark(), "ask.every-token"
    words, odds = (best.pivot(index="position", columns="layer", values=name) for name in ("token", "probability"))
    words.columns, odds.columns = ([f"layer {layer}" for layer in table.columns] for table in (words, odds))
    shades = odds.map(
        lambda share: f"background-color: {tint(share, dark=dark)}; color: {ink_on(tint(share, dark=dark))}"
    )
    words.insert(0, "token", list(got.pieces))
    shades.insert(0, "token", "")

    def opened() -> None:
        cells = st.session_state[key].selection.cells
        layers = [(row, column.removeprefix("layer ")) for row, column in cells if column.startswith("layer ")]
        selection.update(cell=f"{layers[0][1]}-{layers[0][0]}" if layers else "")

    st.dataframe(
        words.style.apply(lambda _: shades, axis=None),
        key=key,
        hide_index=True,
        height=ROW * (min(len(words), ROWS) + 1) + 3,
        column_config={"token": st.column_config.TextColumn("token", pinned=True, width=92)}
        | {name: st.column_config.TextColumn(name, width=80) for name in words.columns[1:]},
        on_select=opened,
        selection_mode="single-cell",
    )
    st.caption(TOKENS)
    computed(got.device)
    blocks.csv(lambda: every_token_of(got, TOP_OF_CELL), stamp, "live-every-token")


def opened_cell(got: EveryToken) -> tuple[int, int] | None:
    """Layer and token of the cell of the link; None if there is no such cell."""
    text = selection.of(AskSelection).cell
    match = re.fullmatch(r"(\d{1,3})-(\d{1,5})", text)
    layer, position = map(int, match.groups()) if match else (len(got.ids), 0)
    if layer < len(got.ids) and position < len(got.pieces):
        return layer, position
    blocks.say_ignored([text] if text else [])
    return None


def one_cell(got: EveryToken, stamp: Stamp, layer: int, position: int) -> None:
    every = every_token_of(got, TOP_OF_CELL)
    cell = every[(every["layer"] == layer) & (every["position"] == position)]
    st.markdown(filled("**{piece}**, layer {layer}", piece=got.pieces[position], layer=layer))
    cells = pd.DataFrame({"rank": cell["place"], "token": cell["token"], "probability": cell["probability"]})
    config = {"probability": st.column_config.NumberColumn("share", format="percent")}
    blocks.table_with_download(cell, shown=cells, stamp=stamp, name="live-cell", column_config=config)


DRAWN = {
    "gap": gap,
    "tokens": tokens,
    "spans": draw_spans,
    "sentence": draw_sentence,
    "pairs": draw_pairs,
    "swap": draw_swap,
}


def draw(view: View) -> None:
    sentence = first_sentence(view)
    ask_line(sentence)
    page_bert.progress()
    answer_in_tabs(view, sentence)


@st.fragment
def answer_in_tabs(view: View, sentence: str) -> None:
    with selection.open_tab("ask_view", TABS, view.page) as tab:
        DRAWN[tab](view, asked_as(sentence))


show("ask", "Ask", "What does each layer say to my sentence?", draw, needs_results=False)
