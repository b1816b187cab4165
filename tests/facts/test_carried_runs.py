"""Runs on what is carried: stored, resumed to equal bytes, reported with intervals, and of a user's own facts."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import probing
from probing.facts import carried_run
from probing.facts.report_carried import BROUGHT, MEASURES, READ_NOT_CARRIED, by_layer, lost
from probing.facts.requests import CARRIED, ProbeRequest
from probing.kernel.errors import OptionError
from probing.kernel.jobs import stored_runs
from probing.kernel.stats.intervals import pigeonhole, wilson_mean
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table
from tests.carried_planted import FACTS, INNER, KNOWN, SINCE, flag, plant_carried
from tests.fixtures.commands import Killed, bytes_of
from tests.jobs.planted import Elsewhere
from tests.planted_relatives import BASE, COLA, LAYERS
from tests.planted_store import PlantedRun, plant_runs

#: Facts in wordings of their own, all of which the shipped model answers.
OWN = [
    ("Paris", "France", "Paris is the capital of [MASK]."),
    ("Rome", "Italy", "Rome is the capital city of [MASK]."),
    ("Madrid", "Spain", "Madrid is a city in [MASK]."),
    ("Windows", "Microsoft", "Windows is made by [MASK]."),
]


@pytest.fixture
def carry(run, cache):
    """``probe --measure carried`` of the shipped model."""

    def call(*more, facts="everyday", **options):
        words = ("--model", "nesia-mini", "--facts", facts, "--measure", CARRIED, "--device", "cpu")
        return run("probe", *words, *more, **options)

    return call


def stored(folder, table):
    return [row for path in sorted(folder.glob(f"{table}-*.parquet")) for row in read_table(path, table).to_pylist()]


def test_a_run_of_the_shipped_model_is_stored_checked_and_reported(carry, run, cache):
    said = carry("--sample", 30).output
    (row,) = stored(cache / "runs", "carried_runs")
    facts, layers = (stored(cache / "runs", f"carried_{name}") for name in ("facts", "layers"))
    assert f"30 of {row['n_known']:,} facts that the last layer answers" in said
    assert len([fact for fact in facts if fact["part"] == "known"]) == 30
    assert len(layers) == len(facts) * 9 and row["n_read"] == row["n_probed"] + sum(
        json.loads(row["left_out"]).values()
    )
    assert "exists already" in carry("--sample", 30).output
    rows = json.loads(run("report", "carried", "--model", "nesia-mini", "--json").stdout)
    last = {one["measure"]: one for one in rows if one["layer"] == 8 and one["part"] == "known"}
    assert [last[name]["value"] for name in MEASURES] == [1.0] * 4 and last["read"]["n"] == 30
    assert {one["measure"] for one in rows} == {*MEASURES, READ_NOT_CARRIED, *(BROUGHT if len(facts) > 30 else ())}
    assert "last layer answers" in run("runs").output and "ok  runs" in run("check").output


def test_a_call_that_was_killed_goes_on_and_gives_equal_bytes(carry, cache, dies):
    small = ("--sample", 8, "--shard", 5)
    carry(*small)
    wanted = bytes_of(cache / "runs")
    for path in (cache / "runs").glob("carried_*"):
        path.unlink()
    undo = dies(carried_run, "measure_cases", 2)
    with pytest.raises(Killed):
        carry(*small)
    undo()
    assert not list((cache / "runs").glob("carried_*"))
    carry(*small)
    assert bytes_of(cache / "runs") == wanted


def test_a_worker_that_opens_the_model_by_itself_writes_the_same_and_the_run_can_be_shared(
    carry, run, cache, tmp_path, monkeypatch
):
    carry("--sample", 8)
    here = bytes_of(cache / "runs")
    for path in (cache / "runs").glob("carried_*"):
        path.unlink()
    monkeypatch.setattr(stored_runs, "executor", lambda *given: Elsewhere())
    carry("--sample", 8)
    assert bytes_of(cache / "runs") == here
    run("push", "predictions", "--model", "nesia-mini", "--to-folder", tmp_path / "share", "--runs", cache / "runs")
    shutil.rmtree(cache / "runs")
    assert "last layer answers" in run("pull", "--from-folder", tmp_path / "share").output + run("runs").output
    assert len(json.loads(run("report", "carried", "--probe-set", "everyday", "--json").stdout)) >= 45


def test_ten_facts_of_a_user_need_no_host(carry, run, tmp_path):
    pd.DataFrame(OWN, columns=["subject", "object", "prompt"]).to_csv(tmp_path / "aunts.csv", index=False)
    assert "4 of 4 facts that the last layer answers: 4 without a host" in carry(facts=tmp_path / "aunts.csv").output
    rows = pd.DataFrame(json.loads(run("report", "carried", "--probe-set", "aunts", "--json").stdout))
    alone = rows[(rows["measure"] == "alone") & (rows["layer"] == 8)].iloc[0]
    assert alone["value"] == 1 and 0 < alone["n"] <= 4 and 0 < alone["low"] < 1 == alone["high"]
    assert rows[rows["measure"] == "against"]["n"].eq(0).all()


def test_facts_that_no_layer_answers_are_no_run(carry, cache, tmp_path):
    (tmp_path / "odd.csv").write_text("subject,object,prompt\nParis,water,Paris is the capital of [MASK].\n")
    assert "no layer answers any of these facts" in carry(facts=tmp_path / "odd.csv").output
    assert not list((cache / "runs").glob("carried_*"))


def test_options_that_do_not_fit_are_refused():
    with pytest.raises(OptionError, match="own head"):
        ProbeRequest("nesia-mini", measure=CARRIED, head="tied")
    with pytest.raises(OptionError, match="candidates are"):
        ProbeRequest("nesia-mini", measure=CARRIED, candidates="list.txt")
    assert ProbeRequest("nesia-mini", measure=CARRIED, head="logit_lens").head == "logit_lens"


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    with open_database(plant_carried(tmp_path_factory.mktemp("carried"))) as db:
        yield db


def test_the_report_has_what_a_count_fact_by_fact_gives(planted):
    run_id = planted.query("SELECT run_id FROM carried_runs WHERE base IS NULL OR base = ''")["run_id"].iloc[0]
    table = by_layer(planted, [run_id]).set_index(["part", "measure", "layer"])
    free = [n for n in range(KNOWN) if n != 3]
    for measure in MEASURES:
        numbers = free if measure == "alone" else range(KNOWN)
        for layer in LAYERS:
            own = {n: flag(n, measure, layer) for n in numbers if flag(n, measure, layer) is not None}
            row = table.loc[("known", measure, layer)]
            assert (row["n"], row["value"]) == (len(own), pytest.approx(np.mean(list(own.values()))))
            low, high = wilson_mean(row["value"], row["n"])
            assert row["low"] <= low and row["high"] >= high, "never narrower than of as many independent facts"
            if measure == "read":
                assert pd.isna(row["null"])
                continue
            null = {n: flag(n, f"{measure}_null", layer) for n in own if flag(n, f"{measure}_null", layer) is not None}
            assert (row["null_n"], row["null"]) == (len(null), pytest.approx(np.mean(list(null.values()))))
            above = np.mean([own[n] - null[n] for n in null])
            assert row["above_null"] == pytest.approx(above) and row["above_low"] <= above <= row["above_high"]
    gap = table.loc[("known", READ_NOT_CARRIED)]["above_null"]
    reads = [np.mean([flag(n, "read", layer) - flag(n, "alone", layer) for n in free]) for layer in LAYERS]
    assert gap.tolist() == pytest.approx(reads)
    inner = table.loc["inner"]
    assert [inner.loc[("right", layer), "n"] for layer in LAYERS] == [
        INNER if layer in (1, 2) else 0 for layer in LAYERS
    ]


def test_the_bootstrap_of_pairs_is_that_of_a_slow_loop_and_wider_than_of_independent_facts():
    random = np.random.default_rng(5)
    first, second = random.integers(0, 4, 60), random.integers(0, 4, 60)
    values = (random.random((60, 1)) < 0.2 + 0.2 * first[:, None] * (second[:, None] > 1)).astype(float)
    values[7] = np.nan
    low, high = pigeonhole(values, first, second, draws=4000)
    drawn = []
    for counts in np.random.default_rng(1).multinomial(4, np.full(4, 0.25), size=4000):
        weights = [counts[a] * counts[b] for a, b in zip(first, second, strict=True)]
        some = [(w, v) for w, (v,) in zip(weights, values, strict=True) if not np.isnan(v)]
        if total := sum(w for w, _ in some):
            drawn.append(sum(w * v for w, v in some) / total)
    assert [low[0], high[0]] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.03)
    alone_low, alone_high = pigeonhole(values, np.arange(60))
    assert high - low > 1.2 * (alone_high - alone_low)


def test_of_lost_facts_it_is_counted_what_layers_read_and_what_is_carried(tmp_path):
    def rank_of_base(number, layer):
        return 1 if number % 4 and layer else 9

    def rank_of_tuned(number, layer):
        return 1 if number % 3 == 0 or layer == 1 + number % 2 else 9

    depth = {"head": "logit_lens", "layers": len(LAYERS), "facts": tuple(FACTS), "swapped": False}
    runs = [
        PlantedRun(BASE.name, rank=rank_of_base, **depth),
        PlantedRun(COLA.name, base=BASE.name, objective=COLA.objective, rank=rank_of_tuned, **depth),
    ]
    plant_runs(tmp_path / "facts", runs)
    with open_database(tmp_path / "facts", plant_carried(tmp_path / "carried")) as db:
        of_tuned = db.query("SELECT run_id FROM carried_runs WHERE model = $model", {"model": COLA.name})["run_id"]
        table = lost(db, list(of_tuned)).set_index("layer")
    gone = [n for n in range(len(FACTS)) if n % 4 and n % 3]
    for layer in LAYERS:
        seen = [n for n in gone if rank_of_tuned(n, layer) == 1]
        row = table.loc[layer]
        assert (row["lost"], row["read"], row["measured"]) == (len(gone), len(seen), len(seen))
        assert row["carried"] == sum(bool(flag(n, "alone", layer)) for n in seen)
    assert table["base"].eq(BASE.name).all() and table["read"].sum() > 0


def test_a_notebook_draws_the_curves_of_a_run(planted, tmp_path):
    with probing.results(plant_carried(tmp_path / "runs")) as results:
        report = results.report("facts", "carried", model=COLA.name)
        assert len(report.table) == len(by_layer(planted, list(report.table["run_id"].unique())))
        figure = report.figure()
        names = [trace.name for trace in figure.data if trace.mode == "lines+markers"]
        assert names == ["read here", "carried alone", "carried against another", "settled by here"]
        read = next(trace for trace in figure.data if trace.name == "read here" and trace.mode == "lines+markers")
        assert list(read.y) == [100 * np.mean([layer >= SINCE["read"](n) for n in range(KNOWN)]) for layer in LAYERS]
        assert len(results.report("facts", "carried").figure().layout.annotations) >= 2
        with pytest.raises(OptionError, match="no runs of --measure carried"):
            _ = results.report("facts", "carried", model="nobody").table
