"""Rules for the claims on how fine-tuning changes accuracy; their words are in ``claims``."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.core.sentences.example import FIRST, MEAN, POOLINGS
from probing.core.sentences.numbers import LOWER, UPPER
from probing.core.sentences.published import GROUPS
from probing.reports.reproduction.decisions import UNTESTED, Answer, Interval, apart, at_most, between, every, less, more, most, verdict
from probing.reports.reproduction.findings import Finding
from probing.reports.reproduction.sentences.claims_accuracy import FAMILIES
from probing.reports.reproduction.sentences.evidence import (
    COLA,
    COORDINATION,
    ODD,
    POOLED,
    ROBERTA,
    RTE,
    SHIFT,
    SQUAD,
    SST,
    TASKS,
    TUNED,
    InterplayEvidence,
    averaged,
    sized,
)
from probing.reports.reproduction.words import listed

#: A change of more than this is substantial, one within it negligible.
POINT = 0.01
SIGNIFICANT = 0.05
CELL_COLUMNS = ("encoder", "objective", "task", "pooling", "group", "value", "low", "high", "control")
Cell = tuple[str, str, str, str]


def upper_changes_most(evidence: InterplayEvidence) -> Finding:
    """Is the change of the upper layers larger than that of the lower ones in more than half of the cells?"""
    answers: list[Answer] = []
    rows = []
    for encoder in evidence.judged:
        for objective in TUNED:
            for task in TASKS:
                for pooling in POOLINGS:
                    both = [evidence.change(encoder, objective, task, pooling, group) for group in GROUPS]
                    if None not in both:
                        lower, upper = both
                        apart_by = evidence.upper_larger(encoder, objective, task, pooling)
                        answer = more(apart_by or apart(sized(upper), sized(lower)), 0)  # type: ignore[arg-type]
                        answers.append(answer)
                        rows.append((encoder, objective, task, pooling, lower.value, upper.value, answer))  # type: ignore[union-attr]
    if not rows:
        return Finding(UNTESTED, _no_changes(evidence, TUNED, TASKS))
    table = pd.DataFrame(rows, columns=["encoder", "objective", "task", "pooling", LOWER, UPPER, "surely"])
    larger = int((table[UPPER].abs() > table[LOWER].abs()).sum())
    words = (
        f"The upper layers change more in {larger} of {len(table)} cells; {answers.count(True)} surely, and surely less in "
        f"{answers.count(False)}."
    )
    return Finding(verdict(most(answers)), words, table, _controls(_table(evidence, [row[:4] for row in rows])))


def cola_improves_shift(evidence: InterplayEvidence) -> Finding:
    """Does CoLA raise bigram-shift with CLS in the upper layers, for every encoder?"""
    return _raised(evidence, [(encoder, COLA, SHIFT, FIRST) for encoder in evidence.judged])


def rte_improves_coordination(evidence: InterplayEvidence) -> Finding:
    """Does RTE raise coordination-inversion with CLS in RoBERTa's upper layers?"""
    if evidence.named.get(ROBERTA) is None:
        beside = _raised(evidence, [(encoder, RTE, COORDINATION, FIRST) for encoder in evidence.judged])
        other = f" Not RoBERTa, so not judged: {beside.numbers}" if len(beside.table) else ""
        made = f"python -m probing reproduce --paper interplay --family {FAMILIES[ROBERTA]}"
        return Finding(UNTESTED, f"The claim is about RoBERTa, which has no probes here. To make them: {made}.{other}")
    return _raised(evidence, [(evidence.named[ROBERTA], RTE, COORDINATION, FIRST)])


def _raised(evidence: InterplayEvidence, cells: Sequence[Cell]) -> Finding:
    found = {cell: number for cell in cells if (number := evidence.change(*cell)) is not None}
    if len(found) < len(cells):
        return Finding(UNTESTED, _no_changes(evidence, [cells[0][1]], [cells[0][2]]))
    table = _table(evidence, list(found), (UPPER,))
    words = f"Change over the upper layers, points: {_said(evidence, found)}."
    return Finding(verdict(every(more(one, POINT) for one in found.values())), words, table, _controls(table))


def negligible_with_mean(evidence: InterplayEvidence) -> Finding:
    """If CLS gains, is the gain with mean-pooling at most a point?"""
    cells = _gains(evidence)
    if not cells:
        return Finding(UNTESTED, _no_gain(evidence))
    with_mean: dict[Cell, Interval] = {}
    for encoder, objective, task, _ in cells:
        if (number := evidence.change(encoder, objective, task, MEAN)) is not None:
            with_mean[encoder, objective, task, MEAN] = number
    if not with_mean:
        return Finding(UNTESTED, "The models that gain with CLS-pooling have no mean-pooled probes.")
    table = _table(evidence, [*cells, *with_mean], (UPPER,))
    words = f"Gain over the upper layers, points: {_said(evidence, cells | with_mean)}."
    return Finding(verdict(every(at_most(one, POINT) for one in with_mean.values())), words, table, _controls(table))


