"""A folder in the authors' format is a task, and a typed sentence is cut into words as the data sets cut theirs."""

import pickle
import re

import pytest

from probing.edges.targets import Target
from probing.edges.tasks import EDGE_TASKS, read_task
from probing.edges.words import numbered, read_span, split_words, written_span
from probing.kernel.errors import EdgeDataError
from tests.edges.edge_files import write_own

ONE = {"text": "The cat  sleeps", "targets": [{"span1": [0, 2], "label": "NP"}], "info": {"document_id": "walk"}}
NONE = {"text": "So .", "targets": []}
PAIR = {
    "text": "Ann sings",
    "targets": [{"span1": [1, 2], "span2": [0, 1], "label": ["volition", "sentient"], "info": {"height": 1}}],
}


def one(**changed) -> dict:
    return {**ONE, "targets": [{**ONE["targets"][0], **changed}]}


def test_a_folder_is_a_task_called_by_its_name(tmp_path):
    folder = write_own(tmp_path / "nouns", train=[ONE, NONE], dev=[ONE])
    task, data = read_task(str(folder), tmp_path / "nowhere")
    assert (task.name, task.title, task.spans, task.data_set, task.place) == ("nouns", "nouns", 1, (), len(EDGE_TASKS))
    assert data.task == "nouns" and data.test is None and data.labels == ("NP",)
    assert data.train.records[0].targets == (Target((0, 2), None, ("NP",)),)
    assert data.train.records[0].words == ("The", "cat", "sleeps") and data.train.records[0].document == "walk"
    assert data.train.sentences == 2 and len(data.train.records) == 1
    assert task.counts("anything") and task.read() == (data.train, data.dev, None)


def test_a_label_may_be_a_list_and_may_be_empty(tmp_path):
    bare = {**PAIR, "targets": [{**PAIR["targets"][0], "label": []}]}
    task, data = read_task(str(write_own(tmp_path / "roles", train=[PAIR, bare], dev=[PAIR], test=[bare])), tmp_path)
    assert task.spans == 2 and data.train.records[0].targets == (Target((1, 2), (0, 1), ("sentient", "volition")),)
    assert data.test is not None and data.test.records[0].targets[0].labels == ()


