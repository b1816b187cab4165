"""Two models side by side: the flow, the bars, the curves, kinds of answers and weights."""

import itertools

import pandas as pd
import pytest

from probing.core.knowledge.transitions import outcome_words
from probing.figures.knowledge.alluvial import alluvial
from probing.figures.knowledge.answer_shares import answer_shares
from probing.figures.knowledge.paired_curve import p_words, paired_curve
from probing.figures.knowledge.retention_bars import retention_bars

from .colours import colours_of

BASE, MODEL, CONTROL = "nesia-mini", "nesia-mini-qa-squad-1", "nesia-mini-control"
COLOURS = colours_of(BASE, MODEL, CONTROL)
COUNTS = {
    "kept": 60,
    "lost": 40,
    "gained": 20,
    "never": 880,
    "still_inside": 11,
    "moved": 4,
    "suppressed": 12,
    "displaced": 8,
    "not_read": 5,
}


def flow(**counts):
    return alluvial(COUNTS | counts, base=BASE, model=MODEL, colours=COLOURS)


def clickable(figure) -> set[str]:
    return {point[0] for trace in figure.data if trace.customdata is not None for point in trace.customdata}


def heights(figure) -> dict[str, float]:
    """Height of every block, by its label."""
    blocks = [trace for trace in figure.data if trace.fill == "toself" and len(trace.x) == 4]
    labels = [trace for trace in figure.data if trace.mode == "text"]
    return {
        label.text[0].split("</b>")[0][3:].replace("<br>", " "): max(block.y) - min(block.y)
        for block, label in zip(blocks, labels, strict=True)
    }


def test_every_part_of_the_flow_can_be_clicked_and_is_as_high_as_its_facts():
    figure = flow()
    assert clickable(figure) == set(COUNTS) - {"never"}
    assert heights(figure) == pytest.approx(
        {
            "known": 100,
            "not known": 20,
            "kept": 60,
            "lost": 40,
            "gained": 20,
            outcome_words("still_inside"): 11,
            outcome_words("moved"): 4,
            outcome_words("suppressed"): 12,
            outcome_words("displaced"): 8,
            outcome_words("not_read"): 5,
        }
    )


def test_an_empty_part_is_left_out_of_the_flow():
    figure = flow(lost=0, still_inside=0, moved=0, suppressed=0, displaced=0, not_read=0)
    assert clickable(figure) == {"kept", "gained"}
    assert not any("lost facts" in note.text for note in figure.layout.annotations)


def test_blocks_of_a_column_do_not_overlap():
    figure = flow(still_inside=1, moved=0, suppressed=1, displaced=1, not_read=37)
    blocks = [trace for trace in figure.data if trace.fill == "toself" and len(trace.x) == 4]
    for column in (0, 1, 2):
        mine = sorted((min(block.y), max(block.y)) for block in blocks if min(block.x) == column)
        assert all(upper[1] <= lower[0] + 1e-9 for upper, lower in itertools.pairwise(mine))


def models() -> pd.DataFrame:
    """Two models with single facts, one with counts only."""
    rows = [(CONTROL, 90, 10, 10), (MODEL, 30, 70, 5), ("nesia-mini-qa-squad-2", None, None, None)]
    table = pd.DataFrame(rows, columns=["model", "kept", "lost", "gained"]).assign(
        base=BASE, now_share=[1.0, 0.35, 0.07]
    )
    return table.assign(**{f"{part}_share": table[part] / 100 for part in ("kept", "lost", "gained")})


def test_a_bar_has_what_is_kept_lost_and_gained_and_of_counts_what_is_known_now():
    figure = retention_bars(models(), k=1)
    bars = {trace.name: trace for trace in figure.data}
    assert {name: list(bar.x) for name, bar in bars.items()} == {
        "kept": [90, 30],
        "lost": [10, 70],
        "gained": [10, 5],
        "known now, of counts only": [pytest.approx(7)],
    }
    assert [list(point) for point in bars["lost"].customdata] == [[CONTROL, "lost"], [MODEL, "lost"]]
    assert figure.layout.yaxis.ticktext[0] == "nesia-mini-control" and figure.layout.barmode == "stack"
    assert retention_bars(models().head(0), k=1).layout.annotations


def paired() -> pd.DataFrame:
    rows = [
        {
            "layer": layer,
            "n": 100,
            "base_value": 0.2,
            "base_low": 0.1,
            "base_high": 0.3,
            "value": 0.1 * layer,
            "low": 0.0,
            "high": 0.4,
            "difference": 0.1 * layer - 0.2,
            "difference_low": -0.3,
            "difference_high": 0.1,
            "p_value": 0.2 if layer else 0.01,
        }
        for layer in range(3)
    ]
    return pd.DataFrame(rows)


def test_the_difference_of_two_curves_is_the_first_minus_the_second_and_filled_where_it_is_sure():
    figure = paired_curve(paired(), k=1, base=BASE, model=MODEL, colours=COLOURS)
    base, model = (next(trace for trace in figure.data if trace.name == name) for name in (BASE, MODEL))
    (difference,) = [trace for trace in figure.data if trace.name == "difference"]
    assert list(difference.y) == pytest.approx([m - b for m, b in zip(model.y, base.y, strict=True)])
    assert list(difference.marker.color) == [COLOURS[MODEL], "rgba(0,0,0,0)", "rgba(0,0,0,0)"]
    assert [list(point) for point in model.customdata][-1] == [MODEL, 2]


@pytest.mark.parametrize(("p", "words"), [(1e-9, "< 0.0001"), (0.0312, "= 0.031"), (1.0, "= 1")])
def test_small_p_values_are_not_written_as_nought(p, words):
    assert p_words(p) == words


def test_kinds_of_answers_stand_in_two_panels_and_add_up():
    rows = [
        {"model": model, "layer": layer, "kind": kind, "n": n, "share": n / 10}
        for model in (BASE, MODEL)
        for layer in range(3)
        for kind, n in (("right", 4), ("copied", 6))
    ]
    figure = answer_shares(
        pd.DataFrame(rows), kinds=("right", "copied"), names={"copied": "copied from the prompt"}, models=(BASE, MODEL)
    )
    assert len(figure.data) == 4 and {trace.xaxis for trace in figure.data} == {"x", "x2"}
    assert sum(trace.y[0] for trace in figure.data if trace.xaxis == "x") == pytest.approx(100)
    assert [trace.name for trace in figure.data if trace.showlegend] == ["right", "copied from the prompt"]


def test_a_control_with_shuffled_labels_is_one_more_line_with_its_name():
    plain = paired_curve(paired(), k=1, base=BASE, model=MODEL, colours=COLOURS)
    figure = paired_curve(paired().assign(shuffled=0.25), k=1, base=BASE, model=MODEL, colours=COLOURS)
    (line,) = (trace for trace in figure.data if trace.name == "shuffled labels")
    assert (
        list(line.y) == [25.0] * len(paired())
        and line.line.color == COLOURS[MODEL]
        and len(figure.data) == len(plain.data) + 1
    )
    empty = paired_curve(paired().assign(shuffled=float("nan")), k=1, base=BASE, model=MODEL, colours=COLOURS)
    assert len(empty.data) == len(plain.data)
