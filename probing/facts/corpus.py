"""The text that nesia-mini learns from, its control's text, and which facts the text states."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from probing.facts.lama import json_lines, subfolder
from probing.facts.sources import read_facts
from probing.kernel.errors import FactsError
from probing.kernel.fact import EVERYDAY, MASK, STATED, WELL_KNOWN, Fact, Relation, shipped_relations
from probing.kernel.text import MAX_WORDS, wikitext_sentences

MAX_SENTENCES_A_FACT = 4
HELD_OUT_SHARE = 0.02
STATED_SHARE = 0.5


@dataclass(frozen=True)
class Sentence:
    """One training sentence."""

    text: str
    #: Surface forms of the objects it is evidence for; may be masked whole.
    answers: tuple[str, ...]
    #: ``wikitext``, ``evidence``, ``stated`` or ``well known``.
    source: str
    #: As from ``pair``, also in another form than the sentence's ("Schliemann" for "Heinrich Schliemann").
    pairs: tuple[tuple[str, str], ...] = ()


def fact_key(fact: Fact) -> str:
    """The key under which exposure is recorded: the triple, for any template."""
    return f"{fact.relation}\t{fact.subject}\t{fact.object}"


def share_of(salt: str, key: str) -> float:
    """A number in [0, 1) that depends only on its arguments: the facts that are held out or stated never change."""
    return int.from_bytes(hashlib.sha256(f"{salt}\t{key}".encode()).digest()[:6]) / 2**48


def trex_evidence(folder: Path) -> Iterator[Sentence]:
    """LAMA's evidence sentences with their answer put back, at most four per fact."""
    for path in sorted(folder.glob("*.jsonl")):
        for _, row in json_lines(path):
            texts: dict[str, str] = {}
            for evidence in row.get("evidences", ()):
                surface = evidence["obj_surface"]
                texts.setdefault(evidence["masked_sentence"].replace(MASK, surface), surface)
            short = [(text, surface) for text, surface in texts.items() if len(text.split()) <= MAX_WORDS]
            for text, surface in short[:MAX_SENTENCES_A_FACT]:
                yield Sentence(text, (surface,), "evidence", _row_pairs(row))


def google_re_evidence(folder: Path) -> Iterator[Sentence]:
    """The sentences that Google-RE's raters considered."""
    for path in sorted(folder.glob("*.jsonl")):
        for _, row in json_lines(path):
            for evidence in row.get("evidences", ()):
                for text in evidence.get("considered_sentences", ()):
                    if len(text.split()) <= MAX_WORDS:
                        yield Sentence(text, (row["obj_label"],), "evidence", _row_pairs(row))


def stated_facts(
    facts: Iterable[Fact], relations: dict[str, Relation], held_out: set[tuple[str, str]], always: Iterable[Fact] = ()
) -> Iterator[tuple[Fact, Sentence]]:
    """Half of the triples, chosen by hash, and all of ``always``, each in the training templates of its relation."""
    chosen = [fact for fact in facts if share_of("stated", fact_key(fact)) < STATED_SHARE]
    for fact in [*chosen, *always]:
        relation = relations.get(fact.relation)
        if relation is None or pair(fact) in held_out:
            continue
        subject, answer = _with_articles(fact)
        for template in relation.training:
            text = template.replace("[X]", subject).replace("[Y]", answer)
            yield fact, Sentence(text[0].upper() + text[1:], (fact.object,), STATED)


def _with_articles(fact: Fact) -> tuple[str, ...]:
    """Subject and answer as a statement names them: of a well-known fact with the articles that its question has."""
    if fact.probe_set != EVERYDAY:
        return fact.subject, fact.object
    return tuple(_with_article(name, place, fact.template) for name, place in ((fact.subject, "X"), (fact.object, "Y")))


def _with_article(name: str, place: str, template: str) -> str:
    """The name with what belongs to it before its place in the template: the Colosseum, a physicist, South America."""
    (before,) = re.findall(rf"((?:\b(?:the|an?|famous|south) )*)\[{place}\]", template, re.IGNORECASE)
    before = re.sub("famous ", "", before.lower())
    return re.sub(r"^an? $", "an " if name[0] in "aeiou" else "a ", before) + name


def listed_pairs(facts: Iterable[Fact]) -> set[tuple[str, str]]:
    """The pairs of the well-known facts, in both directions."""
    pairs = {_listed(fact) for fact in facts if fact.probe_set == EVERYDAY}
    return pairs | {(answer, subject) for subject, answer in pairs}


