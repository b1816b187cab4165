"""All tasks of one sentence are asked at once, and their probes are found where they lie."""

import shutil

import numpy as np
import pytest

from probing.edges import ask as files
from probing.edges.ask import ask_sentence, find_probes, probes_folder, read_probes, write_probes
from probing.kernel.errors import EdgeDataError, ModelError
from probing.kernel.models.arrays import FILE
from tests.edges.planted_probes import PLANTED, plant_probes, planted_probes
from tests.tiny_models import LAYERS, save

WORDS = ["paris", "is", "the", "capital", "of", "france", "."]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    root = tmp_path_factory.mktemp("asked")
    return plant_probes(save("bert", root / "tiny"), root / "cache", ())


@pytest.fixture(scope="module")
def probes(encoder):
    return [planted_probes(encoder, task) for task in PLANTED]


def test_tasks_of_one_span_are_asked_of_both_and_tasks_of_two_of_the_pair(encoder, probes):
    found = ask_sentence(encoder, probes, WORDS, (0, 1), (5, 6))
    assert [(one.task, one.spans) for one in found] == [
        ("pos", ((0, 1),)),
        ("pos", ((5, 6),)),
        ("entities", ((0, 1),)),
        ("entities", ((5, 6),)),
        *((task, ((0, 1), (5, 6))) for task in ("srl", "proto-roles", "coreference")),
    ]
    assert all(one.p.shape == (LAYERS + 1, len(one.labels)) for one in found)


def test_an_answer_does_not_depend_on_what_is_asked_beside_it(encoder, probes):
    together = ask_sentence(encoder, probes, WORDS, (0, 1), (3, 6))
    alone = {
        (one.task, one.spans): one.p for span in ((0, 1), (3, 6)) for one in ask_sentence(encoder, probes, WORDS, span)
    }
    pairs = (probe for probe in probes if probe.shape.spans == 2)
    pair = {one.task: one.p for probe in pairs for one in ask_sentence(encoder, [probe], WORDS, (0, 1), (3, 6))}
    for one in together:
        expected = alone[one.task, one.spans] if len(one.spans) == 1 else pair[one.task]
        np.testing.assert_allclose(one.p, expected, atol=1e-6)


def test_a_longer_span_is_not_put_to_tasks_of_single_words(encoder, probes):
    assert {one.task for one in ask_sentence(encoder, probes, WORDS, (2, 4), (5, 6))} == {
        "pos",
        "entities",
        "srl",
        "coreference",
    }
    assert [one.spans for one in ask_sentence(encoder, probes, WORDS, (2, 4), (5, 6)) if one.task == "pos"] == [
        ((5, 6),)
    ]


def test_the_same_span_twice_is_a_pair_and_one_span(encoder, probes):
    found = ask_sentence(encoder, probes, WORDS, (0, 1), (0, 1))
    assert [one.spans for one in found if one.task in ("pos", "srl")] == [((0, 1),), ((0, 1), (0, 1))]


def test_a_span_beyond_the_longest_input_and_one_without_word_pieces_are_refused(encoder, probes):
    with pytest.raises(EdgeDataError, match=r"longest input.*choose other words"):
        ask_sentence(encoder, probes, ["paris"] * 600, (598, 599))
    with pytest.raises(EdgeDataError, match="without word pieces"):
        ask_sentence(encoder, probes, ["paris", "\u00ad"], (1, 2))


def test_probes_of_other_weights_are_asked_only_where_these_are_named(encoder):
    foreign = [planted_probes(encoder, "pos", weights="f" * 64)]
    with pytest.raises(ModelError, match="other weights"):
        ask_sentence(encoder, foreign, WORDS, (0, 1))
    assert len(ask_sentence(encoder, foreign, WORDS, (0, 1), weights="f" * 64)) == 1


def test_probes_are_found_by_weights_in_the_cache_first_and_among_those_that_ship_by_name(
    encoder, tmp_path, monkeypatch
):
    cache, shipped = tmp_path / "cache", tmp_path / "shipped"
    monkeypatch.setattr(files, "SHIPPED", shipped)
    assert find_probes("tiny", encoder.weights_id, cache) == {}
    own = write_probes(planted_probes(encoder, "srl"), probes_folder(cache, encoder.weights_id, "srl"))
    both = write_probes(planted_probes(encoder, "srl"), shipped / "tiny" / "srl")
    ships = write_probes(planted_probes(encoder, "pos"), shipped / "tiny" / "pos")
    write_probes(planted_probes(encoder, "entities", weights="f" * 64), shipped / "tiny" / "entities")
    write_probes(planted_probes(encoder, "entities"), shipped / "another" / "entities")
    assert both.is_file() and find_probes("tiny", encoder.weights_id, cache) == {"pos": ships, "srl": own}
    shutil.copytree(own.parent, own.parent.with_name("a-task-of-mine"))
    assert list(find_probes("tiny", encoder.weights_id, cache)) == ["pos", "srl", "a-task-of-mine"]


def test_a_damaged_file_of_probes_is_found_and_reading_it_says_so(encoder, tmp_path):
    folder = probes_folder(tmp_path, encoder.weights_id, "pos")
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(b"no probes")
    (path,) = find_probes("tiny", encoder.weights_id, tmp_path).values()
    with pytest.raises(Exception, match="train them again"):
        read_probes(path)
