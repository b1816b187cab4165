"""Trains a decoding head for every layer from hidden states that are computed once and cached on disk.

The encoder is frozen and in eval mode; only masked positions are decoded. Differences from Wallat et al. 2020: larger
batches of cached states, the best checkpoint counted from step 0 on (their code probes the last epoch's).
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import BaseModel, ConfigDict
from tqdm import tqdm

from probing.core.errors import HeadError
from probing.models.encoders import Encoder
from probing.models.head_files import HeadIdentity, head_path, read_identity, save_head
from probing.models.heads import DecodingHead, fresh_copy
from probing.models.states import all_hidden_states, batches_by_length

log = logging.getLogger(__name__)


class HeadRecipe(BaseModel):
    """Everything that decides a head's weights."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    text_sha256: str
    positions: int = 30_000
    validation_positions: int = 5_000
    masked_share: float = 0.15
    max_pieces: int = 128
    epochs: int = 3
    batch: int = 256
    learning_rate: float = 5e-4
    warm_up: float = 0.1
    weight_decay: float = 0.01
    seed: int = 0
    start: str = "pre-trained"

    def canonical(self) -> str:
        """Canonical JSON, the form that is compared and stored."""
        return json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))


class MaskedStates:
    """Hidden states at masked positions and the tokens that were masked, memory-mapped.

    Attributes:
        states: (layers, positions, hidden) float32.
        labels: (positions,) token ids.
    """

    def __init__(self, states: np.ndarray, labels: np.ndarray):
        self.states, self.labels = states, labels


def text_sha256(train: Sequence[str], validation: Sequence[str]) -> str:
    """What a recipe calls its text: sha256 over training and validation sentences."""
    digest = hashlib.sha256()
    for part in (train, validation):
        digest.update(("\n".join(part) + "\0").encode())
    return digest.hexdigest()


def masked_states(encoder: Encoder, sentences: Sequence[str], recipe: HeadRecipe, positions: int, seed: int, folder: Path) -> MaskedStates:
    """Computes, or maps from disk, the states of all layers at ``positions`` masked positions.

    Sentences are visited in an order fixed by the seed; of each, ``masked_share`` of the word pieces are chosen: 80 %
    become the mask, 10 % another token, 10 % stay.

    Raises:
        HeadError: if the text has too few word pieces.
    """
    key = json.dumps([encoder.identity, recipe.text_sha256, positions, recipe.masked_share, recipe.max_pieces, seed])
    place = folder / hashlib.sha256(key.encode()).hexdigest()[:16]
    if (place / "labels.npy").is_file():
        return MaskedStates(np.load(place / "states.npy", mmap_mode="r"), np.load(place / "labels.npy"))
    rows, where, labels = _mask_rows(encoder, sentences, recipe, positions, seed)
    place.mkdir(parents=True, exist_ok=True)
    shape = (encoder.layers + 1, len(labels), encoder.hidden)
    states = np.lib.format.open_memmap(place / "states.npy.tmp", mode="w+", dtype=np.float32, shape=shape)
    first = np.cumsum([0, *(len(at) for at in where)])
    progress = tqdm(total=len(labels), unit="position", desc=f"states of {encoder.name}")
    for batch in batches_by_length([len(row) for row in rows]):
        hidden = all_hidden_states([rows[i] for i in batch], encoder)
        target = np.concatenate([np.arange(first[i], first[i + 1]) for i in batch])
        row_of = torch.tensor([n for n, i in enumerate(batch) for _ in where[i]], device=encoder.device)
        at = torch.tensor([p for i in batch for p in where[i]], device=encoder.device)
        for layer, state in enumerate(hidden):
            states[layer, target] = state[row_of, at].float().cpu().numpy()
        progress.update(len(target))
    progress.close()
    states.flush()
    (place / "states.npy.tmp").replace(place / "states.npy")
    # Written last: its presence says that the states are whole.
    np.save(place / "labels.tmp.npy", labels)
    (place / "labels.tmp.npy").replace(place / "labels.npy")
    return MaskedStates(np.load(place / "states.npy", mmap_mode="r"), labels)


