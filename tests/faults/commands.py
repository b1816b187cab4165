"""Every long command as a trial sees it: a command line, and what must be there before it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.warm import Call, WarmParent


@dataclass(frozen=True)
class Command:
    """A long command.

    Attributes:
        name: as the report calls it.
        words: the command line, from the inputs' folder and the trial's own.
        before: command lines whose results it begins with.
    """

    name: str
    words: Callable[[Path, Path], list[object]]
    before: tuple[Callable[[Path, Path], list[object]], ...] = field(default=())


def environment(inputs: Path, place: Path) -> dict[str, str]:
    """Points the program to a trial's own folders."""
    return {
        "PROBING_CACHE": str(place / "cache"),
        "PROBING_SNAPSHOT": str(place / "no-snapshot"),
        "PROBING_REGISTRY": str(inputs / "registry.toml"),
    }


def call(command: Command, inputs: Path, place: Path, **how) -> Call:
    """The command as a call in a place."""
    return Call([str(word) for word in command.words(inputs, place)], environment(inputs, place), **how)


def begin(command: Command, inputs: Path, warm: WarmParent) -> Path:
    """A fresh place in which the command can begin; what comes before is made once and copied.

    It is always the same folder, for some results name it.
    """
    ready, place = inputs.parent / "ready" / command.name, inputs.parent / "place"
    shutil.rmtree(place, ignore_errors=True)
    if not ready.is_dir():
        place.mkdir()
        for words in command.before:
            done = warm.run(Call([str(word) for word in words(inputs, place)], environment(inputs, place)))
            assert done.code == 0, done.said
        ready.parent.mkdir(exist_ok=True)
        place.replace(ready)
    shutil.copytree(ready, place)
    return place


def _learn(inputs: Path) -> list[object]:
    return ["--text", inputs / "text.txt", "--valid", inputs / "text.txt", "--device", "cpu"]


def _train_heads(inputs: Path, place: Path) -> list[object]:
    return ["train-heads", "--model", inputs / "tiny", "--head", "full", "--positions", 4000, "--epochs", 3, "--batch", 64, *_learn(inputs)]


def _probe(inputs: Path, place: Path) -> list[object]:
    return ["probe", "--model", inputs / "tiny", "--head", "logit_lens", "--facts", inputs / "facts.jsonl", "--shard", 8, "--device", "cpu"]


def _push(what: str) -> Callable[[Path, Path], list[object]]:
    def words(inputs: Path, place: Path) -> list[object]:
        model = inputs / "tiny" if what == "heads" else "tiny"
        return ["push", what, "--model", model, "--to-folder", place / "out", "--licence", "MIT"]

    return words


def _pull(inputs: Path, place: Path) -> list[object]:
    return ["pull", "--from-folder", place / "out"]


def _reproduce(inputs: Path, place: Path) -> list[object]:
    given = {
        "--family": "tiny",
        "--heads": "tied,logit_lens",
        "--facts": inputs / "lama",
        "--from": inputs,
        "--text": inputs / "text.txt",
        "--valid": inputs / "text.txt",
        "--steps": 30,
        "--tokens": 300,
        "--pieces": 48,
        "--positions": 200,
        "--epochs": 1,
        "--device": "cpu",
        "--out": place / "out",
    }
    return ["reproduce", *(part for pair in given.items() for part in pair)]


def _pretrain(inputs: Path, place: Path) -> list[object]:
    given = {
        "--lama": inputs / "lama",
        "--wikitext": inputs / "text.txt",
        "--out": place / "out" / "made",
        "--steps": 310,
        "--layers": 1,
        "--hidden": 64,
        "--vocabulary": 400,
        "--work": place / "cache" / "pretrain",
    }
    return ["pretrain", *(part for pair in given.items() for part in pair)]


def _finetune(inputs: Path, place: Path) -> list[object]:
    given = {
        "--model": inputs / "tiny",
        "--objective": "ner-conll",
        "--data": inputs / "conll",
        "--steps": 210,
        "--tokens": 60,
        "--pieces": 32,
        "--device": "cpu",
    }
    return ["finetune", *(part for pair in given.items() for part in pair)]


def _forget(*names: str) -> Callable[[Path, Path], list[object]]:
    """Not a step of its own: the listing of what there is, before which files or folders go."""

    def words(inputs: Path, place: Path) -> list[object]:
        for name in names:
            if (place / name).is_dir():
                shutil.rmtree(place / name)
            else:
                (place / name).unlink()
        return ["fetch"]

    return words


#: In the order of the way of the data.
COMMANDS = {
    command.name: command
    for command in (
        Command("fetch", lambda inputs, place: ["fetch", "large", "tiny", "--from", inputs]),
        # The vocabulary is there: of equally frequent pieces the tokenizers library learns others at every call.
        Command("pretrain", _pretrain, (_pretrain, _forget("out", "cache/pretrain/made/checkpoint.pt"))),
        Command("finetune", _finetune),
        Command("train-heads", _train_heads),
        Command("probe", _probe),
        Command("reproduce", _reproduce),
        Command("push heads", _push("heads"), (_train_heads,)),
        Command("push predictions", _push("predictions"), (_probe,)),
        Command("pull heads", _pull, (_train_heads, _push("heads"), _forget("cache"))),
        Command("pull predictions", _pull, (_probe, _push("predictions"), _forget("cache"))),
    )
}