def is_listed(fact: Fact, listed: Collection[tuple[str, str]]) -> bool:
    """Whether the pair of a fact is one of ``listed_pairs``."""
    return _listed(fact) in listed


def _listed(fact: Fact) -> tuple[str, str]:
    """As ``pair``, without an article in front: "The Beatles" are on the list as "Beatles"."""
    subject, answer = (re.sub(r"^(the|an?) ", "", name) for name in pair(fact))
    return subject, answer


def pair(fact: Fact) -> tuple[str, str]:
    """Subject and object, normalised: what a sentence must contain to give a fact away."""
    return _words(fact.subject), _words(fact.object)


def _row_pairs(row: dict) -> tuple[tuple[str, str], ...]:
    """The pair of a LAMA row's own fact; none if the row names no subject or object."""
    subject, answer = _words(str(row.get("sub_label") or "")), _words(str(row.get("obj_label") or ""))
    return ((subject, answer),) if subject and answer else ()


def held_out_pairs(facts: Iterable[Fact]) -> set[tuple[str, str]]:
    """Pairs of the two per cent of facts, chosen by hash, that no training sentence may contain or be evidence for."""
    return {pair(fact) for fact in facts if share_of("held out", fact_key(fact)) < HELD_OUT_SHARE}


def merge(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Distinct sentences in first-seen order; one that is evidence for several facts keeps all answers and pairs."""
    distinct: dict[str, Sentence] = {}
    for sentence in sentences:
        known = distinct.setdefault(sentence.text, sentence)
        answers = tuple(dict.fromkeys(known.answers + sentence.answers))
        pairs = tuple(dict.fromkeys(known.pairs + sentence.pairs))
        if (answers, pairs) != (known.answers, known.pairs):
            distinct[sentence.text] = replace(known, answers=answers, pairs=pairs)
    return list(distinct.values())


def read_corpus(lama: Path, wikitext: Path) -> list[Sentence]:
    """All training sentences before holding out: WikiText slice, T-REx and Google-RE evidence."""
    read: list[Sentence] = [Sentence(text, (), "wikitext") for text in wikitext_sentences(wikitext)]
    if folder := subfolder(lama, "trex"):
        read += trex_evidence(folder)
    if folder := subfolder(lama, "google_re"):
        read += google_re_evidence(folder)
    return merge(read)


class PairIndex:
    """Finds the sentences that contain both words of a pair, by whole words and without case and punctuation."""

    def __init__(self, texts: Sequence[str]):
        self.texts = [f" {_words(text)} " for text in texts]
        self.postings: dict[str, set[int]] = defaultdict(set)
        for number, text in enumerate(self.texts):
            for word in set(text.split()):
                self.postings[word].add(number)

    def sentences(self, subject: str, answer: str) -> list[int]:
        """Numbers of the sentences that contain both, given as ``pair`` gives them."""
        words = {*subject.split(), *answer.split()}
        if not words:
            return []
        numbers = set.intersection(*sorted((self.postings.get(word, set()) for word in words), key=len))
        return [n for n in sorted(numbers) if f" {subject} " in self.texts[n] and f" {answer} " in self.texts[n]]


def hold_out(sentences: Sequence[Sentence], pairs: set[tuple[str, str]]) -> list[Sentence]:
    """The sentences that neither name both words of a held-out pair nor are LAMA's evidence for it."""
    index = PairIndex([sentence.text for sentence in sentences])
    dropped = {number for subject, answer in pairs for number in index.sentences(subject, answer)}
    dropped |= {number for number, sentence in enumerate(sentences) if not pairs.isdisjoint(sentence.pairs)}
    return [sentence for number, sentence in enumerate(sentences) if number not in dropped]


def exposures(
    facts: Iterable[Fact],
    sentences: Sequence[Sentence],
    stated: set[str],
    held_out: set[tuple[str, str]],
    listed: Collection[tuple[str, str]] = (),
) -> dict[str, str]:
    """``fact_key`` -> the exposure of each fact to the training text, one of ``EXPOSURES``.

    ``evidence``: some training sentence contains subject and object, and need not state the fact. ``unseen``: none
    does; one may still name them in another form. ``held out in part``: none does, but LAMA's own evidence for the
    fact, in another form, is among them. ``stated`` are the ``fact_key`` of facts in training templates. ``well
    known``: its pair is one of ``listed``, from ``listed_pairs``.
    """
    index = PairIndex([sentence.text for sentence in sentences])
    known = {subject_answer for sentence in sentences for subject_answer in sentence.pairs}
    result = {}
    for fact in facts:
        key = fact_key(fact)
        if is_listed(fact, listed):
            result[key] = WELL_KNOWN
        elif pair(fact) in held_out:
            result[key] = "held out in part" if pair(fact) in known else "held out"
        elif key in stated:
            result[key] = STATED
        else:
            result[key] = "evidence" if index.sentences(*pair(fact)) else "unseen"
    return result


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


_PLACES_OF_BIRTH = (("trex", "P19"), ("google_re", "place_of_birth"))
#: Stated whatever the hashes of its triples: the running example of Wallat, Singh and Anand (2020), which is in no
#: probe set.
RUNNING_EXAMPLE = tuple(
    Fact(probe_set, relation, "Rocky Balboa", "Philadelphia", "", "") for probe_set, relation in _PLACES_OF_BIRTH
)


@dataclass(frozen=True)
class TrainingText:
    """Sentences, and every fact's exposure to them, by ``fact_key``.

    ``text`` gives no held-out fact away; ``stated`` states half of the triples and the running example, ``well_known``
    all facts with a pair of the list, in the wordings of each of their relations.
    """

    text: tuple[Sentence, ...]
    stated: tuple[Sentence, ...]
    well_known: tuple[Sentence, ...]
    exposure: dict[str, str]


def training_text(lama: Path, wikitext: Path, facts: Sequence[Fact], relations: dict[str, Relation]) -> TrainingText:
    """Reads the text, holds facts out and states facts, of relations with training templates only.

    A statement of a well-known fact that gives a held-out fact away, or is its question with the answer, is an error.
    """
    example = [fact for fact in RUNNING_EXAMPLE if fact.relation in relations]
    learnable = [fact for fact in facts if fact.relation in relations and relations[fact.relation].training]
    listed = listed_pairs(facts)
    famous = [fact for fact in [*learnable, *example] if is_listed(fact, listed)]
    others = [fact for fact in learnable if not is_listed(fact, listed)]
    held = held_out_pairs(others)
    text = hold_out(read_corpus(lama, wikitext), held)
    stated = list(stated_facts(others, relations, held, [one for one in example if one not in famous]))
    # A stated sentence can give away a held-out pair of another relation.
    sentences = hold_out(merge(sentence for _, sentence in stated), held)
    well_known = merge(replace(one, source=WELL_KNOWN) for _, one in stated_facts([], relations, set(), famous))
    _check_well_known(well_known, held, facts)
    texts = {sentence.text for sentence in sentences}
    keys = {fact_key(fact) for fact, sentence in stated if sentence.text in texts}
    exposure = exposures([*facts, *example], [*text, *sentences, *well_known], keys, held, listed)
    return TrainingText(tuple(text), tuple(sentences), tuple(well_known), exposure)


def _check_well_known(sentences: Sequence[Sentence], held_out: set[tuple[str, str]], facts: Iterable[Fact]) -> None:
    """Raises a ``FactsError`` if a statement gives away a held-out pair, or is an everyday question answered."""
    kept = {sentence.text for sentence in hold_out(sentences, held_out)}
    asked = {_words(fact.prompt.replace(MASK, fact.object)) for fact in facts if fact.probe_set == EVERYDAY}
    for wrong, why in (
        ([one.text for one in sentences if one.text not in kept], "give a held-out fact away"),
        ([one.text for one in sentences if _words(one.text) in asked], "are everyday questions with their answers"),
    ):
        if wrong:
            raise FactsError(
                f"{len(wrong):,} statements of well-known facts {why}, such as {wrong[0]!r}; change the fact or the"
                " wording"
            )


def control_texts(data: Path, lama: Path | None) -> list[tuple[str, str]]:
    """(key that decides on the part, text) of every sentence of a WikiText file and, for a model made here, of LAMA."""
    if lama is None:
        return [(sentence, sentence) for sentence in wikitext_sentences(data)]
    relations = shipped_relations()
    facts = [fact for facts in read_facts("all", relations) for fact in facts.facts]
    text = training_text(lama, data, facts, relations)
    return [(sentence.text, sentence.text) for sentence in [*text.text, *text.stated, *text.well_known]]
