"""Training probes of tasks from folder to tables: what is stored, again and killed."""

import itertools
import json
import logging
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from probing.edges import train as work
from probing.edges import training
from probing.edges.ask import probes_folder, read_probes
from probing.edges.numbers import memory_answers, seen_in_training
from probing.edges.requests import EdgesRequest
from probing.edges.tasks import read_task
from probing.edges.train import train_edges
from probing.kernel.errors import EdgeDataError, OptionError
from probing.kernel.jobs import stored_runs
from probing.kernel.models.arrays import FILE
from probing.kernel.models.load import load_encoder
from probing.kernel.store.parquet import read_table
from tests.edges.edge_files import write_own
from tests.edges.planted_tasks import QUICK, kinds, tables_of, task_folder
from tests.fixtures.commands import Killed, bytes_of


@pytest.fixture()
def request_of(cache, tiny_model, tmp_path):
    """Makes a request of task folders."""

    def make(*folders, **changed) -> EdgesRequest:
        given = {"recipe": QUICK, "out": tmp_path / "out", "device": "cpu"}
        return EdgesRequest(str(tiny_model), tuple(map(str, folders)), **(given | changed))

    return make


@pytest.fixture()
def words(tmp_path):
    return task_folder(tmp_path / "words")


@pytest.fixture()
def pairs(tmp_path):
    return task_folder(tmp_path / "pairs", spans=2, several=True, seed=1)


@pytest.fixture(scope="module")
def trained_once(tiny_model, tmp_path_factory):
    """Options -> a folder with cache, results and task ``words`` as a training with them leaves it; made once, not to
    be written to.
    """
    made = {}

    def folder(given: dict) -> Path:
        key = repr(sorted(given.items()))
        if key not in made:
            root = tmp_path_factory.mktemp("trained")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PROBING_CACHE", str(root / "cache"))
                task = str(task_folder(root / "words"))
                train_edges(
                    EdgesRequest(
                        str(tiny_model), (task,), **({"recipe": QUICK, "out": root / "out", "device": "cpu"} | given)
                    )
                )
            made[key] = root
        return made[key]

    return folder


@pytest.fixture()
def trained(trained_once, request_of, tmp_path):
    """Gives this test a copy of what a training of ``words`` leaves, in the cache and the folders of ``request_of``;
    its results.
    """

    def out(**given) -> Path:
        shutil.copytree(trained_once(given), tmp_path, dirs_exist_ok=True)
        return tmp_path / "out"

    return out


EVERYTHING = {"kinds": ("cumulative", "at", "full"), "labels": ("task", "control"), "seeds": 2, "codes": True}


def test_two_tasks_of_a_user_from_folders_to_tables(request_of, words, pairs, tmp_path):
    said = []
    out = train_edges(request_of(words, pairs, **EVERYTHING), said.append)
    assert (
        said[0]
        == "words: train 90 targets in 30 sentences, dev 90 targets in 30 sentences, test 90 targets in 30 sentences; 3"
        " labels"
    )
    assert "labels that its training part lacks" in said[1]
    for task, spans in (("words", 1), ("pairs", 2)):
        runs = tables_of(out, "edge_runs", task)
        assert Counter((row["kind"], row["labels"], row["seed"]) for row in runs) == Counter(
            itertools.product(EVERYTHING["kinds"], EVERYTHING["labels"], range(2))
        )
        assert {(row["layers"], row["width"], row["encoder"], row["model"]) for row in runs} == {
            (3, 6, "trained", "tiny-bert")
        }
        assert [(row["kind"], row["labels"], row["seed"]) for row in runs if row["codes"]] == [
            ("cumulative", "task", 0)
        ]
        _, data = read_task(str(tmp_path / task), tmp_path)
        check_scores(out, task, data, runs)
        assert {row["spans"] for row in tables_of(out, "edge_tasks", task)} == {spans}
    assert not list((tmp_path / "cache" / "edge-training").rglob("*.safetensors")), (
        "nothing of a finished training stays"
    )


def f1(rows, counts) -> float:
    tp, fp, fn = (sum(row[what] for row in rows if counts[row["label"]]) for what in ("tp", "fp", "fn"))
    return 2 * tp / (2 * tp + fp + fn)


