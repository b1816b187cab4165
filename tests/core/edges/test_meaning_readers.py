"""Entities, coreference, proto-roles and relations are read as their owners wrote them."""

import pytest

from probing.core.edges.readers.gum import read_mentions
from probing.core.edges.readers.proto_roles import held
from probing.core.edges.target import Target
from probing.core.edges.tasks import EDGE_TASKS, read_task
from probing.core.errors import EdgeDataError
from tests.core.edges.edge_files import (
    CAT_MENTIONS,
    PLAIN,
    SINGS,
    SLEEPS,
    answers,
    conllu,
    mentions,
    semeval,
    write_ewt,
    write_gum,
    write_proto_roles,
)


def write_conll(folder, text):
    folder.mkdir()
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (folder / name).write_text(text)


def test_entities_start_where_the_type_changes_and_document_marks_end_sentences(tmp_path):
    text = "Rome NN I-LOC\nFiat\tNN\tI-ORG\nCars NN I-ORG\n-DOCSTART- -X- O\nNile NN I-LOC\nPo NN B-LOC\n\nno NN O\n"
    write_conll(tmp_path / "conll2003", text)
    _, data = read_task("entities", tmp_path)
    first, second = data.dev.records
    assert [(target.span1, target.labels) for target in first.targets] == [((0, 1), ("LOC",)), ((1, 3), ("ORG",))]
    assert [(target.span1, target.labels) for target in second.targets] == [((0, 1), ("LOC",)), ((1, 2), ("LOC",))]
    assert data.dev.sentences == 3 and not first.open


def test_a_sentence_that_ends_the_file_keeps_its_last_entity(tmp_path):
    write_conll(tmp_path / "conll2003", "in NN O\nNew NN I-LOC\nYork NN I-LOC")
    assert read_task("entities", tmp_path)[1].train.records[0].targets == (Target((1, 3), None, ("LOC",)),)


def test_a_line_without_a_tag_is_an_error_with_file_and_line(tmp_path):
    write_conll(tmp_path / "conll2003", "in NN O\nRome\n")
    with pytest.raises(EdgeDataError, match=r"eng\.train, line 2"):
        read_task("entities", tmp_path)


def test_mentions_close_by_name_in_any_order(tmp_path):
    text = mentions(("a", "(event-2(event-3"), ("b", "(event-2)"), ("c", "event-2)event-3)"), ("d", "(4-x-y)"))
    found, unclosed = read_mentions((tmp_path, text.encode()), 4)
    assert [(one.span, one.name) for one in found] == [
        ((0, 3), "event-2"),
        ((0, 3), "event-3"),
        ((1, 2), "event-2"),
        ((3, 4), "4-x-y"),
    ]
    assert unclosed == 0


def test_a_mention_that_never_closes_is_left_out_and_counted(tmp_path):
    parse, _, own = PLAIN
    onto = mentions(("The", "(1"), ("cat", "(2)"), ("sleeps", "(3)"), (".", "_"))
    folder = write_gum(tmp_path / "gum", {"GUM_news_a": (parse, onto, own)})
    train = read_task("coreference", tmp_path)[1].train
    assert train.dropped == {"mentions that are never closed": 1}
    assert train.records[0].targets == (Target((1, 2), (2, 3), ("0",)),)
    assert folder.is_dir()


def test_a_mention_that_closes_unopened_and_other_numbers_of_words_are_errors(tmp_path):
    with pytest.raises(EdgeDataError, match=r"line 2: the mention '7' closes here and was not opened"):
        read_mentions((tmp_path, mentions(("a", "7)")).encode()), 1)
    with pytest.raises(EdgeDataError, match="has 4 words, its parse has 5"):
        read_mentions((tmp_path, CAT_MENTIONS.encode()), 5)
    with pytest.raises(EdgeDataError, match=r"line 3: got '1.+b.+what'"):
        read_mentions((tmp_path, mentions(("a", "_"), ("b", "what")).encode()), 2)


def test_coreference_asks_all_pairs_of_a_sentence_and_none_across_sentences(tmp_path):
    parse = conllu({"a": SLEEPS, "b": SINGS})
    onto = mentions(("The", "(1"), ("cat", "1)(2)"), ("sleeps", "(1)"), (".", "_"), ("Ann", "(1)"), ("sings", "_"))
    write_gum(tmp_path / "gum", {"GUM_news_a": (parse, onto, mentions(*[("x", "(person-1)")] * 6))})
    train = read_task("coreference", tmp_path)[1].train
    assert train.records[0].targets == (
        Target((0, 2), (1, 2), ("0",)),
        Target((0, 2), (2, 3), ("1",)),
        Target((1, 2), (2, 3), ("0",)),
    )
    assert len(train.records) == 1 and train.sentences == 2


