"""Every page with an empty, a one-model and a full store, the ways between them, Home and Methods."""

import os
import re
import subprocess
import sys
from urllib.parse import parse_qs

import pytest

from probing.choices import METHODS_TABS
from probing.facts.page_clearest import clear_ones, lost_by_fine_tuning
from probing.kernel.app.selection import PAGE_FIELDS
from probing.kernel.fact import MASK, Fact
from probing.kernel.figures.looks import usual_colours
from probing.kernel.files import snapshot_folder
from probing.kernel.store import parquet
from probing.kernel.store.opening import open_database
from probing.kernel.store.stored import fact_runs, one_run_each
from probing.terms import METRICS, anchor, glossary
from tests.pages.conftest import PAGES, ROOT, charts, grids, numbers_in, visited, words
from tests.pages.every_tab import whole
from tests.pages.planted_family import FAMILY, tuned_rank
from tests.planted_store import SEVERAL, PlantedRun, forget_predictions, plant_runs, planted_facts, planted_rank
from tests.shipped import SNAPSHOT
from tests.tiny_models import LAYERS, save

pytestmark = pytest.mark.usefixtures("unfolded")


@pytest.mark.parametrize("page", [page for page in PAGES if page != "ask"])
def test_a_page_opens_without_results(visit, page):
    """With results ``test_links`` opens all tabs."""
    app = visit(page, "empty")
    assert not app.exception and [bool(title.value) for title in app.title] == [True]


def test_a_damaged_results_file_is_named_without_a_traceback(visit, own_snapshot, monkeypatch):
    broken = next(own_snapshot.rglob("predictions-*.parquet"))
    broken.write_bytes(broken.read_bytes()[:100])
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(own_snapshot))
    app.run()
    assert not app.exception
    assert "predictions" in app.warning[0].value


def test_a_results_file_of_another_version_is_a_warning_and_the_rest_is_shown(visit, own_snapshot, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(parquet, "VERSIONS", dict.fromkeys(parquet.VERSIONS, 0))
        plant_runs(own_snapshot / "older", SEVERAL[1:2])
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(own_snapshot))
    app.run()
    assert not app.exception
    (warning,) = app.warning
    assert "leave out a results file" in warning.value and "schema version 0" in warning.value
    assert "nesia-mini" in words(app)


def test_results_are_shown_with_a_cache_that_cannot_be_written(visit, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "file" / "cache"))
    app.run()
    assert not app.exception and not app.warning and charts(app)


def test_a_results_file_that_is_damaged_while_the_app_runs_is_left_out_and_named(visit, own_snapshot, monkeypatch):
    app = visit("layers", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(own_snapshot))
    assert charts(app.run())
    (path,) = own_snapshot.rglob("predictions-*.parquet")
    whole, times = path.read_bytes(), path.stat()
    path.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    # As bits on a disk change, unseen.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not app.switch_page("pages/5_Facts.py").run().exception
    assert "predictions" in app.run().warning[0].value and "Only counts are stored" in words(app)


