"""The tables of docs/heads.md have the numbers of the shipped results, and so does its text."""

import re
from dataclasses import dataclass

import pandas as pd
import pytest

from probing.core.registry import REPOSITORY
from probing.reports.knowledge.declared import KNOWLEDGE
from probing.store.database import open_database

DOCS = (REPOSITORY / "docs" / "heads.md").read_text(encoding="utf-8")
HEADS = ("logit_lens", "tied", "least_squares")
DEFINITIONS = ("caption", "authors", "strict")


@dataclass(frozen=True)
class Row:
    """One line of a table: model, heads and the other cells."""

    model: str
    heads: tuple[str, ...]
    cells: tuple[str, ...]


def table(title: str) -> list[Row]:
    """The rows of the table whose header starts with the title; an empty first cell means the model of the row above."""
    lines = DOCS[DOCS.index(title) :].split("\n\n")[0].splitlines()[2:]
    rows, model = [], ""
    for line in lines:
        first, heads, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        model = first or model
        name = "nesia-mini" if model == "base" else f"nesia-mini-{model}"
        rows.append(Row(name, tuple(re.findall(r"`(\w+)`", heads)), tuple(cells)))
    return rows


LAST, INNER = table("| model | head | micro: own"), table("| model | head | share")


@pytest.fixture(scope="module")
def reports(shipped_database):
    """Report by name, of T-REx, seed 0 and P@1."""
    with open_database(shipped_database) as db:
        choices = [KNOWLEDGE.choose(what, {"head": HEADS, "probe_set": "trex", "k": 1}) for what in ("precision", "total", "forgotten")]
        found = {choice.report.name: choice.report.table(db, choice) for choice in choices}
    return {what: table[table["seed"] == 0] for what, table in found.items()}


def of(frame: pd.DataFrame, row: Row, **more) -> list[pd.DataFrame]:
    """A frame's rows of each of the heads of a documented row."""
    found = []
    for head in row.heads:
        part = frame[(frame["model"] == row.model) & (frame["head"] == head)]
        for name, value in more.items():
            part = part[part[name] == value]
        assert len(part), (row.model, head)
        found.append(part)
    return found


def shown(share: float) -> str:
    """A share in per cent with one decimal place, without a minus sign for zero."""
    return f"{round(share * 100, 1) + 0.0:.1f}"


def test_every_model_and_kind_has_its_row():
    models = {"nesia-mini", *(f"nesia-mini-{name}" for name in ("control", "mlm-squad", "mlm-msmarco", "rank-msmarco"))}
    models |= {f"nesia-mini-{name}" for name in ("ner-conll", "qa-squad-2", "qa-squad-1")}
    for rows in (LAST, INNER):
        assert sorted((row.model, head) for row in rows for head in row.heads) == sorted(
            (model, head) for model in models for head in HEADS
        )


@pytest.mark.parametrize("row", LAST, ids=lambda row: f"{row.model}-{'-'.join(row.heads)}")
def test_own_swapped_and_difference_at_the_last_layer_are_those_of_the_shipped_results(row, reports):
    for first, average in ((0, "micro"), (3, "macro")):
        cells, (of_first, *alike) = row.cells[first : first + 3], of(reports["precision"], row, average=average)
        last = of_first.sort_values("layer").iloc[-1]
        assert last["swapped_n"] == 27_750
        difference = f"{shown(last['above_swapped'])} ({shown(last['above_swapped_low'])} to {shown(last['above_swapped_high'])})"
        assert cells == (shown(last["matched"]), shown(last["swapped"]), difference), average
        for part in alike:
            # The same head in float16.
            columns = ["matched", "swapped", "above_swapped", "above_swapped_low", "above_swapped_high"]
            assert part.sort_values("layer").iloc[-1][columns].tolist() == pytest.approx(last[columns].tolist(), abs=0.0005)


@pytest.mark.parametrize("row", INNER, ids=lambda row: f"{row.model}-{row.heads[0]}")
def test_what_inner_layers_know_and_what_is_forgotten_are_those_of_the_shipped_results(row, reports):
    share, inner, p, best, forgotten = row.cells
    (whole,) = (part.iloc[0] for part in of(reports["total"], row, average="macro"))
    assert share == shown(whole["intermediate_share"])
    assert inner == f"{whole['inner_own']:,.0f} / {whole['inner_swapped']:,.0f}"
    if p.startswith("<"):
        assert whole["inner_p"] < float(p.removeprefix("< "))
    else:
        assert float(p) == pytest.approx(whole["inner_p"], abs=0.6 * 10 ** -len(p.partition(".")[2]))
    (by_layer,) = of(reports["precision"], row, average="micro")
    layers = by_layer[by_layer["layer"].between(1, by_layer["layer"].max() - 1)]
    highest = layers.loc[layers["above_swapped"].idxmax()]
    assert best == f"{highest['layer']}: {shown(highest['above_swapped'])}"
    (lost,) = of(reports["forgotten"], row)
    counts = lost.set_index("definition")["forgotten"]
    assert forgotten == " / ".join(str(counts[name]) for name in DEFINITIONS)


def test_the_text_repeats_the_numbers_of_its_tables():
    last = {(row.model.removeprefix("nesia-mini-"), head): row.cells[5].partition(" ")[0] for row in LAST for head in row.heads}
    inner = {(row.model.removeprefix("nesia-mini-"), head): row.cells for row in INNER for head in row.heads}
    words = " ".join(DOCS.split())

    def losses(head: str) -> str:
        return f"{float(last['nesia-mini', 'least_squares']) - float(last['rank-msmarco', head]):.1f}"

    for sentence in (
        f"has {last['qa-squad-2', 'least_squares']} points above the swapped subject with `least_squares`, "
        f"{last['qa-squad-2', 'tied']} with `tied`, {last['qa-squad-2', 'logit_lens']} with `logit_lens`",
        f"({last['qa-squad-2', 'least_squares']} against {last['qa-squad-1', 'least_squares']} points, "
        f"{inner['qa-squad-2', 'least_squares'][4].split()[0]} against {inner['qa-squad-1', 'least_squares'][4].split()[0]} relations",
        f"{losses('least_squares')} points of the base's {last['nesia-mini', 'least_squares']} with `least_squares`",
        f"of QA-SQuAD-1 from {inner['qa-squad-1', 'tied'][0]} to {inner['qa-squad-1', 'least_squares'][0]} per cent, of QA-SQuAD-2 from "
        f"{inner['qa-squad-2', 'tied'][0]} to {inner['qa-squad-2', 'least_squares'][0]}, of NER from {inner['ner-conll', 'tied'][0]} to "
        f"{inner['ner-conll', 'least_squares'][0]}",
    ):
        assert sentence in words
