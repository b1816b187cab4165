"""Models kept ready for questions, within a bound of memory."""

import json
from types import SimpleNamespace

import pytest

from probing.ui.live_models import Choice, Shelf, base_of, described


def make(log: list, name: str, nbytes: int):
    """A maker that notes when it is called."""

    def made():
        log.append(name)
        return SimpleNamespace(name=name, nbytes=nbytes)

    return made


def test_a_whole_family_of_small_models_is_kept():
    shelf, log = Shelf(limit=1000), []
    for _ in range(2):
        for number in range(8):
            shelf.get((number,), make(log, f"model-{number}", 100))
    assert log == [f"model-{number}" for number in range(8)]


def test_the_model_asked_longest_ago_makes_room():
    shelf, log = Shelf(limit=250), []
    for name in ("a", "b", "a", "c", "a", "b"):
        shelf.get((name,), make(log, name, 100))
    assert log == ["a", "b", "c", "b"]


def test_a_large_model_is_kept_alone():
    shelf, log = Shelf(limit=250), []
    shelf.get(("small",), make(log, "small", 100))
    assert shelf.get(("large",), make(log, "large", 900)).name == "large"
    assert list(shelf.kept) == [("large",)]


def test_a_model_that_cannot_be_loaded_leaves_the_others():
    shelf, log = Shelf(limit=250), []
    shelf.get(("a",), make(log, "a", 100))

    def broken():
        raise OSError("gone")

    with pytest.raises(OSError):
        shelf.get(("b",), broken)
    assert shelf.get(("a",), make(log, "a", 100)).name == "a" and log == ["a"]


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
