"""Sixty drawn trials: a command meets a fault of the hub at a place of the protocol, and is repeated when all is well.

It succeeds, or ends with one line that names the trouble; nothing damaged is kept, no byte of a model's weights comes
twice without need, and the repeated command gives what an undisturbed one gives.
"""

import errno
import io
import json
import random
import re
import shutil
from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

from probing.kernel.errors import ProbingError
from probing.kernel.files import cannot_write, no_room, pulled_folders
from probing.kernel.models import hub as of_hub
from tests.hub import contents

LAYOUTS = {"safe": lambda files: files, "bin": contents.as_bin, "shards": contents.as_sharded_bin}
MODEL, SHARE = "org/tiny-bert", "me/predictions"
FACT = {"subject": "France", "relation": "capital", "object": "Paris", "prompt": "The capital of France is [MASK]."}
OPTIONS = ("--model", MODEL, "--head", "logit_lens", "--device", "cpu")
PUSH = ("push", "predictions", "--licence", "CC0-1.0", "--model", "tiny-bert")
#: Places in the protocol by what a request asks for.
OF_MODEL = {
    "the repository": r"^GET /api/models/org/tiny-bert($|/revision)",
    "the list": "/tree/",
    "the configuration": r"config\.json$",
    "about weights": r"^HEAD .*\.(safetensors|bin)$",
    "weights": "^GET /large/",
}
OF_SHARE = {"the repository": f"^GET /api/datasets/{SHARE}", "the list": "/tree/", "the manifest": r"manifest\.json$"}
PLACES = {
    "fetch": OF_MODEL,
    "ask": OF_MODEL,
    "probe": OF_MODEL,
    "pull": OF_SHARE | {"data": "^GET /large/"},
    "push": {
        "a new repository": "^POST /api/repos/create",
        "the kinds of files": "/preupload/",
        "where to upload": "/objects/batch",
        "the upload": "^PUT /large/",
        "the commit": "/commit/main",
    },
}
#: What happens to the requests, and what the line says; empty: the command succeeds.
AT_A_PLACE: dict[str, tuple[list[dict], str]] = {
    "cut once": ([{"broken_after": 100, "times": 1}], ""),
    "cut again and again": ([{"broken_after": 20_000}], "failed .*repeat the command"),
    "cut once, ranges ignored": ([{"broken_after": 100, "times": 1}, {"whole": True}], ""),
    "cut for good": ([{"broken_after": 0}], "failed .*repeat the command"),
    "reset once": ([{"broken_after": 100, "reset": True, "times": 1}], ""),
    "reset for good": ([{"broken_after": 0, "reset": True}], "failed .*repeat the command"),
    "slow": ([{"slow": True}], ""),
    "silent": ([{"silent": True}], "failed .*repeat the command"),
    "401": ([{"status": 401}], "hf auth login"),
    "403": ([{"status": 403}], "does not allow .*hf auth login"),
    "404": ([{"status": 404}], "HTTP 404 .*check"),
    "429 once": ([{"status": 429, "headers": {"Retry-After": "2"}, "times": 1}], ""),
    "429 for good": ([{"status": 429, "headers": {"Retry-After": "300"}}], "limits the number .*in 300 s"),
    "500 once": ([{"status": 500, "times": 1}], ""),
    "500 for good": ([{"status": 500}], r"not available \(HTTP 500\).* later"),
    "wrong bytes once": ([{"corrupt": True, "times": 1}], ""),
    "wrong bytes": ([{"corrupt": True}], "damaged.*(again|repeat)"),
    "a portal": ([{"body": b"<html><title>Log in</title></html>"}], "none of the hub.*repeat the command"),
    "cut JSON": ([{"body": b'[{"type": "file", "pa'}], "none of the hub.*repeat the command"),
}
EVERYWHERE = {
    "no space": "no room on the disk.*again",
    "a cache that is a file": "cannot write .*make it writable",
    "a proxy that leads nowhere": "by the proxy of HTTP_PROXY",
    "a proxy of an unknown kind": "by the proxy of ALL_PROXY|socks",
    "a commit that is gone": "has no revision 0000.*--revision main",
    "a branch that is gone": "has no revision gone.*--revision main",
    "paths that lead elsewhere": "",
}


