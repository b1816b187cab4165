"""The same sentence changed by rule, and the models' predictions for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from probing.core.errors import ProbingError
from probing.core.facts.fact import MASK
from probing.core.perturb import rules
from probing.core.perturb.entity_names import find_entity, other_entity
from probing.core.perturb.rules import Changed
from probing.core.questions import Answer, Question
from probing.figures.tokens.rank_lines import rank_lines
from probing.figures.tokens.token_grid import token_grid
from probing.reports.live_answer import tokens_of, watched_of
from probing.ui.frame import live_models, selection
from probing.ui.frame.page import View
from probing.ui.live import answer_view
from probing.ui.live.controls import CHANGES, TYPED
from probing.ui.live.selection import LiveSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import escape, filled

#: Words of one model whose ranks are drawn twice, before and after the change.
MAX_WORDS = 3


def draw(view: View, asked: Sequence[live_models.Asked], answers: "Mapping[str, Answer]") -> None:
    """Draws the predictions for the changed sentence, if a change is chosen.

    Args:
        view: the page.
        asked: the models with predictions, each with its question.
        answers: model -> its predictions for the sentence as typed.
    """
    perturbation = selection.of(LiveSelection).perturbation
    if not perturbation:
        return
    view.contents.section("The same sentence, changed")
    first = next(iter(answers.values()))
    changed = _change(view, perturbation, first)
    if changed.text is None:
        st.info(filled("This sentence cannot be changed in this way: {words}.", words=changed.words), icon=":material/block:")
        return
    _show(view, asked, answers, changed)


def _change(view: View, perturbation: str, first: Answer) -> Changed:
    """Draws the inputs of the perturbation and changes the sentence."""
    page, chosen, prompt = view.page, selection.of(LiveSelection), first.prompt
    if MASK not in prompt:
        return Changed(None, f"write the gap as {MASK}")
    if perturbation == "negated":
        return rules.negated(prompt)
    if perturbation == "misprimed":
        right = [answer_view.best_word(first), *chosen.watch.split(",")[:1]]
        offered = rules.wrong_answers([token.token for token in first.layers[-1].tokens], [word.strip() for word in right])
        prime = chosen.prime or (offered[0] if offered else "")
        selection.bound(
            st.text_input,
            "The word before the sentence",
            "prime",
            page,
            value=prime,
            max_chars=60,
            help="If empty, the model's own best wrong prediction is used.",
        )
        if offered:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption("wrong predictions of the model:", width="content")
                for number, word in enumerate(offered):
                    st.button(escape(word), key=f"live.prime.{number}", on_click=selection.update, kwargs={"prime": word})
        return rules.misprimed(prompt, prime)
    if perturbation == "shuffled":
        selection.bound(st.number_input, "Seed", "shuffle_seed", page, min_value=1, max_value=9999, step=1, width=160)
        return rules.shuffled(prompt, chosen.shuffle_seed)
    if perturbation == "truncated":
        selection.bound(
            st.number_input, "Words kept on either side of the gap", "keep_words", page, min_value=0, max_value=20, step=1, width=280
        )
        return rules.truncated(prompt, min(chosen.keep_words, 20))
    name = find_entity(prompt)
    if name is None:
        return rules.renamed(prompt, "")
    other = chosen.other_name or other_entity(name)
    selection.bound(st.text_input, filled("Instead of {name}", name=name), "other_name", page, value=other, max_chars=60)
    return rules.renamed(prompt, other, name)


def _show(view: View, asked: Sequence[live_models.Asked], answers: "Mapping[str, Answer]", changed: Changed) -> None:
    assert changed.text is not None
    first, perturbation = next(iter(answers.values())), CHANGES[selection.of(LiveSelection).perturbation]
    for place, title, text in zip(st.columns(2), (TYPED, perturbation), (first.prompt, changed.text), strict=True):
        with place:
            st.markdown(filled("{title}\n> {text}", title=title, text=text))
    st.caption(filled("{words}.", words=changed.words[:1].upper() + changed.words[1:]))
    tokens, lines = {}, []
    for one in asked:
        questions = [replace(one.question, prompt=text, top=5, mask=None) for text in (first.prompt, changed.text)]
        try:
            words = _words(one.choice, questions, answer_view.best_word(first), alone=len(asked) == 1)
            pair = [live_models.ask(one.choice, replace(question, watch=words)) for question in questions]
        except ProbingError as error:
            blocks.problem(error)
            continue
        both = []
        for row, (version, got) in enumerate(zip((TYPED, perturbation), pair, strict=True)):
            last = tokens_of(got)
            both.append(last[last["layer"] == last["layer"].max()].assign(layer=row, sentence=got.prompt, version=version))
            lines.append(watched_of(got).assign(version=version))
        tokens[one.choice.name] = pd.concat(both, ignore_index=True)
    if not tokens:
        return
    stamp = Stamp(f"{', '.join(tokens)}, {first.head} heads, {first.prompt} → {changed.text}")
    followed = pd.concat(lines, ignore_index=True)
    _grids(view, tokens, [TYPED, perturbation], stamp)
    if followed.empty:
        st.caption("The best prediction is not a whole word, so its rank is not tracked. You can enter other words under Track tokens.")
        return
    _ranks(view, followed, list(tokens), stamp)


def _grids(view: View, tokens: Mapping[str, pd.DataFrame], rows: list[str], stamp: Stamp) -> None:
    """Draws the last layer's predictions before and after the change: one grid per model, two per row."""
    for number, (model, table) in enumerate(tokens.items()):
        if number % 2 == 0:
            places = st.columns(2) if len(tokens) > 1 else [st.container()]
        with places[number % 2]:
            if len(tokens) > 1:
                st.markdown(filled("**{model}**", model=view.called(model)))
            blocks.figure(
                token_grid(table, columns=5, rows=rows, dark=blocks.dark()),
                stamp=stamp,
                name="live-changed" + (f"-{number + 1}" if len(tokens) > 1 else ""),
                table=table[["model", "version", "sentence", "place", "token", "probability"]],
                alt=f"Predictions of the last layer of {view.label(model)} for: {' and: '.join(dict.fromkeys(table['sentence']))}",
            )
    st.caption("Predictions of the last layer, best first, as typed and changed; tokens that are tracked below are framed.")


