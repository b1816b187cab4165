"""Rules for the claims on what fine-tuning does; ``probing.reports.reproduction.claims`` gives each its words."""

import pandas as pd

from probing.core.stats.paired import benjamini_hochberg
from probing.core.tasks.objectives import CONTROL
from probing.reports.reproduction.evidence import BASE, FAILS, HOLDS, UNTESTED, Evidence, Finding, points

#: Two curves are "nearly the same" within this.
CLOSE = 0.02
SIGNIFICANT = 0.05
FIGURE_4 = ("QA-SQuAD-2", "RANK-MSMARCO", "NER-CoNLL")


def early_agreement(evidence: Evidence) -> Finding:
    """Do Figure 4's models stay with the base in the first half of the layers, and leave it later?"""
    table = _differences(evidence, [one for one in FIGURE_4 if one in evidence.tuned])
    if table.empty:
        return Finding(UNTESTED, "The base and a model of Figure 4 were not both probed on T-REx.")
    half = int(table["layer"].max()) // 2
    apart = table["difference"].abs()
    early, late = apart[table["layer"] <= half].max(), apart[table["layer"] > half].max()
    words = (
        f"Largest difference from the base: {points(early)} points up to layer {half}, {points(late)} after it "
        f"({', '.join(dict.fromkeys(table['objective']))}). The base itself reaches {points(evidence.curve(BASE).loc[1:half].max())} per "
        "cent by then."
    )
    return Finding(HOLDS if early <= CLOSE < late else FAILS, words, table)


def last_layers_lose(evidence: Evidence) -> Finding:
    """Is each model's greatest loss against the base in the last third of the layers?"""
    table = _differences(evidence, evidence.tuned)
    if table.empty:
        return Finding(UNTESTED, "The base and a fine-tuned model were not both probed on T-REx.")
    last = int(table["layer"].max())
    worst = table.loc[table.groupby("objective", sort=False)["difference"].idxmin()].reset_index(drop=True)
    late = (worst["layer"] > 2 * last / 3) & (worst["difference"] < 0)
    words = "; ".join(f"{row.objective} layer {row.layer} ({points(row.difference)} points)" for row in worst.itertuples())
    return Finding(HOLDS if late.all() else FAILS, f"Greatest loss on T-REx, of {last} layers: {words}.", worst)


def always_forgets(evidence: Evidence) -> Finding:
    """Is every fine-tuned model below the base, and is that more than chance?"""
    table = evidence.transitions
    table = table[table["k"].eq(1) & table["probe_set"].isin(evidence.sets) & table["n"].gt(0)].reset_index(drop=True)
    control, table = table[table["objective"] == CONTROL], table[table["objective"] != CONTROL].reset_index(drop=True)
    if table.empty:
        return Finding(UNTESTED, "No fine-tuned model was probed on a probe set of the paper together with its base.")
    table = table.assign(p_adjusted=benjamini_hochberg(table["p_value"]))
    lower = table["value"] < table["base_value"]
    sure = lower & (table["p_adjusted"] <= SIGNIFICANT)
    words = f"{int(lower.sum())} of {len(table)} pairs lie below their base, {int(sure.sum())} of them with p <= 0.05."
    if not lower.all():
        row = table.loc[(table["value"] - table["base_value"]).idxmax()]
        words += f" Highest against its base: {row['objective']} on {row['probe_set']}, {_step(row)}."
    for row in control.to_dict("records"):
        words += f" The control on {row['probe_set']}: {_step(row)}."
    return Finding(HOLDS if sure.all() else UNTESTED if lower.all() else FAILS, words, table)


def ranking_least(evidence: Evidence) -> Finding:
    """Has no other fine-tuned model fewer forgotten relations or more knowledge at the last layer than the ranking one?"""
    table = _forgotten_and_known(evidence, evidence.tuned)
    if "RANK-MSMARCO" not in set(table["objective"]) or len(table) < 3:
        return Finding(UNTESTED, "RANK-MSMARCO and at least two other fine-tuned models on T-REx are needed.", table)
    mine, others = table[table["objective"] == "RANK-MSMARCO"].iloc[0], table[table["objective"] != "RANK-MSMARCO"]
    least, most = (mine["forgotten"] <= others["forgotten"]).all(), (mine["last_layer"] >= others["last_layer"]).all()
    return Finding(HOLDS if least and most else FAILS, _forgotten_words(table), table)


def more_data(evidence: Evidence) -> Finding:
    """Does the model that was tuned on the larger text keep no more than that of the smaller one?"""
    table = _last_layers(evidence, "MLM-MSMARCO", "MLM-SQuAD", ("trex", "google_re"))
    if table.empty:
        return Finding(UNTESTED, "MLM-MSMARCO and MLM-SQuAD were not both probed on T-REx or Google-RE.")
    words = _versus(table, "MLM-MSMARCO", "MLM-SQuAD")
    if evidence.same_steps:
        return Finding(UNTESTED, f"All models of this family took the same number of steps on texts cut to size. {words}", table)
    return Finding(HOLDS if (table["first"] <= table["second"]).all() else FAILS, words, table)