def check_scores(out, task, data, runs):
    """Scores, answers, mix and training of every run agree with each other and with the data."""
    labels = tables_of(out, "edge_labels", task)
    counts = {row["label"]: row["counts"] for row in labels}
    assert [row["name"] for row in labels] == [*data.labels, "(not in training)"] and labels[-1]["counts"]
    gold_labels = [target.labels for record in data.dev.records for target in record.targets]
    seen = seen_in_training(data.train, data.dev)
    unseen_gold = sum(label not in data.labels for given in gold_labels for label in given)
    assert unseen_gold == 1
    stored = tables_of(out, "edge_targets", task)
    assert [row["seen"] for row in stored] == seen
    assert [tuple(data.labels[label] for label in row["memory"]) for row in stored] == memory_answers(
        data.train, data.dev
    )
    for run in runs:
        name = run["run_id"]
        layers = range(3) if run["kind"] != "full" else [2]
        scores = read_table(out / f"edge_scores-{name}.parquet", "edge_scores").to_pylist()
        assert len(scores) == len(layers) * 2 * 2 * len(labels)
        trained = {
            row["layer"]: row for row in read_table(out / f"edge_training-{name}.parquet", "edge_training").to_pylist()
        }
        for layer in layers:
            of_layer = [row for row in scores if (row["layer"], row["part"]) == (layer, "dev")]
            assert f1(of_layer, counts) == pytest.approx(trained[layer]["best"])
            for which in (False, True):
                for label in range(len(labels)):
                    (row,) = [row for row in of_layer if (row["label"], row["seen"]) == (label, which)]
                    assert row["tp"] + row["fp"] + row["fn"] + row["tn"] == seen.count(which)
            if run["labels"] == "task":
                held = Counter(
                    data.labels.index(label) if label in data.labels else len(data.labels)
                    for given in gold_labels
                    for label in given
                )
                for label in range(len(labels)):
                    rows = [row for row in of_layer if row["label"] == label]
                    assert sum(row["tp"] + row["fn"] for row in rows) == held[label]
        mix = read_table(out / f"edge_mix-{name}.parquet", "edge_mix").to_pylist()
        for layer in layers:
            weights = [row["weight"] for row in mix if row["layer"] == layer]
            read = [layer] if run["kind"] == "at" else range(layer + 1)
            assert sum(weights) == pytest.approx(1, abs=1e-6) and all(
                weight == 0 or number in read for number, weight in enumerate(weights)
            )
        path = out / f"edge_predictions-{name}.parquet"
        assert path.is_file() == (run["kind"] == "cumulative" and run["labels"] == "task")
        if path.is_file():
            check_predictions(read_table(path, "edge_predictions").to_pylist(), scores, stored, len(data.labels))
        if run["codes"]:
            codes = read_table(out / f"edge_codes-{name}.parquet", "edge_codes").to_pylist()
            assert sum(row["targets"] for row in codes if row["layer"] == 0) == 90
            assert all(row["bits"] == row["uniform"] for row in codes if row["portion"] == 0)


def check_predictions(rows, scores, targets, known):
    """The stored answers give the stored counts, and quantised probabilities fit them."""
    counted = Counter()
    for row in rows:
        target = targets[row["target"]]
        for label in range(known):
            which = ("tn", "fn", "fp", "tp")[2 * (label in row["predicted"]) + (label in target["gold"])]
            counted[row["layer"], target["seen"], label, which] += 1
        # 127.5 of 255 is a half.
        assert (row["p_top"] >= 128) == bool(row["predicted"]) and (
            not row["predicted"] or row["top"] in row["predicted"]
        )
        assert len(row["p_gold"]) == len(target["gold"]) and row["wrong"] not in target["gold"]
        assert all(
            (p >= 128) == (label in row["predicted"]) for p, label in zip(row["p_gold"], target["gold"], strict=True)
        )
        assert max([row["p_wrong"], *row["p_gold"]]) <= row["p_top"] <= row["p_sum"]
    for row in scores:
        if row["part"] == "dev" and row["label"] < known:
            assert [counted[row["layer"], row["seen"], row["label"], which] for which in ("tp", "fp", "fn", "tn")] == [
                row[which] for which in ("tp", "fp", "fn", "tn")
            ]
    assert {row["wrong"] for row in rows if row["layer"] == 0} <= set(range(known))
    by_target = {(row["target"], row["layer"]): row["wrong"] for row in rows}
    assert all(by_target[target, layer] == by_target[target, 0] for target, layer in by_target), (
        "one wrong label for all layers"
    )


