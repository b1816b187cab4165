"""What models are fine-tuned on is read as its owners wrote it, and split the same way every time."""

import json
import re

import pytest

from probing.core.errors import FactsError
from probing.core.tasks import conll, glue, held_out, msmarco, squad
from tests.core.task_files import write_conll, write_msmarco, write_squad


def test_iob1_becomes_iob2():
    assert conll.iob2(["I-LOC", "B-LOC", "I-ORG", "O", "I-PER", "I-PER"]) == ["B-LOC", "B-LOC", "B-ORG", "O", "B-PER", "I-PER"]
    already = ["B-LOC", "I-LOC", "B-LOC", "O"]
    assert conll.iob2(already) == already


def test_a_conll_file_gives_sentences_without_document_marks(tmp_path):
    train, test = conll.conll_parts(write_conll(tmp_path))
    assert len(train) == len(test) == 6
    assert train[0].words == ("Rocky", "was", "born", "in", "Philadelphia", ".")
    assert train[0].tags == ("B-PER", "O", "O", "O", "B-LOC", "O")
    assert train[1].tags == ("B-LOC", "B-LOC", "B-ORG")


@pytest.mark.parametrize(("text", "words"), [("Rocky\n", "line 1"), ("Rocky NNP what\n", "I-PER"), ("\n\n", "no sentences")])
def test_a_file_that_is_not_conll_is_named_with_its_line(text, words, tmp_path):
    (tmp_path / "eng.train").write_text(text)
    with pytest.raises(FactsError, match=words):
        conll.read_conll(tmp_path / "eng.train")


def test_missing_files_say_what_to_do(tmp_path):
    for call in (conll.conll_parts, lambda folder: squad.squad_parts(folder / "no", True)):
        with pytest.raises(FactsError, match="probing fetch"):
            call(tmp_path)
    with pytest.raises(FactsError, match="qrels"):
        msmarco.read_ranked_lists(tmp_path)


def test_the_answerable_part_of_every_file_serves_as_squad_1(tmp_path):
    train, test = squad.squad_parts(write_squad(tmp_path), impossible=False)
    assert len(train) + len(test) == 24 - 12  # the second file repeats passages and questions of the first
    assert all(question.answers for question in train + test)


def test_squad_2_takes_files_with_impossible_questions_only(tmp_path):
    train, test = squad.squad_parts(write_squad(tmp_path), impossible=True)
    assert len(train) + len(test) == 24
    assert sum(not question.answers for question in train + test) == 12


def test_the_split_is_by_article_and_always_the_same(tmp_path):
    parts = squad.squad_parts(write_squad(tmp_path), impossible=True)
    assert not {q.article for q in parts[0]} & {q.article for q in parts[1]}
    assert all(held_out.in_test_part(q.article) for q in parts[1])
    assert 0.17 < sum(held_out.in_test_part(str(n)) for n in range(5000)) / 5000 < 0.23


def test_official_squad_files_are_taken_as_they_are_split(tmp_path):
    source = json.loads((write_squad(tmp_path / "a") / "some-v1.1.json").read_text())
    for name, articles in (("train-v1.1.json", source["data"][:9]), ("dev-v1.1.json", source["data"][9:])):
        (tmp_path / name).write_text(json.dumps({"data": articles}))
    train, test = squad.squad_parts(tmp_path, impossible=False)
    assert (len(train), len(test)) == (9, 3)


