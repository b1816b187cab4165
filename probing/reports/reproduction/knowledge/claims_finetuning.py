"""Rules for the claims on what fine-tuning does; their words are in ``claims``."""

from collections.abc import Collection, Sequence

import pandas as pd

from probing.core.stats.paired_tests import benjamini_hochberg, newcombe
from probing.core.tasks.objectives import CONTROL
from probing.reports.reproduction.decisions import (
    UNTESTED,
    Answer,
    Interval,
    at_least,
    at_most,
    between,
    every,
    intervals,
    less,
    more,
    opposite,
    some,
    verdict,
)
from probing.reports.reproduction.findings import BASE, Finding
from probing.reports.reproduction.knowledge.evidence import KnowledgeEvidence, beside_majority, ranged, set_named
from probing.reports.reproduction.words import points

#: Two curves are "nearly the same" within this.
CLOSE = 0.02
SIGNIFICANT = 0.05
#: A share of the last layer with its interval, in ``total``.
_LAST_LAYER = ("last_layer", "last_low", "last_high")
FIGURE_4 = ("QA-SQuAD-2", "RANK-MSMARCO", "NER-CoNLL")


def early_agreement(evidence: KnowledgeEvidence) -> Finding:
    """Do Figure 4's models stay with the base in the first half of the layers, and leave it later?"""
    table = _from_base(evidence, [one for one in FIGURE_4 if one in evidence.tuned])
    if table.empty:
        return Finding(UNTESTED, "The base and a model of Figure 4 were not both probed on T-REx.")
    half = int(table["layer"].max()) // 2
    early, late = table[table["layer"] <= half], table[table["layer"] > half]
    base = evidence.curves[evidence.curves["objective"].eq(BASE) & evidence.curves["k"].eq(1) & evidence.curves["layer"].between(1, half)]
    reached = (base["hits"] / base["n"]).groupby(base["layer"]).mean().max()
    words = (
        f"Largest difference from the base: {_widest(early)} up to layer {half}, {_widest(late)} after it "
        f"({', '.join(dict.fromkeys(table['objective']))}). The base itself reaches {points(reached)} per cent by then"
        f"{beside_majority(evidence)}."
    )
    parallel_map, apart = every(map(_close, intervals(early))), some(opposite(_close(one)) for one in intervals(late))
    return Finding(verdict(every([parallel_map, apart])), words, table)


def last_layers_lose(evidence: KnowledgeEvidence) -> Finding:
    """Is each model's largest loss against the base in the last third of the layers?"""
    table = _from_base(evidence, evidence.tuned)
    if table.empty:
        return Finding(UNTESTED, "The base and a fine-tuned model were not both probed on T-REx.")
    last = int(table["layer"].max())
    worst = table.loc[table.groupby("objective", sort=False)["value"].idxmin()].reset_index(drop=True)
    worst["late"] = [_late(table[table["objective"] == one], last) for one in worst["objective"]]
    words = "; ".join(
        f"{row.objective} layer {row.layer}, {ranged(number)} points" + {True: "", False: ", not late", None: ", may be earlier"}[row.late]
        for row, number in zip(worst.itertuples(), intervals(worst), strict=True)
    )
    answers: list[Answer] = list(worst["late"])
    if unknown := [one for one in evidence.tuned if one not in set(table["objective"])]:
        words += f". Of {', '.join(unknown)} no layer can be compared with the base's, because single facts are not stored"
        answers.append(None)
    return Finding(verdict(every(answers)), f"Largest loss on T-REx, of {last} layers: {words}.", worst)


def _late(losses: pd.DataFrame, last: int) -> Answer:
    """Is this model's largest loss in the last third, and a loss at all? None if the intervals of the layers overlap."""
    third = losses["layer"] > 2 * last / 3
    early, late = losses[~third], losses[third]
    if late["high"].min() < min(0, early["low"].min()):
        return True
    return False if late["low"].min() >= 0 or early["high"].min() < late["low"].min() else None


def always_forgets(evidence: KnowledgeEvidence) -> Finding:
    """Is every fine-tuned model below the base, and is that more than chance?"""
    table = evidence.transitions
    table = table[table["k"].eq(1) & table["probe_set"].isin(evidence.sets) & table["n"].gt(0)]
    counted = _by_counts(evidence, set(zip(table["objective"], table["probe_set"], strict=True)))
    table = pd.concat([table, counted], ignore_index=True) if len(counted) else table.reset_index(drop=True)
    control, table = table[table["objective"] == CONTROL], table[table["objective"] != CONTROL].reset_index(drop=True)
    if table.empty:
        return Finding(UNTESTED, "No fine-tuned model was probed on a probe set of the paper together with its base.")
    # Of independent samples there is no McNemar test; their intervals decide.
    tested = table["p_value"].notna()
    table["p_adjusted"] = float("nan")
    table.loc[tested, "p_adjusted"] = benjamini_hochberg(table.loc[tested, "p_value"])
    chance = table["p_adjusted"] > SIGNIFICANT
    answers = [None if by_chance else less(one, 0) for one, by_chance in zip(_differences(table), chance, strict=True)]
    lower = table["difference"] < 0
    words = (
        f"{int(lower.sum())} of {len(table)} pairs lie below their base, {answers.count(True)} of them surely; "
        f"{answers.count(False)} are surely not below it."
    )
    if apart := int(counted["objective"].ne(CONTROL).sum()):
        words += f" {apart} pairs are compared as independent samples, because only the counts of one side are stored."
    row = table.loc[table["difference"].idxmax()]
    words += f" Highest against its base: {row['objective']} on {set_named(row['probe_set'])}, {_step(row)}."
    for row in control.to_dict("records"):
        words += f" The control on {set_named(row['probe_set'])}: {_step(row)}."
    return Finding(verdict(every(answers)), words, table)


