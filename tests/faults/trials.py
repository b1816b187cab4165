"""One trial: tiny inputs, a long command that is disturbed at random moments and called again until it is done, and
what it left.
"""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from probing.kernel.errors import ProbingError
from probing.kernel.files import file_sha256
from probing.kernel.store.parquet import read_table
from tests.faults.warm import Call, WarmParent
from tests.finetuning.task_files import write_conll
from tests.fixtures.commands import WORDS

REGISTRY = """
models = [
  {{ name = "tiny", source = "somewhere/tiny", licence = "MIT" }},
]
data = [
  {{ name = "conll2003", title = "", folder = "conll", licence = "none", files = [
    {{ path = "eng.train" }}, {{ path = "eng.testb" }}] }},
  {{ name = "large", title = "", folder = "large", licence = "none", files = [{files}] }},
]
"""


def make_inputs(folder: Path) -> Path:
    """Models, data sets, facts, texts and a registry that names them."""
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertForMaskedLM(BertConfig(vocab_size=len(WORDS), **size))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    assert model.num_parameters() < 20_000, "tiny is tiny"
    model.save_pretrained(folder / "tiny")
    BertTokenizer(vocab={word: n for n, word in enumerate(WORDS)}, do_lower_case=True).save_pretrained(folder / "tiny")
    write_conll(folder / "conll")
    rng = random.Random(0)
    (folder / "large").mkdir()
    files = []
    for number in range(4):
        path = folder / "large" / f"part-{number}.bin"
        path.write_bytes(rng.randbytes(6_000_000))
        files.append(f'{{ path = "{path.name}", sha256 = "{file_sha256(path)}" }}')
    (folder / "registry.toml").write_text(REGISTRY.format(files=", ".join(files)))
    places = ["France", "Germany", "Italy", *(word.capitalize() for word in WORDS[25:])]
    answers = ["Paris", "Berlin", "Rome", "Boston", "Philadelphia"]
    facts = [
        {
            "subject": place,
            "relation": "capital",
            "object": answer,
            "prompt": f"The capital of {place} and {answers[n - 1]} is [MASK].",
        }
        for place in places
        for n, answer in enumerate(answers)
    ]
    (folder / "facts.jsonl").write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    (folder / "text.txt").write_text(
        "The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 2500
    )
    return folder


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


#: Folders of a place that hold results; the others (checkpoints, shards, states) are work in progress.
RESULTS = (
    "cache/heads",
    "cache/runs",
    "cache/shared",
    "cache/models",
    "cache/downloads",
    "cache/hub/pulled",
    "out",
)
#: When and where a run was made.
OF_THE_MAKING = ["device", "created", "seconds"]
UNREADABLE = "unreadable"


def digests(place: Path) -> dict[str, str]:
    """File -> digest, for every file under a final name below the result folders."""
    found = {}
    for folder in RESULTS:
        for path in sorted((place / folder).rglob("*")):
            name = path.relative_to(place).as_posix()
            parts = path.relative_to(place).parts
            if not path.is_file() or any(
                part.startswith(".") or part.endswith((".tmp", ".part")) or ".tmp" in part for part in parts
            ):
                continue
            # How long a head took differs from run to run.
            if path.suffix == ".pt" or ".partial." in path.name or path.name.startswith("seconds-"):
                continue
            found[name] = _digest(path)
    return found


def _digest(path: Path) -> str:
    try:
        table = path.name.partition("-")[0]
        if table in ("runs", "head_training") and path.suffix == ".parquet":
            rows = read_table(path, table)
            return _of(
                rows.drop_columns([column for column in OF_THE_MAKING if column in rows.column_names]).to_pylist()
            )
        if path.parent.name == "pulled":
            return _of(
                {key: value for key, value in json.loads(path.read_text()).items() if key not in ("from", "commit")}
            )
    except (ProbingError, ValueError):
        return UNREADABLE
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