def test_an_answer_that_does_not_stand_where_it_should_is_an_error(tmp_path):
    paragraph = {"context": "Paris.", "qas": [{"id": "q7", "question": "?", "answers": [{"text": "Rome", "answer_start": 0}]}]}
    (tmp_path / "x.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
    with pytest.raises(FactsError, match="q7"):
        squad.read_squad(tmp_path / "x.json")


@pytest.mark.parametrize("read", [squad.squad_texts, lambda folder: squad.squad_parts(folder, False)])
def test_a_question_that_is_no_text_is_named_with_its_file(read, tmp_path):
    asked = {"id": "1", "question": None, "answers": [{"text": "a", "answer_start": 0}]}
    (tmp_path / "odd.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "a", "qas": [asked]}]}]}))
    with pytest.raises(FactsError, match=r"odd\.json is not in SQuAD's format"):
        read(tmp_path)


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
    (tmp_path / "top1000.dev.tsv").write_text('1\t10\twhat "is\tParis is\n1\t11\twhat "is\tRome is\n')
    (tmp_path / "qrels.dev.small.tsv").write_text("1\t0\t11\t1\n")
    (tmp_path / "triples.train.small.tsv").write_text("q\tgood\tbad\nr\tfine\tpoor\n")
    pairs, lists = msmarco.ranking_parts(tmp_path)
    assert pairs == [("q", "good", True), ("q", "bad", False), ("r", "fine", True), ("r", "poor", False)]
    assert [passage.grade for passage in lists[0].passages] == [0, 1] and lists[0].relevant_from == 1
    assert lists[0].query == 'what "is'


def test_ranking_texts_join_the_query_with_ten_passages_at_a_time(tmp_path):
    texts = msmarco.ranking_texts(write_msmarco(tmp_path, 2))
    assert len(texts) == 2 * 2
    assert texts[0][1].startswith("city 0 Paris is city 0 of 0 Berlin")
    assert len(re.findall("is city", texts[0][1])) == 10 and len(re.findall("is city", texts[1][1])) == 2


def test_the_real_data_sets_are_read_whole(shared_data):
    train, test = conll.conll_parts(shared_data / "conll2003")
    assert (len(train), len(test)) == (14_041, 3_453)
    train_1, test_1 = squad.squad_parts(shared_data / "squad", impossible=False)
    train_2, test_2 = squad.squad_parts(shared_data / "squad", impossible=True)
    # Of 6,078 and 3,168 six and three are doubled.
    assert len(train_2) + len(test_2) == 6_072 and sum(not q.answers for q in train_2 + test_2) == 3_165
    assert len(train_1) + len(test_1) > 3_700
    lists = msmarco.read_ranked_lists(shared_data / "msmarco")
    assert len(lists) == 43 + 54 + 53 + 76 and sum(bool(found.judged) for found in lists) == 150


COLA = 'gj04\t1\t\tWe say "yes.\ngj04\t0\t*\tYes we \u2028say.\nks08\t1\t \tIt "is red.\n'
SST2 = "sentence\tlabel\nfun for all \t1\nno wit , only gags \t0\n"
RTE = "index\tsentence1\tsentence2\tlabel\n0\tParis is in France.\tFrance has Paris.\tentailment\n1\tIt is.\tIt is not.\tnot_entailment\n"


def glue_file(folder, text, name="train.tsv"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    return folder / name


def test_a_quotation_mark_or_an_unusual_line_end_parts_no_sentence_of_glue(tmp_path):
    cola = glue.read_cola(glue_file(tmp_path, COLA))
    assert [one.text for one in cola] == ['We say "yes.', "Yes we \u2028say.", 'It "is red.']
    assert [one.label for one in cola] == ["acceptable", "unacceptable", "acceptable"] and not any(one.pair for one in cola)
    # Blanks at the end are SST-2's own.
    assert [(one.text, one.label) for one in glue.read_sst2(glue_file(tmp_path, SST2))] == [
        ("fun for all", "positive"),
        ("no wit , only gags", "negative"),
    ]
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
        (glue.read_cola, "gj04\t1\tWe say.\n", "line 1: got 3 columns, expected 4 .*source, label, mark, sentence.*; take"),
        (glue.read_cola, COLA + "gj04\t2\t\tWe.\n", "line 4: got the label '2', expected 0 or 1; take"),
        (glue.read_cola, COLA + "gj04\t1\t\t \n", "line 4: got an empty sentence"),
        (glue.read_cola, "", "has no sentences; expected lines of source"),
        (glue.read_sst2, "index\tsentence\n0\tno labels\n", "line 1: got the columns 'index, sentence', expected sentence, label; "),
        (glue.read_sst2, "sentence\tlabel\n", "has no sentences"),
        (glue.read_rte, RTE + "2\tA.\tB.\tneutral\n", "line 4: got the label 'neutral', expected entailment or not_entailment"),
    ],
)
def test_a_file_that_is_not_glues_is_named_with_its_line_and_what_to_do(read, text, words, tmp_path):
    with pytest.raises(FactsError, match=words):
        read(glue_file(tmp_path, text))


def test_a_glue_file_in_another_encoding_or_missing_is_named(tmp_path):
    (tmp_path / "train.tsv").write_bytes("gj04\t1\t\tcafé\n".encode("latin-1"))
    with pytest.raises(FactsError, match=r"cannot read .*utf-8"):
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
