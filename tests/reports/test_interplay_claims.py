"""The rules on fine-tuning and sentence-level probing: on planted tables whose answer is known, and on the paper's own cells."""

from dataclasses import replace

import pandas as pd
import pytest

from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.findings import Finding, judged_by
from probing.reports.reproduction.sentences.claims import RULES
from probing.reports.reproduction.sentences.evidence import (
    ACCURACY_COLUMNS,
    CHANGE_COLUMNS,
    EPOCH_COLUMNS,
    FATE_COLUMNS,
    GROUP_COLUMNS,
    LARGER_COLUMNS,
    PERPLEXITY_COLUMNS,
    POOLING_COLUMNS,
    TUNED,
    VALUE_COLUMNS,
    InterplayEvidence,
)
from probing.reports.reproduction.sentences.paper import INTERPLAY

SHIFT, COORDINATION, ODD = INTERPLAY.numbers.tasks
L = 12


def known(columns, rows) -> pd.DataFrame:
    """A table of rows that lack the last columns."""
    return pd.DataFrame([(*row, *[None] * (len(columns) - len(row))) for row in rows], columns=list(columns))


def around(value: float, half: float = 0.002) -> tuple[float, float, float]:
    return value, value - half, value + half


def groups(cells: dict, encoder="ours", half=0.002) -> pd.DataFrame:
    """(objective, task, pooling) -> (lower, upper), in points."""
    rows = [
        (encoder, *cell, group, *around(points / 100, half))
        for cell, pair in cells.items()
        for group, points in zip(("lower", "upper"), pair, strict=True)
    ]
    return known(GROUP_COLUMNS, rows)


def accuracies(cells: dict, half=0.002) -> pd.DataFrame:
    """(encoder, task, pooling) -> accuracy at every layer from 1 on."""
    rows = [(*cell, layer, *around(value, half), 0.5, 0.5) for cell, value in cells.items() for layer in range(1, L + 1)]
    return known(ACCURACY_COLUMNS, rows)


def ours(**fields) -> InterplayEvidence:
    return InterplayEvidence(("ours",), {"ours": L}, **fields)


def found(name: str, evidence: InterplayEvidence) -> Finding:
    return judged_by(RULES[name], evidence)


#: Verdicts on the paper's own tables, checked by hand; claims whose numbers exist only in figures are not here.
OF_PAPER = {
    "higher layers change most": (HOLDS, "63 of 69 cells"),
    "cola improves bigram-shift": (HOLDS, "BERT +4.73"),
    "rte improves coordination": (HOLDS, "RoBERTa +3.27"),
    "gains are negligible with mean-pooling": (FAILS, "mean, BERT +1.45; CoLA on bigram-shift, mean, RoBERTa +1.74"),
    "sst-2 costs word order and odd words": (HOLDS, "24 of 24 cells surely fall"),
    "squad costs word order and odd words": (HOLDS, "12 of 12 surely within a point"),
    "390 probes on 12 models": (
        FAILS,
        "13 layers x 3 tasks x 2 poolings x 5 models are 390 probes for one encoder; 3 encoders are 15 models with 1,170 probes",
    ),
}


def test_the_rules_on_the_papers_own_cells():
    judged = {one.claim.name: one for one in INTERPLAY.judge(None)}
    for name, one in judged.items():
        verdict, words = OF_PAPER.get(name, (UNTESTED, ""))
        assert one.paper.verdict == verdict and words in one.paper.numbers, name
    assert "RoBERTa falls most in 5 of 8 columns" in judged["sst-2 costs word order and odd words"].paper.numbers


def test_without_the_row_that_has_lost_its_order_the_upper_layers_change_more_in_62_of_68_cells():
    table = next(one for one in INTERPLAY.judge(None) if one.claim.name == "higher layers change most").paper.table
    whole = table[~(table["encoder"].eq("RoBERTa") & table["task"].eq(COORDINATION) & table["objective"].eq("CoLA"))]
    assert (len(whole), int((whole["upper"].abs() > whole["lower"].abs()).sum())) == (68, 62)


@pytest.mark.parametrize(("mean", "verdict"), [(0.6, HOLDS), (0.53, FAILS), (0.55, UNSURE)])
def test_mean_pooling_beats_cls(mean, verdict):
    cells = accuracies({("ours", task, "first"): 0.55 for task in (SHIFT, COORDINATION)})
    rows = [("ours", task, layer, *around(mean - 0.55, 0.01)) for task in (SHIFT, COORDINATION) for layer in range(1, L + 1)]
    assert found("mean-pooling beats CLS-pooling", ours(accuracies=cells, poolings=known(POOLING_COLUMNS, rows))).verdict == verdict