def test_words_of_an_own_task_are_published_only_under_a_licence_that_lets_them(tmp_path):
    folder = write_own(tmp_path / "nouns", train=[ONE], dev=[ONE])
    task, data = read_task(str(folder), tmp_path)
    assert task.licence == "not stated" and not data.train.records[0].open
    cases = {"CC BY-SA 4.0": True, "MIT License": True, "CC0 1.0": True, "public domain": True, "CC BY 4.0": True}
    cases |= dict.fromkeys(("The MIT License (MIT)", "Apache License, Version 2.0", "cc-by-sa-4.0"), True)
    cases |= {
        "MIT licence for the program, not for its texts": False,
        "CC BY-NC 4.0": False,
        "CC BY-NC-SA 4.0": False,
        "CC BY-ND 4.0": False,
        "LDC User Agreement": False,
        "MITRE": False,
    }
    for licence, is_open in cases.items():
        (folder / "LICENCE").write_text(f"\n{licence}\nmore\n")
        task, data = read_task(str(folder), tmp_path)
        assert (task.licence, data.dev.records[0].open) == (licence, is_open)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": "a"', "line 2: is not JSON"),
        ("[" * 100_000, "line 2: is not JSON"),
        ('["a"]', "line 2: expected an object with 'text'"),
        ({"text": 3, "targets": []}, "line 2: expected an object with 'text'"),
        ({"text": "a", "targets": {}}, "line 2: expected an object with 'text'"),
        ({"text": "a", "targets": ["b"]}, "line 2: target 1: expected an object with 'span1'"),
        ({"text": "a", "targets": [{"span1": [0, 1]}]}, "line 2: target 1: expected an object with 'span1', 'label'"),
        (one(span1=None), "line 2: target 1 has 0 spans"),
        (one(span1=[2, 4]), r"line 2: target 1, span1: got \[2, 4\], which is outside the sentence of 3 words"),
        (one(span1=[-1, 1]), "which is outside the sentence"),
        (one(span1=[2, 1]), r"got \[2, 1\], which is reversed"),
        (one(span1=[1, 1]), r"got \[1, 1\], which is empty"),
        (one(span1=[0, 1.5]), "expected two whole numbers"),
        (one(span1=[True, 2]), "expected two whole numbers"),
        (one(span1="0:2"), 'got "0:2", expected two whole numbers'),
        (one(span1=[0, 1, 2]), "expected two whole numbers"),
        (
            one(span2=[0, 1]),
            "line 2: target 1 has 2 spans, targets before it have 1; expected 'span2' in all or in none",
        ),
        (one(label=3), "line 2: target 1: got the label 3, expected text"),
        (one(label=None), "got the label null, expected text"),
        (one(label=["a", 1]), "expected text or a list of texts"),
        (one(label=""), "none of them empty"),
        (one(label=["b", "b"]), "one of which is given twice"),
        (one(label="\ud800"), r"line 2: target 1: 'label' contains '\\ud800', which is half a character"),
        (one(label="a\nb"), "'label' contains the control character"),
        (one(label="a\x00"), "'label' contains the control character"),
        (one(label="x" * 50_000), "has 50,000 letters"),
        ({**ONE, "text": "a \ud800 b"}, r"line 2: 'text' contains '\\ud800'"),
        ({**ONE, "words": ["The", "cat "], "text": "The cat sleeps"}, "line 2: 'words' are not the words of 'text'"),
        ({**ONE, "words": ["The", " "]}, r'line 2: \'words\' is \["The", " "\], expected a list of texts'),
        ({**ONE, "text": "The cat ##s"}, "line 2: got the word '##s'; expected words with letters, not the pieces"),
        ({**ONE, "text": "The \u00a0 cat"}, r"line 2: got the word '\\xa0'; expected words"),
        ({**ONE, "tokens": ["The", "cat", "sleep", "##s"]}, "line 2: 'tokens' are not the words of 'text'"),
        (one(label=" "), "none of them empty"),
        ({**ONE, "words": ["The cat"]}, "line 2: 'words' are not the words of 'text'"),
        ({"words": ["The cat"], "targets": ONE["targets"]}, "which is outside the sentence of 1 words"),
        ({**ONE, "info": {"document_id": "\ud800"}}, "line 2: 'document_id' contains"),
        ('{"text": "a", "text": "b", "targets": []}', "line 2: the key 'text' is given twice"),
    ],
)
@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_a_wrong_line_is_named_left_out_and_counted_and_the_file_refused_if_most_are_wrong(
    line, said, part, tmp_path, caplog
):
    parts = {"train": [ONE], "dev": [ONE], "test": [ONE], part: [ONE, line]}
    data = read_task(str(write_own(tmp_path / "mine", **parts)), tmp_path)[1]
    assert data.parts()[part].dropped == {"malformed sentences": 1} and data.parts()[part].sentences == 2
    assert re.search(rf"mine.{part}\.jsonl.*{said}", caplog.text)
    with pytest.raises(EdgeDataError, match=rf"mine.{part}\.jsonl.*{said}.*2 lines are malformed, 1 are not"):
        read_task(str(write_own(tmp_path / "mine", **parts | {part: [ONE, line, line]})), tmp_path)


def test_a_sentence_that_is_left_out_does_not_decide_on_the_spans_of_the_others(tmp_path):
    first = {**PAIR, "targets": [*PAIR["targets"], {"span1": [0, 9], "span2": [0, 1], "label": "x"}]}
    data = read_task(str(write_own(tmp_path / "mine", train=[first, ONE, ONE], dev=[ONE])), tmp_path)[1]
    assert len(data.train.records) == 2 and data.train.records[0].targets[0].span2 is None


def test_words_that_hold_blanks_come_as_a_list_and_control_characters_are_blanks(tmp_path):
    rows = [
        *({key: ["10 000", "cats\x07"], "targets": ONE["targets"]} for key in ("words", "tokens")),
        *({**ONE, "text": text, "tokens": [7]} for text in ("10\u00a0000\tcats", "\x1bThe cat\x00sleeps")),
    ]
    data = read_task(str(write_own(tmp_path / "mine", train=rows, dev=[ONE])), tmp_path)[1]
    first = data.train.records[0]
    assert [one.words for one in data.train.records] == [*[("10 000", "cats")] * 3, ("The", "cat", "sleeps")]
    # What is stored can be split into the words again.
    assert first.text.split(" ") == ["10\u00a0000", "cats"]


def test_labels_lose_blanks_and_those_of_two_cases_and_parts_alike_are_said(tmp_path, caplog):
    parts = {"train": [one(label=" NP"), one(label="np")], "dev": [ONE, {**ONE, "text": "A dog"}], "test": [ONE]}
    data = read_task(str(write_own(tmp_path / "mine", **parts)), tmp_path)[1]
    assert data.labels == ("NP", "np") and "labels that differ by case or marks alone: 2 (NP; np)" in caplog.text
    assert "mine: 1 of 2 texts of dev are in a part before it, too" in caplog.text
    assert "mine: 1 of 1 texts of test are in a part before it, too" in caplog.text
    write_own(tmp_path / "other", train=[ONE], dev=[one(label="SUBJECT"), one(label="OBJECT")])
    read_task(str(tmp_path / "other"), tmp_path)
    assert "other: 2 of 2 labels of dev never occur in training" in caplog.text