#: Faults by a word of theirs that are possible at some places only.
ONLY = {"wrong": {"the configuration", "weights", "the manifest", "data"}, "again": {"weights"}}


def places(command: str, fault: str) -> list[str]:
    """Where a command can meet a fault; what is pushed is in the program's own cache, and of no revision."""
    if fault in EVERYWHERE:
        return [] if command == "push" else ["everywhere"]
    only = next((found for word, found in ONLY.items() if word in fault), PLACES[command])
    return [place for place in PLACES[command] if place in only]


def drawn(number: int, seed: int = 72) -> list[tuple[str, str, str, str]]:
    """Command, layout of the weights, fault and place; every fault in turn."""
    dice, trials = random.Random(seed), []
    for fault in islice(cycle([*AT_A_PLACE, *EVERYWHERE]), number):
        command = dice.choice([name for name in PLACES if places(name, fault)])
        layout = dice.choice([*LAYOUTS]) if PLACES[command] is OF_MODEL else ""
        trials.append((command, layout, fault, dice.choice(places(command, fault))))
    return trials


@pytest.fixture(scope="module")
def share(bert, run, tmp_path_factory) -> SimpleNamespace:
    """Facts, runs of the model on them, and their share as its owner would put it on the hub."""
    folder = tmp_path_factory.mktemp("share")
    model = contents.as_folder(bert, folder / "tiny-bert")
    facts = folder / "facts.jsonl"
    facts.write_text(json.dumps(FACT) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "none"))
        run("probe", "--facts", facts, "--model", model, *OPTIONS[2:])
        run(*PUSH, "--to-folder", folder / "out")
    paths = [path for path in (folder / "out").rglob("*") if path.is_file()]
    files = {path.relative_to(folder / "out").as_posix(): path.read_bytes() for path in paths}
    # Torch writes the same weights in other bytes each time.
    layouts = {name: layout(bert) for name, layout in LAYOUTS.items()}
    return SimpleNamespace(facts=facts, runs=folder / "cache" / "runs", files=files, layouts=layouts)


class FullDisk(io.BytesIO):
    """A file for which there is no room."""

    def write(self, content) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "a file of the hub's cache")


