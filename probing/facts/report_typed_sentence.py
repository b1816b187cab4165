"""Stored information on a typed sentence: its fact or its template, and the relation's majority answer."""

import re
from dataclasses import dataclass

from probing.facts.store_facts_asked_queries import answers_of, commonest_answer, templates
from probing.kernel.store.database import Database


@dataclass(frozen=True)
class Stored:
    """A sentence that is stored, or that has a stored template; then it has no recorded answers.

    ``majority`` is the most frequent of the relation's recorded answers, of equally frequent ones the first by label;
    it is right for ``share`` of the relation's ``n`` stored facts.
    """

    probe_set: str
    label: str
    answers: tuple[str, ...]
    majority: str
    share: float
    n: int


def asked(db: Database, prompt: str) -> Stored | None:
    """Stored information on a sentence with the gap ``[MASK]``, whatever its case and spaces; None if neither it nor
    its template is stored.
    """
    prompt = " ".join(prompt.split())
    fitting = answers_of(db, prompt)
    if fitting.empty:
        known = templates(db)
        fits = known[[_fits(template, prompt) for template in known["template"]]] if len(known) else known
        # "[X] is in [Y]." matches many sentences; the most specific template wins.
        fitting = fits.sort_values("template", key=lambda texts: -texts.str.len(), kind="stable")
    if fitting.empty:
        return None
    first = fitting.iloc[0]
    key = (str(first["probe_set"]), str(first["relation"]), str(first["template_set"]))
    of_relation = fitting[
        (fitting["probe_set"] == key[0]) & (fitting["relation"] == key[1]) & (fitting["template_set"] == key[2])
    ]
    (most,) = commonest_answer(db, *key).itertuples()
    answers = tuple(dict.fromkeys(of_relation["object"])) if "object" in of_relation else ()
    return Stored(key[0], str(first["label"]), answers, str(most.object), int(most.hits) / int(most.n), int(most.n))


def _fits(template: str, prompt: str) -> bool:
    """Whether a sentence is the template with some subject."""
    parts = [re.escape(" ".join(part.split())) for part in re.split(r"\s*\[X\]\s*", template.replace("[Y]", "[MASK]"))]
    return re.fullmatch(r"\s?(?:(?!\[MASK\]).)+\s?".join(parts), prompt, re.IGNORECASE) is not None
