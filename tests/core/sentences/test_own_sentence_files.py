"""A user's own labelled sentences: three formats, and an error with line and reason for what cannot be used."""

import csv
import io
import json

import pandas as pd
import pytest

from probing.core.errors import OptionError, SentenceDataError
from probing.core.sentences.example import PARTS
from probing.core.sentences.readers.own_files import INCOMPLETE, parse_own_file
from probing.core.sentences.splits import REPEATED, TWO_LABELS
from probing.core.sentences.tasks import read_task, read_upload
from tests.core.sentences.sentence_files import sentences, tsv


def test_tsv_csv_and_jsonl_with_the_same_sentences_give_the_same_data(tmp_path):
    texts = [('He said "no, never" .', "odd"), *sentences(99)]
    tsv(tmp_path / "mine.tsv", texts)
    quoted = io.StringIO()
    csv.writer(quoted).writerows([("Label", "Sentence", "id"), *((label, text, "7") for text, label in texts)])
    (tmp_path / "also.csv").write_bytes(b"\xef\xbb\xbf" + quoted.getvalue().encode())
    (tmp_path / "too.jsonl").write_text(
        "".join(json.dumps({"sentence": text, "label": label}) + "\n" for text, label in texts)
    )
    read = [read_task(str(tmp_path / name), tmp_path) for name in ("mine.tsv", "also.csv", "too.jsonl")]
    assert [task.name for task, _ in read] == [data.task for _, data in read] == ["mine", "also", "too"]
    assert read[0][1].parts == read[1][1].parts == read[2][1].parts and len(read[0][1].parts["train"]) == 60
    assert {(task.level, task.open) for task, _ in read} == {("own", True)}
    assert read_upload((tmp_path / "mine.tsv").read_bytes(), "mine.tsv")[1] == read[0][1]


def test_pairs_parts_groups_and_numbers_as_labels_are_read():
    lines = [{"sentence": "A  b\u2028c .", "label": 1, "pair": "D .", "part": "te", "group": 7, "id": "x"}]
    ((row,), _, _) = parse_own_file(json.dumps(lines[0]).encode(), "a.jsonl")
    assert (row.example.text, row.example.label, row.example.pair, row.part, row.group) == (
        "A b c .",
        "1",
        "D .",
        "test",
        "7",
    )


@pytest.mark.parametrize("name", ["split", "Set", "fold", "part"])
def test_the_users_own_split_is_used_under_every_name_and_what_was_not_used_is_said(name):
    frame = pd.DataFrame(sentences(120), columns=["text", "label"])
    frame[name] = ["Train", "training"] * 36 + ["validation", "VAL", "dev", "valid"] * 6 + ["test"] * 24
    frame["id"] = range(120)
    _, data = read_upload(frame.to_csv(index=False, sep=";").encode(), "mine.txt")
    assert {part: len(data.parts[part]) for part in PARTS} == {"train": 72, "dev": 24, "test": 24}
    assert f"sentence = text, label = label, part = {name}" in data.said and data.said.endswith("not used: id")
    _, data = read_upload(frame.rename(columns={name: "fold"}).assign(fold=7).to_csv(index=False).encode(), "mine.csv")
    assert {part: len(data.parts[part]) for part in PARTS} == {
        "train": 72,
        "dev": 12,
        "test": 36,
    } and "not used: fold, id" in data.said


def test_the_quotes_that_pandas_writes_are_taken_off_and_those_of_a_corpus_are_kept():
    texts = ["One , two .", '"Yes" , he said .', '"No .']
    frame = pd.DataFrame({"sentence1": texts, "gold_label": "x", "hypothesis": "h"})
    rows, _, said = parse_own_file(frame.to_csv(sep="\t", index=False).encode(), "a.tsv")
    assert [(row.example.text, row.example.pair) for row in rows] == [
        (text, "h") for text in texts
    ] and "taken off" in said
    rows, _, said = parse_own_file("".join(f"te\tx\t{text}\n" for text in texts).encode(), "a.txt")
    assert [row.example.text for row in rows] == texts and "quotation marks are text, as in line 2" in said


def test_a_row_without_label_or_known_part_or_with_a_control_character_does_not_refuse_the_file():
    texts = [(f"{text}\x08." if place == 3 else text, label) for place, (text, label) in enumerate(sentences(120))]
    rows = "".join(f"train\t{text}\t{label}\ntest\t{text} again\t{label}\n" for text, label in texts)
    content = f"part\tsentence\tlabel\n{rows}train\tNo label .\nall\tHello .\tx\n"
    _, data = read_upload(content.encode(), "mine.tsv")
    assert data.dropped == {INCOMPLETE: 1, "malformed rows": 1} and "line 243: got the part 'all'" in data.said
    assert "control characters read as blanks: 2" in data.said
    assert f"{sentences(120)[3][0]} ." in {one.text for part in PARTS for one in data.parts[part]}