@pytest.mark.parametrize(
    ("words", "start", "said"),
    [
        ("[CLS] The cat", 0, "a wrong encoding: 21 of 21 ([CLS])"),
        ("\u0120The cat", 0, "a wrong encoding: 21 of 21 (\u0120The)"),
        ("The cat", 1, "spans are counted from 0; none of 21 targets begins at 0"),
        ("The cat", 0, ""),
    ],
)
def test_words_and_spans_of_a_program_that_counts_or_writes_otherwise_are_said(words, start, said, tmp_path, caplog):
    rows = [{"text": f"{words} {n}", "targets": [{"span1": [start, 2], "label": "NP"}]} for n in range(21)]
    read_task(str(write_own(tmp_path / "mine", train=rows[1:], dev=rows[:1])), tmp_path)
    assert said in caplog.text and bool(said) == bool(caplog.text)


def test_one_and_two_spans_are_not_mixed_across_parts(tmp_path):
    with pytest.raises(EdgeDataError, match=r"dev\.jsonl, line 1: target 1 has 2 spans, targets before it have 1"):
        read_task(str(write_own(tmp_path / "mine", train=[ONE], dev=[PAIR])), tmp_path)


def test_missing_and_empty_parts_are_named(tmp_path):
    with pytest.raises(EdgeDataError, match=r"has no dev\.jsonl; expected train\.jsonl, dev\.jsonl"):
        read_task(str(write_own(tmp_path / "mine", train=[ONE])), tmp_path)
    with pytest.raises(EdgeDataError, match=r"has no train\.jsonl"):
        read_task(str(write_own(tmp_path / "yours", dev=[ONE])), tmp_path)
    for rows in ([], [NONE]):
        with pytest.raises(EdgeDataError, match=r"dev\.jsonl has no targets"):
            read_task(str(write_own(tmp_path / "mine", train=[ONE], dev=rows)), tmp_path)
    with pytest.raises(EdgeDataError, match=r"train\.jsonl has no label"):
        read_task(str(write_own(tmp_path / "mine", train=[one(label=[])], dev=[ONE])), tmp_path)


def test_folders_called_as_in_the_authors_code_count_as_they_do(tmp_path):
    task, _ = read_task(str(write_own(tmp_path / "edges-srl-ontonotes", train=[PAIR], dev=[PAIR])), tmp_path)
    assert task.counts("ARG1") and not task.counts("R-ARG1")
    task, _ = read_task(str(write_own(tmp_path / "edges-coref-ontonotes", train=[PAIR], dev=[PAIR])), tmp_path)
    assert task.counts("1") and not task.counts("0")


def test_tasks_can_be_sent_to_other_processes(tmp_path):
    own, _ = read_task(str(write_own(tmp_path / "nouns", train=[ONE], dev=[ONE])), tmp_path)
    for task in [*EDGE_TASKS.values(), own]:
        assert pickle.loads(pickle.dumps(task)) == task


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("he smoked toronto, with six hits ...", "he smoked toronto , with six hits ..."),
        ("Don't you think it's the dogs' bone?!", "Do n't you think it 's the dogs ' bone ? !"),
        (
            "She can’t “see” 1,000.5 well-known U.S. sites at a@b.org.",
            "She ca n’t “ see ” 1,000.5 well-known U.S. sites at a@b.org .",
        ),
        ("<b>Zoë’s</b> 🙂 (o'clock)", "< b > Zoë ’s < / b > 🙂 ( o'clock )"),
        ("हिन्दी भाषा e\u0301te\u0301", "हिन्दी भाषा e\u0301te\u0301"),
        ("  \n ", ""),
    ],
)
def test_a_sentence_is_cut_at_blanks_marks_and_clitics(text, words):
    assert " ".join(split_words(text)) == words


@pytest.mark.parametrize("text", ["I do n't know what 's up , he said .", "it costs $ 3 , or so ..."])
def test_words_that_are_apart_already_stay_as_they_are(text):
    assert list(split_words(text)) == text.split()


def test_every_character_but_blanks_is_in_a_word_and_cutting_again_changes_nothing():
    text = (
        "".join(chr(number) for number in range(33, 0x2600) if chr(number).isprintable())
        + " ''s n't's -- a--b x'-y ..!! 𝔘."
    )
    words = split_words(text)
    assert "".join(words) == "".join(text.split())
    assert split_words(" ".join(words)) == words


def test_a_span_is_read_as_commands_and_as_links_write_it():
    assert read_span("3:5", 5, "--span1") == read_span(" 3-5 ", 5, "span1") == (3, 5)
    assert read_span(written_span((0, 2)), 2, "span1") == (0, 2)
    assert numbered(["he", "ran"]) == "0 he  1 ran"
