"""Every term of the field that pages use: one table for hover help, the Methods page and the command ``terms``."""

import re
from dataclasses import dataclass
from functools import cache

from probing.terms import METRICS

#: Maximum number of terms that are explained together, those that come first in the text.
MOST = 8


@dataclass(frozen=True)
class Term:
    """A term in the singular, with its meaning in one phrase without a full stop and other words for it.

    The source is the paper or library that has the word; "ours" if none has.
    """

    name: str
    meaning: str
    source: str
    forms: tuple[str, ...] = ()


_WALLAT, _TENNEY = "Wallat, Singh and Anand 2020", "Tenney, Das and Pavlick 2019"
_PETRONI = "Petroni et al. 2019 (LAMA)"

TERMS: tuple[Term, ...] = (
    Term(
        "fact",
        "a subject, a relation and an object; a template turns it into a sentence with one gap, which the object fills",
        _PETRONI,
    ),
    Term("known fact", "one whose right answer has at most rank k, a lucky guess too", _PETRONI, ("answers rightly",)),
    Term("relation", "a kind of fact, such as “capital of”", _PETRONI),
    Term(
        "decoding head",
        "turns a hidden state into a distribution over the vocabulary; trained ones learn masked words of WikiText,"
        " never the facts",
        _WALLAT,
        ("head kind",),
    ),
    Term("full head", "a head per layer, with a vocabulary matrix of its own", _WALLAT),
    Term("tied head", "a head per layer that shares the pre-trained vocabulary matrix", "ours"),
    Term(
        "least-squares head",
        "the pre-trained head on top of the affine map from the layer to the last, in closed form",
        "ours",
    ),
    Term("logit lens", "the pre-trained head on every layer, without training", "nostalgebraist 2020"),
    Term(
        "tuned lens",
        "the pre-trained head on top of an affine map per layer, trained to match the last layer's distribution",
        "Belrose et al. 2023",
    ),
    Term("hidden state", "the vector of a token after a layer; layer 0 is the embeddings", "transformers"),
    Term("attention mask", "marks the tokens of a batch that are not padding", "transformers"),
    Term("token", "a unit of the tokenizer: a word, or a piece of one", "transformers", ("word piece",)),
    Term("softmax loss", "cross-entropy of the softmax over the vocabulary", "PyTorch, cross_entropy"),
    Term(
        "probe", "a small classifier on frozen hidden states", _TENNEY, ("edge probing", "edge probe", "sentence probe")
    ),
    Term("control label", "a random label that only memory can provide", "Hewitt and Liang 2019"),
    Term("online code", "code length of labels under a probe trained on growing data", "Voita and Titov 2020"),
    Term(
        "F1",
        "the harmonic mean of precision and recall: of an answer's words for questions, of entities for NER, over"
        " labels for edge probes",
        "van Rijsbergen 1979",
    ),
    Term("macro", "the mean over relations: every relation counts once", "Petroni et al. 2019 (LAMA)"),
    Term("micro", "the mean over facts: every fact counts once", "ours"),
    Term(
        "95 % interval",
        "with facts drawn again, their answers as they are, 95 of 100 such intervals would hold the true value;"
        " sentences that compare layers or models use the wider of it and of the interval over answers",
        "Wilson; Newcombe; beta; Student",
    ),
    Term(
        "interval over answers",
        "the 95 % interval if the answers are drawn again, too: a model knows the facts of one answer together; not for"
        " runs of which only counts are stored",
        "Jackknife over (relation, answer)",
    ),
    Term("base", "the model that fine-tuning starts from", "ours"),
    Term(
        "model folder",
        "a folder that save_pretrained has written: config.json, the tokenizer's files and model.safetensors",
        "transformers",
    ),
    Term("control", "a model trained further on the base's own text, without a task", "ours"),
    Term(
        "exposure",
        "whether the training text holds a fact: stated in so many words, evidence (subject and answer in one"
        " sentence), unseen, held out on purpose, held out in part (its evidence names it in another form), or unknown",
        "ours",
    ),
    Term("comes back", "a lost fact is right again by some way; guesses can be, too", "ours"),
    Term(
        "memory",
        "of a group: stated facts surely come back more often than equally confident right answers that the text"
        " never had",
        "ours",
    ),
    Term("relearning", "some training steps on other facts, after which lost facts are asked again", "ours"),
    Term(
        "atomic write",
        "write to a temporary file, fsync, rename: a reader sees the old file or the new one",
        "POSIX, rename",
    ),
    Term("checksum", "the hash of a file's or an array's bytes; \"sum\" is only for numbers", "sha256"),
    Term("fingerprint", "the first digits of the sha256 of a run's configuration; the name of the run", "ours"),
    Term(
        "request queue",
        "one request at a time per device; a newer request of the same user cancels the older one",
        "ours",
    ),
)
#: Label of a quantity -> other words for it.
_FORMS = {
    "commonest answer": ("majority answer",),
    "blind guess": ("swapped subject", "somebody else's name"),
    "linear CKA": ("CKA",),
}


@cache
def glossary() -> dict[str, Term]:
    """Name -> term: ``TERMS``, then every other quantity of ``METRICS`` by its label."""
    quantities = (
        Term(metric.label, metric.meaning, metric.source.rstrip("."), _FORMS.get(metric.label, ()))
        for metric in METRICS.values()
    )
    return {term.name: term for term in quantities} | {term.name: term for term in TERMS}


def terms_in(text: str) -> list[Term]:
    """The terms of a text in their order, each once and at most ``MOST``; of two that overlap the longer one."""
    named, pattern = _pattern()
    names = {named[match.group(1).lower()]: None for match in pattern.finditer(text)}
    return [glossary()[name] for name in names][:MOST]


def anchor(name: str) -> str:
    """The link target of a term on the page of methods."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


@cache
def _pattern() -> tuple[dict[str, str], re.Pattern]:
    """Every form in small letters -> its term, and what finds a form, in the singular or in the plural."""
    named = {form.lower(): term.name for term in reversed(glossary().values()) for form in (*term.forms, term.name)}
    forms = "|".join(re.escape(form) for form in sorted(named, key=len, reverse=True))
    return named, re.compile(rf"(?<![\w@-])({forms})s?(?![\w@-])", re.IGNORECASE)
