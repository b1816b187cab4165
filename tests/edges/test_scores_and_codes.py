"""Counts, F1, traces and online codes, against slow recomputations."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from probing.edges.probes import CodeScore, F1Score, ProbeKey, counts_of, keys_of, logits_of, mask_of
from probing.edges.requests import EdgeRecipe
from probing.edges.states import TrainingData, batch_of
from probing.edges.training import (
    ENDS,
    counts_by_label,
    online_codes,
    portions_of,
    probabilities,
    traces_of,
    train_probes,
)
from tests.edges.planted import arrays_of, drawn, one_hot, planted

CPU = torch.device("cpu")
RECIPE = EdgeRecipe(width=6, learning_rate=0.02, batch=5, check_every=8, most_checks=3)
KEYS = keys_of(["cumulative"], ["task", "control"], [0], 2)


def slow_f1(given: np.ndarray, gold: np.ndarray, counted: np.ndarray, missed: int = 0) -> float:
    tp = fp = fn = 0
    for target in range(len(given)):
        for label in np.flatnonzero(counted):
            tp += given[target, label] and gold[target, label]
            fp += given[target, label] and not gold[target, label]
            fn += gold[target, label] and not given[target, label]
    whole = 2 * tp + fp + fn + missed
    return 2 * tp / whole if whole else 0.0


@pytest.fixture(scope="module")
def trained():
    """Data whose development part has labels that training lacks, and probes."""
    data = drawn(2)
    unknown = np.zeros(len(data.dev), np.int64)
    unknown[[3, 8]] = 1, 2
    data = replace(data, dev=replace(data.dev, unknown=unknown))
    return data, train_probes(data, KEYS, RECIPE, CPU)


def test_the_best_score_is_the_micro_f1_of_the_checkpoint_and_unseen_labels_are_missed(trained):
    data, probes = trained
    p = probabilities(probes, range(len(KEYS)), data.dev, data.dev_states, CPU)
    for number, key in enumerate(KEYS):
        control = key.labels == "control"
        assert probes.best[number] == pytest.approx(
            slow_f1(p[number] >= 0.5, data.dev.gold[int(control)], data.counted, 0 if control else 3)
        )
    assert (p >= 0.5).any() and len(set(probes.best)) > 2


def test_counts_by_label_are_those_of_each_target(trained):
    data, probes = trained
    p = probabilities(probes, range(len(KEYS)), data.dev, data.dev_states, CPU)
    chosen = np.flatnonzero(np.arange(len(data.dev)) % 3 == 1)
    counts = counts_by_label(p, KEYS, data.dev, chosen)
    for number, key in enumerate(KEYS):
        gold = data.dev.gold[int(key.labels == "control")]
        for label in range(5):
            pairs = [(bool(p[number, target, label] >= 0.5), bool(gold[target, label])) for target in chosen]
            wanted = [pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]
            assert counts[number, label].tolist() == wanted


def test_f1_of_counts_is_scikit_learn_s():
    from sklearn import metrics

    draw = np.random.default_rng(0)
    given, gold = draw.random((3, 200, 6)) < 0.3, draw.random((3, 200, 6)) < 0.4
    counts, counted = counts_of(given, gold), [0, 2, 3]
    for probe in range(3):
        tp, fp, fn, _ = counts[probe, counted].sum(0)
        wanted = metrics.f1_score(gold[probe], given[probe], average="micro", labels=counted)
        assert 2 * tp / (2 * tp + fp + fn) == pytest.approx(wanted, abs=1e-12)
        assert slow_f1(given[probe], gold[probe], np.isin(np.arange(6), counted)) == pytest.approx(wanted, abs=1e-12)
        for label in range(6):
            (tn, fp), (fn, tp) = metrics.multilabel_confusion_matrix(gold[probe], given[probe])[label]
            assert counts[probe, label].tolist() == [tp, fp, fn, tn]


def test_patience_begins_with_the_first_right_label():
    data = replace(drawn(1), counted=np.zeros(5, bool))
    recipe = EdgeRecipe(width=4, batch=10, check_every=2, patience=2, most_checks=6)
    found = train_probes(data, KEYS, recipe, CPU)
    assert found.best.tolist() == [0.0] * 6 and found.steps.tolist() == [12] * 6
    assert found.rate.tolist() == [recipe.learning_rate] * 6 and not found.stopped.any()


def test_an_f1_score_of_an_empty_answer_is_0():
    data = drawn(1)
    shape = train_probes(data, KEYS[:1], RECIPE, CPU).shape
    flat = torch.zeros((1, shape.size))
    flat[0, -shape.labels :] = -9.0
    score = F1Score(data.counted)
    assert score(flat, KEYS[:1], shape, mask_of(KEYS[:1], 3), data, np.arange(len(data.dev)), CPU).tolist() == [0.0]


def test_a_trace_names_the_wrong_label_of_the_greatest_mean_of_normalised_p():
    draw = np.random.default_rng(2)
    p, gold = draw.random((3, 20, 5)).astype(np.float32), draw.random((20, 5)) < 0.3
    gold[4] = False
    traces = traces_of(p, gold)
    for target in range(20):
        means = {}
        for label in np.flatnonzero(~gold[target]):
            means[label] = np.mean(
                [float(p[layer, target, label]) / float(p[layer, target].sum()) for layer in range(3)]
            )
        assert traces.wrong[target] == max(means, key=means.get)
        for layer in range(3):
            assert traces.top[layer, target] == p[layer, target].argmax()
            assert (traces.predicted[layer, target] == (p[layer, target] >= 0.5)).all()
    assert np.abs(traces.p / 255 - p).max() <= 0.5 / 255 + 1e-6


def test_portions_end_at_the_authors_shares_and_hold_every_sentence_once():
    arrays = drawn(1, targets=3000).train
    portions = portions_of(arrays)
    assert sorted(np.concatenate(portions).tolist()) == arrays.records().tolist()
    reached = np.cumsum([len(arrays.of_records(np.sort(one))) for one in portions])
    # A portion ends with the first whole sentence that reaches its share.
    assert (reached >= np.array(ENDS) * 3000).all() and (reached - 3 < np.array(ENDS) * 3000).all()
    assert reached.tolist() == [3, 6, 12, 24, 48, 96, 189, 375, 750, 1500, 3000]
    assert [one.tolist() for one in portions_of(arrays)] == [one.tolist() for one in portions]


def test_a_part_of_few_sentences_has_fewer_portions():
    (only,) = portions_of(drawn(1, targets=3).train)
    assert only.tolist() == [0]
    assert 1 < len(portions_of(drawn(1, targets=30).train)) < len(ENDS)


@pytest.mark.parametrize("one_label", [True, False])
def test_codes_are_those_of_probes_that_are_trained_on_all_portions_before(one_label, tmp_path):
    data = drawn(2, targets=60)
    if one_label:
        data = replace(
            data,
            train=replace(data.train, gold=one_hot(data.train.gold[0].argmax(1), 5)),
            # The development part may have targets whose label training lacks, counted or not.
            dev=replace(data.dev, gold=one_hot(data.dev.gold[0].argmax(1), 5) & (np.arange(60) > 2)[:, None]),
        )
    keys = KEYS[:3]
    found = online_codes(data, keys, RECIPE, CPU, tmp_path)
    portions = portions_of(data.train)
    number = len(portions)
    assert found.targets.tolist() == [3 * len(one) for one in portions] and found.targets.sum() == 60
    assert found.uniform == pytest.approx(found.targets * (math.log2(5) if one_label else 5))
    assert found.bits[:, 0] == pytest.approx([found.uniform[0]] * 3)
    for place in (1, number - 1):
        before = data.train.of_records(np.sort(np.concatenate(portions[:place])))
        # The sentences of the portions before, each target cut out by itself.
        spans = [[span.of(np.array([target]))[0] for target in before] for span in data.train.spans]
        part = replace(arrays_of(data.train.gold[:, before], spans), record=data.train.record[before])
        probes = train_probes(replace(data, train=part), keys, RECIPE, CPU, score=CodeScore(one_label))
        total = np.zeros(3)
        for target in data.train.of_records(np.sort(portions[place])):
            batch = batch_of(data.train, data.train_states, np.array([target]), CPU)
            logits = logits_of(probes.flat, probes.shape, mask_of(keys, 3), batch)[:, 0].double().numpy()
            gold = data.train.gold[0, target]
            for probe in range(3):
                if one_label:
                    shares = np.exp(logits[probe]) / np.exp(logits[probe]).sum()
                    total[probe] -= np.log2(shares[gold.argmax()])
                else:
                    yes = 1 / (1 + np.exp(-logits[probe]))
                    total[probe] -= np.log2(np.where(gold, yes, 1 - yes)).sum()
        assert found.bits[:, place] == pytest.approx(total, rel=1e-4)


def test_labels_that_can_be_read_have_a_short_code_and_random_ones_none(tmp_path):
    recipe = EdgeRecipe(width=8, learning_rate=0.02, check_every=25, most_checks=3)
    keys = keys_of(["cumulative"], ["task"], [0], 3)
    found = online_codes(planted(1, targets=200), keys, recipe, CPU, tmp_path / "planted")
    whole, uniform = found.bits.sum(1), found.uniform.sum()
    assert whole[0] > 0.9 * uniform and whole[1:].max() < 0.3 * uniform
    assert found.bits[1:, -1].max() < 0.1 * found.uniform[-1]
    found = online_codes(planted(None, targets=200), keys, recipe, CPU, tmp_path / "random")
    assert found.bits.sum(1).min() > 0.97 * found.uniform.sum()


def test_a_killed_code_goes_on_with_its_portion_and_gives_the_same_bits(tmp_path):
    data = drawn(1, targets=60)
    whole = online_codes(data, KEYS[:3], RECIPE, CPU, tmp_path / "whole")
    done = []

    class Killed(BaseException):
        pass

    def passed(number, most):
        done.append((number, most))
        if len(done) == 2:
            raise Killed

    with pytest.raises(Killed):
        online_codes(data, KEYS[:3], RECIPE, CPU, tmp_path / "killed", passed)
    files = sorted(path.name for path in (tmp_path / "killed").iterdir())
    assert files == ["portion-01.safetensors", "portion-02.safetensors"]
    again = online_codes(data, KEYS[:3], RECIPE, CPU, tmp_path / "killed")
    assert np.array_equal(again.bits, whole.bits) and done[-1] == (2, len(whole.targets) - 1)


def test_a_task_of_one_label_has_an_empty_code(tmp_path):
    data = drawn(1, targets=30)
    gold = np.ones((1, 30, 1), bool)
    data = TrainingData(
        replace(data.train, gold=gold),
        data.train_states,
        replace(data.dev, gold=gold),
        data.dev_states,
        np.ones(1, bool),
    )
    found = online_codes(data, [ProbeKey("cumulative", 0, "task", 0)], RECIPE, CPU, tmp_path)
    assert not found.bits.any() and not found.uniform.any()
