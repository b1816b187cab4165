"""The page of own models: what is checked while it is typed, the commands, who may start them, and the result."""

import json
from dataclasses import replace
from hashlib import sha256

import pandas as pd
import pytest
import streamlit as st

from probing.forgetting.savings import TOO_FEW
from probing.forgetting.ways import LINE
from probing.kernel.fact import Fact
from probing.kernel.locks import exclusive_lock
from probing.kernel.provenance import canonical_json
from probing.kernel.store.opening import open_database
from probing.own_model import run as background
from probing.own_model.figures import fact_table
from probing.own_model.report import fact_rows, result_of, side_by_side
from probing.own_model.run import Wish
from tests.forgetting_planted import plant_forgetting
from tests.pages.conftest import charts, numbers_in, opening, plain
from tests.planted_relatives import COLA, PlantedModel
from tests.planted_store import PlantedRun, plant_runs
from tests.series_planted import PlantedSeries, plant_series
from tests.tiny_models import save

MINE = "support-bert"
PASTED = "question;answer\nThe capital of France is [MASK].;Paris\nParis has no gap.;Paris\n"
NEW = {"own_tab": "new"}


@pytest.fixture
def mine(tmp_path):
    return save("bert", tmp_path / "models" / MINE)


def filled_in(app, model, base=""):
    app.text_input(key="own_model.my_model").set_value(str(model)).run()
    app.text_input(key="own_model.my_base").set_value(str(base)).run()
    return app.text_area(key="own_model.pasted").set_value(PASTED).run()


def commands(app) -> list[str]:
    return [
        line for block in app.main.code for line in block.value.splitlines() if line.startswith("python -m probing")
    ]


def test_without_a_run_the_page_shows_a_finished_sample_of_ours(visit):
    app = visit("own_model", "empty")
    assert not app.exception and "finished-sample" in plain(app).replace(" ", "-")
    assert [float(one) for one in numbers_in(app.main.markdown[0].value)][:3] == [6, 3, 2]
    (table,) = [one.proto.body for one in app.get("html") if "own-facts" in one.proto.body]
    assert table.count("<tr>") == 13 and table.index("lost") < table.index("gained") < table.index("kept")
    assert "known at layers 5, 6, 7, 8" in table and "href" not in table
    assert not [one for one in app.button if one.key == "own_model.run"]


def test_model_base_and_facts_are_checked_and_the_commands_and_their_time_are_shown(visit, mine, tmp_path):
    app = filled_in(visit("own_model", "empty", NEW), mine, "nesia-mini")
    assert not app.exception
    said = plain(app)
    assert f"{MINE}: bert, 3 layers of 16" in said and "nesia-mini: bert, 8 layers of 192" in said
    assert "does not fit the base" in said and app.button(key="own_model.run").disabled
    app = filled_in(app, mine, save("bert", tmp_path / "models" / "base"))
    said = plain(app)
    assert (
        "semicolons" in said
        and "1 fact: up to 0 ranked among the answers of the file, 1 (one word piece) among all words. 1 left out"
        in said
        and "Takes about" in said
    )
    shown = commands(app)
    assert [line.split()[3] for line in shown] == ["probe"] * 4 and all("logit_lens" in line for line in shown)
    assert not app.button(key="own_model.run").disabled


@pytest.mark.parametrize("why", ["This server is public", "can be reached from other machines"])
def test_a_server_for_others_shows_the_commands_alone_and_looks_at_no_folder(visit, mine, monkeypatch, why):
    option, address = st.get_option, "localhost" if "public" in why else "0.0.0.0"
    monkeypatch.setattr(st, "get_option", lambda name: address if name == "server.address" else option(name))
    monkeypatch.setenv("PROBING_PUBLIC", "1" if "public" in why else "")
    app = filled_in(visit("own_model", "empty", NEW), mine)
    assert not app.exception
    said = plain(app)
    assert why in said and "3 layers of 16" not in said and len(commands(app)) == 2
    assert not [one for one in app.button if one.key == "own_model.run"]


def test_the_button_starts_the_very_run_whose_commands_are_shown(visit, mine, monkeypatch):
    started = []
    monkeypatch.setattr(background, "start", started.append)
    app = filled_in(visit("own_model", "empty", NEW), mine)
    shown = commands(app)
    app.button(key="own_model.run").click().run()
    assert not app.exception
    (run,) = started
    assert len(shown) == len(run.state.wish.steps) and app.query_params["my_run"] in (run.id, [run.id])
    assert [step.words[0] for step in run.state.wish.steps] == [line.split()[3] for line in shown]


