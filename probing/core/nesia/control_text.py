"""The control's text: more of what a model was trained on, so that it differs from its base by training alone."""

from dataclasses import dataclass
from pathlib import Path

from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.nesia.corpus import wikitext_sentences
from probing.core.nesia.training_text import dropped_own_evidence, training_text


@dataclass(frozen=True)
class OwnText:
    """The sources of the text of a model made here.

    Attributes:
        lama: LAMA folder, whose sentences are part of it.
        own_evidence: as ``core.nesia.training_text`` has it.
    """

    lama: Path
    own_evidence: bool


def own_text(lama: Path | None, model: Path) -> OwnText | None:
    """The sources of the text of the model in a folder; None without LAMA."""
    return None if lama is None else OwnText(lama, dropped_own_evidence(model))


def control_texts(data: Path, own: OwnText | None) -> list[tuple[str, str]]:
    """(key that decides on the part, text) of every sentence.

    Args:
        data: a text file in WikiText's layout.
        own: for a model made here: the rest of its training text.
    """
    if own is None:
        return [(sentence, sentence) for sentence in wikitext_sentences(data)]
    relations = shipped_relations()
    facts = [fact for facts in read_facts("all", relations) for fact in facts.facts]
    text = training_text(own.lama, data, facts, relations, own_evidence=own.own_evidence)
    return [(sentence.text, sentence.text) for sentence in [*text.text, *text.stated]]
