"""Words, tags, trees and roles are read as their owners wrote them."""

import pytest

from probing.core.edges.baselines import ceiling
from probing.core.edges.readers import propbank
from probing.core.edges.readers.brackets import bare_label, merged, nonterminals
from probing.core.edges.readers.universal_dependencies import read_sentences
from probing.core.edges.target import Target
from probing.core.edges.tasks import EDGE_TASKS, every_label, read_task
from probing.core.errors import EdgeDataError
from tests.core.edges.edge_files import CAT, SINGS, SLEEPS, conllu, write_ewt, write_propbank
from tests.core.edges.edge_files import propbank as propbank_text


def test_every_word_is_a_target_of_part_of_speech_and_of_dependencies(tmp_path):
    write_ewt(tmp_path / "ud-english-ewt", train=conllu({"a": SLEEPS, "b": SINGS}))
    _, tags = read_task("pos", tmp_path)
    assert [target.labels for target in tags.train.records[0].targets] == [("DT",), ("NN",), ("VBZ",), (".",)]
    assert {target.span2 for target in tags.train.records[0].targets} == {None}
    assert tags.train.records[0].words == ("The", "cat", "sleeps", ".") and tags.train.records[0].document == "walk"
    assert tags.train.sentences == 2 and tags.train.targets == 6 and tags.test.targets == 4
    _, arcs = read_task("dependencies", tmp_path)
    assert arcs.train.records[0].targets[0] == Target((0, 1), (1, 2), ("det",))


def test_the_second_span_of_a_root_is_the_word_itself_and_a_relation_keeps_its_subtype(tmp_path):
    write_ewt(tmp_path / "ud-english-ewt", train=conllu({"b": SINGS}))
    targets = read_task("dependencies", tmp_path)[1].train.records[0].targets
    assert targets == (Target((0, 1), (1, 2), ("nsubj:outer",)), Target((1, 2), (1, 2), ("root",)))


def test_lines_of_multiword_tokens_and_empty_nodes_are_no_words_and_the_sentence_stays(tmp_path):
    rest = "\t_" * 8
    rows = (
        "1-2\tdon't" + rest,
        "1\tdo\t_\tX\tVBP\t_\t0\troot\t_\t_",
        "2\tn't\t_\tX\tRB\t_\t1\tadvmod\t_\t_",
        "2.1\tgone" + rest,
    )
    (tmp_path / "a.conllu").write_text("\n".join(rows))
    (sentence,) = read_sentences(tmp_path / "a.conllu")
    assert sentence.words == ("do", "n't") and sentence.relations == ("root", "advmod") and sentence.heads == (0, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\tone\tword\n", r"a\.conllu, line 1: got 3 columns, expected CoNLL-U's 10"),
        (
            conllu({"a": [("Ann", "NNP", 5, "nsubj")]}),
            r"line 4: a head is word 5, but the sentence that ends here has 1 words",
        ),
        (conllu({"a": SINGS}).replace("2\tsings", "3\tsings"), r"line 4: got word number '3', expected word 2"),
        (conllu({"a": SINGS}).replace("\t2\t", "\t_\t"), r"line 3: got the head '_', expected the number of a word"),
    ],
)
def test_what_is_not_conllu_is_named_with_its_line(text, said, tmp_path):
    (tmp_path / "a.conllu").write_text(text)
    with pytest.raises(EdgeDataError, match=said):
        list(read_sentences(tmp_path / "a.conllu"))


def test_constituents_are_all_nonterminals_with_the_top_node_and_without_tags_of_words(tmp_path):
    write_propbank(tmp_path / "ewt-propbank")
    targets = read_task("constituents", tmp_path)[1].dev.records[0].targets
    found = {(target.span1, target.labels[0]) for target in targets}
    assert found == {((0, 4), "TOP"), ((0, 4), "S"), ((0, 2), "NP"), ((2, 3), "VP")}
    assert len(targets) == 4


def test_function_tags_and_indices_are_cut_off_and_brackets_as_words_are_not():
    assert [bare_label(label) for label in ("NP-SBJ-1", "NP=2", "PP-LOC", "-LRB-", "S")] == [
        "NP",
        "NP",
        "PP",
        "-LRB-",
        "S",
    ]


def test_spans_with_two_labels_bound_f1_and_merged_targets_do_not(tmp_path):
    write_propbank(tmp_path / "ewt-propbank")
    dev = read_task("constituents", tmp_path)[1].dev
    # TOP and S both answered on both: 4 right, 2 wrong, none missed.
    assert ceiling(dev, every_label) == pytest.approx(2 * 4 / (6 + 4))
    _, data = read_task("constituents-merged", tmp_path)
    assert ceiling(data.dev, every_label) == 1.0
    assert data.dev.records[0].targets[0] == Target((0, 4), None, ("S", "TOP"))
    assert data.dev.targets == 3 and data.train.targets == 3


