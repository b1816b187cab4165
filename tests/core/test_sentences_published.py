"""The published numbers of sentence-level probing: typed right."""

import pytest

from probing.core.sentences.published import PublishedSentences

PAPER = PublishedSentences.read()
#: A second typing of Tables 2 and 5: rows of eight cells, CLS then mean, two fine-tuning tasks each, lower then upper
#: layers.
TABLE_2 = """
BERT bigram-shift .07 4.73 -1.02 -4.63 .23 1.45 -.37 -3.24
BERT coordination-inversion -.10 1.90 -.25 -1.15 .14 .29 -.48 -.85
BERT odd-man-out -.20 .26 -.02 -1.28 -.34 -.29 -.30 -1.09
RoBERTa bigram-shift .58 5.35 -2.41 -7.22 .69 1.74 -.23 -4.87
RoBERTa coordination-inversion -.72 1.84 ? ? ? ? ? ?
RoBERTa odd-man-out -.66 1.05 -1.09 -2.40 -.08 -.55 -.46 -3.61
ALBERT bigram-shift 1.55 3.39 -1.94 -5.15 .26 .66 -.70 -2.73
ALBERT coordination-inversion -.69 -1.53 -1.07 -2.87 -.07 -1.19 -.35 -1.53
ALBERT odd-man-out -.42 -1.39 -.90 -2.75 -.27 -1.40 -.60 -2.82
"""
TABLE_5 = """
BERT bigram-shift -.21 -.39 -.05 -1.50 -.07 -.31 -.54 -1.66
BERT coordination-inversion -.43 -.36 .04 .56 .05 .13 -.03 .10
BERT odd-man-out .09 .38 -.21 -1.89 .09 .01 -.28 -1.73
RoBERTa bigram-shift -.51 .44 -1.17 -4.33 -.09 -1.32 -.28 -3.09
RoBERTa coordination-inversion -.35 3.27 .29 .50 .30 -.48 .20 .05
RoBERTa odd-man-out -.11 1.22 -.76 -3.01 -.04 -1.96 -.21 -3.58
ALBERT bigram-shift .29 -.43 -.38 -3.46 -.13 -.82 -.60 -3.11
ALBERT coordination-inversion .46 -.44 .32 .92 .13 -.38 .04 -.27
ALBERT odd-man-out -.03 .17 -.65 -2.91 -.17 -.85 -.55 -3.18
"""


@pytest.mark.parametrize(
    ("table", "tuned"), [(TABLE_2, ("CoLA", "SST-2")), (TABLE_5, ("RTE", "QA-SQuAD-1"))], ids=["2", "5"]
)
def test_every_cell_of_tables_2_and_5_is_as_typed_a_second_time(table, tuned):
    for line in table.strip().splitlines():
        model, task, *cells = line.split()
        for place, (pooling, objective) in enumerate((pooling, one) for pooling in ("first", "mean") for one in tuned):
            pair = cells[2 * place : 2 * place + 2]
            assert PAPER.change(model, task, pooling, objective) == (
                None if "?" in pair else tuple(map(float, pair))
            ), line


def test_six_cells_were_not_read_and_no_other():
    cells = [
        (model.name, task, pooling, objective)
        for model in PAPER.models
        for task in PAPER.tasks
        for pooling in ("first", "mean")
        for objective in PAPER.objectives
        if PAPER.change(model.name, task, pooling, objective) is None
    ]
    lost = [("first", "SST-2"), ("mean", "CoLA"), ("mean", "SST-2")]
    assert cells == [("RoBERTa", "coordination-inversion", *one) for one in lost]


def test_table_1_and_table_4_are_as_printed():
    rows = {row: [value for one in PAPER.tuned for value in one.scores[row]] for row in PAPER.tuned[0].scores}
    assert rows == {
        "Devlin et al. (2019)": [52.1, 93.5, 66.4, 80.8, 88.5],
        "BERT": [59.5, 92.4, 64.6, 78.6, 86.5],
        "RoBERTa": [60.3, 93.6, 73.6, 81.7, 89.3],
        "ALBERT": [45.8, 88.5, 69.6, 79.9, 87.6],
    }
    assert [(one.training, one.validation) for one in PAPER.tuned] == [
        ("8.6k", "1,043"),
        ("67k", "874"),
        ("2.5", "278"),
        ("87k", "10k"),
    ]
    assert (
        PAPER.settings["Epochs"] == "3 (1 for SST-2)"
        and PAPER.settings["Adam beta 2"] == "0.99"
        and len(PAPER.settings) == 13
    )
