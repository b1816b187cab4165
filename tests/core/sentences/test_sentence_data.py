"""The data sets themselves: counts and defects of every task, where the files are at hand."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from math import log, log1p
from pathlib import Path

import pytest

from probing.core.sentences import tasks
from probing.core.sentences.example import PARTS, SentenceData
from probing.core.sentences.odd_man_out import NO_CANDIDATE
from probing.core.sentences.splits import REPEATED, SAME_WORDS, TWO_LABELS, words_key
from probing.core.sentences.tasks import SENTENCE_TASKS, read_task

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
    documentation = (Path(__file__).resolve().parents[3] / "docs" / "sentences.md").read_text(encoding="utf-8")
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