def _mask_rows(
    encoder: Encoder, sentences: Sequence[str], recipe: HeadRecipe, positions: int, seed: int
) -> tuple[list[list[int]], list[list[int]], np.ndarray]:
    tokenizer, rng = encoder.tokenizer, np.random.default_rng([seed, positions])
    special = set(tokenizer.all_special_ids)
    ordinary = np.array([i for i in range(len(tokenizer)) if i not in special])
    rows: list[list[int]] = []
    where: list[list[int]] = []
    labels: list[int] = []
    order = rng.permutation(len(sentences))
    for start in range(0, len(order), 1000):
        texts = [sentences[i] for i in order[start : start + 1000]]
        length = min(recipe.max_pieces, encoder.max_pieces)
        for row in tokenizer(texts, truncation=True, max_length=length)["input_ids"]:
            free = np.array([i for i, token in enumerate(row) if token not in special], dtype=int)
            chosen = free[rng.random(len(free)) < recipe.masked_share][: positions - len(labels)]
            if not len(chosen):
                continue
            labels.extend(row[i] for i in chosen)
            for i, dice in zip(chosen, rng.random(len(chosen)), strict=True):
                if dice < 0.8:
                    row[i] = tokenizer.mask_token_id
                elif dice < 0.9:
                    row[i] = int(rng.choice(ordinary))
            rows.append(row)
            where.append([int(i) for i in chosen])
            if len(labels) == positions:
                return rows, where, np.array(labels)
    raise HeadError(f"the text gives {len(labels):,} masked positions, the recipe wants {positions:,}; give more text or ask for fewer")


def validation_loss(head: DecodingHead, states: np.ndarray, labels: np.ndarray, device: torch.device, batch: int = 512) -> float:
    """Mean cross-entropy in nats over (positions, hidden) states."""
    total = 0.0
    with torch.inference_mode():
        for i in range(0, len(labels), batch):
            logits = head(torch.from_numpy(np.array(states[i : i + batch])).to(device))
            total += F.cross_entropy(logits, torch.from_numpy(labels[i : i + batch]).to(device), reduction="sum").item()
    return total / len(labels)


