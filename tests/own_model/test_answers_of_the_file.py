"""Answers of several tokens in a user's file: a run by both measures, and what the page and the report show of it."""

import csv
import html
import re
import shlex

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from probing.kernel.errors import StoreError
from probing.kernel.fact import NO_OTHER
from probing.kernel.files import result_folders
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table
from probing.own_model import run as background
from probing.own_model.report import result_of
from tests.pages.conftest import app_at, numbers_in, plain
from tests.tiny_models import LAYERS, save

CITY = "New York City"
FACTS = (
    ("city", CITY, "The city of the sun is [MASK]."),
    ("city", "paris", "The capital of france is [MASK]."),
    ("city", "rome", "The capital of italy is [MASK]."),
    ("colour", "red", "The moon is [MASK]."),
)


def planted(folder, raised):
    """A model that puts the tokens of ``CITY`` first at the layers ``raised``, and "paris" at all others.

    A layer only adds a bias that outweighs all before it: the first axis stands for the tokens of ``CITY``, the second
    for "paris", and the head reads each axis as it is.
    """
    model = AutoModelForMaskedLM.from_pretrained(save("bert", folder))
    ids = AutoTokenizer.from_pretrained(folder)([CITY.lower(), "paris"], add_special_tokens=False)["input_ids"]
    assert [len(pieces) for pieces in ids] == [8, 1]
    with torch.no_grad():
        for norm in (one for one in model.modules() if isinstance(one, torch.nn.LayerNorm)):
            norm.reset_parameters()
        for number, layer in enumerate(model.bert.encoder.layer, 1):
            for part in (layer.attention.output.dense, layer.output.dense):
                part.weight.zero_()
                part.bias.zero_()
            layer.output.dense.bias[0 if number in raised else 1] = 100.0**number
        transform, vocabulary = model.cls.predictions.transform, model.cls.predictions.decoder
        transform.dense.weight.copy_(torch.eye(len(transform.dense.weight)))
        for bias in (transform.dense.bias, vocabulary.bias):
            bias.zero_()
        vocabulary.weight.zero_()
        for axis, pieces in enumerate(ids):
            vocabulary.weight[pieces, axis] = 10
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def own(run, cache, tmp_path, monkeypatch):
    """``probing own`` on rows of facts, and the page on its result; commands are called in this process."""
    (tmp_path / "snapshot").mkdir()

    def call(log, step, *_):
        with log.open("a") as stream:
            stream.write(f"$ {step.line}\n{run(*shlex.split(step.line)[3:]).output}")
        return ""

    monkeypatch.setattr(background, "_called", call)

    def asked(facts, *more):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([("relation", "object", "prompt"), *facts])
        run("own", "--facts", path, *more)
        return lambda **query: app_at("own_model", query).run()

    return asked


def squares(app):
    """Answer -> outcome, and the layers that know it in each model, as the table of facts says."""
    (table,) = [one.proto.body for one in app.get("html") if "own-facts" in one.proto.body]
    found = {}
    for row in table.split("<tr>")[2:]:
        layers = [[int(n) for n in re.findall(r"\d+", label)] for label in re.findall('aria-label="([^"]+)"', row)]
        found[html.unescape(re.search("<b>(.*?)</b>", row)[1])] = (re.search("</i>([a-z ]+)<", row)[1], *layers)
    return found


def test_an_answer_of_several_tokens_is_shown_at_its_layers_and_its_measure_is_named(own, run, tmp_path):
    base, mine = planted(tmp_path / "base", {2, LAYERS}), planted(tmp_path / "mine", {2})
    page = own(FACTS, "--model", mine, "--base", base)
    app = page()
    assert not app.exception
    found = squares(app)
    assert found[CITY] == ("lost", [2, LAYERS], [2]) and set(found) == {CITY, "paris", "rome", "red"}
    assert found["paris"] == ("gained", [1], [1, 3])
    assert numbers_in(app.main.markdown[0].value) == [0, 1, 1, 2]
    (bar,) = [one.proto.body for one in app.get("html") if 'class="outcomes"' in one.proto.body]
    assert re.findall('title="([^"]+)"', bar) == ["1 lost", "1 gained", "2 never known"]
    other = app_at("compare", {"tuned": "mine", "probe_set": "mine"}).run()
    assert not other.exception and any(numbers_in(one.value) == [3, 4] for one in other.caption)
    # Among three answers, the only colour among all four; by chance three thirds and a quarter.
    assert any(numbers_in(one.value.replace("\\", ""))[:3] == [3.2, 4, 1.2] for one in app.caption)
    assert not [one for one in app.get("button_group") if one.key == "own_model.my_k"]
    labels = [one.proto.label for one in app.main.get("page_link")]
    assert any(numbers_in(label) == [3, 4] for label in labels)
    words = page(my_measure="vocabulary")
    assert set(squares(words)) == {"paris", "rome", "red"} and words.button_group(key="own_model.my_k")