#: A killed command is killed again at most this often before it is left alone.
MAX_KILLS = 3


@dataclass(frozen=True)
class Undisturbed:
    """What a command leaves behind when nothing happens to it, how long it takes, and in how many steps on the file
    system.
    """

    digests: dict[str, str]
    seconds: float
    steps: int


@dataclass
class Trial:
    """What happened.

    Attributes:
        faults: how often the command was disturbed while it worked.
        losses: what was wrong, in words; none when all is well.
    """

    faults: int = 0
    losses: list[str] = field(default_factory=list)


_KNOWN: dict[tuple[str, Path], Undisturbed] = {}


def undisturbed(command: Command, inputs: Path, warm: WarmParent) -> Undisturbed:
    """Runs the command twice, so that the measured time is that of warm files, and checks that both left the same; once
    a session.
    """
    key = command.name, inputs
    if key not in _KNOWN:
        found = []
        for _ in range(2):
            place = begin(command, inputs, warm)
            done = warm.run(call(command, inputs, place))
            assert done.code == 0, done.said
            found.append(Undisturbed(digests(place), done.seconds, done.steps))
        assert found[0].digests == found[1].digests and found[0].digests, "two undisturbed runs leave the same"
        shutil.copytree(place, _finished(command, inputs))
        _KNOWN[key] = found[1]
    return _KNOWN[key]


def done_already(command: Command, inputs: Path, warm: WarmParent) -> tuple[Path, Undisturbed]:
    """A place in which the command is done, and what it left there."""
    wanted = undisturbed(command, inputs, warm)
    place = begin(command, inputs, warm)
    shutil.rmtree(place)
    shutil.copytree(_finished(command, inputs), place)
    return place, wanted


def _finished(command: Command, inputs: Path) -> Path:
    return inputs.parent / "finished" / command.name


def kill_and_resume(command: Command, inputs: Path, warm: WarmParent, wanted: Undisturbed, rng: random.Random) -> Trial:
    """Kills the command one to three times and then lets it finish.

    Each kill comes before a step uniform over its steps on the file system, or at a moment uniform over the command's
    duration: the moments between two steps are those that can go wrong, and most of the time is spent on computing. The
    first comes before a step, which always meets the command at work.
    """
    place, trial = begin(command, inputs, warm), Trial()
    for number in range(rng.randint(1, MAX_KILLS)):
        at_step = number == 0 or rng.random() < 0.5
        how = (
            {"kill_at_step": rng.randint(1, wanted.steps)}
            if at_step
            else {"kill_after": rng.uniform(0, wanted.seconds)}
        )
        done = warm.run(call(command, inputs, place, **how))
        trial.faults += done.code == -9
        if done.code not in (0, -9):
            trial.losses.append(f"after a kill: exit code {done.code}: {done.said[-500:]}")
        trial.losses += half_files(place, wanted)
    return finish(command, inputs, place, warm, wanted, trial)


def finish(command: Command, inputs: Path, place: Path, warm: WarmParent, wanted: Undisturbed, trial: Trial) -> Trial:
    """Lets the command finish and compares what it leaves with the undisturbed run."""
    done = warm.run(call(command, inputs, place))
    if done.code != 0:
        trial.losses.append(f"cannot go on: exit code {done.code}: {done.said[-500:]}")
    trial.losses += differing(place, wanted)
    return trial


def differing(place: Path, wanted: Undisturbed) -> list[str]:
    """Results that are not those of the undisturbed run, too many or too few."""
    found = digests(place)
    names = sorted(name for name in found | wanted.digests if found.get(name) != wanted.digests.get(name))
    return [f"{name} is not what an undisturbed run leaves" for name in names]


def half_files(place: Path, wanted: Undisturbed) -> list[str]:
    """Files that have a final name and are not whole."""
    return [
        f"{name} has its name and is not whole"
        for name, digest in digests(place).items()
        if digest != wanted.digests.get(name)
    ]
