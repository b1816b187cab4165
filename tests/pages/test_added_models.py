"""A user's own model: it is asked without trained heads, and once probed it appears next to the demonstration models."""

import json

import pytest

from probing.core.facts.fact import Fact
from probing.core.registry import read_registry
from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import opening
from tests.store.planted import PlantedRun, plant_runs

pytestmark = pytest.mark.usefixtures("unfolded")

MINE = "support-bert"
FACTS = tuple(
    Fact("support", "sells", subject, answer, "", f"{subject} sells [MASK].")
    for subject, answer in (("Spring", "water"), ("Radio", "music"))
)


def shipped() -> list[str]:
    return [entry.name for entry in read_registry().models if entry.shipped]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    """All shipped models, and one more that only its base shares a probe set with."""
    assert len(shipped()) >= 8, "they fill the default of an overview"
    runs = [PlantedRun(model=name, base="" if name == "nesia-mini" else "nesia-mini") for name in shipped()]
    own = {"head": "logit_lens", "probe_set": "support", "facts": FACTS}
    runs += [PlantedRun(**own), PlantedRun(model=MINE, base="nesia-mini", objective="support", **own)]
    return plant_runs(tmp_path_factory.mktemp("added"), runs)


@pytest.fixture
def look(snapshot, tmp_path, monkeypatch):
    return opening(snapshot, tmp_path / "cache", monkeypatch)


def lines(app) -> set[str]:
    """Names of the curves of a page's first figure."""
    return {one["name"] for one in json.loads(app.get("plotly_chart")[0].proto.spec)["data"] if one.get("mode") == "lines+markers"}


def test_it_is_among_the_models_that_layer_curves_shows_at_first_and_has_a_line(look):
    app = look("layers")
    assert not app.exception
    assert MINE in app.multiselect(key="layers.models").value
    assert any(MINE in name for name in lines(app)) and len(lines(app)) <= 8
    axes = {one.get("yaxis", "y") for one in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]}
    assert len(axes) == 2 and app.toggle(key="layers.panels").disabled, "facts of the user have a panel of theirs"


def test_its_probe_set_alone_shows_it_with_its_base(look):
    app = look("layers", probe_sets="support")
    assert not app.exception
    assert app.multiselect(key="layers.models").value == ["nesia-mini", MINE]
    assert {name.split()[0] for name in lines(app)} == {"nesia-mini", MINE}
    assert not app.toggle(key="layers.panels").disabled


@pytest.fixture
def own_model(tmp_path):
    """A model of the menu without trained heads."""
    return save("bert", tmp_path / "cache" / "models" / "mine").name


def ranks(app) -> list[list[int]]:
    """The ranks of the user's own facts by layer."""
    table = next(one.value for one in app.dataframe if "L0" in one.value.columns)
    return table[[f"L{layer}" for layer in range(LAYERS + 1)]].values.tolist()


def test_own_facts_are_asked_of_a_model_without_trained_heads_through_its_own_output_layer(visit, own_model):
    content = b"Question;Answer\nThe capital of France is ___.;Paris\nParis has no gap.;Paris\n"
    app = visit("facts", query={"facts_tab": "own"})
    app.selectbox(key="facts.live_model").set_value(own_model)
    app.file_uploader(key="own.file").set_value(("mine.csv", content, "text/csv"))
    app.run()
    (read,) = [one.value.replace("\\", "") for one in app.markdown if "Read as" in one.value]
    assert "semicolons" in read and "object = Answer, prompt = Question" in read and "no subject, relation" in read
    assert "1 left out: not exactly one mask" in read
    app.button(key="own.ask").click().run()
    assert not app.exception and not app.warning
    assert app.selectbox(key="facts.own_head").value == "logit_lens" and min(ranks(app)[0]) >= 1
