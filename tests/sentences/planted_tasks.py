"""Sentences in words of the tiny model, encoders with planted states, and what runs left."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from probing.kernel.models import catalogue as opened
from probing.kernel.store.parquet import read_table
from tests.fixtures.commands import WORDS

#: Words that are one token each.
CHOSEN = WORDS[5:20] + WORDS[25:]
#: How far the states of two labels are apart, in deviations of the noise.
FAR = 12.0
#: (first token's bit: 0 or 1, noise as (layers, tokens, hidden)) -> states.
Plant = Callable[[int, torch.Tensor], torch.Tensor]


def label_of(words: str) -> str:
    """A label that no linear probe reads off the words: whether the sum of their numbers is odd."""
    return ("even", "odd")[sum(map(WORDS.index, words.split())) % 2]


def labelled(number: int = 300, seed: int = 0) -> list[tuple[str, str]]:
    """Distinct sentences of six words, half of each label."""
    draw, found = np.random.default_rng(seed), {}
    left = dict.fromkeys(("even", "odd"), (number + 1) // 2)
    while len(found) < number:
        text = " ".join(draw.choice(CHOSEN, 6))
        label = label_of(text)
        if left[label] and text not in found:
            found[text] = label
            left[label] -= 1
    return list(found.items())


def write_task(path: Path, rows: list[tuple[str, str]] | None = None) -> Path:
    """A TSV file of labelled sentences."""
    path.write_text("sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in (rows or labelled())))
    return path


def plant(monkeypatch, **plants: Plant) -> None:
    """Gives models of these names (- as _) states of nothing but noise, into which something is planted."""

    def hooked(model, name):
        if chosen := plants.get(name.replace("-", "_")):
            model.body.register_forward_hook(_hook(chosen), with_kwargs=True)
        return model

    encoder, base = opened.open_encoder, opened.open_base
    monkeypatch.setattr(
        opened, "open_encoder", lambda *given, **named: hooked(found := encoder(*given, **named), found.name)
    )
    monkeypatch.setattr(opened, "open_base", lambda *given: hooked(found := base(*given), found.name))


def _hook(chosen: Plant):
    def hook(_, __, named, output):
        ids, seen = named["input_ids"], named["attention_mask"]
        states = torch.zeros(len(output.hidden_states), *output.hidden_states[0].shape)
        for row, (tokens, mask) in enumerate(zip(ids, seen, strict=True)):
            real = tokens[mask.bool()].tolist()
            draw = torch.Generator().manual_seed(sum(token * 43**place for place, token in enumerate(real)) % 2**31)
            noise = torch.randn(len(states), len(real), states.shape[-1], generator=draw)
            states[:, row, : len(real)] = chosen(sum(real[1:-1]) % 2, noise)
        output.hidden_states = tuple(states)
        return output

    return hook


def in_first(layer: int) -> Plant:
    """The label in the first token of one layer; the last token has the opposite, so that the mean says nothing."""

    def made(label, noise):
        noise[layer, 0, 0] += FAR * (label - 0.5)
        noise[layer, -1, 0] -= FAR * (label - 0.5)
        return noise

    return made


def in_tokens(first: bool, others: bool) -> Plant:
    """The label in every layer's first token, in all others, or in both."""

    def made(label, noise):
        noise[:, :1, 0] += FAR * (label - 0.5) * first
        noise[:, 1:, 0] += FAR * (label - 0.5) * others
        return noise

    return made


def flat(made: Plant) -> Plant:
    """Nothing in the last feature."""

    def without(label, noise):
        states = made(label, noise)
        states[..., -1] = 0
        return states

    return without


def rotated(made: Plant) -> Plant:
    """The first feature in the place of the last, which is empty otherwise, and the other way round."""

    def swapped(label, noise):
        states = flat(made)(label, noise)
        return states[..., [states.shape[-1] - 1, *range(1, states.shape[-1] - 1), 0]]

    return swapped


def tables_of(folder: Path, table: str, model: str | None = None) -> list[dict]:
    """Rows of a table of all runs, or of one model's."""
    rows = [row for path in sorted(folder.glob(f"{table}-*.parquet")) for row in read_table(path, table).to_pylist()]
    if model is None:
        return rows
    runs = {row["run_id"] for row in tables_of(folder, "sentence_runs") if row["model"] == model}
    return [row for row in rows if row["run_id"] in runs]


def accuracy(folder: Path, model: str, reading: str = "own", pooling: str = "first") -> list[float]:
    """By layer, of probes that all training sentences trained."""
    rows = tables_of(folder, "sentence_scores", model)
    chosen = [row for row in rows if (row["reading"], row["pooling"], row["portion"]) == (reading, pooling, 1)]
    return [row["right"] / row["n_test"] for row in sorted(chosen, key=lambda row: row["layer"])]
