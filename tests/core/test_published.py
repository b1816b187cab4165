"""The published numbers: typed right, checked when read."""

import re
import tomllib

import pytest

from probing.core.errors import PublishedError
from probing.core.facts.templates import shipped_relations
from probing.core.published import BERTNESIA, read_published

PAPER = read_published()


def changed(tmp_path, old: str, new: str):
    text = BERTNESIA.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path = tmp_path / "paper.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_ner_was_not_published_in_table_3_and_that_is_not_zero():
    assert PAPER.forgotten("NER-CoNLL", 100) == (0.43, 18)
    assert all(PAPER.knowledge("NER-CoNLL", one.name) is None for one in PAPER.probe_sets)
    assert PAPER.forgotten("BERT", 5) is None


def test_table_3_is_whole_for_the_other_six_models():
    cells = [PAPER.knowledge(model.name, one.name) for model in PAPER.models for one in PAPER.probe_sets if model.name != "NER-CoNLL"]
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
        ("ConceptNet", None, 12514), ("T-REx", 41, 34017), ("Google-RE", 3, 5528), ("SQuAD", None, 305),
    ]  # fmt: skip
    assert sum(PAPER.probe_set("Google-RE").parts.values()) == 2937 + 1825 + 766 == 5528


def test_all_eighteen_figures_are_described_and_those_of_the_appendix_repeat_their_ranks():
    assert [figure.number for figure in PAPER.figures] == list(range(1, 19))
    for number, (of, ranks) in {9: (4, (1, 10, 100)), 10: (2, (1, 10, 100)), 11: (5, (10,)), 14: (6, (100,)), 18: (8, (100,))}.items():
        assert PAPER.figure(number).ranks == ranks
        assert (PAPER.figure(number).models, PAPER.figure(number).probe_sets) == (PAPER.figure(of).models, PAPER.figure(of).probe_sets)
    with pytest.raises(PublishedError, match="no Figure 19"):
        PAPER.figure(19)


def test_the_relations_of_figure_3_are_ours_too(repo_root):
    relations = shipped_relations()
    assert [relations[name].label for name in PAPER.figure(3).relations] == ["member of", "diplomatic relation", "official language"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("shares = [0.43, 0.38, 0.38]", "shares = [0.34, 0.38, 0.38]", "0.34"),
        ("T-REx = [29, 34]", "T-REx = [34, 29]", "last <= total"),
        ("place_of_birth = 2937", "place_of_birth = 2938", "add up to 5529"),
        ('model = "BERT"', 'model = "BURT"', "BURT"),
        ("divisor = 42", "divisor = 'many'", "divisor"),
        ("number = 2\n", "number = 1\n", "each once"),
        ("title =", "titel =", "titel"),
        ("[[models]]", "[[models]", "not a file of published numbers"),
    ],
)
def test_a_slip_is_named(tmp_path, old, new, words):
    with pytest.raises(PublishedError, match=re.escape(words)):
        read_published(changed(tmp_path, old, new))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PublishedError, match=r"nowhere\.toml"):
        read_published(tmp_path / "nowhere.toml")


def test_nothing_in_the_file_is_left_unread():
    raw = tomllib.loads(BERTNESIA.read_text(encoding="utf-8"))
    assert {claim["name"] for claim in raw["claims"]} == {claim.name for claim in PAPER.claims}
    assert len(PAPER.claims) >= 12
