"""Restored base layers: layers of a fine-tuned model are replaced by those of its base, and lost answers may return."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from probing.core.errors import HeadError, ProbingError
from probing.core.head_kinds import LOGIT_LENS
from probing.core.knowledge.recovery import layers_to_recover
from probing.core.questions import Answer, Question
from probing.figures.tokens.rank_lines import rank_lines
from probing.figures.tokens.token_grid import token_grid
from probing.reports.live_answer import tokens_of, watched_of
from probing.ui.frame import live_models, selection
from probing.ui.frame.page import View
from probing.ui.live import answer_view
from probing.ui.live.controls import RESTORED
from probing.ui.live.selection import LiveSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import count, filled, joined

if TYPE_CHECKING:
    from probing.models.knowledge.layer_restoration import ReplacedAnswer


def draw(view: View, asked: Sequence[live_models.Asked]) -> None:
    """Draws the restoration, if it is chosen, for the first model that was fine-tuned from another one.

    Args:
        view: the page.
        asked: the models with predictions, each with its question.
    """
    where = selection.of(LiveSelection).replaced
    if not where:
        return
    view.contents.section("Restore base layers")
    offered = live_models.choices()
    one, base = next(((one, base) for one in asked if (base := live_models.base_of(one.choice)) in offered), (asked[0], ""))
    choice, question = one.choice, one.question
    base = base or _unknown_base(view, choice, offered)
    if not base:
        return
    how = "For n from 0 to all, {where} of {name} are replaced by those of its base {base}, and the sentence is asked again."
    st.caption(filled(how, where=RESTORED[where], name=view.called(choice.name), base=view.called(base)))
    try:
        with st.spinner(filled("Loading {base} …", base=view.called(base)), show_time=True):
            own = _answer_of(offered[base], replace(question, top=1, watch=()))
            right = answer_view.best_word(own)
            best, _ = live_models.watchable(choice, replace(question, watch=(right,)))
            words = tuple(dict.fromkeys((*best, *question.watch)))
            got = live_models.replaced(choice, offered[base], replace(question, top=5, watch=words), where)
    except ProbingError as error:
        blocks.problem(error)
        return
    _returns(view, got, right, own)
    _show(view, got, where)


def _unknown_base(view: View, choice: live_models.Choice, offered: dict[str, live_models.Choice]) -> str:
    """Asks the user for the base of a model without a recorded one; if the model is a base, shows what to choose."""
    if live_models.base_of(choice) or live_models.described(choice):
        st.caption(
            filled(
                "{name} was not fine-tuned from a model in this menu. Choose a fine-tuned model, or compare with one.",
                name=view.called(choice.name),
            )
        )
        return ""
    options = ["", *(name for name in offered if name != choice.name and offered[name].here)]
    base = selection.of(LiveSelection).live_base
    selection.bound(
        st.selectbox,
        filled("{name} was fine-tuned from", name=view.called(choice.name)),
        "live_base",
        view.page,
        value=base if base in options else "",
        options=options,
        format_func=lambda name: f"{view.label(name)} ({offered[name].where})" if name else "unknown",
    )
    return base if base in options else ""


def _answer_of(base: live_models.Choice, question: Question) -> Answer:
    """The base's predictions through its head of that kind, or through its pre-trained head if it has none."""
    try:
        return live_models.ask(base, question)
    except HeadError:
        return live_models.ask(base, replace(question, head=LOGIT_LENS))


def _returns(view: View, got: "ReplacedAnswer", right: str, own: Answer) -> None:
    """Draws one line per tracked word, the base's prediction first: the n at which it returns."""
    steps, total = got.answer.layers, len(got.answer.layers) - 1
    ranks = {word.token: [step.watched[number].rank for step in steps] for number, word in enumerate(steps[0].watched)}
    lines = []
    for word, by_n in ranks.items():
        name, n = filled("**{word}**", word=word), layers_to_recover(by_n)
        best, at = min(by_n), by_n.index(min(by_n))
        nearest = f"its best rank is {best:,}, at n = {at}"
        layers = filled("**all {total} layers**", total=total)
        if n is not None and n < total:
            layers = filled("the {where} **{layers}**", where=got.where, layers=count(n, "layer"))
        put = "is restored" if n == 1 else "are restored"
        if word == right:
            name = filled("{name}, {base}'s prediction,", name=name, base=view.called(got.base))
            if by_n[0] == 1:
                lines.append(filled("{name} is not lost: it is first without any replacement.", name=name))
            elif n is not None:
                gone = next((later for later in range(n, total + 1) if by_n[later] > 1), None)
                again = "" if gone is None else f", and is lost again at n = {gone}"
                back = filled("returns when {layers} {put}{again}", layers=layers, put=put, again=again)
                lines.append(filled("{name} is lost (rank {rank:,}) and {back}.", name=name, rank=by_n[0], back=back))
            else:
                lost = "{name} is lost (rank {rank:,}) and does not return: {nearest}."
                lines.append(filled(lost, name=name, rank=by_n[0], nearest=nearest))
        elif by_n[0] == 1:
            lines.append(filled("{name} is first without any replacement.", name=name))
        else:
            first = filled("is first when {layers} {put}", layers=layers, put=put) if n else f"never becomes first: {nearest}"
            lines.append(filled("{name} (rank {rank:,}) {first}.", name=name, rank=by_n[0], first=first))
    if right not in ranks:
        token = own.layers[-1].tokens[0]
        n = next((step.layer for step in steps if step.tokens[0].id == token.id), None)
        words = "does not return" if n is None else "is not lost" if n == 0 else f"returns at n = {n}"
        lines.append(filled("**{token}**, {base}'s prediction, {words}.", token=token.token, base=view.called(got.base), words=words))
    st.markdown(joined("\n", (filled("- {line}", line=line) for line in lines)))


def _show(view: View, got: "ReplacedAnswer", where: str) -> None:
    answer = got.answer
    tokens = tokens_of(answer).rename(columns={"layer": "n"}).assign(base=got.base, where=where)
    followed = watched_of(answer).assign(base=got.base, where=where)
    stamp = Stamp(f"{got.model}, {where} n layers of {got.base}, {answer.head} heads, {answer.prompt}")
    last = len(answer.layers) - 1
    rows = [f"n = {n}" for n in range(last + 1)]
    reader = "its own masked-LM head" if got.reader == got.model else f"the masked-LM head of {view.label(got.reader)}"
    read_by = f"the trained head of its last layer, started from {reader}" if answer.head != LOGIT_LENS else reader
    blocks.figure(
        token_grid(tokens.rename(columns={"n": "layer"}), columns=5, rows=rows, dark=blocks.dark()),
        table=tokens.drop(columns="framed"),
        stamp=stamp,
        name="live-replaced",
        caption=filled(
            "Predictions of {model} at its last layer with n layers restored, read by {read_by}.",
            model=view.called(got.model),
            read_by=read_by,
        ),
        alt=f"Predictions by number of restored layers for: {answer.prompt}",
    )
    if len(followed):
        blocks.figure(
            rank_lines(followed.assign(name=followed["word"]), steps=f"{where} n layers restored from {view.label(got.base)}"),
            table=followed.rename(columns={"layer": "n"}),
            stamp=stamp,
            name="live-replaced-ranks",
            caption=f"n = 0 is the fine-tuned model; n = {last} has all layers of its base, but not its embeddings and head.",
            alt="Rank by number of restored layers",
        )
