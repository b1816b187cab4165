"""The Facts page on a planted family: parts of a pair's facts, and one fact model by model."""

import json
from functools import partial
from urllib.parse import parse_qs

import pytest

from probing.core.facts.fact import Fact
from probing.core.knowledge.transitions import FATES, PARTS
from tests.pages.conftest import line_with, numbers_in, opening, visited, words
from tests.store import planted
from tests.store.planted import PlantedRun, plant_runs

pytestmark = pytest.mark.usefixtures("unfolded")

TUNED = "nesia-mini-qa-squad-1"
SHORT = "QA-SQuAD-1"
#: Fact -> ranks of base and fine-tuned model at layers 0 to 3, and its fate.
RANKS = [
    ([90, 40, 20, 1], [90, 40, 20, 1], "kept"),
    ([90, 40, 1, 1], [90, 40, 1, 30], "still_inside"),
    ([90, 40, 1, 1], [90, 1, 40, 30], "moved"),
    ([90, 40, 20, 1], [90, 40, 20, 50], "suppressed"),
    ([90, 40, 20, 1], [90, 60, 200, 500], "displaced"),
    ([90, 40, 20, 1], [90, 900, 900, 900], "not_read"),
    ([90, 40, 20, 9], [90, 40, 20, 1], "gained"),
    *[([90, 40, 20, 40], [90, 40, 20, 40], "never")] * 3,
]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    """A base, a model fine-tuned from it, and one without relatives."""
    runs = [PlantedRun(rank=lambda number, layer: RANKS[number][0][layer])]
    runs.append(PlantedRun(model=TUNED, base="nesia-mini", rank=lambda number, layer: RANKS[number][1][layer]))
    runs.append(PlantedRun(model="other-bert", layers=7))
    return plant_runs(tmp_path_factory.mktemp("snapshot"), runs)


@pytest.fixture(scope="module")
def seen(snapshot, tmp_path_factory):
    """The Facts page, to look at."""
    return partial(visited(snapshot, tmp_path_factory.mktemp("visits")), "facts")


@pytest.fixture
def family(snapshot, cache, monkeypatch):
    """The Facts page, to work with."""
    return partial(opening(snapshot, cache, monkeypatch), "facts")


def charts(app) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def listed(app) -> int:
    return next(int(text.value.split()[0].strip("*")) for text in app.markdown if text.value.endswith(("fact**", "facts**")))


@pytest.mark.parametrize("part", [*PARTS, *FATES])
def test_a_link_lists_exactly_one_part(seen, part):
    app = seen(model=TUNED, versus="nesia-mini", part=part)
    assert not app.exception and not app.info
    wanted = sum(found == part or (part == "lost" and found in FATES) for *_, found in RANKS)
    assert listed(app) == wanted
    assert app.query_params["part"] == [part] or app.query_params["part"] == part


def test_the_rank_that_counts_as_known_is_part_of_the_link(family):
    app = family(model=TUNED, versus="nesia-mini", part="kept", part_k="100")
    assert listed(app) == 8
    app.segmented_control(key="facts.part_k").set_value(10).run()
    # Ranks 1 and 1, and 9 and 1.
    assert listed(app) == 2 and "rank ≤ 10" in words(app).replace("\\", "")


def test_a_pair_that_is_not_stored_is_explained_and_the_rest_works(family):
    app = family(model=TUNED, versus="gone", part="lost")
    assert not app.exception and any("no run of gone" in note.value for note in app.info)
    assert listed(app) == len(RANKS)
    app = family(model="nesia-mini", versus="nesia-mini", part="lost")
    assert any("with itself" in note.value for note in app.info)
    app.button(key="facts.all_parts").click().run()
    assert not app.info


def test_a_part_without_a_fact_offers_to_clear_it(family):
    app = family(model=TUNED, versus="nesia-mini", part="gained", part_k="100")
    next(button for button in app.button if button.label == "Clear all filters").click().run()
    assert listed(app) == len(RANKS)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("kept", "kept."),
        (
            "still_inside",
            "lost and still first at an inner layer, as in the base, rank 30 at the last layer; first at layer 2, where nesia-mini also "
            "has it first.",
        ),
        ("moved", "lost and moved to an inner layer, rank 30 at the last layer; first at layer 1."),
        ("suppressed", "lost and suppressed, rank 50 at the last layer; still among the first 100."),
        ("displaced", "lost and displaced, rank 500 at the last layer; among the first 100 at an inner layer only (rank 60 at layer 1)."),
        (
            "not_read",
            "lost and not read at any layer, rank 900 at the last layer; nowhere among the first 100 (best: rank 900 at layer 1).",
        ),
        ("gained", "gained, now first."),
        ("never", "known to neither, rank 40."),
    ],
)
def test_the_fate_of_a_fact_is_stated_for_every_fine_tuned_model(seen, part, told):
    app = seen(model=TUNED, versus="nesia-mini", part=part)
    text = words(app).replace("\\", "").replace("**", "")
    assert f"- {SHORT} :gray-badge[task score unknown]: {told}" in text
    assert "- other-bert" not in text


