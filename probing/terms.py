"""Quantities and terms of the field: one table each for tooltips, axis titles, the Methods page and ``terms``."""

import re
from collections.abc import Callable
from functools import cache

from probing.changes.measures import CHANGE_METRICS
from probing.edges.metrics import EDGE_METRICS
from probing.facts.forgotten import outcome_words
from probing.finetuning.scores import TASK_METRICS
from probing.kernel.metric import NO_TIES, RANKS, WORST_PLACE, Metric, Term
from probing.kernel.models.names import HEAD_METRICS
from probing.sentences.metrics import SENTENCE_METRICS

_BERTNESIA = "Wallat, Singh and Anand 2020 (BERTnesia)"
_LAMA = "Petroni et al. 2019 (LAMA)"


def _precision(k: int) -> Metric:
    zero = ", whose code tests ranks from 0 with <= k: there P@10 is a P@11. P@1 is not affected." if k > 1 else ""
    return Metric(
        f"p_at_{k}",
        "share of facts",
        f"Share of facts whose right answer has rank <= {k}, ranks counted from 1. Macro: mean over relations; micro:"
        " over facts.",
        "facts.report_layers.by_layer",
        label=f"P@{k}",
        better="higher",
        empty="undefined without facts; a relation without facts is left out of macro",
        source=f"{_LAMA}; {_BERTNESIA}{zero}",
    )


def _fate(name: str, definition: str, empty: str = "") -> Metric:
    """A fate of lost facts."""
    where = "facts.store_pairs.transition_counts"
    return Metric(name, "lost facts", definition, where, label=outcome_words(name), empty=empty)


def _carried(name: str, definition: str, label: str) -> Metric:
    """Whether the model goes by what a layer shows."""
    return Metric(
        name,
        "share of facts",
        f"{definition} Of facts that the last layer answers.",
        "facts.carried.measure_cases",
        label=label,
        better="higher",
        empty="undefined for facts without a host, a subject in the prompt, or as many other tokens",
        source="ours, after attention knock-out (Geva et al. 2023) and interchange of states (Geiger et al. 2021)",
    )


