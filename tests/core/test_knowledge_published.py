"""The published numbers of BERTnesia: typed right."""

from probing.core.knowledge.published import PublishedKnowledge

PAPER = PublishedKnowledge.read()


def test_ner_was_not_published_in_table_3_and_that_is_not_zero():
    assert PAPER.forgotten("NER-CoNLL", 100) == (0.43, 18)
    assert all(PAPER.knowledge("NER-CoNLL", one.name) is None for one in PAPER.probe_sets)
    assert PAPER.forgotten("BERT", 5) is None


def test_table_3_is_whole_for_the_other_six_models():
    cells = [
        PAPER.knowledge(model.name, one.name)
        for model in PAPER.models
        for one in PAPER.probe_sets
        if model.name != "NER-CoNLL"
    ]
    assert len(cells) == 6 * 4 and None not in cells
    assert PAPER.knowledge("RANK-MSMARCO", "T-REx") == (23, 29)


def test_the_intermediate_shares_of_table_3_go_from_15_to_67_per_cent():
    shares = [(total - last) / total for row in PAPER.table_3 for last, total in row.cells.values()]
    assert (round(100 * min(shares)), round(100 * max(shares))) == (15, 67)


def test_every_printed_share_of_table_2_is_its_count_over_42_and_not_over_41():
    cells = [pair for row in PAPER.table_2.rows for pair in zip(row.shares, row.counts, strict=True)]
    assert len(cells) == 7 * 3
    assert all(round(count / 42 + 1e-9, 2) == share for share, count in cells)
    assert any(round(count / 41, 2) != share for share, count in cells)


def test_table_1_adds_up():
    assert [(one.name, one.relations, one.instances) for one in PAPER.probe_sets] == [
        ("ConceptNet", None, 12514),
        ("T-REx", 41, 34017),
        ("Google-RE", 3, 5528),
        ("SQuAD", None, 305),
    ]
    assert sum(PAPER.probe_set("Google-RE").parts.values()) == 2937 + 1825 + 766 == 5528
