"""The tab of two sentences: what the second says with the first one's state in its gap, and without some words."""

from collections.abc import Callable

import streamlit as st

from probing.choices import SWAP_EXAMPLES, AskSelection
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.frame import View
from probing.kernel.app.texts import escape
from probing.kernel.errors import ProbingError
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.questions import Answer, Question, with_masks
from probing.live import page_live_models as live_models
from probing.live.page_gaps import computed, grids
from probing.live.page_live_models import Choice
from probing.live.page_models import choose, choose_example, chosen, ready
from probing.live.perturb import find_entity, other_entity, renamed

#: Words of a row that are shown.
_TOP = 10
SWAPPED = "A row: what the second sentence says when its gap gets the first one's state after that layer."
SWAPPED_HOW = (
    "The layers above go on from there in the second sentence, read by the model's last layer. At the last layer the"
    " state is all that is read, so the first sentence's answer comes out. A layer from which it comes out carries"
    " enough for the layers above; where it does not, the second sentence may also have overruled it."
)
CUT = "A row: what the sentence says when its gap does not see these words above that layer."
CUT_HOW = (
    "Up to the layer everything is as it was; above it the gap's attention to these words is cut, while all other words"
    " still see them. A layer from which the answer stays has settled it, or other words have taken it in."
)


def draw_swap(view: View, first: str) -> None:
    """Draws the second sentence, by default the first one about another name, and what comes out."""
    usual = renamed(first, other_entity(find_entity(first) or "")).text or SWAP_EXAMPLES[0][1]
    second = with_masks(selection.of(AskSelection).swap_into or usual)
    selection.bound("swap_into", value=second, max_chars=selection.MAX_TEXT, resets={"hidden_words": ()})
    with filters.bar(view, own=(), label="Options"):
        choose(view)
        choose_example("swap", {one: {"swap_into": other} for one, other in SWAP_EXAMPLES})
    choices = ready(view, chosen(view, 1))
    if not choices or not first.strip() or not second.strip():
        return
    try:
        own_words = [_last_word(choices[0], sentence) for sentence in (first, second)]
        got = _asked(choices[0], "swapped", tuple(dict.fromkeys(own_words)), first, second)
    except ProbingError as error:
        blocks.problem(error)
        return
    _say(got, *own_words)
    grids(view, [got], own_words[0], name="live-swapped", how=SWAPPED_HOW, note=" ", caption=SWAPPED)
    computed(got.device)
    _hidden(view, choices[0], second, own_words[1])


def _last_word(choice: Choice, sentence: str) -> str:
    return live_models.ask(choice, Question(sentence, LOGIT_LENS, top=1, pieces=1)).layers[-1].tokens[0].token


def _say(got: Answer, first: str, second: str) -> None:
    """From which layer on the first sentence's answer comes out."""
    ranks = [layer.watched[0].rank for layer in got.layers]
    since = next(n for n in range(len(ranks)) if all(rank == 1 for rank in ranks[n:]))
    words = "The first sentence's state says **{first}** in place of **{second}** from layer {since} on."
    if first == second:
        words = "Both sentences say **{first}**: choose two with different answers."
    blocks.sentence(words, first=first, second=second, since=since)


def _hidden(view: View, choice: Choice, sentence: str, word: str) -> None:
    """Draws the words of the second sentence to hide from its gap, and what comes out."""
    st.header("Without some words")
    words = [one.strip(".,;:!?\"'") for one in sentence.split()]
    offered = list(dict.fromkeys(one for one in words if one and "[MASK]" not in one))
    hidden = tuple(one for one in selection.of(AskSelection).hidden_words if one in offered)
    selection.bound("hidden_words", value=hidden, options=offered, format_func=escape)
    if not hidden:
        st.caption("Choose words that the gap shall not see.")
        return
    try:
        got = _asked(choice, "cut", (word,), sentence, hidden)
    except ProbingError as error:
        blocks.problem(error)
        return
    grids(view, [got], word, name="live-cut", how=CUT_HOW, note=" ", caption=CUT)


def _asked(choice: Choice, how: str, watch: tuple[str, ...], *asked: "str | tuple[str, ...]") -> Answer:
    """The answer of ``live.swap`` to what is asked."""
    from probing.live import swap

    ask: Callable[..., Answer] = swap.ask_swapped if how == "swapped" else swap.ask_cut
    return live_models.in_turn(choice, lambda turn, live: ask(live, *asked, _TOP, watch, turn))
