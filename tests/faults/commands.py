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
    return [
        "train-heads",
        "--model",
        inputs / "tiny",
        "--head",
        "full",
        "--positions",
        4000,
        "--epochs",
        3,
        "--batch",
        64,
        *_learn(inputs),
    ]


def _probe(inputs: Path, place: Path) -> list[object]:
    return [
        "probe",
        "--model",
        inputs / "tiny",
        "--head",
        "logit_lens",
        "--facts",
        inputs / "facts.jsonl",
        "--shard",
        8,
        "--device",
        "cpu",
    ]


def _push(what: str) -> Callable[[Path, Path], list[object]]:
    def words(inputs: Path, place: Path) -> list[object]:
        model = inputs / "tiny" if what == "heads" else "tiny"
        return ["push", what, "--model", model, "--to-folder", place / "out", "--licence", "MIT"]

    return words


def _pull(inputs: Path, place: Path) -> list[object]:
    return ["pull", "--from-folder", place / "out"]


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


def _without_cache(inputs: Path, place: Path) -> list[object]:
    """Not a step of its own: the listing of what there is, before which the cache goes."""
    shutil.rmtree(place / "cache")
    return ["fetch"]


#: In the order of the way of the data.
COMMANDS = {
    command.name: command
    for command in (
        Command("fetch", lambda inputs, place: ["fetch", "large", "tiny", "--from", inputs]),
        Command("finetune", _finetune),
        Command("train-heads", _train_heads),
        Command("probe", _probe),
        Command("push heads", _push("heads"), (_train_heads,)),
        Command("push predictions", _push("predictions"), (_probe,)),
        Command("pull heads", _pull, (_train_heads, _push("heads"), _without_cache)),
        Command("pull predictions", _pull, (_probe, _push("predictions"), _without_cache)),
    )
}
