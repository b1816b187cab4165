"""Reports on facts against a few lines of plain Python on the rows of the Parquet files, and their intervals."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from probing.compared.report_heads import points_lost
from probing.facts.figures_relations import relation_slopes
from probing.facts.forgotten import AUTHORS_KEYS, FATES, PARTS, fate_of, part_of
from probing.facts.report import asked
from probing.facts.report_any import _others, right_any
from probing.facts.report_forgotten import forgotten, relation_forgetting
from probing.facts.report_layers import answer_drift, by_layer, early_exit, precision, precision_by_relation, total
from probing.facts.report_pairs import paired_by_layer, paired_with_yardsticks, transitions, transitions_by_relation
from probing.facts.runs import choose, pairs
from probing.facts.totals import KINDS
from probing.forgetting.figures import flow_of_100
from probing.forgetting.report_outcome import hundred
from probing.forgetting.ways import GAINED, KEPT, LAYERS_BACK, OUTCOMES
from probing.kernel.fact import Subset
from probing.kernel.stats import intervals as bootstrap
from probing.kernel.stats.intervals import RelationCounts, macro, parallel_map, whole_shares, wider, wilson
from probing.kernel.stats.paired_tests import answer_interval, mcnemar_exact
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table
from probing.kernel.store.stored import fact_runs
from probing.papers.bertnesia import BERTNESIA
from tests.facts.planted_forgetting import KS, plant
from tests.facts.test_numbers import sums_of
from tests.planted_store import (
    SEVERAL,
    SEVERAL_ANSWERS,
    TOKENS,
    VARIANTS,
    PlantedRun,
    plant_runs,
    plant_store,
    planted_facts,
    planted_rank,
)
from tests.reference.facts import classify, is_scored

#: Every token comes first somewhere, so that every kind of answer occurs.
KINDS_OF_ANSWERS = [
    PlantedRun(
        model=model,
        base=base,
        probe_set=probe_set,
        rank=lambda number, layer: 1 + (number + layer) % 5,
        top=lambda number, layer: (number * 7 + layer * 5) % len(TOKENS),
    )
    for model, base in (("nesia-mini", ""), ("nesia-mini-qa", "nesia-mini"))
    for probe_set in ("trex", "common_sense")
]
PLANTS = {
    "forgetting": lambda folder: plant(folder),
    "several": lambda folder: plant_store(folder, SEVERAL),
    "kinds": lambda folder: plant_store(folder, KINDS_OF_ANSWERS),
}


class Raw:
    """What the Parquet files say: rows as they were written, and nothing counted."""

    def __init__(self, folder: Path):
        def rows(table: str) -> list[dict]:
            return [
                row
                for path in sorted(folder.rglob(f"{table}-*.parquet"))
                for row in read_table(path, table).to_pylist()
            ]

        self.runs = {row["run_id"]: row for row in rows("runs")}
        self.facts = {row["fact_id"]: row for row in rows("facts")}
        self.tokens = {row["id"]: row for row in rows("vocabulary")}
        #: run id -> fact id -> its rows, by layer.
        self.rows: dict[str, dict[str, list[dict]]] = defaultdict(lambda: defaultdict(list))
        for row in sorted(rows("predictions"), key=lambda row: row["layer"]):
            self.rows[row["run_id"]][row["fact_id"]].append(row)

    def ranks(self, run_id: str) -> dict[str, list[int]]:
        """Fact id -> ranks of layers 0 to L."""
        return {fact: [row["gold_rank"] for row in rows] for fact, rows in self.rows[run_id].items()}

    def by_relation(self, run_id: str) -> dict[str, list[list[int]]]:
        """Relation -> ranks of its facts."""
        found = defaultdict(list)
        for fact, ranks in self.ranks(run_id).items():
            found[self.facts[fact]["relation"]].append(ranks)
        return found


@pytest.fixture(scope="module", params=PLANTS)
def store(request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Raw]]:
    folder = tmp_path_factory.mktemp("store")
    with open_database(PLANTS[request.param](folder)) as database:
        yield database, Raw(folder / "runs")


def mean(values) -> float:
    values = list(values)
    return sum(values) / len(values)


def test_precision_is_the_share_of_ranks_up_to_k(store: tuple[Database, Raw]):
    db, raw = store
    for average in ("macro", "micro"):
        for row in precision(db, list(raw.runs), KS, average).itertuples():
            hits = {
                name: [ranks[row.layer] <= row.k for ranks in facts]
                for name, facts in raw.by_relation(row.run_id).items()
            }
            every = [hit for own in hits.values() for hit in own]
            assert row.value == pytest.approx(mean(map(mean, hits.values())) if average == "macro" else mean(every))
            assert (row.n, row.relations, row.average) == (len(every), len(hits), average)
            assert row.low <= row.value <= row.high
    for row in precision_by_relation(db, list(raw.runs), 10).itertuples():
        facts = raw.by_relation(row.run_id)[row.relation]
        assert row.value == mean(ranks[row.layer] <= 10 for ranks in facts)
    for row in by_layer(db, list(raw.runs), "mrr", "micro").itertuples():
        assert row.value == pytest.approx(mean(1 / ranks[row.layer] for ranks in raw.ranks(row.run_id).values()))


def test_total_is_a_union_over_the_transformer_layers(store: tuple[Database, Raw]):
    db, raw = store
    found = total(db, list(raw.runs), KS)
    assert len(found) == len(raw.runs) * 3 * 2
    for row in found.itertuples():
        relations = raw.by_relation(row.run_id).values()
        last = [[ranks[-1] <= row.k for ranks in facts] for facts in relations]
        some = [[min(ranks[1:]) <= row.k for ranks in facts] for facts in relations]
        average = (
            (lambda of: mean(map(mean, of))) if row.average == "macro" else (lambda of: mean(chain.from_iterable(of)))
        )
        assert row.last_layer == pytest.approx(average(last))
        assert row.total == pytest.approx(average(some))
        if row.total:
            assert row.intermediate_share == pytest.approx((average(some) - average(last)) / average(some))
        assert row.seeds == 1 and row.seed_union != row.seed_union


@pytest.mark.filterwarnings("ignore:Precision loss")
def test_forgotten_relations_are_those_whose_ranks_say_so(store: tuple[Database, Raw]):
    db, raw = store
    several = [run for run in raw.runs if len(raw.by_relation(run)) > 1]
    found = forgotten(db, list(raw.runs), KS)
    assert sorted(set(found["run_id"])) == sorted(several)
    for row in found.itertuples():
        relations = raw.by_relation(row.run_id)
        names = set()
        for name, facts in relations.items():
            layers = [[int(ranks[layer] <= row.k) for ranks in facts] for layer in range(len(facts[0]))]
            last, best = layers[-1], max(layers[1:-1], key=sum)
            above = sum(best) > sum(last)
            spread = 0 < sum(best) < len(facts) or 0 < sum(last) < len(facts)
            if row.definition == "caption" and above:
                names.add(name)
            if (
                row.definition == "authors"
                and above
                and spread
                and stats.ttest_ind(best, last, equal_var=True).pvalue <= 0.05
            ):
                names.add(name)
        if row.definition != "strict":
            assert row.names == tuple(sorted(names))
        assert (row.relations, row.forgotten) == (len(relations), len(row.names))
        assert row.share == row.forgotten / (AUTHORS_KEYS if row.definition == "authors" else row.relations)


def test_strict_is_mcnemar_and_benjamini_hochberg_by_hand(store: tuple[Database, Raw]):
    db, raw = store
    for run_id in raw.runs:
        rows = relation_forgetting(db, [run_id], 10).set_index("relation")
        tests = []
        for name, facts in raw.by_relation(run_id).items():
            for layer in range(1, len(facts[0]) - 1):
                inner_only = sum(ranks[layer] <= 10 < ranks[-1] for ranks in facts)
                last_only = sum(ranks[-1] <= 10 < ranks[layer] for ranks in facts)
                p = stats.binomtest(inner_only, inner_only + last_only, 0.5).pvalue if inner_only + last_only else 1.0
                tests.append((p, name, (inner_only - last_only) / len(facts)))
        adjusted, running = {}, 1.0
        for place, (p, name, drop) in sorted(enumerate(sorted(tests), 1), reverse=True):
            running = min(running, p * len(tests) / place)
            adjusted.setdefault(name, []).append((running, drop))
        for name, found in adjusted.items():
            above = [p for p, drop in found if drop > 0]
            assert (
                rows.at[name, "p_strict"] == pytest.approx(min(above))
                if above
                else rows.at[name, "p_strict"] != rows.at[name, "p_strict"]
            )
            assert rows.at[name, "strict"] == any(p <= 0.05 and drop >= 0.02 - 1e-12 for p, drop in found if drop > 0)
            assert rows.at[name, "drop"] == pytest.approx(max(drop for _, drop in found))
            assert rows.at[name, "family_size"] == len(tests)


def test_doubling_and_the_facts_by_exposure_are_counted_from_the_rows(store: tuple[Database, Raw]):
    db, raw = store
    for k in (1, 100):
        for row in relation_forgetting(db, list(raw.runs), k).to_dict("records"):
            facts = raw.by_relation(row["run_id"])[row["relation"]]
            hits = [sum(ranks[layer] == 1 for ranks in facts) for layer in range(len(facts[0]))]
            assert row["doubling"] == (max(hits[1:-1]) > 0 and hits[-1] >= 2 * max(hits[1:-1]))
            assert (
                row["n"]
                == len(facts)
                == sum(
                    row[name] for name in ("stated", "evidence", "unseen", "held_out_in_part", "held_out", "unknown")
                )
            )


def test_transitions_and_fates_are_those_of_each_fact(store: tuple[Database, Raw]):
    db, raw = store
    found = transitions(db, pairs(choose(db)), KS)
    assert len(found)
    for row in found.to_dict("records"):
        base, model = raw.ranks(row["base_run_id"]), raw.ranks(row["run_id"])
        common = base.keys() & model.keys()
        parts = [part_of(base[fact][-1], model[fact][-1], row["k"]) for fact in common]
        fates = [
            fate_of(base[fact], model[fact])
            for fact in common
            if part_of(base[fact][-1], model[fact][-1], row["k"]) == "lost"
        ]
        assert {part: row[part] for part in PARTS} == {part: parts.count(part) for part in PARTS}
        assert {fate: row[fate] for fate in FATES} == {fate: fates.count(fate) for fate in FATES}
        assert (row["n"], row["only_base"], row["only_model"]) == (
            len(common),
            len(base) - len(common),
            len(model) - len(common),
        )


def test_kinds_of_answers_are_what_the_definition_says_of_each_top_token(store: tuple[Database, Raw]):
    db, raw = store
    found = answer_drift(db, list(raw.runs)).set_index(["run_id", "layer", "kind"])
    for run_id in raw.runs:
        counts: dict[tuple, int] = defaultdict(int)
        for fact_id, rows in raw.rows[run_id].items():
            fact = raw.facts[fact_id]
            alike = [
                one
                for one in raw.facts.values()
                if (one["probe_set"], one["relation"]) == (fact["probe_set"], fact["relation"])
            ]
            own = [one for one in alike if (one["subject"] or one["prompt"]) == (fact["subject"] or fact["prompt"])]
            for row in rows:
                token = raw.tokens[row["top_ids"][0]]
                kind = classify(
                    token["text"],
                    starts_word=token["starts_word"],
                    right=row["gold_rank"] == 1,
                    prompt=fact["prompt"],
                    subject_answers=[one["object"] for one in own],
                    relation_answers=[one["object"] for one in alike],
                )
                counts[row["layer"], kind] += 1
        for layer in range(raw.runs[run_id]["layers"]):
            for kind in KINDS:
                assert found.at[(run_id, layer, kind), "n"] == counts[layer, kind], (layer, kind)
                assert found.at[(run_id, layer, kind), "share"] == counts[layer, kind] / len(raw.rows[run_id])


def test_early_exit_chooses_on_one_half_and_scores_on_the_other(store: tuple[Database, Raw]):
    db, raw = store
    for k in KS:
        for row in early_exit(db, list(raw.runs), k, seed=3).itertuples():
            ranks, last = raw.ranks(row.run_id), raw.runs[row.run_id]["layers"] - 1
            hits = {name: dict.fromkeys(range(1, last + 1), 0) for name in raw.by_relation(row.run_id)}
            for fact, own in ranks.items():
                for layer in range(1, last + 1):
                    hits[raw.facts[fact]["relation"]][layer] += not is_scored(fact, 3) and own[layer] <= k
            best = {name: max(own, key=lambda layer: (own[layer], layer)) for name, own in hits.items()}
            scored = {fact: own for fact, own in ranks.items() if is_scored(fact, 3)}
            assert row.n == len(scored)
            if scored:
                assert row.last_layer == mean(own[-1] <= k for own in scored.values())
                assert row.early_exit == mean(
                    own[best[raw.facts[fact]["relation"]]] <= k for fact, own in scored.items()
                )
                assert row.union == mean(min(own[1:]) <= k for own in scored.values())
                assert row.difference == pytest.approx(row.early_exit - row.last_layer)


def test_every_kind_of_answer_occurs_somewhere(tmp_path: Path):
    with open_database(plant_store(tmp_path, KINDS_OF_ANSWERS)) as db:
        found = answer_drift(db, [run.run_id for run in KINDS_OF_ANSWERS]).groupby("kind")["n"].sum()
        assert (found.reindex(KINDS) > 0).all(), found


BASE = PlantedRun()
MODEL = PlantedRun(
    model="nesia-mini-qa", base="nesia-mini", rank=lambda number, layer: 1 if number in (0, 3, 7) else 5 + layer
)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    with open_database(plant_store(tmp_path_factory.mktemp("paired"), (BASE, MODEL))) as opened:
        yield opened


@pytest.mark.parametrize("k", [1, 10])
def test_every_layer_counts_the_facts_that_each_side_knows(db, k):
    table = paired_by_layer(db, BASE.run_id, MODEL.run_id, k).set_index("layer")
    assert list(table.index) == [0, 1, 2, 3]
    numbers = range(len(planted_facts("trex")))
    for layer, row in table.iterrows():
        base = {number for number in numbers if planted_rank(number, layer) <= k}
        model = {number for number in numbers if MODEL.rank(number, layer) <= k}
        assert row["n"] == 10
        assert (row["both"], row["base_only"], row["model_only"]) == (
            len(base & model),
            len(base - model),
            len(model - base),
        )
        assert row["both"] + row["base_only"] + row["model_only"] + row["neither"] == 10
        assert row["difference"] == pytest.approx((len(model) - len(base)) / 10)
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
        assert row["base_low"] <= row["base_value"] == pytest.approx(len(base) / 10)
        assert row["low"] <= row["value"] == pytest.approx(len(model) / 10)
        assert row["p_value"] == pytest.approx(mcnemar_exact(len(base - model), len(model - base)))


def test_filters_choose_the_facts(db):
    stated = paired_by_layer(db, BASE.run_id, MODEL.run_id, 1, Subset(("stated",)))
    assert set(stated["n"]) == {4}
    assert paired_by_layer(db, BASE.run_id, MODEL.run_id, 1, Subset(())).empty


def test_runs_on_other_facts_have_no_layer_in_common(db, tmp_path):
    other = PlantedRun(probe_set="questions")
    with open_database(plant_store(tmp_path, (BASE, other))) as opened:
        assert paired_by_layer(opened, BASE.run_id, other.run_id, 1).empty


def test_the_inner_share_has_wilsons_interval_of_the_facts_that_some_layer_knows(tmp_path):
    known = [
        {number for number in range(len(planted_facts("trex"))) if planted_rank(number, layer) == 1}
        for layer in (1, 2, 3)
    ]
    ever = set.union(*known)
    with open_database(plant_store(tmp_path, (PlantedRun(),))) as db:
        row = BERTNESIA.compare(db, "nesia-mini", "tied").ours.about.total.set_index("average").loc["micro"]
    assert (row["intermediate_low"], row["intermediate_high"]) == pytest.approx(
        wilson(len(ever - known[-1]), len(ever))
    )


NOTHING = pd.DataFrame(columns=["way", "level", "protocol", "yardstick", "share", "yardstick_share"])


@pytest.mark.parametrize("seed", range(20))
def test_whole_shares_add_up_and_are_next_to_the_exact_ones(seed):
    sizes = [*np.random.default_rng(seed).integers(0, 10 ** (seed % 6), 7).tolist(), 1]
    shares = whole_shares(sizes)
    assert sum(shares) == 100
    assert np.abs(np.array(shares) - 100 * np.array(sizes) / sum(sizes)).max() < 1


def test_every_outcome_is_in_one_part_and_what_was_gained_is_beside_them():
    # By the largest remainders alone the kept ones would be 39, and 40 in every sentence.
    sizes = [3952, 2654, 118, 277, 982, 1290, 727]
    outcome = pd.DataFrame(
        {"part": OUTCOMES, "n": sizes, "note": ["no layers" if one == LAYERS_BACK else "" for one in OUTCOMES]}
    )
    table = hundred(outcome, pd.DataFrame({"way": []}), NOTHING, (20, 1000))
    of = table.set_index("part")
    assert of.loc[of["kind"] != GAINED, "of_100"].sum() == 100 and of.loc[of["kind"] != GAINED, "n"].sum() == sum(sizes)
    assert of.loc["another layer", "n"] == 2772 and of.loc[KEPT, "of_100"] == 40 and of.loc[GAINED, "of_100"] == 2
    assert (of["test"] == "").all()
    assert of.loc[LAYERS_BACK, "note"] == "no layers"


def test_a_change_that_rounds_to_0_has_no_sign():
    table = pd.DataFrame({"relation": list("abcde"), "share_lost": [0.134, 0.002, -0.002, -0.06, np.nan]})
    table = table.assign(label=table["relation"], n=100, kept=1, lost=1, gained=1, base_value=0.5, value=0.5)
    figure = relation_slopes(table, base="base", model="model", colours=("#000000", "#ffffff"), k=1)
    assert [*figure.data[-1].text] == ["−13 %", "0 %", "0 %", "+6 %", ""]


@pytest.mark.parametrize("sizes", [(80, 11, 2, 1, 3, 2, 1), (97, 2, 0, 0, 1, 0, 0), (40, 27, 0, 3, 10, 13, 7)])
def test_the_ways_back_end_above_the_label_of_what_does_not_come_back(sizes):
    outcome = pd.DataFrame({"part": OUTCOMES, "n": sizes, "note": ""})
    parts = hundred(outcome, pd.DataFrame({"way": []}), NOTHING)
    figure = flow_of_100(parts, base="base", model="model", base_colour="#000000")
    heights = {trace.text[0].split("</span> ")[1]: trace.y[0] for trace in figure.data if trace.mode == "text"}
    assert list(heights)[:3] == ["kept", "come back", "not back"]
    assert heights["not back"] - max(list(heights.values())[3:]) > 5


ENDS = ["low_answers", "high_answers"]


@pytest.fixture(scope="module", params=["several", "forgetting"])
def stored(request, tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("answers")
    target = PLANTS[request.param](folder)
    return open_database(target), Raw(folder)


def expected(raw, run_id, layer, value, average="micro", least=0.0, keep=lambda fact: True):
    rows = [
        (raw.facts[fact]["relation"], raw.facts[fact]["object"], value(fact, of[layer]))
        for fact, of in raw.rows[run_id].items()
        if keep(fact)
    ]
    rows = [row for row in rows if row[2] is not None]
    return answer_interval(sums_of(rows), average, least) if rows else (np.nan, np.nan)


def above(_, row):
    return None if row["other_rank"] is None else float(row["gold_rank"] <= 10) - float(row["other_rank"] <= 10)


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_by_layer_and_by_relation(stored, average):
    db, raw = stored
    for filters, keep in (
        ({}, lambda fact: True),
        ({"answer_in_subject": False}, lambda fact: not raw.facts[fact]["answer_in_subject"]),
    ):
        points = by_layer(db, list(raw.runs), "p_at_10", average, Subset(**filters))
        for row in points.itertuples():
            kept = {"average": average, "keep": keep}
            own = expected(raw, row.run_id, row.layer, lambda _, one: float(one["gold_rank"] <= 10), **kept)
            assert (row.low_answers, row.high_answers) == pytest.approx(own, abs=1e-5, nan_ok=True)
            # The database empties swapped ranks that do not fit their facts.
            measured = pd.notna(row.above_swapped)
            swapped = expected(raw, row.run_id, row.layer, above, least=-1, **kept) if measured else (np.nan, np.nan)
            assert (row.above_swapped_low_answers, row.above_swapped_high_answers) == pytest.approx(
                swapped, abs=1e-5, nan_ok=True
            )
    for row in precision_by_relation(db, list(raw.runs), 10).itertuples():
        of = {"keep": lambda fact, relation=row.relation: raw.facts[fact]["relation"] == relation}
        own = expected(raw, row.run_id, row.layer, lambda _, one: float(one["gold_rank"] <= 10), **of)
        assert (row.low_answers, row.high_answers) == pytest.approx(own, abs=1e-5)


def test_pairs(stored):
    db, raw = stored
    found = pairs(choose(db))
    table = transitions(db, found, (10,))
    assert len(table)
    for row in table.itertuples():
        shared, last = (
            raw.rows[row.base_run_id],
            max(one["layer"] for of in raw.rows[row.run_id].values() for one in of),
        )

        def more(fact, one, shared=shared):
            return (
                float(one["gold_rank"] <= 10) - float(shared[fact][-1]["gold_rank"] <= 10) if fact in shared else None
            )

        ends = expected(raw, row.run_id, -1, more, least=-1)
        assert (row.low_answers, row.high_answers) == pytest.approx(ends, abs=1e-5, nan_ok=True)
        lost = points_lost(db, found[found["run_id"] == row.run_id], 10).set_index("base_run_id").loc[row.base_run_id]
        assert (-lost["lost_high_answers"], -lost["lost_low_answers"]) == pytest.approx(ends, abs=1e-5, nan_ok=True)
        layers = paired_with_yardsticks(db, row.base_run_id, row.run_id, 10).set_index("layer")
        if last in layers.index:
            at_last = (
                layers[[f"{name}_{end}" for name in ("difference", "more") for end in ENDS]].astype(float).loc[last]
            )
            assert tuple(at_last[f"difference_{end}"] for end in ENDS) == pytest.approx(ends, abs=1e-5, nan_ok=True)
            mirrored = [-at_last["more_high_answers"], -at_last["more_low_answers"]]
            of_lost = lost[[f"lost_above_{end}" for end in ENDS]].astype(float)
            assert mirrored == pytest.approx(of_lost.tolist(), abs=1e-5, nan_ok=True)
    assert len(transitions_by_relation(db, found, 10)) >= len(table)


def test_the_wider_has_the_outer_ends_of_both():
    table = pd.DataFrame(
        {"low": [0.2, 0.2], "low_answers": [0.1, np.nan], "x_high": [0.3, 0.3], "x_high_answers": [0.2, 0.4]}
    )
    assert wider(table)[["low", "x_high"]].to_numpy().tolist() == [[0.1, 0.3], [0.2, 0.4]]


def counts(number: int) -> list[RelationCounts]:
    return [RelationCounts(f"P{place}", 50 + place, (number * 7 + place) % 50) for place in range(41)]


def test_order_and_numbers_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(bootstrap, "_THREADS", 4)
    many = [counts(number) for number in range(12)]
    assert parallel_map(macro, many) == [macro(one) for one in many]


def test_several_are_drawn_at_the_same_time(monkeypatch):
    monkeypatch.setattr(bootstrap, "_THREADS", 2)
    met = threading.Barrier(2, timeout=10)
    assert parallel_map(lambda one: (met.wait() >= 0, one), [1, 2]) == [(True, 1), (True, 2)]


@pytest.fixture(scope="module")
def asked_db(tmp_path_factory):
    """Four births, three of them in Paris, among other relations and sets without templates."""
    root = tmp_path_factory.mktemp("asked")
    with open_database(plant_runs(root / "snapshot", VARIANTS["several"])) as database:
        yield database


def test_a_stored_sentence_has_its_recorded_answer_and_its_relations_commonest(asked_db):
    found = asked(asked_db, "Rocky Balboa was born in [MASK] .")
    assert (found.probe_set, found.label, found.answers) == ("trex", "place of birth", ("philadelphia",))
    assert (found.majority, found.share, found.n) == ("paris", 3 / 4, 4)


def test_case_and_blanks_make_no_difference(asked_db):
    assert asked(asked_db, "  rocky  balboa was born\nin [MASK] .") == asked(
        asked_db, "Rocky Balboa was born in [MASK] ."
    )


def test_a_stored_template_with_another_subject_has_no_recorded_answer(asked_db):
    found = asked(asked_db, "Somebody else was born in [MASK] .")
    assert (found.answers, found.majority, found.n) == ((), "paris", 4)
    assert asked(asked_db, "The capital of Spain is [MASK] .").label == "capital"


@pytest.mark.parametrize(
    "prompt", ["", "[MASK]", "[MASK] was born in [MASK] .", "He was not born in [MASK]!", " was born in [MASK] ."]
)
def test_any_other_sentence_is_not_stored(asked_db, prompt):
    assert asked(asked_db, prompt) is None


def test_a_sentence_of_a_set_without_templates_is_found_too(asked_db):
    found = asked(asked_db, "Fish swim in [MASK] .")
    assert (found.probe_set, found.answers, found.n) == ("common_sense", ("water",), 2)


def test_a_question_with_several_right_answers_counts_once_and_is_right_if_any_of_them_comes_first(tmp_path):
    words = (
        {"A": "hot", "B": "rome", "C": "berlin", "D": "bank"},
        {"A": "berlin", "B": "rome", "C": "rome", "D": "hot"},
    )
    run = PlantedRun(
        layers=2,
        facts=SEVERAL_ANSWERS,
        rank=lambda number, layer: (
            1 if SEVERAL_ANSWERS[number].object == words[layer][SEVERAL_ANSWERS[number].subject] else 5
        ),
        top=lambda number, layer: TOKENS.index(words[layer][SEVERAL_ANSWERS[number].subject]),
    )
    plant_runs(tmp_path / "one", [run, PlantedRun(model="of one answer each")])
    with open_database(tmp_path / "one") as db:
        found = right_any(db, list(fact_runs(db)["run_id"]))
    assert found["model"].tolist() == ["nesia-mini"] * 2, "other relations have one answer a question"
    assert found["value"].tolist() == [1 / 4, 3 / 4]
    assert (found["constant"] == 2 / 4).all(), "paris is right for A and for D"
    answers = {subject: {one.object for one in SEVERAL_ANSWERS if one.subject == subject} for subject in "ABCD"}
    others = {one[0]: other[0] for one, other in _others({f"{s} borders": a for s, a in answers.items()}).items()}
    assert set(others) == set("ABCD") and all(answers[one].isdisjoint(answers[other]) for one, other in others.items())
    stored = _others({f"{subject} borders [MASK] .": some for subject, some in answers.items()})
    for layer, value in enumerate(found["swapped"]):
        assert value == sum(words[layer][stored[p][0]] in answers[p[0]] for p in stored) / 4