def _words(choice: live_models.Choice, questions: Sequence[Question], best: str, *, alone: bool) -> tuple[str, ...]:
    """Words whose ranks are drawn: for one model its best token and the tracked ones; for several models one word, the same for all."""
    watch = questions[0].watch
    words = tuple(dict.fromkeys((best, *watch) if alone else (*watch, best)))
    for question in questions:
        # A gap that now starts the sentence may need another token for the word, or have none.
        words, _ = live_models.watchable(choice, replace(question, watch=words))
    return words[: MAX_WORDS if alone else 1]


def _ranks(view: View, followed: pd.DataFrame, models: list[str], stamp: Stamp) -> None:
    series = "word" if len(models) == 1 else "model"
    shown = followed[series] if series == "word" else followed[series].map(view.label)
    followed = followed.assign(name=[f"{what}, {version}" for what, version in zip(shown, followed["version"], strict=True)])
    if series == "model":
        colours = answer_view.colours_of(view, models)
    else:
        palette = answer_view.theme.PALETTE
        colours = {word: palette[number % len(palette)] for number, word in enumerate(dict.fromkeys(followed["word"]))}
    names = followed[["name", series, "version"]].drop_duplicates()
    blocks.figure(
        rank_lines(
            followed,
            colours={name: colours[what] for name, what, _ in names.itertuples(index=False)},
            dashes={name: "solid" if version == TYPED else "dot" for name, _, version in names.itertuples(index=False)},
        ),
        table=followed.drop(columns="name"),
        stamp=stamp,
        name="live-changed-ranks",
        caption=f"Dotted: the changed sentence. {answer_view.RANK_CAPTION}",
        alt="Ranks by layer, as typed and changed",
    )
