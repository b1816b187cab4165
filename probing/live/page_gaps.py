"""The tabs of a sentence with a gap: words by layer, changed by rule, layers put back, and minimal pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from probing.changes.minimal_pairs import KINDS, MinimalPair, by_guessing, read_minimal_pairs, typed_pair
from probing.changes.report import pair_rows, right_by_layer
from probing.choices import AskSelection
from probing.facts.forgotten import layers_to_recover
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, escape, filled
from probing.kernel.errors import HeadError, ProbingError
from probing.kernel.fact import MASK
from probing.kernel.figures import theme
from probing.kernel.figures.axis import layer_lines
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.questions import Answer, Question, with_masks
from probing.live import page_live_models as live_models
from probing.live import page_token_grids as token_grids
from probing.live.page_live_models import Choice
from probing.live.page_models import (
    choose,
    choose_others,
    chosen,
    colours_of,
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
from probing.live.report import lines_of, tokens_of

#: More lines than this in one figure cannot be distinguished.
MAX_LINES = 12
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
CHANGED = "dot"
_WORDS = (
    "Each cell is a word that a layer gives for the gap; the first followed word is orange. Layer 0: before any layer."
)
_PUT_BACK = (
    "A row has the words of the last layer with n layers of the base put back; n = 0: the fine-tuned model. The gap has"
    " one piece."
)
_PHRASES = (
    "Each cell is a phrase that a layer fills in piece by piece, best first; the first followed word is orange. Layer"
    " 0: before any layer."
)
#: What a row is -> the line below the grids.
CAPTIONS = {"layer": _WORDS, "n": _PUT_BACK}
#: What a gap of several pieces adds to ``HOW``.
HOW_PHRASES = (
    "Here the gap has several pieces, filled best first (Jiang et al. 2020): of all masks and tokens the layer fills"
    " the most probable one and predicts the others again; its five best fillings go on. A phrase's probability is the"
    " product of those that its pieces had when they were filled. Its rank is another measure (independent): with all"
    " its tokens masked, the worst of their places, each at its own mask."
)
HOW = (
    f"Every layer of the model fills the gap, read by a decoding head; the last layer is on top. {token_grids.SHADES}"
    " Rank: the place of the first followed word in the layer's list of all words; without a word of yours that is the"
    " recorded answer of a stored sentence, else what the first model says at the end. A click on a word draws its"
    " curve."
)


def grid(view: View, answer: Answer, note: str = "") -> Grid:
    """One model's words; the first followed one is the right one, if there is any."""
    watched = {layer.layer: layer.watched[0] for layer in answer.layers if layer.watched}
    tokens = tokens_of(answer).assign(
        framed=[
            layer.layer in watched and token.ids == watched[layer.layer].ids
            for layer in answer.layers
            for token in layer.tokens
        ]
    )
    tuned = is_tuned(answer.model)
    # A phrase's curve has the probabilities of its cells.
    right = {layer: token.probability for layer, token in watched.items()} if answer.filled == 1 else {}
    return Grid(
        view.label(answer.model),
        tokens,
        {layer: token.rank for layer, token in watched.items()},
        right,
        note or ("after fine-tuning" if tuned else ""),
        tuned=tuned,
    )


def grids(
    view: View,
    answers: Sequence[Answer],
    word: str,
    *,
    name: str,
    how: str,
    note: str = "",
    steps: str = "layer",
    table: pd.DataFrame | None = None,
    caption: str = "",
) -> None:
    """Draws one grid per model, two next to each other, and the row below them.

    ``how``: what this sentence adds to how the grids are read; ``note``: what the grids are; ``steps``: what a row is,
    if it is no layer; ``table``: the numbers, if they are others than those of the grids; ``caption`` if it is another.
    """
    columns, phrases = selection.of(AskSelection).top, max(answer.filled for answer in answers) > 1
    drawn = [grid(view, answer, note) for answer in answers]
    abreast = 2 if columns == token_grids.COLUMNS and not phrases else 1
    for place in range(0, len(drawn), abreast):
        row = drawn[place : place + abreast]
        token_grids.draw(row, answer=word, key=f"ask.{name}.{place}", columns=columns, steps=steps)
    first = answers[0]
    numbers = token_grids.numbers(zip((answer.model for answer in answers), drawn, strict=True))
    blocks.files(
        token_grids.as_figure(drawn[0], word or "right word", columns),
        table=numbers.dropna(axis="columns", how="all") if table is None else table,
        stamp=Stamp(f"{', '.join(answer.model for answer in answers)}, {first.head} heads, {first.prompt}"),
        name=name,
        caption=caption or (_PHRASES if phrases else CAPTIONS[steps]),
        how=f"{HOW} {HOW_PHRASES} {how}" if phrases else f"{HOW} {how}",
    )


