"""The facts of the user's own that cannot be asked, named before anything is asked."""

import pandas as pd
import streamlit as st

from probing.facts.fact import SEVERAL_TOKENS, FactSet
from probing.kernel.app import blocks
from probing.kernel.app.texts import Markdown, count, filled, joined, listing
from probing.kernel.errors import ProbingError

_WORDS = {SEVERAL_TOKENS: "answers of several word pieces"}


def of_model(facts: FactSet, model: str, base: str = "") -> FactSet:
    """The facts that a model's tokenizer allows; all if it is not on this machine, or cannot be read."""
    from probing.kernel.models.tokens import one_piece_only

    try:
        return one_piece_only(facts, model, base)
    except (ProbingError, OSError):
        return facts


def say(facts: FactSet, *, checked: bool = True) -> None:
    """States how many facts can be asked (or were read, if unchecked), and names those left out, with reasons."""
    words = "{facts} can be asked." if checked else "{facts} read."
    parts: list[Markdown] = [filled(words, facts=count(len(facts.facts), "fact"))]
    for reason, number in sorted(facts.left_out.items()):
        named = listing([fact.object or fact.prompt for fact, why in facts.dropped if why == reason])
        which = filled(" ({named})", named=named) if named else ""
        parts.append(
            filled("{n:,} left out: {reason}{which}.", n=number, reason=_WORDS.get(reason, reason), which=which)
        )
    st.markdown(joined(" ", [*parts, *([filled("Read as {how}.", how=facts.said)] if facts.said else [])]))
    if facts.dropped:
        with st.expander("What is left out", icon=":material/filter_alt_off:"):
            rows = [
                {"reason": _WORDS.get(reason, reason), "prompt": fact.prompt, "object": fact.object}
                for fact, reason in facts.dropped
            ]
            st.dataframe(pd.DataFrame(rows).head(blocks.MAX_ROWS), hide_index=True)