def test_pages_that_ask_no_model_and_an_example_on_home_do_not_load_torch(planted_snapshots, tmp_path):
    pages = [path for page, path in PAGES.items() if page != "ask"]
    # The process takes what makes pages quick in tests from the tests.
    code = f"""
import sys
import tests.pages.conftest
from streamlit.testing.v1 import AppTest
for page in {pages!r}:
    app = AppTest.from_file("app.py", default_timeout=120)
    if page != "app.py":
        app.switch_page(page)
    app.run()
    if page == "app.py":
        app.pills(key="home.example").set_value(2).run()
    assert not app.exception and len(app.title) == 1, page
print(sorted({{"torch", "transformers"}} & set(sys.modules)))
"""
    places = {"PROBING_SNAPSHOT": str(planted_snapshots["one model"]), "PROBING_CACHE": str(tmp_path / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=os.environ | places
    )
    assert run.stdout.strip().splitlines()[-1:] == ["[]"], run.stderr


def test_invalid_values_in_a_link_are_ignored_with_a_message(visit):
    app = visit("layers", query={"metric": "p_at_7", "models": "<b>gone</b>"})
    assert not app.exception
    assert any("metric" in note.value for note in app.info)
    assert any("gone" in note.value and "<b>" not in note.value for note in app.info)
    assert "metric" not in app.query_params


def test_the_facts_behind_a_point_are_all_of_them_whatever_was_filtered_before(visit):
    app = visit(
        "facts",
        "several",
        {"known": "never", "order": "fact", "part": "lost", "versus": "other-bert", "list_page": "2"},
    )
    app.switch_page(PAGES["layers"])
    app.query_params.clear()
    app.session_state["layers.point"] = True
    app.run()
    link = next(link.proto for link in app.get("page_link") if link.proto.label.startswith("Open "))
    assert not {"known", "order", "part", "versus", "list_page"} & set(parse_qs(link.query_string))
    number = link.label.split()[1]
    listed = visit("facts", "several", parse_qs(link.query_string))
    assert f"**{number} facts**" in words(listed)


def test_a_fact_is_found_by_search_and_leafed_through(visit):
    app = visit("facts", query={"text": "Germany"})
    assert "1 fact" in words(app) and "The capital of Germany is ___: **" in words(app).replace("\\", "")
    app.text_input(key="facts.text").set_value("").run()
    first = words(app)
    next(button for button in app.button if button.label == "Next").click().run()
    assert app.query_params["fact"] and words(app) != first
    app.text_input(key="facts.text").set_value("capital").run()
    hit = app.button(key="facts.hit.1")
    hit.click().run()
    assert f"{hit.label.split(': ')[0]} is ___: **{hit.label.split(': ')[1]}**" in words(app).replace("\\", "")


def test_going_back_in_the_browser_goes_back_to_the_former_view(visit):
    app = visit("facts", query={"text": "Germany"})
    app.text_input(key="facts.text").set_value("Italy").run()
    assert "The capital of Italy is ___: **" in words(app).replace("\\", "")
    app.query_params["text"] = "Germany"
    app.run()
    assert "The capital of Germany is ___: **" in words(app).replace("\\", "")
    assert app.text_input(key="facts.text").value == "Germany"


def answer(app) -> str:
    """The page's one computed sentence, without the backslashes that keep its words from being markup."""
    return next(line for line in words(app).replace("\\", "").split("\n") if " says " in line)


@pytest.fixture
def on(visit, monkeypatch, tmp_path):
    """Opens Home on planted runs."""

    def opened(*runs: PlantedRun, **query: str):
        app = visit("home", query=query, run=False)
        monkeypatch.setenv("PROBING_SNAPSHOT", str(plant_runs(tmp_path / "planted", runs)))
        return app.run()

    return opened


def test_the_grid_shows_the_stored_predictions_of_the_first_example(visit):
    app = visit("home")
    prompt = app.text_input(key="home.sentence").value
    number, fact = next((number, fact) for number, fact in enumerate(planted_facts("trex")) if fact.prompt == prompt)
    (grid,) = grids(app)
    assert [row["layer"] for row in grid["layers"]] == [3, 2, 1, 0], "the last layer is on top"
    assert [row["rank"] for row in grid["layers"]] == [planted_rank(number, layer) for layer in (3, 2, 1, 0)]
    shown = {(row["layer"], place): token for row in grid["layers"] for place, token in enumerate(row["tokens"], 1)}
    right = {key for key, token in shown.items() if token["word"] == fact.object}
    assert right == {(layer, planted_rank(number, layer)) for layer in range(4) if planted_rank(number, layer) <= 3}
    assert len(shown) == 4 * 3 and {key for key, token in shown.items() if token["right"]} == right
    curve = grid["curves"][fact.object]
    for (layer, _), token in shown.items():
        if token["right"]:
            assert curve[layer] == pytest.approx(token["probability"])


def test_beside_the_base_is_the_model_with_the_clearest_finding_and_the_sentence_has_the_layers_of_both(on):
    def loses(share):
        return lambda number, layer: {2: 1, 3: 70 if number % 10 < share else 1}.get(layer, 9)

    tuned = [
        PlantedRun(model=f"nesia-mini-{name}", base="nesia-mini", objective=name, rank=loses(share))
        for name, share in (("CoLA", 3), ("RTE", 8))
    ]
    app = on(PlantedRun(rank=lambda number, layer: 1 if layer >= 2 else 9), *tuned)
    base, other = grids(app)
    assert [row["rank"] for row in base["layers"]] == [1, 1, 9, 9]
    assert "RTE" in other["model"], "the one that lost most"
    assert numbers_in(answer(app))[:3] == [2, 3, 2], "the layers of the base, then those of the fine-tuned model"


def test_the_examples_are_facts_that_the_model_knows_by_kind_and_one_that_it_does_not(visit):
    *known, unknown = [prompt.replace("\\", "") for prompt in visit("home").pills(key="home.example").options]
    facts = {fact.prompt.replace(MASK, "…").rstrip(" ."): at for at, fact in enumerate(planted_facts("trex"))}
    assert known and all(planted_rank(facts[prompt], 3) == 1 for prompt in known)
    assert len({planted_facts("trex")[facts[prompt]].relation for prompt in known[:2]}) == 2
    assert all(planted_rank(facts[unknown.removeprefix("Missed: ")], layer) > 1 for layer in (1, 2, 3))


def test_rocky_balboa_is_an_example_if_he_is_known_and_an_example_is_shown_at_once_and_in_the_link(on):
    app = on(PlantedRun(rank=lambda number, layer: 1 if layer == 3 else 9))
    assert "Rocky Balboa" in app.pills(key="home.example").options[2]
    app.pills(key="home.example").set_value(3).run()
    assert app.query_params["example"] in ("3", ["3"])
    assert app.text_input(key="home.sentence").value == "Rocky Balboa was born in [MASK] ."
    assert "philadelphia" in answer(app)


def test_a_store_in_which_nothing_is_known_has_only_the_example_that_says_so(on):
    facts = (Fact("mine", "birds", "A", "hot", "[X] is [Y] .", "A is [MASK] ."),)
    app = on(PlantedRun(probe_set="mine", facts=facts, rank=lambda number, layer: 40))
    (example,) = app.pills(key="home.example").options
    assert (
        not app.exception
        and example.replace("\\", "") == "Missed: A is …"
        and "**hot**, the answer asked for, has rank 40" in answer(app)
    )


@pytest.fixture
def tiny(tmp_path):
    """A tiny model under a name of its own, with planted results."""
    save("bert", tmp_path / "cache" / "models" / "tiny")
    return PlantedRun(model="tiny", head="logit_lens")


def test_a_typed_sentence_is_asked_of_the_base_and_of_the_fine_tuned_model_and_kept_in_the_link(on, tiny, tmp_path):
    save("bert", tmp_path / "cache" / "models" / "tiny-tuned")
    tuned = PlantedRun(
        model="tiny-tuned", base="tiny", objective="CoLA", head="logit_lens", rank=lambda number, layer: 40
    )
    app = on(tiny, tuned)
    app.text_input(key="home.sentence").set_value("Rome is the capital of [MASK].")
    app.button[0].click().run()
    assert not app.exception and not app.warning
    assert app.query_params["prompt"] in ("Rome is the capital of [MASK].", ["Rome is the capital of [MASK]."])
    found = grids(app)
    assert len(found) == 2
    for grid in found:
        assert len(grid["layers"]) == LAYERS + 1 and all(
            len(row["tokens"]) == 3 and row["rank"] for row in grid["layers"]
        )
    assert found[0]["layers"][0]["rank"] == 1 and found[0]["layers"][0]["tokens"][0]["said"], (
        "the base's last word is followed"
    )
    first = found[0]["layers"][0]["tokens"][0]["word"]
    inner = [row["layer"] for row in found[0]["layers"] if row["layer"] and row["tokens"][0]["word"] == first]
    assert first in answer(app) and max(inner) in numbers_in(answer(app))
    app.pills(key="home.example").set_value(2).run()
    assert "prompt" not in app.query_params


@pytest.mark.parametrize(
    ("sentence", "right", "known"),
    [
        ("the capital of ITALY is ___", "", ("rome",)),
        ("Rome is a town in ___", "", ()),
        ("Rome is a town in ___", "italy, berlin", ("italy", "berlin")),
    ],
    ids=["stored", "nobody knows", "typed"],
)
def test_only_a_word_that_is_known_to_be_right_is_orange_and_its_rank_is_said(on, tiny, sentence, right, known):
    app = on(tiny, prompt=sentence, right=right)
    (grid,) = grids(app)
    tokens = [token for row in grid["layers"] for token in row["tokens"]]
    assert {token["word"] for token in tokens if token["right"]} <= set(known)
    nobody = any("Nobody checked" in field.label for field in app.text_input)
    assert any(token["said"] for token in tokens) == nobody == (not known)
    if known:
        rank = grid["layers"][0]["rank"]
        assert f"has rank {rank:,}" in answer(app) if rank > 1 else "Wrong" not in answer(app)
        assert any(word in answer(app) for word in known)


def test_the_gaps_of_a_sentence_are_chosen_or_filled_as_on_ask(on, tiny):
    app = on(PlantedRun(model="tiny", head="tied"), prompt="[MASK] is the capital of [MASK].")
    assert not app.exception and len(grids(app)) == 1
    app.segmented_control(key="home.mask").set_value(0).run()
    assert app.info and MASK not in app.info[0].value.replace("\\", "") and len(grids(app)) == 1


@pytest.mark.parametrize("page", ["home", "ask"])
def test_a_word_of_a_sentence_without_a_gap_is_asked_for_by_click(on, tiny, page):
    app = on(tiny, prompt="rome is in italy!")
    if page == "ask":
        app.switch_page(PAGES[page]).run()
    app.pills(key="ask.word").set_value(3).run()
    assert not app.exception and app.query_params["prompt"] in ("rome is in [MASK]!", ["rome is in [MASK]!"])
    assert app.query_params["right"] in ("italy", ["italy"]) and len(grids(app)) == 1


def test_the_cards_have_the_numbers_of_a_count_of_the_raw_rows():
    """The shipped results: shares recounted from the ranks at the last layer."""
    with open_database(SNAPSHOT) as db:
        runs = one_run_each(fact_runs(db))
        asked = runs[(runs["head"] == "logit_lens") & (runs["probe_set"] == "trex") & ~runs["counted"].astype(bool)]
        rows = db.query("SELECT run_id, fact_id, gold_rank FROM predictions WHERE layer = 8").merge(
            asked[["run_id", "model"]]
        )
        ranks = rows.pivot(index="fact_id", columns="model", values="gold_rank")
        lost = lost_by_fine_tuning(db, runs, "logit_lens", "trex")
    known = ranks[ranks["nesia-mini"] == 1]
    found = clear_ones(lost, frozenset(["nesia-mini-ner-conll", "nesia-mini-sst-2"]))[0]
    assert found.model == "nesia-mini-ner-conll"
    assert found.share == pytest.approx((known[found.model] > 1).mean())
    assert found.control == pytest.approx((known["nesia-mini-control"] > 1).mean())


def test_cards_of_a_store_without_single_facts_lead_to_what_it_has(on, monkeypatch, tmp_path):
    tuned = PlantedRun(model="counted", base="nesia-mini", objective="NER-CoNLL", rank=lambda number, layer: 50)
    snapshot = plant_runs(tmp_path / "runs", [PlantedRun(), tuned])
    forget_predictions(snapshot, tuned)
    app = on(PlantedRun())
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    assert not app.run().exception and snapshot_folder() == snapshot
    assert len(grids(app)) == 1


def targets(app) -> list[str]:
    """The link targets of the entries that are shown."""
    bodies = [one.proto.body for one in app.get("html")]
    return [target for body in bodies for target in re.findall(r'<p id="([^"]+)"', body)]


def test_every_term_has_a_link_target_of_its_own_and_a_search_shows_those_with_its_words(visit):
    app = visit("methods")
    assert sorted(targets(app)) == sorted({anchor(name) for name in glossary()}) and len(targets(app)) == len(
        glossary()
    )
    app.text_input(key="methods.methods_search").set_value("swapped subject").run()
    assert "blind-guess" in targets(app) and len(targets(app)) < 20
    assert app.query_params["methods_search"] in ("swapped subject", ["swapped subject"])
    app.text_input(key="methods.methods_search").set_value("no such word").run()
    assert not targets(app) and app.info


@pytest.fixture(scope="module")
def beside_own(tmp_path_factory):
    """Opens pages on the family beside own models."""
    runs = [PlantedRun(model=name, base="nesia-mini", rank=tuned_rank) for name in ("a-first", "my-own")]
    folder = tmp_path_factory.mktemp("own")
    return visited(plant_runs(folder / "runs", [*FAMILY, *runs]), folder)


@pytest.mark.parametrize("page", ["home", "layers", "compare", "facts"])
@pytest.mark.parametrize("query", [{}, {"models": ["nesia-mini", "my-own"], "model": "my-own", "tuned": "my-own"}])
def test_a_model_has_one_colour_in_all_figures_and_grids(beside_own, page, query):
    full = {"nesia-mini": "nesia-mini", "my-own": "my-own", "QA-SQuAD-1": "nesia-mini-qa-squad-1"}
    of_page = {name: value for name, value in query.items() if name in PAGE_FIELDS[page]}
    app = whole(beside_own, page, **of_page)
    drawn = [
        (str(trace.get("name")), (trace.get(part) or {}).get("color"))
        for chart in charts(app)
        for trace in chart["data"]
        for part in ("line", "marker")
    ] + [(grid["model"], grid["colour"]) for grid in grids(app)]
    colours = {(name.removesuffix(" ?"), shade) for name, shade in drawn if name.removesuffix(" ?") in full and shade}
    assert len(colours) > 1 and colours == {(name, usual_colours([full[name]])[full[name]]) for name, _ in colours}


@pytest.mark.parametrize("tab", METHODS_TABS)
def test_every_tab_opens_and_metrics_and_runs_are_tables(visit, tab):
    app = visit("methods", "one model", {"methods_tab": tab})
    assert not app.exception
    if tab == "metrics":
        assert list(app.dataframe[0].value["name"]) == list(METRICS)
    if tab == "runs":
        assert "run_id" in app.dataframe[0].value and any("data fingerprint" in one.value for one in app.markdown)
