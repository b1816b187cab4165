"""Data of sentence probing: the data sets, users' own files and our odd-man-out, and an error with line and reason for
each defect.
"""

import csv
import io
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from math import log, log1p
from pathlib import Path

import pandas as pd
import pytest

from probing.kernel.errors import SentenceDataError
from probing.sentences import tasks
from probing.sentences.examples import PARTS, Example, Labelled, SentenceData
from probing.sentences.odd_man_out import NO_CANDIDATE, make_odd_man_out, odd_man_out
from probing.sentences.readers import INCOMPLETE, OTHER_PART, parse_own_file, read_probing_file
from probing.sentences.splits import REPEATED, SAME_WORDS, TWO_LABELS, words_key
from probing.sentences.tasks import ALL, SENTENCE_TASKS, read_task, read_upload
from tests.sentences.sentence_files import sentences, tsv, x_probe

SWAPPED = {"I": "inverted", "O": "original"}


def written(path, text: str):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_sentevals_lines_have_part_label_and_last_the_sentence(tmp_path):
    path = written(tmp_path / "bigram_shift.txt", "tr\tI\tHe a saw dog .\nva\tO\tShe ran .\nte\tO\tmore\tThey sang .\n")
    assert list(read_probing_file(path, SWAPPED)) == [
        Labelled(Example("He a saw dog .", "inverted"), "train"),
        Labelled(Example("She ran .", "original"), "dev"),
        Labelled(Example("They sang .", "original"), "test"),
    ]


def test_x_probes_lines_end_in_the_label_and_the_file_names_the_part(tmp_path):
    path = written(tmp_path / "bigram_shift.va.txt", "te he\x85 ran\u2028away .\tI\r\nTabs\there .\tO\n")
    assert list(read_probing_file(path, SWAPPED)) == [
        Labelled(Example("te he\x85 ran\u2028away .", "inverted"), "dev"),
        Labelled(Example("Tabs\there .", "original"), "dev"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A sentence .\tI\nAnother .\tX\n", r"te\.txt, line 2: got the label 'X', expected one of I, O"),
        ("A sentence .\tI\nno label\n", r"line 2: got 'no label', expected a sentence and its label"),
        ("A sentence .\tI\n\n", r"line 2: got '', expected a sentence"),
        ("tr\tI\tA sentence .\nA sentence .\tI\n", r"line 2: got .*, expected tr, va or te, a label and a sentence"),
    ],
)
def test_a_line_of_another_form_is_named_with_its_number(tmp_path, text, said):
    with pytest.raises(SentenceDataError, match=said):
        list(read_probing_file(written(tmp_path / "bigram_shift.te.txt", text), SWAPPED))


def test_another_encoding_is_named_with_its_line(tmp_path):
    (tmp_path / "bigram_shift.te.txt").write_bytes("A sentence .\tI\nÜber all .\tO\n".encode("latin-1"))
    with pytest.raises(SentenceDataError, match=r"line 2: is not UTF-8 text .*; save it as UTF-8"):
        list(read_probing_file(tmp_path / "bigram_shift.te.txt", SWAPPED))


@pytest.mark.parametrize(
    ("task", "stem", "senteval", "x_probes", "ours"),
    [
        ("bigram-shift", "bigram_shift", ("I", "O"), ("I", "O"), ("inverted", "original")),
        ("coordination-inversion", "coordination_inversion", ("O", "I"), ("I", "O"), ("inverted", "original")),
        ("past-present", "past_present", ("PAST", "PRES"), ("Past", "Pres"), ("past", "present")),
        ("subject-number", "subj_number", ("NN", "NNS"), ("Sing", "Plur"), ("plural", "singular")),
        ("tree-depth", "tree_depth", ("5", "6"), ("5", "6"), ("5", "6")),
    ],
)
def test_both_data_sets_give_the_same_labels_and_examples(tmp_path, task, stem, senteval, x_probes, ours):
    texts = sentences(80, x_probes)
    lines = [f"tr\t{senteval[place % 2]}\t{text}\n" for place, (text, _) in enumerate(texts)]
    written(tmp_path / "a" / "senteval" / f"{stem}.txt", "".join(lines))
    x_probe(tmp_path / "b" / "x-probe", stem, texts)
    assert x_probes == senteval or set(x_probes) != set(senteval) or task == "coordination-inversion"
    _, theirs = read_task(task, tmp_path / "a")
    read, data = read_task(task, tmp_path / "b")
    assert data.labels == theirs.labels == ours
    if task != "coordination-inversion":
        assert data.parts == theirs.parts and data.sha256 == theirs.sha256
    assert read.source == "X-Probe, English" and not read.open


