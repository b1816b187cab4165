"""The tabs of a sentence with a gap: words by layer, changed by rule, layers put back, and minimal pairs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from probing.changes.minimal_pairs import KINDS, MinimalPair, by_guessing, read_minimal_pairs, typed_pair
from probing.changes.report import pair_rows, right_by_layer
from probing.choices import EXAMPLES, OF_EXAMPLE, AskSelection
from probing.facts.forgotten import layers_to_recover
from probing.facts.report import Stored, asked
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, escape, filled, joined, listing
from probing.kernel.errors import HeadError, ProbingError, PromptError
from probing.kernel.fact import MASK
from probing.kernel.figures import theme
from probing.kernel.figures.axis import layer_lines
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.questions import Answer, Question, WatchedToken, with_masks
from probing.live import page_examples
from probing.live import page_live_models as live_models
from probing.live import page_token_grids as token_grids
from probing.live.page_live_models import Choice
from probing.live.page_models import (
    choose,
    choose_others,
    choose_word,
    chosen,
    is_tuned,
    labelled_colours,
    named_base,
    of_each,
    ready,
    scores,
)
from probing.live.page_token_grids import Grid
from probing.live.perturb import (
    PERTURBATIONS,
    Changed,
    find_entity,
    misprimed,
    negated,
    other_entity,
    renamed,
    shuffled,
    truncated,
    wrong_answers,
)
from probing.live.report import best_known, first_layers, followed, lines_of, tokens_of

#: More lines than this in one figure cannot be distinguished.
MAX_LINES = 12
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
CHANGED = "dot"
_PUT_BACK = (
    "A row has the words of the last layer with n layers of the base put back; n = 0: the fine-tuned model. The gap has"
    " one piece."
)
_PHRASES = "Each cell is a phrase that a layer fills in piece by piece, best first. Layer 0: before any layer."
NOBODY = "Nobody checked this answer. The right word, if you know it:"
#: How a sentence on a word of several tokens begins: how it is read, or how the shown phrases were filled in.
MASKED, BEST_FIRST = Markdown("With all its tokens masked, "), Markdown("Filled best first, ")
#: What a gap of several pieces adds to ``HOW``.
HOW_PHRASES = (
    "Here the gap has several pieces, filled best first (Jiang et al. 2020): of all masks and tokens the layer fills"
    " the most probable one and predicts the others again; its five best fillings go on. A phrase's probability is the"
    " product of those that its pieces had when they were filled. Its rank is another measure (independent): with all"
    " its tokens masked, the worst of their places, each at its own mask."
)
HOW = (
    f"Every layer of the model fills the gap, read by a decoding head; the last layer is on top. {token_grids.SHADES}"
    " Orange: a right word, which is yours or the recorded answer of a stored sentence. Without one a frame marks the"
    " first followed word, or else what the first model says at the end; it may be wrong. Rank: the place of that word"
    " in the layer's list of all words. A click on a word draws its curve."
)


def grid(view: View, answer: Answer, word: str, right: Sequence[str] = (), note: str = "") -> Grid:
    """One model's words, with the ranks of the followed ``word``, one of the ``right`` words if there are any."""
    watched = followed(answer, word)
    marked = {one.ids for one in answer.layers[-1].watched if one.token in (right or (word,))}
    tokens = tokens_of(answer).assign(framed=[token.ids in marked for layer in answer.layers for token in layer.tokens])
    # A phrase's curve has the probabilities of its cells.
    curve = {layer: token.probability for layer, token in watched.items()} if answer.filled == 1 else {}
    return Grid(
        view.label(answer.model),
        view.colours_of([answer.model])[answer.model],
        tokens,
        {layer: token.rank for layer, token in watched.items()},
        curve,
        note or ("after fine-tuning" if is_tuned(answer.model) else ""),
        checked=bool(right),
    )