def test_a_task_at_chance_says_nothing_of_poolings():
    rows = [("ours", ODD, layer, *around(0.1)) for layer in range(1, L + 1)]
    evidence = ours(accuracies=accuracies({("ours", ODD, "mean"): 0.501}), poolings=known(POOLING_COLUMNS, rows))
    said = found("mean-pooling beats CLS-pooling", evidence)
    assert said.verdict == UNTESTED and "do not surely beat the majority label: odd-man-out" in said.numbers


@pytest.mark.parametrize(("other", "verdict"), [(0.6, HOLDS), (0.68, FAILS), (0.65, UNSURE)])
def test_bigram_shift_is_easiest(other, verdict):
    cells = {("ours", SHIFT, "mean"): 0.7, ("ours", COORDINATION, "mean"): other, ("ours", ODD, "mean"): 0.5}
    assert found("bigram-shift is easiest", ours(accuracies=accuracies(cells, 0.01))).verdict == verdict


NAMED = {"BERT": "a", "RoBERTa": "ours", "ALBERT": "c"}


@pytest.mark.parametrize(("albert", "verdict"), [(0.55, HOLDS), (0.65, FAILS), (0.6, UNSURE)])
def test_albert_is_worst_on_odd_man_out(albert, verdict):
    by_encoder = {"a": 0.6, "ours": 0.7, "c": albert}
    cells = {(one, ODD, pooling): value for one, value in by_encoder.items() for pooling in ("first", "mean")}
    assert found("albert is worst on odd-man-out", ours(named=NAMED, accuracies=accuracies(cells))).verdict == verdict


@pytest.mark.parametrize(("cls", "verdict"), [(0.5, HOLDS), (0.6, FAILS), (0.55, UNSURE)])
def test_the_first_token_of_roberta_lacks_the_sentence(cls, verdict):
    cells = {("a", COORDINATION, "first"): 0.6, ("ours", COORDINATION, "first"): cls, ("c", COORDINATION, "first"): 0.6}
    cells |= {("a", COORDINATION, "mean"): 0.6, ("ours", COORDINATION, "mean"): 0.7, ("c", COORDINATION, "mean"): 0.6}
    assert found("roberta's first token lacks the sentence", ours(named=NAMED, accuracies=accuracies(cells))).verdict == verdict


@pytest.mark.parametrize(
    "name", ["albert is worst on odd-man-out", "roberta's first token lacks the sentence", "rte improves coordination"]
)
def test_a_comparison_of_encoders_names_the_command_that_makes_the_missing_one(name):
    said = found(name, ours(named={"BERT": "ours"}, groups=groups({("RTE", COORDINATION, "first"): (0, 5)})))
    assert said.verdict == UNTESTED and "reproduce --paper interplay --family roberta-base" in said.numbers


@pytest.mark.parametrize(("pair", "verdict"), [((1, 3), HOLDS), ((3, 1), FAILS), ((-1, 3), HOLDS), ((2, 2.1), UNSURE)])
def test_higher_layers_change_most(pair, verdict):
    cells = {(objective, SHIFT, pooling): pair for objective in ("CoLA", "SST-2") for pooling in ("first", "mean")}
    assert found("higher layers change most", ours(groups=groups(cells))).verdict == verdict


@pytest.mark.parametrize(("points", "verdict"), [(4, HOLDS), (-4, FAILS), (0.5, FAILS), (1.1, UNSURE)])
def test_a_gain_of_more_than_a_point_is_substantial(points, verdict):
    assert found("cola improves bigram-shift", ours(groups=groups({("CoLA", SHIFT, "first"): (0, points)}))).verdict == verdict
    evidence = ours(named={"RoBERTa": "ours"}, groups=groups({("RTE", COORDINATION, "first"): (0, points)}))
    assert found("rte improves coordination", evidence).verdict == verdict


@pytest.mark.parametrize(("mean", "verdict"), [(0.2, HOLDS), (3, FAILS), (1.1, UNSURE)])
def test_gains_are_negligible_with_mean_pooling(mean, verdict):
    cells = {("CoLA", SHIFT, "first"): (0, 4), ("CoLA", SHIFT, "mean"): (0, mean)}
    assert found("gains are negligible with mean-pooling", ours(groups=groups(cells))).verdict == verdict