def test_x_probe_is_read_first_and_under_sentevals_protocol_senteval(tmp_path):
    x_probe(tmp_path / "x-probe", "bigram_shift", sentences(80, ("I", "O")))
    assert read_task("bigram-shift", tmp_path, "senteval")[0].source == "X-Probe, English"
    lines = [
        f"{part}\t{label}\t{part} {text}\n" for part in ("tr", "va", "te") for text, label in sentences(4, ("I", "O"))
    ]
    written(tmp_path / "senteval" / "bigram_shift.txt", "".join(lines))
    assert read_task("bigram-shift", tmp_path)[0].source == "X-Probe, English"
    task, data = read_task("bigram-shift", tmp_path, "senteval")
    assert task.source == "SentEval"
    assert {part: {one.text[:2] for one in examples} for part, examples in data.parts.items()} == {
        "train": {"tr"},
        "dev": {"va"},
        "test": {"te"},
    }


def test_all_are_six_tasks_and_only_texts_with_a_licence_may_be_stored():
    assert {*SENTENCE_TASKS} - {*ALL} == {"cola", "sst-2", "rte"}
    assert [name for name, task in SENTENCE_TASKS.items() if task.open] == ["odd-man-out"]
    assert {task.level for task in SENTENCE_TASKS.values()} <= {"surface", "syntactic", "semantic", "discourse"}


#: Task -> rows of its files, examples of training, development and test part, labels; repeats that were dropped.
COUNTS = {
    "bigram-shift": (20_000, (10_762, 1_796, 5_380), 2, 87),
    "coordination-inversion": (20_000, (11_824, 1_972, 5_912), 2, 276),
    "odd-man-out": (10_801, (6_410, 1_068, 3_204), 2, 0),
    "past-present": (10_000, (5_966, 994, 2_984), 2, 50),
    "subject-number": (10_000, (5_962, 994, 2_982), 2, 55),
    "tree-depth": (10_000, (5_235, 875, 2_615), 5, 106),
    "cola": (9_594, (4_286, 718, 636), 2, 23),
    "sst-2": (68_221, (12_000, 2_000, 856), 2, 366),
    "rte": (2_767, (2_124, 354, 262), 2, 2),
}


@pytest.fixture(scope="module")
def downloads(shared_data, tmp_path_factory) -> Path:
    """The local copies under the names that ``fetch`` gives them."""
    folder = tmp_path_factory.mktemp("downloads")
    (folder / "glue").mkdir()
    places = {
        "x-probe": "senteval-like-xprobe-en",
        "glue/CoLA": "glue-cola",
        "glue/SST-2": "glue-sst2",
        "glue/RTE": "glue-rte",
    }
    for name, place in (places | {"ud-english-ewt": "ud-english-ewt"}).items():
        (folder / name).symlink_to(shared_data / place)
    return folder