def test_the_command_ends_with_the_result_in_one_line(own, run, tmp_path):
    base, mine = planted(tmp_path / "base", {2, LAYERS}), planted(tmp_path / "mine", {2})
    own(FACTS, "--model", mine, "--base", base)
    (done,) = background.own_runs()
    last = run("own", "--resume", done.id).output.splitlines()[-1]
    # The base has the city first, the model "paris".
    assert last.startswith("done: mine knows 1 of 4 facts (alone in the first place among answers of the file, last")
    assert ", base 1: 1 lost, 1 gained; read it on the page" in last and "own-report --model mine" in last
    with open_database(*result_folders()) as db:
        words = result_of(db, "mine", "mine", measure="vocabulary").line
        found = result_of(db, "mine", "mine")
    assert words == "mine knows 1 of 3 facts (rank ≤ 1, last layer), base 0: 0 lost, 1 gained"
    # The model says "paris" whatever is asked, so one fact is right of any other subject, too.
    assert "1 by a blind guess" in found.yardstick and "by the commonest answer" in found.yardstick


def test_without_a_second_answer_nothing_is_ranked_and_the_run_ends_with_the_words(own, run, tmp_path):
    page = own(FACTS[3:], "--model", planted(tmp_path / "mine", {2}))
    (done,) = background.own_runs()
    assert done.whole and f"1 {NO_OTHER}" in (done.folder / "log.txt").read_text()
    app = page(my_measure="independent")
    assert not app.exception and set(squares(app)) == {"red"}
    assert "No ranks among the answers of the file" in plain(app)
    with pytest.raises(StoreError, match="by the measure vocabulary only"):
        run("own-report", "--model", "mine", "--facts", "mine", "--measure", "independent")


def test_a_model_without_a_base_is_asked_by_both_measures(own, tmp_path):
    page = own(FACTS[:3], "--model", planted(tmp_path / "mine", {LAYERS}))
    found = squares(page())
    assert found[CITY] == ("known", [LAYERS]) and found["paris"][0] == "not known"
    assert not page(own_tab="curve").exception and not page(own_tab="new").exception


def test_where_all_answers_have_several_tokens_only_ranks_among_them_are_shown(own, tmp_path):
    page = own([FACTS[0], ("city", "rocky balboa", FACTS[1][2])], "--model", planted(tmp_path / "mine", {2}))
    app = page(my_measure="vocabulary")
    assert not app.exception and squares(app)[CITY] == ("not known", [2])
    assert "No ranks among all words" in plain(app) and not app.main.get("page_link")[:-1]
    assert not page(own_tab="curve").exception


def test_only_facts_ranked_among_as_many_answers_are_compared_with_the_base(own, run, cache, tmp_path):
    base, mine = planted(tmp_path / "base", {2, LAYERS}), planted(tmp_path / "mine", {2})
    page, other = own(FACTS, "--model", mine, "--base", base), tmp_path / "other.csv"
    again = ("probe", "--model", base, "--facts", other, "--as", "mine", "--head", "logit_lens")
    report = ("own-report", "--model", "mine", "--facts", "mine", "--out", tmp_path / "report.html")
    rows = [("relation", "object", "prompt"), *FACTS[:3]]
    for more in ((), (("city", "berlin", FACTS[3][2]),)):
        with other.open("w", newline="") as stream:
            csv.writer(stream).writerows([*rows, *more])
        # Of two runs of one second, either may be the newest.
        for path in (cache / "runs").glob("candidate_runs-*"):
            if read_table(path, "candidate_runs")["model"].to_pylist() == ["base"]:
                path.unlink()
        run(*again, "--measure", "independent")
        if not more:
            app = page(my_measure="independent")
            assert not app.exception and set(squares(app)) == {CITY, "paris", "rome"}
            assert any(numbers_in(one.value)[:3] == [3, 3, 1] for one in app.caption)
            run(*report, "--measure", "independent")
            assert "1 not ranked by the base" in (tmp_path / "report.html").read_text()
    with pytest.raises(StoreError, match="no fact of mine in common"):
        run(*report, "--measure", "independent")


def test_the_rank_belongs_to_the_measure_that_is_shown(own, tmp_path):
    own(FACTS[3:], "--model", planted(tmp_path / "mine", {2}))
    with open_database(*result_folders()) as db:
        found = result_of(db, "mine", "mine", 10, "independent")
    assert (found.measure, found.k) == ("vocabulary", 10)
