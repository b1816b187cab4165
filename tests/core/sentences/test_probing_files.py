"""SentEval's files and X-Probe's: two layouts, one reader, one name for each label."""

import pytest

from probing.core.errors import OptionError, SentenceDataError
from probing.core.sentences.example import Example
from probing.core.sentences.readers.labelled_sentence import Labelled
from probing.core.sentences.readers.probing_files import read_probing_file
from probing.core.sentences.tasks import ALL, SENTENCE_TASKS, read_task
from tests.core.sentences.sentence_files import sentences, x_probe

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


def test_missing_data_say_how_to_fetch_them(tmp_path):
    with pytest.raises(
        SentenceDataError, match=r"no folder .*x-probe; bigram-shift needs it: .* fetch x-probe or .* fetch senteval"
    ):
        read_task("bigram-shift", tmp_path)
    (tmp_path / "x-probe").mkdir()
    with pytest.raises(
        SentenceDataError, match=r"has no bigram_shift\.te\.txt; fetch it again: python -m probing fetch x-probe"
    ):
        read_task("bigram-shift", tmp_path)
    (tmp_path / "glue").mkdir()
    with pytest.raises(SentenceDataError, match=r"train\.tsv"):
        read_task("cola", tmp_path)
    (tmp_path / "ud-english-ewt").mkdir()
    with pytest.raises(SentenceDataError, match=r"en_ewt-ud-train\.conllu is missing; fetch its data set first"):
        read_task("odd-man-out", tmp_path)


def test_unknown_names_list_what_there_is_and_x_probes_odd_man_out_is_refused_with_the_reason(tmp_path):
    with pytest.raises(
        OptionError, match=r"got the task 'bigram'; expected one of bigram-shift, .*, or the path of a file"
    ):
        read_task("bigram", tmp_path)
    with pytest.raises(OptionError, match="got the protocol 'theirs', expected one of ours, quick, senteval"):
        read_task("bigram-shift", tmp_path, "theirs")
    for name in ("odd_man_out", "x-probe/odd_man_out.te.txt"):
        with pytest.raises(
            SentenceDataError,
            match="broken at its source: 4,248 of its 10,650 texts have both labels; take odd-man-out",
        ):
            read_task(name, tmp_path)


def test_all_are_six_tasks_and_only_texts_with_a_licence_may_be_stored():
    assert ALL == (
        "bigram-shift",
        "coordination-inversion",
        "odd-man-out",
        "past-present",
        "subject-number",
        "tree-depth",
    )
    assert list(SENTENCE_TASKS)[6:] == ["cola", "sst-2", "rte"]
    assert [name for name, task in SENTENCE_TASKS.items() if task.open] == ["odd-man-out"]
    assert {task.level for task in SENTENCE_TASKS.values()} <= {"surface", "syntactic", "semantic", "discourse"}