def asked_as(sentence: str) -> str:
    """The sentence that is asked, its gaps written ``[MASK]``; one that ends with a gap gets a full stop, which the
    model would say there.
    """
    return re.sub(r"\[MASK\]\s*$", f"{MASK}.", with_masks(sentence))


def choose_right(right: Sequence[str]) -> None:
    """Draws the line that nobody checked the answer, with a field for the right word, unless a stored one is known."""
    if selection.current().right or not right:
        selection.bound("right", Markdown("The right word" if right else NOBODY))


def right_words(prompt: str, stored: Stored | None) -> tuple[str, ...]:
    """The right words of a sentence: the user's, else the recorded answers of a stored one, else that of an example."""
    typed = tuple(word.strip() for word in selection.current().right.split(",") if word.strip())
    return typed or (stored.answers if stored else ()) or tuple(filter(None, EXAMPLES.get(prompt, "").split(",")[:1]))


def ask_gap(
    view: View, there: Sequence[Choice], question: Question
) -> tuple[dict[Choice, Question], dict[str, Answer]]:
    """What each model was asked and what it answers, at one gap or at the chosen one of several."""
    gaps = of_each(dict.fromkeys(there, question), live_models.gaps)
    there = [choice for choice in there if choice.name in gaps]
    several = bool(gaps) and max(gaps.values()) > 1
    if several:
        there, question = _choose_gap(view, there, question, gaps)
    questions = _followed(view, there, question, alone=not several or question.mask is not None)
    fill = several and question.mask is None
    answers = _filled_gap(view, questions) if fill else of_each(questions, live_models.ask)
    return {choice: question for choice, question in questions.items() if choice.name in answers}, answers


def _followed(view: View, there: Sequence[Choice], question: Question, *, alone: bool) -> dict[Choice, Question]:
    """Each model with its question, which follows only words that the model can be asked for.

    Without such a word, what the first model says at the end is followed, if one gap is read ``alone`` and filled by
    one token: the best phrase of a filling need not be the one that the masks say by themselves.
    """
    alone = alone and question.pieces in (None, 1)
    typed = selection.of(AskSelection).watch != OF_EXAMPLE or bool(selection.current().right)
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
        blocks.caption("Not followed in {name}: {names}.", name=view.name(choice.name), names=listing(refused))
    return watch


def _choose_gap(
    view: View, there: Sequence[Choice], question: Question, gaps: Mapping[str, int]
) -> tuple[list[Choice], Question]:
    """Draws the choice of a gap; returns the models that have it, and the question, with gap None to fill all."""
    masks, mask = max(gaps.values()), selection.current().mask
    fillable = masks <= live_models.MAX_FILLED
    mask = min(mask, masks) or int(not fillable)
    selection.bound(
        "mask",
        filled("The sentence has {n} gaps", n=masks),
        value=mask,
        options=[*range(1, masks + 1), *([0] if fillable else [])],
        format_func=lambda number: f"gap {number}" if number else "fill all",
        resets={"right": ""},
    )
    if not fillable:
        blocks.caption("At most {most} gaps are filled.", most=live_models.MAX_FILLED)
    if not mask and (question.pieces or 1) > 1:
        st.caption("To fill all, each gap gets one piece.")
    # A mask in one model's own spelling is not a gap for other models.
    if fewer := [view.name(choice.name) for choice in there if gaps[choice.name] < mask]:
        blocks.note("No gap {mask} in this sentence for {names}.", mask=mask, names=listing(fewer))
    return [choice for choice in there if gaps[choice.name] >= mask], replace(question, mask=mask - 1 if mask else None)


def _filled_gap(view: View, questions: Mapping[Choice, Question]) -> dict[str, Answer]:
    """Draws the sentence that every model fills from left to right, and the choice of the gap that is read."""
    by_model = of_each(questions, live_models.fill)
    for name, (text, _) in by_model.items():
        blocks.note("{name}: {text}", "edit", name=view.name(name), text=text)
    if not by_model:
        return {}
    # A model may recognise fewer gaps than another.
    places = list(range(1, max(len(answers) for _, answers in by_model.values()) + 1))
    place = min(max(selection.current().gap, 1), len(places))
    selection.bound("gap", value=place, options=places, resets={"right": ""})
    return {name: answers[place - 1] for name, (_, answers) in by_model.items() if place <= len(answers)}