def _by_counts(evidence: KnowledgeEvidence, paired: Collection[tuple[str, str]]) -> pd.DataFrame:
    """Rows as those of ``transitions`` for other models and probe sets: the last layers as independent samples, by Newcombe's interval."""
    rows = []
    for objective in [*evidence.tuned, CONTROL]:
        for name in (one for one in evidence.sets if (objective, one) not in paired):
            tuned, base = ([evidence.knowledge(one, name, column) for column in _LAST_LAYER] for one in (objective, BASE))
            if None not in (*tuned, *base):
                difference = newcombe(tuple(tuned), tuple(base))  # type: ignore[arg-type]
                rows.append((objective, name, 1, base[0], tuned[0], *difference))
    return pd.DataFrame(rows, columns=["objective", "probe_set", "k", "base_value", "value", "difference", "low", "high"])


def ranking_least(evidence: KnowledgeEvidence) -> Finding:
    """Has no other fine-tuned model fewer forgotten relations or more knowledge at the last layer than the ranking one?"""
    others = [one for one in evidence.tuned if one != "RANK-MSMARCO"]
    fewer = _compared(evidence, "RANK-MSMARCO", others, "forgotten")
    knows = _compared(evidence, "RANK-MSMARCO", others, "last_layer")
    table = pd.concat([fewer, knows], ignore_index=True)
    if len(fewer) < 2 or len(knows) < 2:
        return Finding(UNTESTED, "RANK-MSMARCO and at least two other fine-tuned models on T-REx are needed.", table)
    least, most = (at_most(one, 0) for one in intervals(fewer)), (at_least(one, 0) for one in intervals(knows))
    words = f"{_forgotten_words(evidence, ['RANK-MSMARCO', *others])} RANK-MSMARCO minus the nearest other, in points: "
    nearest = fewer.loc[[fewer["value"].idxmax()]], knows.loc[[knows["value"].idxmin()]]
    words += ", ".join(
        f"{ranged(intervals(row)[0])} of the {what} ({row['second'].iloc[0]})"
        for row, what in zip(nearest, ("relations forgotten", "facts known"), strict=True)
    )
    return Finding(verdict(every([*least, *most])), f"{words}.", table)


def more_data(evidence: KnowledgeEvidence) -> Finding:
    """Does the model tuned on the larger text keep no more than the one tuned on the smaller text?"""
    table = _on_sets(evidence, "MLM-MSMARCO", "MLM-SQuAD", ("trex", "google_re"))
    if table.empty:
        return Finding(UNTESTED, "MLM-MSMARCO and MLM-SQuAD were not both probed on T-REx or Google-RE.")
    words = _versus(evidence, table)
    if evidence.same_steps:
        return Finding(UNTESTED, f"Both models took the same number of steps on texts cut to size. {words}", table)
    return Finding(verdict(every(at_most(one, 0) for one in intervals(table))), words, table)


def harder_task(evidence: KnowledgeEvidence) -> Finding:
    """Does the model of SQuAD 2.0 keep more than that of SQuAD 1.1?"""
    table = _on_sets(evidence, "QA-SQuAD-2", "QA-SQuAD-1", evidence.sets)
    lost = evidence.difference("QA-SQuAD-2", "QA-SQuAD-1", "trex", "forgotten")
    if table.empty or lost is None:
        return Finding(UNTESTED, "Both question-answering models on T-REx are needed.", table)
    answers = [more(one, 0) for one in intervals(table)]
    sure, possible = answers.count(True), answers.count(True) + answers.count(None)
    mostly = True if sure > len(table) / 2 else False if possible <= len(table) / 2 else None
    counts = [evidence.forgotten_count(one) for one in ("QA-SQuAD-2", "QA-SQuAD-1")]
    words = f"{_versus(evidence, table)} Forgotten T-REx relations: {counts[0]} against {counts[1]}, {ranged(lost)} points."
    return Finding(verdict(every([mostly, less(lost, 0)])), words, table)


