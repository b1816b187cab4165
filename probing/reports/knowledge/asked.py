"""What is stored about a sentence that is asked: its fact, or its template, and the relation's majority answer."""

import re
from dataclasses import dataclass

from probing.store.database import Database
from probing.store.knowledge.asked_queries import answers_of, commonest_answer, templates


@dataclass(frozen=True)
class Stored:
    """A sentence that is stored, or that has a stored template.

    Attributes:
        probe_set, label: whose it is, and the name of the relation.
        answers: the recorded answers of the stored sentence; none where only its template is stored.
        majority: the relation's commonest recorded answer, of two equally common ones the first by label.
        share: of the relation's stored facts that it is right for.
        n: number of these facts.
    """

    probe_set: str
    label: str
    answers: tuple[str, ...]
    majority: str
    share: float
    n: int


def asked(db: Database, prompt: str) -> Stored | None:
    """What is stored about a sentence; None where neither it nor its template is.

    Args:
        db: the database.
        prompt: the sentence, its gap written ``[MASK]``; case and blanks make no difference.
    """
    prompt = " ".join(prompt.split())
    found = answers_of(db, prompt)
    if found.empty:
        known = templates(db)
        fits = known[[_fits(template, prompt) for template in known["template"]]] if len(known) else known
        # "[X] is in [Y]." fits much; the template that says most is meant.
        found = fits.sort_values("template", key=lambda texts: -texts.str.len(), kind="stable")
    if found.empty:
        return None
    first = found.iloc[0]
    key = (str(first["probe_set"]), str(first["relation"]), str(first["template_set"]))
    mine = found[(found["probe_set"] == key[0]) & (found["relation"] == key[1]) & (found["template_set"] == key[2])]
    (most,) = commonest_answer(db, *key).itertuples()
    answers = tuple(dict.fromkeys(mine["object"])) if "object" in mine else ()
    return Stored(key[0], str(first["label"]), answers, str(most.object), int(most.hits) / int(most.n), int(most.n))


def _fits(template: str, prompt: str) -> bool:
    """Whether a sentence is the template with some subject."""
    parts = [re.escape(" ".join(part.split())) for part in re.split(r"\s*\[X\]\s*", template.replace("[Y]", "[MASK]"))]
    return re.fullmatch(r"\s?(?:(?!\[MASK\]).)+\s?".join(parts), prompt, re.IGNORECASE) is not None
