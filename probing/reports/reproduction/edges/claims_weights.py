"""Rules for the claims on mixing weights and on where gains are concentrated; their words are in ``claims``."""

import math

import pandas as pd

from probing.reports.reproduction.decisions import UNTESTED, Answer, Interval, apart, at_most, every, less, more, most, verdict
from probing.reports.reproduction.edges.evidence import CALLED, MIDDLE, EdgeEvidence
from probing.reports.reproduction.findings import Finding
from probing.reports.reproduction.words import listed, ranged, without_interval

SYNTAX, SEMANTICS = ("pos", "constituents", "dependencies"), ("proto-roles", "relations")
#: The limit of "close to uniform", in bits.
UNIFORM = 0.05
#: Tasks whose weights are said to be concentrated.
CONCENTRATED = ("constituents", "dependencies", "srl", "coreference")


def syntax_localisable(evidence: EdgeEvidence) -> Finding:
    """Do the syntactic tasks have higher K(s) and K(Δ) than relations and proto-roles?"""
    rows: list[tuple] = []
    answers: list[Answer] = []
    shown = []
    for name, of in (("K(s)", lambda task: evidence.place(task, "k_weights")), ("K(Δ)", evidence.k_gains)):
        known = {task: of(task) for task in (*SYNTAX, *SEMANTICS)}
        shown.append(f"{name}: " + "; ".join(f"{CALLED[task]} {_or_not(one, task, evidence)}" for task, one in known.items()))
        pairs = [(first, second) for first in SYNTAX for second in SEMANTICS]
        for first, second in pairs:
            one, other = known[first], known[second]
            if one is None or other is None:
                # An expected layer that is not resolved has no K either: this pair is undecided, but it counts.
                answers += [None] if {first, second} <= set(evidence.curves) and name == "K(Δ)" else []
                continue
            difference = apart(one, other)
            rows.append((name, CALLED[first], CALLED[second], difference.value, difference.low, difference.high))
            answers.append(more(difference, 0))
    table = pd.DataFrame(rows, columns=["measure", "syntactic", "semantic", "higher by", "low", "high"])
    weights = [evidence.place(task, "k_weights") for task in (*SYNTAX, *SEMANTICS)]
    if not set(table["measure"]) >= {"K(s)", "K(Δ)"}:
        what = "K(s) and K(Δ) of a syntactic and of a semantic task are needed"
        return Finding(UNTESTED, f"{what}. {'. '.join(shown)}.", table)
    return Finding(verdict(every(answers)), f"In bits, {'. '.join(shown)}.{without_interval(weights)}", table)


def _or_not(number: Interval | None, task: str, evidence: EdgeEvidence) -> str:
    return ranged(number) if number else "not resolved" if task in evidence.curves and not evidence.resolved(task) else "not known"


def semantics_uniform(evidence: EdgeEvidence) -> Finding:
    """Are the weights of relations and proto-roles close to uniform?"""
    known = {task: one for task in SEMANTICS if (one := evidence.place(task, "k_weights"))}
    if not known:
        return Finding(UNTESTED, f"Neither the weights of {' nor those of '.join(CALLED[task] for task in SEMANTICS)} are known.")
    words = "; ".join(f"{CALLED[task]} {ranged(one)}" for task, one in known.items())
    found = verdict(every(at_most(one, UNIFORM) for one in known.values()))
    return Finding(found, f"K(s) in bits: {words}.{without_interval(known.values())}", _table(known))


