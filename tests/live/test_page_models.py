"""Models kept ready for questions within a bound of memory, and the spans that are chosen for them."""

import gc
import json
import threading
import weakref
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from streamlit.runtime.scriptrunner import StopException

from probing.changes.minimal_pairs import two_words
from probing.heads.files import HeadIdentity, save_head
from probing.kernel.app.memory import ModelCache
from probing.kernel.models.catalogue import heads_of
from probing.kernel.models.head import fresh_copy
from probing.kernel.questions import Question
from probing.kernel.registry import read_registry
from probing.live import page_live_models as live_models
from probing.live import page_models
from probing.live.page_live_models import Choice, base_of, choices, described
from probing.live.page_spans import changed_spans, hull, replaced
from tests.tiny_models import save


@dataclass(frozen=True)
class Said:
    """An answer in the tests of turns."""

    text: str
    notes: tuple = ()


def make(log: list, name: str, nbytes: int):
    """A maker that notes when it is called."""

    def made():
        log.append(name)
        return SimpleNamespace(name=name, weights={object(): SimpleNamespace(nbytes=nbytes)})

    return made


@pytest.mark.parametrize(
    ("limit", "asked", "loaded", "kept"),
    [(1000, "abcdefgh" * 2, "abcdefgh", "abcdefgh"), (250, "abacab", "abcb", "ab"), (250, "aL", "aL", "L")],
    ids=["a family", "the least recently used is dropped", "a large one alone"],
)
def test_models_are_kept_while_they_fit_together(limit, asked, loaded, kept):
    shelf, log = ModelCache(limit=limit), []
    for name in asked:
        assert shelf.get((name,), make(log, name, 900 if name.isupper() else 100)).name == name
    assert "".join(log) == loaded and "".join(name for (name,) in shelf.kept) == kept


def trained_again(path):
    """Other values in a file of weights, under the same name and in as many bytes."""
    tensors = {name: tensor + torch.randn(tensor.shape) for name, tensor in load_file(path).items()}
    with safe_open(path, "pt") as stream:
        save_file(tensors, path, metadata=stream.metadata())


def write_heads(encoder, folder, scale: float) -> None:
    for layer in range(encoder.layers):
        head = fresh_copy(encoder.head, "tied")
        head.dense.weight.data *= scale
        made = HeadIdentity(
            encoder.name, encoder.weights_id, layer, "tied", "{}", "[[0, 1.0]]", configuration=encoder.configuration
        )
        save_head(head, made, folder)


def asked_in_every_way(choice, head):
    """What a server shows of a sentence with a model, by every cache of answers, and the model that it keeps."""
    words = (Question("paris is in [MASK] .", head, 3, ("rome",)), "paris is in rome .")
    one = live_models.ask(choice, words[0]).layers
    filled = [answer.layers for answer in live_models.fill(choice, words[0])[1]]
    every = live_models.every_token(choice, words[1], head, 3).probabilities.tolist()
    replaced = live_models.replaced(choice, choice, words[0], "last").answer.layers
    pair = page_models.scores(choice, (two_words("paris is in [MASK] .", "rome", "berlin"),)).logp.tolist()
    attention = page_models.attention(choice, None, words[1], "").own.maps.tolist()
    return (one, filled, every, replaced, *((pair, attention) if head == "logit_lens" else ()))


