"""``make stress``: kills, links, model folders, shares and flipped bits, drawn by one seed, two groups at a time.

Each group is a process, and each of its trials is noted when it has ended: a repeated call does what is missing for
this state of the program. Once all are done, the figures are written to docs/reliability.md.
"""

import hashlib
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from threading import Event

from probing.kernel.files import cache_folder
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.registry import REPOSITORY
from tests.faults import flips
from tests.stress import drawn, kills

SEED = 73
DOCS = REPOSITORY / "docs" / "reliability.md"
#: In the document's order: what is tried -> its groups, each with what prepares it and its number of trials.
TRIALS = {
    f"{len(kills.COMMANDS)} long commands, killed up to three times each trial": {
        f"kill-{name.replace(' ', '-')}": (partial(kills.killed, name), 2) for name in kills.COMMANDS
    },
    "links to pages with fields of any kind": {"links": (drawn.links, 100)},
    "model folders of every architecture, one or two things broken": {"folders": (drawn.folders, 42)},
    "shares with another value, column, row or order, and sums that fit": {"shares": (drawn.shares, 100)},
    f"stored files with one other bit, {flips.EACH * flips.PARTS} of every kind": {
        f"bits-{part}": (drawn.Bits, 0) for part in range(flips.PARTS)
    },
}
#: Set once a call is interrupted.
stopped = Event()
GROUPS = {name: group for groups in TRIALS.values() for name, group in groups.items()}


@cache
def folder() -> Path:
    """Of this state of the code; trials have caches of their own."""
    state = hashlib.sha256()
    for place in ("probing", "data/making", "tests"):
        for path in sorted((REPOSITORY / place).rglob("*.py")):
            state.update(path.read_bytes())
    return cache_folder() / "stress" / state.hexdigest()[:12]


def notes(name: str) -> list[dict]:
    """The trials of a group that have ended."""
    path = folder() / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def note(name: str, came: str, wrong: str) -> None:
    with (folder() / f"{name}.jsonl").open("a") as stream:
        stream.write(json.dumps({"came": came, "wrong": wrong}) + "\n")


def do_group(name: str) -> None:
    """Does the trials of a group that are left."""
    prepare, number = GROUPS[name]
    work = folder() / name
    work.mkdir(parents=True, exist_ok=True)
    # One of an interrupted call may still be at work.
    with exclusive_lock(folder() / f"{name}.lock", limit=LONG_WORK):
        trial = prepare(work)
        for place in range(len(notes(name)), number or len(trial)):
            note(name, *trial(random.Random(f"{SEED} {name} {place}"), place))


def call(name: str) -> None:
    """Does a group in other processes: one that ends early has failed the trial that it was at."""
    begun = time.monotonic()
    while not stopped.is_set():
        done = len(notes(name))
        with (folder() / f"{name}.log").open("ab") as said:
            words = [sys.executable, "-W", "ignore", "-m", "tests.stress", name]
            code = subprocess.run(words, cwd=REPOSITORY, stdout=said, stderr=said, check=False).returncode
        if code == 0:
            break
        if code == -signal.SIGINT:
            stopped.set()
            break
        note(name, "ended the process", f"exit code {code}; {folder() / f'{name}.log'}")
        if len(notes(name)) - done < 2:
            break
    wrong = sum(bool(one["wrong"]) for one in notes(name))
    print(f"{name}: {len(notes(name))} trials, {wrong} wrong, {time.monotonic() - begun:.0f} s", flush=True)


def table() -> tuple[str, int]:
    """The figures as the document has them, and how many trials went wrong."""
    lines, failed = ["| tried | trials | what came | wrong |", "|---|---|---|---|"], 0
    for what, groups in TRIALS.items():
        found = [one for name in groups for one in notes(name)]
        wrong = sum(bool(one["wrong"]) for one in found)
        came = Counter[str]()
        for one in found:
            number, _, word = one["came"].partition(" ")
            came.update({word: int(number)} if number.isdigit() else {one["came"]: 1})
        said = ", ".join(f"{number:,} {word}" for word, number in came.most_common())
        lines.append(f"| {what} | {len(found):,} | {said} | {wrong} |")
        failed += wrong
    return "\n".join(lines) + "\n", failed


def main() -> None:
    """Does all groups, or the one that is named."""
    folder().mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 1:
        do_group(sys.argv[1])
        return
    kills.inputs_in(folder())
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(call, GROUPS))
    if stopped.is_set():
        sys.exit("interrupted; the same command goes on")
    text, failed = table()
    print(text)
    for name in GROUPS:
        for place, one in enumerate(notes(name)):
            if one["wrong"]:
                print(f"{name} {place}: {one['wrong']}")
    document = DOCS.read_text(encoding="utf-8")
    head = text.splitlines(keepends=True)[0]
    DOCS.write_text(re.sub(rf"{re.escape(head)}(\|.*\n)+", lambda _: text, document), encoding="utf-8")
    sys.exit(int(failed > 0))


if __name__ == "__main__":
    main()