@pytest.mark.parametrize(("over", "q", "verdict"), [(-0.05, 0.001, HOLDS), (0.05, 0.001, FAILS), (0.0, 0.9, UNSURE), (0.05, 0.2, UNSURE)])
def test_no_gain_over_mean_pooling(over, q, verdict):
    rows = [("ours", "CoLA", SHIFT, "first", layer, *around(0.04), 0.001, *around(over, 0.01), q) for layer in range(L + 1)]
    evidence = ours(groups=groups({("CoLA", SHIFT, "first"): (0, 4)}), changes=known(CHANGE_COLUMNS, rows))
    assert found("no gain over mean-pooling", evidence).verdict == verdict


@pytest.mark.parametrize("name", ["gains are negligible with mean-pooling", "no gain over mean-pooling"])
def test_without_a_gain_nothing_can_vanish(name):
    said = found(name, ours(groups=groups({("CoLA", SHIFT, "first"): (0, -2)})))
    assert said.verdict == UNTESTED and "no gain could vanish" in said.numbers


READABLE = {("ours", task, pooling): 0.7 for task in INTERPLAY.numbers.tasks for pooling in ("first", "mean")}
COSTS = {"SST-2": "sst-2 costs word order and odd words", "QA-SQuAD-1": "squad costs word order and odd words"}


def costs(objective: str, points: float, coordination: float = 0.0, **readable) -> Finding:
    cells = {(objective, task, pooling): (points, 2 * points) for task in (SHIFT, ODD) for pooling in ("first", "mean")}
    cells |= {(objective, COORDINATION, pooling): (coordination, coordination) for pooling in ("first", "mean")}
    evidence = ours(groups=groups(cells), accuracies=accuracies(READABLE | readable.get("accuracy", {})))
    return found(COSTS[objective], evidence)


@pytest.mark.parametrize("objective", COSTS)
@pytest.mark.parametrize(("points", "verdict"), [(-2, HOLDS), (2, FAILS), (-0.1, UNSURE)])
def test_fine_tuning_costs_word_order_and_odd_words(objective, points, verdict):
    assert costs(objective, points).verdict == verdict


@pytest.mark.parametrize(("coordination", "verdict"), [(0.5, HOLDS), (-3, FAILS), (1.0, UNSURE)])
def test_squad_leaves_coordination_within_a_point(coordination, verdict):
    assert costs("QA-SQuAD-1", -2, coordination).verdict == verdict


@pytest.mark.parametrize("objective", COSTS)
def test_what_cannot_be_read_cannot_fall_and_leaves_the_claim_open(objective):
    at_chance = {("ours", ODD, pooling): 0.5 for pooling in ("first", "mean")}
    said = costs(objective, -2, accuracy=at_chance)
    assert said.verdict == UNSURE and "cannot fall: odd-man-out, CLS and odd-man-out, mean" in said.numbers
    assert costs(objective, 2, accuracy=at_chance).verdict == FAILS


def test_roberta_has_to_fall_most_where_three_encoders_are_there():
    cells = {("SST-2", task, pooling): (-2, -4) for task in (SHIFT, ODD) for pooling in ("first", "mean")}
    other = dict.fromkeys(cells, (-3, -6))
    tables = pd.concat([groups(cells), groups(other, "a"), groups(other, "c")], ignore_index=True)
    evidence = ours(groups=tables, named=NAMED, accuracies=accuracies(READABLE))
    said = found(COSTS["SST-2"], evidence)
    assert said.verdict == FAILS and "RoBERTa falls most in 0 of 8 columns" in said.numbers
    tables = pd.concat([groups(other), groups(cells, "a"), groups(cells, "c")], ignore_index=True)
    assert found(COSTS["SST-2"], replace(evidence, groups=tables)).verdict == HOLDS


def attention(measure: str, by_objective: dict) -> pd.DataFrame:
    rows = [
        ("ours", objective, measure, layer, *around(value, 0.01))
        for objective, values in by_objective.items()
        for layer, value in enumerate(values, 1)
    ]
    return known(VALUE_COLUMNS, rows)


FLAT = [0.0] * 9