def answer_in(view: View, answers: Mapping[str, Answer], right: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Draws the sentence: at which layers a word comes first, or that it is right and another one comes first.

    Returns the followed word, and the right ones if one of them is followed.
    """
    answers_in_order = list(answers.values())
    first = answers_in_order[0]
    best = best_known(first, right)
    watched = [answer.layers[-1].watched[0] for answer in answers_in_order if answer.layers[-1].watched]
    said = first.layers[-1].tokens[0]
    word = best or (watched[0].token if watched else said.token)
    shown = next((one for answer in answers_in_order for one in answer.layers[-1].watched if one.token == word), said)
    how = Markdown("") if len(shown.ids) == 1 else MASKED if watched else BEST_FIRST
    rank = shown.rank if isinstance(shown, WatchedToken) and best and said.ids != shown.ids else 1
    firsts = {answer.model: first_layers(answer, word) for answer in answers_in_order}
    wrong = (said.token, rank) if rank > 1 else None
    blocks.sentence("{how}{words}", how=how, words=page_examples.sentence(view, word, firsts, wrong))
    for note in dict.fromkeys(note for answer in answers_in_order for note in answer.notes):
        st.info(escape(note), icon=":material/visibility:")
    return word if watched else "", right if best else ()


def grids(
    view: View,
    answers: Sequence[Answer],
    word: str,
    *,
    name: str,
    how: str,
    right: Sequence[str] = (),
    note: str = "",
    steps: str = "layer",
    table: pd.DataFrame | None = None,
    caption: str = "",
) -> None:
    """Draws one grid per model, two next to each other, and the row below them.

    ``word`` is followed; it is one of the ``right`` ones if there are any. ``how``: what this sentence adds to how the
    grids are read; ``note``: what the grids are; ``steps``: what a row is, if it is no layer; ``table``: the numbers,
    if they are others than those of the grids; ``caption`` if it is another.
    """
    columns, phrases = selection.of(AskSelection).top, max(answer.filled for answer in answers) > 1
    drawn = [grid(view, answer, word, right, note) for answer in answers]
    abreast = 2 if columns == token_grids.COLUMNS and not phrases else 1
    for place in range(0, len(drawn), abreast):
        row = drawn[place : place + abreast]
        token_grids.draw(row, answer=word, key=f"ask.{name}.{place}", columns=columns, steps=steps)
    first, checked = answers[0], bool(right) if word else None
    numbers = token_grids.numbers(zip((answer.model for answer in answers), drawn, strict=True))
    blocks.files(
        token_grids.as_figure(drawn[0], word or "right word", columns),
        table=numbers.dropna(axis="columns", how="all") if table is None else table,
        stamp=Stamp(f"{', '.join(answer.model for answer in answers)}, {first.head} heads, {first.prompt}"),
        name=name,
        caption=caption
        or (_PHRASES if phrases else _PUT_BACK if steps == "n" else token_grids.caption(checked=checked)),
        how=joined(" ", [HOW, *([HOW_PHRASES] if phrases else []), how]),
    )


def computed(device: str) -> None:
    """Says which device computed what is shown."""
    blocks.caption("Computed {device}.", device=live_models.on_device(device))


def lines(answers: Mapping[str, Answer], changed: Mapping[str, Answer]) -> pd.DataFrame:
    """Rank, probability and entropy by model, word and layer; ``changed`` says in which of the two sentences."""
    parts = [
        lines_of(of_model).assign(changed=which)
        for which, got in ((False, answers), (True, changed))
        for of_model in got.values()
    ]
    return pd.concat(parts, ignore_index=True)


def named(
    view: View, table: pd.DataFrame, *, by_word: bool = True
) -> tuple[pd.DataFrame, dict[str, str], dict[str, str]]:
    """Names, colours and dashes of lines: models in colour, words (``by_word``) in dashes, and what is changed dotted.

    Returns the rows to draw with ``name``, name -> colour, name -> dash.
    """
    if "changed" not in table:
        table = table.assign(changed=False)
    models = list(dict.fromkeys(table["model"]))
    both, only = table["changed"].any(), not by_word or table["changed"].any()
    words = list(dict.fromkeys(table["word"]))[: 1 if only else max(MAX_LINES // len(models), 1)]
    drawn = table[table["word"].isin(words)]
    many, of_model = len(words) > 1, view.colours_of(models)
    colours, dashes, names = {}, {}, []
    for model, word, is_changed in drawn[["model", "word", "changed"]].itertuples(index=False):
        name = " · ".join([*([word] if many else []), view.label(model), *(["changed"] if is_changed else [])])
        colours[name] = of_model[model]
        dashes[name] = CHANGED if is_changed else DASHES[0 if both else words.index(word) % len(DASHES)]
        names.append(name)
    return drawn.assign(name=names), colours, dashes


RESTORED_HOW = (
    "For n from 0 to all, n layers of the fine-tuned model are replaced by those of its base, and the sentence is asked"
    " again. The embeddings and the head stay those of the fine-tuned model. Data: the n at which a followed word is"
    " first again."
)


def draw_changed(view: View, questions: Mapping[Choice, Question], answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """Draws the answers to the changed sentence, if a change is chosen, and returns them by model."""
    how = selection.of(AskSelection).perturbation
    if not how:
        return {}
    st.header(filled("The sentence {how}", how=PERTURBATIONS[how]))
    first = next(iter(answers.values()))
    changed = _change(view, how, first)
    if changed.text is None:
        blocks.note("This sentence cannot be changed in this way: {words}.", "block", words=changed.words)
        return {}
    st.markdown(filled("> {text}", text=changed.text))
    blocks.caption("{words}.", words=changed.words[:1].upper() + changed.words[1:])
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
    own, prompt = selection.of(AskSelection), first.prompt
    if MASK not in prompt:
        return Changed(None, f"write the gap as {MASK}")
    if how == "negated":
        return negated(prompt)
    if how == "misprimed":
        last = first.layers[-1]
        right = [last.tokens[0].token, *(word.token for word in last.watched[:1])]
        offered = wrong_answers([token.token for token in last.tokens], right)
        prime = own.prime or (offered[0] if offered else "")
        selection.bound("prime", value=prime)
        with st.container(horizontal=True):
            for number, word in enumerate(offered):
                st.button(escape(word), key=f"ask.prime.{number}", on_click=selection.update, kwargs={"prime": word})
        return misprimed(prompt, prime)
    if how == "shuffled":
        selection.bound("shuffle_seed")
        return shuffled(prompt, own.shuffle_seed)
    if how == "truncated":
        selection.bound("keep_words", "Words kept on either side of the gap")
        return truncated(prompt, min(own.keep_words, 20))
    name = find_entity(prompt)
    if name is None:
        return renamed(prompt, "")
    other = own.other_name or other_entity(name)
    selection.bound("other_name", filled("Instead of {name}", name=name), value=other)
    return renamed(prompt, other, name)


def layers_put_back(view: View, questions: Mapping[Choice, Question], right: Sequence[str]) -> None:
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
    question, base = replace(questions[choice], pieces=1), live_models.base_of(choice)
    if base not in offered and not (base := _unknown_base(view, choice, offered)):
        return
    try:
        with st.spinner(filled("Loading {base} …", base=view.name(base)), show_time=True):
            last = _last_word(offered[base], replace(question, top=1, watch=()))
            words = tuple(dict.fromkeys((last, *question.watch)))
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
        right=right if words and words[0] in right else (),
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
        blocks.caption(words, name=view.name(choice.name))
        return ""
    return named_base(view, choice, [name for name in offered if name != choice.name and offered[name].here])


def _last_word(base: Choice, question: Question) -> str:
    """What the base says at its last layer, by its head of that kind, or else its pre-trained head."""
    try:
        answer = live_models.ask(base, question)
    except HeadError:
        answer = live_models.ask(base, replace(question, head=LOGIT_LENS))
    return answer.layers[-1].tokens[0].token


MODELS = 2
CAPTION = (
    "Pairs in which the layer gives the better word more probability. Grey: what guessing reaches in 95 of 100 cases."
)
HOW_PAIRS = (
    "A pair is two words for one gap, or one gap in two sentences; the better word should be the more probable one."
    " Every layer is read by the model's own output layer (logit lens). Dotted: half of the pairs, as by guessing. A"
    " model whose line ends in the grey band is not better than guessing. Data: every pair with its kind; pairs with"
    " words that a model does not know are empty there and count for none."
)
ONE = "Above 0 the better word is more probable. Words of several pieces are at a disadvantage."


def draw_pairs(view: View, sentence: str) -> None:
    """Draws two words for the gap of the sentence, and the results for all shipped pairs together."""
    with filters.bar(view, own=["live_models"], label="Options") as place:
        choose(view)
        with place:
            choose_others(view, MODELS)
    try:
        shipped = read_minimal_pairs()
    except ProbingError as error:
        blocks.problem(error)
        return
    choices = ready(view, chosen(view, MODELS))
    if not choices:
        return
    with st.spinner("Asking the pairs …", show_time=True):
        table = _rows(choices, shipped)
    _one(view, choices, shipped, table, sentence)
    right = right_by_layer(table)
    if right.empty:
        st.info("None of the pairs can be asked of these models.", icon=":material/info:")
    else:
        _all(view, choices, table, right)


def _rows(choices: list[Choice], pairs: list[MinimalPair]) -> pd.DataFrame:
    return pd.concat(
        [pair_rows(choice.name, pairs, scores(choice, tuple(pairs)).logp, KINDS) for choice in choices],
        ignore_index=True,
    )


def _all(view: View, choices: list[Choice], table: pd.DataFrame, right: pd.DataFrame) -> None:
    last = right[right["layer"] == right["layer"].max()].iloc[0]
    n = int(last["pairs"])
    words = "{model} has {right} of {n} pairs right at its last layer; guessing reaches up to {most}."
    st.header("All shipped pairs")
    st.markdown(filled(words, model=view.name(last["model"]), right=int(last["right"]), n=n, most=by_guessing(n)[1]))
    colours = labelled_colours(view, [choice.name for choice in choices])
    blocks.figure(
        drawing(right_lines, right.assign(name=right["model"].map(view.label)), colours, n, by_guessing(n)),
        table=table,
        stamp=Stamp(f"{', '.join(choice.name for choice in choices)}, {n} minimal pairs"),
        name="live-minimal-pairs",
        caption=CAPTION,
        how=HOW_PAIRS,
        alt="Number of minimal pairs right, by layer",
    )


def right_lines(right: pd.DataFrame, colours: dict[str, str], pairs: int, guessed: tuple[int, int]) -> go.Figure:
    """Pairs right by layer, with what guessing reaches."""
    figure = layer_lines(right, "right", f"%{{y}} of {pairs}", colours=colours)
    figure.add_hline(y=pairs / 2, line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.add_hrect(*guessed, fillcolor=theme.NEUTRAL, opacity=0.1, line_width=0, layer="below")
    figure.update_yaxes(title_text=f"right, of {pairs} pairs", range=[-0.5, pairs + 0.5])
    return figure


def _one(view: View, choices: list[Choice], shipped: list[MinimalPair], table: pd.DataFrame, sentence: str) -> None:
    """Draws one pair: the difference of its two log-probabilities by layer."""
    place = st.container()
    number, own = _chosen(view, choices[0], shipped, sentence)
    pair = shipped[number - 1] if number else own
    if pair is None:
        return
    if not number:
        for why in sorted({why for choice in choices for why in scores(choice, (pair,)).why if why}):
            st.warning(filled("{why}", why=why), icon=":material/report:")
    rows = (table[table["pair"] == number] if number else _rows(choices, [pair])).dropna(subset=["difference"])
    st.markdown(filled("“{good}” against “{bad}”", good=pair.good.text, bad=pair.bad.text))
    if rows.empty:
        return
    first = rows[rows["model"] == rows["model"].iloc[0]].sort_values("layer")
    better, worse = (pair.good.word, pair.bad.word)[:: 1 if first["difference"].iloc[-1] > 0 else -1]
    if better == worse:
        better, worse = (pair.good.text, pair.bad.text)[:: 1 if first["difference"].iloc[-1] > 0 else -1]
    with place:
        alike = (first["difference"] > 0) == (first["difference"].iloc[-1] > 0)
        words = "{model} ends with **{better}** above **{worse}**, as at {same} of {layers} layers."
        named = {"model": view.name(first["model"].iloc[0]), "better": better, "worse": worse}
        blocks.sentence(words, **named, same=int(alike.sum()), layers=len(alike))
    colours = labelled_colours(view, [choice.name for choice in choices])
    blocks.figure(
        drawing(difference_lines, rows.assign(name=rows["model"].map(view.label)), colours),
        table=rows,
        stamp=Stamp(f"{', '.join(choice.name for choice in choices)}, {pair.good.text} / {pair.bad.text}"),
        name="live-minimal-pair",
        caption=ONE,
        alt="Difference of log-probability by layer",
    )


def difference_lines(lines: pd.DataFrame, colours: dict[str, str]) -> go.Figure:
    """The better word's log-probability minus the worse one's, by layer."""
    figure = layer_lines(lines, "difference", "%{y:.2f} nats", colours=colours)
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.update_yaxes(title_text="better minus worse word, nats (log-probability)")
    return figure


def _chosen(view: View, choice: Choice, shipped: list[MinimalPair], sentence: str) -> tuple[int, MinimalPair | None]:
    """Draws the choice of a pair: the number of a shipped one, or 0 and that of the sentence if it is complete.

    Its words are by default the right one, or what the model says at the end, and the next that it says.
    """
    own = selection.of(AskSelection)
    number = own.minimal_pair if own.minimal_pair <= len(shipped) else 0
    selection.bound(
        "minimal_pair",
        value=number,
        options=list(range(len(shipped) + 1)),
        format_func=lambda one: _named(one, shipped[one - 1]) if one else "your sentence",
    )
    if number:
        return number, None
    words = own.unlikelier.strip()
    try:
        if not words and sentence.count(MASK) == 1:
            stored = view.read(asked, sentence) if view.database else None
            tokens = live_models.ask(choice, Question(sentence, LOGIT_LENS, 10)).layers[-1].tokens
            right = right_words(sentence, stored)[:1]
            words = ", ".join([*right, *wrong_answers([token.token for token in tokens], right)][:2])
        label = None if MASK in sentence else "The worse sentence, which differs in one place"
        selection.bound("unlikelier", label, value=words)
        if MASK not in sentence and not words:
            choose_word(sentence)
        return 0, typed_pair(sentence, " ".join(words.split())) if words else None
    except ProbingError as error:
        blocks.problem(error)
        return 0, None


def _named(number: int, pair: MinimalPair) -> str:
    words = pair.good.text if pair.good.sentence != pair.bad.sentence else pair.good.sentence
    return (
        f"{number}. {words} ({pair.good.word} / {pair.bad.word})"
        if pair.good.word != pair.bad.word
        else f"{number}. {words}"
    )
