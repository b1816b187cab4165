"""The control's text: more of what a model was trained on, so that it differs from its base by training alone."""

from pathlib import Path

from probing.facts.corpus import wikitext_sentences
from probing.facts.corpus_training_text import training_text
from probing.facts.fact_templates import shipped_relations
from probing.facts.sources_sources import read_facts


def control_texts(data: Path, lama: Path | None) -> list[tuple[str, str]]:
    """(key that decides on the part, text) of every sentence of a WikiText file and, for a model made here, of LAMA."""
    if lama is None:
        return [(sentence, sentence) for sentence in wikitext_sentences(data)]
    relations = shipped_relations()
    facts = [fact for facts in read_facts("all", relations) for fact in facts.facts]
    text = training_text(lama, data, facts, relations)
    return [(sentence.text, sentence.text) for sentence in [*text.text, *text.stated]]
