"""Peak memory of head training and probing at BERT-base size, each in a separate process."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from probing.kernel.files import cache_folder
from probing.kernel.registry import REPOSITORY
from tests.speed.measurement import Measurement, random_bert_base

if TYPE_CHECKING:
    from probing.kernel.models.load import Encoder

#: Masked positions of WikiText-2 under BERT-base's tokenizer: 15 % of 2.6 million word pieces.
WIKITEXT_2 = 390_000
#: Facts per shard of a run, as in ``probing probe``.
SHARD = 2048


@dataclass(frozen=True)
class Peak:
    """Time and memory of one process.

    Attributes:
        seconds: time of the work, without loading.
        loaded: maximum resident bytes before the work.
        peak: maximum resident bytes.
        done: description of the work.
    """

    seconds: float
    loaded: int
    peak: int
    done: str


def measure(quick: bool = False) -> list[Measurement]:
    """The ratio is peak resident memory in gigabytes."""
    source = random_bert_base(cache_folder() / "bench")
    rows = []
    for name, function, amount, bound, more in (
        ("peak memory of training full heads (GB)", "train_slice", 8 if quick else 40, 8.0, _mapped_layer()),
        ("peak memory of probing with full heads (GB)", "probe_slice", 64 if quick else SHARD + 64, 4.0, 0),
    ):
        with TemporaryDirectory(prefix=f"{function}-", dir=source.parent) as folder:
            code = (
                f"from tests.speed.memory import {function} as work, report; report(work, {str(source)!r}, {folder!r},"
                f" {amount})"
            )
            run = subprocess.run(
                [sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True
            )
        found = Peak(**json.loads(run.stdout.splitlines()[-1]))
        note = f"measured on a slice: {found.done}; {found.loaded / 1e9:.2f} GB before the work"
        if more:
            added = f"the mapped states of one layer of {WIKITEXT_2:,} positions (WikiText-2), if all stay resident"
            note += f"; {more / 1e9:.2f} GB added: {added}"
        gigabytes = (found.peak + more) / 1e9
        rows.append(Measurement(name, found.seconds, "", None, gigabytes, bound, True, "nothing is compared", note))
    return rows


def _mapped_layer() -> int:
    from probing.heads.states import states_bytes

    return states_bytes(1, WIKITEXT_2, 768)


def report(work: "Callable[[Encoder, Path, int], str]", source: str, folder: str, amount: int) -> None:
    """Does the work in this process and prints its ``Peak`` as JSON."""
    from probing.kernel.models.load import load_encoder

    encoder = load_encoder(source, device="cpu")
    loaded, start = peak_bytes(), time.perf_counter()
    done = work(encoder, Path(folder), amount)
    print(json.dumps(vars(Peak(time.perf_counter() - start, loaded, peak_bytes(), done))))


def peak_bytes() -> int:
    """Maximum resident bytes of this process, including mapped files.

    Linux's own count is read where there is one: ``ru_maxrss`` also counts the parent's memory at the time of the fork.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def train_slice(encoder: "Encoder", folder: Path, blocks: int) -> str:
    """States of all layers of a short text, then one layer's full head, through the function that ``train-heads``
    calls.
    """
    from probing.heads.recipe import HeadRecipe, text_sha256
    from probing.heads.states import StatesCache
    from probing.heads.train import train_heads
    from tests.speed.heads import BLOCK, BLOCKS_A_STEP, LAYER, made_up_text

    train, valid = (made_up_text(encoder, count * BLOCK) for count in (blocks, 8))
    recipe = HeadRecipe(
        kind="full",
        text_sha256=text_sha256(train, valid),
        positions=0,
        validation_positions=500,
        epochs=1,
        pieces_per_block=BLOCK,
        blocks_per_step=BLOCKS_A_STEP,
    )
    train_heads(encoder, train, valid, recipe, folder / "heads", StatesCache(folder / "states"), layers=[LAYER])
    return (
        f"about {blocks} blocks of {BLOCK} pieces, states of all layers, the head of one, checkpoint and head written"
    )


def probe_slice(encoder: "Encoder", folder: Path, count: int) -> str:
    """Facts that ship, through the function that ``probe`` calls, with 13 full heads."""
    from probing.facts.probe import ProbeWork, probe_shards
    from probing.kernel.models.head import fresh_copy
    from tests.speed.prompts import run_of, trex_prompts

    asked = trex_prompts(encoder, count)
    facts, answers = asked.facts, asked.answers
    heads = [fresh_copy(encoder.head, "full") for _ in range(encoder.layers)]
    config = run_of(encoder, facts, answers, SHARD)
    paths = probe_shards(ProbeWork(encoder, heads, facts, answers, config, folder / "shards", folder / "states"))
    return (
        f"{len(facts):,} facts and as many about another subject, {len(heads)} heads, {len(paths)} shards of at most"
        f" {SHARD:,} facts"
    )
