"""The page Ask on a tiny random model: the words of every layer, and a helpful message for every mistake."""

import json
import socket
from dataclasses import replace
from types import SimpleNamespace

import pytest

from probing.kernel.errors import ModelError, PromptError
from probing.kernel.questions import Question
from probing.live import page_live_models as live_models
from probing.live.page_live_models import Choice, every_token
from probing.own_model import run as background
from probing.own_model.run import Wish
from tests.pages.conftest import grids, line_with, link, numbers, words
from tests.tiny_models import LAYERS, save

pytestmark = pytest.mark.usefixtures("unfolded")

PARIS = "Paris is in [MASK]."
TOP = 20


@pytest.fixture
def ask(visit, tmp_path):
    """Opens the page with a prompt for the tiny model."""
    save("bert", tmp_path / "cache" / "models" / "tiny")

    def asked(prompt: str = PARIS, **query):
        return visit("ask", "empty", {"live_model": "tiny", "prompt": prompt, **query})

    return asked


@pytest.fixture
def family(tmp_path, monkeypatch):
    """A tiny base, a model fine-tuned from it whose first and last layer changed, and a model that nobody has
    described.
    """
    import torch
    from safetensors.torch import load_file, save_file

    models = tmp_path / "cache" / "models"
    save("bert", models / "tiny")
    tuned, stranger = save("bert", models / "tiny-tuned"), save("bert", tmp_path / "stranger")
    for folder, places in ((tuned, ("layer.0.", f"layer.{LAYERS - 1}.")), (stranger, ("layer.1.",))):
        weights = load_file(folder / "model.safetensors")
        generator = torch.Generator().manual_seed(5)
        for name in weights:
            if any(place in name for place in places):
                weights[name] = torch.randn(weights[name].shape, generator=generator)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (tuned / "finetuning.json").write_text(json.dumps({"base": "tiny", "objective": "QA-SQuAD-1"}), encoding="utf-8")
    monkeypatch.setenv("PROBING_MODELS", str(stranger))


@pytest.fixture
def no_network(monkeypatch) -> list:
    """Connections that were tried; none is made."""
    tried = []

    def refuse(self, address):
        tried.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address, **_: refuse(None, address))
    return tried


def lines(app) -> dict[str, dict]:
    """Name -> line of the figure of followed words."""
    (chart,) = app.get("plotly_chart")
    return {trace["name"]: trace for trace in json.loads(chart.proto.spec)["data"] if "name" in trace}


def best(grid: dict) -> list[str]:
    """The best word of each layer, from the last to the first."""
    return [row["tokens"][0]["word"] for row in grid["layers"]]


def asked_of(model: str, prompt: str = PARIS, watch: tuple[str, ...] = ("france",), pieces: int | None = None):
    return live_models.ask(live_models.choices()[model], Question(prompt, "logit_lens", 10, watch, pieces=pieces))


def test_grids_ranks_and_the_sentence_are_what_the_models_answer(ask, family):
    app = ask(watch="france, berlin", live_models=["tiny-tuned", "stranger"])
    assert not app.exception and not app.warning
    found = [asked_of(model) for model in ("tiny", "tiny-tuned", "stranger")]
    assert [grid["model"] for grid in grids(app)] == ["tiny", "tiny-tuned", "stranger"]
    for grid, answer in zip(grids(app), found, strict=True):
        assert best(grid) == [one.tokens[0].token for one in reversed(answer.layers)]
        assert [row["rank"] for row in grid["layers"]] == [one.watched[0].rank for one in reversed(answer.layers)]
    assert any(
        "tiny says **france** at" in text.value and "; tiny\\-tuned says it at" in text.value for text in app.markdown
    )
    assert set(lines(app)) == {
        f"{word} · {model}" for word in ("france", "berlin") for model in ("tiny", "tiny-tuned", "stranger")
    }
    assert "Computed on the CPU." in words(app) and link(app, "live_models") == ["tiny-tuned", "stranger"]


def test_rank_probability_and_entropy_are_scales_of_one_figure(ask):
    app, answer = ask(watch="france"), asked_of("tiny")
    wanted = {
        "rank": [one.watched[0].rank for one in answer.layers],
        "probability": [100 * one.watched[0].probability for one in answer.layers],
        "entropy": [one.entropy for one in answer.layers],
    }
    for scale, values in wanted.items():
        app.segmented_control(key="ask.scale").set_value(scale).run()
        assert numbers(lines(app)["tiny"]["y"]) == pytest.approx(values)


