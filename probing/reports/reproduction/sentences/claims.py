"""Does a claim of the paper on fine-tuning and sentence-level probing hold for an encoder? Each claim has one rule, in words and in code.

The paper states no tolerances, so they are ours. A rule decides on 95 % intervals: the claim holds if its criterion holds at both ends
of every interval, and does not hold if the criterion fails at both ends of one. Otherwise the verdict is "cannot tell". A model that is
not shown to have learned its task decides no claim about that task, because its losses say nothing about the task.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from probing.core.sentences.published import PublishedSentences
from probing.reports.reproduction.decisions import UNTESTED
from probing.reports.reproduction.evidence import Finding
from probing.reports.reproduction.sentences import claims_accuracy as accuracy
from probing.reports.reproduction.sentences import claims_change as change
from probing.reports.reproduction.sentences import claims_inside as inside
from probing.reports.reproduction.sentences import claims_open as left
from probing.reports.reproduction.sentences.evidence import COLA, COLA_MEAN, RTE, SQUAD, SST, TUNED, InterplayEvidence
from probing.reports.reproduction.sentences.papers_numbers import papers_evidence


@dataclass(frozen=True)
class SentenceRule:
    """How a claim is judged.

    Attributes:
        query: the results that it uses.
        words: when the claim holds and when it does not, for readers.
        unsure: when the verdict is "cannot tell", and what the intervals are.
        judge: the rule as code.
        needs: objectives whose models must have learned their task.
        every: whether it is judged over all models of the paper's objectives that have learned their task.
    """

    query: str
    words: str
    unsure: str
    judge: Callable[[InterplayEvidence], Finding]
    needs: tuple[str, ...] = ()
    every: bool = False


@dataclass(frozen=True)
class JudgedSentences:
    """A claim's name with its rule, the finding for an encoder, and the finding for the paper's own tables."""

    name: str
    query: str
    rule: str
    found: Finding
    paper: Finding


_ACCURACY = "sentences report: accuracy of the pre-trained encoder's probes, layers 1 to L"
_CHANGE = "sentences report: change of accuracy, layers 0 to floor(L/2) and the rest"
_ATTENTION = "changes report: attention by layer"
_PERPLEXITY = "changes report: perplexity on masked blocks"
_MEANS = (
    "The ends of a mean over layers are the means of the layers' ends (Wilson's for an accuracy, Newcombe's for a paired change), the "
    "widest interval that any dependence between layers allows."
)
_CANNOT = f"Cannot tell if nothing surely fails and some interval crosses its limit. {_MEANS}"
_UNREAD = (
    "A property on which the pre-trained encoder's probes do not surely beat the majority label cannot fall, so it is left out; without "
    "it the verdict cannot be that the claim holds."
)
_DRAWN = "Cannot tell if nothing surely fails and some interval crosses its limit (bootstrap over sentences, or over blocks of text)."

#: Claim (a name in ``data/published``) -> its rule.
RULES: dict[str, SentenceRule] = {
    "mean-pooling beats CLS-pooling": SentenceRule(
        _ACCURACY,
        "Holds if in every task accuracy with mean-pooling is above that with CLS-pooling in more than half of the layers and on average "
        "over them. Tasks on which no pooling beats the majority label are left out.",
        f"{_CANNOT} Differences between poolings are paired over the same sentences.",
        accuracy.mean_beats_first,
    ),
    "bigram-shift is easiest": SentenceRule(
        _ACCURACY,
        "Holds if mean-pooled accuracy on bigram-shift, averaged over layers 1 to L, is at least 5 points above that on "
        "coordination-inversion and on odd-man-out (those that were probed).",
        _CANNOT, accuracy.shift_easiest,
    ),
    "albert is worst on odd-man-out": SentenceRule(
        f"{_ACCURACY}, of three encoders",
        "Holds if accuracy on odd-man-out, averaged over layers 1 to L, is lower for ALBERT than for both others and higher for RoBERTa "
        "than for both, with both poolings.",
        _CANNOT, accuracy.albert_worst,
    ),
    "roberta's first token lacks the sentence": SentenceRule(
        f"{_ACCURACY}, of three encoders",
        "Holds if RoBERTa's accuracy on coordination-inversion, averaged over layers 1 to L, is more than 5 points below both others' with "
        "CLS-pooling and above both with mean-pooling. That the missing objective is the reason is not tested.",
        _CANNOT, accuracy.roberta_lacks_sentence,
    ),
    "higher layers change most": SentenceRule(
        _CHANGE,
        "Holds if in more than half of the cells (a fine-tuning task, a probing task, a pooling) the change over the upper layers is "
        "surely larger in size than that over the lower ones. Does not hold if in half of them it surely is not.",
        "Cannot tell if the sure cells do not decide. The interval of a cell is a bootstrap over test sentences where the predictions of "
        f"both models are stored. Elsewhere: {_MEANS}", change.upper_changes_most, every=True,
    ),
    "cola improves bigram-shift": SentenceRule(
        _CHANGE,
        "Holds if fine-tuning on CoLA raises bigram-shift with CLS-pooling by more than 1 point over the upper layers, for every encoder.",
        _CANNOT, change.cola_improves_shift, needs=(COLA,),
    ),
    "rte improves coordination": SentenceRule(
        _CHANGE,
        "Holds if fine-tuning on RTE raises coordination-inversion with CLS-pooling by more than 1 point over RoBERTa's upper layers.",
        _CANNOT, change.rte_improves_coordination, needs=(RTE,),
    ),
    "gains are negligible with mean-pooling": SentenceRule(
        _CHANGE,
        "Judged if CoLA on bigram-shift (and, for RoBERTa, RTE on coordination-inversion) surely gains with CLS-pooling over the upper "
        "layers. Holds if the gain with mean-pooling is at most 1 point there. Does not hold if one gain is surely larger.",
        _CANNOT, change.negligible_with_mean, needs=(COLA,),
    ),
    "no gain over mean-pooling": SentenceRule(
        "sentences report: CLS after fine-tuning against mean-pooling before, by layer",
        "Judged if the same gains are sure. Holds if the CLS probe after fine-tuning is at no layer significantly (q at most 5 %, "
        "McNemar, Benjamini-Hochberg) above the mean-pooled probe before, and is surely not above it on average over the upper "
        "layers. Does not hold if it is significantly above at one layer.",
        "Cannot tell if it is significantly above at no layer and the average is not surely at most 0.", change.no_gain_over_mean,
        needs=(COLA,),
    ),
    "sst-2 costs word order and odd words": SentenceRule(
        _CHANGE,
        "Holds if fine-tuning on SST-2 lowers bigram-shift and odd-man-out with both poolings in both groups of layers, and, if all "
        "three encoders are stored, RoBERTa's most in more than half of the columns. Does not hold if one cell surely does not fall.",
        f"{_CANNOT} {_UNREAD}", change.sst_costs, needs=(SST,),
    ),
    "squad costs word order and odd words": SentenceRule(
        _CHANGE,
        "Holds if fine-tuning on SQuAD lowers bigram-shift and odd-man-out with both poolings in both groups of layers, and changes "
        "coordination-inversion by at most 1 point. Does not hold if one cell surely fails.",
        f"{_CANNOT} {_UNREAD}", change.squad_costs, needs=(SQUAD,),
    ),
    "entropy of the first token rises": SentenceRule(
        f"{_ATTENTION}: entropy-change-first",
        "Holds if after CoLA with CLS-pooling the entropy of the first token's attention rises in each of the last 3/12 of the layers, and "
        "after CoLA with mean-pooling it falls in the last layer. Does not hold if one surely fails.",
        f"{_DRAWN} Cannot hold without a model fine-tuned with mean-pooling.", inside.entropy_rises, needs=(COLA, COLA_MEAN),
    ),
    "attention moves most in the last layers": SentenceRule(
        f"{_ATTENTION}: emd-first",
        "Holds if after CoLA with CLS-pooling the distance is larger in the upper half of the layers than in the lower and larger in each "
        "of the last 2/12 of the layers than in every other layer, and if after CoLA with mean-pooling it is less than half of that there.",
        f"{_DRAWN} Cannot hold without a model fine-tuned with mean-pooling. The paper names no ground distance; ours is the distance "
        "between token positions.",
        inside.attention_moves_late, needs=(COLA, COLA_MEAN),
    ),
    "perplexity rises": SentenceRule(
        _PERPLEXITY,
        "Holds if perplexity is above the base's after CoLA and after SST-2, and more so after SST-2. If RoBERTa and BERT are both "
        "stored, the first epoch must also raise RoBERTa's more, on both tasks.",
        f"{_DRAWN} The comparison of epochs has no interval.", inside.perplexity_rises, needs=(COLA, SST),
    ),
    "the last layers raise perplexity": SentenceRule(
        f"{_PERPLEXITY}, with layers of the base put back",
        "Holds if putting back the last 3/12 of the layers undoes at least half of the rise in log perplexity, and more than putting back "
        "as many first layers (a control that the paper lacks), for CoLA and for SST-2, and if the two shares differ by at most 10 points. "
        "Judged if perplexity surely rises.",
        _DRAWN, inside.last_layers_raise, needs=(COLA, SST),
    ),
    "390 probes on 12 models": SentenceRule(
        "layers, tasks, poolings and models of the paper's Tables 2 and 5",
        "Holds if layers x tasks x poolings x models of the paper are 390, and its models 12.",
        "This is arithmetic with the paper's own numbers; ours are only counted.", left.number_of_probes,
    ),
    "few violations are not syntactic": SentenceRule(
        "CoLA's annotation",
        "Needs the kind of each violation, which GLUE's files do not have.", "Not tested.", left.few_violations,
    ),
    "removed or no longer linear": SentenceRule(
        "sentences report where-gone: fates of properties",
        "Counts the cells that every linear probe of the same layer and pooling has lost (the base's: frozen, rescaled or aligned; the "
        "model's own): the 95 % interval of the difference from the base's probe lies below 0 and reaches below -2 points. Holds if in "
        "more than half of them the neural probe of the same layer and pooling holds (the interval lies above -2 points). Does not hold if "
        "in half of them it has lost. What other tokens or layers hold is listed next to it.",
        "Cannot tell if the cells of which the neural probe is undecided could turn the majority.", left.removed_or_not_linear, every=True,
    ),
}  # fmt: skip


def judge(evidence: InterplayEvidence | None, published: PublishedSentences, nothing: Finding) -> tuple[JudgedSentences, ...]:
    """Every claim judged on one encoder's numbers and on the paper's own, in the order of ``RULES``.

    Args:
        evidence: the numbers; None if none are stored.
        published: the paper's.
        nothing: the finding if there are no numbers.
    """
    papers = papers_evidence(published)
    return tuple(
        JudgedSentences(
            name, rule.query, f"{rule.words} {rule.unsure}", judged_by(rule, evidence) if evidence else nothing,
            left.papers_probes(published) if rule.judge is left.number_of_probes else rule.judge(papers),
        )
        for name, rule in RULES.items()
    )  # fmt: skip


def judged_by(rule: SentenceRule, evidence: InterplayEvidence) -> Finding:
    """The finding of a rule. Models that are not shown to have learned their task decide nothing; those that did partly are named."""
    found = _judged_by(rule, evidence)
    partly = evidence.partly(TUNED if rule.every else rule.needs)
    return replace(found, numbers=" ".join([found.numbers, *(_partly(key, evidence) for key in partly)])) if partly else found


def _judged_by(rule: SentenceRule, evidence: InterplayEvidence) -> Finding:
    out = evidence.unlearned(TUNED if rule.every else rule.needs)
    if not out:
        return rule.judge(evidence)
    why = " ".join(_unlearned(key, evidence) for key in out)
    if not rule.every:
        found = rule.judge(evidence)
        said = f"{why} It was trained but did not learn, so its numbers say nothing about the task. Its numbers: {found.numbers}"
        return replace(found, verdict=UNTESTED, numbers=said)
    found = rule.judge(_without(evidence, out))
    return replace(found, numbers=f"{found.numbers} Left out: {why}")


def _without(evidence: InterplayEvidence, out: list[tuple[str, str]]) -> InterplayEvidence:
    """The evidence without some fine-tuned models."""
    names = ("groups", "changes", "larger", "values", "perplexities", "epochs", "fates")
    return replace(evidence, **{name: _kept(getattr(evidence, name), out) for name in names})  # type: ignore[arg-type]


def _kept(frame: pd.DataFrame, out: list[tuple[str, str]]) -> pd.DataFrame:
    there = [key not in out for key in zip(frame["encoder"], frame["objective"], strict=True)]
    return frame[pd.Series(there, index=frame.index, dtype=bool)]


def _partly(key: tuple[str, str], evidence: InterplayEvidence) -> str:
    """ "CoLA has learned its task only partly (Matthews correlation 0.100, no correlation 0.000)." """
    score = evidence.scores.get(key, "")
    who = f"{key[1]}{f' ({key[0]})' if len(evidence.judged) > 1 else ''}"
    return f"{who} has learned its task only partly{f' ({score})' if score else ''}; this rests on it."


def _unlearned(key: tuple[str, str], evidence: InterplayEvidence) -> str:
    """ "CoLA has not learned its task (Matthews correlation 0.0)." """
    said = "has not learned its task" if evidence.learned[key] == "not learned" else "may not have learned its task"
    score = evidence.scores.get(key, "")
    return f"{key[1]}{f' ({key[0]})' if len(evidence.judged) > 1 else ''} {said}{f' ({score})' if score else ''}."


def judged_frame(judged: tuple[JudgedSentences, ...], says: Mapping[str, str]) -> pd.DataFrame:
    """``claim, verdict, paper, numbers, null, paper_numbers, rule``: one row per claim."""
    rows = [
        (says.get(one.name, one.name), one.found.verdict, one.paper.verdict, one.found.numbers, one.found.null, one.paper.numbers, one.rule)
        for one in judged
    ]
    return pd.DataFrame(rows, columns=["claim", "verdict", "paper", "numbers", "null", "paper_numbers", "rule"])
