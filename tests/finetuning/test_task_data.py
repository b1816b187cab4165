"""What models are fine-tuned on is read as its owners wrote it, and split the same way every time."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from probing.finetuning.kinds import say_doubts
from probing.finetuning.tasks import conll, glue, msmarco, squad
from probing.finetuning.tasks import data_files as held_out
from probing.kernel.errors import FactsError
from probing.kernel.objectives import TASKS
from tests.finetuning.task_files import write_conll, write_msmarco, write_squad


def test_iob1_becomes_iob2():
    assert conll.iob2(["I-LOC", "B-LOC", "I-ORG", "O", "I-PER", "I-PER"]) == [
        "B-LOC",
        "B-LOC",
        "B-ORG",
        "O",
        "B-PER",
        "I-PER",
    ]
    already = ["B-LOC", "I-LOC", "B-LOC", "O"]
    assert conll.iob2(already) == already


def test_a_conll_file_gives_sentences_without_document_marks(tmp_path):
    train, test = conll.conll_parts(write_conll(tmp_path))
    assert len(train) == len(test) == 6
    assert train[0].words == ("Rocky", "was", "born", "in", "Philadelphia", ".")
    assert train[0].tags == ("B-PER", "O", "O", "O", "B-LOC", "O")
    assert train[1].tags == ("B-LOC", "B-LOC", "B-ORG")


@pytest.mark.parametrize(
    ("text", "words"), [("Rocky\n", "line 1"), ("Rocky NNP what\n", "I-PER"), ("\n\n", "no sentences")]
)
def test_a_file_that_is_not_conll_is_named_with_its_line(text, words, tmp_path):
    (tmp_path / "eng.train").write_text(text)
    with pytest.raises(FactsError, match=words):
        conll.read_conll(tmp_path / "eng.train")


def tagged(folder, text):
    (folder / "eng.train").write_bytes(text.encode() if isinstance(text, str) else text)
    return [list(zip(one.words, one.tags, strict=True)) for one in conll.read_conll(folder / "eng.train")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in\tIN\tO\nNew York\tNNP\tB-LOC\n", [[("in", "O"), ("New York", "B-LOC")]]),
        ("10\u00a0000 CD O\n\u2028x NN B-A\n", [[("10\u00a0000", "O"), ("\u2028x", "B-A")]]),
        ("\ufeff-DOCSTART- -X- O\n\nEU NNP B-ORG\n", [[("EU", "B-ORG")]]),
        ("\ufeffEU NNP B-ORG\r\n\r\nit PRP O\r\n", [[("EU", "B-ORG")], [("it", "O")]]),
        ("EU NNP B-ORG\r\rit PRP O\r", [[("EU", "B-ORG")], [("it", "O")]]),
        ("# id 7 domain=x\nEU _ _ B-ORG\n# _ _ O\n", [[("EU", "B-ORG"), ("#", "O")]]),
        ("1\tin\tO\n2\tRome\tB-LOC\n\n1\t7\tO\n", [[("in", "O"), ("Rome", "B-LOC")], [("7", "O")]]),
        ("d1 0 in O\nd1 1 Rome B-LOC\n\nd2 0 so O\n", [[("in", "O"), ("Rome", "B-LOC")], [("so", "O")]]),
        ("Rome B-LOC\nRome B-LOC\n", [[("Rome", "B-LOC"), ("Rome", "B-LOC")]]),
        ("a\x07b NN O\nc NN O\n", [[("a b", "O"), ("c", "O")]]),
        ("#\tnews.example [2005]\n1\tRome\tO\tO\n2\tas\tO\tB-X\n", [[("Rome", "O"), ("as", "B-X")]]),
        ("1\tNew\tB-ORG\tB-LOC\n2\tYork\tI-ORG\tO\n3\t,\tO\tO\n", [[("New", "B-ORG"), ("York", "I-ORG"), (",", "O")]]),
        ("EU NNP I-NP I-ORG\nsaid VBD I-VP O\n", [[("EU", "B-ORG"), ("said", "O")]]),
        ("the DT B-NP\ndog NN I-NP\n", [[("the", "B-NP"), ("dog", "I-NP")]]),
        ("1\ta\tO\tO\n2\t\tI-X\tO\n3\tb\tI-X\tO\n4\t…\tO\tO\n", [[("a", "O"), ("b", "B-X"), ("…", "O")]]),
        ("\tO\nRome\tB-LOC\n\u200b\tO\n", [[("Rome", "B-LOC")]]),
        ("A B-P\nB E-P\nC S-P\nD S-P\nd O\n", [[("A", "B-P"), ("B", "I-P"), ("C", "B-P"), ("D", "B-P"), ("d", "O")]]),
        ("A B-P\nB I-P\nC L-P\nD U-Q\n", [[("A", "B-P"), ("B", "I-P"), ("C", "I-P"), ("D", "B-Q")]]),
        ("EU EU NE I-NC I-ORG\nlehnt lehnen VVFIN I-VC O\n", [[("EU", "B-ORG"), ("lehnt", "O")]]),
        ("0\t2\tin\tO\n3\t7\tRome\tB-LOC\n\n1\t2\t7\tO\n", [[("in", "O"), ("Rome", "B-LOC")], [("7", "O")]]),
        ("en:Rome\tB-LOC\nzh-min-nan:so\tO\n", [[("Rome", "B-LOC"), ("so", "O")]]),
        ("http://a\tO\nas\tO\n", [[("http://a", "O"), ("as", "O")]]),
        ("w1\tin\tO\nw2\tRome\tB-LOC\n", [[("in", "O"), ("Rome", "B-LOC")]]),
        ("N Rome B-X\nN dogs O\n\nR so O\n", [[("Rome", "B-X"), ("dogs", "O")], [("so", "O")]]),
        ("Sentence: 1\tA\tN\tB-X\n\tis\tV\tO\n", [[("A", "B-X"), ("is", "O")]]),
        (
            "A I-P\nB E-P\nC E-P\nD I-P\nE E-P\n",
            [[("A", "B-P"), ("B", "I-P"), ("C", "B-P"), ("D", "B-P"), ("E", "I-P")]],
        ),
        (
            "-DOCSTART- -X-\n" + "in O\n" * 101 + "-DOCSTART- -X-\nso O\n",
            "has a sentence of 101 words; expected an empty line after each sentence",
        ),
        ("in O\n" * 2001 + "\nso O\n", "has a sentence of 2,001 words; expected an empty line after each sentence"),
        (
            "#Rome NNP B-LOC\n#so NN X\n",
            "line 2: got '#so | NN | X', expected 3 columns as in most lines, a word and, last, a tag",
        ),
        (
            "in IN O\nto TO O\nNew York NNP B-LOC\n",
            "line 3: got 'New | York | NNP | B-LOC', expected 3 columns",
        ),
        ("in IN O\n".encode("utf-16"), "line 1: is not UTF-8 text"),
        ("in IN O\n".encode("utf-16-le"), "line 1: is not UTF-8 text but UTF-16"),
    ],
)
def test_words_are_those_of_the_word_column_or_the_line_is_named(text, expected, tmp_path):
    if isinstance(expected, list):
        assert tagged(tmp_path, text) == expected
    else:
        with pytest.raises(FactsError, match=re.escape(expected)):
            tagged(tmp_path, text)


def test_which_columns_are_read_and_what_is_left_out_of_them_is_said(tmp_path, caplog):
    tagged(tmp_path, "1\tRome\tB-LOC\tO\n2\t\tO\tO\n3\tParis\tO\tB-ORG\n")
    tagged(tmp_path, "en:Rome\tB-LOC\nen:so\tO\n")
    tagged(tmp_path, "[CLS] O\nBlack B-PER\n##burn I-PER\n\nSo O\n\n##y O\n")
    tagged(tmp_path, "a B-\nb O\nc B-X\nd I-O\ne B-A|B-B\n")
    for what in (
        "sentences of up to 3 words; an empty line",
        "en: before every word",
        "from column 2 and tags from column 3",
        "column 4 are not read",
        "a visible sign left out: 1",
        "special tokens, Python's quotes or a wrong encoding: 2 of 3 ([CLS], ##y)",
        "tags that name no type or several, read as they are: 3 (B-; I-O; B-A|B-B)",
    ):
        assert what in caplog.text


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ({"a": "B-person", "b": "B-person"}, "2 of 2 labels of test never occur in training"),
        ({"x": "B-PER", "b": "B-PER"}, "1 of 2 texts of test are in a part before it, too"),
        ({"a": "B-PER", "b": "B-LOC", "x": "O"}, ""),
    ],
)
def test_held_out_parts_that_repeat_training_or_have_other_labels_are_said(tags, said, caplog):
    test = [conll.TaggedSentence((word,), (tag,)) for word, tag in tags.items()]
    train = [conll.TaggedSentence(("x",), ("B-PER",))]
    say_doubts(TASKS["ner-conll"], Path("mine"), {"train": train, "test": test, "dev": []})
    assert said in caplog.text and bool(said) == bool(caplog.text)


def test_questions_that_are_trained_on_and_scored_are_said(tmp_path, caplog):
    train, _ = squad.squad_parts(write_squad(tmp_path), True, Counter())
    say_doubts(TASKS["qa-squad-2"], tmp_path, {"train": train, "test": [replace(train[0], answers=())], "dev": []})
    assert "1 of 1 texts of test are in a part before it, too" in caplog.text


def test_a_treebank_needs_no_heads_for_parts_of_speech_and_its_words_may_hold_blanks(tmp_path, caplog):
    rows = "".join(f"{n}\t{word}\t_\t{{tag}}\t_\t_\t_\t_\t_\t_\n" for n, word in ((1, "10 000"), (2, "cats")))
    both = "\n".join([rows, rows.replace("{tag}", "_", 1)]).replace("{tag}", "NOUN")
    (tmp_path / "en_ewt-ud-dev.conllu").write_bytes(b"\xef\xbb\xbf" + both.encode())
    assert conll.ewt_part(tmp_path, "dev") == [conll.TaggedSentence(("10 000", "cats"), ("NOUN", "NOUN"))]
    assert "left out, of which a word has no universal part of speech: 1" in caplog.text
    (tmp_path / "en_ewt-ud-dev.conllu").write_text(rows.replace("{tag}", "_"))
    with pytest.raises(FactsError, match="has no universal parts of speech"):
        conll.ewt_part(tmp_path, "dev")
    with pytest.raises(FactsError, match=r"none of en_ewt-ud-test\.conllu; .*--data"):
        conll.ewt_part(tmp_path, "test")


def test_the_answerable_part_of_every_file_serves_as_squad_1(tmp_path):
    train, test = squad.squad_parts(write_squad(tmp_path), False, Counter())
    assert len(train) + len(test) == 24 - 12  # the second file repeats passages and questions of the first
    assert all(question.answers for question in train + test)


def test_squad_2_takes_files_with_impossible_questions_only(tmp_path):
    train, test = squad.squad_parts(write_squad(tmp_path), True, Counter())
    assert len(train) + len(test) == 24
    assert sum(not question.answers for question in train + test) == 12


def test_the_split_is_by_article_and_always_the_same(tmp_path):
    parts = squad.squad_parts(write_squad(tmp_path), True, Counter())
    assert not {q.article for q in parts[0]} & {q.article for q in parts[1]}
    assert all(held_out.in_test_part(q.article) for q in parts[1])
    assert 0.17 < sum(held_out.in_test_part(str(n)) for n in range(5000)) / 5000 < 0.23


@pytest.mark.parametrize("ending", ["-v1.1.json", ".json", ".jsonl"])
@pytest.mark.parametrize("held_out", ["dev", "validation", "valid", "val", "test"])
def test_squad_files_that_are_called_as_parts_are_taken_as_they_are_split(ending, held_out, tmp_path, caplog):
    source = json.loads((write_squad(tmp_path / "a") / "some-v1.1.json").read_text())
    for name, articles in (("train", source["data"][:9]), (held_out, source["data"][9:]), ("tested", [])):
        (tmp_path / f"{name}{ending}").write_text(json.dumps({"data": articles}))
    assert [*map(len, squad.squad_parts(tmp_path, False, Counter()))] == [9, 3]
    assert f"not read beside {held_out}{ending}: tested{ending}" in caplog.text


PASSAGE = "Ada was born in London in 1815."
GOOD = {"id": "g", "question": "Where?", "answers": [{"text": "London", "answer_start": 16}]}


def squad_file(folder, *asked, name="some.json", head=b"", passage=PASSAGE):
    """A file with these questions about one passage."""
    content = {"data": [{"paragraphs": [{"context": passage, "qas": list(asked)}]}]}
    (folder / name).write_bytes(head + json.dumps(content).encode())
    return folder / name


def answers(*found):
    return {"id": "b", "question": "Who?", "answers": [{"text": text, "answer_start": start} for text, start in found]}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (answers(("Rome", 0)), "question b: 'Rome' is not at character 0"),
        # Python counts places below 0 from the end.
        (answers(("1815", -5)), "'1815' is not at character -5"),
        (answers(("London", 16), ("Ada", 1)), "'Ada' is not at character 1"),
        ({"id": "b", "question": "Who?", "answers": [{"text": "Ada"}]}, "'answer_start' is missing"),
        ({"id": "b", "question": "Who?", "answers": "Ada"}, "question b: 'answers' are texts without their places"),
        ({"id": "b", "question": "Who?", "answers": ["Ada"]}, "question b: 'answers' are texts without their places"),
        ({"id": "b", "question": "Who?", "answer": "Ada"}, "the key is 'answer', expected 'answers'"),
        ({**answers(), "is_impossible": "perhaps"}, "'is_impossible' is 'perhaps', expected true or false"),
        ({"question": 3, "answers": []}, "question 2: 'question' is 3, expected text"),
        ("Who?", "question 2: "),
    ],
)
def test_a_malformed_question_is_left_out_counted_and_named_and_the_file_only_if_it_has_no_other(
    asked, said, tmp_path, caplog
):
    left_out = Counter()
    (kept,) = squad.read_squad(squad_file(tmp_path, GOOD, asked), left_out)
    assert kept.answers == (("London", 16),) and +left_out == {"malformed questions": 1} and said in caplog.text
    with pytest.raises(FactsError, match=r"some\.json has no question in SQuAD's format, question") as refused:
        squad.read_squad(squad_file(tmp_path, asked), Counter())
    assert not re.search(r"Error|object|indices", str(refused.value))


@pytest.mark.parametrize(
    "asked",
    [
        *[answers(), answers(("", -1)), answers(("", 0)), answers((" ", 3)), {**answers(), "answers": None}],
        answers(("CANNOTANSWER", 31)),
    ],
)
def test_an_answer_without_text_is_none_and_a_question_without_answers_serves_squad_2_alone(asked, tmp_path):
    path, left_out = squad_file(tmp_path, GOOD, asked, passage=f"{PASSAGE}CANNOTANSWER"), Counter()
    found = squad.read_squad(path, Counter())
    assert [one.answers for one in found] == [(("London", 16),), ()] and found[0].context == PASSAGE
    assert sum(map(len, squad.squad_parts(tmp_path, False, left_out))) == 1 and +left_out == {
        "questions without an answer": 1
    }
    left_out.clear()
    assert sum(map(len, squad.squad_parts(tmp_path, True, left_out))) == 2 and not +left_out


def test_is_impossible_may_be_text_and_a_file_without_any_answer_says_nothing(tmp_path):
    flags = [{**GOOD, "is_impossible": flag} for flag in ("False", "true", 0, 1, False, True, None)]
    found = squad.read_squad(squad_file(tmp_path, *flags), Counter())
    assert [bool(one.answers) for one in found] == [True, False, True, False, True, False, True]
    left_out = Counter()
    assert squad.read_squad(squad_file(tmp_path, answers(), answers(("", -1))), left_out) == []
    assert +left_out == {"questions whose answers are not recorded": 2}
    with pytest.raises(FactsError, match=r"left out: 2 questions whose answers are not recorded\)"):
        squad.squad_parts(tmp_path, True, Counter())


def test_squad_is_read_with_a_mark_without_ids_with_control_characters_and_as_huggingface_exports_it(tmp_path):
    bare = {key: value for key, value in GOOD.items() if key != "id"}
    path = squad_file(tmp_path, bare, head=b"\xef\xbb\xbf", passage="\x00" + PASSAGE[:-1] + "\x85")
    moved = {**bare, "answers": [{"text": "London", "answer_start": 17}]}
    with pytest.raises(FactsError, match="is not at character 16"):
        squad.read_squad(path, Counter())
    (found,) = squad.read_squad(squad_file(tmp_path, moved, passage="\x00" + PASSAGE[:-1] + "\x85"), Counter())
    assert (found.context, found.answers) == (f" {PASSAGE[:-1]} ", (("London", 17),))
    rows = [
        {**bare, "context": PASSAGE, "title": "Ada", "answers": {"text": text, "answer_start": [16] * len(text)}}
        for text in (["London"], [])
    ]
    for name, text in (
        ("a.jsonl", "\r\n".join(map(json.dumps, rows))),
        ("b.json", json.dumps(rows)),
        ("c.json", json.dumps({"data": rows})),
    ):
        (tmp_path / name).write_text(text)
        assert [one.answers for one in squad.read_squad(tmp_path / name, Counter())] == [(("London", 16),), ()]
    assert squad.squad_texts(tmp_path)[0] == ("Ada", f"{PASSAGE} Where?")


@pytest.mark.parametrize("read", [squad.squad_texts, lambda folder: squad.squad_parts(folder, False, Counter())])
def test_a_question_that_is_no_text_is_named_with_its_file(read, tmp_path):
    asked = {"id": "1", "question": None, "answers": [{"text": "a", "answer_start": 0}]}
    (tmp_path / "odd.json").write_text(
        json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "a", "qas": [asked]}]}]})
    )
    with pytest.raises(
        FactsError, match=r"odd\.json (is not|has no question) in SQuAD's format.*'question' is None, expected text"
    ):
        read(tmp_path)


def test_an_answer_may_be_no_list_and_mrqas_have_their_places_beside_them(tmp_path):
    one = {"id": "1", "title": "t", "context": PASSAGE, "question": "Where?"}
    asked = {"qid": "1", "question": "Where?", "answers": ["london"]}
    asked["detected_answers"] = [{"text": "London", "char_spans": [[16, 21]], "token_spans": [[4, 4]]}]
    for rows in (
        [{**one, "answers": {"text": "London", "answer_start": 16}}],
        [{"header": {"dataset": "x"}}, {"id": "", "context": PASSAGE, "qas": [asked]}],
    ):
        (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (found,) = squad.read_squad(tmp_path / "a.jsonl", Counter())
        assert (found.question, found.answers) == ("Where?", (("London", 16),))


def test_a_passage_may_be_long_and_a_row_of_other_columns_is_named(tmp_path):
    table = tmp_path / "top1000.tsv"
    table.write_text(f"1\tp\tq\t{'x ' * 100_000}\n")
    (found,) = msmarco.read_ranked_lists(tmp_path)
    assert len(found.passages[0].text) == 200_000
    table.write_text('1\tp\tq\t"a\n1\tp\n')
    with pytest.raises(FactsError, match=r"top1000\.tsv, line 2: got 2 columns"):
        msmarco.read_ranked_lists(tmp_path)


def test_lists_are_in_rank_order_with_their_grades(tmp_path):
    found = msmarco.read_ranked_lists(write_msmarco(tmp_path))
    assert [passage.id for passage in found[0].passages[:3]] == ["d0-0", "d0-1", "d0-2"]
    assert [passage.grade for passage in found[0].passages[:6]] == [0, 3, 1, 0, 0, 2]
    assert sorted(found[0].judged) == [1, 2, 3, 3]  # the judged passage that the list lacks counts for the ideal
    assert found[-1].passages[0].grade is None and not found[-1].judged


def test_training_pairs_are_those_of_queries_outside_the_test_part(tmp_path):
    pairs, lists = msmarco.ranking_parts(write_msmarco(tmp_path, 40))
    assert {query for query, _, _ in pairs}.isdisjoint({found.query for found in lists})
    assert len(pairs) == (39 - len(lists)) * 12
    assert sum(relevant for _, _, relevant in pairs) == (39 - len(lists)) * 2  # grades 3 and 2


def test_msmarcos_own_tables_are_read(tmp_path):
    (tmp_path / "top1000.dev.tsv").write_text('\ufeff1\t10\twhat "is\tParis is\n1\t11\twhat "is\tRome is\n')
    (tmp_path / "qrels.dev.small.tsv").write_text("\ufeff1\t0\t11\t1\r\n")
    (tmp_path / "triples.train.small.tsv").write_text("\ufeffq\tgood\tbad\nr\tfine\tpoor\n")
    pairs, lists = msmarco.ranking_parts(tmp_path)
    assert pairs == [("q", "good", True), ("q", "bad", False), ("r", "fine", True), ("r", "poor", False)]
    assert [passage.grade for passage in lists[0].passages] == [0, 1] and lists[0].relevant_from == 1
    assert lists[0].query == 'what "is'


def test_relevant_passages_that_no_list_holds_are_counted_or_refused_if_none_is_left(tmp_path, caplog):
    (tmp_path / "top1000.dev.tsv").write_text("1\t10\tq\tParis\n1\t11\tq\tRome\n")
    (tmp_path / "qrels.dev.tsv").write_text("1 0 10 1\n1 0 99 1\n")
    msmarco.ranking_parts(tmp_path)
    assert "relevant passages not in the list of their query: 1 of 2" in caplog.text
    (tmp_path / "qrels.dev.tsv").write_text("1 0 10 0\n1 0 99 1\n")
    with pytest.raises(FactsError, match="none of 1 relevant passages in qrels"):
        msmarco.ranking_parts(tmp_path)


def test_lists_of_another_shape_are_refused_without_pythons_words(tmp_path):
    (tmp_path / "lists.json").write_text('[{"query": "q"}]')
    with pytest.raises(FactsError, match=r"lists\.json is not a list of queries with hits \('hits' is missing\)"):
        msmarco.read_ranked_lists(tmp_path)


def test_ranking_texts_join_the_query_with_ten_passages_at_a_time(tmp_path):
    texts = msmarco.ranking_texts(write_msmarco(tmp_path, 2))
    assert len(texts) == 2 * 2
    assert texts[0][1].startswith("city 0 Paris is city 0 of 0 Berlin")
    assert len(re.findall("is city", texts[0][1])) == 10 and len(re.findall("is city", texts[1][1])) == 2


def test_the_real_data_sets_are_read_whole(shared_data):
    train, test = conll.conll_parts(shared_data / "conll2003")
    assert (len(train), len(test)) == (14_041, 3_453)
    train_1, test_1 = squad.squad_parts(shared_data / "squad", False, Counter())
    train_2, test_2 = squad.squad_parts(shared_data / "squad", True, Counter())
    # Of 6,078 and 3,168 six and three are doubled.
    assert len(train_2) + len(test_2) == 6_072 and sum(not q.answers for q in train_2 + test_2) == 3_165
    assert len(train_1) + len(test_1) > 3_700
    lists = msmarco.read_ranked_lists(shared_data / "msmarco")
    assert len(lists) == 43 + 54 + 53 + 76 and sum(bool(found.judged) for found in lists) == 150


COLA = 'gj04\t1\t\tWe say "yes.\ngj04\t0\t*\tYes we \u2028say.\nks08\t1\t \tIt "is red.\n'
SST2 = "sentence\tlabel\nfun for all \t1\nno wit , only gags \t0\n"
RTE = (
    "index\tsentence1\tsentence2\tlabel\n0\tParis is in France.\tFrance has Paris.\tentailment\n1\tIt is.\tIt is"
    " not.\tnot_entailment\n"
)


def glue_file(folder, text, name="train.tsv"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    return folder / name


def test_a_quotation_mark_or_an_unusual_line_end_parts_no_sentence_of_glue(tmp_path):
    cola = glue.read_cola(glue_file(tmp_path, COLA))
    assert [one.text for one in cola] == ['We say "yes.', "Yes we \u2028say.", 'It "is red.']
    assert [one.label for one in cola] == ["acceptable", "unacceptable", "acceptable"] and not any(
        one.pair for one in cola
    )
    # Blanks at the end are SST-2's own.
    assert [(one.text, one.label) for one in glue.read_sst2(glue_file(tmp_path, SST2))] == [
        ("fun for all", "positive"),
        ("no wit , only gags", "negative"),
    ]
    # Marks of a program are all in pairs.
    for last, text in (("no marks", 'a "wry" film'), ('a "lone mark', '"a ""wry"" film"')):
        path = glue_file(tmp_path, f'sentence\tlabel\n"a ""wry"" film"\t1\n{last}\t0\n')
        assert [one.text for one in glue.read_sst2(path)] == [text, last]
    first, second = glue.read_rte(glue_file(tmp_path, RTE))
    assert (first.text, first.pair, first.label, second.label) == (
        "Paris is in France.",
        "France has Paris.",
        "entailment",
        "not_entailment",
    )


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (
            glue.read_cola,
            "gj04\t1\tWe say.\n",
            "line 1: got 3 columns, expected 4 .*source, label, mark, sentence.*; take",
        ),
        (glue.read_cola, COLA + "gj04\t2\t\tWe.\n", "line 4: got the label '2', expected 0 or 1; take"),
        (glue.read_cola, COLA + "gj04\t1\t\t \n", "line 4: got an empty sentence"),
        (glue.read_cola, "", "has no sentences; expected lines of source"),
        (
            glue.read_sst2,
            "index\tsentence\n0\tno labels\n",
            "line 1: got the columns 'index, sentence', expected sentence, label; ",
        ),
        (glue.read_sst2, "sentence\tlabel\n", "has no sentences"),
        (
            glue.read_rte,
            RTE + "2\tA.\tB.\tneutral\n",
            "line 4: got the label 'neutral', expected entailment or not_entailment",
        ),
    ],
)
def test_a_file_that_is_not_glues_is_named_with_its_line_and_what_to_do(read, text, words, tmp_path):
    with pytest.raises(FactsError, match=words):
        read(glue_file(tmp_path, text))


def test_a_glue_file_in_another_encoding_or_missing_is_named(tmp_path):
    (tmp_path / "train.tsv").write_bytes("gj04\t1\t\tcafé\n".encode("latin-1"))
    with pytest.raises(FactsError, match=r"train\.tsv, line 1: is not UTF-8 text .*; save it as UTF-8"):
        glue.read_cola(tmp_path / "train.tsv")
    with pytest.raises(FactsError, match=r"none of dev\.tsv; fetch the data set first"):
        glue.cola_parts(glue_file(tmp_path, COLA).parent)


def test_a_glue_task_lies_in_its_folder_of_the_data_set_or_in_one_of_its_own(tmp_path):
    for name in ("train.tsv", "dev.tsv"):
        glue_file(tmp_path / "glue" / "SST-2", SST2, name)
    assert glue.sst2_parts(tmp_path / "glue") == glue.sst2_parts(tmp_path / "glue" / "SST-2")


def test_texts_that_are_scored_are_not_trained_on():
    train = [glue.LabelledText("a", "x"), glue.LabelledText("b", "x"), glue.LabelledText("a", "x", "c")]
    assert glue.without_scored(train, [glue.LabelledText("a", "y")]) == train[1:]
    assert glue.without_scored(train, [glue.LabelledText("a", "x", "c")]) == train[:2]