def computed(device: str) -> None:
    """Says which device computed what is shown."""
    st.caption(filled("Computed {device}.", device=live_models.on_device(device)))


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
    many, of_model = len(words) > 1, colours_of(view, models)
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
    question, base = replace(questions[choice], pieces=1), live_models.base_of(choice)
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


def draw_pairs(view: View) -> None:
    """Draws the results for all shipped pairs together, and for one pair."""
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
    right = right_by_layer(table)
    if right.empty:
        st.info("None of the pairs can be asked of these models.", icon=":material/info:")
    else:
        _all(view, choices, table, right)
    st.header("One pair")
    _one(view, choices, shipped, table)


def _rows(choices: list[Choice], pairs: list[MinimalPair]) -> pd.DataFrame:
    return pd.concat(
        [pair_rows(choice.name, pairs, scores(choice, tuple(pairs)).logp, KINDS) for choice in choices],
        ignore_index=True,
    )


def _all(view: View, choices: list[Choice], table: pd.DataFrame, right: pd.DataFrame) -> None:
    last = right[right["layer"] == right["layer"].max()].iloc[0]
    n = int(last["pairs"])
    words = "{model} has {right} of {n} pairs right at its last layer; guessing reaches up to {most}."
    blocks.sentence(
        filled(words, model=view.name(last["model"]), right=int(last["right"]), n=n, most=by_guessing(n)[1])
    )
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


def _one(view: View, choices: list[Choice], shipped: list[MinimalPair], table: pd.DataFrame) -> None:
    """Draws one pair: the difference of its two log-probabilities by layer."""
    number, own = _chosen(view, choices, shipped, table)
    pair = shipped[number - 1] if number else own
    if pair is None:
        return
    if not number:
        for why in sorted({why for choice in choices for why in scores(choice, (pair,)).why if why}):
            st.warning(filled("{why}", why=why), icon=":material/report:")
    rows = (table[table["pair"] == number] if number else _rows(choices, [pair])).dropna(subset=["difference"])
    st.markdown(filled("“{good}” should be more probable than “{bad}”.", good=pair.good.text, bad=pair.bad.text))
    if rows.empty:
        return
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


def _chosen(
    view: View, choices: list[Choice], shipped: list[MinimalPair], table: pd.DataFrame
) -> tuple[int, MinimalPair | None]:
    """Draws the choice of a pair: the number of a shipped one, or 0 and the user's own if it is complete."""
    own = selection.of(AskSelection)
    right = table[
        (table["model"] == choices[0].name) & (table["layer"] == table["layer"].max()) & table["right"].eq(True)
    ]
    usual = int(right["pair"].iloc[0]) if len(right) else 1
    number = usual if own.minimal_pair is None or own.minimal_pair > len(shipped) else own.minimal_pair
    selection.bound(
        "minimal_pair",
        value=number,
        options=list(range(len(shipped) + 1)),
        format_func=lambda one: _named(one, shipped[one - 1]) if one else "a pair of your own",
    )
    labels = {
        "likelier": ("Your own: the better sentence, or one with a gap", "The dogs in the garden bark ."),
        "unlikelier": ("The worse sentence, or two words: better, worse", "The dogs in the garden barks ."),
    }
    for place, (name, (label, example)) in zip(st.columns(2), labels.items(), strict=True):
        with place:
            selection.bound(name, filled("{label}", label=label), resets={"minimal_pair": 0}, placeholder=example)
    if number:
        return number, None
    if not (own.likelier.strip() and own.unlikelier.strip()):
        st.info(
            "Type two sentences that differ in one place, or a sentence with a gap and two words.",
            icon=":material/edit:",
        )
        return 0, None
    try:
        return 0, typed_pair(with_masks(" ".join(own.likelier.split())), " ".join(own.unlikelier.split()))
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