def train_head(
    encoder: Encoder,
    layer: int,
    recipe: HeadRecipe,
    train: MaskedStates,
    valid: MaskedStates,
    folder: Path,
    dtype: torch.dtype,
) -> Path:
    """Trains and saves one layer's head; the best checkpoint by validation loss, the start included, is kept.

    Killed and called again, it goes on from the last finished epoch; a finished head of the same recipe is left alone.

    Raises:
        HeadError: if a head of another recipe lies where this one goes.
    """
    path, partial = head_path(folder, layer), folder / f"layer-{layer:02d}.partial.pt"
    if path.is_file():
        found = read_identity(path)
        if (found.recipe, found.weights) == (recipe.canonical(), encoder.identity):
            return path
        raise HeadError(f"{path} was trained by another recipe or for other weights; choose another folder or delete it")
    head = _start(encoder, recipe)
    own = {name: p.requires_grad_() for name, p in head.trainable(recipe.kind).items()}
    steps_an_epoch = -(-len(train.labels) // recipe.batch)
    total = steps_an_epoch * recipe.epochs
    optimiser = torch.optim.AdamW(own.values(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True)
    warm = max(1, round(recipe.warm_up * total))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min((s + 1) / warm, max(0.0, (total - s) / max(1, total - warm))))
    states, labels = np.array(train.states[layer]), train.labels
    curve = [[0, validation_loss(head, valid.states[layer], valid.labels, encoder.device)]]
    best = {name: p.detach().clone() for name, p in own.items()}
    first = 0
    if partial.is_file():
        saved = torch.load(partial, weights_only=True, map_location=encoder.device)
        if saved["recipe"] == recipe.canonical() and saved["weights"] == encoder.identity:
            first, curve, best = saved["epoch"], json.loads(saved["curve"]), saved["best"]
            optimiser.load_state_dict(saved["optimiser"])
            schedule.load_state_dict(saved["schedule"])
            with torch.no_grad():
                for name, p in own.items():
                    p.copy_(saved["now"][name])
    folder.mkdir(parents=True, exist_ok=True)
    progress = tqdm(total=total, initial=first * steps_an_epoch, unit="step", desc=f"{recipe.kind} head, layer {layer}", leave=False)
    for epoch in range(first, recipe.epochs):
        order = np.random.default_rng([recipe.seed, layer, epoch]).permutation(len(labels))
        for start in range(0, len(order), recipe.batch):
            chosen = np.sort(order[start : start + recipe.batch])
            logits = head(torch.from_numpy(states[chosen]).to(encoder.device))
            loss = F.cross_entropy(logits, torch.from_numpy(labels[chosen]).to(encoder.device))
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(own.values(), 1.0)
            optimiser.step()
            schedule.step()
            progress.update()
        curve.append([(epoch + 1) * steps_an_epoch, validation_loss(head, valid.states[layer], valid.labels, encoder.device)])
        if curve[-1][1] < min(point[1] for point in curve[:-1]):
            best = {name: p.detach().clone() for name, p in own.items()}
        state = {
            "recipe": recipe.canonical(),
            "weights": encoder.identity,
            "epoch": epoch + 1,
            "curve": json.dumps(curve),
            "now": {name: p.detach() for name, p in own.items()},
            "best": best,
            "optimiser": optimiser.state_dict(),
            "schedule": schedule.state_dict(),
        }
        torch.save(state, partial.with_suffix(".tmp"))
        partial.with_suffix(".tmp").replace(partial)
    progress.close()
    with torch.no_grad():
        for name, p in own.items():
            p.copy_(best[name])
    rounded = json.dumps([[step, round(loss, 5)] for step, loss in curve])
    save_head(
        head,
        HeadIdentity(encoder.name, encoder.identity, layer, recipe.kind, recipe.canonical(), rounded),
        folder,
        dtype,
    )
    partial.unlink(missing_ok=True)
    return path


def _start(encoder: Encoder, recipe: HeadRecipe) -> DecodingHead:
    head = fresh_copy(encoder.head, recipe.kind)
    if recipe.start == "random":
        torch.manual_seed(recipe.seed)
        head.dense.reset_parameters()
        head.norm.reset_parameters()
        if recipe.kind == "full":
            head.vocabulary.reset_parameters()
    elif recipe.start != "pre-trained":
        raise HeadError(f"a head starts from 'pre-trained' or 'random', not {recipe.start!r}")
    return head


def train_heads(
    encoder: Encoder,
    train: Sequence[str],
    valid: Sequence[str],
    recipe: HeadRecipe,
    folder: Path,
    cache: Path,
    dtype: torch.dtype = torch.float32,
    layers: Sequence[int] | None = None,
) -> list[Path]:
    """Trains a head for every layer 0..L, or for the layers named.

    Args:
        encoder: frozen encoder.
        train: training sentences.
        valid: validation sentences.
        recipe: kind and settings.
        folder: where the heads go.
        cache: where hidden states are kept, shared by kinds and seeds.
        dtype: how head weights are stored.
        layers: those to train; None means all.
    """
    training = masked_states(encoder, train, recipe, recipe.positions, 0, cache)
    validating = masked_states(encoder, valid, recipe, recipe.validation_positions, 1, cache)
    paths = []
    for layer in tqdm(range(encoder.layers + 1) if layers is None else layers, unit="layer", desc=f"{recipe.kind} heads of {encoder.name}"):
        paths.append(train_head(encoder, layer, recipe, training, validating, folder, dtype))
    return paths