def test_words_are_those_of_the_parse_and_mentions_across_sentences_are_counted(tmp_path):
    onto = mentions(("DIE", "(1)"), ("KATZE", "_"), ("SCHLAFT", "(2)"), ("!", "(3"), ("ANNA", "3)"), ("SINGT", "_"))
    write_gum(tmp_path / "gum", {"GUM_bio_a": (conllu({"a": SLEEPS, "b": SINGS}), onto, CAT_MENTIONS)})
    train = read_task("coreference", tmp_path)[1].train
    assert train.records[0].words == ("The", "cat", "sleeps", ".") and train.dropped == {"mentions across sentences": 1}


def test_gums_own_names_hold_type_chain_and_perhaps_an_article(tmp_path):
    own = mentions(
        ("The", "(person-1-Jean-Luc"), ("cat", "(place-12-A-B)person-1-Jean-Luc)"), ("sleeps", "(person-1)"), (".", "_")
    )
    write_gum(tmp_path / "gum", {"GUM_voyage_a": (PLAIN[0], PLAIN[1], own)})
    _, entities = read_task("entities-gum", tmp_path)
    assert [(t.span1, t.labels) for t in entities.train.records[0].targets] == [
        ((0, 2), ("person",)),
        ((1, 2), ("place",)),
        ((2, 3), ("person",)),
    ]
    _, pairs = read_task("coreference-gum", tmp_path)
    assert [target.labels for target in pairs.train.records[0].targets] == [("0",), ("1",), ("0",)]


def test_only_free_genres_of_gum_are_open_and_documents_without_words_are_left_out(tmp_path):
    bare = (conllu({"s": [("_", tag, head, name) for _, tag, head, name in SLEEPS]}), PLAIN[1], CAT_MENTIONS)
    write_gum(
        tmp_path / "gum", {"GUM_court_a": PLAIN, "GUM_fiction_b": PLAIN, "GUM_reddit_c": bare, "GENTLE_legal_d": PLAIN}
    )
    train = read_task("entities-gum", tmp_path)[1].train
    assert [(record.document, record.open) for record in train.records] == [
        ("GUM_court_a", True),
        ("GUM_fiction_b", False),
        ("GENTLE_legal_d", False),
    ]
    assert train.dropped == {"documents without their words": 1}


def test_documents_that_the_archives_lack_are_counted_and_a_clone_of_gum_serves_too(tmp_path):
    splits = {"train": ["GUM_bio_dev", "GUM_reddit_x"], "dev": ["GUM_bio_dev"], "test": ["GUM_bio_test"]}
    folder = write_gum(tmp_path / "gum", {}, splits)
    _, packed = read_task("coreference", tmp_path)
    assert packed.train.dropped == {"documents that the archives lack": 1}
    for name, inside, text in (
        ("gum_dep", "dep", PLAIN[0]),
        ("gum_coref_ontogum_conll", "coref/ontogum/conll", PLAIN[1]),
    ):
        (folder / f"{name}.tar.gz").unlink()
        (folder / inside).mkdir(parents=True)
        for document in ("GUM_bio_dev", "GUM_bio_test"):
            (folder / inside / f"{document}.conll{'u' if inside == 'dep' else ''}").write_text(text)
    assert read_task("coreference", tmp_path)[1] == packed


def test_a_missing_or_torn_archive_and_splits_without_a_part_say_what_to_do(tmp_path):
    folder = write_gum(tmp_path / "gum", {"GUM_bio_a": PLAIN})
    (folder / "gum_dep.tar.gz").write_bytes(b"no archive")
    with pytest.raises(EdgeDataError, match=r"gum_dep\.tar\.gz cannot be read .*probing fetch gum"):
        read_task("coreference", tmp_path)
    (folder / "gum_dep.tar.gz").unlink()
    with pytest.raises(EdgeDataError, match=r"gum_dep\.tar\.gz is missing; .*probing fetch gum"):
        read_task("coreference", tmp_path)
    (folder / "splits.md").write_text("## train\n * GUM_bio_a\n")
    with pytest.raises(EdgeDataError, match="no documents for dev, test"):
        read_task("coreference", tmp_path)


def test_a_property_holds_from_a_mean_of_3_of_the_answers_that_apply():
    found = held(
        {
            "volition": answers((4, 1), (2, 1)),
            "sentient": answers((3, 1), (2, 1)),
            "awareness": answers((0, 0), (4, 1)),
            "was_used": answers((4, 0), (4, 0)),
        }
    )
    assert found == ("awareness", "volition")
    assert held({"was_used": answers((4, 0))}) is None
    assert held({"was_used": answers((0, 1))}) == ()