def language_modelling(evidence: KnowledgeEvidence) -> Finding:
    """On SQuAD's text, does masked language modelling keep more than span prediction?"""
    both = [_compared(evidence, "MLM-SQuAD", ["QA-SQuAD-2"], measure) for measure in ("forgotten", "last_layer")]
    table = pd.concat(both, ignore_index=True)
    if len(table) < 2:
        return Finding(UNTESTED, "MLM-SQuAD and QA-SQuAD-2 were not both probed on T-REx.", table)
    lost, known = intervals(table)
    words = f"{_forgotten_words(evidence, ['MLM-SQuAD', 'QA-SQuAD-2'])} Differences in points: {ranged(lost)} and {ranged(known)}."
    return Finding(verdict(every([less(lost, 0), more(known, 0)])), words, table)


def text_of_the_probe(evidence: KnowledgeEvidence) -> Finding:
    """Does tuning on SQuAD's text help on LAMA's SQuAD probe?"""
    table = _on_sets(evidence, "MLM-SQuAD", BASE, ("squad", "questions"), "total")
    words = _versus(evidence, table, "total knowledge")
    asked = table[table["probe_set"] == "squad"]
    if asked.empty:
        return Finding(UNTESTED, f"The models were not probed on LAMA's SQuAD facts. {words}".strip(), table)
    (gain,) = intervals(asked)
    return Finding(verdict(every([more(gain, 0), less(gain, 0.05)])), words, table)


def ranking_like_language_model(evidence: KnowledgeEvidence) -> Finding:
    """Are the two models of MS MARCO close at every layer?"""
    tables = [evidence.apart("RANK-MSMARCO", "MLM-MSMARCO", one).assign(probe_set=one) for one in evidence.sets]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    if table.empty:
        return Finding(UNTESTED, "RANK-MSMARCO and MLM-MSMARCO were not both probed on a probe set of the paper.")
    row = table.loc[[table["value"].abs().idxmax()]]
    at = f"at layer {row['layer'].iloc[0]} on {set_named(row['probe_set'].iloc[0])}"
    words = f"Largest difference, ranking minus language model: {ranged(intervals(row)[0])} points {at}."
    unknown = table["value"].isna()
    if unknown.any():
        words += f" {int(unknown.sum())} of {len(table)} layers of probe sets are not known."
    return Finding(verdict(every(map(_close, intervals(table)))), words, table)


def _close(difference: Interval) -> Answer:
    return between(difference, -CLOSE, CLOSE)


def _widest(table: pd.DataFrame) -> str:
    return f"{ranged(intervals(table.loc[[table['value'].abs().idxmax()]])[0])} points"


def _from_base(evidence: KnowledgeEvidence, objectives: Sequence[str]) -> pd.DataFrame:
    """Macro P@1 on T-REx minus the base's, by model and layer 1..L: objective, layer, value, low, high."""
    tables = [evidence.apart(one, BASE).assign(objective=one) for one in objectives]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["objective"])
    return table[["objective", *(name for name in table.columns if name != "objective")]]


def _differences(table: pd.DataFrame) -> list[Interval]:
    return intervals(table, ["difference", "low", "high"])


def _compared(evidence: KnowledgeEvidence, first: str, others: Sequence[str], measure: str) -> pd.DataFrame:
    """A model against others on T-REx: first, second, measure, value, low, high."""
    numbers = [(first, one, measure, evidence.difference(first, one, "trex", measure)) for one in others]
    return pd.DataFrame(
        [(*row[:3], row[3].value, row[3].low, row[3].high) for row in numbers if row[3]],
        columns=["first", "second", "measure", "value", "low", "high"],
    )


def _on_sets(evidence: KnowledgeEvidence, first: str, second: str, probe_sets: Sequence[str], measure: str = "last_layer") -> pd.DataFrame:
    """A model against another on the probe sets that both were probed on: first, second, probe_set, value, low, high."""
    numbers = [(first, second, name, evidence.difference(first, second, name, measure)) for name in probe_sets]
    return pd.DataFrame(
        [(*row[:3], row[3].value, row[3].low, row[3].high) for row in numbers if row[3]],
        columns=["first", "second", "probe_set", "value", "low", "high"],
    )


def _forgotten_words(evidence: KnowledgeEvidence, objectives: Sequence[str]) -> str:
    cells = [
        f"{one} {'–' if evidence.forgotten_count(one) is None else evidence.forgotten_count(one)} "
        f"({points(evidence.knowledge(one, 'trex', 'last_layer'))})"
        for one in objectives
    ]
    return f"Forgotten T-REx relations, and P@1 at the last layer in per cent: {', '.join(cells)}."


def _versus(evidence: KnowledgeEvidence, table: pd.DataFrame, what: str = "P@1 at the last layer") -> str:
    if table.empty:
        return ""
    column = "total" if what == "total knowledge" else "last_layer"
    first, second = table["first"].iloc[0], table["second"].iloc[0]
    cells = []
    for row, number in zip(table.itertuples(), intervals(table), strict=True):
        sides = [points(evidence.knowledge(one, str(row.probe_set), column)) for one in (first, second)]
        cells.append(f"{set_named(row.probe_set)} {sides[0]} against {sides[1]}, {ranged(number)} points")
    return f"{first} against {'the base' if second == BASE else second}, {what} in per cent: {'; '.join(cells)}."


def _step(row) -> str:
    return f"{points(row['base_value'])} to {points(row['value'])} per cent"
