"""The reports against a few lines of plain Python on the rows of the Parquet files."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from scipy import stats

from probing.core.knowledge.answer_types import KINDS
from probing.core.knowledge.forgetting import AUTHORS_KEYS
from probing.core.knowledge.transitions import FATES, PARTS, fate_of, part_of
from probing.reports.knowledge.answer_drift import answer_drift
from probing.reports.knowledge.early_exit import early_exit
from probing.reports.knowledge.forgotten_relations import forgotten, relation_forgetting
from probing.reports.knowledge.precision import by_layer, precision, precision_by_relation
from probing.reports.knowledge.total import total
from probing.reports.knowledge.transitions import transitions
from probing.reports.runs import choose, pairs
from probing.store.database import Database
from probing.store.opening import open_database
from probing.store.parquet import read_table
from tests.reference.knowledge import classify, is_scored
from tests.reports.planted_forgetting import KS, RUNS, plant
from tests.store.planted import SEVERAL, TOKENS, PlantedRun, plant_store

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


def test_the_planted_runs_are_read_as_they_are(store: tuple[Database, Raw]):
    db, raw = store
    planted = [{run.run_id for run in runs} for runs in (RUNS, SEVERAL, KINDS_OF_ANSWERS)]
    assert set(raw.runs) in planted
    assert list(choose(db)["run_id"].sort_values()) == sorted(raw.runs)


def test_every_kind_of_answer_occurs_somewhere(tmp_path: Path):
    with open_database(plant_store(tmp_path, KINDS_OF_ANSWERS)) as db:
        found = answer_drift(db, [run.run_id for run in KINDS_OF_ANSWERS]).groupby("kind")["n"].sum()
        assert (found.reindex(KINDS) > 0).all(), found
