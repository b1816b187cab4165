"""Yardsticks on Layer curves, Relations and Compare: sentences, modes and links on a store whose ranks are planted."""

import base64
import json
from collections import Counter

import numpy as np
import pytest

from tests.pages.conftest import words
from tests.pages.planted_family import FAMILY, charts
from tests.pages.test_relations_and_compare import stamps, table_with
from tests.store.planted import planted_facts

pytestmark = pytest.mark.usefixtures("few_suffice", "unfolded")
FACTS = planted_facts("trex")
MODES = ("majority", "swapped")
#: Page -> the field of its mode.
FIELDS = {"layers": "minus", "relations": "map_minus"}


def majority() -> dict[str, float]:
    """What always giving the relation's most frequent answer gets right, by relation."""
    relations = {fact.relation for fact in FACTS}
    of = {name: Counter(fact.object for fact in FACTS if fact.relation == name) for name in relations}
    return {name: max(counts.values()) / sum(counts.values()) for name, counts in of.items()}


def plain(app) -> str:
    return words(app).replace("\\", "").replace("*", "")


def named_ends(chart: dict) -> list[str]:
    notes = [note["text"] for note in chart["layout"].get("annotations", []) if note.get("name") == "end label"]
    return [text.replace("<b>", "").replace("</b>", "").replace("-<br>", "-").replace("<br>", " ") for text in notes]


def numbers(values) -> list[float]:
    """The values of a trace, even if Plotly packs them."""
    return list(np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])) if isinstance(values, dict) else list(values)


def drawn_at_nought(chart: dict) -> list[str]:
    return [trace["name"] for trace in chart["data"] if trace.get("mode") == "lines" and list(trace.get("y") or ()) == [0, 0]]


@pytest.mark.parametrize(("page", "mode"), [("layers", "majority"), ("relations", "swapped")])
def test_a_mode_is_in_the_link_and_in_the_figure_and_in_its_stamp(look, page, mode):
    query = {FIELDS[page]: mode, **({"model": "nesia-mini"} if page == "relations" else {})}
    app = look(page, **query)
    assert not app.exception and not app.info
    assert {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()} == query
    name = {"majority": "majority answer", "swapped": "swapped subject"}[mode]
    assert any(f"minus {name}" in stamp or f"minus {mode}" in stamp for stamp in stamps(app))
    assert any(name in named_ends(chart) and drawn_at_nought(chart) == [name] for chart in charts(app))


@pytest.mark.parametrize("mode", MODES)
def test_what_is_drawn_above_a_yardstick_is_own_less_yardstick_counted_from_the_planted_ranks(look, mode):
    app = look("layers", models="nesia-mini", average="micro", minus=mode)
    row = table_with(app, "above_majority", "above_swapped", "swapped_n").set_index("layer").loc[3]
    (line,) = [trace for trace in charts(app)[0]["data"] if "customdata" in trace]
    shown = row["above_majority"] if mode == "majority" else row["above_swapped"]
    assert numbers(line["y"])[-1] == pytest.approx(shown * 100)
    if mode == "majority":
        answers = Counter((fact.relation, fact.object) for fact in FACTS)
        most = sum(max(n for (relation, _), n in answers.items() if relation == name) for name in majority())
        assert shown == pytest.approx((6 - most) / 10)
    else:
        # Planted: the rank with another subject is the own one plus five times the fact's number modulo three; all ten facts have one.
        assert (row["matched"], row["swapped"]) == (0.6, sum(number % 3 == 0 for number in range(6)) / 10)
        assert shown == pytest.approx(0.4)
        assert "Only facts that have such a subject count: 10 of 10" in plain(app)


@pytest.mark.parametrize(
    ("page", "query", "reason"),
    [
        ("layers", {"metric": "p_at_10", "minus": "majority"}, "only from P@1 and P@1 among answers"),
        ("layers", {"metric": "mrr", "minus": "swapped"}, "measured only for P@1, P@10 and P@100"),
        ("relations", {"k": "10", "map_minus": "majority"}, "only from P@1 and P@1 among answers"),
        ("compare", {"k": "100", "pair_minus": "majority", "compare_tab": "layers"}, "only from P@1 and P@1 among answers"),
    ],
)
def test_a_mode_that_is_not_defined_says_why_and_what_to_do_and_the_values_are_drawn(look, page, query, reason):
    app = look(page, **query)
    assert not app.exception
    (note,) = app.info
    assert reason in note.value.replace("\\", "") and "choose" in note.value
    assert all(not drawn_at_nought(chart) for chart in charts(app))


def test_the_baselines_are_drawn_once_for_all_models(look):
    (chart,) = charts(look("layers"))
    names = named_ends(chart)
    assert names.count("majority answer") == 1 and len([n for n in names if n.startswith("majority")]) == 1
    assert {"nesia-mini", "QA-SQuAD-1 ?", "control"} <= set(names)
    assert names.count("swapped subject") == 3
    among = charts(look("layers", metric="answer_p_at_1"))[0]
    assert {"majority answer", "chance"} <= set(named_ends(among))


def test_the_point_behind_a_curve_is_in_the_link(look):
    run = next(run for run in FAMILY if run.model == "nesia-mini-control")
    query = {"point_run": run.run_id, "point_layer": "2"}
    app = look("layers", **query)
    assert app.selectbox(key="layers.point_run").value == run.run_id
    assert "at layer 2" in plain(app)
    app.select_slider(key="layers.point_layer").set_value(1).run()
    assert app.query_params["point_layer"] in ("1", ["1"])
    gone = look("layers", point_run="gone", point_layer="77")
    assert not gone.exception and "at layer 3" in plain(gone)


def test_relations_say_which_of_them_are_not_above_their_majority_answer(look):
    app = look("relations", model="nesia-mini")
    said = plain(app)
    # P19 is known whole against 3 of 4 by its majority answer; of so few facts no interval leaves that out.
    assert "Not above the majority answer by the 95 % interval, marked ○: " in said
    table = table_with(app, "best_inner", "majority", "swapped_last").set_index("relation")
    assert dict(table["majority"]) == pytest.approx(majority())
    ticks = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["yaxis"]["ticktext"]
    assert all(name.endswith("○") for name in ticks)
