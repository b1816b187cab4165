"""Masked-language-model training of nesia-mini from scratch, resumable, on one machine.

Weights and optimiser are in float32. The forward and backward passes may run in a bfloat16 copy, as in usual mixed
precision; this is faster on CPUs with bfloat16 instructions (1.6 times here).
"""

import copy
import hashlib
import io
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from pydantic import AliasChoices, Field
from torch import nn
from tqdm import tqdm
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerBase

from probing.facts.corpus import Sentence
from probing.kernel.errors import ModelError
from probing.kernel.fact import STATED, WELL_KNOWN
from probing.kernel.files import atomic_file
from probing.kernel.models.arrays import IGNORED, mask_pieces, plan_batches
from probing.kernel.models.head import masked_loss
from probing.kernel.provenance import Frozen

log = logging.getLogger(__name__)

#: Bytes of the checksum that a checkpoint begins with.
_DIGEST = hashlib.sha256().digest_size


class PretrainRecipe(Frozen):
    """Everything that decides the result of the training.

    ``layer_drop`` is the probability with which a step leaves a block out (LayerDrop, Fan, Grave and Joulin 2020): a
    layer then learns to be followed by the decoder or by any later block, so that the decoder can read it.
    ``stated_visits`` and ``well_known_visits`` are per visit to another sentence; ``whole_answer_share`` of the visits
    to a sentence with an answer mask all of it.
    """

    layers: int = 8
    hidden: int = 192
    heads: int = 3
    steps: int = 4200
    # Stored and hashed under its first name.
    tokens_per_step: int = Field(
        default=2000,
        validation_alias=AliasChoices("tokens_per_step", "tokens_a_step"),
        serialization_alias="tokens_a_step",
    )
    peak_learning_rate: float = 1e-3
    warm_up: float = 0.05
    masked_share: float = 0.2
    whole_answer_share: float = 0.5
    stated_visits: int = 1
    well_known_visits: int = 1
    layer_drop: float = 0.0
    max_pieces: int = 128
    weight_decay: float = 0.01
    seed: int = 1
    bfloat16: bool = True


@dataclass(frozen=True)
class Encoded:
    """A training sentence as token ids, with the positions of each answer that may be masked whole."""

    ids: np.ndarray
    answers: tuple[tuple[int, ...], ...]