@pytest.fixture(scope="module")
def read(downloads) -> Iterator[Callable[..., SentenceData]]:
    """Data by task and protocol; the odd-man-out is made once, also for the test that looks at it sentence by
    sentence.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "odd_man_out", cache(tasks.odd_man_out))
        yield cache(lambda name, *protocol: read_task(name, downloads, *protocol)[1])


@pytest.mark.parametrize("name", SENTENCE_TASKS)
def test_a_task_has_as_many_rows_examples_labels_and_repeats_as_its_files(name, read):
    data = read(name)
    parts = tuple(len(data.parts[part]) for part in PARTS)
    assert (sum(parts) + sum(data.dropped.values()), parts, len(data.labels), data.dropped.get(REPEATED, 0)) == COUNTS[
        name
    ]
    texts, keys = Counter(), {}
    for part, examples in data.parts.items():
        assert len(set(Counter(one.label for one in examples).values())) == 1
        for one in examples:
            texts[one.text, one.pair] += 1
            keys.setdefault(words_key(one), set()).add(part)
    assert max(texts.values()) == 1 and max(map(len, keys.values())) == 1


def test_the_documentation_has_the_counts_of_the_data_sets(read):
    documentation = (Path(__file__).resolve().parents[2] / "docs" / "sentences.md").read_text(encoding="utf-8")
    lines = [line for line in documentation.splitlines() if line.startswith("| `") and line.count("|") == 10]
    assert len(lines) == len(COUNTS)
    for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines):
        data = read(cells[0].strip("`"))
        parts = [len(data.parts[part]) for part in PARTS]
        counts = [sum(parts) + sum(data.dropped.values()), len(data.labels), *parts]
        reasons = "; ".join(f"{number:,} {reason}" for reason, number in data.dropped.items())
        assert cells[3:] == [*(f"{number:,}" for number in counts), reasons]


def repeats(shared_data: Path, stem: str) -> tuple[int, int]:
    """Texts that a file has again, and texts that are in both files."""
    within, distinct = 0, []
    for part in ("va", "te"):
        lines = (
            (shared_data / "senteval-like-xprobe-en" / f"{stem}.{part}.txt")
            .read_bytes()
            .decode()
            .rstrip("\n")
            .split("\n")
        )
        distinct.append({line.rpartition("\t")[0] for line in lines})
        within += len(lines) - len(distinct[-1])
    return within, len(distinct[0] & distinct[1])


def test_defects_of_the_files_are_as_the_page_of_the_data_says(read, shared_data):
    raw = [one for examples in read("bigram-shift", "senteval").parts.values() for one in examples]
    labels: dict[str, set[str]] = {}
    for one in raw:
        labels.setdefault(words_key(one), set()).add(one.label)
    assert sum(len(found) == 2 for found in labels.values()) == 56
    assert Counter(one.label for one in raw) == {"inverted": 8_975, "original": 11_025}
    assert repeats(shared_data, "bigram_shift") == (86, 1)
    lower = Counter(one.label for one in raw if one.text[0].islower())
    assert lower == {"inverted": 677, "original": 92}
    raw = [one for examples in read("coordination-inversion", "senteval").parts.values() for one in examples]
    assert Counter(one.label for one in raw) == {"inverted": 9_985, "original": 10_015}
    assert repeats(shared_data, "coordination_inversion") == (260, 16)
    cola = read("cola")
    assert cola.dropped[TWO_LABELS] == 32 and cola.dropped[SAME_WORDS] == 21


def test_x_probes_odd_man_out_has_4248_texts_with_both_labels(shared_data):
    labels: dict[str, set[str]] = {}
    for part in ("va", "te"):
        for line in (
            (shared_data / "senteval-like-xprobe-en" / f"odd_man_out.{part}.txt")
            .read_bytes()
            .decode()
            .rstrip("\n")
            .split("\n")
        ):
            text, _, label = line.rpartition("\t")
            labels.setdefault(text, set()).add(label)
    assert (len(labels), sum(len(found) == 2 for found in labels.values())) == (10_650, 4_248)


def test_sentevals_protocol_takes_x_probes_validation_file_for_training(read):
    parts = read("bigram-shift", "senteval").parts
    assert [len(parts[part]) for part in PARTS] == [8_578, 1_422, 10_000]
    assert [len(read("past-present", "senteval").parts[part]) for part in PARTS] == [6_000, 1_001, 2_999]


def test_of_the_treebank_half_is_changed_by_words_of_the_same_tag_and_frequency(read, downloads):
    folder = downloads / "ud-english-ewt"
    assert read("odd-man-out").dropped[NO_CANDIDATE] == 118
    examples, without = tasks.odd_man_out(folder)
    assert len(examples) + without == 10_801 and without == 118
    assert Counter(one.label for one in examples) == {"original": 5_341, "changed": 5_342}
    # Again from the files alone: every changed sentence is one of the treebank with one word that is as frequent there.
    seen: dict[tuple[str, ...], list[list[str]]] = {}
    for part in ("train", "dev", "test"):
        for block in (folder / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf-8").split("\n\n"):
            columns = [line.split("\t") for line in block.split("\n") if line.split("\t")[0].isdigit()]
            seen.setdefault(tuple(one[1].lower() for one in columns), columns)
    single = Counter(word for words in seen for word in words)
    pairs = Counter(pair for words in seen for pair in pairwise(("", *words, "")))
    tags = {(one[1].lower(), one[4]) for columns in seen.values() for one in columns}
    made = iter(examples)
    one = next(made)
    for words, columns in seen.items():
        got = one.text.lower().split(" ")
        differing = [place for place, word in enumerate(words) if len(got) == len(words) and got[place] != word]
        if len(got) != len(words) or len(differing) != (one.label == "changed"):
            continue
        for place in differing:
            new, old, (before, _, behind) = got[place], words[place], ("", *words, "")[place : place + 3]
            assert columns[place][3] in ("NOUN", "VERB") and (new, columns[place][4]) in tags
            assert abs(log(single[new]) - log(single[old])) <= 1 + 1e-9
            assert abs(log1p(pairs[before, new]) - log1p(pairs[before, old])) <= 1
            assert abs(log1p(pairs[new, behind]) - log1p(pairs[old, behind])) <= 1
        one = next(made, one)
    assert next(made, None) is None and one is examples[-1]


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
    assert data.dropped == {INCOMPLETE: 1, OTHER_PART: 1} and "of other parts: 'all' (1)" in data.said
    assert "control characters read as blanks: 2" in data.said
    assert f"{sentences(120)[3][0]} ." in {one.text for part in PARTS for one in data.parts[part]}


def labelled(*labels: object, **columns: object) -> SentenceData:
    """The data of 60 sentences for each of the labels, which come in turn."""
    texts = [text for text, _ in sentences(60 * len(labels), ("",))]
    frame = pd.DataFrame({"text": texts, "label": [*labels] * 60} | columns)
    return read_upload(frame.to_json(orient="records").encode(), "mine.json")[1]


@pytest.mark.parametrize(
    ("labels", "classes", "none"),
    [
        (["a", "b", "-"], "ab", "'-' (60)"),
        (["a", "b", "N/A"], "ab", "'N/A' (60)"),
        (["a", "b", "_"], "ab", "'_' (60)"),
        ([0, 1, 2, -1], "012", "'-1' (60)"),
        (["0.0", "1.0", "2.0", "-1.0"], "012", "'-1.0' (60)"),
        ([0, 1, 0, 1, 0, 1, 0, 1, -1], "01", "'-1' (60)"),
        (["+", "-"], "+-", ""),
        ([-1, 1], ["-1", "1"], ""),
        ([-1, 0, 1], ["-1", "0", "1"], ""),
        ([-2, -1, 0, 1], ["-1", "-2", "0", "1"], ""),
        (["none", "other", "NA"], ["NA", "none", "other"], ""),
    ],
)
def test_what_says_that_there_is_no_label_is_counted_and_no_class(labels, classes, none):
    data = labelled(*labels)
    assert [label.removesuffix(".0") for label in data.labels] == [*classes]
    assert data.dropped.get(INCOMPLETE, 0) == (60 if none else 0)
    assert ("read as no label: " + none in data.said) if none else "as no label" not in data.said


@pytest.mark.parametrize(
    ("labels", "columns", "said"),
    [
        (["a", "none", "?"], {}, "classes that may be no label: 'none' (60), '?' (60)"),
        (["yes", "Yes", "**Yes**.", "C", "C+"], {}, "case or marks alone: 'yes' (60), 'Yes' (60), '**Yes**.' (60)"),
        (["[0]", "[1]"], {}, "classes that are lists: '[0]' (60), '[1]' (60)"),
        (["joy,anger", "joy; fear", "sad"], {}, "classes that are lists: 'joy,anger' (60), 'joy; fear' (60)"),
        (["joy", "fear", "joy|fear", "so, so"], {}, "classes that are lists: 'joy|fear' (60)"),
        (["a", "b"], {"text": [f"n{n}" for n in range(120)]}, "sentences of one word: 120"),
        (["a", "b"], {"hypothesis": ["It is.", ""] * 60}, "rows without a pair: 60"),
    ],
)
def test_what_is_doubtful_about_labels_and_texts_is_said(labels, columns, said):
    assert said in labelled(*labels, **columns).said


def test_minus_1_in_the_test_part_alone_is_no_class_beside_0_and_1():
    rows = [
        (text, n % 2 if n < 100 else -1, "train" if n < 100 else "test") for n, (text, _) in enumerate(sentences(200))
    ]
    rows += [(f"{text} again", n % 2, "validation") for n, (text, _) in enumerate(sentences(40))]
    frame = pd.DataFrame(rows, columns=["sentence", "label", "split"])
    _, data = read_upload(frame.to_csv(index=False).encode(), "mine.csv")
    assert data.labels == ("0", "1") and data.dropped[INCOMPLETE] == 100


def test_a_true_or_false_in_json_is_a_label_as_in_a_text_file():
    assert labelled(True, False).labels == ("False", "True")


def test_balancing_says_which_label_makes_most_rows_fall_out():
    data = labelled("a", "a", "a", "a", "b")
    kept = sum(map(len, data.parts.values()))
    assert f"the label 'b' has 60 of 300 rows, to which each class is cut: {kept} are left" in data.said
    assert kept == 120 and "cut" not in labelled("a", "b").said


@pytest.mark.parametrize("dev", ["eval", "Evaluation", "develop", "validation_matched", "val-1"])
@pytest.mark.parametrize("test", ["test", "testing", "Test set"])
def test_usual_spellings_of_the_parts_are_read_and_rows_of_others_are_counted(dev, test):
    parts = ["unsup"] * 2 + ["train"] * 4 + [dev] * 2 + [test] * 2
    data = labelled("a", "b", split=parts * 12)
    assert {part: len(examples) for part, examples in data.parts.items()} == {"train": 48, "dev": 24, "test": 24}
    assert data.dropped[OTHER_PART] == 24 and "of other parts: 'unsup' (24)" in data.said


@pytest.mark.parametrize("head", ["SemEval_set", "partition", "fold"])
def test_a_column_of_parts_has_any_name_and_one_of_a_single_part_is_none(head):
    data = labelled("a", "b", **{"corpus": "train", head: ["TRAIN", "TRAIN", "TRIAL", "TRIAL", "TEST", "TEST"] * 20})
    assert [len(data.parts[part]) for part in PARTS] == [40, 40, 40] and f"part = {head}" in data.said


def test_spellings_of_one_label_are_one_and_answers_to_choose_from_are_refused():
    assert labelled("1", "1.0", "0", "x").labels == ("0", "1", "x")
    assert labelled(*(unicodedata.normalize(form, "é") for form in ("NFC", "NFD")), "b").labels == ("b", "é")
    with pytest.raises(SentenceDataError, match=r"answers to choose from \(option1, option2\), as WinoGrande does"):
        labelled(1, 2, option1="Ann", option2="Ada")


def test_a_split_without_known_parts_is_refused_or_named_and_never_silent():
    with pytest.raises(SentenceDataError, match=r"got the parts train, 'holdout' \(60\); expected train, dev, test"):
        labelled("a", "b", split=["train", "holdout"] * 60)
    assert "divided by hash, as fold names no parts: '1' (60), '2' (60)" in labelled("a", "b", fold=[1, 2] * 60).said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *[("question", "sentence"), ("question1", "question2"), ("text1", "text2"), ("sentence_a", "sentence_b")],
        *[("premise", "hypothesis"), ("question", "passage"), ("question", "context"), ("#1 String", "#2 String")],
    ],
)
def test_pairs_have_many_names(one, other):
    frame = pd.DataFrame({"id": [1], one: ["Who is it ?"], other: ["It is Ada ."], "label": ["x"]})
    ((row,), _, said) = parse_own_file(frame.to_csv(index=False, sep="\t").encode(), "a.tsv")
    assert {row.example.text, row.example.pair} == {"Who is it ?", "It is Ada ."} and "is not read" not in said


def test_a_sentence_has_words_and_a_text_that_is_not_read_is_named():
    data = labelled("a", "b", sentence=[*range(120)], why=["This is the reason for it ."] * 120)
    assert "sentence = text" in data.said and not data.parts["test"][0].text.isdigit()
    assert "text that is not read: why (if the label depends on it, call it pair)" in data.said


def test_headings_may_be_german_french_or_spanish():
    for heads in ("Satz;Etikett", "phrase;étiquette", "frase;clase"):
        ((row,), _, _) = parse_own_file(f"{heads}\nEs ist so .;x\n".encode(), "a.csv")
        assert (row.example.text, row.example.label) == ("Es ist so .", "x")


@pytest.mark.parametrize("names", ["train.tsv dev.tsv test.tsv", "data/train-0.tsv data/valid-0.tsv data/test-0.tsv"])
def test_a_folder_of_files_that_are_called_as_parts_is_a_task(names, tmp_path):
    for name, place in zip(names.split(), range(0, 120, 40), strict=True):
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        tsv(tmp_path / "mine" / name, sentences(120)[place : place + 40])
    written(tmp_path / "mine" / "README.md", "no data")
    task, data = read_task(str(tmp_path / "mine"), tmp_path)
    assert task.name == data.task == "mine" and {len(examples) for examples in data.parts.values()} == {40}
    assert {one.text for one in data.parts["test"]} == {text for text, _ in sentences(120)[80:]}


def test_a_folder_of_texts_by_part_and_label_is_a_task_and_one_without_parts_is_refused(tmp_path):
    for place, (text, label) in enumerate(sentences(120)):
        written(tmp_path / "films" / ("test" if place % 3 == 2 else "train") / label / f"{place}_9.txt", text)
    written(tmp_path / "films" / "train" / "unsup" / "1.txt", "No label .")
    task, data = read_task(str(tmp_path / "films"), tmp_path)
    assert task.name == "films" and data.labels == ("even", "odd") and data.dropped[INCOMPLETE] == 1
    with pytest.raises(SentenceDataError, match=r"has no rows of a part; expected files such as train\.tsv"):
        read_task(str(written(tmp_path / "b" / "mine.tsv", "x").parent), tmp_path)


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
        ("a.tsv", b"sentence\tlabel\tpart\nHello .\tx\tall\n", r"got the parts 'all' \(1\); expected train, dev, test"),
        ("a.tsv", b"sentence\tlabel\tpart\nHello .\tx\ttrain\nBye .\tx\t\n", "some rows name a part and others do not"),
        ("a.tsv", b"sentence\tlabel\n", "holds no sentences"),
        ("a.tsv", b"", "holds no sentences"),
        ("a.jsonl", b'{"sentence": "Hello ."}\n', "got the columns 'sentence'; expected one called label"),
        ("a.jsonl", b'{"sentence": "\\ud800", "label": "x"}\n', "line 1: 'sentence' contains .*half a character"),
        (
            "a.jsonl",
            b'{"sentence": true, "label": "x"}\n',
            "line 1: 'sentence' is True; expected one text or number",
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


def test_sentences_of_one_part_are_refused_with_a_protocol_that_is_another(tmp_path):
    path = tsv(tmp_path / "mine.tsv", sentences(100))
    path.write_text(
        "sentence\tlabel\tpart\n" + "".join(f"{line}\ttrain\n" for line in path.read_text().splitlines()[1:])
    )
    with pytest.raises(SentenceDataError, match=r"train sentences only; .*: name no part, or name train and test"):
        read_task(str(path), tmp_path)
    with pytest.raises(SentenceDataError, match=r"train sentences only; .*\(--protocol ours\)"):
        read_task(str(path), tmp_path, "senteval")


def treebank(folder: Path, sentences: list[str]) -> Path:
    """UD English EWT's files with sentences of ``form/UPOS/XPOS``; all are in the training file."""
    folder.mkdir(parents=True)
    for part in ("train", "dev", "test"):
        lines = []
        for sentence in sentences if part == "train" else []:
            for place, word in enumerate(sentence.split(), 1):
                form, universal, tag = word.split("/")
                lines.append(f"{place}\t{form}\t_\t{universal}\t{tag}\t_\t0\troot\t_\t_\n")
            lines.append("\n")
        (folder / f"en_ewt-ud-{part}.conllu").write_text("".join(lines))
    return folder


