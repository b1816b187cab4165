"""Does a claim of a paper hold? Each claim has one rule, in words and in code, which also judges the paper's own numbers.

The text of the claims is in ``data/published``. The papers state no tolerances, so each rule states its own. A rule decides on 95 %
intervals: the claim holds if its criterion holds at both ends of every interval, and does not hold if the criterion fails at both ends
of one. Otherwise the verdict is "cannot tell". A model that is not shown to have learned its task decides no claim about that task,
because its losses say nothing about the task.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import pandas as pd

from probing.core.published import Claim
from probing.core.tasks.task_success import TRAINED_NOT_LEARNED
from probing.reports.reproduction.decisions import UNTESTED

#: The base, where models are named by their objective.
BASE = "pre-training"
#: Values of ``Evidence.learned`` that exclude a model from claims on its task. A model without a stored score is not excluded.
UNLEARNED = ("not learned", "cannot tell")
#: Its value for a model that is above its baseline, but less than halfway to the published score. It is not excluded, but named.
PARTLY = "partly"
#: The only side of a paper whose tables are judged as one.
PAPER = "paper"


@dataclass(frozen=True)
class Finding:
    """The result of a rule.

    Attributes:
        verdict: one of ``decisions.VERDICTS``.
        numbers: the numbers in a sentence.
        table: the rows that were judged.
        null: the same numbers for guessing or for a control, in a sentence; empty if the rule has no such control.
    """

    verdict: str
    numbers: str
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    null: str = ""


@dataclass(frozen=True)
class Evidence:
    """The numbers on which claims are judged: ours or those of the paper. Each paper has its own tables.

    Attributes:
        learned: fine-tuned model, by its key in the tables -> whether it has learned its task: ``learned``, ``partly``,
            ``not learned``, ``cannot tell`` or ``no score stored``; a model that is not in it counts as learned.
        scores: fine-tuned model -> its task score in words.
        counts, silent: sentences on a model that has not learned its task: what it counts as, and why it decides nothing.
    """

    counts: ClassVar[str] = f" It counts as {TRAINED_NOT_LEARNED}."
    silent: ClassVar[str] = "What such a model forgot says nothing about the task."

    learned: Mapping[Any, str] = field(default_factory=dict, kw_only=True)
    scores: Mapping[Any, str] = field(default_factory=dict, kw_only=True)

    def models_of(self, objectives: Collection[str] | None = None) -> list:
        """The keys of the fine-tuned models of these objectives; None: of all objectives of the paper."""
        return []

    def called(self, model: Any) -> str:
        """The name of a fine-tuned model in a sentence."""
        return str(model)

    def without(self, models: Collection) -> Self:
        """The same without some models."""
        raise NotImplementedError


@dataclass(frozen=True)
class Rule:
    """How a claim is judged.

    Attributes:
        query: the results that it uses.
        words: when the claim holds and when it does not, for readers.
        unsure: when the verdict is "cannot tell", and what the intervals are.
        judge: the rule as code.
        needs: objectives whose models must have learned their task.
        every: whether it is judged over every fine-tuned model that has learned its task.
    """

    query: str
    words: str
    unsure: str
    judge: Callable[[Any], Finding]
    needs: tuple[str, ...] = ()
    every: bool = False


@dataclass(frozen=True)
class Judged:
    """A claim with its rule, the finding for ours, and the findings for each side of the paper."""

    claim: Claim
    rule: Rule
    found: Finding
    papers: Mapping[str, Finding]

    @property
    def paper(self) -> Finding:
        """The finding for the paper's own tables, if they are one side."""
        return self.papers[PAPER]


def judge(
    rules: Mapping[str, Rule], claims: Sequence[Claim], ours: Evidence | None, papers: Mapping[str, Evidence], nothing: str
) -> tuple[Judged, ...]:
    """Every claim judged on our numbers and on the paper's own, in the order of the paper.

    Args:
        rules: name of a claim -> its rule.
        claims: of the paper.
        ours: our numbers; None if none are stored.
        papers: side of the paper (an encoder, or ``PAPER``) -> its numbers.
        nothing: the sentence if there are no numbers of ours.
    """
    judged = []
    for claim in claims:
        rule = rules[claim.name]
        found = judged_by(rule, ours) if ours else Finding(UNTESTED, nothing)
        judged.append(Judged(claim, rule, found, {side: judged_by(rule, one) for side, one in papers.items()}))
    return tuple(judged)


def judged_by(rule: Rule, evidence: Evidence) -> Finding:
    """The finding of a rule. Models that are not shown to have learned their task decide nothing; those that did partly are named."""
    models = evidence.models_of(None if rule.every else rule.needs)
    found = _judged_by(rule, evidence, models)
    partly = [
        f"{_said(one, evidence, 'has learned its task only partly')}; this rests on it."
        for one in models
        if evidence.learned.get(one) == PARTLY
    ]
    return replace(found, numbers=" ".join([found.numbers, *partly])) if partly else found


def _judged_by(rule: Rule, evidence: Evidence, models: list) -> Finding:
    out = [one for one in models if evidence.learned.get(one) in UNLEARNED]
    if not out:
        return rule.judge(evidence)
    why = " ".join(_unlearned(one, evidence) for one in out)
    if set(evidence.models_of(rule.needs)) & set(out):
        found = rule.judge(evidence)
        return replace(found, verdict=UNTESTED, numbers=f"{why} {evidence.silent} Its numbers: {found.numbers}")
    found = rule.judge(evidence.without(out))
    if found.verdict == UNTESTED and set(models) <= set(out):
        return Finding(UNTESTED, f"No fine-tuned model is shown to have learned its task. {why}")
    return replace(found, numbers=f"{found.numbers} Left out: {why}")


def _unlearned(model: Any, evidence: Evidence) -> str:
    """ "QA-SQuAD-1 has not learned its task (F1 10.8). It counts as trained, not learned." """
    if evidence.learned[model] == "not learned":
        return f"{_said(model, evidence, 'has not learned its task')}.{evidence.counts}"
    return f"{_said(model, evidence, 'may not have learned its task')}."


def _said(model: Any, evidence: Evidence, words: str) -> str:
    """ "QA-SQuAD-1 has not learned its task (F1 10.8)"."""
    score = evidence.scores.get(model, "")
    return f"{evidence.called(model)} {words}{f' ({score})' if score else ''}"


def claims_frame(judged: Sequence[Judged]) -> pd.DataFrame:
    """``claim, verdict``, one column per side of the paper, ``numbers, null, rule``: one row per claim.

    If the paper is one side, its numbers are in ``paper_numbers``.
    """
    rows = [
        {"claim": one.claim.says, "verdict": one.found.verdict}
        | {side: found.verdict for side, found in one.papers.items()}
        | {"numbers": one.found.numbers, "null": one.found.null}
        | ({"paper_numbers": one.paper.numbers} if PAPER in one.papers else {})
        | {"rule": f"{one.rule.words} {one.rule.unsure}"}
        for one in judged
    ]
    return pd.DataFrame(rows)
