"""``train-heads`` without settings: the usual start, and the recipe of existing heads."""

import json

import pytest

from probing.facts.stored_run import _of_the_logit_lens
from probing.heads import train as training
from probing.heads.files import head_path, read_identity
from probing.heads.recipe import FROM_LEAST_SQUARES, VERSION, HeadRecipe
from probing.kernel.errors import HeadError

SENTENCE = "The capital of France is Paris and the sun is red and the moon is blue in the city .\n"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(SENTENCE * 1800)
    return path


@pytest.fixture()
def train(run, cache, tiny_model, text, tmp_path):
    """Calls ``train-heads`` on the tiny model and small text."""

    def call(*words):
        return run("train-heads", "--model", tiny_model, "--text", text, "--valid", text, *words)

    return call


def said(path):
    return HeadRecipe(**json.loads(read_identity(path).recipe))


def heads_in(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("layer-*.safetensors"))}


@pytest.mark.parametrize("kind", ["tied", "full"])
def test_an_empty_folder_gets_a_hundred_steps_from_the_map(train, cache, kind):
    output = train("--head", kind, "--positions", 200, "--batch", 32).output
    assert "(first 1,024 positions)" in output and "use the recipe" not in output
    for path in heads_in(cache / "heads"):
        recipe = said(path)
        assert (recipe.start, recipe.steps, recipe.start_positions, recipe.version) == (
            FROM_LEAST_SQUARES,
            100,
            1024,
            VERSION,
        )
    before = heads_in(cache / "heads")
    assert "use the recipe" not in train("--head", kind, "--positions", 200, "--batch", 32).output
    assert heads_in(cache / "heads") == before


def test_what_is_asked_for_decides_what_is_usual_beside_it(train, tmp_path):
    wanted = {
        ("--epochs", 1): (FROM_LEAST_SQUARES, 0, 1),
        ("--start", "pretrained"): ("pre-trained", 0, 3),
        ("--steps", 5): (FROM_LEAST_SQUARES, 5, 3),
    }
    for number, (words, expected) in enumerate(wanted.items()):
        train("--positions", 200, "--batch", 128, *words, "--out", tmp_path / str(number))
        recipe = said(head_path(tmp_path / str(number), 0))
        assert (recipe.start, recipe.steps, recipe.epochs) == expected


def test_heads_of_the_earlier_usual_recipe_go_on_by_it(train, cache):
    train("--positions", 200, "--start", "pretrained", "--epochs", 3)
    before = heads_in(cache / "heads")
    lost = sorted(before)[1]
    lost.unlink()
    output = train("--positions", 200).output
    assert (
        "use the recipe of those in" in output
        and "start pre-trained" in output
        and "usual: start least-squares" in output
    )
    assert heads_in(cache / "heads") == before
    assert "use the recipe" in train("--positions", 200, "--epochs", 3).output, (
        "the existing heads have the given settings"
    )


def test_heads_of_the_first_version_are_trained_on_request_and_gone_on_with(train, cache):
    train("--positions", 200, "--steps", 3, "--recipe-version", 1)
    before = heads_in(cache / "heads")
    assert all("version" not in json.loads(read_identity(path).recipe) for path in before)
    lost = sorted(before)[1]
    lost.unlink()
    assert "version 1 (usual: version 2)" in train("--positions", 200, "--steps", 3).output
    assert heads_in(cache / "heads") == before


def test_an_unfinished_head_goes_on_by_its_own_recipe(train, cache, monkeypatch):
    taken = []

    def killed(*_):
        taken.append(1)
        if len(taken) == 3:
            raise KeyboardInterrupt
        return original(*_)

    original = training.HeadStep.take
    monkeypatch.setattr(training.HeadStep, "take", killed)
    words = ("--positions", 200, "--batch", 32, "--validate-every", 1)
    with pytest.raises((KeyboardInterrupt, SystemExit, AssertionError)):
        train(*words, "--start", "pretrained", "--epochs", 1)
    assert not heads_in(cache / "heads") and list((cache / "heads").rglob("*.partial.sealed"))
    monkeypatch.undo()
    monkeypatch.setenv("PROBING_CACHE", str(cache))
    assert "use the recipe" in train(*words).output
    assert {(said(path).start, said(path).epochs) for path in heads_in(cache / "heads")} == {("pre-trained", 1)}


def test_another_recipe_and_another_text_that_are_asked_for_are_refused_where_heads_lie(
    train, run, cache, tiny_model, text, tmp_path
):
    train("--positions", 200, "--start", "pretrained", "--epochs", 1)
    before = heads_in(cache / "heads")
    for words in (("--start", "least-squares"), ("--steps", 7), ("--epochs", 2), ("--rate", 0.01)):
        with pytest.raises(HeadError, match="trained by another recipe"):
            train("--positions", 200, *words)
    other = tmp_path / "other.txt"
    other.write_text(SENTENCE * 1700)
    with pytest.raises(HeadError, match="trained by another recipe"):
        run("train-heads", "--model", tiny_model, "--positions", 200, "--text", other, "--valid", text)
    assert heads_in(cache / "heads") == before


def test_a_replicate_is_trained_as_the_heads_that_it_is_read_beside(train, cache):
    train("--positions", 200, "--start", "pretrained", "--epochs", 1)
    assert "use the recipe" in train("--positions", 200, "--seed", 1).output
    (replicate,) = [path for path in heads_in(cache / "heads") if "seed1" in str(path)]
    assert (said(replicate).start, said(replicate).epochs, said(replicate).seed) == ("pre-trained", 1, 1)


def test_the_loss_of_the_logit_lens_is_stored_only_where_it_was_measured_on_all_positions():
    whole = {"start": 4.0, "logit_lens": 5.0, "map": 4.0}
    assert _of_the_logit_lens(whole, False) == 5.0
    assert _of_the_logit_lens(whole | {"positions": 16}, False) is None, (
        "the map was taken, so the lens was measured on some alone"
    )
    assert _of_the_logit_lens({"start": 4.4, "logit_lens": 4.0, "map": 5.0, "positions": 16}, False) == 4.4
    assert _of_the_logit_lens({"start": 4.4}, False) == 4.4 and _of_the_logit_lens({"start": 4.4}, True) is None
