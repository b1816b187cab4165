"""Rules for the number of probes, for CoLA's violations, and for the question that the paper leaves open. Their words are in ``claims``."""

import pandas as pd

from probing.core.sentences.fates import NOT_FOUND, NOT_LINEAR, OTHER_LAYER, OTHER_TOKENS
from probing.core.sentences.published import PublishedSentences
from probing.core.stats.intervals import wilson
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNTESTED, Interval, more, verdict
from probing.reports.reproduction.evidence import Finding, ranged
from probing.reports.reproduction.sentences.evidence import TUNED, InterplayEvidence

#: Fates of properties that the retrained probe lost and that are found elsewhere.
FOUND = (OTHER_TOKENS, OTHER_LAYER, NOT_LINEAR)


def number_of_probes(evidence: InterplayEvidence) -> Finding:
    """The number of our probes differs from the paper's; this only counts them."""
    counted = "; ".join(f"{encoder}: {evidence.probes[encoder]:,} probes on {evidence.models.get(encoder, 0)} models"
                        for encoder in evidence.judged if encoder in evidence.probes)  # fmt: skip
    return Finding(UNTESTED, f"The claim is about the paper's own probes.{f' Here: {counted}.' if counted else ''}")


def papers_probes(published: PublishedSentences) -> Finding:
    """Do the paper's layers, tasks, poolings and models multiply to the number of probes that it states?"""
    tasks, models, encoders = len(published.tasks), 1 + len(published.tuned), len(published.models)
    rows = []
    for model in published.models:
        rows.append((model.name, model.layers + 1, tasks, 2, models, (model.layers + 1) * tasks * 2 * models))
    table = pd.DataFrame(rows, columns=["encoder", "layers", "tasks", "poolings", "models", "probes"])
    total = int(table["probes"].sum())
    fits = total == published.probes and encoders * models == published.probed_models
    words = (
        f"{rows[0][1]} layers x {tasks} tasks x 2 poolings x {models} models are {rows[0][-1]:,} probes for one encoder; {encoders} "
        f"encoders are {encoders * models} models with {total:,} probes. "
        f"The paper states {published.probes:,} on {published.probed_models} models."
    )
    return Finding(HOLDS if fits else FAILS, words, table)


def few_violations(evidence: InterplayEvidence) -> Finding:
    """The kinds of violations are not known."""
    return Finding(
        UNTESTED,
        "CoLA's files do not state the kind of a violation, so it cannot be counted. The paper prints the share without counts.",
    )


def removed_or_not_linear(evidence: InterplayEvidence) -> Finding:
    """Of the cells where the retrained probe falls, is the property found elsewhere in more than half?"""
    mine = evidence.fates[evidence.fates["encoder"].isin(evidence.judged) & evidence.fates["objective"].isin(TUNED)]
    counts = mine.groupby("where_gone", sort=False)["cells"].sum().astype(int)
    lost = {fate: int(counts.get(fate, 0)) for fate in (*FOUND, NOT_FOUND)}
    fallen, everywhere = sum(lost.values()), int(counts.sum())
    if not fallen:
        nothing = (
            "No retrained probe falls by more than a point or significantly, so nothing was lost." if everywhere else _unread(evidence)
        )
        return Finding(UNTESTED, nothing, mine.reset_index(drop=True))
    found = fallen - lost[NOT_FOUND]
    share = Interval(found / fallen, *wilson(found, fallen))
    said = ", ".join(f"{fate} {number}" for fate, number in lost.items())
    words = (
        f"The retrained probe falls in {fallen} of {everywhere} cells (a cell is a task, a pooling and a layer): {said}. Found elsewhere: "
        f"{ranged(share)} per cent."
    )
    null = "Not found does not mean removed: another probe may find it. Neighbouring layers are correlated, so the interval is too narrow."
    return Finding(verdict(more(share, 0.5)), words, mine.reset_index(drop=True), null)


def _unread(evidence: InterplayEvidence) -> str:
    base = evidence.judged[0] if evidence.judged else "BASE"
    return (
        "No model fine-tuned on a task of the paper has the probes that this needs. To make them: python -m probing sentences train "
        f"--model {base}-sst-2 --tasks bigram-shift,coordination-inversion."
    )