FACTS = tuple(
    Fact("support", "sells", subject, answer, "", f"{subject} sells [MASK].")
    for subject, answer in (("Spring", "water"), ("Radio", "music"))
)


@pytest.fixture
def probed(tmp_path, monkeypatch):
    """The page on stored results of a base and a model, and a run that is done."""
    own = {"head": "logit_lens", "probe_set": "support", "facts": FACTS}
    snapshot = plant_runs(
        tmp_path / "snapshot",
        [PlantedRun(**own), PlantedRun(model=MINE, base="nesia-mini", objective="support", **own)],
    )
    look = opening(snapshot, tmp_path / "cache", monkeypatch)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    run = background.prepare(
        Wish(model=f"./{MINE}", base="nesia-mini", facts="f", called="support", name=MINE), b"x", ".csv"
    )
    (run.folder / "run.json").write_text(run.state.model_copy(update={"outcome": "done"}).model_dump_json())
    return look, snapshot


def test_means_of_weights_are_offered_after_a_run_and_one_is_saved_as_a_model(probed, monkeypatch):
    from probing.forgetting import line

    look, snapshot = probed
    started, saved = [], []
    monkeypatch.setattr(background, "start_line", started.append)
    app = look("own_model")
    assert "How much comes back if weights are averaged?" in plain(app)
    app.button(key="own_model.line").click().run()
    assert not app.exception and len(started) == 1
    (run,) = started
    line_of = run.state.wish.model_copy(update={"line": True}).steps[-1]
    assert line_of.line.startswith("python -m probing line --model") and "--as support" in line_of.line
    support = {"probe_set": "support"}
    plant_series(
        snapshot / "line",
        [PlantedSeries(PlantedModel(MINE, "nesia-mini"), LINE, facts=False)],
        lambda table, rows: [row | support if table == "series_runs" else row for row in rows],
    )
    app = look("own_model", own_tab="ways")
    assert not app.exception and "Of 30 facts that nesia-mini knows, support-bert keeps 10" in plain(app)
    monkeypatch.setattr(line, "save_point", lambda request: [saved.append(request), "/mean"][1])
    app.selectbox(key="own_model.weight").set_value(0.3).run()
    app.button(key="own_model.save").click().run()
    (request,) = saved
    assert (request.save, request.base, request.name) == (0.3, "nesia-mini", MINE)
    assert not app.exception and "/mean" in app.success[0].value


def _known(found, column: str) -> int:
    return round(found.layers[column].iloc[-1] * 2)


def test_a_result_is_one_sentence_and_a_table_whose_rows_lead_to_their_facts(probed):
    look, snapshot = probed
    app = look("own_model")
    assert not app.exception and not app.warning
    # It is from before facts were also ranked among the answers of the file.
    assert "own_model.my_measure" not in {one.key for one in app.get("button_group")}
    assert app.button(key="own_model.resume")
    with open_database(snapshot) as db:
        found = result_of(db, MINE, "support")
        rows = fact_rows(db, found)
        alone = fact_rows(db, result_of(db, "nesia-mini", "support"))
    assert (
        "draw no conclusion" in found.answer[-1]
        and f"knows {_known(found, 'base_value')} of 2 facts" in found.answer[0]
    )
    assert found.small and found.base == "nesia-mini" and found.n == 2 == len(found.changed) == len(rows) == len(alone)
    counts = found.changed["part"].value_counts()
    assert numbers_in(app.main.markdown[0].value) == [
        int(counts.get(part, 0)) for part in ("kept", "lost", "gained", "never")
    ]
    assert [ranks[-1] for ranks in rows["ranks"]] == list(
        found.changed.set_index("fact_id").loc[rows["fact_id"], "rank"]
    )
    (table,) = [one.proto.body for one in app.get("html") if "own-facts" in one.proto.body]
    assert all(f"fact={fact}" in table for fact in rows["fact_id"]) and f"model={MINE}" in table
    pages = {one.proto.page for one in app.main.get("page_link")}
    assert {"Layers", "Facts", "Compare_models"} <= pages