def test_a_sentence_nobody_knows_follows_what_the_first_model_says_at_the_end(ask):
    app = ask()
    word = grids(app)[0]["layers"][0]["tokens"][0]["word"]
    assert grids(app)[0]["layers"][0]["rank"] == 1 and any(
        f"tiny says **{word}** at" in text.value.replace("\\", "") for text in app.markdown
    )


def test_a_followed_phrase_and_a_gap_of_several_pieces_have_their_measures(ask, family, pauses):
    phrase, both = "one two three", {"live_models": "tiny-tuned", "scale": "probability"}
    app = ask(watch=f"{phrase}, france", replaced="last", perturbation="negated", **both)
    found = {model: asked_of(model, watch=(phrase, "france")) for model in ("tiny", "tiny-tuned")}
    assert not app.exception and not app.warning and len(grids(app)) == 5 and "pieces" not in app.query_params
    for grid, answer in zip(grids(app), found.values(), strict=False):
        assert best(grid) == [one.tokens[0].token for one in reversed(answer.layers)]
        assert [row["rank"] for row in grid["layers"]] == [one.watched[0].rank for one in reversed(answer.layers)]
    assert phrase in line_with(app, "masked") and len(pauses) >= 2 * 3
    app = ask(watch=f"france, {phrase}, {'one ' * 6}", pieces="2", **both)
    shown = lines(app)[f"{phrase} · tiny"]["y"]
    assert numbers(shown) == pytest.approx([100 * one.watched[0].probability for one in found["tiny"].layers])
    assert link(app, "pieces") == "2" and "one one" in words(app)
    assert best(grids(app)[0]) == [one.tokens[0].token for one in reversed(asked_of("tiny", pieces=2).layers)]
    several = ask("[MASK] is the capital of [MASK].", mask="0", pieces="2", watch="", **both)
    assert not several.exception and len(several.info) == 2 and "one piece" in words(several)
    app = ask(pieces="2", watch="", **both)
    first = best(grids(app)[0])[0]
    assert line_with(app, first) and not app.get("plotly_chart")


def test_several_gaps_are_read_one_by_one_or_filled(ask, family, pauses):
    both = "[MASK] is the capital of [MASK]."
    app = ask(both, mask="2", live_models="-")
    assert not app.exception and len(grids(app)) == 1 and not app.info
    filled = ask(both, mask="0", live_models="-")
    assert not filled.exception and len(pauses) == 2, "another user's question waits for one gap"
    assert filled.segmented_control(key="ask.gap").options == ["1", "2"] and "MASK" not in filled.info[0].value
    assert len(ask(both, mask="0", live_models="tiny-tuned").info) == 2
    many = ask("[MASK] " * (live_models.MAX_FILLED + 1), mask="0", live_models="-")
    assert not many.exception and not many.info and grids(many)
    with pytest.raises(PromptError, match="33 gaps"):
        live_models.fill(live_models.choices()["tiny"], Question("[MASK] " * 33, "logit_lens"))


def test_a_prompt_that_cannot_be_asked_gets_one_helpful_answer(ask, family):
    app = ask("paris " * 600 + "[MASK]", live_models=["tiny-tuned", "stranger"])
    assert not app.exception and "word pieces" in app.warning[0].value
    assert len({one.value for one in app.warning}) == len(app.warning)


def test_missing_heads_are_named_and_the_lens_is_offered(ask):
    app = ask(live_head="tied")
    assert not app.exception and "train\\-heads" in app.warning[0].value
    next(button for button in app.button if button.key.startswith("ask.lens.")).click().run()
    assert grids(app) and link(app, "live_head") is None