def entities_weak(evidence: EdgeEvidence) -> Finding:
    """Is K(s) of entities below that of the concentrated tasks, and their centre of gravity above the middle?"""
    entities, centre = evidence.place("entities", "k_weights"), evidence.place("entities", "centre_of_gravity")
    known = {task: one for task in CONCENTRATED if (one := evidence.place(task, "k_weights"))}
    if entities is None or centre is None or not known:
        return Finding(UNTESTED, "K(s) of entities and of another task, and the centre of gravity of entities are needed.")
    answers = [less(apart(entities, one), 0) for one in known.values()] + [more(centre, evidence.depth / 2)]
    others = "; ".join(f"{CALLED[task]} {ranged(one)}" for task, one in known.items())
    words = (
        f"K(s) of entities {ranged(entities)} bits, of other tasks: {others}. Centre of gravity of entities {ranged(centre)}, the middle "
        f"is {evidence.depth / 2:g}.{without_interval([entities, centre, *known.values()])}"
    )
    return Finding(verdict(every(answers)), words, _table({"entities": entities} | known))


def weights_above_gains(evidence: EdgeEvidence) -> Finding:
    """Is the centre of gravity above the expected layer in every task?"""
    both = {
        task: (centre, layer)
        for task in CALLED
        if (centre := evidence.place(task, "centre_of_gravity")) and (layer := evidence.expected(task))
    }
    if not both:
        return Finding(UNTESTED, "No task has both a centre of gravity and a resolved expected layer.")
    differences = {task: apart(*pair) for task, pair in both.items()}
    # A task without a resolved expected layer leaves "every task" open.
    unresolved = [task for task in evidence.measured(CALLED) if evidence.place(task, "centre_of_gravity") and task not in both]
    answers = [*(more(one, 0) for one in differences.values()), *([None] * len(unresolved))]
    left = f" Not resolved: {listed([CALLED[task] for task in unresolved])}." if unresolved else ""
    least = min(differences, key=lambda task: differences[task].value)
    words = (
        f"Centre of gravity minus expected layer in {len(both)} tasks: smallest {ranged(differences[least])} layers ({CALLED[least]}). "
        f"{answers.count(True)} surely above 0, {answers.count(False)} surely not."
        f"{left}{without_interval(centre for centre, _ in both.values())}"
    )
    below = sum(layer.value < evidence.depth / 2 for _, layer in both.values())
    null = (
        f"Uniform weights have a centre of gravity of {evidence.depth / 2:g}: without any learning they meet the rule in the {below} "
        f"of {len(both)} tasks whose expected layer is below that."
    )
    rows = [
        (CALLED[task], centre.value, layer.value, one.value, one.low, one.high)
        for (task, (centre, layer)), one in zip(both.items(), differences.values(), strict=True)
    ]
    columns = ["task", "centre of gravity", "expected layer", "above by", "low", "high"]
    return Finding(verdict(every(answers)), words, pd.DataFrame(rows, columns=columns), null)


def middle_layers(depth: int) -> range:
    """The layers that lie between 9/24 and 20/24 of the depth."""
    first, last = (part * depth for part in MIDDLE)
    return range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)


def weights_in_the_middle(evidence: EdgeEvidence) -> Finding:
    """Do layers 9/24 to 20/24 of the depth together have more weight than under uniform weights?"""
    known = {task: one for task in CALLED if (one := evidence.place(task, "middle"))}
    if not known:
        return Finding(UNTESTED, "The weights of single layers are not known.")
    inside = middle_layers(evidence.depth)
    uniform = len(inside) / (evidence.depth + 1)
    answers = [more(one, uniform) for one in known.values()]
    words = (
        f"Layers {inside[0]} to {inside[-1]} of {evidence.depth}, share of all weight: "
        f"{'; '.join(f'{CALLED[task]} {ranged(one)}' for task, one in known.items())}. {answers.count(True)} of {len(known)} surely above "
        f"{uniform:.2f}, {answers.count(False)} surely not.{without_interval(known.values())}"
    )
    return Finding(verdict(most(answers)), words, _table(known), f"Under uniform weights these layers have a share of {uniform:.2f}.")


def _table(numbers: dict[str, Interval]) -> pd.DataFrame:
    rows = [(CALLED[task], one.value, one.low, one.high) for task, one in numbers.items()]
    return pd.DataFrame(rows, columns=["task", "value", "low", "high"])
