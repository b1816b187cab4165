"""Does a claim of BERTnesia hold for a family? One rule a claim, in words and in code, on frames of ``probing.reports``.

The claims' own words are in ``data/published``; tolerances are ours, for the paper states none, and each rule says its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize, stats

from probing.core.tasks.objectives import CONTROL
from probing.reports.reproduction import claims_finetuning as tuning
from probing.reports.reproduction.evidence import BASE, FAILS, HOLDS, UNTESTED, Evidence, Finding, named, points, rank_correlation

#: The paper's 17 to 60 per cent of its abstract, and what its Table 3 gives.
INNER, INNER_OF_TABLE_3 = (0.17, 0.60), (0.15, 0.67)
#: How far "about 15 per cent" and "about 7 per cent" reach.
ABOUT = 0.05
SIMILAR = 0.8


@dataclass(frozen=True)
class Rule:
    """How a claim is judged.

    Attributes:
        query: the report call whose numbers decide.
        words: the rule as a reader needs it.
        judge: the rule as code.
    """

    query: str
    words: str
    judge: Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Judged:
    """A claim's name with its rule and what came out."""

    name: str
    query: str
    rule: str
    verdict: str
    numbers: str
    table: pd.DataFrame


def inner_layers(evidence: Evidence) -> Finding:
    """Is the intermediate share of every model and probe set within the abstract's 17 to 60 per cent?"""
    table = evidence.total
    kept = table["k"].eq(1) & table["average"].eq("micro") & table["probe_set"].isin(evidence.sets) & table["objective"].ne(CONTROL)
    table = table[kept & table["intermediate_share"].notna()].reset_index(drop=True)
    if table.empty:
        return Finding(UNTESTED, "No model of this family knows a fact of the paper's probe sets at any layer.")
    share = table["intermediate_share"].astype("float64")
    inside = int(share.between(*INNER).sum())
    wide = int(share.between(*INNER_OF_TABLE_3).sum())
    low, high = table.loc[share.idxmin()], table.loc[share.idxmax()]
    base = share[table["objective"] == BASE]
    mean = f" The base's mean is {points(base.mean())} per cent." if len(base) else ""
    words = (
        f"{points(share.min())} per cent ({named(low['objective'])}, {low['probe_set']}) to {points(share.max())} "
        f"({named(high['objective'])}, {high['probe_set']}); {inside} of {len(share)} in 17 to 60, {wide} in Table 3's 15 to 67.{mean}"
    )
    return Finding(HOLDS if inside == len(share) else FAILS, words, table)


def doubling(evidence: Evidence) -> Finding:
    """Do about 15 per cent of the base's T-REx relations double in the last layer?"""
    return _share_of_relations(evidence, "doubling", 0.15, "double in the last layer")


def best_inside(evidence: Evidence) -> Finding:
    """Are about 7 per cent of the base's T-REx relations best in an inner layer?"""
    found = _share_of_relations(evidence, "authors", 0.07, "are best in an inner layer as the authors count")
    if found.table.empty:
        return found
    also = ", ".join(f"{int(evidence.relations[name].sum())} by the {words}" for name, words in _OTHER_DEFINITIONS)
    return Finding(found.verdict, f"{found.numbers} {also}.", found.table)


_OTHER_DEFINITIONS = (("caption", "caption of Table 2"), ("strict", "strict test"))


def _share_of_relations(evidence: Evidence, column: str, wanted: float, words: str) -> Finding:
    table = evidence.relations
    if table.empty:
        return Finding(UNTESTED, "The base was not probed on T-REx.")
    count = int(table[column].astype(bool).sum())
    share = count / len(table)
    verdict = HOLDS if abs(share - wanted) <= ABOUT + 1e-9 else FAILS
    return Finding(verdict, f"{count} of {len(table)} T-REx relations ({points(share)} per cent) {words}.", table)


def exponential_growth(evidence: Evidence) -> Finding:
    """Does the base's P@1 on T-REx rise at every layer of the last third, and more like an exponential than like a line?"""
    curve = evidence.curve(BASE)
    if curve.empty:
        return Finding(UNTESTED, "The base was not probed on T-REx.")
    start = 2 * int(curve.index.max()) // 3
    late = curve[curve.index >= start]
    table = late.rename("value").reset_index()
    words = f"P@1 from layer {start} on: {', '.join(points(value) for value in late)} per cent."
    if len(late) < 4 or (late <= 0).any():
        return Finding(UNTESTED, f"{words} Four layers with some right answer are needed.", table)
    if not (np.diff(late) > 0).all():
        return Finding(FAILS, f"{words} It does not rise at every one of them.", table)
    line, exponential = _misses(late)
    words += f" The best exponential misses them by {100 * exponential:.2f} points (root mean square), the best line by {100 * line:.2f}."
    return Finding(HOLDS if exponential < line else FAILS, words, table)


