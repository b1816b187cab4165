"""The Facts page: parts of a pair's facts, one fact model by model, counted runs, few facts and own facts."""

import json
import re
from functools import partial
from urllib.parse import parse_qs

import pytest

from probing.facts.forgotten import FATES, PARTS, outcome_words
from probing.kernel.fact import SEVERAL_TOKENS, Fact
from tests import planted_store as planted
from tests.pages.conftest import charts, grids, opening, visited, words
from tests.pages.every_tab import whole
from tests.planted_heads import BASE, FACTS, KNOWN, TUNED, plant_heads
from tests.planted_store import PlantedRun, plant_runs
from tests.tiny_models import LAYERS, save

FAMILY_TUNED = "nesia-mini-qa-squad-1"
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
    runs.append(PlantedRun(model=FAMILY_TUNED, base="nesia-mini", rank=lambda number, layer: RANKS[number][1][layer]))
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
    app = seen(model=FAMILY_TUNED, versus="nesia-mini", part=part)
    assert not app.exception and not app.info
    wanted = sum(found == part or (part == "lost" and found in FATES) for *_, found in RANKS)
    assert listed(app) == wanted
    assert app.query_params["part"] == [part] or app.query_params["part"] == part


def test_the_rank_that_counts_as_known_is_part_of_the_link(family):
    app = family(model=FAMILY_TUNED, versus="nesia-mini", part="kept", part_k="100")
    assert listed(app) == 8
    app.segmented_control(key="facts.part_k").set_value(10).run()
    # Ranks 1 and 1, and 9 and 1.
    assert listed(app) == 2


def test_a_pair_that_is_not_stored_is_explained_and_the_rest_works(family):
    app = family(model=FAMILY_TUNED, versus="gone", part="lost")
    assert not app.exception and any("no run of gone" in note.value for note in app.info)
    assert listed(app) == len(RANKS)
    app = family(model="nesia-mini", versus="nesia-mini", part="lost")
    assert any("with itself" in note.value for note in app.info)
    app.button(key="facts.part.chip").click().run()
    assert not app.info


def test_a_part_without_a_fact_offers_to_clear_it(family):
    app = family(model=FAMILY_TUNED, versus="nesia-mini", part="gained", part_k="100")
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
@pytest.mark.usefixtures("unfolded")
def test_what_became_of_a_fact_is_a_row_of_every_fine_tuned_model_and_in_the_sentence(family, part, said, told):
    app = family(model=FAMILY_TUNED, versus="nesia-mini", part=part)
    (table,) = [one.value for one in app.dataframe if "outcome" in one.value.columns]
    assert table.values.tolist() == [[f"{SHORT} ?", said, *told]], "other-bert has another base"
    (sentence,) = [one.value.replace("\\", "") for one in app.markdown if "___: **" in one.value.replace("\\", "")]
    words = {"kept": "kept by", "gained": "gained by", "never": "not known to"}.get(part, "lost by")
    assert sentence.endswith(f"; {words} {SHORT}.") and "badge" not in sentence


def test_a_chip_names_a_filter_of_a_link_and_removes_it(family):
    app = family(model=FAMILY_TUNED, known_at="2", relation="P36")
    chips = {one.key: one.label.replace("\\", "") for one in app.button if str(one.key).endswith(".chip")}
    assert chips["facts.known_at.chip"] == "Known at layer: 2" and chips["facts.relation.chip"].startswith("Relation: ")
    app.button(key="facts.known_at.chip").click().run()
    app.button(key="facts.relation.chip").click().run()
    assert not app.exception and listed(app) == len(RANKS)


@pytest.mark.parametrize("model", [FAMILY_TUNED, "nesia-mini"])
def test_the_base_is_always_left_of_its_fine_tuned_model(seen, model):
    app = seen(model=model)
    assert [one["model"] for one in grids(app)] == ["nesia-mini", f"{SHORT} ?"]
    assert all({layer["rank"] for layer in one["layers"]} - {None} for one in grids(app))
    (ranks,) = charts(app)
    assert [trace["name"] for trace in ranks["data"]] == ["nesia-mini", f"{SHORT} ?", "best layer"]


def test_added_models_get_a_grid_and_a_line(family):
    app = family(model=FAMILY_TUNED)
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


