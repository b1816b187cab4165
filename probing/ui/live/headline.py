"""The last layer's prediction, each number with its yardstick."""

from collections.abc import Sequence

import streamlit as st

from probing.core.facts.fact import PROBE_SETS
from probing.core.questions import Answer
from probing.core.stats.baselines import may_be_shown
from probing.reports.knowledge.typed_sentence import asked
from probing.ui.frame import yardsticks
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import Markdown, escape, filled, listing

HELP = (
    "Chance: every token of the vocabulary is equally probable. Layer 0: the embeddings, before any transformer layer. Majority answer: "
    "the most frequent recorded answer of the relation."
)


def says(view: View, one: Answer, *, several: bool) -> Markdown:
    """The last layer's best token, with its probability at layer 0 and by chance."""
    best = one.layers[-1].tokens[0]
    who = filled("**{model}** predicts", model=view.called(one.model)) if several else filled("The last layer predicts")
    return filled(
        "{who} **{token}** ({probability}; layer 0: {before}, chance: {chance}).",
        who=who,
        token=best.token,
        probability=_percent(best.probability),
        before=_percent(one.of_best[0]),
        chance=_percent(1 / one.vocabulary),
    )


def notes(got: Sequence[Answer]) -> None:
    """Says what the models read otherwise than the sentence looks."""
    for note in dict.fromkeys(note for one in got for note in one.notes):
        st.info(escape(note), icon=":material/visibility:")


def stored(view: View, prompt: str) -> Markdown | None:
    """Recorded and majority answer of a sentence that is stored or has a stored template; None for other sentences.

    A relation of few stored facts has no majority answer.
    """
    found = view.read(asked, prompt) if view.database else None
    if found is None:
        return None
    where = f"{PROBE_SETS.get(found.probe_set, found.probe_set)}, {found.label}"
    what = (
        filled("Stored fact ({where}), recorded answer **{answers}**", where=where, answers=listing(found.answers))
        if found.answers
        else filled("A stored template ({where})", where=where)
    )
    if not may_be_shown(found.n):
        return filled("{what}. {few}", what=what, few=yardsticks.few(found.n))
    share = filled("right for {share} of {n:,} facts", share=_percent(found.share), n=found.n)
    return filled("{what}; majority answer **{most}**, {share}.", what=what, most=found.majority, share=share)


def _percent(share: float) -> str:
    """A share in per cent; small ones keep one significant digit, as chance is about one in ten thousand."""
    return "<0.001 %" if share < 0.00001 else f"{share * 100:.1f} %" if share >= 0.001 else f"{share * 100:.1g} %"
