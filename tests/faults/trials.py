"""One trial: tiny inputs, a long command that is disturbed at random moments and called again until it is done, and
what it left.
"""

import hashlib
import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from probing.kernel.errors import ProbingError
from probing.kernel.files import file_sha256
from probing.kernel.store.columns import TABLES
from probing.kernel.store.parquet import read_table, table_of
from tests.faults.warm import Call, WarmParent
from tests.finetuning.task_files import write_conll
from tests.fixtures.commands import WORDS

REGISTRY = """
models = [
  {{ name = "tiny", source = "somewhere/tiny", licence = "MIT" }},
  {{ name = "bert-base-uncased", source = "somewhere/bert", licence = "MIT" }},
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
        {"subject": place, "relation": "capital", "object": answer}
        | {"prompt": f"The capital of {place} and {answers[n - 1]} is [MASK]."}
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
    """A long command: its name, its words with ``INPUTS`` and ``PLACE`` for the inputs' folder and the trial's own, and
    the commands whose results it begins with.
    """

    name: str
    words: str
    before: tuple[str, ...] = ()

    def call(self, inputs: Path, place: Path, **how) -> Call:
        """The command as a call in a place."""
        return _call(self.words, inputs, place, **how)


def _call(words: str, inputs: Path, place: Path, **how) -> Call:
    places = {"CACHE": place / "cache", "SNAPSHOT": place / "no-snapshot", "REGISTRY": inputs / "registry.toml"}
    environment = {f"PROBING_{name}": str(path) for name, path in places.items()}
    environment["HF_HUB_CACHE"] = str(inputs / "hub")
    return Call(words.replace("INPUTS", str(inputs)).replace("PLACE", str(place)).split(), environment, **how)


def begin(command: Command, inputs: Path, warm: WarmParent) -> Path:
    """A fresh place in which the command can begin; what comes before is made once and copied.

    It is always the same folder, for some results name it.
    """
    ready, place = inputs.parent / "ready" / command.name, inputs.parent / "place"
    shutil.rmtree(place, ignore_errors=True)
    if not ready.is_dir():
        if (inputs / "laid").is_dir():
            shutil.copytree(inputs / "laid", place)
        place.mkdir(exist_ok=True)
        for words in command.before:
            done = warm.run(_call(words, inputs, place))
            assert done.code == 0, done.said
        if command.words == _PULL:
            shutil.rmtree(place / "cache")
        ready.parent.mkdir(exist_ok=True)
        place.replace(ready)
    shutil.copytree(ready, place)
    return place


_HEADS = (
    "train-heads --model INPUTS/tiny --head full --positions 4000 --epochs 3 --batch 64 --text INPUTS/text.txt"
    " --valid INPUTS/text.txt --device cpu"
)
_PROBE = "probe --model INPUTS/tiny --head logit_lens --facts INPUTS/facts.jsonl --shard 8 --device cpu"
_FINETUNE = (
    "finetune --model INPUTS/tiny --objective ner-conll --data INPUTS/conll --steps 210 --tokens 60 --pieces 32"
    " --device cpu"
)
_PUSH_HEADS = "push heads --model INPUTS/tiny --to-folder PLACE/out --licence MIT"
_PUSH = "push predictions --model tiny --to-folder PLACE/out --licence MIT"
_PULL = "pull --from-folder PLACE/out"
#: In the order of the way of the data.
COMMANDS = {
    command.name: command
    for command in (
        Command("fetch", "fetch large tiny --from INPUTS"),
        Command("finetune", _FINETUNE),
        Command("train-heads", _HEADS),
        Command("probe", _PROBE),
        Command("push heads", _PUSH_HEADS, (_HEADS,)),
        Command("push predictions", _PUSH, (_PROBE,)),
        Command("pull heads", _PULL, (_HEADS, _PUSH_HEADS)),
        Command("pull predictions", _PULL, (_PROBE, _PUSH)),
    )
}


#: Folders of a place that hold results; the others (checkpoints, shards, states) are work in progress.
_HERE = ("heads", "edges", "sentences", "runs", "shared", "models", "downloads", "hub/pulled")
RESULTS = (*(f"cache/{name}" for name in _HERE), "out")
#: When and where a run was made.
OF_THE_MAKING = ("device", "created", "seconds")


def digests(place: Path) -> dict[str, str]:
    """File -> digest, for every file under a final name below the result folders."""
    found = {}
    for folder in RESULTS:
        for path in sorted((place / folder).rglob("*")):
            name = path.relative_to(place)
            unfinished = any(part[0] == "." or ".tmp" in part or part.endswith(".part") for part in name.parts)
            # How long a head took differs from run to run.
            passing = path.suffix == ".pt" or ".partial." in path.name or path.name.startswith("seconds-")
            if path.is_file() and not unfinished and not passing:
                found[name.as_posix()] = _digest(path)
    return found


def _digest(path: Path) -> str:
    """The digest of a file, without when and where it was made."""
    try:
        table = table_of(path) if path.suffix == ".parquet" else None
        if table and {column.name for column in TABLES[table].columns} & {*OF_THE_MAKING}:
            rows = read_table(path, table).to_pylist()
            content: object = [{key: row[key] for key in row if key not in OF_THE_MAKING} for row in rows]
        elif path.parent.name == "pulled":
            manifest = json.loads(path.read_text())
            content = {key: value for key, value in manifest.items() if key not in ("from", "commit")}
        else:
            return hashlib.sha256(path.read_bytes()).hexdigest()
    except (ProbingError, ValueError):
        return "unreadable"
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
            done = warm.run(command.call(inputs, place))
            assert done.code == 0, done.said
            found.append(Undisturbed(digests(place), done.seconds, done.steps))
        assert found[0].digests == found[1].digests and found[0].digests, "two undisturbed runs leave the same"
        shutil.copytree(place, _finished(command, inputs), dirs_exist_ok=True)
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


def kill_and_resume(
    command: Command, inputs: Path, warm: WarmParent, wanted: Undisturbed, rng: random.Random, kills: int = 0
) -> Trial:
    """Kills the command, 0: one to three times, and then lets it finish.

    Each kill comes before a step uniform over its steps on the file system, or at a moment uniform over the command's
    duration: the moments between two steps are those that can go wrong, and most of the time is spent on computing. The
    first comes before a step, which always meets the command at work.
    """
    place, trial = begin(command, inputs, warm), Trial()
    for number in range(kills or rng.randint(1, MAX_KILLS)):
        at_step = number == 0 or rng.random() < 0.5
        how = (
            {"kill_at_step": rng.randint(1, wanted.steps)}
            if at_step
            else {"kill_after": rng.uniform(0, wanted.seconds)}
        )
        done = warm.run(command.call(inputs, place, **how))
        trial.faults += done.code == -9
        if done.code not in (0, -9):
            trial.losses.append(f"after a kill: exit code {done.code}: {done.said[-500:]}")
        trial.losses += half_files(place, wanted)
    return finish(command, inputs, place, warm, wanted, trial)


def finish(command: Command, inputs: Path, place: Path, warm: WarmParent, wanted: Undisturbed, trial: Trial) -> Trial:
    """Lets the command finish and compares what it leaves with the undisturbed run."""
    done = warm.run(command.call(inputs, place))
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