@pytest.mark.parametrize("few", [None, 3])
def test_ways_back_end_with_what_savings_say_and_with_how_few_can_be_asked(probed, few):
    def of_mine(table, rows):
        of_run = {"model": MINE, "base": "nesia-mini", "probe_set": "support", "left_out": json.dumps({TOO_FEW: few})}
        return (
            []
            if few and table == "forgetting_savings"
            else [row | {name: of_run.get(name, row[name]) for name in row} for row in rows]
        )

    look, snapshot = probed
    plant_forgetting(snapshot / "lost", [COLA], of_mine)
    app = look("own_model", own_tab="ways")
    assert not app.exception and len(charts(app)) == (not few)
    said = f"3 {TOO_FEW}." if few else "What the base said, right or wrong, is still in the weights."
    with open_database(snapshot) as db:
        assert said in plain(app) and result_of(db, MINE, "support").any_back.endswith(said)


def test_a_run_at_work_leaves_the_tabs_in_place(probed):
    look, snapshot = probed
    before = [tab.label for tab in look("own_model", own_tab="new").tabs]
    (path,) = (snapshot.parent / "cache" / "own-runs").glob("*/run.json")
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"outcome": "", "wish": {"model": "m", "facts": "f", "called": "g"}})
    )
    with exclusive_lock(path.parent / "run.lock"):
        app = look("own_model", own_tab="new")
        assert not app.exception and [tab.label for tab in app.tabs] == before
        assert look("own_model").get("progress")


def test_the_table_escapes_what_models_and_facts_say():
    row = {
        "part": "lost",
        "prompt": "<i>a</i>",
        "object": "<b>",
        "base_ranks": [9, 1, 2],
        "ranks": [9, 2, 1],
        "answer": "<s>",
        "fact_id": "f",
    }
    table = fact_table(
        pd.DataFrame([row]), ["#0072B2", "#D55E00"], base="<base>", model="m", k=1, links={"f": "Facts?a=1&b=2"}
    )
    assert (
        "&lt;i&gt;a&lt;/i&gt;" in table
        and "<b>&lt;b&gt;</b>" in table
        and "&lt;base&gt;" in table
        and "a=1&amp;b=2" in table
    )
    assert 'aria-label="known at layers 1"' in table and 'aria-label="known at layers 2"' in table


def test_the_report_is_one_html_page_that_escapes_what_models_and_facts_say(probed):
    from probing.own_model.figures import own_curves, report_page

    _, snapshot = probed
    with open_database(snapshot) as db:
        found = result_of(db, MINE, "support")
    changed = found.changed.assign(part="lost", answer="<script>")
    figure = own_curves(found.layers, base=found.base, model=found.model, k=1)
    text = report_page("<b>", found.sentences, figure, changed, found.origin)
    assert '<html lang="en">' in text and "<h1>&lt;b&gt;</h1>" in text and "<td>&lt;script&gt;</td>" in text
    assert "Facts that the model lost (2)" in text and "src=" not in text.split("<h2>Layer by layer")[0]


def test_a_failed_run_says_why_and_offers_to_resume(probed):
    look, snapshot = probed
    (path,) = (snapshot.parent / "cache" / "own-runs").glob("*/run.json")
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"outcome": "failed", "error": "no <b>model</b>", "step": 0})
    )
    app = look("own_model")
    assert not app.exception and "no <b>model</b>" in plain(app)
    assert app.button(key="own_model.resume") and app.button(key="own_model.delete")
    app.button(key="own_model.delete").click().run()
    assert not app.exception and not path.exists()


def test_a_run_at_work_shows_its_step_and_can_be_cancelled_and_none_other_be_started(probed):
    look, snapshot = probed
    (path,) = (snapshot.parent / "cache" / "own-runs").glob("*/run.json")
    (path.parent / "log.txt").write_text("$ probe\nprobe:  50%|##  | 1/2")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"outcome": "", "step": 1}))
    with exclusive_lock(path.parent / "run.lock"):
        app = look("own_model")
        assert not app.exception and app.button(key="own_model.cancel")
        (bar,) = app.get("progress")
        assert bar.proto.value == 37 and "Step 2 of 4" in bar.proto.text
        app = filled_in(look("own_model", own_tab="new"), "nesia-mini")
        # The run stands where the button was: below the options, above the commands.
        assert not [one for one in app.button if one.key == "own_model.run"] and app.button(key="own_model.cancel")
        kinds = [(one.type, str(getattr(one, "label", ""))) for one in app.main]
        (at,) = [number for number, (kind, _) in enumerate(kinds) if kind == "progress"]
        assert "toggle" in [kind for kind, _ in kinds[:at]] and "In a terminal" in [label for _, label in kinds[at:]]