def _misses(values: pd.Series) -> tuple[float, float]:
    """How far values over the layers lie from the line and from the exponential that are nearest: root mean squares of residuals.

    Both are fitted to the values themselves, by least squares and with two parameters: a fit to logarithms has other residuals.
    """
    layers = np.asarray(values.index, dtype=float) - float(np.mean(values.index))
    known = np.asarray(values, dtype=float)
    line, start = stats.linregress(layers, known), stats.linregress(layers, np.log(known))
    (factor, rate), _ = optimize.curve_fit(_exponential, layers, known, p0=(np.exp(start.intercept), start.slope), maxfev=10_000)
    fitted = (line.intercept + line.slope * layers, _exponential(layers, factor, rate))
    on_line, on_exponential = (float(np.sqrt(np.mean((known - there) ** 2))) for there in fitted)
    return on_line, on_exponential


def _exponential(layers: np.ndarray, factor: float, rate: float) -> np.ndarray:
    return factor * np.exp(rate * layers)


def other_ranks(evidence: Evidence) -> Finding:
    """Do the curves of P@10 and P@100 rise and fall as that of P@1 does, model by model?"""
    rows = []
    for objective in (BASE, *evidence.tuned):
        first = evidence.curve(objective).drop(0, errors="ignore")
        for k in (10, 100):
            other = evidence.curve(objective, k=k).drop(0, errors="ignore")
            if len(first) and len(other) == len(first):
                rows.append((objective, k, rank_correlation(first, other)))
    table = pd.DataFrame(rows, columns=["objective", "k", "correlation"]).astype({"correlation": "float64"})
    found = table.dropna(subset=["correlation"])
    if found.empty:
        return Finding(UNTESTED, "No curve on T-REx rises or falls at all.", table)
    least = found.loc[found["correlation"].idxmin()]
    words = (
        f"Rank correlation with P@1's curve on T-REx: smallest {least['correlation']:.2f} ({named(least['objective'])}, P@{least['k']}), "
        f"{len(found)} curves."
    )
    return Finding(HOLDS if (found["correlation"] >= SIMILAR).all() else FAILS, words, table)


def inside_against_total(evidence: Evidence) -> Finding:
    """Across models, does a higher total go with a smaller intermediate share?"""
    rows = []
    for probe_set in evidence.sets:
        cells = [
            (evidence.knowledge(one, probe_set, "total"), evidence.knowledge(one, probe_set, "intermediate_share"))
            for one in (BASE, *evidence.tuned)
        ]
        whole = [(total, share) for total, share in cells if total is not None and share is not None]
        if len(whole) >= 4:
            totals, shares = (pd.Series(column) for column in zip(*whole, strict=True))
            rows.append((probe_set, len(whole), rank_correlation(totals, shares)))
    table = pd.DataFrame(rows, columns=["probe_set", "models", "correlation"]).astype({"correlation": "float64"})
    found = table.dropna(subset=["correlation"])
    if found.empty:
        return Finding(UNTESTED, "Fewer than four models were probed on one probe set.", table)
    words = ", ".join(f"{row.probe_set} {row.correlation:.2f} ({row.models} models)" for row in found.itertuples())
    verdict = HOLDS if (found["correlation"] <= -0.5).all() else FAILS
    return Finding(verdict, f"Rank correlation of total and intermediate share: {words}.", table)