COMMAND = f"python -m probing probe --model {TUNED} --head least_squares --facts trex"
SAID = "Only counts are stored for this run"


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    return plant_heads(tmp_path_factory.mktemp("counted") / "runs", ((TUNED, "least_squares"),))


def commands(app) -> list[str]:
    return [one.value for one in app.code]


@pytest.mark.parametrize("page", ["home", "layers"])
def test_a_page_that_reads_runs_opens_on_a_counted_run(look, counted, page):
    """The others are below."""
    query = {"models": TUNED, "heads": "least_squares"} if page == "home" else {"model": TUNED, "head": "least_squares"}
    assert not whole(look, page, snapshot=counted, **query).exception


def test_facts_of_a_counted_run_are_not_listed_but_the_command_that_stores_them_is(look, counted):
    app = look("facts", counted, model=TUNED, head="least_squares")
    assert SAID in words(app) and COMMAND in commands(app)
    assert "No fact passes" not in words(app)


def test_one_fact_of_a_counted_run_shows_the_other_runs_and_is_not_called_unasked(look, counted):
    app = look("facts", counted, model=TUNED, head="least_squares", fact=FACTS[0].fact_id)
    assert not app.exception and SAID in words(app)
    assert "was not asked this fact" not in words(app)
    assert any("fact-ranks" in str(one.proto.id) for one in app.get("plotly_chart"))


def test_facts_against_a_counted_run_name_it_and_the_command(look, counted):
    app = look("facts", counted, model=BASE, head="least_squares", versus=TUNED, part="lost")
    assert not app.exception and SAID in words(app) and COMMAND in commands(app)
    menu = next(one for one in app.selectbox if one.key == "facts.versus")
    assert not any("QA-SQuAD-2" in option for option in menu.options)


def test_compare_shows_a_counted_pairs_net_losses_and_says_what_is_missing(look, counted):
    app = look("compare", counted, tuned=TUNED, versus_model=BASE, head="least_squares")
    text = words(app).replace("\\", "")
    assert not app.exception and SAID in text and COMMAND in commands(app)
    known, before = (100 * KNOWN[name, "least_squares"] / len(FACTS) for name in (TUNED, BASE))
    assert f"knows {known:.0f} % of the facts, " in text and f" {before:.0f} %." in text
    (slopes,) = charts(app)
    assert all("click" not in text for trace in slopes["data"] for text in trace.get("hovertext", [])), (
        "no list of facts is stored"
    )


def test_the_facts_behind_a_point_of_a_counted_run_are_not_counted_as_none(look, counted):
    app = look("layers", counted, models=TUNED, heads="least_squares")
    app.session_state["layers.point"] = True
    app.run()
    assert not app.exception and SAID in words(app) and COMMAND in commands(app)
    assert "facts have rank" not in words(app)


def facts(n: int) -> tuple[Fact, ...]:
    """Facts of one relation, two thirds of which have the same answer."""
    answers = ("water", "water", "music")
    return tuple(
        Fact("support", "sells", f"Shop {number}", answers[number % 3], "", f"Shop {number} sells [MASK].")
        for number in range(n)
    )


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    """Number of facts -> a store with a base and a model that was fine-tuned from it."""
    made = {}
    for n in (49, 50):
        own = {
            "probe_set": "support",
            "facts": facts(n),
            "rank": lambda number, layer: 1 if (number + layer) % 2 else 7,
        }
        runs = [
            PlantedRun(**own),
            PlantedRun(head="logit_lens", **own),
            PlantedRun(model="support-bert", base="nesia-mini", **own),
        ]
        made[n] = plant_runs(tmp_path_factory.mktemp(f"facts-{n}"), runs)
    return made


def shown(app) -> list[str]:
    """The commonest answer of a page: lines and marks of its figures, and what says which it is."""
    charts = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
    drawn = [
        trace["name"]
        for chart in charts
        for trace in chart["data"]
        if str(trace.get("name", "")).startswith("commonest answer")
    ]
    return drawn + re.findall("commonest answer of .* is water", words(app))


