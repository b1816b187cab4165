"""Rules for the number of probes, for CoLA's violations, and for the question that the paper leaves open. Their words are in ``claims``."""

import pandas as pd

from probing.core.sentences import fates
from probing.core.sentences.fates import CANNOT_TELL, LOST, OTHER_LAYER, OTHER_TOKENS
from probing.core.sentences.published import PublishedSentences
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNTESTED, Answer, most, verdict
from probing.reports.reproduction.findings import Finding
from probing.reports.reproduction.sentences.evidence import TUNED, InterplayEvidence


def number_of_probes(evidence: InterplayEvidence) -> Finding:
    """The number of our probes differs from the paper's; this only counts them, and the paper's with its own arithmetic."""
    if evidence.published:
        return _papers_probes(PublishedSentences.read())
    counted = "; ".join(
        f"{encoder}: {evidence.probes[encoder]:,} probes on {evidence.models.get(encoder, 0)} models"
        for encoder in evidence.judged
        if encoder in evidence.probes
    )
    return Finding(UNTESTED, f"The claim is about the paper's own probes.{f' Here: {counted}.' if counted else ''}")


def _papers_probes(published: PublishedSentences) -> Finding:
    """Do the paper's layers, tasks, poolings and models multiply to the number of probes that it states?"""
    tasks, models, encoders = len(published.tasks), 1 + len(published.tuned), len(published.models)
    rows = []
    for model in published.models:
        rows.append((model.name, model.depth + 1, tasks, 2, models, (model.depth + 1) * tasks * 2 * models))
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
    """Of the cells that every linear probe of the same layer and pooling has lost, does the neural probe there hold in more than half?"""
    cells = evidence.fates[evidence.fates["encoder"].isin(evidence.judged) & evidence.fates["objective"].isin(TUNED)]
    everywhere = int(cells["cells"].sum())
    fallen, undecided = cells[cells["linear"].eq(LOST)], int(cells.loc[cells["linear"].eq(CANNOT_TELL), "cells"].sum())
    open_ones = f" In {undecided} more the linear probes cannot be decided." if undecided else ""
    if fallen.empty:
        nothing = f"No cell of {everywhere} has surely lost all linear probes of its layer and pooling.{open_ones}"
        return Finding(UNTESTED, nothing if everywhere else _unread(evidence), cells.reset_index(drop=True))
    neural = {one: int(fallen.loc[fallen["neural"].eq(one), "cells"].sum()) for one in (fates.HOLDS, LOST, CANNOT_TELL)}
    answers: list[Answer] = [True] * neural[fates.HOLDS] + [False] * neural[LOST] + [None] * neural[CANNOT_TELL]
    beside = {fate: int(fallen.loc[fallen["fate"].eq(fate), "cells"].sum()) for fate in (OTHER_TOKENS, OTHER_LAYER)}
    words = (
        f"In {len(answers)} of {everywhere} cells (a cell is a task, a pooling and a layer) every linear probe of the same layer and "
        f"pooling has lost the property.{open_ones} There the neural probe of the same layer and pooling holds in {neural[fates.HOLDS]}, "
        f"has lost in {neural[LOST]} and cannot be decided in {neural[CANNOT_TELL]}. Next to it: a linear probe of other tokens holds in "
        f"{beside[OTHER_TOKENS]} of them, and if not, that of another layer in {beside[OTHER_LAYER]}."
    )
    null = "A neural probe that has lost a property does not show that it is not there: another probe may read it."
    return Finding(verdict(most(answers)), words, cells.reset_index(drop=True), null)


def _unread(evidence: InterplayEvidence) -> str:
    base = evidence.judged[0] if evidence.judged else "BASE"
    return (
        "No model fine-tuned on a task of the paper has the probes that this needs. To make them: python -m probing sentences train "
        f"--model {base}-sst-2 --tasks bigram-shift,coordination-inversion."
    )