def harder_task(evidence: Evidence) -> Finding:
    """Does the model of SQuAD 2.0 keep more than that of SQuAD 1.1?"""
    table = _last_layers(evidence, "QA-SQuAD-2", "QA-SQuAD-1", evidence.sets)
    harder, easier = evidence.forgotten_count("QA-SQuAD-2"), evidence.forgotten_count("QA-SQuAD-1")
    if table.empty or harder is None or easier is None:
        return Finding(UNTESTED, "Both question-answering models on T-REx are needed.", table)
    words = f"{_versus(table, 'QA-SQuAD-2', 'QA-SQuAD-1')} Forgotten T-REx relations: {harder} against {easier}."
    more = int((table["first"] > table["second"]).sum()) > len(table) / 2
    return Finding(HOLDS if more and harder < easier else FAILS, words, table)


def language_modelling(evidence: Evidence) -> Finding:
    """On SQuAD's text, does masked language modelling keep more than span prediction?"""
    table = _forgotten_and_known(evidence, ["MLM-SQuAD", "QA-SQuAD-2"])
    if len(table) < 2:
        return Finding(UNTESTED, "MLM-SQuAD and QA-SQuAD-2 were not both probed on T-REx.", table)
    ours, theirs = table.iloc[0], table.iloc[1]
    holds = ours["forgotten"] < theirs["forgotten"] and ours["last_layer"] > theirs["last_layer"]
    return Finding(HOLDS if holds else FAILS, _forgotten_words(table), table)


def text_of_the_probe(evidence: Evidence) -> Finding:
    """Does tuning on SQuAD's text help on LAMA's SQuAD probe?"""
    rows = []
    for probe_set in ("squad", "questions"):
        tuned, base = (evidence.knowledge(one, probe_set, "total") for one in ("MLM-SQuAD", BASE))
        if tuned is not None and base is not None:
            rows.append((probe_set, tuned, base))
    table = pd.DataFrame(rows, columns=["probe_set", "first", "second"])
    words = _versus(table, "MLM-SQuAD", "the base", "total knowledge")
    if "squad" not in set(table["probe_set"]):
        return Finding(UNTESTED, f"LAMA's SQuAD probe was not asked. {words}".strip(), table)
    gain = table["first"].iloc[0] - table["second"].iloc[0]
    return Finding(HOLDS if 0 < gain < 0.05 else FAILS, words, table)


def ranking_like_language_model(evidence: Evidence) -> Finding:
    """Are the two models of MS MARCO close at every layer?"""
    rows = []
    for probe_set in evidence.sets:
        apart = evidence.curve("RANK-MSMARCO", probe_set) - evidence.curve("MLM-MSMARCO", probe_set)
        rows += [(probe_set, layer, value) for layer, value in apart.drop(0, errors="ignore").dropna().items()]
    table = pd.DataFrame(rows, columns=["probe_set", "layer", "difference"])
    if table.empty:
        return Finding(UNTESTED, "RANK-MSMARCO and MLM-MSMARCO were not both probed on a probe set of the paper.")
    row = table.loc[table["difference"].abs().idxmax()]
    apart = f"{points(row['difference'])} points at layer {row['layer']} on {row['probe_set']}"
    words = f"Largest difference, ranking minus language model: {apart}."
    return Finding(HOLDS if table["difference"].abs().max() <= CLOSE else FAILS, words, table)


def _differences(evidence: Evidence, objectives: list[str]) -> pd.DataFrame:
    """Macro P@1 on T-REx minus the base's, by model and layer 1..L; models of another depth are left out."""
    base = evidence.curve(BASE)
    rows = []
    for objective in objectives:
        curve = evidence.curve(objective)
        if len(curve) and curve.index.equals(base.index):
            rows += [(objective, int(layer), float(value)) for layer, value in (curve - base).items() if layer >= 1]
    return pd.DataFrame(rows, columns=["objective", "layer", "difference"])


def _last_layers(evidence: Evidence, first: str, second: str, probe_sets) -> pd.DataFrame:
    """P@1 at the last layer of two models on the probe sets that both were asked."""
    rows = [(name, evidence.knowledge(first, name, "last_layer"), evidence.knowledge(second, name, "last_layer")) for name in probe_sets]
    return pd.DataFrame([row for row in rows if row[1] is not None and row[2] is not None], columns=["probe_set", "first", "second"])


def _forgotten_and_known(evidence: Evidence, objectives: list[str]) -> pd.DataFrame:
    rows = [(one, evidence.forgotten_count(one), evidence.knowledge(one, "trex", "last_layer")) for one in objectives]
    return pd.DataFrame(
        [row for row in rows if row[1] is not None and row[2] is not None], columns=["objective", "forgotten", "last_layer"]
    )


def _forgotten_words(table: pd.DataFrame) -> str:
    cells = (f"{row.objective} {row.forgotten} ({points(row.last_layer)})" for row in table.itertuples())
    return f"Forgotten T-REx relations, and P@1 at the last layer in per cent: {', '.join(cells)}."


def _versus(table: pd.DataFrame, first: str, second: str, what: str = "P@1 at the last layer") -> str:
    cells = (f"{row.probe_set} {points(row.first)} against {points(row.second)}" for row in table.itertuples())
    return f"{first} against {second}, {what} in per cent: {', '.join(cells)}." if len(table) else ""


def _step(row) -> str:
    return f"{points(row['base_value'])} to {points(row['value'])} per cent"
