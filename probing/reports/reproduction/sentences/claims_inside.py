"""Rules for the claims on attention and on perplexity; their words are in ``claims``."""

import math

import pandas as pd

from probing.reports.reproduction.decisions import (
    UNTESTED,
    Answer,
    Interval,
    apart,
    at_most,
    between,
    every,
    intervals,
    less,
    more,
    verdict,
)
from probing.reports.reproduction.findings import Finding
from probing.reports.reproduction.sentences.evidence import (
    BERT,
    COLA,
    COLA_MEAN,
    ROBERTA,
    SST,
    InterplayEvidence,
    averaged,
)
from probing.reports.reproduction.words import listed, ranged

#: The paper's "last three" and "11 and 12" of 12 layers, as shares of the depth, and its "last layers" of Figure 3.
LAST_THREE, LAST_TWO = 3 / 12, 2 / 12
#: The share of a rise that the layers responsible for it undo when put back, and the largest difference of two equal shares.
HALF, EQUAL = 0.5, 0.1
ENTROPY, DISTANCE = "entropy-change-first", "emd-first"


def last_of(depth: int, share: float) -> int:
    """The number of last layers of an encoder of this depth."""
    return max(round(share * depth), 1)


def entropy_rises(evidence: InterplayEvidence) -> Finding:
    """After CoLA with CLS, does the first token's entropy rise in each of the last layers; with mean-pooling, does it fall in the last?"""
    answers: list[Answer] = []
    said, tables = [], []
    for encoder in evidence.judged:
        first, mean = (evidence.measure(encoder, objective, ENTROPY) for objective in (COLA, COLA_MEAN))
        if first.empty:
            continue
        last = last_of(evidence.depths[encoder], LAST_THREE)
        top = first.tail(last)
        answers += [more(one, 0) for one in intervals(top)]
        said.append(f"CoLA, {_some('last', last)} {_by_layer(top)}")
        if mean.empty:
            answers.append(None)
            said.append(_no_mean_model(encoder))
        else:
            (final,) = intervals(mean.tail(1))
            answers.append(less(final, 0))
            said.append(f"{COLA_MEAN}, {_some('last', last)} {_by_layer(mean.tail(last))}")
        tables += [first, mean]
    if not tables:
        return Finding(UNTESTED, _not_measured(evidence, COLA))
    words = f"Change of the entropy of the first token's attention, nats: {'; '.join(said)}."
    table = pd.concat([one for one in tables if len(one)], ignore_index=True)
    return Finding(verdict(every(answers)), words, table, _beside(table))


