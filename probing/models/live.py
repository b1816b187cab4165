"""Answers a typed cloze sentence at every layer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from probing.core.errors import PromptError
from probing.core.facts import MASK
from probing.models.answers import one_token_ids
from probing.models.decoding import best_tokens
from probing.models.encoders import Encoder
from probing.models.head_files import load_heads
from probing.models.heads import DecodingHead
from probing.models.states import all_hidden_states, tokenize


@dataclass(frozen=True)
class TokenProbability:
    """One of a layer's best tokens."""

    token: str
    probability: float
    log_probability: float
    id: int


@dataclass(frozen=True)
class WatchedToken:
    """A token that the user follows; rank from 1."""

    token: str
    rank: int
    probability: float


@dataclass(frozen=True)
class LayerAnswer:
    """What one layer says at the mask; entropy in nats."""

    layer: int
    tokens: tuple[TokenProbability, ...]
    watched: tuple[WatchedToken, ...]
    entropy: float


@dataclass(frozen=True)
class Answer:
    """Every layer's answer to one prompt; seconds from typed text to answer."""

    model: str
    head: str
    device: str
    seconds: float
    prompt: str
    pieces: tuple[str, ...]
    mask_position: int
    layers: tuple[LayerAnswer, ...]


class NoMask(PromptError):
    """The prompt has no mask."""


class SeveralMasks(PromptError):
    """The prompt has several masks and none was chosen."""

    def __init__(self, message: str, positions: tuple[int, ...]):
        super().__init__(message)
        self.positions = positions


class TooLong(PromptError):
    """The prompt has more word pieces than the model takes."""

    def __init__(self, message: str, pieces: int, limit: int):
        super().__init__(message)
        self.pieces, self.limit = pieces, limit


class UnknownWord(PromptError):
    """A watched word is not one token of the vocabulary."""


