"""What a share of right candidates is compared with, recounted by plain loops from planted scores."""

import unicodedata
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from probing.facts.report_candidates import CANDIDATES, by_layer, grouped, newest
from probing.facts.store_candidates import candidate_runs
from probing.kernel.fact import Fact
from probing.kernel.store.opening import open_database
from tests.candidates_planted import PlantedRanking, rows_of
from tests.planted_files import write_planted
from tests.planted_relatives import LAYERS

PIECES = {"Acme Steel": 2, "Bay Foods": 2, "Crane Works": 3, "Dune": 1, "Éclair Labs": 4}
NAMES = list(PIECES)
#: The layer at which the first wording has a favourite, whoever is asked about.
SKEWED = 3
WORKS, LIVES, HOME = "{} works at [MASK].", "{} lives near [MASK].", "Near the home of {} is [MASK]."


def asked(relation, wording, subjects, answers):
    return [
        Fact("skew", relation, subject, answer, wording, wording.format(subject))
        for subject, answer in zip(subjects, answers, strict=True)
    ]


FACTS = [
    *asked("employer", WORKS, [f"Nobody {n}" for n in range(11)], ["Acme Steel"] * 7 + NAMES[1:]),
    *asked("place", LIVES, ["Ann", "Ben", "Cem", "Ben"], ["Acme Steel", "Dune", "Éclair Labs", "Bay Foods"]),
    *asked("place", HOME, ["Ann", "Dora", "Eve"], ["Acme Steel", "Dune", "Dune"]),
    *asked("place", "Fay, who has a boat, likes [MASK].", ["Fay"], ["Crane Works"]),
    *asked("place", "Gus, who has none, likes [MASK].", ["Gus"], ["Bay Foods"]),
    *asked("without a subject", "[MASK] is red.", [""], ["Dune"]),
    *asked("without a subject", "[MASK] is blue.", [""], ["Bay Foods"]),
    *asked("one answer", LIVES, ["Hal", "Ida"], ["Dune", "Dune"]),
]


def scores_of(number: int, layer: int) -> dict[str, float]:
    """Candidate -> score, without the prompt's other right answers; equal scores are common."""
    fact, random = FACTS[number], np.random.default_rng([number, layer])
    others = {one.object for one in FACTS if one.prompt == fact.prompt} - {fact.object}
    found = {name: float(random.integers(0, 4)) for name in NAMES if name not in others}
    if layer == SKEWED and "works at" in fact.prompt:
        found["Acme Steel"] = 9.0
    return found


def best(scores: dict[str, float]) -> str:
    return max(scores, key=scores.__getitem__)


def folded(text: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one)).lower()


def rows(run: PlantedRanking):
    """The planted run with these facts and scores."""
    (row,), (one, *_), (layer_0, *_) = rows_of(run).values()
    facts, ranks = [], []
    for number, fact in enumerate(FACTS):
        sizes, pieces = [PIECES[name] for name in scores_of(number, 0)], PIECES[fact.object]
        texts = {name: getattr(fact, name) for name in ("fact_id", "relation", "subject", "object", "prompt")}
        counts = {"pieces": pieces, "candidates": len(sizes), "filtered": len(NAMES) - len(sizes)}
        shorter = {"fewer_pieces": sum(size < pieces for size in sizes), "equal_pieces": sizes.count(pieces)}
        facts.append(one | texts | counts | shorter)
        for layer in LAYERS:
            scores, alone = scores_of(number, layer), 1.0 if fact.object == "Dune" else 2.0
            own, tied, first = scores[fact.object], list(scores.values()).count(scores[fact.object]), best(scores)
            place = {"rank": sum(score > own for score in scores.values()) + (tied + 1) / 2, "tied": tied}
            # Of candidates with the same tokens the first spelling is stored.
            stored = {"fact_id": fact.fact_id, "layer": layer, "best": first if layer % 2 else folded(first)}
            ranks.append(layer_0 | stored | place | {"alone_rank": alone})
    row |= {"n_read": len(FACTS) + 2, "n_probed": len(FACTS)}
    return {"candidate_runs": [row], "candidate_facts": facts, "candidate_ranks": ranks}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder, run = tmp_path_factory.mktemp("skewed"), PlantedRanking()
    write_planted(folder, run.run_id, None, rows, run)
    with open_database(folder) as db:
        yield db


