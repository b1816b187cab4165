"""Ask: what every layer of one or several models says to a sentence of one's own."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from probing.choices import EXAMPLES, OF_EXAMPLE, AskSelection
from probing.facts.report import Stored
from probing.facts.report import asked as stored_of
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, csv_bytes, drawing, file_name
from probing.kernel.app.frame import View, end, open_page
from probing.kernel.app.texts import Markdown, escape, filled, joined, listing
from probing.kernel.errors import ProbingError, PromptError
from probing.kernel.figures.theme import ink_on
from probing.kernel.questions import SPELLINGS, Answer, EveryToken, Question, with_masks
from probing.kernel.stats.intervals import may_be_shown
from probing.live import page_examples, page_models
from probing.live import page_live_models as live_models
from probing.live.figures import entropy_lines, probability_lines, rank_lines, tint
from probing.live.page_gaps import computed, draw_changed, draw_pairs, grids, layers_put_back, lines, named
from probing.live.page_live_models import Choice
from probing.live.page_sentence import draw_sentence
from probing.live.page_spans import draw_spans
from probing.live.page_swap import draw_swap
from probing.live.report import every_token_of, first_layers

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
#: How a sentence on a word of several tokens begins: how it is read, or how the shown phrases were filled in.
MASKED, BEST_FIRST = Markdown("With all its tokens masked, "), Markdown("Filled best first, ")
TOKENS = (
    "The best word of each layer at each token; the stronger its colour, the more probable. A click on a cell lists its"
    " twenty best."
)


def first_sentence(view: View) -> tuple[str, list[str]]:
    """The sentence that is asked as it was typed, by default Home's first, and the examples."""
    runs = page_examples.base_runs(view) if len(view.runs) else view.runs
    examples = [str(example["prompt"]) for example in page_examples.stored_examples(view, runs)] if len(runs) else []
    examples = list(dict.fromkeys([*examples, *EXAMPLES]))
    typed = selection.of(AskSelection).prompt
    return examples[0] if typed == OF_EXAMPLE else typed, examples


