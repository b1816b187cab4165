"""The same sentence changed by rule, and a fine-tuned model with layers of its base put back."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from probing.choices import AskSelection
from probing.facts.fact import MASK
from probing.facts.forgotten import layers_to_recover
from probing.kernel.app import blocks, live_models, selection
from probing.kernel.app.frame import View
from probing.kernel.app.live_models import Choice
from probing.kernel.app.texts import Markdown, escape, filled
from probing.kernel.errors import HeadError, ProbingError
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.questions import Answer, Question
from probing.live.page_gaps_pictures import grids
from probing.live.page_models import named_base, of_each
from probing.live.perturb import PERTURBATIONS, Changed, misprimed, negated, renamed, shuffled, truncated, wrong_answers
from probing.live.perturb_entity_names import find_entity, other_entity
from probing.live.report import lines_of

RESTORED_HOW = (
    "For n from 0 to all, n layers of the fine-tuned model are replaced by those of its base, and the sentence is asked"
    " again. The embeddings and the head stay those of the fine-tuned model. Data: the n at which a followed word is"
    " first again."
)


def draw(view: View, questions: Mapping[Choice, Question], answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """Draws the answers to the changed sentence, if a change is chosen, and returns them by model."""
    how = selection.of(AskSelection).perturbation
    if not how:
        return {}
    st.header(filled("The sentence {how}", how=PERTURBATIONS[how]))
    first = next(iter(answers.values()))
    changed = _change(view, how, first)
    if changed.text is None:
        st.info(
            filled("This sentence cannot be changed in this way: {words}.", words=changed.words),
            icon=":material/block:",
        )
        return {}
    st.markdown(filled("> {text}", text=changed.text))
    st.caption(filled("{words}.", words=changed.words[:1].upper() + changed.words[1:]))
    new_answers = of_each(
        {choice: replace(question, prompt=changed.text, mask=None) for choice, question in questions.items()}, _again
    )
    if new_answers:
        word = next(
            (answer.layers[-1].watched[0].token for answer in new_answers.values() if answer.layers[-1].watched), ""
        )
        grids(view, list(new_answers.values()), word, name="live-changed", how="", note=PERTURBATIONS[how])
    return new_answers


def _again(choice: Choice, question: Question) -> Answer:
    """The answer to the changed sentence; a gap that now starts it may need another token for a word, or have none."""
    watch, _ = live_models.watchable(choice, question)
    return live_models.ask(choice, replace(question, watch=watch))


def _change(view: View, how: str, first: Answer) -> Changed:
    """Draws what the change needs, and changes the sentence."""
    page, own, prompt = view.page, selection.of(AskSelection), first.prompt
    if MASK not in prompt:
        return Changed(None, f"write the gap as {MASK}")
    if how == "negated":
        return negated(prompt)
    if how == "misprimed":
        last = first.layers[-1]
        right = [last.tokens[0].token, *(word.token for word in last.watched[:1])]
        offered = wrong_answers([token.token for token in last.tokens], right)
        prime = own.prime or (offered[0] if offered else "")
        selection.bound(
            st.text_input, "The word before the sentence", "prime", page, value=prime, max_chars=60, width=280
        )
        with st.container(horizontal=True):
            for number, word in enumerate(offered):
                st.button(escape(word), key=f"ask.prime.{number}", on_click=selection.update, kwargs={"prime": word})
        return misprimed(prompt, prime)
    if how == "shuffled":
        selection.bound(st.number_input, "Seed", "shuffle_seed", page, min_value=1, max_value=9999, step=1, width=160)
        return shuffled(prompt, own.shuffle_seed)
    if how == "truncated":
        words = "Words kept on either side of the gap"
        selection.bound(st.number_input, words, "keep_words", page, min_value=0, max_value=20, step=1, width=280)
        return truncated(prompt, min(own.keep_words, 20))
    name = find_entity(prompt)
    if name is None:
        return renamed(prompt, "")
    other = own.other_name or other_entity(name)
    selection.bound(
        st.text_input, filled("Instead of {name}", name=name), "other_name", page, value=other, max_chars=60, width=280
    )
    return renamed(prompt, other, name)


def layers_put_back(view: View, questions: Mapping[Choice, Question]) -> None:
    """Draws the first fine-tuned model with more and more layers of its base, if this is chosen."""
    where = selection.of(AskSelection).replaced
    if not where:
        return
    st.header("Layers of the base put back")
    offered = live_models.choices()
    choice = next(
        (choice_of_base for choice_of_base in questions if live_models.base_of(choice_of_base) in offered),
        list(questions)[-1],
    )
    question, base = questions[choice], live_models.base_of(choice)
    if base not in offered and not (base := _unknown_base(view, choice, offered)):
        return
    try:
        with st.spinner(filled("Loading {base} …", base=view.name(base)), show_time=True):
            right = _last_word(offered[base], replace(question, top=1, watch=()))
            words = tuple(dict.fromkeys((right, *question.watch)))
            words, _ = live_models.watchable(choice, replace(question, watch=words))
            got = live_models.replaced(choice, offered[base], replace(question, watch=words), where)
    except ProbingError as error:
        blocks.problem(error)
        return
    table = lines_of(got.answer).assign(base=got.base, where=where, head_of=got.reader).rename(columns={"layer": "n"})
    back = {word: layers_to_recover(list(rows["rank"])) for word, rows in table.sort_values("n").groupby("word")}
    grids(
        view,
        [got.answer],
        words[0] if words else "",
        name="live-replaced",
        how=RESTORED_HOW,
        note=f"the {where} n layers from {view.label(got.base)}",
        steps="n",
        table=table.assign(first_again_at_n=table["word"].map(back).astype("Int64")),
    )


def _unknown_base(view: View, choice: Choice, offered: Mapping[str, Choice]) -> str:
    """Asks for the base of a model without a recorded one; if the model is a base, says what to choose."""
    if live_models.base_of(choice) or live_models.described(choice):
        words = Markdown("{name} was not fine-tuned from a model in this menu. Choose a fine-tuned model.")
        st.caption(filled(words, name=view.name(choice.name)))
        return ""
    return named_base(view, choice, [name for name in offered if name != choice.name and offered[name].here])


def _last_word(base: Choice, question: Question) -> str:
    """What the base says at its last layer, by its head of that kind, or else its pre-trained head."""
    try:
        answer = live_models.ask(base, question)
    except HeadError:
        answer = live_models.ask(base, replace(question, head=LOGIT_LENS))
    return answer.layers[-1].tokens[0].token