_ALL = (
    *map(_precision, RANKS),
    Metric(
        "mrr",
        "mean of 1 / rank",
        "Mean reciprocal rank: mean over facts of 1 / rank of the right answer, ranks counted from 1. Macro or micro as"
        " for P@k.",
        "facts.report_layers.by_layer",
        label="MRR",
        better="higher",
        empty="undefined without facts",
        source=f"{_LAMA}; the code of {_BERTNESIA} counts from 0 and gives a right first answer a reciprocal rank"
        " of 0.",
    ),
    Metric(
        "answer_p_at_1",
        "share of facts",
        "Share of facts whose right answer scores best among all objects that occur in its relation: informative even"
        " for a weak model.",
        "facts.report_layers.by_layer",
        label="P@1 among answers",
        better="higher",
        empty="undefined without facts; a relation with one answer always has 1",
    ),
    Metric(
        "total",
        "share of facts",
        "Share of facts with rank <= k at any layer 1..L: a union over layers, not a maximum of means. "
        "Layer 0, the embeddings, does not count. A union over many noisy predictions grows by chance alone.",
        "facts.totals.knowledge",
        label="total knowledge",
        better="higher",
        source=_BERTNESIA,
    ),
    Metric(
        "intermediate_share",
        "share of total knowledge",
        "(total - last) / total: the part of the total knowledge that the last layer does not have.",
        "facts.totals.intermediate_share",
        empty="undefined if no fact is known at any layer",
        source=_BERTNESIA,
    ),
    Metric(
        "gold_rank",
        "rank",
        "Position of the right answer in the vocabulary, or among candidates, sorted by score, counted from 1.",
        "heads.decode.read_out",
        label="rank",
        better="lower",
        ties=f"{WORST_PLACE}; among candidates the mean one",
        source=f"{_LAMA}; the code of {_BERTNESIA} counts from 0.",
    ),
    Metric(
        "answer_rank",
        "rank",
        "Position of the right answer among all objects that occur in its relation, sorted by score, counted from 1.",
        "heads.decode.read_out",
        label="rank among answers",
        better="lower",
    ),
    Metric(
        "gold_logp",
        "nats",
        "Natural logarithm of the probability of the right answer, by softmax over the whole vocabulary.",
        "heads.decode.read_out",
        label="log-probability",
        better="higher",
        ends=(None, 0.0),
        source="ours; the paper reports ranks only",
    ),
    Metric(
        "entropy",
        "nats",
        "Entropy of the probabilities over the whole vocabulary: 0 if one token has probability 1, "
        "the logarithm of the vocabulary's size if all are equal.",
        "live.ask.entropies",
    ),
    Metric(
        "probability",
        "share",
        "Softmax probability of a token over the whole vocabulary. Lists are sorted by score, then by token id.",
        "heads.decode.read_out",
        better="higher",
        ties="equal scores have equal probabilities",
        empty="a NaN or infinite score is an error",
        source="ours; the paper reports ranks only",
    ),
    Metric(
        "majority",
        "share of facts",
        "Baseline of P@1: the share of facts whose object is the commonest object of their relation. "
        "A model that ignores the subject and always gives that answer has this P@1.",
        "facts.store.majority",
        label="commonest answer",
        ties="among equally common objects the first by name; the share is the same",
        source="ours; LAMA's Freq baseline (Petroni et al. 2019) counts in the training text instead",
    ),
    Metric(
        "swapped_subject",
        "share of facts",
        "Baseline of P@k: the share of facts whose right answer has rank <= k if the same question is asked about"
        " another subject of the relation, whose recorded answers do not contain it. The part of P@k above this"
        " baseline comes from the subject: a model that knows everything has a baseline near 0. The share is over the"
        " facts that have such a subject; their number is shown with it. Among candidates: how often the prompts of all"
        " such subjects put the answer first.",
        "facts.report_layers.by_layer",
        label="blind guess",
        empty="undefined if a probe set has no templates, if no other subject lacks the answer, or if a compact run has"
        " no counts of it",
    ),
    Metric(
        "chance",
        "share of facts",
        "Baseline of P@1 among answers: the mean of 1 / number of the relation's different answers. "
        "A random choice among these answers has this share on average.",
        "facts.report_layers.by_layer",
        label="chance among answers",
        ties=NO_TIES,
        empty="undefined for metrics of the whole vocabulary",
    ),
    Metric(
        "K",
        "share of candidates",
        "Mean over facts of the share of their wrong candidates that score below the right answer. A random order has"
        " about one half.",
        "facts.report_candidates.by_layer",
        label="degree of knowledge (K)",
        better="higher",
        ties="a wrong candidate that ties is not below",
        empty="undefined without facts",
        source="Gekhman et al. 2025 (Inside-Out); of several right answers of a question each counts as a fact",
    ),
    Metric(
        "K_star",
        "share of facts",
        "Share of facts all of whose wrong candidates score below the right answer: P@1 without the ties.",
        "facts.report_candidates.by_layer",
        label="full knowledge (K*)",
        better="higher",
        ties="a wrong candidate that ties is not below",
        source="Gekhman et al. 2025 (Inside-Out); of several right answers of a question each counts as a fact",
    ),
    Metric(
        "above_majority",
        "difference of shares",
        "Value minus that of the commonest answer, on the same facts. Its 95 % interval is the value's: the commonest"
        " answer is a property of the facts.",
        "facts.report_layers.by_layer",
        label="beyond the commonest answer",
        better="higher",
        empty="undefined if the commonest answer is: for P@10, P@100 and MRR",
    ),
    Metric(
        "above_swapped",
        "difference of shares",
        "P@k minus the blind guess's, both on the facts that have a swapped subject; P@k on these facts is called"
        " matched. Its 95 % interval is paired: Newcombe's for micro and for one relation, normal for the mean over"
        " relations.",
        "facts.report_layers.by_layer",
        label="beyond a blind guess",
        better="higher",
        empty="undefined if the blind guess is",
    ),
    Metric(
        "total_null",
        "facts",
        "Facts that only an inner layer 1..L-1 finds, with the own subject, against those that it finds with a swapped"
        " one. Counted over the facts that the last layer misses with both; exact McNemar on these pairs. Only the"
        " difference comes from the subject; the rest is what a union over layers finds by chance.",
        "facts.report_layers.total",
        label="null of total knowledge",
        empty="undefined if no swapped subject is measured, or if only the last layer is stored",
    ),
    Metric(
        "seed_union",
        "share of facts",
        "Share of facts with rank <= k at the last layer under any of several heads that differ only in the seed of"
        " their training. Its gain over one head is what a union gains by chance, without any inner layer.",
        "facts.store_pairs.seed_unions",
        label="union over seeds",
        empty="undefined for a single head",
    ),
    Metric(
        "forgotten_caption",
        "share of relations",
        "Share of relations that are better at an inner layer than at the last: P@k at the last layer is below that of"
        " some inner layer 1..L-1. It compares layers of one model; what fine-tuning lost against the base is another"
        " quantity.",
        "facts.forgotten.forgetting",
        label="forgotten (caption)",
        better="lower",
        ties="equal shares are not forgetting",
        empty="undefined for fewer than two relations; a relation without facts is left out",
        source=f"{_BERTNESIA}, the caption of its Table 2; its cells come from the authors' code, which differs.",
    ),
    Metric(
        "forgotten_authors",
        "share of relations",
        "Share of relations whose best inner layer is above the last with p <= 0.05 in Student's unpaired t-test on the"
        " two layers' hits. On T-REx the count is divided by 42, one more than there are relations.",
        "facts.forgotten.forgetting",
        label="forgotten (authors)",
        better="lower",
        ties="among equally good inner layers the first; the p-value is the same",
        empty="undefined for fewer than two relations; not forgotten if the test is undefined",
        source=f"the code of {_BERTNESIA}: unpaired although the facts are the same, on the best inner layer. "
        "The published cells are compared with this definition only.",
    ),
    Metric(
        "forgotten_strict",
        "share of relations",
        "Share of relations in which some inner layer is above the last by at least 2 points with p <= 0.05 in exact"
        " McNemar's test. Adjusted by Benjamini and Hochberg over all relations and inner layers of the run; the size"
        " of that family is stated.",
        "facts.forgotten.forgetting",
        label="forgotten (strict)",
        better="lower",
        ties="a fact that both layers know, or neither, has no influence",
        empty="undefined for fewer than two relations; a relation without facts is left out of the family",
    ),
    Metric(
        "doubling",
        "yes or no",
        "P@1 at the last layer is at least twice that of the best inner layer, which is above 0.",
        "facts.forgotten.doubles",
        label="doubling relation",
        empty="no, if no inner layer knows a fact",
        source=f"the code of {_BERTNESIA}; the paper's text asks for about double.",
    ),
    Metric(
        "onset",
        "layer",
        "First layer 1..L at which P@k of the relation is at least half of that at the last layer.",
        "facts.totals.onset",
        label="onset of a relation",
        ends=(1.0, None),
        ties=WORST_PLACE,
        empty="undefined if the last layer knows no fact of the relation",
    ),
    Metric(
        "transitions",
        "facts",
        "Facts that both a model and its base were probed on, by rank <= k at the last layer: kept (both know it),"
        " gained (only the model), lost (only the base), never (neither). The difference is tested by exact McNemar.",
        "facts.store_pairs.transition_counts",
        empty="0 if the two share no fact",
        source=f"ours; {_BERTNESIA} compares means only.",
    ),
    _fate(
        "still_inside",
        "Lost facts with rank 1 at an inner layer 1..L-1 of the fine-tuned model at which the base has rank 1, too."
        " Beside it, for k = 1: the share of equally confident wrong answers with this fate. They are first answers of"
        " the base at its last layer, right for another fact of the relation, and no longer the fine-tuned model's.",
    ),
    _fate(
        "moved",
        "Lost facts with rank 1 at an inner layer 1..L-1 of the fine-tuned model, but at none at which the base has"
        " rank 1. Beside it the same yardstick.",
    ),
    _fate(
        "suppressed",
        "Lost facts, first at no inner layer, whose rank at the last layer of the fine-tuned model is <= 100.",
        "0 if no fact is lost; always 0 for k = 100",
    ),
    _fate(
        "displaced",
        "Lost facts, first at no inner layer and with rank > 100 at the last, that have rank <= 100 at some inner layer"
        " 1..L-1.",
    ),
    _fate(
        "not_read",
        "Lost facts with rank above 100 at every layer 1..L of the fine-tuned model. The five fates add up to lost. It"
        " says that these heads do not read the fact, not that the weights no longer hold it.",
    ),
    Metric(
        "answer_drift",
        "share of facts",
        "The kind of a layer's top token, the first that applies: right; another recorded answer of this subject; an"
        " answer of this relation; a word copied from the prompt; punctuation; a sub-word; another word. Words are"
        " compared without case and accents.",
        "facts.totals.shares",
        label="kinds of answers",
        ties="among equal scores the smaller token id is first; right means rank 1, so a tie is not right",
    ),
    Metric(
        "early_exit",
        "share of facts",
        "Share of facts with rank <= k at the layer that was best for their relation on the other half of its facts;"
        " the halves are chosen by hash. It is compared with the last layer and the union over layers 1..L on the same"
        " half.",
        "facts.totals.compare_early_exit",
        better="higher",
        ties="among equally good layers the last",
        empty="undefined without facts in the scored half",
    ),
    _carried(
        "carried_alone",
        "Share of facts whose answer the last layer ranks first when the gap's state after this layer is put into the"
        " same sentence with the subject masked. Over facts that this sentence does not answer without the state. Null:"
        " the state of another fact of the same relation, wording and length.",
        "carried alone",
    ),
    _carried(
        "carried_against",
        "The same with the state put into the sentence of another fact of the same relation, wording and length, with"
        " another answer. Null: the state of a third fact.",
        "carried against another",
    ),
    _carried(
        "settled",
        "Share of facts whose answer stays first although the gap cannot attend to the subject in the layers above this"
        " one. Null: as many other tokens of the sentence are hidden.",
        "settled by here",
    ),
    Metric(
        "weight_drift",
        "relative change",
        "Frobenius norm of the difference between a layer's weights and the base's, divided by the norm of the base's"
        " weights. Layer 0 is the embeddings.",
        "kernel.models.states.weight_drift",
        empty="undefined if the weights were not compared",
    ),
    *(HEAD_METRICS + TASK_METRICS + EDGE_METRICS + SENTENCE_METRICS + CHANGE_METRICS),
)

