"""Home: one sentence through all layers of a model, before and after fine-tuning, and where to go from there."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from probing.choices import HomeSelection
from probing.facts.page_clearest import findings
from probing.facts.report import asked
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.frame import View, show
from probing.kernel.app.selection import OF_EXAMPLE, link
from probing.kernel.app.texts import Markdown, escape, explained, filled
from probing.kernel.errors import ProbingError
from probing.kernel.fact import MASK
from probing.kernel.models.names import BERT, LOGIT_LENS
from probing.kernel.questions import Question
from probing.live import page_examples, page_gaps, page_models
from probing.live import page_live_models as live_models
from probing.live import page_token_grids as token_grids
from probing.live.page_token_grids import Grid
from probing.own_model import page_bert
from probing.papers.home import beyond_guessing

FIELD, PILLS = "home.sentence", "home.example"
HOW = (
    "Every layer of the model fills the gap, read through the model's own output layer; the last layer is on top."
    f" {token_grids.SHADES} Rank: the place of the right word in the layer's list of all words. Facts of the examples"
    " are stored; a sentence of your own is asked now. Its right word is that of a stored fact with the same sentence,"
    " or yours; without one a frame marks what the base says at the end, which may be wrong."
)


def ask_line(sentence: str) -> None:
    """Draws the text field and its button; Enter has the same effect."""
    st.session_state[FIELD] = sentence
    with st.form("home.ask", border=False), st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "A sentence with a gap",
            key=FIELD,
            max_chars=selection.MAX_TEXT,
            placeholder="Type a sentence with a gap, as in: The capital of France is ___.",
            label_visibility="collapsed",
            width="stretch",
        )
        st.form_submit_button("Ask", type="primary", on_click=take_sentence)


def take_sentence() -> None:
    """Takes the typed sentence; an emptied field shows the example again."""
    selection.update(prompt=st.session_state[FIELD].strip() or OF_EXAMPLE, right="", mask=1)


def pills(examples: Sequence[Mapping[str, Any]], chosen: int | None) -> None:
    """Draws the examples, the unknown one last and called so."""
    st.session_state[PILLS] = chosen
    words = [("" if one["known"] else "Missed: ") + one["prompt"].replace(MASK, "…").rstrip(" .") for one in examples]
    st.pills(
        "Examples with stored predictions",
        list(range(1, len(examples) + 1)),
        key=PILLS,
        on_change=take_example,
        format_func=lambda n: escape(words[n - 1]),
        label_visibility="collapsed",
    )


def take_example() -> None:
    """Takes an example. Pressing the selected one again gives None; the example stays."""
    example = st.session_state[PILLS] or selection.of(HomeSelection).example
    selection.update(example=example, prompt=OF_EXAMPLE, right="")


def stored(view: View, example: Mapping[str, Any], sentence_place: DeltaGenerator) -> None:
    """Draws sentence and grids of an example, in its model and in one fine-tuned from it; no model is loaded."""
    by_model = page_examples.in_models(view, example)
    last = next(iter(by_model.values())).iloc[-1]
    wrong = (last["tokens"][0], int(last["gold_rank"])) if last["gold_rank"] > 1 else None
    firsts = {model: page_examples.first_layers(rows) for model, rows in by_model.items()}
    with sentence_place:
        blocks.sentence(page_examples.sentence(view, example["object"], firsts, wrong))
    grids = [page_examples.grid(view, model, rows) for model, rows in by_model.items()]
    picture(grids, view.stamp(f"{', '.join(by_model)}, {example['prompt']}", (example["run_id"],)), example["object"])


def live(view: View, prompt: str, head: str, sentence_place: DeltaGenerator) -> None:
    """Draws the same of a sentence that is asked now, of the usual models on this machine."""
    choices = page_models.usual_choices(view)
    try:
        for choice in choices:
            live_models.load(choice, head)
    except ProbingError:
        head = LOGIT_LENS
    right = page_gaps.right_words(prompt, view.read(asked, prompt))
    _, answers = page_gaps.ask_gap(view, page_models.ready(view, choices, head), Question(prompt, head, 10, right))
    if not answers:
        return
    with sentence_place:
        word, right = page_gaps.answer_in(view, answers, right)
    page_gaps.choose_right(right)
    got = list(answers.values())
    stamp = Stamp(f"{', '.join(answers)}, {got[0].head} heads, {got[0].prompt}")
    picture([page_gaps.grid(view, answer, word, right) for answer in got], stamp, word)


def picture(grids: Sequence[Grid], stamp: Stamp, answer: str) -> None:
    token_grids.draw(grids, answer=answer, key="home.grids")
    blocks.files(
        token_grids.as_figure(grids[0], answer or "right word"),
        table=token_grids.numbers((grid.model, grid) for grid in grids).dropna(axis="columns", how="all"),
        stamp=stamp,
        name="home-tokens",
        caption=token_grids.caption(checked=grids[0].checked),
        how=HOW,
    )


def cards(view: View, run_id: str) -> None:
    """The three cards that lead on: what the model knows, what fine-tuning lost, and a model of one's own."""
    beyond, lost = view.read(beyond_guessing, run_id), next(iter(findings(view)), None)
    with st.container(horizontal=True, gap="small", key="cards"):
        if pd.notna(beyond):
            model = view.name(view.runs.set_index("run_id").at[run_id, "model"])
            words = filled("right answers of {model} beyond the commonest answer", model=model)
            card(f"{beyond * 100:+.0f} points", words, "layers", Markdown("Where does it appear?"))
        if lost:
            words = filled("of the known facts lost by learning {task}", task=view.name(lost.model))
            if pd.notna(lost.control):
                words += filled("; its control lost {share:.0f} %", share=lost.control * 100)
            question = Markdown("What did fine-tuning forget?")
            card(f"{lost.share * 100:.0f} %", words, "compare", question, tuned=lost.model)
        words = Markdown("a folder with your BERT model and a table of facts are enough")
        card("Yours", words, "own_model", Markdown("What did your own model forget?"))


def card(title: str, words: Markdown, target: str, question: Markdown, **changes: Any) -> None:
    """One card: a number, what it is, and the link to the page that it comes from."""
    with st.container(border=True, gap="xsmall", width="stretch", height="stretch"):
        st.markdown(filled("## {title}", title=title))
        st.markdown(explained(words))
        link(target, question, icon=":material/arrow_forward:", **changes)


def draw(view: View) -> None:
    typed = selection.current().prompt
    typed = "" if typed == OF_EXAMPLE else typed
    runs = page_examples.base_runs(view)
    examples = page_examples.stored_examples(view)
    number = min(selection.of(HomeSelection).example, len(examples))
    sentence_place = st.container()
    ask_line(typed or (examples[number - 1]["prompt"] if examples else ""))
    with st.container(horizontal=True, gap="small"):
        if examples:
            with st.container():
                pills(examples, None if typed else number)
        page_bert.offer(view)
    page_bert.progress()
    if typed and MASK not in page_gaps.asked_as(typed):
        with sentence_place:
            page_models.choose_word(typed)
    elif typed or (examples and page_models.usual(view, live_models.choices()) == BERT != runs["model"].iloc[0]):
        sentence = typed or examples[number - 1]["prompt"]
        live(view, page_gaps.asked_as(sentence), str(runs["head"].iloc[0]), sentence_place)
    elif examples:
        stored(view, examples[number - 1], sentence_place)
    cards(view, str(runs["run_id"].iloc[0]))


show("home", "Home", "What does each layer know, and what did fine-tuning forget?", draw)
