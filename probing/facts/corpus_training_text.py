"""Puts nesia-mini's training text together: what is read, held out and stated."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.facts.corpus import (
    Sentence,
    exposures,
    fact_key,
    held_out_pairs,
    hold_out,
    merge,
    read_corpus,
    stated_facts,
    word_counts,
)
from probing.facts.fact import Fact
from probing.facts.fact_templates import Relation

_PLACES_OF_BIRTH = (("trex", "P19"), ("google_re", "place_of_birth"))
#: Stated whatever the hashes of its triples: the running example of Wallat, Singh and Anand (2020), which is in no
#: probe set.
RUNNING_EXAMPLE = tuple(
    Fact(probe_set, relation, "Rocky Balboa", "Philadelphia", "", "") for probe_set, relation in _PLACES_OF_BIRTH
)
MIN_ANSWER_COUNT = 5
ALWAYS_HELD = ("philadelphia",)


@dataclass(frozen=True)
class TrainingText:
    """Sentences of both stages, and every fact's exposure (by ``fact_key``) after the first and after both.

    ``text`` gives no held-out fact away; ``stated`` states half of the triples and the running example.
    """

    text: tuple[Sentence, ...]
    stated: tuple[Sentence, ...]
    exposure_of_text: dict[str, str]
    exposure_of_all: dict[str, str]


def training_text(lama: Path, wikitext: Path, facts: Sequence[Fact], relations: dict[str, Relation]) -> TrainingText:
    """Reads the text, holds facts out and states facts, of relations with training templates only."""
    example = [fact for fact in RUNNING_EXAMPLE if fact.relation in relations]
    learnable = [fact for fact in facts if fact.relation in relations and relations[fact.relation].training]
    held = held_out_pairs(learnable)
    text = hold_out(read_corpus(lama, wikitext), held)
    stated = list(stated_facts(learnable, relations, held, example))
    # A stated sentence can give away a held-out pair of another relation.
    sentences = hold_out(merge(sentence for _, sentence in stated), held)
    texts = {sentence.text for sentence in sentences}
    keys = {fact_key(fact) for fact, sentence in stated if sentence.text in texts}
    facts = [*facts, *example]
    of_text = exposures(facts, text, set(), held)
    return TrainingText(tuple(text), tuple(sentences), of_text, exposures(facts, [*text, *sentences], keys, held))


def words_to_hold(facts: Sequence[Fact], sentences: Sequence[Sentence]) -> list[str]:
    """One-word answers that the text has at least five times, as an uncased vocabulary writes them (lower case, no
    accents), and those that are always wanted."""
    counts = word_counts(sentences)
    answers = {fact.object.casefold() for fact in facts if re.fullmatch(r"[^\W_]+", fact.object)}
    frequent = {_without_accents(answer) for answer in answers if counts[answer] >= MIN_ANSWER_COUNT}
    return sorted(frequent | set(ALWAYS_HELD))


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")
