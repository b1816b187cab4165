"""Ratios, bounds and what the command prints."""

import inspect
import json
from dataclasses import asdict
from importlib import import_module

import pytest
from typer.testing import CliRunner

from probing.core.errors import ProbingError
from tests.speed import __main__ as command
from tests.speed import measurement as module
from tests.speed.__main__ import PARTS, seconds, table
from tests.speed.measurement import BERT_BASE_TOKENS, Measurement, alternate, random_bert_base


@pytest.fixture()
def run():
    def call(*words):
        result = CliRunner().invoke(command.app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return call


def row(ratio=12.0, bound=10.0, at_most=False):
    return Measurement("heads", 2.0, "the plain way", 24.0, ratio, bound, at_most, "weights within 1e-4", "a slice")


@pytest.mark.parametrize(
    ("ratio", "bound", "at_most", "met"),
    [
        (12, 10, False, True),
        (9, 10, False, False),
        (1.2, 1.2, True, True),
        (1.3, 1.2, True, False),
        (None, 1, True, None),
        (3, None, False, None),
    ],
)
def test_a_bound_is_the_least_or_the_most(ratio, bound, at_most, met):
    assert row(ratio, bound, at_most).met() is met


def test_calls_alternate_and_the_first_of_each_is_not_counted(monkeypatch):
    order, clock = [], iter(range(100))
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    ours, theirs = alternate(lambda: order.append("ours"), lambda: order.append("theirs"), 3)
    assert order == ["ours", "theirs"] * 4
    assert len(ours) == len(theirs) == 3
    assert set(ours) == set(theirs) == {1}


def test_the_table_says_ratio_bound_and_what_was_equal():
    shown = table([row(), row(ratio=9.0), row(ratio=None, bound=None)])
    assert "heads: 12 (at least 10: kept)" in shown
    assert "heads: 9 (at least 10: MISSED)" in shown
    for said in ("ours: 2 s; the plain way: 24 s", "equal: weights within 1e-4", "note: a slice"):
        assert shown.count(said) == 3
    assert [seconds(value) for value in (0.0123, 2.5, 7200)] == ["12.3 ms", "2.5 s", "2 h"]


def test_the_command_measures_the_named_parts_and_prints_a_json_list(run, monkeypatch):
    asked = []

    class Part:
        def __init__(self, name):
            self.name = name

        def measure(self, quick):
            asked.append((self.name, quick))
            return [row()]

    monkeypatch.setattr(command, "import_module", Part)
    printed = json.loads(run("live", "heads", "--json", "--quick").output)
    assert asked == [("tests.speed.heads", True), ("tests.speed.live", True)], "in the order of PARTS"
    assert printed == [asdict(row())] * 2
    assert {"name", "ours_seconds", "alternative", "alternative_seconds", "ratio", "bound", "equal"} <= set(printed[0])
    asked.clear()
    run()
    assert asked == [(f"tests.speed.{part}", False) for part in PARTS]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_bench_can_be_imported_and_measured(part):
    """Without this, code that the benchmarks use could be renamed unnoticed until someone measures."""
    measure = import_module(f"tests.speed.{part}").measure
    assert inspect.signature(measure).bind(quick=True)


def test_an_unknown_part_is_named(run):
    with pytest.raises(ProbingError, match="no benchmark speed; expected any of heads"):
        run("speed")


@pytest.mark.bench
def test_the_random_model_is_made_once_with_a_tokenizer_of_its_size(tmp_path, monkeypatch):
    from transformers import BertConfig

    tiny = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    monkeypatch.setattr("transformers.BertConfig", lambda **more: BertConfig(**{**tiny, **more}))
    place = random_bert_base(tmp_path)
    weights = place / "model.safetensors"
    before = weights.stat().st_mtime_ns, weights.read_bytes()
    assert random_bert_base(tmp_path) == place
    assert (weights.stat().st_mtime_ns, weights.read_bytes()) == before
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    from probing.models.encoders.load import load_encoder

    encoder = load_encoder(place, device="cpu")
    assert len(encoder.tokenizer) == encoder.head.vocabulary.out_features == BERT_BASE_TOKENS
    asked = encoder.tokenizer.tokenize("Paris is the capital of [MASK].")
    assert asked == ["paris", "is", "the", "capital", "of", "[MASK]", "."]