def new_model(recipe: PretrainRecipe, vocabulary: int) -> BertForMaskedLM:
    """A freshly initialised BERT of the recipe's shape, without dropout."""
    torch.manual_seed(recipe.seed)
    return BertForMaskedLM(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=recipe.hidden,
            num_hidden_layers=recipe.layers,
            num_attention_heads=recipe.heads,
            intermediate_size=4 * recipe.hidden,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def encode(sentences: Sequence[Sentence], tokenizer: PreTrainedTokenizerBase, max_pieces: int) -> list[Encoded]:
    """Token ids of every sentence, and the positions of every mention of its answers.

    In a statement each mention is an answer of its own: a subject that holds the answer ("Sydney Airport") is seen when
    the fact is asked.
    """
    ids = tokenizer([s.text for s in sentences], truncation=True, max_length=max_pieces)["input_ids"]
    surfaces = sorted({answer for s in sentences for answer in s.answers})
    pieces = (
        dict(zip(surfaces, tokenizer(surfaces, add_special_tokens=False)["input_ids"], strict=True)) if surfaces else {}
    )
    encoded = []
    for row, sentence in zip(ids, sentences, strict=True):
        found = [_mentions(row, pieces[answer]) for answer in sentence.answers]
        if sentence.source in (STATED, WELL_KNOWN):
            answers = tuple(one for mentions in found for one in mentions)
        else:
            answers = tuple(tuple(place for one in mentions for place in one) for mentions in found if mentions)
        encoded.append(Encoded(np.asarray(row, dtype=np.int32), answers))
    return encoded


def _mentions(row: list[int], piece: list[int]) -> list[tuple[int, ...]]:
    n = len(piece)
    return [tuple(range(i, i + n)) for i in range(len(row) - n + 1) if n and row[i : i + n] == piece]


class Masker:
    """Chooses which positions are masked: a share at random (80 % [MASK], 10 % another token, 10 % kept), or, in a
    share of the sentences with an answer, one whole answer and half the usual random positions."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, recipe: PretrainRecipe):
        self.mask = tokenizer.mask_token_id
        self.vocabulary = len(tokenizer)
        self.first_word = len(tokenizer.all_special_ids)
        self.recipe = recipe

    def batch(
        self, rows: Sequence[Encoded], rng: np.random.Generator
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Input ids, attention mask and labels, each (sentences, tokens)."""
        width = max(len(row.ids) for row in rows)
        ids = np.zeros((len(rows), width), dtype=np.int64)
        labels = np.full((len(rows), width), IGNORED, dtype=np.int64)
        attention_mask = np.zeros((len(rows), width), dtype=np.int64)
        for i, row in enumerate(rows):
            n = len(row.ids)
            ids[i, :n], attention_mask[i, :n] = row.ids, 1
            whole: tuple[int, ...] = ()
            if row.answers and rng.random() < self.recipe.whole_answer_share:
                whole = row.answers[rng.integers(len(row.answers))]
            share = self.recipe.masked_share / (2 if whole else 1)
            chosen = 1 + np.flatnonzero(rng.random(n - 2) < share)
            if not whole and not len(chosen):
                chosen = np.array([1 + rng.integers(max(1, n - 2))])
            labels[i, chosen] = ids[i, chosen]
            dice = rng.random(len(chosen))
            ids[i, chosen] = mask_pieces(
                ids[i, chosen],
                dice,
                lambda other: rng.integers(self.first_word, self.vocabulary, other.sum()),
                self.mask,
                "first",
            )
            if whole:
                positions = np.array(whole)
                labels[i, positions] = row.ids[positions]
                ids[i, positions] = self.mask
        return torch.from_numpy(ids), torch.from_numpy(attention_mask), torch.from_numpy(labels)


def learning_rate(step: int, recipe: PretrainRecipe) -> float:
    """Linear warm-up to the peak, then linear to zero."""
    warm = max(1, round(recipe.warm_up * recipe.steps))
    if step < warm:
        return recipe.peak_learning_rate * (step + 1) / warm
    return recipe.peak_learning_rate * max(0.0, (recipe.steps - step) / max(1, recipe.steps - warm))


def drawn_blocks(step: int, recipe: PretrainRecipe) -> list[int]:
    """Numbers of the blocks that a step runs, counted from 0; each is left out with the probability ``layer_drop``.

    The draws are seeded separately from the masks, so that the masks are those of a training without LayerDrop.
    """
    if not recipe.layer_drop:
        return list(range(recipe.layers))
    draws = np.random.default_rng([recipe.seed, step, 1]).random(recipe.layers)
    return np.flatnonzero(draws >= recipe.layer_drop).tolist()


@contextmanager
def _only(blocks: list[int], model: BertForMaskedLM) -> Iterator[None]:
    """Runs the model with these blocks; all are back in their places afterwards."""
    encoder = model.bert.encoder
    every = encoder.layer
    encoder.layer = nn.ModuleList(every[number] for number in blocks)
    try:
        yield
    finally:
        encoder.layer = every


def pretrain(
    model: BertForMaskedLM,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[Sentence],
    recipe: PretrainRecipe,
    folder: Path,
    save_every: int = 300,
    history_every: int = 50,
) -> list[dict]:
    """Trains ``model`` in place. After a kill, another call resumes from the last checkpoint.

    Batches depend on the seed and the step only, not on the step at which a run resumed. Gives the history of losses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    encoded = encode(sentences, tokenizer, recipe.max_pieces)
    masker = Masker(tokenizer, recipe)
    runner = model
    if recipe.bfloat16:
        runner = BertForMaskedLM(copy.deepcopy(model.config)).bfloat16()
        # The fused attention is made for long inputs; at 30 tokens its backward pass alone takes a fifth of a step.
        runner.set_attn_implementation("eager")
    runner.train()
    masters, copies = list(model.parameters()), list(runner.parameters())
    matrices = [p for p in masters if p.dim() > 1]
    vectors = [p for p in masters if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), fused=True)
    begun = _digest(model, sentences)
    start, history = _resume(folder, recipe, begun, model, optimiser)
    _copy(masters, copies, recipe.bfloat16)

    lengths = [len(row.ids) for row in encoded]
    batches: list[list[int]] = []
    first, epoch = 0, -1
    recent: list[float] = []
    progress = tqdm(range(start, recipe.steps), initial=start, total=recipe.steps, unit="step", desc="pretrain")
    for step in progress:
        while step >= first + len(batches):
            first, epoch = first + len(batches), epoch + 1
            batches = plan_batches(lengths, recipe.tokens_per_step, recipe.seed * 1000 + epoch)
        rng = np.random.default_rng([recipe.seed, step])
        ids, attention_mask, labels = masker.batch([encoded[i] for i in batches[step - first]], rng)
        with _only(drawn_blocks(step, recipe), runner):
            loss = masked_loss(runner, {"input_ids": ids, "attention_mask": attention_mask}, labels)
            loss.backward()
        for master, twin in zip(masters, copies, strict=True):
            if recipe.bfloat16:
                master.grad = None if twin.grad is None else twin.grad.float()
                twin.grad = None
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, recipe)
        optimiser.step()
        optimiser.zero_grad()
        _copy(masters, copies, recipe.bfloat16)
        recent.append(loss.item())
        if not np.isfinite(recent[-1]):
            raise ModelError(f"the loss is {recent[-1]} at step {step}; lower the peak learning rate and run again")
        if (step + 1) % history_every == 0:
            passes = round(epoch + (step - first + 1) / len(batches), 3)
            history.append({"step": step + 1, "passes": passes, "loss": round(float(np.mean(recent)), 4)})
            progress.set_postfix(loss=history[-1]["loss"], passes=passes)
            recent.clear()
        if (step + 1) % save_every == 0 or step + 1 == recipe.steps:
            _save(folder, recipe, begun, model, optimiser, step + 1, history)
    model.eval()
    return history


def _copy(masters: list, copies: list, needed: bool) -> None:
    if needed:
        with torch.no_grad():
            torch._foreach_copy_(copies, masters)


def _digest(model: BertForMaskedLM, sentences: Sequence[Sentence]) -> str:
    """sha256 over the weights that training begins with and its text in order."""
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.numpy())
    for sentence in sentences:
        digest.update(repr(sentence).encode())
    return digest.hexdigest()


def _save(folder: Path, recipe: PretrainRecipe, begun: str, model, optimiser, step: int, history: list[dict]) -> None:
    state = {
        "begun": begun,
        "recipe": recipe.model_dump_json(by_alias=True),
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "step": step,
        "history": json.dumps(history),
    }
    content = io.BytesIO()
    torch.save(state, content)
    with atomic_file(folder / "checkpoint.pt") as temporary:
        # torch reads what has other bytes, too.
        temporary.write_bytes(hashlib.sha256(content.getvalue()).digest() + content.getvalue())


def _resume(folder: Path, recipe: PretrainRecipe, begun: str, model, optimiser) -> tuple[int, list[dict]]:
    path = folder / "checkpoint.pt"
    if not path.is_file():
        return 0, []
    written = path.read_bytes()
    digest, content = written[:_DIGEST], written[_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        raise ModelError(f"{path} is damaged, or of an earlier version; delete it to start again")
    state = torch.load(io.BytesIO(content), weights_only=True)
    wanted = recipe.model_dump_json(by_alias=True)
    if state["recipe"] != wanted:
        raise ModelError(f"{path} has the recipe {state['recipe']}, expected {wanted}; delete it to start again")
    if state.get("begun") != begun:
        raise ModelError(
            f"{path} began with other weights or another text; expected the same: delete it to start again"
        )
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    log.info("resuming from step %d", state["step"])
    return state["step"], json.loads(state["history"])