def attention_moves_late(evidence: InterplayEvidence) -> Finding:
    """After CoLA with CLS, does the distance grow with the layer, is it largest in the last layers, and much smaller with mean-pooling?"""
    answers: list[Answer] = []
    said, tables = [], []
    for encoder in evidence.judged:
        first, mean = (evidence.measure(encoder, objective, DISTANCE) for objective in (COLA, COLA_MEAN))
        if first.empty:
            continue
        depth = evidence.depths[encoder]
        last = last_of(depth, LAST_TWO)
        lower, upper = averaged(first[first["layer"] <= depth // 2]), averaged(first[first["layer"] > depth // 2])
        top, rest = intervals(first.tail(last)), intervals(first.head(len(first) - last))
        answers.append(more(apart(upper, lower), 0) if upper and lower else None)
        answers += [more(apart(one, other), 0) for one in top for other in rest]
        said.append(f"CoLA by layer {_by_layer(first)}")
        if mean.empty:
            answers.append(None)
            said.append(_no_mean_model(encoder))
        else:
            halves = [Interval(HALF * one.value, HALF * one.low, HALF * one.high) for one in top]
            answers += [less(apart(other, half), 0) for other, half in zip(intervals(mean.tail(last)), halves, strict=True)]
            said.append(f"{COLA_MEAN}, {_some('last', last)} {_by_layer(mean.tail(last))}")
        tables += [first, mean]
    if not tables:
        return Finding(UNTESTED, _not_measured(evidence, COLA))
    table = pd.concat([one for one in tables if len(one)], ignore_index=True)
    return Finding(
        verdict(every(answers)),
        f"Earth mover's distance of the first token's attention, in tokens: {'; '.join(said)}.",
        table,
        _beside(table),
    )


def perplexity_rises(evidence: InterplayEvidence) -> Finding:
    """Is perplexity above the base's after CoLA and SST-2, and more so after SST-2?"""
    answers: list[Answer] = []
    said, rows = [], []
    for encoder in evidence.judged:
        found = {one: evidence.perplexity(encoder, one, "none", 0) for one in (COLA, SST)}
        if missing := [one for one, number in found.items() if number is None]:
            said.append(_not_measured(evidence, *missing))
            continue
        cola, sst = found[COLA], found[SST]
        difference = apart(sst, cola)  # type: ignore[arg-type]
        answers += [more(cola, 0), more(sst, 0), more(difference, 0)]  # type: ignore[arg-type]
        said.append(f"CoLA {_factor(cola)}, SST-2 {_factor(sst)} of the base's; SST-2 is {_factor(difference)} of CoLA")  # type: ignore[arg-type]
        rows.append(
            evidence.perplexities[evidence.perplexities["encoder"].eq(encoder) & evidence.perplexities["objective"].isin([COLA, SST])]
        )
    if not answers:
        return Finding(UNTESTED, " ".join(said) or _not_measured(evidence, COLA, SST))
    first_epoch = _first_epochs(evidence)
    answers += [first_epoch[0]] if first_epoch else []
    words = f"Perplexity after fine-tuning: {'; '.join(said)}. "
    words += first_epoch[1] if first_epoch else "The part on the first epoch compares RoBERTa with BERT and was not judged."
    table = pd.concat(rows, ignore_index=True)
    return Finding(verdict(every(answers)), words, table[table["replaced"].eq("none")].reset_index(drop=True), _control_factor(evidence))


def _first_epochs(evidence: InterplayEvidence) -> tuple[Answer, str] | None:
    """Whether the first epoch raises RoBERTa's perplexity more than BERT's, on both tasks; None if they are not both stored."""
    log_changes = {}
    for name in (ROBERTA, BERT):
        for objective in (COLA, SST):
            epochs = evidence.epochs
            epochs = epochs[epochs["encoder"].eq(evidence.named.get(name, "")) & epochs["objective"].eq(objective) & epochs["epoch"].eq(1)]
            if epochs.empty:
                return None
            log_changes[name, objective] = float(epochs["log_change"].iloc[0])
    answer = all(log_changes[ROBERTA, objective] > log_changes[BERT, objective] for objective in (COLA, SST))
    said = ", ".join(f"{name} {objective} ×{math.exp(value):.2f}" for (name, objective), value in log_changes.items())
    return answer, f"After the first epoch: {said}."


def last_layers_raise(evidence: InterplayEvidence) -> Finding:
    """Does putting back the last layers undo half of the rise, and more than as many first ones, equally for CoLA and SST-2?"""
    answers: list[Answer] = []
    said, rows = [], []
    for encoder in evidence.judged:
        n = last_of(evidence.depths[encoder], LAST_THREE)
        shares = {}
        for objective in (COLA, SST):
            full, last, first = (evidence.perplexity(encoder, objective, *of) for of in (("none", 0), ("last", n), ("first", n)))
            if full is None or last is None or first is None:
                continue
            if not more(full, 0):
                said.append(f"{objective} does not surely raise perplexity")
                continue
            undone, control = _undone(full, last), _undone(full, first)
            shares[objective] = undone
            answers += [_at_least_half(undone), more(apart(first, last), 0)]
            said.append(
                f"{objective}: putting back the {_some('last', n)} undoes {_per_cent(undone)} of the rise, the {_some('first', n)} "
                f"{_per_cent(control)}"
            )
            rows.append((encoder, objective, n, undone.value, undone.low, undone.high, control.value, control.low, control.high))
        if len(shares) == 2:
            answers.append(between(apart(shares[COLA], shares[SST]), -EQUAL, EQUAL))
        elif shares:
            answers.append(None)
    if not rows:
        return Finding(UNTESTED, f"{'; '.join(said)}." if said else _not_measured(evidence, COLA, SST))
    columns = ["encoder", "objective", "n", "value", "low", "high", "first", "first_low", "first_high"]
    words = f"{'; '.join(said)}."
    return Finding(verdict(every(answers)), words, pd.DataFrame(rows, columns=columns), "Putting back the first layers is the control.")


def _undone(full: Interval, left: Interval) -> Interval:
    """Share of a rise in log perplexity that is undone; its ends combine the worst ends of both numbers."""
    shares = [1 - one / other for one in (left.low, left.high) for other in (full.low, full.high)]
    return Interval(1 - left.value / full.value, min(shares), max(shares))


def _at_least_half(share: Interval) -> Answer:
    return True if share.low >= HALF else False if at_most(share, HALF) else None


def _per_cent(share: Interval) -> str:
    return f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f})"


def _factor(change: Interval) -> str:
    """ "×1.55 (1.50 to 1.60)"."""
    return f"×{ranged(Interval(*(math.exp(one) for one in (change.value, change.low, change.high))))}"


def _control_factor(evidence: InterplayEvidence) -> str:
    found = [evidence.perplexity(encoder, "control", "none", 0) for encoder in evidence.judged]
    known = [one for one in found if one]
    return f"The control, trained on with its own text: {_factor(known[0])} of the base's." if known else ""


def _by_layer(rows: pd.DataFrame) -> str:
    return ", ".join(f"{layer}: {ranged(one)}" for layer, one in zip(rows["layer"], intervals(rows), strict=True))


def _beside(table: pd.DataFrame) -> str:
    """The same measure of the control's attention, at the same layers."""
    known = table[table["control"].notna()]
    known = known[known["objective"].eq(COLA)]
    return f"The control, by layer: {', '.join(f'{row.layer}: {row.control:.2f}' for row in known.itertuples())}." if len(known) else ""


def _some(which: str, n: int) -> str:
    """ "last 3 layers", "last layer"."""
    return f"{which} layer" if n == 1 else f"{which} {n} layers"


def _no_mean_model(encoder: str) -> str:
    return (
        f"no model fine-tuned on CoLA with mean-pooling is measured. To make one: python -m probing finetune --model {encoder} "
        f"--objective cola --pooling mean, then python -m probing changes measure --model {encoder}-cola-mean"
    )


def _not_measured(evidence: InterplayEvidence, *objectives: str) -> str:
    base = evidence.judged[0] if evidence.judged else "BASE"
    models = [f"{base}-{one.lower()}" for one in objectives]
    commands = " and ".join(f"python -m probing changes measure --model {model}" for model in models)
    return f"No model fine-tuned on {listed(list(objectives))} is measured here. To measure: {commands}."
