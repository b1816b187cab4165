"""A tiny BERT that is trained on some facts and not on others, so that what it knows is known."""

import copy
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from probing.facts.askable import answer_ids
from probing.kernel.fact import Fact, fill
from probing.kernel.models.layer_swap import layers_of
from probing.kernel.models.load import Encoder, load_encoder
from tests.tiny_models import wordpiece

ANSWERS = {
    "[X] was born in [Y].": ("paris", "berlin", "rome", "london", "madrid", "boston"),
    "[X] plays [Y].": ("jazz", "music", "red", "green", "blue"),
}
NAMES = (
    "rocky",
    "balboa",
    "sun",
    "moon",
    "one",
    "two",
    "three",
    "four",
    "france",
    "germany",
    "italy",
    "england",
    "spain",
    "city",
    "capital",
)
SENTENCES = [
    f"{a} and {b} is in {c} of {d} ."
    for a, b, c, d in itertools.islice(itertools.product(NAMES, repeat=4), 0, 40000, 23)
]


#: The base knows so many of the facts, from the first.
KNOWN = 150


def facts() -> list[Fact]:
    """210 facts, in an order that mixes relations and answers; every subject has one."""
    random = np.random.default_rng(1)
    pairs = [f"{a} {b} {c}" for a, b in itertools.permutations(NAMES, 2) for c in ("it", "to")]
    found = []
    for number, place in enumerate(random.permutation(len(pairs))[:210].tolist()):
        template = list(ANSWERS)[number % 2]
        answer = str(random.choice(ANSWERS[template]))
        found.append(Fact("trex", f"P{number % 2}", pairs[place], answer, template, fill(template, pairs[place])))
    return found


def trained(known: list[Fact], folder: Path, seed: int = 1, steps: int = 500, start: Path | None = None) -> Encoder:
    """A BERT of 4 layers that was trained on these facts until it knows them; with ``start`` a trained one of this
    folder goes on.
    """
    tokenizer = wordpiece()
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForMaskedLM.from_pretrained(start) if start else BertForMaskedLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    encoder = load_encoder(folder, device="cpu")
    gold = torch.tensor(answer_ids(known, encoder))
    batch = tokenizer([fact.prompt for fact in known], padding=True, return_tensors="pt")
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    random = torch.Generator().manual_seed(seed)
    for step in range(steps):
        some = torch.randperm(len(known), generator=random)[:150]
        ids = batch["input_ids"][some]
        logits = model(input_ids=ids, attention_mask=batch["attention_mask"][some]).logits
        loss = nn.functional.cross_entropy(logits[ids == tokenizer.mask_token_id], gold[some])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step > 100 and loss.item() < 0.02:
            break
    model.eval().save_pretrained(folder)
    return load_encoder(folder, device="cpu")


def planted_base(base_of_run: Path) -> Path:
    """The folder of a base that knows the first facts, trained once per run of the tests by the worker that needs it
    first.

    Args:
        base_of_run: folder that the workers of the run share.
    """
    folder, unfinished = base_of_run / "planted-base", base_of_run / "unfinished-planted-base"
    with FileLock(base_of_run / "planted-base.lock"):
        if not folder.exists():
            trained(facts()[:KNOWN], unfinished)
            unfinished.rename(folder)
    return folder


class Rotated(nn.Module):
    """A layer whose states are rotated."""

    def __init__(self, layer: nn.Module, size: int) -> None:
        super().__init__()
        self.layer = layer
        # No parameter, so that the layer's shape is that of the base's.
        self.register_buffer(
            "turn", torch.linalg.qr(torch.randn(size, size, generator=torch.Generator().manual_seed(5)))[0]
        )

    def forward(self, *given, **more):
        found = self.layer(*given, **more)
        return (found[0] @ self.turn, *found[1:]) if isinstance(found, tuple) else found @ self.turn


def with_other_head(base: Encoder) -> Encoder:
    """The base with a head that answers otherwise; its body is unchanged."""
    head = copy.deepcopy(base.head)
    with torch.no_grad():
        head.dense.weight.copy_(
            torch.linalg.qr(torch.randn(base.hidden, base.hidden, generator=torch.Generator().manual_seed(6)))[0]
        )
    return replace(base, name="other head", head=head, weights_id="other head")


def with_rotated_layer(base: Encoder, number: int) -> Encoder:
    """The base with the states after one layer, from 1, rotated."""
    body = copy.deepcopy(base.body)
    layers_of(body)[number - 1] = Rotated(layers_of(body)[number - 1], base.hidden)
    return replace(base, name="rotated", body=body.eval(), weights_id=f"rotated {number}")


def with_redrawn_layer(base: Encoder, number: int) -> Encoder:
    """The base with the weights of one layer, from 1, drawn again, so large that little of the states below passes."""
    body = copy.deepcopy(base.body)
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for one in layers_of(body)[number - 1].parameters():
            one.copy_(torch.randn(one.shape, generator=random))
    return replace(base, name="redrawn", body=body, weights_id=f"redrawn {number}")


def with_a_layer_in_front(base: Encoder) -> Encoder:
    """A base of one layer more, which passes the embeddings on almost as they are: what the base reads, it reads a
    layer later.
    """
    body = copy.deepcopy(base.body)
    layers = layers_of(body)
    passing = copy.deepcopy(layers[0])
    with torch.no_grad():
        for part in (passing.attention.output, passing.output):
            for name, values in (
                ("dense.weight", 0),
                ("dense.bias", 0),
                ("LayerNorm.weight", 1),
                ("LayerNorm.bias", 0),
            ):
                part.get_parameter(name).fill_(values)
    layers.insert(0, passing)
    body.config.num_hidden_layers = len(layers)
    return replace(base, name="later", body=body, depth=len(layers), weights_id="later")