#: Name -> metric.
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}


#: Maximum number of terms that are explained together, those that come first in the text.
MOST = 8


_WALLAT, _TENNEY = "Wallat, Singh and Anand 2020", "Tenney, Das and Pavlick 2019"

#: The 25 words that a visitor of the pages meets first, in plain words; all others are for programmers.
VISITORS: tuple[Term, ...] = (
    Term("fact", "a subject, a relation and an object, asked as a sentence whose one gap the object fills", _LAMA),
    Term("relation", "a kind of fact, such as “capital of”", _LAMA),
    Term("token", "a unit of the tokenizer: a word, or a piece of one", "transformers", ("word piece",)),
    Term("rank", "the place of the right word in a layer's list of all words, the best first", _LAMA),
    Term("P@1", "the share of facts whose right word comes first of all words", _LAMA),
    Term(
        "commonest answer",
        "the share of facts that their relation's commonest answer fits",
        _LAMA,
        ("majority answer",),
    ),
    Term(
        "blind guess",
        "the same facts asked with somebody else's name: what is right then, too, does not come from the name",
        "ours",
        ("swapped subject", "somebody else's name"),
    ),
    Term(
        "95 % interval",
        "with facts drawn again, their answers as they are, 95 of 100 such intervals would hold the true value",
        "Wilson; Newcombe; beta; Student",
    ),
    Term("macro", "the mean over relations: every relation counts once", _LAMA),
    Term("base", "the model that fine-tuning starts from", "ours"),
    Term("control", "a model trained further on its base's own text, so it has no task", "ours"),
    Term(
        "learned (✓)",
        "the task score lies above its baseline with its 95 % interval, and at least halfway to what BERT-base is"
        " published to reach, if it is; what it lost may still have other causes than the task",
        "ours",
    ),
    Term("partly (◐)", "above its baseline, but less than halfway to the published score", "ours"),
    Term("not learned (✗)", "trained, but its losses cannot be attributed to its task", "ours"),
    Term("cannot tell (?)", "too few test items, or no task score or baseline is stored", "ours"),
    Term("comes back", "a lost fact is right again by some way; guesses can be, too", "ours", ("come back",)),
    Term("refitted head", "a head fitted anew to the last layer, on text without the facts", "ours", ("fitted head",)),
    Term("layers put back", "some of the last layers are the base's again, at most half of all", "ours"),
    Term("relearned", "right again after some training steps on other facts", "ours", ("relearning",)),
    Term(
        "decoding head", "turns a layer's state into a list of words; none is trained on facts", _WALLAT, ("head kind",)
    ),
    Term("own output layer", "the model's own head, which reads every layer without training", "nostalgebraist 2020"),
    Term("retrained reader", "a head per layer, trained on text without the facts", "ours"),
    Term("probe", "a small classifier on frozen states", _TENNEY, ("edge probing", "edge probe", "sentence probe")),
    Term(
        "F1", "the harmonic mean of precision (of what is found) and recall (of what is right)", "van Rijsbergen 1979"
    ),
    Term(
        "exposure",
        "whether the training text states a fact, has its subject and answer in a sentence, or neither",
        "ours",
    ),
)
TERMS: tuple[Term, ...] = (
    *VISITORS,
    Term("known fact", "one whose right answer has at most rank k, a lucky guess too", _LAMA, ("answers rightly",)),
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
    Term("softmax loss", "cross-entropy of the softmax over the vocabulary", "PyTorch, cross_entropy"),
    Term("control label", "a random label that only memory can provide", "Hewitt and Liang 2019"),
    Term("online code", "code length of labels under a probe trained on growing data", "Voita and Titov 2020"),
    Term(
        "candidate",
        "an answer of any number of tokens that the right one is ranked among: the answers of the relation, or a list;"
        " the prompt's other right answers do not count (filtered rank, Bordes et al. 2013)",
        _LAMA,
    ),
    Term(
        "log-likelihood of a candidate",
        "the sum over its tokens of log p(token), all of them masked (independent), or left to right through the answer"
        " or through each word",
        "Kauf and Ivanova 2023; minicons; lm-pub-quiz",
        ("answer_l2r", "within_word_l2r"),
    ),
    Term(
        "filled best first",
        "of several masks in a gap, and all tokens, the most probable one is filled and the others are predicted again;"
        " each layer goes on with its five best",
        "Jiang et al. 2020 (X-FACTR)",
        ("confidence-based decoding",),
    ),
    Term(
        "PMI",
        "the log-likelihood of a candidate minus that without the prompt: what frequency and length give is subtracted",
        "Holtzman et al. 2021",
        ("pointwise mutual information",),
    ),
    Term("micro", "the mean over facts: every fact counts once", "ours"),
    Term(
        "interval over answers",
        "the 95 % interval if the answers are drawn again, too: a model knows the facts of one answer together; not for"
        " runs of which only counts are stored",
        "Jackknife over (relation, answer)",
    ),
    Term(
        "model folder",
        "a folder that save_pretrained has written: config.json, the tokenizer's files and model.safetensors",
        "transformers",
    ),
    Term(
        "test of memory",
        "of a group: whether stated facts come back more often, as often or less often than equally confident right"
        " answers that the text never had",
        "ours",
    ),
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
    "linear CKA": ("CKA",),
}