def test_the_layer_at_which_the_base_has_a_lost_fact_first_too_is_its_own(tmp_path, visit, monkeypatch):
    ranks = {"nesia-mini": [90, 40, 7, 1, 1], TUNED: [90, 1, 1, 1, 30]}
    runs = [
        PlantedRun(model=model, base=base, layers=5, rank=lambda number, layer, model=model: ranks[model][layer])
        for model, base in (("nesia-mini", ""), (TUNED, "nesia-mini"))
    ]
    snapshot = plant_runs(tmp_path / "snapshot", runs)
    app = visit("facts", "one model", {"model": TUNED}, run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    line = line_with(app.run(), SHORT, "still first")
    assert numbers_in(line.split("]: ")[1]) == [30, 1, 3], "rank at the last layer, first at, and with the base first at"


def test_a_fine_tuned_model_is_shown_with_its_base_and_models_that_were_added(family):
    app = family(model=TUNED)
    grid, ranks = charts(app)[1:]
    assert [name.replace("<br>", "") for name in grid["layout"]["xaxis"]["ticktext"]] == [f"{SHORT} ?", "nesia-mini"]
    assert [trace["name"] for trace in ranks["data"]] == [f"{SHORT} ?", "nesia-mini", "other-bert", "best layer"]
    tables = [set(frame.value["model"]) for frame in app.dataframe if "model" in frame.value.columns]
    assert tables == [{TUNED, "nesia-mini"}, {TUNED, "nesia-mini", "other-bert"}], "tables keep the full names"
    app.multiselect(key="facts.fact_models").set_value(["other-bert"]).run()
    assert not app.exception
    assert len(charts(app)[1]["layout"]["xaxis"]["ticktext"]) == 3
    assert app.query_params["fact_models"] in ("other-bert", ["other-bert"])
    link = next(link.proto for link in app.get("page_link") if link.proto.label == "Ask live")
    assert "live_models=nesia-mini&live_models=other-bert" in link.query_string


def test_a_base_alone_is_shown_as_before_and_offers_the_others(family):
    app = family(model="nesia-mini")
    assert len(charts(app)) == 2
    assert app.multiselect(key="facts.fact_models").options == [f"{SHORT} ?", "other-bert"]


def test_the_texts_of_stored_tokens_are_shown_and_the_right_one_is_framed_by_its_rank(tmp_path, visit, monkeypatch):
    """For "São" an uncased vocabulary has "sao", a byte-level one "ĠSÃ£o"; "SAO" is another token."""
    texts, made = {"ĠSÃ£o": "São", "▁rome": "rome"}, planted.token_rows
    rows_of = lambda tokens: [row | {"text": texts.get(row["token"], row["text"])} for row in made(tokens)]  # noqa: E731
    monkeypatch.setattr(planted, "token_rows", rows_of)
    monkeypatch.setattr(planted, "TOKENS", (*planted.TOKENS, "ĠSÃ£o", "▁rome", "SAO", "São"))
    gold = planted.TOKENS.index("ĠSÃ£o")
    fact = Fact("trex", "P36", "Brazil", "São", "", "The city is [MASK]")
    rows = planted.prediction_rows(PlantedRun(facts=(fact,)))
    for row in rows:
        row.update(top_ids=[gold + 1, gold, gold + 2, gold + 3], top_logp=[-1.0, -2.0, -3.0, -4.0], gold_rank=2)
    monkeypatch.setattr(planted, "prediction_rows", lambda run: rows)
    snapshot = plant_runs(tmp_path / "snapshot", [PlantedRun(facts=(fact,)), PlantedRun(model="other", facts=(fact,))][:1])
    app = visit("facts", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    app.run()
    assert not app.exception
    (grid, *_) = charts(app)
    assert [text.split("<br>")[0] for text in grid["data"][1]["text"]][:4] == ["rome", "São", "SAO", "São"]
    frames = [(shape["y0"] + shape["y1"]) / 2 for shape in grid["layout"]["shapes"] if (shape["x0"] + shape["x1"]) / 2 == 2]
    assert frames == [0, 1, 2, 3] and len(grid["layout"]["shapes"]) == 4
    table = next(frame.value for frame in app.dataframe if "token" in frame.value.columns)
    assert set(table["token"]) == {"rome", "São", "SAO"} and "framed" not in table.columns
    # The tokenizer, not the page, decides about capital letters.
    link = next(link.proto for link in app.get("page_link") if link.proto.label == "Ask live")
    assert parse_qs(link.query_string)["watch"] == ["São"]