@pytest.mark.parametrize(
    ("cls", "mean", "verdict"),
    [
        ([0.3, 0.3, 0.5], [0.0, 0.0, -0.2], HOLDS),
        ([0.3, -0.3, 0.5], [0.0, 0.0, -0.2], FAILS),
        ([0.3, 0.3, 0.5], [0.0, 0.0, 0.2], FAILS),
        ([0.3, 0.0, 0.5], [0.0, 0.0, -0.2], UNSURE),
        ([0.3, 0.3, 0.5], None, UNSURE),
        ([0.3, -0.3, 0.5], None, FAILS),
    ],
)
def test_entropy_of_the_first_token_rises_in_the_last_three_of_twelve_layers(cls, mean, verdict):
    values = {"CoLA": FLAT + cls} | ({"CoLA (mean)": FLAT + mean} if mean else {})
    said = found("entropy of the first token rises", ours(values=attention("entropy-change-first", values)))
    assert said.verdict == verdict and ("--objective cola --pooling mean" in said.numbers) == (mean is None)


@pytest.mark.parametrize(
    ("cls", "mean", "verdict"),
    [
        ([1.0] * 10 + [2, 3], [0.1] * 12, HOLDS),
        ([1.0] * 5 + [4] + [1.0] * 4 + [2, 3], [0.1] * 12, FAILS),
        ([1.0] * 10 + [2, 3], [0.1] * 11 + [2], FAILS),
        ([1.0] * 10 + [1.01, 3], [0.1] * 12, UNSURE),
        ([1.0] * 10 + [2, 3], None, UNSURE),
    ],
)
def test_attention_moves_most_in_the_last_two_of_twelve_layers(cls, mean, verdict):
    values = {"CoLA": cls} | ({"CoLA (mean)": mean} if mean else {})
    assert found("attention moves most in the last layers", ours(values=attention("emd-first", values))).verdict == verdict


def perplexities(by_objective: dict) -> pd.DataFrame:
    """objective -> (after fine-tuning, with the last three put back, with the first three), log of the ratio to the base's."""
    rows = [
        ("ours", objective, replaced, n, False, *around(value, 0.005), 10.0)
        for objective, values in by_objective.items()
        for (replaced, n), value in zip((("none", 0), ("last", 3), ("first", 3)), values, strict=True)
    ]
    return known(PERPLEXITY_COLUMNS, rows)


@pytest.mark.parametrize(("cola", "sst", "verdict"), [(0.1, 0.3, HOLDS), (0.3, 0.1, FAILS), (-0.1, 0.3, FAILS), (0.2, 0.2, UNSURE)])
def test_perplexity_rises_and_more_for_sst_2(cola, sst, verdict):
    evidence = ours(perplexities=perplexities({"CoLA": (cola, 0, 0), "SST-2": (sst, 0, 0)}))
    assert found("perplexity rises", evidence).verdict == verdict


@pytest.mark.parametrize(("roberta", "verdict"), [(0.5, HOLDS), (0.1, FAILS)])
def test_the_first_epoch_counts_where_roberta_and_bert_are_there(roberta, verdict):
    rows = [(encoder, objective, 1.0, 10.0, value) for encoder, value in (("ours", roberta), ("a", 0.2)) for objective in ("CoLA", "SST-2")]
    evidence = ours(named=NAMED, perplexities=perplexities({"CoLA": (0.1, 0, 0), "SST-2": (0.3, 0, 0)}), epochs=known(EPOCH_COLUMNS, rows))
    assert found("perplexity rises", evidence).verdict == verdict


@pytest.mark.parametrize(
    ("cola", "sst", "verdict"),
    [
        ((1.0, 0.2, 0.9), (2.0, 0.4, 1.8), HOLDS),
        ((1.0, 0.8, 0.9), (2.0, 0.4, 1.8), FAILS),
        ((1.0, 0.2, 0.1), (2.0, 0.4, 1.8), FAILS),
        ((1.0, 0.2, 0.9), (2.0, 0.8, 1.8), FAILS),
        ((1.0, 0.5, 0.9), (2.0, 1.0, 1.8), UNSURE),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), UNTESTED),
    ],
)
def test_the_last_layers_raise_perplexity_more_than_the_first(cola, sst, verdict):
    evidence = ours(perplexities=perplexities({"CoLA": cola, "SST-2": sst}))
    assert found("the last layers raise perplexity", evidence).verdict == verdict