def test_merged_targets_keep_pairs_of_spans_apart():
    pair, other = Target((0, 1), (1, 2), ("a",)), Target((0, 1), (2, 3), ("b",))
    assert merged([pair, other, Target((0, 1), (1, 2), ("a", "c"))]) == [Target((0, 1), (1, 2), ("a", "c")), other]


@pytest.mark.parametrize(
    ("bits", "said"), [(["(S*", "*"], "line 8: .*1 brackets"), (["(S*)", "*)"], "closes more"), (["S*"], "line 7: got")]
)
def test_brackets_that_do_not_balance_are_named_with_their_line(bits, said, tmp_path):
    with pytest.raises(EdgeDataError, match=said):
        nonterminals(bits, tmp_path / "a.gz", 7)


def test_parses_may_not_be_published_and_roles_of_the_same_words_may(tmp_path):
    write_propbank(tmp_path / "ewt-propbank")
    assert not any(record.open for record in read_task("constituents", tmp_path)[1].train.records)
    assert not any(record.open for record in read_task("constituents-merged", tmp_path)[1].train.records)
    (record,) = read_task("srl", tmp_path)[1].train.records
    assert record.open and record.document == "walk" and record.words == ("The", "cat", "sleeps", ".")


def test_roles_are_a_record_for_each_predicate_and_predicates_without_arguments_are_counted(tmp_path):
    two = [
        ("Ann", "NNP", "(S*", "(ARG0*)", "(ARGM-LOC*", "*"),
        ("saw", "VBD", "*", "(V*)", "*)", "*"),
        ("it", "PRP", "*)", "(C-ARG1*)", "(V*)", "(V*)"),
    ]
    write_propbank(tmp_path / "ewt-propbank", train=propbank_text(two, CAT))
    train = read_task("srl", tmp_path)[1].train
    assert [record.targets for record in train.records] == [
        (Target((1, 2), (0, 1), ("ARG0",)), Target((1, 2), (2, 3), ("C-ARG1",))),
        (Target((2, 3), (0, 2), ("ARGM-LOC",)),),
        (Target((2, 3), (0, 2), ("ARG0",)),),
    ]
    assert train.sentences == 2 and train.dropped == {"predicates without an argument": 1}
    assert train.records[0].sha256 == train.records[1].sha256


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        (["(ARG0*", "(ARG1*)", "(V*)", "*"], r"line 3: got the role '\(ARG1\*\)'"),
        (["(ARG0*)", "*)", "(V*)", "*"], r"line 3: got the role '\*\)'"),
        (["(ARG0*", "*", "*", "*"], "line 5: the sentence ends while the role ARG0 is open"),
        (["*", "*", "*", "*"], r"line 2: column 7 has 0 spans of the verb"),
        (["(V*)", "*", "(V*)", "*"], r"column 7 has 2 spans of the verb"),
    ],
)
def test_roles_that_do_not_close_or_lack_the_verb_are_named_with_their_line(roles, said, tmp_path):
    rows = [(*row[:3], role) for row, role in zip(CAT, roles, strict=True)]
    write_propbank(tmp_path / "ewt-propbank", dev=propbank_text(rows))
    with pytest.raises(EdgeDataError, match=r"ewt_propbank_dev\.conll\.gz, .*" + said):
        read_task("srl", tmp_path)


def test_a_row_with_other_columns_and_a_file_that_breaks_off_are_named(tmp_path):
    write_propbank(tmp_path, train=propbank_text(CAT).replace("\t(V*)", ""))
    with pytest.raises(EdgeDataError, match="line 4: got 6 columns, expected 7"):
        propbank.read_roles(tmp_path)
    write_propbank(tmp_path)
    path = tmp_path / "ewt_propbank_train.conll.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(EdgeDataError, match=r"ewt_propbank_train\.conll\.gz, line \d+: cannot be read"):
        propbank.read_constituents(tmp_path)


def test_core_and_other_roles_count_and_references_and_continuations_do_not():
    counts = EDGE_TASKS["srl"].counts
    assert all(counts(label) for label in ("ARG0", "ARG5", "ARGA", "ARGM", "ARGM-TMP", "ARGM-PRR"))
    assert not any(counts(label) for label in ("R-ARG0", "C-ARG1", "V", "ARG6", "ARG10", "R-ARGM-LOC", "C-V"))
