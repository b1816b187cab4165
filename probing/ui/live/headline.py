"""What the last layer says, each number beside its yardstick."""

from probing.core.facts.fact import PROBE_SETS
from probing.core.questions import Answer
from probing.reports.knowledge.asked import asked
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import Markdown, filled, listing

HELP = (
    "Chance: every token of the vocabulary has the same probability. Layer 0 is the embeddings, before any transformer layer. The majority "
    "answer is the relation's commonest recorded answer."
)


def says(view: View, one: Answer, *, several: bool) -> Markdown:
    """The last layer's first answer, beside layer 0's and chance's probability of it."""
    best = one.layers[-1].tokens[0]
    who = filled("**{model}** says", model=view.called(one.model)) if several else filled("The last layer says")
    return filled(
        "{who} **{token}** ({probability}; layer 0: {before}, chance: {chance}).", who=who, token=best.token,
        probability=_percent(best.probability), before=_percent(one.of_best[0]), chance=_percent(1 / one.vocabulary),
    )  # fmt: skip


def stored(view: View, prompt: str) -> Markdown | None:
    """Of a sentence that is stored, or has a stored template: recorded and majority answer; None of any other."""
    found = view.read(asked, prompt) if view.database else None
    if found is None:
        return None
    where = f"{PROBE_SETS.get(found.probe_set, found.probe_set)}, {found.label}"
    what = (
        filled("Stored fact ({where}), recorded answer **{answers}**;", where=where, answers=listing(found.answers))
        if found.answers
        else filled("A stored template ({where});", where=where)
    )
    share = filled("right for {share} of {n:,} facts", share=_percent(found.share), n=found.n)
    return filled("{what} majority answer **{most}**, {share}.", what=what, most=found.majority, share=share)


def _percent(share: float) -> str:
    """A share in per cent; of small ones the first digit, as chance is one of some ten thousand."""
    return "<0.001 %" if share < 0.00001 else f"{share * 100:.1f} %" if share >= 0.001 else f"{share * 100:.1g} %"