@pytest.mark.usefixtures("unfolded", "popped")
def test_a_page_shows_the_majority_answer_of_fifty_facts_and_not_of_fewer(snapshots, tmp_path, monkeypatch):
    enough, too_few = (whole(opening(snapshots[n], tmp_path / f"cache-{n}", monkeypatch), "layers") for n in (50, 49))
    assert not enough.exception and not too_few.exception
    assert shown(enough), "the test can see what it looks for"
    assert shown(too_few) == []


@pytest.mark.usefixtures("unfolded", "popped")
def test_own_facts_are_asked_of_the_tiny_model(tmp_path):
    from probing.facts.sources import own_facts
    from probing.live.page_live_models import Choice
    from probing.own_model.page_upload import SAMPLE, ask_all

    facts = own_facts(SAMPLE.replace("Berlin", "berlin"), "sample.csv").facts
    assert len(facts) == 3
    table = ask_all(facts, Choice("own", str(save("bert", tmp_path / "own")), ""), "logit_lens")
    assert list(table.columns[4:-1]) == [f"layer {n}" for n in range(LAYERS + 1)]
    assert table.loc[0, "layer 0"] >= 1 and table.loc[0, "note"] == ""
    assert table.loc[1, "note"] and table["layer 1"].isna()[1]


@pytest.fixture
def own_facts(visit, tmp_path):
    """The facts page with a tiny model to ask and a way to upload."""
    save("bert", tmp_path / "cache" / "models" / "tiny")
    app = visit("facts", query={"facts_tab": "own"})
    app.selectbox(key="facts.live_model").set_value("tiny")

    def uploaded(name: str, content: bytes):
        app.file_uploader(key="own.file").set_value((name, content, "text/plain"))
        return app.run()

    return uploaded


@pytest.mark.usefixtures("unfolded", "popped")
def test_uploaded_facts_are_counted_asked_and_offered_for_download(own_facts):
    app = own_facts(
        "mine.jsonl",
        b'{"subject": "France", "relation": "capital", "object": "Paris", "prompt": "The capital of France is'
        b' [MASK]."}\n{"subject": "Spain", "relation": "capital", "object": "Madrid", "prompt": "No gap"}\n{"subject":'
        b' "Peru", "relation": "capital", "object": "zzzqqq", "prompt": "The capital of Peru is [MASK]."}\n',
    )
    assert (
        "2 facts, 1 of them with an answer of one word piece, which has a rank here. 1 left out: not exactly one mask"
        in words(app)
    )
    app.button(key="own.ask").click().run()
    assert not app.exception
    table = next(frame.value for frame in app.dataframe if "L0" in frame.value.columns)
    assert len(table) == 2 and table[f"L{LAYERS}"][0] >= 1 and table["note"].tolist() == ["", SEVERAL_TOKENS]
    assert "Of 1 fact" in words(app)
    assert any(button.key == "own-facts.csv" for button in app.get("download_button"))
    app.selectbox(key="facts.own_head").set_value("tied").run()
    app.button(key="own.ask").click().run()
    assert "train\\-heads" in app.warning[0].value


@pytest.mark.usefixtures("unfolded", "popped")
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("mine.jsonl", b"{broken", "line 1"),
        ("mine.csv", b"\xff\xfe\x00", "UTF"),
    ],
)
def test_an_upload_that_is_no_file_of_facts_is_named(own_facts, name, content, expected):
    app = own_facts(name, content)
    assert not app.exception
    assert expected in app.warning[0].value


@pytest.mark.usefixtures("unfolded", "popped")
def test_own_facts_are_asked_of_a_model_without_a_head_once_its_base_is_named(own_facts, headless, monkeypatch):
    monkeypatch.setenv("PROBING_MODELS", str(headless))
    fact = (
        b'{"subject": "France", "relation": "capital", "object": "paris", "prompt": "The capital of France is'
        b' [MASK]."}\n'
    )
    app = own_facts("mine.jsonl", fact)
    app.selectbox(key="facts.live_model").set_value("classifier").run()
    assert app.button(key="own.ask").disabled and "--base" not in words(app)
    app.selectbox(key="facts.own_base").set_value("tiny").run()
    app.button(key="own.ask").click().run()
    assert not app.exception and not app.warning and "Of 1 fact" in words(app)
    app = own_facts("long.jsonl", fact.replace(b"The capital", b"The " * 100 + b"capital"))
    app.button(key="own.ask").click().run()
    assert "None of these facts could be asked" in words(app)