def test_the_second_call_does_nothing_and_further_seeds_train_what_is_missing(
    request_of, trained, words, tmp_path, monkeypatch
):
    out = trained()
    before, times = bytes_of(out), {path: path.stat().st_mtime_ns for path in out.iterdir()}
    trained = []
    real = work.train_probes
    monkeypatch.setattr(
        work,
        "train_probes",
        lambda data, keys, *given, **named: trained.append(keys) or real(data, keys, *given, **named),
    )
    train_edges(request_of(words))
    assert trained == [] and {path: path.stat().st_mtime_ns for path in out.iterdir()} == times
    train_edges(request_of(words, seeds=3, kinds=("cumulative", "cumulative")))
    assert [{key.seed for key in keys} for keys in trained] == [{1, 2}] and [len(keys) for keys in trained] == [6]
    after = bytes_of(out)
    assert before.items() <= after.items() and len(tables_of(out, "edge_runs")) == 3
    assert {path: path.stat().st_mtime_ns for path in times} == times
    # What is trained beside others is what is trained with others, but for rounding.
    together = train_edges(request_of(words, seeds=3, out=tmp_path / "together"))
    for name, content in bytes_of(together).items():
        if name.startswith("edge_training"):
            best, other = (read_table(folder / name, "edge_training").to_pylist() for folder in (out, together))
            assert [row["best"] for row in best] == pytest.approx([row["best"] for row in other], abs=1e-4), content


@pytest.mark.parametrize(
    ("place", "name", "calls"),
    [
        (training, "_keep", 2),
        (stored_runs, "write_table", 7),
        (work, "write_probes", 0),
    ],
)
def test_a_call_that_is_killed_anywhere_goes_on_and_ends_with_the_same_bytes(
    request_of, trained, words, tmp_path, dies, monkeypatch, place, name, calls
):
    given = {"kinds": ("cumulative", "at"), "labels": ("task", "control"), "codes": True}
    whole = bytes_of(trained(**given))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "other"))
    again = request_of(words, out=tmp_path / "killed", **given)
    lives = dies(place, name, calls)
    with pytest.raises(Killed):
        train_edges(again)
    lives()
    if place is training:
        newest = max(
            (tmp_path / "other" / "edge-training").rglob("*.safetensors"), key=lambda path: path.stat().st_mtime_ns
        )
        newest.write_bytes(newest.read_bytes()[:400])
    train_edges(again)
    assert bytes_of(tmp_path / "killed") == whole
    encoder = load_encoder(again.model, device="cpu")
    found = [
        probes_folder(folder, encoder.weights_id, "words") / FILE for folder in (tmp_path / "cache", tmp_path / "other")
    ]
    assert found[0].read_bytes() == found[1].read_bytes()
    assert not list((tmp_path / "other" / "edge-training").rglob("*"))


def test_damaged_states_are_made_again_and_the_results_are_the_same(request_of, trained, words, tmp_path, caplog):
    whole = bytes_of(trained())
    for path in (tmp_path / "cache").rglob("states-*.npy"):
        path.write_bytes(path.read_bytes()[:-20])
    with caplog.at_level(logging.WARNING):
        assert bytes_of(train_edges(request_of(words, out=tmp_path / "again"))) == whole
    assert "is damaged and is made again" in caplog.text


@pytest.mark.parametrize(
    ("table", "lost"),
    [
        ("edge_scores", True),
        ("edge_predictions", False),
        ("edge_runs", True),
        ("edge_mix", False),
    ],
)
def test_a_lost_or_damaged_file_of_a_run_is_made_again(request_of, trained, words, table, lost):
    out = trained()
    whole = bytes_of(out)
    (path,) = out.glob(f"{table}-*.parquet")
    if lost:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-30])
    train_edges(request_of(words))
    assert {name: content for name, content in bytes_of(out).items() if name in whole} == whole


