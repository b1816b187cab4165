"""The tables on whole sentences of the shipped model's card are those of the shipped results."""

from pathlib import Path

import pytest

from probing.core.sentences.example import POOLINGS
from probing.core.sentences.fates import FATES
from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.reports.changes.measured import values
from probing.reports.changes.perplexity import perplexities
from probing.reports.sentences.accuracy import accuracies
from probing.reports.sentences.changed import group_means
from probing.reports.sentences.gone import where_gone_shares
from probing.store.database import Database, open_database

ROOT = Path(__file__).resolve().parents[1]
CARD = (ROOT / "data" / "models" / "nesia-mini" / "README.md").read_text(encoding="utf-8")
BASE, LAST = "nesia-mini", 8
READ = ("bigram-shift", "coordination-inversion")


@pytest.fixture(scope="module")
def db(shipped_database):
    with open_database(shipped_database) as database:
        yield database


def short(model: str) -> str:
    return "base" if model == BASE else model.removeprefix(f"{BASE}-")


def what_is_read(db: Database) -> list[str]:
    """One row per task: the layer chosen on the development part, by pooling."""
    found = accuracies(db, models=[BASE])
    lines = []
    for task, rows in found.groupby("task", sort=False):
        best = []
        for pooling in POOLINGS:
            one = rows[rows["pooling"] == pooling].sort_values(["dev_right", "layer"], ascending=[False, True]).iloc[0]
            best.append(f"{100 * one['accuracy']:.1f} ({100 * one['low']:.1f} to {100 * one['high']:.1f}), layer {one['layer']}")
        any_one = rows.iloc[0]
        floors = f"{any_one['n_test']:,} | {100 * any_one['majority']:.1f} | {100 * any_one['surface']:.1f}"
        lines.append(f"| {SENTENCE_TASKS[task].title.lower()} | {floors} | {' | '.join(best)} |")
    return lines


def what_changed(db: Database) -> list[str]:
    """One row per model: mean change of own probes in points, lower and upper layers, with the spread over seeds of the upper ones."""
    found = group_means(db).set_index(["model", "task", "pooling", "group"])
    lines = []
    for model in found.index.get_level_values("model").unique():
        cells = []
        for task in READ:
            for pooling in POOLINGS:
                lower, upper = (found.loc[(model, task, pooling, group)] for group in ("lower", "upper"))
                spread = f" ({100 * upper['seed_low']:.1f} to {100 * upper['seed_high']:.1f})" if upper["seeds"] > 1 else ""
                cells.append(f"{100 * lower['mean_change']:.1f}, {100 * upper['mean_change']:.1f}{spread}")
        lines.append(f"| {short(model)} | {' | '.join(cells)} |")
    return lines


def where_it_is_read(db: Database) -> list[str]:
    """One row per model: how many of the cells in which the base is above its majority have each fate."""
    found = where_gone_shares(db)
    lines = []
    for model, rows in found.groupby("model", sort=False):
        cells = rows.set_index("fate")["cells"]
        lines.append(f"| {short(model)} | {rows['of'].iloc[0]} | {' | '.join(str(cells[fate]) for fate in FATES)} |")
    return lines


def beside_the_base(db: Database) -> list[str]:
    """One row per model: perplexity, and attention and similarity of states at the last layer."""
    measured = values(db, measures=["entropy-change-first", "emd-first", "cka-first", "cka-mean"])
    measured = measured[measured["layer"] == LAST].set_index(["model", "measure"])["value"]
    asked = perplexities(db)
    asked = asked[(asked["replaced"] == "none")].set_index("model")
    lines = []
    for model, one in asked.iterrows():
        numbers = (measured.get((model, name)) for name in ("entropy-change-first", "emd-first", "cka-first", "cka-mean"))
        cells = " | ".join("" if number is None else f"{number:.2f}" for number in numbers)
        lines.append(f"| {short(model)} | {one['perplexity']:,.0f} ({one['low']:,.0f} to {one['high']:,.0f}) | {cells} |")
    return lines


@pytest.mark.parametrize("table", [what_is_read, what_changed, where_it_is_read, beside_the_base])
def test_the_card_has_the_rows_of_the_results(db, table):
    lines = table(db)
    # Changes and fates need fine-tuned models that are probed in every reading.
    assert (lines or table in (what_changed, where_it_is_read)) and not [line for line in lines if line not in CARD]


def test_accuracies_and_pairs_are_those_of_the_stored_answers(db):
    answers = db.query("SELECT * FROM sentence_predictions")
    runs = db.query("SELECT run_id, model, task, n_test FROM sentence_runs").set_index("run_id")
    gold = {
        task: rows.sort_values("place")["label"].to_numpy() for task, rows in db.query("SELECT * FROM sentence_examples").groupby("task")
    }
    cell = ["run_id", "pooling", "layer", "reading", "portion"]
    right = {tuple(row[name] for name in cell): row["predicted"] == gold[runs.loc[row["run_id"], "task"]] for _, row in answers.iterrows()}
    scores = db.query("SELECT * FROM sentence_scores").set_index(cell)["right"]
    assert right and all(int(found.sum()) == scores[key] for key, found in right.items())
    run_of = {(row["model"], row["task"]): run for run, row in runs.iterrows()}
    checked = 0
    for _, pair in db.query("SELECT * FROM sentence_pairs").iterrows():
        mine = right.get(tuple(pair[name] for name in cell))
        other = run_of[pair["with_model"], runs.loc[pair["run_id"], "task"]]
        theirs = right.get((other, *(pair[f"with_{name}"] for name in cell[1:])))
        if mine is not None and theirs is not None:
            counted = [(mine & theirs).sum(), (mine & ~theirs).sum(), (~mine & theirs).sum(), (~mine & ~theirs).sum()]
            assert counted == [pair[name] for name in ("both", "only_this", "only_other", "neither")]
            checked += 1
    pairs = db.query("SELECT count(DISTINCT model) AS models FROM sentence_runs WHERE base IS NOT NULL")
    assert checked or not pairs["models"].iloc[0]