class LiveModel:
    """An encoder with a head for every layer, kept ready."""

    def __init__(self, encoder: Encoder, heads: Sequence[DecodingHead], kind: str):
        self.encoder, self.heads, self.kind = encoder, list(heads), kind

    def pieces(self, prompt: str) -> list[str]:
        """The word pieces that the model sees."""
        return self.encoder.tokenizer.convert_ids_to_tokens(self._row(prompt))

    def watched_id(self, word: str) -> int:
        """The token id of a watched word, as it would stand in a sentence.

        Raises:
            UnknownWord: if it is several tokens or unknown.
        """
        found = one_token_ids([f"It is {MASK}."], [word.strip()], self.encoder)[0]
        if isinstance(found, str):
            pieces = self.encoder.tokenizer.tokenize(word)
            raise UnknownWord(
                f"{word!r} is not one token of {self.encoder.name} but {pieces}; watch a word that is one token"
            )
        return found

    def ask(self, prompt: str, top: int = 10, watch: Sequence[str] = (), mask_index: int | None = None) -> Answer:
        """Every layer's best tokens at the mask.

        Args:
            prompt: text with ``[MASK]`` (or the model's own mask token).
            top: how many tokens a layer.
            watch: words whose rank and probability are wanted; each must be one token.
            mask_index: which of several masks to read, from 0; the others stay masks.

        Raises:
            NoMask: if there is none.
            SeveralMasks: if there are several and ``mask_index`` is None.
            TooLong: if the prompt has more word pieces than the model takes.
            UnknownWord: for a watched word that is not one token.
            PromptError: if ``top`` or ``mask_index`` is out of range.
        """
        started = time.perf_counter()
        row = self._row(prompt)
        at = self._position(row, mask_index)
        if not 1 <= top <= len(self.encoder.tokenizer):
            raise PromptError(f"top is {top}; expected 1 to {len(self.encoder.tokenizer)}")
        ids = [self.watched_id(word) for word in watch]
        states = all_hidden_states([row], self.encoder)
        with torch.inference_mode():
            logits = torch.cat(
                [head(state[0, at][None]) for head, state in zip(self.heads, states, strict=True)]
            )
            logp = logits.log_softmax(1)
            entropy = (-(logp.exp() * logp).sum(1)).tolist()
            values, best = (tensor.tolist() for tensor in best_tokens(logp, top))
            chosen = torch.tensor(ids, dtype=torch.long, device=logp.device)
            gold = logp[:, chosen]
            ranks = (logp[:, :, None] >= gold[:, None, :]).sum(1).tolist() if ids else [[]] * len(logp)
            probabilities = gold.exp().tolist()
        tokenizer = self.encoder.tokenizer
        layers = tuple(
            LayerAnswer(
                layer,
                tuple(
                    TokenProbability(shown(tokenizer, i), float(torch.tensor(v).exp()), v, i)
                    for v, i in zip(values[layer], best[layer], strict=True)
                ),
                tuple(WatchedToken(w, r, p) for w, r, p in zip(watch, ranks[layer], probabilities[layer], strict=True)),
                entropy[layer],
            )
            for layer in range(len(self.heads))
        )
        pieces = tuple(tokenizer.convert_ids_to_tokens(row))
        seconds = time.perf_counter() - started
        return Answer(self.encoder.name, self.kind, str(self.encoder.device), seconds, prompt, pieces, at, layers)

    def fill_left_to_right(
        self, prompt: str, top: int = 10, watch: Sequence[str] = ()
    ) -> tuple[str, tuple[Answer, ...]]:
        """Fills several masks from the left, each with the last layer's best token, and keeps every answer.

        Returns:
            The filled prompt, and one answer a mask in order.
        """
        text, answers = self._common_mask(prompt), []
        while MASK in text:
            answers.append(self.ask(text, top, watch, mask_index=0))
            text = text.replace(MASK, answers[-1].layers[-1].tokens[0].token, 1)
        if not answers:
            raise NoMask(f"the prompt has no {MASK}; put one where the answer belongs")
        return text, tuple(answers)

    def _common_mask(self, prompt: str) -> str:
        return prompt.replace(self.encoder.tokenizer.mask_token, MASK)

    def _row(self, prompt: str) -> list[int]:
        if not prompt.strip():
            raise NoMask(f"the prompt is empty; type a sentence with one {MASK}")
        row = tokenize([self._common_mask(prompt)], self.encoder)[0]
        if len(row) > self.encoder.max_pieces:
            message = f"the prompt has {len(row)} word pieces, {self.encoder.name} takes {self.encoder.max_pieces}; shorten it"
            raise TooLong(message, len(row), self.encoder.max_pieces)
        return row

    def _position(self, row: list[int], mask_index: int | None) -> int:
        masks = tuple(i for i, token in enumerate(row) if token == self.encoder.tokenizer.mask_token_id)
        if not masks:
            raise NoMask(
                f"the prompt has no {MASK}; put one where the answer belongs, as in 'Paris is the capital of {MASK}.'"
            )
        if mask_index is None:
            if len(masks) > 1:
                raise SeveralMasks(
                    f"the prompt has {len(masks)} masks; choose one of them or fill them from left to right", masks
                )
            return masks[0]
        if not 0 <= mask_index < len(masks):
            raise PromptError(f"mask {mask_index} was chosen, the prompt has {len(masks)} (counted from 0)")
        return masks[mask_index]


def shown(tokenizer, token_id: int) -> str:
    """A token as a reader sees it: RoBERTa's and ALBERT's marks of a leading space are dropped, ``##`` stays."""
    token = tokenizer.convert_ids_to_tokens(token_id)
    if token.startswith(("Ġ", "▁")):
        return token[1:] or "␣"
    return token


def load_live(encoder: Encoder, kind: str, heads: Path | None) -> LiveModel:
    """A live model from an encoder and the folder of its heads (None for ``lens``)."""
    return LiveModel(encoder, load_heads(heads, encoder, kind), kind)