def test_answers_that_were_not_wanted_at_first_are_made_when_they_are(request_of, words):
    out = train_edges(request_of(words, predictions=False))
    assert not list(out.glob("edge_predictions-*"))
    train_edges(request_of(words))
    assert len(tables_of(out, "edge_predictions")) == 3 * 90 and len(tables_of(out, "edge_runs")) == 1


def test_probes_that_are_asked_later_are_kept_and_lost_ones_are_trained_again(request_of, words, tmp_path):
    wanted = request_of(words, probe_bits=8)
    out = train_edges(wanted)
    path = probes_folder(tmp_path / "cache", load_encoder(wanted.model, device="cpu").weights_id, "words") / FILE
    probes, kept = read_probes(path), path.read_bytes()
    assert (probes.task, probes.labels, probes.counts) == ("words", ("colour", "other", "town"), (True, True, True))
    assert list(probes.f1) == [row["best"] for row in tables_of(out, "edge_training")]
    for spoil in (path.unlink, lambda: path.write_bytes(kept[:-5])):
        spoil()
        train_edges(wanted)
        assert path.read_bytes() == kept
    path.unlink()
    train_edges(replace(wanted, kinds=("at",)))
    assert not path.exists(), "only cumulative probes are asked"
    # Those of another recipe are probes, too: they stay until they are trained again.
    train_edges(replace(wanted, recipe=QUICK.model_copy(update={"width": 5}), out=tmp_path / "narrow"))
    assert read_probes(path).shape.width == 5
    train_edges(wanted)
    assert read_probes(path).shape.width == 5


def test_random_encoders_are_runs_of_their_own_and_keep_no_probes(request_of, words, tmp_path):
    for encoder in ("random", "random-body"):
        out = train_edges(request_of(words, encoder=encoder))
    runs = tables_of(out, "edge_runs")
    assert [row["encoder"] for row in sorted(runs, key=lambda row: row["encoder"])] == ["random", "random-body"]
    assert len({json.loads(row["config"])["weights"] for row in runs}) == 1
    assert not (tmp_path / "cache" / "edges").exists()


def test_sentences_that_are_too_long_are_counted_and_the_others_asked(request_of, tmp_path):
    rows = kinds()
    long = {
        "text": " ".join(["red"] * 600),
        "targets": [{"span1": [599, 600], "label": "colour"}, {"span1": [0, 1], "label": "colour"}],
    }
    for part in rows.values():
        part.insert(0, long)
    out = train_edges(request_of(write_own(tmp_path / "long", **rows)))
    (run,) = tables_of(out, "edge_runs")
    reason = "beyond the model's longest input"
    assert json.loads(run["left_out"]) == {"train": {reason: 1}, "dev": {reason: 1}, "test": {reason: 1}}
    assert {row["target"] for row in tables_of(out, "edge_predictions")} == set(range(92)) - {0}
    scores = [
        row for row in tables_of(out, "edge_scores") if (row["layer"], row["part"], row["label"]) == (0, "dev", 0)
    ]
    assert sum(sum(row[what] for what in ("tp", "fp", "fn", "tn")) for row in scores) == 91


def test_a_task_whose_part_cannot_be_asked_is_refused(request_of, tmp_path):
    rows = kinds()
    rows["dev"] = [{"text": "the \u00ad", "targets": [{"span1": [1, 2], "label": "other"}] * 2}]
    with pytest.raises(
        EdgeDataError,
        match=r"got no target in its dev part that tiny-bert can be probed for \(2 words without word pieces\)",
    ):
        train_edges(request_of(write_own(tmp_path / "silent", **rows), out=tmp_path / "out"))
    assert not list(tmp_path.glob("out/**/*.parquet")), "the data of a task without a run are not stored"
    rows["dev"] = []
    with pytest.raises(EdgeDataError, match=r"dev.jsonl has no targets; expected sentences with labelled spans"):
        train_edges(request_of(write_own(tmp_path / "empty", **rows)))