def planted(number: int) -> list[str]:
    nouns = [f"noun{chr(97 + place)}" for place in range(10)]
    very = ["very/ADV/RB " * (place // 10) for place in range(number)]
    return [
        f"The/DET/DT {nouns[place % 10]}/NOUN/NN is/AUX/VBZ {very[place]}old/ADJ/JJ ./PUNCT/."
        for place in range(number)
    ]


def test_half_of_the_sentences_have_one_noun_replaced_by_another(tmp_path):
    folder = treebank(tmp_path / "ud-english-ewt", planted(100))
    examples, without = odd_man_out(folder)
    assert len(examples) + without == 100 and without == 0
    assert examples == make_odd_man_out(folder)
    counts = Counter(one.label for one in examples)
    assert min(counts.values()) > 30
    originals = [" ".join(word.split("/")[0] for word in one.split()) for one in planted(100)]
    for text, one in zip(originals, examples, strict=True):
        differing = [(old, new) for old, new in zip(text.split(), one.text.split(), strict=True) if old != new]
        assert len(differing) == (one.label == "changed")
        assert all(old.startswith("noun") and new.startswith("noun") for old, new in differing)


def test_short_long_and_repeated_sentences_and_those_without_noun_or_verb_are_passed_over(tmp_path):
    none = [
        "Old/ADJ/JJ and/CCONJ/CC very/ADV/RB very/ADV/RB old/ADJ/JJ",
        "One/NOUN/NN two/NOUN/NN three/NOUN/NN ./PUNCT/.",
    ]
    long = " ".join(["word/NOUN/NN"] * 29)
    repeated = [planted(1)[0].replace("The/", "THE/")]
    examples, without = odd_man_out(treebank(tmp_path / "ewt", [*planted(20), *none, long, *repeated]))
    assert len(examples) + without == 20


def test_a_sentence_that_nothing_fits_is_left_out_and_counted(tmp_path):
    sentences = [
        f"Only/ADV/RB {'so/ADV/RB ' * place}thing/NOUN/X{place} is/AUX/VBZ here/ADV/RB ./PUNCT/."
        for place in range(1, 20)
    ]
    examples, without = odd_man_out(treebank(tmp_path / "ewt", sentences))
    assert without > 3 and {one.label for one in examples} == {"original"} and len(examples) + without == 19


def test_a_line_of_another_form_is_named(tmp_path):
    folder = treebank(tmp_path / "ewt", planted(3))
    (folder / "en_ewt-ud-dev.conllu").write_text("1\tno\n")
    with pytest.raises(SentenceDataError, match=r"dev\.conllu, line 1: got 2 columns, expected CoNLL-U's 10"):
        make_odd_man_out(folder)
