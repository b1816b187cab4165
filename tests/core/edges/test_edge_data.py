"""The data sets themselves: counts, floors and ceilings of every task, where the files are at hand."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from probing.core.edges.baselines import ceiling, memory_answers, seen_in_training, targets_of
from probing.core.edges.readers import gum, propbank
from probing.core.edges.readers import universal_dependencies as treebank
from probing.core.edges.readers.proto_roles import _annotations, _names
from probing.core.edges.target import Part, Record, TaskData
from probing.core.edges.tasks import EDGE_TASKS, EdgeTask, every_label, read_task

#: Task -> sentences, records and targets of training, development and test data; labels of training.
COUNTS = {
    "pos": ((12_544, 12_544, 204_577), (2_001, 2_001, 25_147), (2_077, 2_077, 25_094), 49),
    "constituents": ((12_504, 12_504, 189_656), (1_963, 1_963, 23_473), (2_054, 2_054, 23_303), 29),
    "dependencies": ((12_544, 12_544, 204_577), (2_001, 2_001, 25_147), (2_077, 2_077, 25_094), 51),
    "entities": ((14_041, 14_041 - 2_909, 23_499), (3_250, 2_605, 5_942), (3_453, 2_756, 5_648), 4),
    "srl": ((12_504, 33_468, 81_399), (1_963, 4_130, 9_576), (2_054, 3_967, 9_337), 58),
    "coreference": ((10_224, 10_224 - 4_442, 37_346), (1_575, 896, 6_899), (1_464, 878, 6_060), 2),
    "proto-roles": ((2_191, 2_191, 5_663), (291, 291, 749), (276, 276, 669), 18),
    "relations": ((6_851, 6_851, 6_851), (1_149, 1_149, 1_149), (2_717, 2_717, 2_717), 19),
    "constituents-merged": ((12_504, 12_504, 168_576), (1_963, 1_963, 20_478), (2_054, 2_054, 20_271), 29),
    "entities-gum": ((10_224, 9_528, 49_649), (1_575, 1_483, 7_897), (1_464, 1_408, 7_927), 10),
    "coreference-gum": ((10_224, 8_234, 175_625), (1_575, 1_276, 28_655), (1_464, 1_263, 28_520), 2),
}
#: Task -> F1 of memory and share of targets seen in training, in per cent, development data.
FLOORS = {
    "entities": (69.4, 69),
    "srl": (53.1, 28),
    "proto-roles": (21.6, 18),
    "relations": (11.7, 6),
}


@pytest.fixture(scope="module")
def read(shared_data) -> Iterator[Callable[[str], tuple[EdgeTask, TaskData]]]:
    """Tasks by name; each file is parsed once, also if several tasks read it."""
    with pytest.MonkeyPatch.context() as patch:
        trees, frames, parsed = treebank.read_sentences, propbank._sentences, gum.parsed_sentences
        documents: dict[Path, list] = {}

        def once(lines, path):
            if path not in documents:
                documents[path] = list(parsed(lines, path))
            return documents[path]

        patch.setattr(treebank, "read_sentences", cache(lambda path: list(trees(path))))
        patch.setattr(propbank, "_sentences", cache(lambda folder, part: list(frames(folder, part))))
        patch.setattr(gum, "parsed_sentences", once)
        yield cache(lambda name: read_task(name, shared_data))


def f1(gold, answers, counts) -> float:
    """Micro F1 in per cent, one target after the other."""
    right = given = wanted = 0
    for labels, answer in zip(gold, answers, strict=True):
        labels, answer = {label for label in labels if counts(label)}, {label for label in answer if counts(label)}
        right, given, wanted = right + len(labels & answer), given + len(answer), wanted + len(labels)
    return 200 * right / (given + wanted)


def labels_of(part: Part) -> list[tuple[str, ...]]:
    return [target.labels for _, target in targets_of(part)]


@pytest.mark.parametrize("name", EDGE_TASKS)
def test_a_task_has_as_many_sentences_records_targets_and_labels_as_its_files(name, read):
    _, data = read(name)
    counts = [(part.sentences, len(part.records), part.targets) for part in data.parts().values()]
    assert (*counts, len(data.labels)) == COUNTS[name]
    for record in (record for part in data.parts().values() for record in part.records):
        assert tuple(record.text.split()) == record.words and len(record.targets) > 0


@pytest.mark.parametrize("name", FLOORS)
def test_memory_and_seen_texts_of_a_task(name, read):
    task, data = read(name)
    expected, seen = FLOORS[name]
    assert f1(labels_of(data.dev), memory_answers(data.train, data.dev), task.counts) == pytest.approx(
        expected, abs=0.06
    )
    known = seen_in_training(data.train, data.dev)
    assert 100 * sum(known) / len(known) == pytest.approx(seen, abs=0.6)


def test_the_ceiling_of_constituents_is_below_89_per_cent_and_nearly_96_without_the_top_node(read):
    dev = read("constituents")[1].dev
    assert 100 * ceiling(dev, every_label) == pytest.approx(88.9, abs=0.05)
    lower = [
        Record(record.words, tuple(one for one in record.targets if one.labels != ("TOP",))) for record in dev.records
    ]
    assert 100 * ceiling(Part(tuple(lower)), every_label) == pytest.approx(95.7, abs=0.05)
    assert ceiling(read("constituents-merged")[1].dev, every_label) == 1.0
    spans = [(number, target.span1) for number, record in enumerate(dev.records) for target in record.targets]
    counted = Counter(spans)
    shared = sum(counted[span] > 1 for span in spans[:2000]) / 2000
    assert 0.2 < shared < 0.3


def test_roles_that_do_not_count_labels_of_test_only_and_pairs_of_one_entity(read):
    task, data = read("srl")
    dev = [label for labels in labels_of(data.dev) for label in labels]
    assert sum(label[:2] in ("R-", "C-") for label in dev) / len(dev) == pytest.approx(0.027, abs=0.0006)
    assert not any(task.counts(label) for label in dev if label[:2] in ("R-", "C-"))
    known = set(data.labels)
    assert sum(label not in known for labels in labels_of(data.test) for label in labels) == 1
    assert sum(part.dropped["predicates without an argument"] for part in data.parts().values()) == 8_608
    pairs = labels_of(read("coreference")[1].train)
    assert pairs.count(("1",)) / len(pairs) == pytest.approx(0.21, abs=0.005)
    pairs = labels_of(read("coreference-gum")[1].train)
    assert pairs.count(("1",)) / len(pairs) == pytest.approx(0.066, abs=0.0005)


def test_proto_roles_have_6_labels_a_target_some_have_none_and_their_parts_are_those_of_the_words(read, shared_data):
    _, data = read("proto-roles")
    labels = [found for part in data.parts().values() for found in labels_of(part)]
    assert sum(map(len, labels_of(data.train))) / data.train.targets == pytest.approx(6.4, abs=0.06)
    assert sum(not found for found in labels) == 179
    assert sum(part.dropped["pairs without an applicable answer"] for part in data.parts().values()) == 9
    assert not any("pairs outside their sentence" in part.dropped for part in data.parts().values())
    names = _names(shared_data / "spr2-uds" / "ud_ids.json")
    annotated = _annotations(shared_data / "spr2-uds" / "protoroles_raw.zip")
    for part in data.parts():
        there = {
            sentence.name
            for sentence in treebank.read_sentences(treebank.ewt_file(shared_data / "ud-english-ewt", part))
        }
        assert {names[key] for key in annotated if key.startswith(f"ewt-{part}-")} <= there


def test_the_commonest_properties_reach_more_than_memory_which_gives_one_label(read):
    task, data = read("proto-roles")
    counted = Counter(label for labels in labels_of(data.train) for label in labels)
    common = tuple(label for label, number in counted.items() if 2 * number >= data.train.targets)
    assert len(common) == 5
    assert f1(labels_of(data.dev), [common] * data.dev.targets, task.counts) == pytest.approx(61.8, abs=0.06)


def test_words_are_open_where_their_licence_lets_them(read):
    for name, is_open in {
        "pos": True,
        "dependencies": True,
        "srl": True,
        "proto-roles": True,
        "relations": True,
    }.items():
        assert all(record.open is is_open for part in read(name)[1].parts().values() for record in part.records)
    for name in ("constituents", "constituents-merged", "entities"):
        assert not any(record.open for part in read(name)[1].parts().values() for record in part.records)
    genres = {}
    for record in read("coreference")[1].train.records:
        genres.setdefault(record.open, set()).add(record.document.split("_")[1])
    assert genres[True] == {"academic", "bio", "court", "interview", "news", "voyage"}
    assert genres[False] == {
        "conversation",
        "essay",
        "fiction",
        "letter",
        "podcast",
        "speech",
        "textbook",
        "vlog",
        "whow",
    }