#: Claim (a name in ``data/published``) -> its rule.
RULES: dict[str, Rule] = {
    "inner layers hold knowledge": Rule(
        "total(ks=(1,), averages=('micro',))",
        "Holds if the intermediate share, (total - last) / total at P@1 over facts, is between 17 and 60 per cent for the base and every "
        "fine-tuned model on every probe set of the paper that was probed.",
        inner_layers,
    ),
    "some relations double": Rule(
        "relation_forgetting(base run on T-REx, k=1), column doubling",
        "Holds if 10 to 20 per cent of the base's T-REx relations have a P@1 at the last layer of at least twice the best inner layer's.",
        doubling,
    ),
    "some relations are best inside": Rule(
        "relation_forgetting(base run on T-REx, k=1), column authors",
        "Holds if 2 to 12 per cent of the base's T-REx relations are forgotten as the authors count (best inner layer above the last, "
        "unpaired t-test p <= 0.05).",
        best_inside,
    ),
    "growth is nearly exponential": Rule(
        "precision(base run on T-REx, ks=(1,), average='macro')",
        "Holds if from two thirds of the layers on (8 of 12) macro P@1 on T-REx rises at every layer and lies nearer to an exponential "
        "than to a line; both are fitted to P@1 by least squares, and the residuals in P@1 are compared.",
        exponential_growth,
    ),
    "other ranks show the same": Rule(
        "precision(T-REx runs, ks=(1, 10, 100), average='macro')",
        "Holds if for every model the curves of P@10 and P@100 over layers 1 to L have a rank correlation of at least 0.8 with that of P@1."
        "",
        other_ranks,
    ),
    "models agree early": Rule(
        "precision(T-REx runs, ks=(1,), average='macro')",
        "Holds if QA-SQuAD-2, RANK-MSMARCO and NER-CoNLL (as far as probed) stay within 2 points of the base's macro P@1 on T-REx at "
        "layers 1 to L / 2, and some of them leaves that band later.",
        tuning.early_agreement,
    ),
    "who knows more keeps less inside": Rule(
        "total(ks=(1,), averages=('micro',))",
        "Holds if across at least four models the rank correlation of total knowledge and intermediate share is -0.5 or lower on every "
        "probe set of the paper. A total that consists of the last layer has no share left inside, so part of this is arithmetic.",
        inside_against_total,
    ),
    "fine-tuning always forgets": Rule(
        "transitions(pairs, ks=(1,))",
        "Holds if every fine-tuned model knows fewer facts than the base at the last layer on every probe set of the paper, each "
        "difference with p <= 0.05 (exact McNemar, Benjamini-Hochberg over these pairs). Where all are lower but some difference may be "
        "chance, it cannot be told. The control is shown beside and does not decide.",
        tuning.always_forgets,
    ),
    "the last layers lose most": Rule(
        "precision(T-REx runs, ks=(1,), average='macro')",
        "Holds if for every fine-tuned model the layer at which its macro P@1 on T-REx falls furthest below the base's is in the last "
        "third.",
        tuning.last_layers_lose,
    ),
    "ranking forgets least": Rule(
        "forgotten(T-REx runs, ks=(1,), definitions=('authors',)); total(ks=(1,), averages=('micro',))",
        "Holds if no other fine-tuned model has fewer forgotten T-REx relations as the authors count, and none a higher P@1 at the last "
        "layer on T-REx.",
        tuning.ranking_least,
    ),
    "more data does not help": Rule(
        "total(ks=(1,), averages=('micro',))",
        "Holds if MLM-MSMARCO, tuned on the larger text, is not above MLM-SQuAD in P@1 at the last layer on T-REx and Google-RE. It cannot "
        "be tested where all models took the same number of steps: then the amount of data was not what differed.",
        tuning.more_data,
    ),
    "a harder task keeps more": Rule(
        "total(ks=(1,), averages=('micro',)); forgotten(T-REx runs, ks=(1,), definitions=('authors',))",
        "Holds if QA-SQuAD-2 is above QA-SQuAD-1 in P@1 at the last layer on more than half of the paper's probe sets, and has fewer "
        "forgotten T-REx relations as the authors count.",
        tuning.harder_task,
    ),
    "language modelling keeps more than question answering": Rule(
        "forgotten(T-REx runs, ks=(1,), definitions=('authors',)); total(ks=(1,), averages=('micro',))",
        "Holds if MLM-SQuAD has fewer forgotten T-REx relations than QA-SQuAD-2 as the authors count, and a higher P@1 at the last layer.",
        tuning.language_modelling,
    ),
    "text of the probe helps": Rule(
        "total(ks=(1,), averages=('micro',))",
        "Holds if on LAMA's SQuAD probe the total knowledge of MLM-SQuAD at P@1 is above the base's, by less than 5 points. Our own "
        "questions are other sentences and cannot decide it.",
        tuning.text_of_the_probe,
    ),
    "ranking is close to its language model": Rule(
        "precision(ks=(1,), average='macro')",
        "Holds if RANK-MSMARCO and MLM-MSMARCO are within 2 points of each other in macro P@1 at every layer on every probe set of the "
        "paper.",
        tuning.ranking_like_language_model,
    ),
}


def judge(evidence: Evidence) -> tuple[Judged, ...]:
    """Every claim judged on one family's numbers, in the order of ``RULES``."""
    judged = []
    for name, rule in RULES.items():
        found = rule.judge(evidence)
        judged.append(Judged(name, rule.query, rule.words, found.verdict, found.numbers, found.table))
    return tuple(judged)
