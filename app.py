"""Home: one sentence through all layers of a model, before and after fine-tuning, and where to go from there."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import HomeSelection
from probing.facts.page_clearest import clearest, findings
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp
from probing.kernel.app.frame import View, end, open_page
from probing.kernel.app.selection import link
from probing.kernel.app.texts import Markdown, escape, filled
from probing.kernel.errors import HeadError, ProbingError
from probing.kernel.fact import MASK
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.questions import Answer, Question
from probing.kernel.recipe import protection_in_words
from probing.live import page_examples, page_gaps
from probing.live import page_live_models as live_models
from probing.live import page_token_grids as token_grids
from probing.live.page_token_grids import Grid
from probing.live.report import first_layers
from probing.papers.home import best_recipe, beyond_guessing

FIELD, PILLS, EMPTY = "home.sentence", "home.example", "home.empty"
HOW = (
    "Every layer of the model fills the gap, read through the model's own output layer; the last layer is on top."
    f" {token_grids.SHADES} Rank: the place of the right word in the layer's list of all words. Facts of the examples"
    " are stored; a sentence of your own is asked now, and the word that the base says at the end counts as right."
)
OF_TYPED = (
    "Each cell is a word that a layer gives for the gap; orange: the base's word at the end. Layer 0: before any layer."
)


def ask_line(sentence: str) -> None:
    """Draws the text field and its button; Enter has the same effect."""
    st.session_state[FIELD] = sentence
    with st.form("home.ask", border=False), st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "A sentence with a gap",
            key=FIELD,
            max_chars=selection.MAX_TEXT,
            label_visibility="collapsed",
            width="stretch",
        )
        st.form_submit_button("Ask", type="primary", on_click=take_sentence)


def take_sentence() -> None:
    """Takes the typed sentence."""
    sentence = st.session_state[FIELD].strip()
    st.session_state[EMPTY] = not sentence
    selection.update(sentence=sentence)


def pills(prompts: Sequence[str], own: HomeSelection) -> None:
    numbers = list(range(1, len(prompts) + 1))
    st.session_state[PILLS] = None if own.sentence else min(own.example, len(prompts))
    st.pills(
        "Examples with stored predictions",
        numbers,
        key=PILLS,
        on_change=take_example,
        format_func=lambda n: escape(prompts[n - 1]),
        label_visibility="collapsed",
    )


def take_example() -> None:
    """Takes an example. Pressing the selected one again gives None; the example stays."""
    selection.update(example=st.session_state[PILLS] or selection.of(HomeSelection).example, sentence="")


def stored(view: View, example: dict) -> tuple[Markdown, list[Grid], Stamp, str]:
    """The sentence and the grids of an example, in its model and in one fine-tuned from it; no model is loaded."""
    by_model = page_examples.in_models(view, example)
    words = page_examples.sentence(
        view, example["object"], {model: page_examples.first_layers(rows) for model, rows in by_model.items()}
    )
    grids = [page_examples.grid(view, model, rows) for model, rows in by_model.items()]
    return (
        words,
        grids,
        view.stamp(f"{', '.join(by_model)}, {example['prompt']}", (example["run_id"],)),
        example["object"],
    )


def live(view: View, sentence: str, models: Sequence[str], head: str) -> tuple[Markdown, list[Grid], Stamp, str] | None:
    """The same of a typed sentence, asked of the wanted models on this machine; None if none can be asked."""
    offered = {
        name: choice
        for name, choice in live_models.choices().items()
        if choice.here and not live_models.missing_shipped(choice.location)
    }
    offered = {name: choice for name, choice in offered.items() if not live_models.lacks_head(choice) or name in models}
    if not offered:
        blocks.missing("No model is on this machine.", "python -m probing pretrain && python -m probing train-heads")
        return None
    choices = [offered[name] for name in models if name in offered] or [next(iter(offered.values()))]
    try:
        with st.spinner(filled("Asking {name} …", name=choices[0].name), show_time=True):
            question = Question(sentence, head, 10, mask=0)
            best = answer_of(choices[0], question).layers[-1].tokens[0].token
            answers = [answer_of(choice, replace(question, watch=(best,))) for choice in choices]
    except ProbingError as error:
        blocks.problem(error)
        return None
    firsts = {answer.model: first_layers(answer, best) for answer in answers}
    stamp = Stamp(f"{', '.join(firsts)}, {answers[0].head} heads, {answers[0].prompt}")
    return (
        page_examples.sentence(view, best, firsts),
        [page_gaps.grid(view, answer) for answer in answers],
        stamp,
        best,
    )


def answer_of(choice: live_models.Choice, question: Question) -> Answer:
    """The predictions at the first gap, through the pre-trained head if the model has no trained heads of the wanted
    kind.

    A word that is not one token of the model is not followed.
    """
    try:
        watch, _ = live_models.watchable(choice, question)
        return live_models.ask(choice, replace(question, watch=watch))
    except HeadError:
        if question.head == LOGIT_LENS:
            raise
        return answer_of(choice, replace(question, head=LOGIT_LENS))


def picture(grids: Sequence[Grid], stamp: Stamp, answer: str, caption: str) -> None:
    token_grids.draw(grids, answer=answer, key="home.grids", plays=True)
    blocks.files(
        token_grids.as_figure(grids[0]),
        table=token_grids.numbers((grid.model, grid) for grid in grids).dropna(axis="columns", how="all"),
        stamp=stamp,
        name="home-tokens",
        caption=caption,
        how=HOW,
    )


def cards(view: View, run_id: str) -> None:
    """The three cards that lead on: what the model knows, what fine-tuning lost, and what prevents that."""
    assert view.database is not None
    beyond, lost, kept = view.read(beyond_guessing, run_id), next(iter(findings(view)), None), view.read(best_recipe)
    with st.container(horizontal=True, gap="small", key="cards"):
        if pd.notna(beyond):
            words = Markdown("right answers beyond the commonest answer")
            card(f"{beyond * 100:+.0f} points", words, "layers", Markdown("Where does it appear?"))
        if lost:
            words = filled("of the known facts lost by learning {task}", task=view.name(lost.model))
            control = (
                filled("; its control lost {share:.0f} %", share=lost.control * 100)
                if pd.notna(lost.control)
                else Markdown("")
            )
            card(
                f"{lost.share * 100:.0f} %",
                words + control,
                "compare",
                Markdown("What did fine-tuning forget?"),
                tuned=lost.model,
            )
        if kept:
            words = filled(
                "kept with {recipe} in a short training, at {metric} {score:.2f}; without it {plain:.0f} % at"
                " {other:.2f}",
                recipe=protection_in_words(kept.recipe),
                metric=kept.metric,
                score=kept.score,
                plain=kept.plain_share * 100,
                other=kept.plain_score,
            )
            card(f"{kept.share * 100:.0f} %", words, "compare", Markdown("What prevents it?"), compare_tab="prevention")


def card(number: str, words: Markdown, target: str, question: Markdown, **changes: Any) -> None:
    """One card: a number, what it is, and the link to the page that it comes from."""
    with st.container(border=True, gap="xsmall", width="stretch", height="stretch"):
        st.markdown(filled("## {number}", number=number))
        st.markdown(words)
        link(target, question, icon=":material/arrow_forward:", **changes)


view = open_page("home", "Home", "What does each layer know, and what did fine-tuning forget?")
own = selection.of(HomeSelection)
runs = page_examples.base_runs(view)
examples = page_examples.stored_examples(view, runs)
example = examples[min(own.example, len(examples)) - 1] if examples else None
sentence_place, above = st.container(), st.container()
with above:
    ask_line(own.sentence or (example["prompt"] if example else ""))
    if examples:
        pills([example["prompt"] for example in examples], own)
if st.session_state.pop(EMPTY, False):
    st.info(filled("Type a sentence with a gap, written {mask}, and press Ask.", mask=MASK), icon=":material/edit:")
if own.sentence:
    pair = [str(runs["model"].iloc[0]), *filter(None, [clearest(view)])]
    shown = live(view, own.sentence, pair, str(runs["head"].iloc[0]))
else:
    shown = stored(view, example) if example else None
if shown:
    with sentence_place:
        blocks.sentence(shown[0])
    picture(*shown[1:], OF_TYPED if own.sentence else token_grids.CAPTION)
cards(view, str(runs["run_id"].iloc[0]))
end(view)