def test_only_models_of_this_machine_are_offered_and_a_link_loads_no_other(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_MODELS", str(save("distilbert", tmp_path / "mine")))
    app = ask(live_model=str(save("bert", tmp_path / "elsewhere")))
    menu = app.selectbox(key="ask.live_model")
    assert menu.value != str(tmp_path / "elsewhere") and any("elsewhere" in note.value for note in app.info)
    assert (
        not [one for one in menu.options if "roberta" in one or "unavailable" in one] and "mine (local)" in menu.options
    )
    assert grids(ask(live_model="mine"))[0]["model"] == "mine"
    odd = ask(live_model="atlantis", live_head="full-and-more", live_models=["tiny", "nobody"])
    said = "".join(note.value for note in odd.info)
    assert (
        not odd.exception
        and "atlantis" in said
        and "nobody" in said
        and "live\\_head" in said.replace("`live_head`", "live\\_head")
    )


def test_the_models_of_own_runs_are_offered(ask, headless, monkeypatch):
    wish = Wish(
        model=str(headless),
        base=str(headless.parent / "cache" / "models" / "tiny"),
        facts="f.csv",
        called="mine",
        name="legal",
    )
    assert background.own_runs() == []
    monkeypatch.setattr(background, "own_runs", lambda: [SimpleNamespace(state=SimpleNamespace(wish=wish))])
    app = ask(live_model="legal", live_models="-", watch="france")
    assert not app.exception and best(grids(app)[0]) == best(grids(ask(live_models="-", watch="france"))[0])


@pytest.mark.parametrize(
    ("perturbation", "expected", "more"),
    [
        ("misprimed", r"London? Rocky Balboa was born in \[MASK\]", {"prime": "london"}),
        ("truncated", r"> in \[MASK\]\.", {"keep_words": "1"}),
        ("renamed", r"Zoë was born in \[MASK\]", {"other_name": "Zoë"}),
        ("shuffled", "5 words in another order \\(seed 3\\)", {"shuffle_seed": "3"}),
    ],
)
def test_a_changed_sentence_has_its_own_grid_and_a_dotted_line(ask, perturbation, expected, more):
    app = ask("Rocky Balboa was born in [MASK].", perturbation=perturbation, watch="paris", **more)
    assert not app.exception and not app.warning and expected in words(app) and len(grids(app)) == 2
    assert {name: one["line"]["dash"] for name, one in lines(app).items()} == {"tiny": "solid", "tiny · changed": "dot"}
    assert link(app, "perturbation") == perturbation


def test_layers_are_put_back_one_by_one_and_returning_answers_are_dated(ask, family):
    app = ask(live_model="tiny-tuned", replaced="last", watch="france")
    assert not app.exception and not app.warning
    assert [grid["model"] for grid in grids(app)] == ["tiny", "tiny-tuned", "tiny-tuned"], "the base comes first"
    layers = {row["layer"]: row for row in grids(app)[-1]["layers"]}
    # Layer 2 is the base's already: putting back the last layer or the last two is the same.
    assert set(layers) == set(range(LAYERS + 1)) and layers[1]["tokens"] == layers[2]["tokens"]
    choices = live_models.choices()
    words_of = asked_of("tiny").layers[-1].tokens[0].token
    got = live_models.replaced(
        choices["tiny-tuned"], choices["tiny"], Question(PARIS, "logit_lens", 10, (words_of, "france")), "last"
    )
    assert [row["rank"] for row in reversed(grids(app)[-1]["layers"])] == [
        one.watched[0].rank for one in got.answer.layers
    ]


def test_the_base_of_a_stranger_can_be_named_and_must_fit(ask, family, tmp_path):
    app = ask(live_model="stranger", live_models="-", replaced="last", watch="france")
    assert app.selectbox(key="ask.live_base").value == "" and len(grids(app)) == 1
    app.selectbox(key="ask.live_base").set_value("tiny").run()
    assert not app.exception and grids(app)[-1]["note"] == "the last n layers from tiny"
    save("distilbert", tmp_path / "cache" / "models" / "other")
    app = ask(live_model="stranger", live_models="-", live_base="other", replaced="last")
    assert not app.exception and any("do not fit" in warning.value for warning in app.warning)


@pytest.mark.parametrize(
    "query", [{"live_model": "roberta-base"}, {"live_models": "roberta-base"}, {"live_base": "roberta-base"}]
)
def test_a_link_makes_the_server_ask_no_hub(ask, family, no_network, monkeypatch, query):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    app = ask(**({"live_model": "stranger", "replaced": "last"} | query))
    assert not app.exception and not no_network
    if "live_base" in query:
        return
    loads = []

    def load(choice, head, fetch=False):
        loads.append((choice.name, fetch))
        raise ModelError("the hub was asked")

    monkeypatch.setattr(live_models, "load", load)
    next(button for button in app.button if "Hugging Face hub" in button.label).click().run()
    assert ("roberta-base", True) in loads and any("the hub was asked" in one.value for one in app.warning)
    loads.clear()
    app.run()
    assert ("roberta-base", True) not in loads, "a download is tried once for each press"


def test_a_model_of_the_hub_is_offered_in_its_own_menu_unless_this_server_is_offline(ask, no_network, monkeypatch):
    app = ask(live_model="roberta-base")
    assert (
        not app.exception
        and not app.warning
        and any("does not use the Hugging Face hub" in note.value for note in app.info)
    )
    assert not [one for one in app.selectbox if one.key == "ask.fetch"]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    app = ask()
    app.selectbox(key="ask.fetch").set_value("roberta-base").run()
    assert link(app, "live_model") == "roberta-base" and not no_network and not grids(app)


def test_what_is_loaded_without_a_press_is_loaded_from_this_machine_only(no_network, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    choice = live_models.choices()["roberta-base"]
    with pytest.raises(ModelError, match="not on this machine"):
        live_models.load(choice, "logit_lens")
    # Also if it was in the hub's cache and has vanished when it is loaded.
    with pytest.raises(ModelError, match="FacebookAI/roberta-base"):
        live_models.load(replace(choice, here=True), "logit_lens")
    assert not no_network


def test_the_base_of_a_model_without_a_head_is_chosen_on_the_page_and_kept_in_the_link(ask, headless, monkeypatch):
    monkeypatch.setenv("PROBING_MODELS", str(headless))
    app = ask(live_model="classifier", watch="france")
    assert not app.exception and not app.warning and not grids(app) and "--base" not in words(app)
    menu = app.selectbox(key="ask.live_base")
    assert {"tiny", "nesia-mini"} <= set(menu.proto.options) and "classifier" not in menu.proto.options
    menu.set_value("tiny").run()
    assert not app.exception and link(app, "live_base") == "tiny"
    assert best(grids(app)[0]) == best(grids(ask(watch="france"))[0])
    other = ask(live_model="classifier", live_base="nesia-mini")
    assert not other.exception and other.warning, "a base that does not fit is a message"
    app.selectbox(key="ask.live_model").set_value("nesia-mini").run()
    assert link(app, "live_base") is None, "a base is named for one model only"


@pytest.fixture
def every(ask, tmp_path):
    """Opens the tab of all tokens, and what the engine answers."""
    text = "Rocky Balboa was born in Philadelphia."
    answer = every_token(Choice("tiny", str(save("bert", tmp_path / "other")), "local"), text, "logit_lens", TOP)
    return lambda prompt=text, **query: ask(prompt, ask_view="tokens", **query), answer


def test_every_cell_has_the_best_token_of_its_layer_and_token(every):
    look, answer = every
    (table,) = [one.value for one in look().dataframe]
    assert list(table.columns) == ["token", *(f"layer {layer}" for layer in range(LAYERS + 1))]
    assert list(table["token"]) == list(answer.pieces)
    for layer in range(LAYERS + 1):
        assert list(table[f"layer {layer}"]) == [answer.words[one] for one in answer.ids[layer, :, 0]]


def test_a_link_opens_a_cell_with_its_twenty_best_tokens_and_a_cell_that_does_not_exist_is_named(every):
    look, answer = every
    _, cell = (one.value for one in look(cell=f"{LAYERS}-2").dataframe)
    assert list(cell["token"]) == [answer.words[one] for one in answer.ids[LAYERS, 2]] and len(cell) == TOP
    assert list(cell["probability"]) == pytest.approx(answer.probabilities[LAYERS, 2].tolist(), abs=1e-6)
    for wrong in (f"{LAYERS + 1}-0", f"0-{len(answer.pieces)}", "a-b"):
        app = look(cell=wrong)
        assert (
            not app.exception
            and len(app.dataframe) == 1
            and any(wrong in one.value.replace("\\", "") for one in app.info)
        )


def test_a_state_is_swapped_and_words_are_hidden_by_click(visit, tmp_path):
    save("bert", tmp_path / "cache" / "models" / "tiny")
    sentences = {"prompt": "paris is in [MASK].", "swap_into": "rome is in [MASK]."}
    app = visit("ask", "empty", {"live_model": "tiny", "ask_view": "swap", **sentences})
    assert not app.exception and len(grids(app)) == 1
    assert "from layer" in words(app) or "Both sentences say" in words(app)
    app.pills(key="ask.hidden_words").select("rome").run()
    assert not app.exception and len(grids(app)) == 2 and "does not see these words" in words(app)
    app.text_input(key="ask.prompt").set_value("no gap here").run()
    assert not app.exception and "no [MASK]" in words(app).replace("\\", "")