def test_several_models_are_asked_in_one_run_and_a_model_that_does_not_fit_stops_it(visit, mine, tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(background, "start", started.append)
    base, other = (str(save("bert", tmp_path / "models" / name)) for name in ("base", "other"))
    app = visit(
        "own_model", "empty", {**NEW, "my_model": str(mine), "my_base": base, "my_others": [other, "nesia-mini"]}
    )
    app.text_area(key="own_model.pasted").set_value(PASTED).run()
    assert not app.exception and "does not fit the base" in plain(app) and app.button(key="own_model.run").disabled
    app.multiselect(key="own_model.my_others").set_value([other]).run()
    shown = commands(app)
    assert [line.split()[3] for line in shown] == ["probe"] * 6 and f"--model {other} --base {base}" in shown[2]
    app.button(key="own_model.run").click().run()
    (run,) = started
    assert run.state.wish.others == (other,)


def test_a_wish_without_further_models_keeps_the_id_that_it_had():
    wish = Wish(model="m", base="b", facts="f", called="c")
    asked = {
        **{name: value for name, value in wish.model_dump().items() if name not in ("others", "line")},
        "facts": sha256(b"x").hexdigest(),
    }
    assert (
        wish.key(b"x")
        == sha256(canonical_json(asked).encode()).hexdigest()[:12]
        != wish.model_copy(update={"others": ("o",)}).key(b"x")
    )


def test_all_models_on_the_same_facts_are_next_to_each_other_and_to_t_rex_with_the_facts_that_were_left_out(
    tmp_path, monkeypatch
):
    # As they are read from a file, which has no templates.
    facts = tuple(replace(one, template=one.prompt) for one in FACTS)
    own = {"head": "logit_lens", "probe_set": "support", "facts": facts}
    runs = [
        PlantedRun(**own),
        PlantedRun(model=MINE, base="nesia-mini", objective="support", **own),
        PlantedRun(model="second", base="nesia-mini", objective="support", **own | {"facts": facts[:1]}),
        PlantedRun(model=MINE, base="nesia-mini", objective="support", head="logit_lens"),
    ]
    snapshot = plant_runs(tmp_path / "snapshot", runs)
    look = opening(snapshot, tmp_path / "cache", monkeypatch)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    content = "subject,relation,object,prompt\n" + "".join(
        f"{one.subject},{one.relation},{one.object},{prompt}\n"
        for one in FACTS
        for prompt in (one.prompt, f"no gap in {one.subject}")
    )
    background.prepare(
        Wish(model=MINE, base="nesia-mini", facts="f", called="support", name=MINE), content.encode(), ".csv"
    )
    app = look("own_model", own_tab="curve")
    assert not app.exception
    (table,) = [one.value for one in app.dataframe if {"trex", "left_out"} <= set(one.value.columns)]
    with open_database(snapshot) as db:
        found = side_by_side(db, "support").set_index("model")
        alone = result_of(db, MINE, "support")
    assert (
        list(table["n"]) == list(found["n"])
        and sorted(found["n"]) == [1, 2, 2]
        and set(found.index) == {"nesia-mini", MINE, "second"}
    )
    assert found.loc[MINE, "value"] == alone.layers.iloc[-1]["value"]
    assert (
        found.loc[MINE, "trex"] == alone.trex.set_index("model").loc[MINE, "value"] and found["trex"].notna().sum() == 1
    )
    (left,) = [one.value for one in app.dataframe if {"model", "reason", "prompt"} <= set(one.value.columns)]
    assert sorted(left["prompt"]) == sorted([*(f"no gap in {one.subject}" for one in FACTS), FACTS[1].prompt])
    assert list(left.loc[left["model"] == "second", "prompt"]) == [FACTS[1].prompt]


def test_a_model_is_deleted_after_a_confirmation_and_only_by_who_sits_at_the_machine(visit, tmp_path, monkeypatch):
    folder = save("bert", tmp_path / "cache" / "models" / "mine")
    app = visit("own_model", "empty", {"my_space": "model", "own_tab": "space"})
    assert not app.exception and "mine" in app.selectbox(key="own_model.space.model").options
    app.selectbox(key="own_model.space.model").set_value("mine").run()
    assert folder.is_dir() and "cannot be undone" in plain(app)
    app.button(key="own_model.space.delete").click().run()
    assert not app.exception and not folder.exists()
    monkeypatch.setenv("PROBING_PUBLIC", "1")
    public = visit("own_model", "empty", {"my_space": "model", "own_tab": "space"})
    assert not public.exception and not [one for one in public.button if str(one.key).startswith("own_model.space")]