@cache
def glossary() -> dict[str, Term]:
    """Name -> term: ``TERMS``, then every other quantity of ``METRICS`` by its label."""
    quantities = (
        Term(metric.label, metric.meaning, metric.source.rstrip("."), _FORMS.get(metric.label, ()))
        for metric in METRICS.values()
    )
    return {term.name: term for term in (*quantities, *TERMS)}


def terms_in(text: str) -> list[Term]:
    """The terms of a text in their order, each once and at most ``MOST``; of two that overlap the longer one."""
    named, pattern = _pattern()
    names = {named[_plain(match[1])]: None for match in pattern.finditer(text) if match[1]}
    return [glossary()[name] for name in names][:MOST]


def marked(text: str, mark: Callable[[str, Term], str]) -> str:
    """Markdown in which ``mark`` writes the first of each term; code and links stay."""
    named, pattern = _pattern()
    left = dict(glossary())

    def write(match: re.Match[str]) -> str:
        term = left.pop(named[_plain(match[1])], None) if match[1] else None
        return mark(match[0], term) if term else match[0]

    return pattern.sub(write, text)


def meanings(label: str) -> list[str]:
    """What the terms of a figure's label and the mark at its end mean."""
    marks = [term for term in VISITORS if term.name.endswith(f"({label[-1:]})")]
    return [f"{term.name}: {term.meaning}" for term in (*terms_in(label), *marks)]


def anchor(name: str) -> str:
    """The link target of a term on the page of methods."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


@cache
def _pattern() -> tuple[dict[str, str], re.Pattern]:
    """Every form in small letters -> its term, and what finds a form, in the singular or in the plural."""
    named = {form.lower(): term.name for term in reversed(glossary().values()) for form in (*term.forms, term.name)}
    forms = "|".join(re.escape(form) for form in sorted(named, key=len, reverse=True))
    forms = forms.replace("\\ ", r"\s")
    return named, re.compile(rf"`[^`]*`|\[[^]]*\]\([^)]*\)|(?<![\w@-])({forms})s?(?![\w@-])", re.IGNORECASE)


def _plain(form: str) -> str:
    return re.sub(r"\s", " ", form.lower())