def break_environment(fault: str, online, patch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Lets a fault happen that has no place in the protocol; returns the words that the command has more."""
    opens = Path.open
    if fault == "no space":

        def full(at, *how, **more):
            return FullDisk() if at.suffix in (".part", ".incomplete") else opens(at, *how, **more)

        patch.setattr(Path, "open", full)
    elif fault == "a cache that is a file":
        patch.setattr(constants, "HF_HUB_CACHE", __file__)
    elif fault.startswith("a proxy"):
        patch.setenv("NO_PROXY", "")
        value = "http://127.0.0.1:9" if "nowhere" in fault else "socks5://127.0.0.1:9"
        patch.setenv("HTTP_PROXY" if "nowhere" in fault else "ALL_PROXY", value)
    return {"a commit": ("--revision", "0" * 40), "a branch": ("--revision", "gone")}.get(fault[:8].strip(), ())


def outcome(run, words, share, online) -> tuple[str, object]:
    """The line of a command's error, empty if it succeeds, and what it then left."""
    command = words[0]
    try:
        done = run(*words)
    except ProbingError as error:
        return str(error), None
    except OSError as error:
        # As the command line does; anything else is a traceback.
        said = no_room(error) or cannot_write(error)
        if said is None:
            raise
        return said, None
    if command == "fetch":
        folder = Path(done.stdout.split(": ", 1)[1].strip())
        return "", {path.name: path.read_bytes() for path in folder.iterdir()}
    if command == "ask":
        return "", re.sub(r"\d+ ms", "", done.stdout)
    if command == "push":
        kept = online.hub.kept["dataset", SHARE].files
        return "", {name: content for name, content in kept.items() if name.startswith("data/")}
    (folder,) = pulled_folders() if command == "pull" else [share.runs.parent]
    return "", {path.name: path.read_bytes() for path in folder.rglob("predictions-*.parquet")}


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, object]:
    """What a command gave in the first trial that repeated it."""
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("trial", drawn(60), ids="-".join)
def test_a_fault_ends_in_success_or_one_line_and_the_repeated_command_mends_it(
    trial, online, run, share, undisturbed, tmp_path, monkeypatch
):
    command, layout, fault, place = trial
    faults, line = AT_A_PLACE.get(fault) or ([], EVERYWHERE[fault])
    files = share.layouts[layout or "safe"]
    strange = ["../evil.json", "../../tokenizer_evil.json", f"{tmp_path}/tokenizer_evil.json", "../vocab_evil"]
    listed = {name: b"{}" for name in strange if fault == "paths that lead elsewhere"}
    online.hub.add(MODEL, files | listed)
    if command == "pull":
        online.hub.add(SHARE, share.files | listed, kind="dataset")
    if command == "push":
        online.login("me")
        shutil.copytree(share.runs, tmp_path / "cache" / "runs")
    words = {
        "fetch": ("fetch", MODEL),
        "ask": ("ask", FACT["prompt"], *OPTIONS),
        "probe": ("probe", "--facts", share.facts, *OPTIONS),
        "pull": ("pull", SHARE, "--what", "predictions"),
        "push": (*PUSH, "--to", SHARE),
    }[command]
    ours = SimpleNamespace(runs=tmp_path / "cache" / "runs")
    with monkeypatch.context() as patch:
        for one in faults:
            online.hub.fails(PLACES[command][place], **one)
        if fault == "silent":
            patch.setattr(of_hub, "LONGEST_SILENCE", 0.3)
        more = break_environment(fault, online, patch)
        close_session()
        said, left = outcome(run, (*words, *more), ours, online)
        close_session()
    assert not faults or online.hub.asked(PLACES[command][place]), trial
    if said:
        assert line and "\n" not in said and len(said) < 500, (trial, said)
        assert {"pull": SHARE, "push": SHARE}.get(command, MODEL) in said or "disk" in said or "write" in said, said
        assert re.search(line, said), (trial, said)
    online.hub.faults.clear()
    # Offline, what is half there is not taken for whole.
    if PLACES[command] is OF_MODEL:
        with monkeypatch.context() as patch:
            patch.setattr(constants, "HF_HUB_OFFLINE", True)
            offline, there = outcome(run, words, ours, online)
    else:
        assert not said or not pulled_folders(), trial
        kept = online.hub.kept.get(("dataset", SHARE))
        assert kept is None or "manifest.json" in kept.files or not any("data/" in name for name in kept.files), trial
        offline, there = "not asked", None
    again, whole = outcome(run, words, ours, online)
    assert not again, (trial, said, again)
    # Another list of files is another commit, and that another run.
    expected = undisturbed.setdefault(f"{command}{layout}{len(listed)}", whole)
    assert whole == expected and (said or left == expected) and (offline or there == expected), (trial, said, offline)
    for path in (path for path in (online.home / "hub").glob("*/blobs/*") if command != "push"):
        assert path.read_bytes() in [*files.values(), *share.files.values()], (trial, path)
    stray = [path for at in ("*.part", "*.incomplete", "*evil*", "../*evil*") for path in tmp_path.glob(f"**/{at}")]
    assert not stray and not list((tmp_path / "cache" / "hub").glob("*/*/")), (trial, stray)
