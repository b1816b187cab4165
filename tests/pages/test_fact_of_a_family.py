"""The Facts page on a planted family: parts of a pair's facts, and one fact model by model."""

from functools import partial
from urllib.parse import parse_qs

import pytest

from probing.core.facts.fact import Fact
from probing.core.knowledge.transitions import FATES, PARTS, outcome_words
from tests.pages.conftest import charts, grids, opening, visited
from tests.store import planted
from tests.store.planted import PlantedRun, plant_runs

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


def listed(app) -> int:
    return next(
        int(text.value.split()[0].strip("*")) for text in app.markdown if text.value.endswith(("fact**", "facts**"))
    )


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
    assert listed(app) == 2


def test_a_pair_that_is_not_stored_is_explained_and_the_rest_works(family):
    app = family(model=TUNED, versus="gone", part="lost")
    assert not app.exception and any("no run of gone" in note.value for note in app.info)
    assert listed(app) == len(RANKS)
    app = family(model="nesia-mini", versus="nesia-mini", part="lost")
    assert any("with itself" in note.value for note in app.info)
    app.button(key="facts.part.chip").click().run()
    assert not app.info


def test_a_part_without_a_fact_offers_to_clear_it(family):
    app = family(model=TUNED, versus="nesia-mini", part="gained", part_k="100")
    next(button for button in app.button if button.label == "Clear all filters").click().run()
    assert listed(app) == len(RANKS)


@pytest.mark.parametrize(
    ("part", "said", "told"),
    [
        ("kept", "kept", [1, 1, 3, "3"]),
        ("still_inside", f"lost: {outcome_words('still_inside')}", [30, 1, 2, "2"]),
        ("moved", f"lost: {outcome_words('moved')}", [30, 1, 1, "1"]),
        ("suppressed", f"lost: {outcome_words('suppressed')}", [50, 20, 2, ""]),
        ("displaced", f"lost: {outcome_words('displaced')}", [500, 60, 1, ""]),
        ("not_read", f"lost: {outcome_words('not_read')}", [900, 900, 1, ""]),
        ("gained", "gained", [1, 1, 3, "3"]),
        ("never", "never", [40, 20, 2, ""]),
    ],
)
def test_what_became_of_a_fact_is_a_row_of_every_fine_tuned_model_and_in_the_sentence(seen, part, said, told):
    app = seen(model=TUNED, versus="nesia-mini", part=part)
    (table,) = [one.value for one in app.dataframe if "outcome" in one.value.columns]
    assert table.values.tolist() == [[f"{SHORT} ?", said, *told]], "other-bert has another base"
    sentence = app.markdown[0].value.replace("\\", "")
    words = {"kept": "kept by", "gained": "gained by", "never": "not known to"}.get(part, "lost by")
    assert sentence.endswith(f"; {words} {SHORT}.") and "badge" not in sentence


def test_a_chip_names_a_filter_of_a_link_and_removes_it(family):
    app = family(model=TUNED, known_at="2", relation="P36")
    chips = {one.key: one.label.replace("\\", "") for one in app.button if str(one.key).endswith(".chip")}
    assert chips["facts.known_at.chip"] == "Known at layer: 2" and chips["facts.relation.chip"].startswith("Relation: ")
    app.button(key="facts.known_at.chip").click().run()
    app.button(key="facts.relation.chip").click().run()
    assert not app.exception and listed(app) == len(RANKS)


@pytest.mark.parametrize("model", [TUNED, "nesia-mini"])
def test_the_base_is_always_left_of_its_fine_tuned_model(seen, model):
    app = seen(model=model)
    assert [one["model"] for one in grids(app)] == ["nesia-mini", f"{SHORT} ?"]
    assert all({layer["rank"] for layer in one["layers"]} - {None} for one in grids(app))
    (ranks,) = charts(app)
    assert [trace["name"] for trace in ranks["data"]] == ["nesia-mini", f"{SHORT} ?", "best layer"]


def test_added_models_get_a_grid_and_a_line(family):
    app = family(model=TUNED)
    app.multiselect(key="facts.fact_models").set_value(["other-bert"]).run()
    assert not app.exception and [one["model"] for one in grids(app)] == ["nesia-mini", f"{SHORT} ?", "other-bert"]
    assert app.query_params["fact_models"] in ("other-bert", ["other-bert"])
    link = next(link.proto for link in app.get("page_link") if link.proto.label == "Ask it now")
    assert "live_models=nesia-mini&live_models=other-bert" in link.query_string


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
    snapshot = plant_runs(
        tmp_path / "snapshot", [PlantedRun(facts=(fact,)), PlantedRun(model="other", facts=(fact,))][:1]
    )
    app = visit("facts", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    app.run()
    assert not app.exception
    cells = [(token["word"], token["right"]) for layer in grids(app)[0]["layers"] for token in layer["tokens"]]
    assert {word for word, right in cells if right} == {"São"} and {"rome", "SAO"} <= {word for word, _ in cells}
    # The tokenizer, not the page, decides about capital letters.
    link = next(link.proto for link in app.get("page_link") if link.proto.label == "Ask it now")
    assert parse_qs(link.query_string)["watch"] == ["São"]
