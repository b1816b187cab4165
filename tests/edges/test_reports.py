"""Reports of edge probing: every number again in plain Python from the planted answers."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from probing.edges import numbers
from probing.edges import report_curves as layers
from probing.edges.report import by_label, of_trained, scores, yardsticks
from probing.edges.report_curves import DRAWS, curves, sentence_draws, spread_of
from probing.edges.report_summary import baselines, models_in_order, summary, tasks_in_order
from probing.edges.store import edge_labels, edge_tasks
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from tests.edges.test_numbers import slow_bits, slow_expected
from tests.edges_planted import (
    PARTS,
    POS,
    RUNS,
    SRL,
    TASKS,
    PlantedEdgeRun,
    plant_edge_runs,
    plant_edges,
    planted_gold,
    planted_part,
    planted_probabilities,
    run_rows,
)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory):
    with open_database(plant_edges(tmp_path_factory.mktemp("store"))) as database:
        yield database


@cache
def slow_counts(
    run: PlantedEdgeRun, part: str, place: int, *, unseen: bool = False, label: int | None = None, weights: tuple = ()
):
    """tp, fp, fn of one probe, target by target; each sentence as often as ``weights``, pairs of text and number,
    say.
    """
    times_of = dict(weights)
    data, p, gold = planted_part(run.task, part), planted_probabilities(run, part)[place], planted_gold(run, part)
    tp = fp = fn = 0
    for target in range(len(gold)):
        if unseen and data.seen[target]:
            continue
        times = times_of[data.records[data.sentences[target]].text] if weights else 1
        for number in range(gold.shape[1]):
            if (label is None and not run.task.counted[number]) or label not in (None, number):
                continue
            said, true = p[target, number] >= 127.5, gold[target, number]
            tp, fp, fn = (
                tp + times * (said and true),
                fp + times * (said and not true),
                fn + times * (true and not said),
            )
        if label is None and run.labels == "task":
            fn += times * int(data.unknown[target])
    return tp, fp, fn


@cache
def slow_f1(*args, **kwargs) -> float:
    tp, fp, fn = slow_counts(*args, **kwargs)
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else math.nan


def curve_of(run: PlantedEdgeRun, part: str, **kwargs) -> list[float]:
    return [slow_f1(run, part, place, **kwargs) for place in range(len(run.probes))]


def runs_like(run: PlantedEdgeRun) -> list[PlantedEdgeRun]:
    same = ("model", "task", "kind", "encoder", "labels")
    return [one for one in RUNS if all(getattr(one, name) == getattr(run, name) for name in same)]


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", ["cumulative", "at", "full"])
def test_f1_by_layer_is_the_mean_over_seeds_of_the_answers(db: Database, kind: str, part: str, unseen: bool):
    found = layers.f1_by_layer(db, kind, part=part, unseen=unseen)
    expected = {}
    for run in RUNS:
        if run.kind == kind and run.labels == "task":
            each = [curve_of(one, part, unseen=unseen) for one in runs_like(run)]
            for place, layer in enumerate(run.probes):
                mean = sum(one[place] for one in each) / len(each)
                expected[run.model, run.encoder, run.task.name, layer] = (mean, len(each), run.layers - 1)
    got = {
        (row.model, row.encoder, row.task, row.layer): (row.value, row.seeds, row.last) for row in found.itertuples()
    }
    assert got.keys() == expected.keys()
    for key, numbers_of in expected.items():
        assert got[key] == pytest.approx(numbers_of, nan_ok=True)
    assert (found["low"] <= found["value"] + 1e-9).all() and (found["value"] <= found["high"] + 1e-9).all()


def test_a_text_is_drawn_as_often_wherever_it_is_asked():
    texts = np.random.default_rng(0).integers(0, 2**63, 500).astype(np.uint64)
    draws = sentence_draws(texts)
    assert draws.shape == (DRAWS, 500) and (draws == draws.astype(int)).all()
    assert np.array_equal(draws[:, 100:200], sentence_draws(texts[100:200]))
    assert draws.mean() == pytest.approx(1, abs=0.01) and draws.var() == pytest.approx(1, abs=0.02)
    # How often a Poisson number with mean 1 is 0, 1, 2.
    for number, share in enumerate((math.exp(-1), math.exp(-1), math.exp(-1) / 2)):
        assert (draws == number).mean() == pytest.approx(share, abs=0.005)
    between = np.corrcoef(draws[:, :40].T)[np.triu_indices(40, 1)]
    assert abs(between.mean()) < 0.01 and abs(between).max() < 0.2


def test_draws_are_answers_counted_again_on_drawn_sentences(db: Database):
    run = PlantedEdgeRun(model="other-bert", task=SRL, layers=7)
    (curve,) = (one for one in curves(db, "dev", models=[run.model], tasks=["srl"]) if one.encoder == "trained")
    records = list({record.text: record for record in planted_part(SRL, "dev").records}.values())
    draws = sentence_draws(np.array([int(record.sha256[:16], 16) for record in records], dtype=np.uint64))
    for draw in (0, 1, 500, DRAWS - 1):
        weights = tuple((record.text, int(times)) for record, times in zip(records, draws[draw], strict=True))
        assert curve.drawn[draw] == pytest.approx(curve_of(run, "dev", weights=weights))


def test_seeds_are_drawn_with_the_sentences(db: Database):
    (curve,) = (one for one in curves(db, "dev", models=["nesia-mini"], tasks=["srl"]) if one.encoder == "trained")
    seeds = runs_like(PlantedEdgeRun(task=SRL))
    assert curve.seeds == 3
    records = list({record.text: record for record in planted_part(SRL, "dev").records}.values())
    draws = sentence_draws(np.array([int(record.sha256[:16], 16) for record in records], dtype=np.uint64))
    mixed = 0
    for draw in range(5):
        weights = tuple((record.text, int(times)) for record, times in zip(records, draws[draw], strict=True))
        each = np.array([curve_of(one, "dev", weights=weights) for one in seeds])
        ways = [(a, b, 3 - a - b) for a in range(4) for b in range(4 - a)]
        fits = [way for way in ways if np.allclose(np.array(way) @ each / 3, curve.drawn[draw])]
        assert fits, "no choice of three seeds gives this draw"
        mixed += fits[0] != (1, 1, 1)
    assert mixed


def test_where_no_answers_are_stored_the_counts_vary(db: Database):
    (curve,) = (one for one in curves(db, "dev") if one.encoder == "random-body")
    assert curve.drawn.std(axis=0) == pytest.approx(0.02, abs=0.01)
    assert curve.drawn.mean(axis=0) == pytest.approx(curve.values, abs=0.01)


def test_the_summary_is_made_of_the_answers_and_weights(db: Database):
    found = summary(db)
    assert set(zip(found["part"], found["encoder"], strict=True)) == {
        (p, e) for p in PARTS for e in ("trained", "random", "random-body")
    }
    for row in found.to_dict("records"):
        (run, *_), part = (
            [
                one
                for one in RUNS
                if (one.kind, one.labels) == ("cumulative", "task")
                and (one.model, one.encoder, one.task.name) == (row["model"], row["encoder"], row["task"])
            ],
            row["part"],
        )
        seeds = runs_like(run)
        f1 = [sum(values) / len(seeds) for values in zip(*(curve_of(one, part) for one in seeds), strict=True)]
        assert (row["seeds"], row["last"], row["targets"]) == (
            len(seeds),
            run.layers - 1,
            len(planted_part(run.task, part).targets),
        )
        assert (row["f1_first"], row["f1_last"], row["gain"]) == pytest.approx((f1[0], f1[-1], f1[-1] - f1[0]))
        weights = np.mean(
            [[w["weight"] for w in run_rows(one)["edge_mix"] if w["layer"] == run.layers - 1] for one in seeds], axis=0
        )
        assert row["centre_of_gravity"] == pytest.approx(sum(layer * weight for layer, weight in enumerate(weights)))
        assert row["k_weights"] == pytest.approx(slow_bits(list(weights)))
        if row["gain"] >= 0.01 and row["gain_low"] > 0:
            assert row["expected_layer"] == pytest.approx(slow_expected(f1))
            assert row["k_gains"] == pytest.approx(slow_bits([max(b - a, 0) for a, b in itertools.pairwise(f1)]))
            assert row["expected_layer_low"] <= row["expected_layer"] <= row["expected_layer_high"]
        else:
            assert np.isnan(
                [row[name] for name in ("expected_layer", "expected_layer_low", "expected_layer_high", "k_gains")]
            ).all()
        data = planted_part(run.task, part)
        tp = fp = fn = 0
        for target in range(len(data.gold)):
            for label in np.flatnonzero(run.task.counted):
                said, true = data.memory[target, label], data.gold[target, label]
                tp, fp, fn = tp + (said and true), fp + (said and not true), fn + (true and not said)
            fn += int(data.unknown[target])
        assert row["memory"] == pytest.approx(2 * tp / (2 * tp + fp + fn)) and row["ceiling"] == 0.97


def test_planted_tasks_are_resolved_where_they_gain(db: Database):
    found = summary(db, parts=["dev"])
    resolved = found.set_index(["model", "encoder", "task"])["expected_layer"].notna()
    for (_, encoder, task), value in resolved.items():
        assert value == (encoder == "trained" and task != "proto-roles")


def test_an_interval_of_the_gain_that_holds_zero_is_not_resolved(db: Database):
    for curve in curves(db, "dev", "at"):
        gain = curve.values[-1] - curve.values[0]
        low = np.quantile(curve.drawn[:, -1] - curve.drawn[:, 0], 0.025)
        assert curve.number(lambda f1: f1[..., -1] - f1[..., 0]).low == pytest.approx(low)
        assert numbers.resolved(gain, low) == (gain >= 0.01 and low > 0)


@pytest.mark.parametrize("unseen", [False, True])
def test_scores_have_the_baselines_that_they_have_to_beat(db: Database, unseen: bool):
    found = scores(db, unseen=unseen)
    assert len(found) == sum(len(run.probes) for run in RUNS) * len(PARTS)
    by_key = {
        (
            row["model"],
            row["encoder"],
            row["labels"],
            row["task"],
            row["kind"],
            row["seed"],
            row["layer"],
            row["part"],
        ): row
        for row in found.to_dict("records")
    }
    for run in RUNS:
        for part in PARTS:
            f1 = curve_of(run, part, unseen=unseen)
            for place, layer in enumerate(run.probes):
                row = by_key[run.model, run.encoder, run.labels, run.task.name, run.kind, run.seed, layer, part]
                assert row["f1"] == pytest.approx(f1[place], nan_ok=True)
                kept = (
                    ~planted_part(run.task, part).seen
                    if unseen
                    else np.ones(len(planted_part(run.task, part).seen), bool)
                )
                assert row["targets"] == kept.sum()
                random = [one for one in RUNS if one.encoder == "random" and one.labels == "task"]
                random = [one for one in random if (one.model, one.task, one.kind) == (run.model, run.task, run.kind)]
                assert (not random and np.isnan(row["random"])) or row["random"] == pytest.approx(
                    slow_f1(random[0], part, place, unseen=unseen)
                )
                control = [
                    one
                    for one in RUNS
                    if one.labels == "control"
                    and (one.model, one.encoder, one.task, one.kind) == (run.model, run.encoder, run.task, run.kind)
                ]
                if control and run.labels == "task":
                    assert row["selectivity"] == pytest.approx(
                        f1[place] - slow_f1(control[0], part, place, unseen=unseen)
                    )
                else:
                    assert np.isnan(row["selectivity"])
    assert set(of_trained(found)["labels"]) == {"task"} and set(of_trained(found)["encoder"]) == {"trained"}


def test_selectivity_compression_and_weights_by_layer(db: Database):
    selective = layers.selectivity(db, part="test", unseen=True)
    control = next(run for run in RUNS if run.labels == "control" and run.kind == "cumulative")
    expected = [
        a - b
        for a, b in zip(
            curve_of(PlantedEdgeRun(), "test", unseen=True), curve_of(control, "test", unseen=True), strict=True
        )
    ]
    assert selective["value"].tolist() == pytest.approx(expected)
    assert selective[["model", "task", "last"]].drop_duplicates().values.tolist() == [["nesia-mini", "pos", 4]]
    coded = next(run for run in RUNS if run.codes)
    found = layers.compression(db)
    for layer in coded.probes:
        rows = [row for row in run_rows(coded)["edge_codes"] if row["layer"] == layer]
        ratio = sum(row["uniform"] for row in rows) / sum(row["bits"] for row in rows)
        assert found["value"][layer] == pytest.approx(ratio)
    table = layers.weights_by_layer(db)
    mine = table[(table["model"] == "nesia-mini") & (table["task"] == "srl") & (table["encoder"] == "trained")]
    for layer in range(5):
        rows = [
            row for run in runs_like(PlantedEdgeRun(task=SRL)) for row in run_rows(run)["edge_mix"] if row["layer"] == 4
        ]
        weights = [np.mean([row["weight"] for row in rows if row["of_layer"] == of]) for of in range(5)]
        normed = [weight * (12 + 0.5 * of) for of, weight in enumerate(weights)]
        got = mine[mine["layer"] == layer].iloc[0]
        assert (got["weight"], got["normed"], got["seeds"]) == pytest.approx(
            (weights[layer], normed[layer] / sum(normed), 3)
        )


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("task", [POS, SRL], ids=lambda task: task.name)
def test_labels_have_f1_and_expected_layer_of_their_own(db: Database, task, unseen: bool):
    found = by_label(db, task.name, unseen=unseen)
    assert len(found) == len(task.labels) * len(
        {(run.model, run.encoder) for run in RUNS if run.task == task and run.labels == "task"}
    )
    for row in found.to_dict("records"):
        label = task.labels.index(row["label"])
        seeds = [
            one
            for one in RUNS
            if (one.model, one.encoder, one.task, one.kind, one.labels)
            == (row["model"], row["encoder"], task, "cumulative", "task")
        ]
        f1 = [
            sum(values) / len(seeds)
            for values in zip(*(curve_of(one, "dev", unseen=unseen, label=label) for one in seeds), strict=True)
        ]
        data = planted_part(task, "dev")
        kept = ~data.seen if unseen else np.ones(len(data.seen), bool)
        assert (row["n"], row["counts"], row["seeds"]) == (
            data.gold[kept, label].sum(),
            bool(task.counted[label]),
            len(seeds),
        )
        assert (row["f1_first"], row["f1_last"]) == pytest.approx((f1[0], f1[-1]), nan_ok=True)
        if not np.isnan(row["expected_layer"]):
            assert row["expected_layer"] == pytest.approx(slow_expected(f1))


def test_a_labels_interval_is_that_of_its_own_counts_on_drawn_sentences(db: Database):
    run = PlantedEdgeRun(model="other-bert", task=POS, layers=7)
    label = POS.labels.index("NN")
    records = list({record.text: record for record in planted_part(POS, "dev").records}.values())
    draws = sentence_draws(np.array([int(record.sha256[:16], 16) for record in records], dtype=np.uint64))
    data, p = planted_part(POS, "dev"), planted_probabilities(run, "dev")[-1][:, label] >= 127.5
    times = draws[
        :, [next(n for n, record in enumerate(records) if record.text == data.records[s].text) for s in data.sentences]
    ]
    gold = data.gold[:, label]
    tp, fp, fn = times @ (p & gold), times @ (p & ~gold), times @ (~p & gold)
    low, high = np.quantile(2 * tp / (2 * tp + fp + fn), [0.025, 0.975])
    found = by_label(db, "pos", models=["other-bert"]).set_index("label").loc["NN"]
    assert (found["f1_last_low"], found["f1_last_high"]) == pytest.approx((low, high))


def test_the_planted_order_is_found_and_what_does_not_gain_has_none(db: Database):
    found = {(row.first, row.second): row for row in tasks_in_order(db, "nesia-mini").itertuples()}
    assert {pair: row.verdict for pair, row in found.items()} == {
        ("pos", "srl"): "earlier",
        ("pos", "proto-roles"): "order not resolved",
        ("srl", "proto-roles"): "order not resolved",
    }
    places = (
        summary(db, parts=["dev"], models=["nesia-mini"])
        .query("encoder == 'trained'")
        .set_index("task")["expected_layer"]
    )
    row = found["pos", "srl"]
    assert (
        row.difference == pytest.approx(places["pos"] - places["srl"])
        and row.low < row.difference < row.high < 0
        and row.pairs == 1
    )
    between = models_in_order(db)
    assert between[["task", "first", "second"]].values.tolist() == [
        ["pos", "nesia-mini", "other-bert"],
        ["srl", "nesia-mini", "other-bert"],
    ]
    shares = summary(db, parts=["dev"]).query("encoder == 'trained'").set_index(["task", "model"])
    share = shares["expected_layer"] / shares["last"]
    for row in between.itertuples():
        assert row.difference == pytest.approx(share[row.task, row.first] - share[row.task, row.second])
        # The other model has one seed of each task.
        assert (row.verdict, row.reason, row.pooled) == ("order not resolved", "too few seeds", False) and np.isnan(
            [row.low, row.high]
        ).all()


def test_a_task_with_one_seed_has_the_variation_over_seeds_of_the_others(db: Database):
    each = [slow_expected(curve_of(run, "dev")) for run in runs_like(PlantedEdgeRun(task=SRL))]
    mean = sum(each) / 3
    variance = sum((one - mean) ** 2 for one in each) / 2
    (first, second) = (
        one
        for one in curves(db, "dev", models=["nesia-mini"])
        if one.encoder == "trained" and one.task in ("pos", "srl")
    )
    assert spread_of([first, second]).variance == pytest.approx(variance) and spread_of([first]) is None
    found = tasks_in_order(db, "nesia-mini", ["srl", "pos"])
    (row,) = found.to_dict("records")
    assert row["pooled"] and row["reason"] == ""
    drawn = numbers.expected_layer(first.drawn) - numbers.expected_layer(second.drawn)
    low, high = np.quantile(drawn, [0.025, 0.975])
    whole, of_seeds = ((high - low) / (2 * 1.959964)) ** 2 + variance + variance / 9, variance + variance / 3
    half = stats.t.ppf(0.975, 2 * max(1.0, (whole / of_seeds) ** 2)) * math.sqrt(whole)
    assert (row["low"], row["high"]) == pytest.approx((row["difference"] - half, row["difference"] + half))


def test_the_summary_has_f1_of_the_most_probable_label_gain_above_memory_and_how_probes_ended(db: Database):
    found = summary(db)
    for row in found.to_dict("records"):
        seeds = [
            one
            for one in RUNS
            if (one.kind, one.labels) == ("cumulative", "task")
            and (one.model, one.encoder, one.task.name) == (row["model"], row["encoder"], row["task"])
        ]
        stored = [one for one in seeds if one.stores_predictions]
        for end, place in (("first", 0), ("last", -1)):
            wanted = np.mean([slow_f1_of_top(one, row["part"], place) for one in stored]) if stored else np.nan
            assert row[f"f1_{end}_top"] == pytest.approx(wanted, nan_ok=True)
        assert row["gain_above_memory"] == pytest.approx(row["f1_last"] - max(row["f1_first"], row["memory"]))
        assert row["gain_above_memory_low"] <= row["gain_above_memory"] <= row["gain_above_memory_high"]
        # Patience stopped the probes of even layers.
        assert (row["probes"], row["probes_stopped"]) == (
            len(seeds) * (row["last"] + 1),
            len(seeds) * (row["last"] // 2 + 1),
        )
        assert row["weights_near_uniform"] == (row["k_weights"] < 0.05)
        assert isinstance(row["expected_layer_reason"], str) == np.isnan(row["expected_layer"])
    every = scores(db)
    assert every.groupby("layer")["stopped"].unique().map(list).to_dict() == {
        layer: [layer % 2 == 0] for layer in range(7)
    }
    for run in (PlantedEdgeRun(task=SRL, seed=1), PlantedEdgeRun(task=POS, labels="control")):
        mine = every[(every["labels"] == run.labels) & (every["task"] == run.task.name) & (every["seed"] == run.seed)]
        mine = mine[
            (mine["kind"] == "cumulative")
            & (mine["encoder"] == "trained")
            & (mine["model"] == run.model)
            & (mine["part"] == "test")
        ]
        wanted = [slow_f1_of_top(run, "test", place) if run.stores_predictions else np.nan for place in range(5)]
        assert mine["f1_top"].tolist() == pytest.approx(wanted, nan_ok=True)


@cache
def slow_f1_of_top(run: PlantedEdgeRun, part: str, place: int) -> float:
    """F1 if each target gets its most probable label and no other."""
    data, p = planted_part(run.task, part), planted_probabilities(run, part)[place]
    tp = fp = fn = 0
    for target, top in enumerate(p.argmax(axis=1)):
        for label in np.flatnonzero(run.task.counted):
            said, true = label == top, data.gold[target, label]
            tp, fp, fn = tp + (said and true), fp + (said and not true), fn + (true and not said)
        fn += int(data.unknown[target])
    return 2 * tp / (2 * tp + fp + fn)


def test_selectivity_is_compared_on_spans_that_training_has(db: Database):
    control = next(run for run in RUNS if run.labels == "control" and run.kind == "cumulative")
    for part in PARTS:
        seen = planted_part(POS, part).seen

        def on_seen(run, place, part=part, seen=seen) -> float:
            every, unseen = slow_counts(run, part, place), slow_counts(run, part, place, unseen=True)
            tp, fp, fn = (one - other for one, other in zip(every, unseen, strict=True))
            return 2 * tp / (2 * tp + fp + fn)

        wanted = [(on_seen(PlantedEdgeRun(), place), on_seen(control, place)) for place in range(5)]
        for unseen in (False, True):
            found = layers.selectivity(db, part=part, unseen=unseen)
            assert found[["f1_seen", "control_seen"]].to_numpy() == pytest.approx(np.array(wanted))
            assert found["value_seen"].tolist() == pytest.approx([one - other for one, other in wanted])
            assert set(found["targets_seen"]) == {int(seen.sum())}
        row = summary(db, parts=[part]).set_index(["model", "encoder", "task"]).loc[("nesia-mini", "trained", "pos")]
        assert (
            row["selectivity_seen"] == pytest.approx(wanted[-1][0] - wanted[-1][1])
            and row["selectivity_seen"] != row["selectivity"]
        )


def test_without_a_test_part_only_dev_is_reported(tmp_path):
    def dev_only(table, rows):
        return [row for row in rows if row.get("part", "dev") != "test"]

    with open_database(plant_edge_runs(tmp_path / "runs", [PlantedEdgeRun()], dev_only)) as database:
        assert set(summary(database)["part"]) == set(scores(database)["part"]) == {"dev"}


def test_of_runs_that_differ_in_nothing_the_newest_counts(tmp_path):
    older, newer = PlantedEdgeRun(made=(("width", 1),)), PlantedEdgeRun(made=(("width", 2),))

    def later(table, rows):
        return [row | {"created": "2026-02-01T00:00:00Z"} for row in rows] if table == "edge_runs" else rows

    plant_edge_runs(tmp_path / "runs", [older])
    plant_edge_runs(tmp_path / "runs", [newer], later)
    with open_database(tmp_path / "runs") as database:
        (row,) = summary(database, parts=["dev"]).to_dict("records")
        assert row["seeds"] == 1 and row["f1_last"] == pytest.approx(curve_of(newer, "dev")[-1])


def test_memory_and_the_share_of_the_commonest_label_are_those_of_the_stored_data(db):
    found = yardsticks(db)
    assert set(found) == {task.name for task in TASKS}
    labels, tasks, scores = edge_labels(db), edge_tasks(db), baselines(db, "dev")
    for name, one in found.items():
        mine = labels[labels["task"] == name]
        targets = tasks[(tasks["task"] == name) & (tasks["part"] == "train")]["targets"].item()
        assert one.memory == scores[name, "memory"]
        assert one.label == min(mine[mine["n"] == mine["n"].max()]["name"])
        assert np.isclose(one.share, mine["n"].max() / targets)
