"""The top of Home: an input field, three examples, and every layer's predictions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.errors import HeadError, ProbingError
from probing.core.facts.fact import MASK
from probing.core.head_kinds import LOGIT_LENS
from probing.core.questions import Answer, Question
from probing.figures.tokens.stored_fact import ranks_by_layer, token_rows
from probing.figures.tokens.token_grid import token_grid
from probing.ui.facts import guesses
from probing.ui.frame import live_models, navigation, selection
from probing.ui.frame.page import View
from probing.ui.home import examples
from probing.ui.home.selection import HomeSelection
from probing.ui.live import headline
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.layers import story
from probing.ui.widgets.layers.story import Grid
from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: Tokens per layer: as many as stored runs keep, so that stored and live grids look alike.
_TOP = 3
_FIELD, _PILLS, _EMPTY = "home.sentence", "home.examples", "home.empty"


def draw(view: View) -> None:
    """Draws the input field, the examples, and the grid of the chosen sentence."""
    runs = examples.base_runs(view)
    offered = examples.stored_examples(view, runs)
    own = selection.of(HomeSelection)
    shown = offered[min(own.example, len(offered)) - 1] if offered else None
    _line(own.sentence or (shown["prompt"] if shown else ""))
    if offered:
        _pills(offered, own)
    if st.session_state.pop(_EMPTY, False):
        st.info(filled("Type a sentence with a gap, written {mask}, and press Ask.", mask=MASK), icon=":material/edit:")
    if own.sentence:
        _live(view, own.sentence, str(runs["model"].iloc[0]), str(runs["head"].iloc[0]))
    elif shown:
        _stored(view, shown)


def _line(shown: str) -> None:
    """Draws the text field and its button; Enter has the same effect."""
    st.session_state[_FIELD] = shown
    with st.form("home.ask", border=False), st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "A sentence with a gap",
            key=_FIELD,
            max_chars=selection.MAX_TEXT,
            label_visibility="collapsed",
            placeholder="Paris is the capital of [MASK].",
            width="stretch",
        )
        st.form_submit_button("Ask", type="primary", on_click=_asked)


def _asked() -> None:
    sentence = st.session_state[_FIELD].strip()
    st.session_state[_EMPTY] = not sentence
    selection.update(sentence=sentence)


def _pills(offered: list[dict[str, Any]], own: HomeSelection) -> None:
    numbers = list(range(1, len(offered) + 1))
    st.session_state[_PILLS] = None if own.sentence else min(own.example, len(offered))
    st.pills(
        "Examples with stored predictions",
        numbers,
        key=_PILLS,
        on_change=_taken,
        format_func=lambda n: escape(offered[n - 1]["prompt"]),
        label_visibility="collapsed",
    )


def _taken() -> None:
    # Pressing the selected pill again gives None; the example stays.
    selection.update(example=st.session_state[_PILLS] or selection.of(HomeSelection).example, sentence="")


def _stored(view: View, example: dict[str, Any]) -> None:
    """Draws the stored grids of an example, in its model and in one fine-tuned from it, and describes them; no model is loaded."""
    shown = examples.in_models(view, example)
    grids = [Grid(view.label(model), _best(rows), ranks_by_layer(rows), examples.what(view, model)) for model, rows in shown.items()]
    rows = shown[next(iter(shown))]
    guess = guesses.guess(view, example["fact_id"], example["run_id"])
    words = examples.line(example, rows, guess, view.called(next(iter(shown))))
    run = view.runs[view.runs["run_id"] == example["run_id"]].iloc[0]
    _grids(
        grids,
        view.stamp(f"{run['model']} {run['head']}, {example['prompt']}", (example["run_id"],)),
        answer=example["object"],
        caption=joined(" ", [one for one in (examples.beside(view, example, shown), words) if one]),
        alt=f"Best words of every layer for: {example['prompt']}",
    )


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    """The best words of stored predictions."""
    tokens = token_rows(rows)
    return tokens[tokens["place"] <= _TOP]


def _grids(grids: Sequence[Grid], stamp: Stamp, *, caption: Markdown, alt: str, answer: str = "") -> None:
    tokens = grids[0].tokens
    columns = min(_TOP, int(tokens["place"].max())) if len(tokens) else 1
    table = pd.concat([one.tokens.assign(model=one.model, rank=one.tokens["layer"].map(one.ranks.get)) for one in grids])
    story.draw(grids, answer=answer, key="home.story")
    st.caption(escape(stamp.text))
    blocks.files(
        drawing(token_grid, tokens, columns=columns, ranks=grids[0].ranks, dark=blocks.dark()),
        table=table.drop(columns="framed").dropna(axis="columns", how="all"),
        stamp=stamp,
        name="home-tokens",
        caption=caption,
        alt=alt,
    )


def _live(view: View, sentence: str, model: str, head: str) -> None:
    """Asks a model on this machine, the examples' own model if possible, and draws its predictions."""
    offered = {name: one for name, one in live_models.choices().items() if one.here and not live_models.lacks_head(one)}
    offered = {name: one for name, one in offered.items() if not live_models.missing_shipped(one.location)}
    if not offered:
        blocks.missing("No model is on this machine.", "python -m probing pretrain && python -m probing train-heads")
        return
    choice = offered[live_models.pick(model, offered)]
    question = Question(sentence, head if head in live_models.HEADS else live_models.HEADS[0], _TOP, mask=0)
    try:
        with st.spinner(filled("Asking {name} …", name=choice.name), show_time=True):
            answer = _answer(choice, question)
            gaps = live_models.gaps(choice, replace(question, head=answer.head))
    except ProbingError as error:
        blocks.problem(error)
        return
    _draw_answer(view, answer, gaps)
    if answer.head != question.head:
        st.caption(filled(live_models.LENS_INSTEAD, names=view.called(choice.name), head=question.head))
    navigation.link(
        "live",
        "More on Live: ranks of your own words, several models, changed sentences",
        prompt=sentence,
        watch="",
        live_model=choice.name,
        live_head=answer.head,
        mask=1,
    )


def _answer(choice: live_models.Choice, question: Question) -> Answer:
    """The predictions at the first gap, through the pre-trained head if the model has no trained heads of the wanted kind.

    Raises:
        ProbingError: if the model or the sentence cannot be asked.
    """
    try:
        return live_models.ask(choice, question)
    except HeadError:
        return live_models.ask(choice, replace(question, head=LOGIT_LENS))


def _draw_answer(view: View, answer: Answer, gaps: int) -> None:
    tokens = pd.DataFrame(
        [(one.layer, place, token.token, token.probability) for one in answer.layers for place, token in enumerate(one.tokens, 1)],
        columns=["layer", "place", "token", "probability"],
    ).assign(framed=False)
    of = filled(" This is the first of {gaps} gaps.", gaps=gaps) if gaps > 1 else ""
    st.markdown(headline.says(view, answer, several=True) + of, help=headline.HELP)
    headline.notes([answer])
    _grids(
        [Grid(view.label(answer.model), tokens)],
        Stamp(f"{answer.model}, {answer.head} heads, {answer.prompt}"),
        caption=Markdown("Change the subject and ask again: predictions that stay the same do not depend on the subject."),
        alt=f"Best words of every layer of {answer.model} for: {answer.prompt}",
    )