@pytest.mark.parametrize("changed", ["model", "base", "heads", "tokenizer"])
def test_a_folder_that_was_trained_again_is_answered_anew_and_the_old_model_leaves_memory(
    tmp_path, monkeypatch, changed
):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    base, tuned = (save("bert", tmp_path / "models" / name) for name in ("tiny", "mine"))
    if changed == "base":
        body = {name: tensor for name, tensor in load_file(tuned / "model.safetensors").items() if "cls." not in name}
        save_file(body, tuned / "model.safetensors", metadata={"format": "pt"})
        (tuned / "finetuning.json").write_text(json.dumps({"base": "tiny", "objective": "CoLA"}), encoding="utf-8")
    choice, head = choices()["mine"], "tied" if changed == "heads" else "logit_lens"
    encoder = live_models.load(choice, "logit_lens").encoder
    heads = heads_of(encoder, tmp_path)[0] / "tied-seed0"
    write_heads(encoder, heads, 2.0)
    before = asked_in_every_way(choice, head)
    assert asked_in_every_way(choice, head) == before, "it is kept"
    old = weakref.ref(live_models.load(choice, head))
    if changed == "heads":
        write_heads(encoder, heads, 3.0)
    elif changed == "tokenizer":
        text = (tuned / "tokenizer.json").read_text(encoding="utf-8")
        swapped = text.replace('"paris"', '"x"').replace('"rome"', '"paris"').replace('"x"', '"rome"')
        (tuned / "tokenizer.json").write_text(swapped, encoding="utf-8")
    else:
        trained_again((base if changed == "base" else tuned) / "model.safetensors")
    after = asked_in_every_way(choice, head)
    changes = [new != was for new, was in zip(after, before, strict=True)]
    assert changes == [*[True] * (len(after) - 1), changed != "base"], "no attention passes through a base's head"
    gc.collect()
    assert old() is None
    live_models.model_cache().kept.clear()
    live_models.st.cache_data.clear()
    assert asked_in_every_way(choice, head) == after, "as a new server answers"


class Tensor(SimpleNamespace):
    """Unlike a namespace, it can be referred to weakly."""


def test_a_dropped_model_that_refers_to_itself_leaves_memory_at_once():
    shelf, log = ModelCache(limit=250), []
    tensor = Tensor(nbytes=200)
    tensor.own, gone = tensor, weakref.ref(tensor)
    shelf.get(("cycle",), lambda tensor=tensor: SimpleNamespace(weights={0: tensor}))
    del tensor
    shelf.get(("other",), make(log, "other", 200))
    assert gone() is None


def test_weights_that_two_models_share_count_once():
    shelf, shared = ModelCache(limit=250), {"encoder": SimpleNamespace(nbytes=200)}
    for kind in ("logit_lens", "tied", "full"):
        shelf.get((kind,), lambda kind=kind: SimpleNamespace(weights=shared | {kind: SimpleNamespace(nbytes=20)}))
    assert list(shelf.kept) == [("tied",), ("full",)], "200 + 2 x 20 fit, 3 x 20 do not"


def test_who_asks_for_a_model_that_is_kept_does_not_wait_for_one_that_loads():
    shelf, log, loads, go_on, ends = ModelCache(limit=1000), [], threading.Event(), threading.Event(), {}
    shelf.get(("kept",), make(log, "kept", 100))

    def slow():
        loads.set()
        assert go_on.wait(20)
        return make(log, "slow", 100)()

    def get(visitor: str, key: str, maker):
        ends[visitor] = shelf.get((key,), maker)

    visits = [("first", "slow", slow), ("second", "slow", slow), ("third", "other", make(log, "other", 100))]
    threads = [threading.Thread(target=get, args=visit, daemon=True) for visit in visits]
    threads[0].start()
    assert loads.wait(20)
    for thread in threads[1:]:
        thread.start()
    quick = threading.Thread(target=get, args=("quick", "kept", make(log, "again", 100)), daemon=True)
    quick.start()
    quick.join(20)
    assert ends["quick"].name == "kept" and set(ends) == {"quick"}
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert ends["first"] is ends["second"] and sorted(log) == ["kept", "other", "slow"]


def test_a_load_that_fails_lets_the_next_one_try():
    shelf, log = ModelCache(limit=1000), []

    def broken():
        raise OSError("gone")

    with pytest.raises(OSError):
        shelf.get(("a",), broken)
    assert shelf.get(("a",), make(log, "a", 100)).name == "a"