def test_sentevals_three_columns_are_known(tmp_path):
    lines = [f"{part}\t{label}\t{part} {text}\n" for part in ("tr", "va", "te") for text, label in sentences(40)]
    (tmp_path / "theirs.txt").write_text("".join(lines))
    _, data = read_task(str(tmp_path / "theirs.txt"), tmp_path)
    assert {part: len(data.parts[part]) for part in PARTS} == {"train": 40, "dev": 40, "test": 40}


def test_repeats_and_contradictions_are_left_out_and_counted(tmp_path):
    texts = sentences(120)
    path = tsv(tmp_path / "mine.tsv", [*texts, texts[0], texts[0], (texts[1][0], "even")])
    _, data = read_task(str(path), tmp_path)
    assert data.dropped[REPEATED] == 2 and data.dropped[TWO_LABELS] == 2


def test_50_classes_of_40_sentences_reach_every_part(tmp_path):
    _, data = read_task(
        str(tsv(tmp_path / "many.tsv", sentences(2000, tuple(f"c{place}" for place in range(50))))), tmp_path
    )
    assert [len(data.parts[part]) for part in PARTS] == [50 * 24, 50 * 4, 50 * 12] and len(data.labels) == 50


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tsv", b"sentence\tlabel\nHello .\tx\ty\n", "line 2: got 3 cells, expected 2"),
        ("a.tsv", b"Hello .\tx\n", "got the columns 'Hello .', 'x'; expected one called sentence and one called label"),
        ("a.tsv", "sentence\tlabel\nHello .\tx\nÜber .\tx\n".encode("latin-1"), "line 3: byte 0xdc is not UTF-8"),
        ("a.tsv", b"sentence\tlabel\tpart\nHello .\tx\tall\n", "line 2: got the part 'all', expected train, dev, test"),
        ("a.tsv", b"sentence\tlabel\tpart\nHello .\tx\ttrain\nBye .\tx\t\n", "some rows name a part and others do not"),
        ("a.tsv", b"sentence\tlabel\n", "holds no sentences"),
        ("a.tsv", b"", "holds no sentences"),
        ("a.jsonl", b'{"sentence": "Hello ."}\n', "got the columns 'sentence'; expected one called label"),
        ("a.jsonl", b'{"sentence": "\\ud800", "label": "x"}\n', "line 1: 'sentence' contains .*half a character"),
        (
            "a.jsonl",
            b'{"sentence": "Hello .", "label": true}\n',
            "line 1: 'label' is True; expected one text or number",
        ),
        ("a.tsv", f"sentence\tlabel\nHello .\t{'x' * 50_000}\n".encode(), "line 2: 'label' has 50,000 letters"),
        ("a.xlsx", b"PK\x03\x04", "is a spreadsheet workbook"),
    ],
)
def test_what_cannot_be_read_is_named_with_line_and_reason(name, content, said):
    with pytest.raises(SentenceDataError, match=said):
        read_upload(content, name)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (sentences(100, ("one",)), r"got 1 classes \('one'\), expected 2 to 50"),
        (sentences(51 * 40, tuple(f"c{place}" for place in range(51))), "got 51 classes .*, expected 2 to 50"),
        (sentences(3), "the label 'odd' has 1 different examples, expected at least 40"),
        (
            sentences(60) * 3,
            r"has 30 different examples, expected at least 40 .*\(left out before: 120 repeated texts\)",
        ),
        (
            [(text, label) for text, _ in sentences(60) for label in ("odd", "even")],
            r"got 0 classes, .*\(left out before: 120 texts with two",
        ),
    ],
)
def test_too_few_classes_or_examples_are_refused(tmp_path, texts, said):
    with pytest.raises(SentenceDataError, match=rf"mine\.tsv: .*{said}"):
        read_task(str(tsv(tmp_path / "mine.tsv", texts)), tmp_path)


def test_a_file_that_is_missing_or_called_as_a_task_is_refused(tmp_path):
    with pytest.raises(SentenceDataError, match=r"cannot read .*gone\.tsv"):
        read_task(str(tmp_path / "gone.tsv"), tmp_path)
    with pytest.raises(SentenceDataError, match=r"CoLA\.tsv has the name of the built-in task 'cola'; rename the file"):
        read_task(str(tsv(tmp_path / "CoLA.tsv", sentences(100))), tmp_path)
    with pytest.raises(SentenceDataError, match="expected letters, digits"):
        read_task(str(tsv(tmp_path / "my file.tsv", sentences(100))), tmp_path)
    with pytest.raises(OptionError, match="expected one of bigram-shift"):
        read_task(str(tmp_path), tmp_path)


def test_sentences_of_one_part_are_refused_with_a_protocol_that_is_another(tmp_path):
    path = tsv(tmp_path / "mine.tsv", sentences(100))
    path.write_text(
        "sentence\tlabel\tpart\n" + "".join(f"{line}\ttrain\n" for line in path.read_text().splitlines()[1:])
    )
    with pytest.raises(SentenceDataError, match=r"train sentences only; .*: name no part, or name train and test"):
        read_task(str(path), tmp_path)
    with pytest.raises(SentenceDataError, match=r"train sentences only; .*\(--protocol ours\)"):
        read_task(str(path), tmp_path, "senteval")