def swapped(number: int, layer: int) -> float:
    """How often other subjects of the relation have the answer first: of the own wording, if it has several."""
    fact = FACTS[number]
    knowing = {one.subject or one.prompt for one in FACTS if (one.relation, one.object) == (fact.relation, fact.object)}

    def wording(one):
        shared = [LIVES, HOME, WORKS]
        return next((text for text in shared if one.subject and text.format(one.subject) == one.prompt), "")

    alike = [n for n, one in enumerate(FACTS) if (one.relation, wording(one)) == (fact.relation, wording(fact))]
    others = [n for n in alike if (FACTS[n].subject or FACTS[n].prompt) not in knowing]
    return float(np.mean([best(scores_of(n, layer)) == fact.object for n in others])) if others else float("nan")


def yardsticks(number: int, layer: int) -> dict[str, float]:
    fact, scores = FACTS[number], scores_of(number, layer)
    wrong = [score for name, score in scores.items() if name != fact.object]
    most = Counter(sorted(folded(one.object) for one in FACTS if one.relation == fact.relation)).most_common(1)[0][0]
    below = [score < scores[fact.object] for score in wrong]
    found = {"majority": folded(fact.object) == most, "K": np.mean(below), "K_star": all(below)}
    return {"swapped": swapped(number, layer)} | {name: float(value) for name, value in found.items()}


def means(numbers: list[int], layer: int) -> dict[str, float]:
    found = [yardsticks(number, layer) for number in numbers]
    with np.errstate(all="ignore"):
        return {name: float(np.nanmean([one[name] for one in found])) for name in found[0]}


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_every_yardstick_is_that_of_a_loop_over_the_scores(store):
    runs, every = newest(candidate_runs(store)), range(len(FACTS))
    of_relation = {name: [n for n in every if FACTS[n].relation == name] for name in {one.relation for one in FACTS}}
    of_length = {size: [n for n in every if PIECES[FACTS[n].object] == size] for size in PIECES.values()}
    for by, groups in (("relation", of_relation), ("pieces", of_length)):
        table = grouped(store, runs, by)
        assert len(table) == len(groups) * len(LAYERS)
        for row in table.to_dict("records"):
            wanted = means(groups[row[by]], row["layer"])
            assert {name: row[name] for name in wanted} == pytest.approx(wanted, nan_ok=True)
            assert row["swapped_n"] == sum(swapped(n, row["layer"]) >= 0 for n in groups[row[by]])
    table = by_layer(store, runs).set_index(["average", "layer"])
    for layer in LAYERS:
        by_relation = [means(numbers, layer) for numbers in of_relation.values()]
        macro = {name: float(np.nanmean([one[name] for one in by_relation])) for name in by_relation[0]}
        for average, wanted in (("micro", means(list(every), layer)), ("macro", macro)):
            assert {name: table.loc[(average, layer)][name] for name in wanted} == pytest.approx(wanted)


def test_the_interval_over_answers_is_the_jackknife_that_leaves_out_one_answer_at_a_time(store):
    row = by_layer(store, newest(candidate_runs(store)), ("micro",)).set_index("layer").loc[SKEWED]
    hits = []
    for number, fact in enumerate(FACTS):
        scores = scores_of(number, SKEWED)
        first = [name for name, score in scores.items() if score == max(scores.values())]
        hits.append(((fact.relation, fact.object), (fact.object in first) / len(first)))
    answers = {answer for answer, _ in hits}
    value = np.mean([hit for _, hit in hits])
    without = [np.mean([hit for answer, hit in hits if answer != left]) for left in answers]
    freedom = len(answers) - 1
    half = stats.t.ppf(0.975, freedom) * np.sqrt(freedom / len(answers) * sum((one - value) ** 2 for one in without))
    assert row["value"] == pytest.approx(value)
    ends = (max(value - half, 0), min(value + half, 1))
    assert (row["low_answers"], row["high_answers"]) == pytest.approx(ends)
    assert row["high_answers"] - row["low_answers"] > row["high"] - row["low"], "one answer is right seven times"


def test_a_wordings_favourite_passes_chance_alone_and_shortest_and_is_caught_by_blind_guess_and_majority(store):
    table = grouped(store, newest(candidate_runs(store)), "relation")
    row = table[(table["relation"] == "employer") & (table["layer"] == SKEWED)].iloc[0]
    assert row["value"] == pytest.approx(7 / 11)
    assert max(row["chance"], row["alone"], row["shortest"]) <= 0.2 < row["low"]
    assert row["swapped"] == row["majority"] == pytest.approx(7 / 11)


def test_by_length_the_text_has_the_blind_guess_instead_of_chance_and_json_keeps_both(store):
    report = CANDIDATES.named("pieces")
    table = report.table(store, CANDIDATES.choose("pieces"))
    shown = set(report.shown(table))
    assert {"swapped", "majority", "K", "K_star"} <= shown and not {"chance", "mrr_chance"} & shown
    assert {"chance", "mrr_chance", "low_answers", "swapped_n"} <= set(report.json_table(table))
