"""``make gpu``: ranks on a GPU against the CPU's, and times against transformers on it, in at most eight minutes.

``python -m tests.gpu --device cpu --small`` runs all of it, the CPU against itself.
"""

import copy
import sys
from collections.abc import Callable, Sequence

import numpy as np
import torch
import typer

from probing.heads.decode import LogitsBuffer, decode
from probing.heads.recipe import mask_rows, most_positions
from probing.heads.train import HeadStep
from probing.kernel.errors import ProbingError
from probing.kernel.models.load import Encoder, device_in_words, load_encoder
from probing.kernel.models.states import mask_positions, states_at, tokenize
from probing.kernel.registry import REPOSITORY
from probing.live.ask import LiveModel
from tests.speed import candidates, heads, live, probing
from tests.speed.__main__ import seconds
from tests.speed.measurement import SHIPPED_MODEL, Measurement, random_bert_base
from tests.speed.prompts import TOP, bench_folder, trex_prompts

DOCS, HEADING = REPOSITORY / "docs" / "performance.md", "## On a GPU"
#: Devices add up in other orders: a rank may differ only by tokens whose logits on the CPU, or candidates whose
#: log-likelihoods, differ from the right one's by less.
NEAR = 1e-3
STEPS, PIECES = 5, 2560
_TABLES = (
    "| what | ranks | equal | other between near scores | other beyond |\n|---|---|---|---|---|",
    "| what | ours | alternative | ratio | equal |\n|---|---|---|---|---|",
)


class Report:
    """The rows of the section's two tables, and how many of them are wrong."""

    def __init__(self) -> None:
        self.ranks: list[str] = []
        self.times: list[str] = []
        self.wrong = 0

    def ranked(self, what: str, here: np.ndarray, there: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Ranks of the CPU and of the device, and the best and worst that near scores allow, all of one shape."""
        other, beyond = here != there, (there < low) | (there > high)
        self.wrong += int(beyond.any())
        self.ranks.append(f"| {what} | {here.size:,} | {1 - other.mean():.3%} | {other.sum():,} | {beyond.sum():,} |")

    def timed(self, part: str, measure: Callable[[], Sequence[Measurement]]) -> None:
        """The rows of a benchmark; one whose two sides differ is wrong, and the others follow."""
        try:
            for row in measure():
                sides = f"{seconds(row.ours_seconds)} | {row.alternative}: {seconds(row.alternative_seconds or 0)}"
                self.times.append(f"| {row.name} | {sides} | {row.ratio:.3g} | {row.equal} |")
        except ProbingError as error:
            self.wrong += 1
            self.times.append(f"| {part} |  |  |  | {error} |")


def between(scores: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best and worst rank of ``own`` along the last axis of the scores if all that are near may change places."""
    return 1 + (scores > own + NEAR).sum(-1), (scores >= own - NEAR).sum(-1)


def compare(report: Report, here: Encoder, there: Encoder, small: bool) -> None:
    """Heads in training, probing, Ask and candidates on both devices."""
    asked, recipe = trex_prompts(here, 32 if small else 256), heads.recipe_of(STEPS)
    text = mask_rows(here, heads.made_up_text(here, PIECES), recipe, 0, 0)
    block_of = np.searchsorted(text.cumulative, np.arange(len(text.labels)), side="right")
    states = states_at([text.row(int(n)) for n in block_of], text.index.tolist(), here)[heads.LAYER]
    steps = [HeadStep(encoder, recipe, STEPS, most_positions(recipe, text)) for encoder in (here, there)]
    for number, some in enumerate(np.array_split(np.arange(len(states)), STEPS)):
        for step in steps:
            step.take(number, states[some], text.labels[some])
    ours, theirs = ({name: p.cpu() for name, p in step.weights().items()} for step in steps)
    far = max(float((theirs[name] - p).norm() / p.norm()) for name, p in ours.items())
    report.wrong += far > heads.NEAR
    report.times.append(
        f"| heads in training, {STEPS} steps |  | the CPU |  | weights within {far:.1e} of their norm |"
    )
    full = steps[0].trained().requires_grad_(False)
    rows, gold = tokenize([fact.prompt for fact in asked.facts], here), np.array(asked.answers)[:, None]
    states, some = states_at(rows, mask_positions(rows, here), here), asked.facts[: 8 if small else 32]
    for kind, head, moved in (
        ("logit_lens", here.head, there.head),
        (f"full, {STEPS} steps", full, copy.deepcopy(full).to(there.device)),
    ):
        with torch.inference_mode():
            logits = [decode(head, torch.from_numpy(layer), LogitsBuffer()).numpy() for layer in states]
        bounds = zip(*(between(layer, np.take_along_axis(layer, gold, 1)) for layer in logits), strict=True)
        low, high = (np.stack(column) for column in bounds)
        models = [(here, [head] * here.layers), (there, [moved] * here.layers)]
        found = [probing.ask_all(*model, asked)["gold_rank"].astype(int) for model in models]
        report.ranked(f"probing, {kind}", *found, low, high)
        lives = [LiveModel(*model, "full") for model in models]
        answers = [[live.ask(fact.prompt, TOP, (fact.object,)).layers for fact in some] for live in lives]
        found = [np.array([[layer.watched[0].rank for layer in layers] for layers in one]).T for one in answers]
        report.ranked(f"Ask, {kind}", *found, low[:, : len(some)], high[:, : len(some)])
    prompts, _ = candidates.phrases(2 if small else 10)
    for kind in (candidates.INDEPENDENT, candidates.WITHIN_WORD_L2R):
        parts = []
        for pair in zip(*(candidates.scores(prompts, one, kind) for one in (here, there)), strict=True):
            found = [1 + (one[:, None] > one[:, :, None]).sum(2) for one in pair]
            parts.append([part.ravel() for part in (*found, *between(pair[0][:, None], pair[0][:, :, None]))])
        report.ranked(f"candidates, {kind}", *map(np.concatenate, zip(*parts, strict=True)))


def main(device: str = "cuda", small: bool = False, write: bool = False) -> None:
    """Compare a device with the CPU, and its times with those of transformers on it; ``--small``: the shipped model and
    small slices; ``--write``: into docs/performance.md.
    """
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ProbingError("torch finds no CUDA device, so nothing is measured; run make gpu on a machine with a GPU")
    source = SHIPPED_MODEL if small else random_bert_base(bench_folder())
    here, there, report = load_encoder(source, device="cpu"), load_encoder(source, device=device), Report()
    compare(report, here, there, small)
    for part in (probing, live, heads):
        report.timed(part.__name__, lambda part=part: part.measure(small, device, source))
    report.timed("bfloat16", lambda: [candidates.shorter(there, source, small)])
    what = f"{device_in_words(device)}, {'the shipped model' if small else 'BERT-base size, random weights'}"
    said = (
        f"`make gpu` on {what}, torch {torch.__version__}. *Near* scores differ by less than {NEAR:g}: devices add"
        "\nup in other orders, so only tokens that near may change places. Both sides of a time are on this device."
    )
    text = "\n".join((HEADING, "", said, "", _TABLES[0], *report.ranks, "", _TABLES[1], *report.times, ""))
    typer.echo(text)
    if write:
        before, old = DOCS.read_text(encoding="utf-8").split(HEADING + "\n")
        DOCS.write_text(before + text + old[old.index("\n## ") :], encoding="utf-8")
    if report.wrong:
        raise ProbingError(f"{report.wrong} comparisons differ by more than near scores allow; see the tables")


if __name__ == "__main__":
    try:
        typer.run(main)
    except ProbingError as error:
        sys.exit(f"error: {error}")