def test_a_test_part_without_pieces_a_single_label_and_none_that_counts_are_trained(request_of, tmp_path):
    rows = kinds(spans=2)
    for part in rows.values():
        for row in part:
            for target in row["targets"]:
                target["label"] = "0"
    rows["test"] = [{"text": "the \u00ad", "targets": [{"span1": [1, 2], "span2": [0, 1], "label": "0"}]}]
    # The authors' coreference counts pairs with the label "1" only, and there are none.
    folder = write_own(tmp_path / "edges-coref-ontonotes", **rows)
    out = train_edges(request_of(folder, codes=True))
    assert {row["best"] for row in tables_of(out, "edge_training")} == {0.0}
    assert {row["bits"] for row in tables_of(out, "edge_codes")} == {0.0}
    assert [row["counts"] for row in tables_of(out, "edge_labels")] == [False]
    assert (
        sum(
            row["tp"] + row["fp"] + row["fn"] + row["tn"]
            for row in tables_of(out, "edge_scores")
            if row["part"] == "test"
        )
        == 0
    )


def test_control_labels_teach_nothing_about_words_that_training_does_not_have(request_of, tmp_path):
    draw = np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrst")
    words = ["".join(draw.choice(letters, 5)) for _ in range(900)]
    rows = {}
    for part, chosen in (("train", words[:600]), ("dev", words[600:])):
        targets = [
            [{"span1": [place, place + 1], "label": "abcd"[int(draw.integers(4))]} for place in range(6)]
            for _ in range(len(chosen) // 6)
        ]
        rows[part] = [
            {"text": " ".join(chosen[6 * n : 6 * n + 6]), "targets": given} for n, given in enumerate(targets)
        ]
    out = train_edges(
        request_of(
            write_own(tmp_path / "letters", **rows),
            labels=("task", "control"),
            recipe=QUICK.model_copy(update={"most_checks": 8}),
        )
    )
    majority = [row for row in tables_of(out, "edge_baselines") if row["baseline"] == "majority"]
    floor = f1(majority, dict.fromkeys(range(4), True))
    scores = tables_of(out, "edge_scores")
    for run, layer in itertools.product({row["run_id"] for row in scores}, range(3)):
        unseen = [
            row
            for row in scores
            if (row["run_id"], row["layer"], row["part"], row["seen"]) == (run, layer, "dev", False)
        ]
        assert sum(row["tp"] + row["fn"] for row in unseen) == 300
        # Nobody reads them before the answers: what is stopped by the same part is a little above chance at best.
        assert (2 * sum(row["tp"] for row in unseen) == 0) or f1(
            unseen, dict.fromkeys(range(4), True)
        ) <= floor + 3 * np.sqrt(floor * (1 - floor) / 300)


def test_two_folders_of_one_name_are_refused(request_of, trained, words, tmp_path):
    other = task_folder(tmp_path / "elsewhere" / "words", seed=5)
    with pytest.raises(OptionError, match="have the same name; rename one of the folders"):
        train_edges(request_of(words, other))
    trained()
    with pytest.raises(
        OptionError, match=r"run [0-9a-f]{16} in .*out has other data for a task also called words; rename the folder"
    ):
        train_edges(request_of(other))


def test_data_that_changed_since_a_run_are_refused(request_of, trained, words):
    trained()
    task_folder(words, seed=9)
    with pytest.raises(OptionError, match="has other data for a task also called words"):
        train_edges(request_of(words))


def test_a_built_in_task_is_meant_also_where_a_folder_of_its_name_lies(request_of, cache, tmp_path, monkeypatch):
    from tests.edges.edge_files import write_ewt

    write_ewt(cache / "downloads" / "ud-english-ewt")
    (tmp_path / "pos").mkdir()
    monkeypatch.chdir(tmp_path)
    out = train_edges(request_of("pos"))
    assert {row["task"] for row in tables_of(out, "edge_runs")} == {"pos"}
    with pytest.raises(EdgeDataError, match="has the name of the built-in task 'pos'"):
        train_edges(request_of("./pos"))