def ask_line(view: View, label: Markdown, sentence: str) -> None:
    """Draws the sentence; Enter and leaving the field send it, too."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        selection.bound(
            "prompt",
            label,
            value=sentence,
            max_chars=selection.MAX_TEXT,
            placeholder="Type a sentence with a gap, as in: The capital of France is ___.",
            resets={"cell": ""},
            label_visibility="collapsed",
        )
        st.button("Ask", type="primary", key="ask.ask")


def choose_example(examples: Sequence[str]) -> None:
    """Draws the examples behind a button."""
    with st.popover("Examples", icon=":material/lightbulb:"):
        for number, prompt in enumerate(examples):
            changes = {"prompt": prompt, "watch": OF_EXAMPLE, "mask": 1}
            st.button(
                escape(prompt), key=f"ask.example.{number}", type="tertiary", on_click=selection.update, kwargs=changes
            )


def gap(view: View) -> None:
    """The first tab: a sentence with a gap, filled by every layer."""
    sentence, examples = first_sentence(view)
    prompt = with_masks(sentence)
    stored = view.read(stored_of, prompt) if view.database and prompt.strip() else None
    words = followed_words(prompt, stored.answers if stored else ())
    ask_line(view, Markdown("A sentence with a gap"), sentence)
    with filters.bar(view, own=OPTIONS, label="Options") as place:
        page_models.choose(view)
        choose_example(examples)
        with place:
            gap_options(view, words)
    if not prompt.strip():
        st.info(
            filled("Type a sentence with a gap, written {ways}.", ways=" or ".join(SPELLINGS)), icon=":material/edit:"
        )
        return
    own = selection.of(AskSelection)
    there = page_models.ready(view, page_models.chosen(view), own.live_head)
    question = Question(prompt, own.live_head, TOP, words[:MAX_WATCHED], pieces=own.pieces or None)
    gaps = page_models.of_each(dict.fromkeys(there, question), live_models.gaps)
    there = [choice for choice in there if choice.name in gaps]
    if not there:
        return
    several = max(gaps.values()) > 1
    if several:
        there, question = choose_gap(view, there, question, gaps)
    questions = followed(view, there, question, alone=not several or question.mask is not None)
    answers = (
        filled_gap(view, questions)
        if several and question.mask is None
        else page_models.of_each(questions, live_models.ask)
    )
    if not answers:
        return
    questions = {choice: question for choice, question in questions.items() if choice.name in answers}
    word = answer_in(view, answers)
    grids(view, list(answers.values()), word, name="live-tokens", how=guesses(next(iter(answers.values())), stored))
    computed(next(iter(answers.values())).device)
    other = draw_changed(view, questions, answers) if not several else {}
    curve(view, answers, other)
    layers_put_back(view, questions)


def followed_words(prompt: str, answers: Sequence[str]) -> tuple[str, ...]:
    """The words to follow: as typed, of the example, or the recorded answers of a stored sentence."""
    typed = selection.of(AskSelection).watch
    words = (
        EXAMPLES[prompt].split(",")
        if typed == OF_EXAMPLE and prompt in EXAMPLES
        else answers
        if typed == OF_EXAMPLE
        else typed.split(",")
    )
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


def gap_options(view: View, words: Sequence[str]) -> None:
    """Draws what a first question does not need."""
    page_models.choose_others(view)
    watch = selection.of(AskSelection).watch
    selection.bound("watch", value=", ".join(words) if watch == OF_EXAMPLE else watch)
    for name in ("live_head", *OPTIONS[3:]):
        selection.bound(name)


def followed(view: View, there: Sequence[Choice], question: Question, *, alone: bool) -> dict[Choice, Question]:
    """Each model with its question, which follows only words that the model can be asked for.

    Without such a word, what the first model says at the end is followed, if one gap is read ``alone`` and filled by
    one token: the best phrase of a filling need not be the one that the masks say by themselves.
    """
    alone = alone and question.pieces in (None, 1)
    typed = selection.of(AskSelection).watch != OF_EXAMPLE
    questions = {choice: replace(question, watch=_possible(view, choice, question, say=typed)) for choice in there}
    if questions and not any(question_of.watch for question_of in questions.values()) and alone:
        try:
            best = live_models.ask(there[0], replace(question, watch=())).layers[-1].tokens[0].token
        except ProbingError:
            return questions
        question = replace(question, watch=(best,))
        questions = {choice: replace(question, watch=_possible(view, choice, question, say=False)) for choice in there}
    return questions


def _possible(view: View, choice: Choice, question: Question, *, say: bool) -> tuple[str, ...]:
    try:
        watch, refused = live_models.watchable(choice, question)
    except PromptError:
        # Asking the model will report the error.
        return ()
    if refused and say:
        st.caption(filled("Not followed in {name}: {names}.", name=view.name(choice.name), names=listing(refused)))
    return watch


def choose_gap(
    view: View, there: Sequence[Choice], question: Question, gaps: Mapping[str, int]
) -> tuple[list[Choice], Question]:
    """Draws the choice of a gap; returns the models that have it, and the question, with gap None to fill all."""
    masks, mask = max(gaps.values()), selection.of(AskSelection).mask
    fillable = masks <= live_models.MAX_FILLED
    mask = min(mask, masks) or int(not fillable)
    selection.bound(
        "mask",
        filled("The sentence has {n} gaps", n=masks),
        value=mask,
        options=[*range(1, masks + 1), *([0] if fillable else [])],
        format_func=lambda number: f"gap {number}" if number else "fill all",
    )
    if not fillable:
        st.caption(filled("At most {most} gaps are filled.", most=live_models.MAX_FILLED))
    if selection.of(AskSelection).perturbation:
        st.caption("A changed sentence needs exactly one gap.")
    if not mask and selection.of(AskSelection).pieces > 1:
        st.caption("To fill all, each gap gets one piece.")
    # A mask in one model's own spelling is not a gap for other models.
    if fewer := [view.name(choice.name) for choice in there if gaps[choice.name] < mask]:
        st.info(
            filled("No gap {mask} in this sentence for {names}.", mask=mask, names=listing(fewer)),
            icon=":material/info:",
        )
    return [choice for choice in there if gaps[choice.name] >= mask], replace(question, mask=mask - 1 if mask else None)


def filled_gap(view: View, questions: Mapping[Choice, Question]) -> dict[str, Answer]:
    """Draws the sentence that every model fills from left to right, and the choice of the gap that is read."""
    by_model = page_models.of_each(questions, live_models.fill)
    for name, (text, _) in by_model.items():
        st.success(filled("{name}: {text}", name=view.name(name), text=text), icon=":material/edit:")
    if not by_model:
        return {}
    # A model may recognise fewer gaps than another.
    places = list(range(1, max(len(answers) for _, answers in by_model.values()) + 1))
    place = min(max(selection.of(AskSelection).gap, 1), len(places))
    selection.bound("gap", value=place, options=places)
    return {name: answers[place - 1] for name, (_, answers) in by_model.items() if place <= len(answers)}


def answer_in(view: View, answers: Mapping[str, Answer]) -> str:
    """Draws the sentence: at which layers the followed word comes first. Returns the word."""
    answers_in_order = list(answers.values())
    watched = [answer.layers[-1].watched[0] for answer in answers_in_order if answer.layers[-1].watched]
    shown = watched[0] if watched else answers_in_order[0].layers[-1].tokens[0]
    word, several = shown.token, len(shown.ids) > 1
    places = [page_examples.at_layers(first_layers(answer, word)) for answer in answers_in_order]
    others = [
        filled("in {name} {at}", name=view.name(answer.model), at=at)
        for answer, at in zip(answers_in_order[1:2], places[1:], strict=False)
    ]
    first = filled("**{word}** comes first {at}", word=word, at=places[0])
    how = Markdown("") if not several else MASKED if watched else BEST_FIRST
    blocks.sentence(filled("{how}{parts}.", how=how, parts=joined("; ", [first, *others])))
    for note in dict.fromkeys(note for answer in answers_in_order for note in answer.notes):
        st.info(escape(note), icon=":material/visibility:")
    return word if watched else ""


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


def tokens(view: View) -> None:
    """The tab of all tokens: the best word of every layer at every token of a sentence."""
    sentence, examples = first_sentence(view)
    ask_line(view, Markdown("A sentence, with or without a gap"), sentence)
    with filters.bar(view, own=["live_head"], label="Options") as place:
        page_models.choose(view)
        choose_example(examples)
        with place:
            selection.bound("live_head")
    text, head = with_masks(sentence), selection.of(AskSelection).live_head
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
    blocks.sentence(filled("The last layer gives {n:,} of the {all:,} tokens back.", n=itself, all=len(got.pieces)))
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
    st.download_button(
        "CSV",
        lambda: csv_bytes(every_token_of(got, TOP_OF_CELL), stamp),
        file_name("live-every-token", stamp, ".csv"),
        "text/csv",
        key="live.every-token.csv",
        on_click="ignore",
        icon=":material/download:",
    )


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

view = open_page("ask", "Ask", "What does each layer say to my sentence?", needs_results=False)
with selection.open_tab("ask_view", TABS, view.page) as tab:
    DRAWN[tab](view)
end(view)