def test_proto_roles_are_pairs_of_single_words_and_pairs_without_a_label_stay(tmp_path):
    folder = tmp_path / "ud-english-ewt"
    write_ewt(folder, train=conllu({"t1": SLEEPS}), dev=conllu({"d1": SINGS}), test=conllu({"e1": SINGS}))
    pair = {(2, 1): {"volition": answers((4, 1))}}
    train = {
        (3, 2): {"volition": answers((0, 1))},
        (3, 1): {"volition": answers((0, 0))},
        (3, 9): {"volition": answers((4, 1))},
    }
    pairs = {"ewt-train-1": train, "ewt-dev-1": pair, "ewt-test-1": pair}
    write_proto_roles(tmp_path / "spr2-uds", pairs, {"ewt-train-1": "t1", "ewt-dev-1": "d1", "ewt-test-1": "e1"})
    _, data = read_task("proto-roles", tmp_path)
    assert data.train.records[0].targets == (Target((2, 3), (1, 2), ()),)
    assert data.train.records[0].open and data.train.records[0].words == ("The", "cat", "sleeps", ".")
    assert data.train.dropped == {"pairs without an applicable answer": 1, "pairs outside their sentence": 1}
    assert data.dev.records[0].targets == (Target((1, 2), (0, 1), ("volition",)),)
    write_proto_roles(tmp_path / "spr2-uds", pairs, {"ewt-train-1": "gone", "ewt-dev-1": "d1", "ewt-test-1": "e1"})
    with pytest.raises(EdgeDataError, match=r"ud_ids\.json names no sentence of .* for 'ewt-train-1'"):
        read_task("proto-roles", tmp_path)
    (tmp_path / "spr2-uds" / "protoroles_raw.zip").write_bytes(b"torn")
    with pytest.raises(EdgeDataError, match=r"protoroles_raw\.zip is not what SPR2 has"):
        read_task("proto-roles", tmp_path)


def write_semeval(folder, train: bytes, test: bytes | None = None):
    folder.mkdir(exist_ok=True)
    (folder / "TRAIN_FILE.TXT").write_bytes(train)
    (folder / "TEST_FILE_FULL.TXT").write_bytes(test or train)


def test_relations_lose_their_markers_everywhere_and_comments_are_ignored(tmp_path):
    test = semeval(
        ("The <e1>lid</e1>, a pot's <e2>knob</e2>.", "Component-Whole(e1,e2)"),
        ('out<e1>come</e1> of "<e2>war</e2>ring"', "Other"),
    )
    write_semeval(tmp_path / "semeval2010-task8", semeval(*[("<e1>a</e1> <e2>b c</e2>", "Other")] * 40), test)
    task, data = read_task("relations", tmp_path)
    first, second = data.test.records
    assert first.words == ("The", "lid", ",", "a", "pot's", "knob", ".")
    assert first.targets == (Target((1, 2), (5, 6), ("Component-Whole(e1,e2)",)),)
    assert second.words == ("out", "come", "of", '"', "war", 'ring"') and second.targets[0].span2 == (4, 5)
    assert task.counts("Component-Whole(e1,e2)") and not task.counts("Other")
    assert data.train.records[0].words == ("a", "b", "c") and data.train.records[0].open


def test_training_relations_are_divided_by_the_authors_draws(tmp_path):
    import random

    rows = [(f"<e1>a{number}</e1> <e2>b</e2>", "Other") for number in range(200)]
    write_semeval(tmp_path / "semeval2010-task8", semeval(*rows))
    _, data = read_task("relations", tmp_path)
    random.seed(42)
    expected = [number for number in range(200) if random.random() <= 0.85]
    assert [record.words[0] for record in data.train.records] == [f"a{number}" for number in expected]
    assert len(data.dev.records) == 200 - len(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'1\t"<e1>a</e1> b"\r\nOther\r\n', "line 1: expected two marked spans"),
        (b'1\t"<e1>a</e1> <e2></e2>"\r\nOther\r\n', "line 1: expected two marked spans"),
        (b'1\t"<e1>a</e1> <e2>b</e2>"\r\n\r\n', "line 2: got an empty line, expected the relation"),
        (b"no number\n", "line 1: got 'no number'"),
        (b'1\t"<e1>a</e1> <e2>b</e2>"', "line 1: the file ends"),
        (b"1\t\xff\n", "line 1: is not UTF-8"),
        (b"", "has no targets"),
    ],
)
def test_what_is_not_semeval_is_named_with_its_line(text, said, tmp_path):
    write_semeval(tmp_path / "semeval2010-task8", text, semeval(("<e1>a</e1> <e2>b</e2>", "Other")))
    with pytest.raises(EdgeDataError, match=r"TRAIN_FILE\.TXT.*" + said):
        read_task("relations", tmp_path)


def test_only_pairs_of_one_entity_count_in_coreference():
    for name in ("coreference", "coreference-gum"):
        assert EDGE_TASKS[name].counts("1") and not EDGE_TASKS[name].counts("0")
