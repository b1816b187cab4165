"""Probes in files, and a sentence that is asked through them."""

import json
import warnings

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from probing.edges.ask import TaskProbes, ask_sentence, probes_folder, read_probes, write_probes
from probing.edges.probes import keys_of, unpacked
from probing.edges.requests import EdgeRecipe
from probing.edges.states import TrainingData, part_arrays, word_states
from probing.edges.targets import Part, Record, Target
from probing.edges.training import probabilities, train_probes
from probing.kernel.errors import EdgeDataError, HeadError, ModelError
from probing.kernel.models.arrays import FILE

CPU = torch.device("cpu")
WORDS = ("paris", "berlin", "red", "green", "blue", "sun", "moon", "jazz", "music", "zebra")
LABELS = ("colour", "short", "town")


def labels_of(words) -> tuple[str, ...]:
    found = ["colour"] * bool({"red", "green", "blue"} & set(words)) + ["town"] * bool({"paris", "berlin"} & set(words))
    return tuple(sorted(found + ["short"] * (len(words) == 1)))


def part_of(spans: int, seed: int) -> Part:
    draw, records = np.random.default_rng(seed), []
    for _ in range(40):
        words = tuple(str(word) for word in draw.choice(WORDS, 6))
        targets = []
        for start in (0, 2, 4):
            first, second = (start, start + int(draw.integers(1, 3))), (5 - start // 2, 6)
            targets.append(Target(first, second if spans == 2 else None, labels_of(words[slice(*first)])))
        records.append(Record(words, tuple(targets)))
    return Part(tuple(records))


@pytest.fixture(scope="module")
def made(encoder_of, tmp_path_factory):
    """Spans -> (trained probes ready to be written, development part, their stored probabilities)."""
    encoder, found = encoder_of("bert"), {}
    for spans in (1, 2):
        parts = {name: part_of(spans, seed) for seed, name in enumerate(("train", "dev"))}
        states = word_states(
            [one for part in parts.values() for one in part.records], encoder, tmp_path_factory.mktemp("states")
        )
        arrays = {name: part_arrays(part, states, LABELS) for name, part in parts.items()}
        data = TrainingData(arrays["train"], states, arrays["dev"], states, np.ones(3, bool))
        keys = keys_of(["cumulative"], ["task"], [0], encoder.depth)
        recipe = EdgeRecipe(width=12, learning_rate=0.01, batch=10, check_every=20, most_checks=3)
        trained = train_probes(data, keys, recipe, CPU)
        probes = TaskProbes(
            f"words-{spans}",
            "Words",
            LABELS,
            (True, False, True),
            encoder.weights_id,
            recipe.canonical(),
            tuple(map(float, trained.best)),
            trained.shape,
            trained.flat,
        )
        p = probabilities(trained, range(len(keys)), arrays["dev"], states, CPU)
        found[spans] = probes, parts["dev"], p
    return found


@pytest.mark.parametrize("spans", [1, 2])
@pytest.mark.parametrize(("bits", "near"), [(16, 1e-3), (8, 1 / 127), (6, 1 / 31)])
def test_probes_are_read_as_they_were_written_up_to_their_bits(made, tmp_path, spans, bits, near):
    probes = made[spans][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = write_probes(probes, tmp_path, bits)
        again = read_probes(path)
    assert {name: value for name, value in vars(again).items() if name != "flat"} == {
        name: value for name, value in vars(probes).items() if name != "flat"
    }
    for name, one in unpacked(again.flat, again.shape).items():
        wanted = unpacked(probes.flat, probes.shape)[name]
        assert (one - wanted).abs().max() <= near * float(wanted.abs().max()), name
    before = path.read_bytes()
    assert write_probes(probes, tmp_path / "again", bits).read_bytes() == before


def test_rows_of_zeros_and_of_one_large_weight_are_kept_in_eight_bits(made, tmp_path):
    probes = made[1][0]
    flat = probes.flat.clone()
    given = unpacked(flat, probes.shape)
    given["hidden.weight"][0, 0] = 0
    given["hidden.weight"][0, 1] = 1e-9
    given["hidden.weight"][0, 2, 0] = 900.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = read_probes(write_probes(TaskProbes(**(vars(probes) | {"flat": flat})), tmp_path, 8))
    found = unpacked(again.flat, again.shape)["hidden.weight"][0]
    assert not found[0].any() and not found[1].any() and abs(float(found[2, 0]) - 900) < 1


def rewritten(path, change) -> None:
    with safe_open(path, framework="numpy") as stream:
        about = json.loads(stream.metadata()["probes"])
        arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    change(about, arrays)
    save_file(arrays, path, metadata={"probes": json.dumps(about)})


def grown(about, arrays):
    arrays["out.bias"] = arrays["out.bias"] + np.float16(1)


def lost(about, arrays):
    del arrays["gamma"]


DAMAGE = {
    "torn": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "one bit": lambda path: path.write_bytes(
        path.read_bytes()[:-9] + bytes([path.read_bytes()[-9] ^ 4]) + path.read_bytes()[-8:]
    ),
    "other weights": lambda path: rewritten(path, grown),
    "other labels": lambda path: rewritten(
        path, lambda about, arrays: about.update(labels=["colour", "town", "short"])
    ),
    "a tensor less": lambda path: rewritten(path, lost),
    "a later version": lambda path: rewritten(path, lambda about, arrays: about.update(version=2)),
    "no shape": lambda path: rewritten(path, lambda about, arrays: about.pop("shape")),
    "strange shape": lambda path: rewritten(path, lambda about, arrays: about.update(shape=[1, 2])),
    "not ours": lambda path: save_file({"a": np.zeros(2)}, path),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(made, tmp_path, damage):
    path = write_probes(made[1][0], tmp_path)
    DAMAGE[damage](path)
    with pytest.raises(
        HeadError, match=r"cannot read the probes in .*probes.safetensors: .*delete the file and train them again"
    ):
        read_probes(path)


def test_probes_of_an_encoder_lie_in_its_folder(tmp_path):
    assert (
        probes_folder(tmp_path, "0123456789abcdef99", "pos") / FILE
        == tmp_path / "edges" / "0123456789abcdef" / "pos" / FILE
    )


@pytest.mark.parametrize("spans", [1, 2])
def test_a_sentence_that_is_asked_has_the_answers_that_were_stored_of_it(made, bert, tmp_path, spans):
    probes, part, p = made[spans]
    stored = {bits: read_probes(write_probes(probes, tmp_path / str(bits), bits)) for bits in (16, 8)}
    place = 0
    for record in part.records[:12]:
        for target in record.targets:
            for one, near in ((probes, 5e-3), (stored[16], 1e-2), (stored[8], 0.1)):
                (found,) = ask_sentence(bert, [one], record.words, target.span1, target.span2)
                assert np.abs(found.p - p[:, place]).max() < near
            place += 1


def test_spans_that_cannot_be_asked_are_refused(made, bert):
    one, two = made[1][0], made[2][0]
    for span in ((0, 3), (1, 1), (-1, 1), (2, 1)):
        with pytest.raises(
            EdgeDataError,
            match=rf"got the span {span[0]}-{span[1]} in a sentence of 2 words; expected 0 <= start < end <= 2",
        ):
            ask_sentence(bert, [one], ["the", "sun"], span, None)
        with pytest.raises(EdgeDataError, match="got the span"):
            ask_sentence(bert, [two], ["the", "sun"], (0, 1), span)
    with pytest.raises(
        EdgeDataError, match=r"a chosen span cannot be probed \(words without word pieces\); choose other words"
    ):
        ask_sentence(bert, [one], ["the", "\u00ad"], (1, 2), None)
    with pytest.raises(
        EdgeDataError, match=r"beyond the model's longest input\); choose other words or a shorter sentence"
    ):
        ask_sentence(bert, [one], ["sun"] * 100, (99, 100), None)
    assert ask_sentence(bert, [two], ["the", "sun"], (0, 1), None) == []


def test_probes_of_other_weights_are_refused(made, encoder_of):
    with pytest.raises(
        ModelError, match=r"the probes of words-1 were trained on other weights than tiny-electra has; train them again"
    ):
        ask_sentence(encoder_of("electra"), [made[1][0]], ["the", "sun"], (0, 1), None)