@pytest.fixture()
def hub_cache(tmp_path, monkeypatch):
    """The hub's cache, empty; the function puts files of a model there, as a download does."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))

    def put(entry, *names: str) -> None:
        commit = entry.revision or "c" * 40
        folder = tmp_path / "hub" / f"models--{entry.source.replace('/', '--')}"
        for path in (folder / "refs" / "main", *(folder / "snapshots" / commit / name for name in names)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(commit)

    return put


def test_a_hub_model_is_marked_unless_it_was_fetched_before(hub_cache, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    entry = next(entry for entry in read_registry().models if entry.name == "roberta-base")
    assert not choices()["roberta-base"].here and choices()["roberta-base"].where == "not on this machine"
    hub_cache(entry, "config.json")
    assert not choices()["roberta-base"].here, "no weights"
    hub_cache(entry, "pytorch_model.bin")
    assert choices()["roberta-base"].here and choices()["roberta-base"].called("mine") == "mine (hub)"
    assert choices()["nesia-mini"].here


def test_models_on_this_machine_come_first_and_offline_the_others_are_marked_unavailable(hub_cache, monkeypatch):
    last = [entry for entry in read_registry().models if not entry.shipped and not entry.base][-1]
    hub_cache(last, "config.json", "model.safetensors")
    for offline, words in ((True, "unavailable offline"), (False, "not on this machine")):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
        offered = list(choices().values())
        here = [choice.here for choice in offered]
        assert here == sorted(here, reverse=True) and False in here
        assert last.name in [choice.name for choice in offered if choice.here]
        assert {choice.where for choice in offered if not choice.here} == {words}


def test_a_models_base_is_known_from_the_registry_or_its_folder(tmp_path):
    assert base_of(Choice("nesia-mini", "nesia-mini", "")) == "" and described(Choice("nesia-mini", "nesia-mini", ""))
    folder = tmp_path / "mine"
    folder.mkdir()
    choice = Choice("mine", str(folder), "")
    assert base_of(choice) == "" and not described(choice)
    (folder / "finetuning.json").write_text(json.dumps({"base": "nesia-mini"}), encoding="utf-8")
    assert base_of(choice) == "nesia-mini"
    (folder / "finetuning.json").write_text("[torn", encoding="utf-8")
    assert base_of(choice) == ""


@pytest.fixture
def drawing(monkeypatch):
    """Starts a drawing of a page in a thread of its own: the words of a visitor, the questions that he asks one after
    the other, each of a model; and what came of each question.
    """
    visitors, ends = threading.local(), {}

    def stop():
        # As Streamlit's own does when a page is drawn.
        raise StopException

    monkeypatch.setattr(live_models, "get_script_run_ctx", lambda **_: SimpleNamespace(session_id=visitors.name))
    monkeypatch.setattr(live_models.st, "stop", stop)

    def draw(visitor, prompt, model):
        visitors.name = visitor
        try:
            ends[prompt] = live_models.ask(Choice(model, "nesia-mini", ""), Question(prompt, "logit_lens", 1)).text
        except StopException:
            ends[prompt] = "stopped"

    def start(visitor, prompt, model="of this test"):
        thread = threading.Thread(target=draw, args=(visitor, prompt, model), daemon=True)
        thread.start()
        return thread

    return start, ends


def test_a_newer_run_of_a_page_ends_the_older_one_and_another_user_is_answered(drawing, monkeypatch):
    asked, newer_waits, (start, ends) = threading.Event(), threading.Event(), drawing

    def compute(prompt, *_given, check, pause):
        if prompt == "older":
            asked.set()
            assert newer_waits.wait(20)
        check()
        return Said(f"answer to {prompt}")

    live = SimpleNamespace(encoder=SimpleNamespace(device="a device of this test", notes=()), ask=compute)
    monkeypatch.setattr(live_models, "load", lambda model, head: live)
    older = start("me", "older")
    assert asked.wait(20)
    others = [start("you", "somebody else's"), start("me", "newer")]
    queue = live_models.turns("a device of this test")
    while queue.length < 3 and all(thread.is_alive() for thread in others):
        threading.Event().wait(0.001)
    newer_waits.set()
    for thread in (older, *others):
        thread.join(20)
    assert ends == {"older": "stopped", "newer": "answer to newer", "somebody else's": "answer to somebody else's"}
    assert queue.length == 0
    # What was given up is not kept: asked again by a new drawing it is answered.
    start("me", "older").join(20)
    assert ends["older"] == "answer to older"


def test_a_drawing_that_loads_a_model_meanwhile_is_the_older_one_still(drawing, monkeypatch):
    loads, newer_asked, (start, ends) = threading.Event(), threading.Event(), drawing
    answer = lambda prompt, *_given, check, pause: Said(f"answer to {prompt}")  # noqa: E731
    live = SimpleNamespace(encoder=SimpleNamespace(device="another device", notes=()), ask=answer)

    def load(model, head):
        if model.name == "slow to load":
            loads.set()
            assert newer_asked.wait(20)
        return live

    monkeypatch.setattr(live_models, "load", load)
    older = start("me, loading", "older", "slow to load")
    assert loads.wait(20)
    start("me, loading", "newer, first", "there").join(20)
    newer_asked.set()
    older.join(20)
    start("me, loading", "newer, second", "there").join(20)
    answers = {prompt: f"answer to {prompt}" for prompt in ("newer, first", "newer, second")}
    assert ends == {"older": "stopped", **answers}


SPANS = [(1, 3), (4, 5)]


@pytest.mark.parametrize(
    ("event", "spans"),
    [
        ({"span": 1, "start": 0, "end": 6}, [(0, 6), (4, 5)]),
        ({"span": 2, "start": 2, "end": 3}, [(1, 3), (2, 3)]),
        ({"span": 1}, [(4, 5)]),
        ({"span": 2}, [(1, 3)]),
        ({"swap": True}, [(4, 5), (1, 3)]),
    ],
)
def test_what_the_component_sends_changes_the_spans(event, spans):
    assert changed_spans({"words": 6, **event}, 6, SPANS) == spans


@pytest.mark.parametrize(
    "event",
    [
        None,
        "span",
        [],
        {},
        {"words": 5, "span": 1, "start": 0, "end": 1},
        *(
            {"words": 6, **event}
            for event in (
                {},
                {"span": 0},
                {"span": 4, "start": 0, "end": 1},
                {"span": True, "start": 0, "end": 1},
                {"span": [1]},
                {"span": "1", "start": 0, "end": 1},
                {"span": 1, "start": 0},
                {"span": 1, "start": 3, "end": 3},
                {"span": 1, "start": -1, "end": 2},
                {"span": 1, "start": 0, "end": 7},
                {"span": 1, "start": 0.0, "end": 1.0},
                {"span": 1, "start": True, "end": 2},
                {"span": 1, "start": "<b>", "end": None},
                {"swap": "yes"},
            )
        ),
    ],
)
def test_an_invalid_event_changes_nothing(event):
    assert changed_spans(event, 6, SPANS) is None


def test_a_second_span_needs_a_first_one_and_two_to_change_places():
    assert changed_spans({"words": 6, "span": 2, "start": 0, "end": 1}, 6, []) is None
    assert changed_spans({"words": 6, "swap": True}, 6, [(0, 1)]) is None
    assert changed_spans({"words": 6, "span": 2, "start": 0, "end": 1}, 6, [(3, 4)]) == [(3, 4), (0, 1)]
    assert replaced([], 0, (1, 2)) == replaced([(1, 2)], 1, None) == [(1, 2)]


def test_a_list_of_words_is_the_span_from_first_to_last_and_the_longer_part_if_one_is_removed():
    assert hull([], None) is None and hull([4], None) == (4, 5) and hull([5, 2], (2, 3)) == (2, 6)
    assert hull([1, 2, 4], (1, 5)) == (1, 3) and hull([1, 3, 4], (1, 5)) == (3, 5) and hull([2, 3], (1, 4)) == (2, 4)
