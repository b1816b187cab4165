"""Long commands with tiny inputs, which are killed and called again: those of the fault trials, and all others."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from probing.kernel.files import atomic_folder
from tests.edges.edge_files import SINGS, SLEEPS, conllu, write_ewt
from tests.faults import trials
from tests.faults.trials import Command
from tests.faults.warm import WarmParent
from tests.fixtures.commands import WORDS
from tests.forgetting.planted import KNOWN, facts, trained
from tests.forgetting.test_recover import asked_in, with_spoilt
from tests.sentences.sentence_files import sentences, tsv

_HERE = "--device cpu --threads 1"
_OF = "--model INPUTS/spoilt --base INPUTS/planted"
_LOST = f"{_OF} --facts INPUTS/asked/mine.jsonl {_HERE}"
_NER = "--model INPUTS/tiny --objective ner-conll --data INPUTS/conll --steps 60 --tokens 60 --pieces 32"
_PRETRAIN = (
    "pretrain --lama INPUTS/lama --wikitext INPUTS/wikitext.txt --start INPUTS/tiny --layers 2 --hidden 16 --work PLACE"
    " --no-bfloat16"
)
COMMANDS = trials.COMMANDS | {
    command.name: command
    for command in (
        Command("pretrain", f"{_PRETRAIN} --steps 40 --out PLACE/cache/models/made"),
        Command(
            "probe candidates", f"probe --measure independent --model INPUTS/tiny --facts INPUTS/long.jsonl {_HERE}"
        ),
        Command("probe carried", f"probe --measure carried {_LOST}".replace(" --base INPUTS/planted", "")),
        Command("edges train", f"edges train --model INPUTS/tiny --tasks pos,dependencies --width 16 {_HERE}"),
        Command("sentences train", f"sentences train {_OF} --tasks INPUTS/parity.tsv --protocol quick {_HERE}"),
        Command("changes measure", f"changes measure {_OF} --blocks 4 --sentences 20 {_HERE}"),
        Command("line", f"line {_LOST}"),
        Command(
            "recover", f"forgetting recover {_LOST} --text INPUTS/asked/text.txt --seeds 1 --positions 500 --savings"
        ),
        Command(
            "series follow",
            f"series follow --model PLACE/cache/checkpoints/tiny-ner-conll --facts INPUTS/facts.jsonl {_HERE}",
            (f"finetune {_NER} --checkpoints 4 --device cpu",),
        ),
        Command(
            "series prevent",
            f"series prevent {_NER} --facts INPUTS/facts.jsonl --seeds 1 --recipes unprotected,freeze=0.5+average=0.5"
            f" {_HERE}",
        ),
        Command("bert", "bert"),
        Command("own", "own --model INPUTS/spoilt --base INPUTS/planted --facts INPUTS/asked/mine.jsonl"),
    )
}


def killed(name: str, work: Path) -> Callable[[random.Random, int], tuple[str, str]]:
    """A command that is killed three times, and then left alone."""
    (work / "inputs").unlink(missing_ok=True)
    (work / "inputs").symlink_to(inputs_in(work.parent))
    warm, command = WarmParent(), COMMANDS[name]

    def trial(rng: random.Random, _: int) -> tuple[str, str]:
        wanted = trials.undisturbed(command, work / "inputs", warm)
        found = trials.kill_and_resume(command, work / "inputs", warm, wanted, rng, kills=trials.MAX_KILLS)
        return f"{found.faults} kills at work", "; ".join(found.losses)

    return trial


def inputs_in(folder: Path) -> Path:
    """The inputs of all commands, made once."""
    made = folder / "inputs"
    if not made.is_dir():
        with atomic_folder(made) as half:
            _make_inputs(half)
    return made


def _make_inputs(folder: Path) -> None:
    """As for the fault trials, and a base that knows facts, a model that lost some, and data of every subject."""
    trials.make_inputs(folder)
    trained(facts()[:KNOWN], folder / "planted")
    with_spoilt(folder)
    (folder / "asked").mkdir()
    rows = [json.loads(line) for line in (asked_in(folder / "asked") / "mine.jsonl").read_text().splitlines()]
    long = [row | {"object": f"{row['object']} and {row['object']}"} for row in rows[:60]]
    (folder / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in long))
    tsv(folder / "parity.tsv", sentences(400))
    blocks = conllu({f"s-{n:04}": (SLEEPS, SINGS)[n % 2] for n in range(60)})
    fetched = folder / "laid" / "cache" / "downloads"
    write_ewt(fetched / "ud-english-ewt", train=blocks)
    draw = np.random.default_rng(0)
    lines = [" " + " ".join(draw.choice(WORDS[5:], draw.integers(5, 12))) + " . \n" for _ in range(120)]
    (fetched / "wikitext-2-raw").mkdir()
    (fetched / "wikitext-2-raw" / "wiki.test.raw").write_text(" = A heading = \n" + "".join(lines))
    (folder / "wikitext.txt").write_text(" = A heading = \n" + "".join(lines) * 5)
    (folder / "lama" / "TREx").mkdir(parents=True)
    evidence = [{"masked_sentence": "The capital of France is [MASK].", "obj_surface": "Paris"}]
    fact = {"sub_label": "France", "obj_label": "Paris", "evidences": evidence}
    (folder / "lama" / "TREx" / "P36.jsonl").write_text(json.dumps(fact) + "\n")
    commit, hub = "7" * 40, folder / "hub" / "models--somewhere--bert"
    shutil.copytree(folder / "tiny", hub / "snapshots" / commit)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text(commit)