def no_gain_over_mean(evidence: InterplayEvidence) -> Finding:
    """If CLS gains, does it stay at or below the pre-trained encoder's mean-pooling, with no layer significantly above?"""
    columns = ("over_mean", "over_mean_low", "over_mean_high")
    known = evidence.changes[evidence.changes["over_mean"].notna() & evidence.changes["layer"].ge(1)]
    gains = _gains(evidence)
    if not gains:
        return Finding(UNTESTED, _no_gain(evidence))
    cells = [cell for cell in gains if len(_rows(known, cell))]
    if not cells:
        return Finding(UNTESTED, "The change by layer against the mean-pooled probe is not known.")
    answers: list[Answer] = []
    said, tables = [], []
    for cell in cells:
        rows = _rows(known, cell)
        above = rows[rows["over_mean"].gt(0) & rows["over_mean_q"].le(SIGNIFICANT)]
        upper = rows[rows["layer"] > evidence.depths[cell[0]] // 2]
        mean = averaged(upper[list(columns)].set_axis(["value", "low", "high"], axis=1))
        answers.append(False if len(above) else True if mean and at_most(mean, 0) else None)
        layers = listed([str(layer) for layer in above["layer"]]) or "none"
        mean_said = evidence.said(mean) if mean else "not known"
        said.append(f"{cell[1]} on {cell[2]}: {mean_said} on average over the upper layers, significantly above at layer {layers}")
        tables.append(rows[["encoder", "objective", "task", "layer", *columns, "over_mean_q"]])
    words = f"CLS after fine-tuning minus mean-pooling before, points: {'; '.join(said)}."
    return Finding(verdict(every(answers)), words, pd.concat(tables, ignore_index=True))


def _rows(frame: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    for column, value in zip(("encoder", "objective", "task", "pooling"), cell, strict=True):
        frame = frame[frame[column].eq(value)]
    return frame.sort_values("layer")


def _gains(evidence: InterplayEvidence) -> dict[Cell, Interval]:
    """The sure gains among those that the paper names: CoLA on bigram-shift, and RTE on coordination for RoBERTa."""
    cells = [(encoder, COLA, SHIFT, FIRST) for encoder in evidence.judged]
    cells += [(evidence.named[ROBERTA], RTE, COORDINATION, FIRST)] if evidence.named.get(ROBERTA) in evidence.judged else []
    return {cell: number for cell in cells if (number := evidence.change(*cell)) is not None and more(number, 0)}


def _no_gain(evidence: InterplayEvidence) -> str:
    cells = {(encoder, COLA, SHIFT, FIRST): evidence.change(encoder, COLA, SHIFT, FIRST) for encoder in evidence.judged}
    known = {cell: number for cell, number in cells.items() if number is not None}
    if not known:
        return _no_changes(evidence, [COLA], [SHIFT])
    return f"No gain with CLS-pooling is surely above 0, so no gain could vanish: {_said(evidence, known)} points."


def sst_costs(evidence: InterplayEvidence) -> Finding:
    """Does SST-2 lower bigram-shift and odd-man-out everywhere, and RoBERTa's most?"""
    found, left = _falls(evidence, SST)
    if not found:
        return Finding(UNTESTED, left or _no_changes(evidence, [SST], [SHIFT, ODD]))
    answers = [less(one, 0) for one in found.values()]
    # Properties that no probe reads leave the claim open.
    parts = [every([*answers, None] if left else answers)]
    words = f"{_counted(evidence, found, answers)}{left}"
    columns = _columns_of_three(evidence, SST)
    if columns:
        lowest = [
            every(less(apart(cells[evidence.named[ROBERTA]], other), 0) for name, other in cells.items() if name != evidence.named[ROBERTA])
            for cells in columns
        ]
        parts.append(most(lowest))
        words += f" RoBERTa falls most in {lowest.count(True)} of {len(lowest)} columns."
    else:
        words += " The part on RoBERTa compares three encoders and was not judged."
    table = _table(evidence, list(dict.fromkeys(cell[:4] for cell in found)))
    return Finding(verdict(every(parts)), words, table, _controls(table))


def squad_costs(evidence: InterplayEvidence) -> Finding:
    """Does SQuAD lower bigram-shift and odd-man-out everywhere, and leave coordination-inversion within a point?"""
    found, left = _falls(evidence, SQUAD)
    beside = {cell: number for cell in _all_cells(evidence, SQUAD, [COORDINATION]) if (number := evidence.change(*cell)) is not None}
    if not found or not beside:
        return Finding(UNTESTED, left or _no_changes(evidence, [SQUAD], TASKS))
    answers, within = [less(one, 0) for one in found.values()], [between(one, -POINT, POINT) for one in beside.values()]
    words = (
        f"{_counted(evidence, found, answers)}{left} Coordination-inversion, points: {_said(evidence, beside)}; {within.count(True)} of "
        f"{len(within)} surely within a point."
    )
    table = _table(evidence, list(dict.fromkeys(cell[:4] for cell in (*found, *beside))))
    parts = [*answers, *within, *([None] if left else [])]
    return Finding(verdict(every(parts)), words, table, _controls(table))


def _all_cells(evidence: InterplayEvidence, objective: str, tasks: Sequence[str]) -> list[tuple[str, str, str, str, str]]:
    return [
        (encoder, objective, task, pooling, group)
        for encoder in evidence.judged
        for task in tasks
        for pooling in POOLINGS
        for group in GROUPS
    ]


def _falls(evidence: InterplayEvidence, objective: str) -> tuple[dict[tuple[str, str, str, str, str], Interval], str]:
    """The changes of bigram-shift and odd-man-out that can be losses, and a sentence on the cells that have nothing to lose."""
    changes, left = {}, []
    for cell in _all_cells(evidence, objective, [SHIFT, ODD]):
        number = evidence.change(*cell)
        if number is not None and evidence.readable(cell[0], cell[2], cell[3]):
            changes[cell] = number
        elif number is not None:
            left.append(f"{cell[2]}, {POOLED[cell[3]]}")
    names = listed(list(dict.fromkeys(left)))
    said = f" Left out, because the pre-trained probes do not surely beat the majority label and so cannot fall: {names}." if left else ""
    return changes, said


def _columns_of_three(evidence: InterplayEvidence, objective: str) -> list[dict[str, Interval]]:
    """Column of the tables -> encoder -> change, if all three encoders are stored."""
    if len(evidence.named) < 3:
        return []
    columns = []
    for task in (SHIFT, ODD):
        for pooling in POOLINGS:
            for group in GROUPS:
                cells = {name: evidence.change(name, objective, task, pooling, group) for name in evidence.named.values()}
                if None not in cells.values():
                    columns.append(cells)
    return columns  # type: ignore[return-value]


def _counted(evidence: InterplayEvidence, changes: dict[tuple[str, str, str, str, str], Interval], answers: list[Answer]) -> str:
    lowest = min(changes, key=lambda cell: changes[cell].value)
    highest = max(changes, key=lambda cell: changes[cell].value)
    ends = "; ".join(
        f"{what} {cell[2]}, {POOLED[cell[3]]}, {cell[4]} layers{_of(evidence, cell[0])} {evidence.said(changes[cell])}"
        for what, cell in (("lowest", lowest), ("highest", highest))
    )
    return f"{answers.count(True)} of {len(changes)} cells surely fall, {answers.count(False)} surely do not; points, {ends}."


def _of(evidence: InterplayEvidence, encoder: str) -> str:
    return f", {encoder}" if len(evidence.judged) > 1 else ""


def _said(evidence: InterplayEvidence, numbers: dict) -> str:
    return "; ".join(
        f"{cell[1]} on {cell[2]}, {POOLED[cell[3]]}{f', {cell[4]} layers' if len(cell) > 4 else ''}{_of(evidence, cell[0])} "
        f"{evidence.said(number)}"
        for cell, number in numbers.items()
    )


def _table(evidence: InterplayEvidence, cells: Sequence[Cell], groups: Sequence[str] = GROUPS) -> pd.DataFrame:
    """The rows of ``groups`` that were judged."""
    rows = evidence.groups
    keys = rows[["encoder", "objective", "task", "pooling"]].apply(tuple, axis=1)
    return rows[keys.isin(list(cells)) & rows["group"].isin(list(groups))][list(CELL_COLUMNS)].reset_index(drop=True)


def _controls(table: pd.DataFrame) -> str:
    """The control's changes in the same cells."""
    known = table["control"].dropna().astype("float64")
    if known.empty:
        return ""
    return (
        f"The control, trained on with its own text, changes by {100 * known.min():+.2f} to {100 * known.max():+.2f} points in these "
        f"cells, {100 * float(np.mean(known)):+.2f} on average."
    )


def _no_changes(evidence: InterplayEvidence, objectives: Sequence[str], tasks: Sequence[str]) -> str:
    base = evidence.judged[0] if evidence.judged else "BASE"
    slugs = {COLA: "cola", SST: "sst-2", RTE: "rte", SQUAD: "qa-squad-1"}
    model = f"{base}-{slugs[objectives[0]]}"
    return (
        f"No model fine-tuned on {listed(list(objectives))} has probes of {listed(list(tasks))} here. To make them: python -m probing "
        f"finetune --model {base} --objective {slugs[objectives[0]]}, then python -m probing sentences train --model {model} --tasks "
        f"{','.join(tasks)}."
    )