@pytest.mark.parametrize(
    ("cells", "verdict", "words"),
    [
        # Fate, outcome of the linear probes and of the neural probe of the same layer and pooling -> cells.
        ({("not linear", "lost", "holds"): 5, ("other tokens", "lost", "lost"): 3, ("unmoved", "holds", "lost"): 9}, HOLDS, "In 8 of 17"),
        ({("other layer", "lost", "holds"): 4, ("no probe here reads it", "lost", "lost"): 3}, HOLDS, "that of another layer in 4"),
        ({("other layer", "lost", "lost"): 30, ("other tokens", "lost", "lost"): 30, ("not linear", "lost", "holds"): 3}, FAILS, ""),
        ({("not linear", "lost", "holds"): 3, ("cannot tell", "lost", "cannot tell"): 4}, UNSURE, "cannot be decided in 4"),
        ({("unmoved", "holds", "lost"): 9, ("cannot tell", "cannot tell", "lost"): 2}, UNTESTED, "In 2 more"),
    ],
)
def test_what_linear_probes_of_a_cell_have_lost_may_not_be_linear_there(cells, verdict, words):
    rows = [("ours", "SST-2", *outcomes, number) for outcomes, number in cells.items()]
    said = found("removed or no longer linear", ours(fates=known(FATE_COLUMNS, rows)))
    assert said.verdict == verdict and words in said.numbers


def test_a_bootstrap_over_sentences_decides_what_the_layers_ends_leave_open():
    cells = [("ours", objective, task, pooling) for objective in TUNED for task in INTERPLAY.numbers.tasks for pooling in ("first", "mean")]
    wide = [(*cell, group, value, value - 0.03, value + 0.03) for cell in cells for group, value in (("lower", -0.01), ("upper", -0.03))]
    evidence = ours(groups=known(GROUP_COLUMNS, wide))
    assert found("higher layers change most", evidence).verdict == UNSURE
    sure = replace(evidence, larger=known(LARGER_COLUMNS, [(*cell, 0.02, 0.005, 0.035) for cell in cells]))
    assert found("higher layers change most", sure).verdict == HOLDS
    opposite = replace(evidence, larger=known(LARGER_COLUMNS, [(*cell, -0.02, -0.035, -0.005) for cell in cells]))
    assert found("higher layers change most", opposite).verdict == FAILS


def test_ours_are_counted_but_not_judged_and_the_violations_cannot_be():
    said = found("390 probes on 12 models", ours(probes={"ours": 270}, models={"ours": 5}))
    assert said.verdict == UNTESTED and "ours: 270 probes on 5 models" in said.numbers
    assert found("few violations are not syntactic", ours()).verdict == UNTESTED


@pytest.mark.parametrize("verdict", ["not learned", "cannot tell"])
def test_a_model_that_was_trained_and_did_not_learn_decides_no_claim_on_its_task(verdict):
    cells = {("CoLA", SHIFT, "first"): (0, 4), ("SST-2", SHIFT, "first"): (3, 1), ("SST-2", SHIFT, "mean"): (3, 1)}
    evidence = ours(groups=groups(cells), learned={("ours", "CoLA"): verdict}, scores={("ours", "CoLA"): "Matthews correlation 0.0"})
    said = found("cola improves bigram-shift", evidence)
    assert said.verdict == UNTESTED and "did not learn" in said.numbers and "+4.00" in said.numbers
    # What is judged over all models leaves it out: with it two of three cells would be the other way.
    said = found("higher layers change most", evidence)
    assert said.verdict == FAILS and "0 of 2 cells" in said.numbers and "Left out: CoLA" in said.numbers


def test_a_model_that_learned_partly_is_judged_and_named_where_a_claim_rests_on_it():
    cells = {("CoLA", SHIFT, "first"): (0, 4), ("SST-2", SHIFT, "first"): (3, 1)}
    evidence = ours(groups=groups(cells), learned={("ours", "CoLA"): "partly"}, scores={("ours", "CoLA"): "Matthews correlation 0.100"})
    said, without = (found("cola improves bigram-shift", one) for one in (evidence, ours(groups=groups(cells))))
    words = "CoLA has learned its task only partly (Matthews correlation 0.100)"
    assert said.verdict == without.verdict and words in said.numbers and words not in without.numbers
    assert words not in found("sst-2 costs word order and odd words", evidence).numbers


def test_a_change_has_the_controls_change():
    table = groups({("CoLA", SHIFT, "first"): (0, 4)}).assign(control=0.03)
    assert "+3.00 to +3.00 points" in found("cola improves bigram-shift", ours(groups=table)).null


def test_without_numbers_no_rule_breaks_and_commands_name_what_is_missing():
    for name in RULES:
        said = found(name, ours())
        assert said.verdict == UNTESTED and said.numbers, name
    assert "finetune --model ours --objective cola" in found("cola improves bigram-shift", ours()).numbers
