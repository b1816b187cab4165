"""Predictions of every layer for a typed cloze sentence, also with some layers replaced by the base's."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers.models import WordPiece
from torch import nn
from transformers import PreTrainedTokenizerBase

from probing.facts.askable import one_token_ids
from probing.facts.fact import MASK
from probing.facts.requests import AskRequest
from probing.heads.decode import best_tokens, layer_logits
from probing.heads.files import chosen_heads, heads_folder, load_heads, no_heads_note
from probing.kernel.errors import ModelError, PromptError, Say
from probing.kernel.files import cache_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.head import Head
from probing.kernel.models.layer_swap import Where, replaced_states
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.models.states import head_states, tokenize
from probing.kernel.models.tokens import token_texts
from probing.kernel.questions import (
    Answer,
    EveryToken,
    LayerAnswer,
    NoMask,
    SeveralMasks,
    TokenProbability,
    TooLong,
    UnknownWord,
    WatchedToken,
    with_masks,
)
from probing.kernel.text import NO_TEXT, refuse_half_characters

#: The special tokens that people type, since old examples have them.
_SPECIAL = ("[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>")
#: Tokens of a text that are decoded at once.
_AT_ONCE = 64


class LiveModel:
    """An encoder with a head per layer, ready for predictions."""

    def __init__(self, encoder: Encoder, heads: Sequence[Head], kind: str):
        self.encoder, self.heads, self.kind = encoder, list(heads), kind
        self._shown: dict[int, str] = {}

    @property
    def weights(self) -> dict[int, torch.Tensor]:
        """All weights by their address in memory; those that body and heads share, or two live models, are the same."""
        return {
            t.data_ptr(): t
            for module in (self.encoder.body, self.encoder.head, *self.heads)
            for t in module.parameters()
        }

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        return sum(weight.nbytes for weight in self.weights.values())

    def gaps(self, prompt: str) -> int:
        """Number of masks of the prompt; NoMask, TooLong or PromptError if the model cannot predict it."""
        row = self._row(prompt)
        self._position(row, 0)
        return row.count(self.encoder.tokenizer.mask_token_id)

    def watched_id(self, word: str, prompt: str, mask_index: int = 0) -> int:
        """The token id of a watched word at a mask, as ``probe`` has it, or of the token written so, or UnknownWord."""
        return self._followed(word, prompt, mask_index)[1]

    def _followed(self, word: str, prompt: str, mask_index: int) -> tuple[str, int, str]:
        """The word, its token id, and a note if only a token of the vocabulary looks so."""
        refuse_half_characters(word, "the word to follow", PromptError)
        self._position(self._row(prompt), mask_index)
        text, tokenizer = self._common_mask(prompt), self.encoder.tokenizer
        token_id = one_token_ids([text], [word.strip()], self.encoder, [mask_index])[0]
        if not isinstance(token_id, str):
            return word, token_id, ""
        before, after = text.split(MASK)[mask_index : mask_index + 2]
        token: int | None = tokenizer.backend_tokenizer.token_to_id(word.strip())
        if token is not None and _is_marked(tokenizer, word.strip()):
            return word, token, ""
        # Beside a letter, a token that looks like the word would be another one: "45" after "19" is not the token of
        # the word 45.
        if token is not None and not before[-1:].isalnum() and not after[:1].isalnum():
            return (
                word,
                token,
                f"{word} is not one token as a word here; the token {word} of the vocabulary is followed.",
            )
        alone = tokenizer.tokenize(word)
        raise UnknownWord(
            f"{word!r} is not one token of {self.encoder.name} at this gap (alone: {alone}); choose a word that is one"
            " token"
        )

    def ask(
        self,
        prompt: str,
        top: int = 10,
        watch: Sequence[str] = (),
        mask_index: int | None = None,
        *,
        read: Callable[[list[int], int], torch.Tensor] | None = None,
        check: Callable[[], None] | None = None,
    ) -> Answer:
        """Every layer's best tokens at the mask, or at one of several (``mask_index``, from 0), and the watched words.

        ``read`` gives other (rows, vocabulary) log-probabilities, from token ids and position, in place of layers.
        ``check`` is called before every layer and head; an error that it raises stops the computation. Errors: NoMask,
        SeveralMasks, TooLong, UnknownWord, or PromptError if ``top`` or ``mask_index`` is out of range.
        """
        started = time.perf_counter()
        row = self._row(prompt)
        position = self._position(row, mask_index)
        followed = [self._followed(word, prompt, mask_index or 0) for word in watch]
        logp = read(row, position) if read else self._log_probabilities(row, position, check)
        return self._answer(self._common_mask(prompt), row, position, logp, top, followed, started)

    def fill_left_to_right(
        self,
        prompt: str,
        top: int = 10,
        watch: Sequence[str] = (),
        check: Callable[[], None] | None = None,
        pause: Callable[[], None] | None = None,
    ) -> tuple[str, tuple[Answer, ...]]:
        """The prompt with each mask filled by the last layer's best token, from the left, and every answer.

        The token is inserted, not its text, so that the other word pieces stay unchanged; special tokens are skipped.
        ``pause`` is called before every gap, when the model is not in use. Errors as in ``ask``.
        """
        tokenizer = self.encoder.tokenizer
        text, row = self._common_mask(prompt), self._row(prompt)
        answers: list[Answer] = []
        self._position(row, 0)
        # In the typed prompt, before a neighbouring gap is filled.
        followed = [[self._followed(word, prompt, gap) for word in watch] for gap in range(self.gaps(prompt))]
        while tokenizer.mask_token_id in row:
            if pause:
                pause()
            started = time.perf_counter()
            position = self._position(row, 0)
            logp = self._log_probabilities(row, position, check)
            answers.append(self._answer(text, row, position, logp, top, followed[len(answers)], started))
            last = logp[-1].clone()
            last[tokenizer.all_special_ids] = -torch.inf
            best = int(last[: len(tokenizer)].argmax())
            row = [*row[:position], best, *row[position + 1 :]]
            text = text.replace(MASK, readable_token(tokenizer, best), 1)
        return text, tuple(answers)

    def every_token(self, text: str, top: int = 20, check: Callable[[], None] | None = None) -> EveryToken:
        """Every layer's best tokens at every token of a text, which needs no gap; ``check`` as in ``ask``.

        TooLong, or PromptError: there is no text, or ``top`` is out of range.
        """
        started = time.perf_counter()
        if not text.strip():
            raise PromptError("the text is empty; type a sentence")
        row, tokenizer = self._row(text), self.encoder.tokenizer
        _check_top(top, len(tokenizer))
        with checked(self.encoder.body, check):
            states = head_states([row], self.encoder)
        ids, odds = [], []
        with torch.inference_mode():
            for head, state in zip(self.heads, states, strict=True):
                if check:
                    check()
                best, values = [], []
                # Blocks, because (pieces, vocabulary) logits of a long text do not fit a small machine.
                for some in state[0].split(_AT_ONCE):
                    logp = head(some).log_softmax(1)
                    self._refuse_damage(logp)
                    best_logp, tokens = best_tokens(logp, top)
                    best.append(tokens.cpu())
                    values.append(best_logp.exp().cpu())
                ids.append(torch.cat(best).numpy())
                odds.append(torch.cat(values).numpy())
        of = np.stack(ids)
        words = {int(token): self._text(int(token)) for token in np.unique(of)}
        pieces = tuple(tokenizer.convert_ids_to_tokens(row))
        seconds, device, shown_text = time.perf_counter() - started, str(self.encoder.device), self._common_mask(text)
        return EveryToken(
            self.encoder.name, self.kind, device, seconds, shown_text, pieces, tuple(row), of, np.stack(odds), words
        )

    def _refuse_damage(self, logp: torch.Tensor) -> None:
        if logp.isnan().any():
            raise ModelError(
                f"{self.encoder.name} predicts values that are not finite; its weights or heads are damaged"
            )

    def _log_probabilities(
        self, row: list[int], position: int, check: Callable[[], None] | None = None
    ) -> torch.Tensor:
        """(layers, vocabulary) natural log-probabilities at one position."""
        with checked(self.encoder.body, check):
            states = torch.stack([state[0, position] for state in head_states([row], self.encoder)])
        with torch.inference_mode():
            return layer_logits(self.heads, states, check).log_softmax(1)

    def _answer(
        self,
        prompt: str,
        row: list[int],
        position: int,
        logp: torch.Tensor,
        top: int,
        followed: Sequence[tuple[str, int, str]],
        started: float,
    ) -> Answer:
        tokenizer = self.encoder.tokenizer
        self._refuse_damage(logp)
        _check_top(top, len(tokenizer))
        chosen = torch.tensor([token for _, token, _ in followed], dtype=torch.long, device=logp.device)
        values, best = best_tokens(logp, top)
        gold = logp[:, chosen]
        columns = zip(
            best.tolist(),
            values.tolist(),
            values.exp().tolist(),
            (logp[:, :, None] >= gold[:, None, :]).sum(1).tolist(),
            gold.exp().tolist(),
            entropies(logp).tolist(),
            strict=True,
        )
        layers = tuple(
            LayerAnswer(
                layer,
                tuple(TokenProbability(self._text(i), p, v, i) for i, v, p in zip(ids, logs, odds, strict=True)),
                tuple(WatchedToken(w, r, p, i) for (w, i, _), r, p in zip(followed, ranks, watched, strict=True)),
                entropy,
            )
            for layer, (ids, logs, odds, ranks, watched, entropy) in enumerate(columns)
        )
        pieces = tuple(tokenizer.convert_ids_to_tokens(row))
        notes = (*_notes(tokenizer, prompt, pieces), *filter(None, (note for *_, note in followed)))
        seconds = time.perf_counter() - started
        of_best = tuple(logp[:, best[-1, 0]].exp().tolist())
        device = str(self.encoder.device)
        return Answer(
            self.encoder.name,
            self.kind,
            device,
            seconds,
            prompt,
            pieces,
            position,
            layers,
            of_best,
            logp.shape[1],
            notes,
        )

    def _text(self, token_id: int) -> str:
        if token_id not in self._shown:
            self._shown[token_id] = readable_token(self.encoder.tokenizer, token_id)
        return self._shown[token_id]

    def _common_mask(self, prompt: str) -> str:
        return with_masks(prompt.replace(self.encoder.tokenizer.mask_token, MASK))

    def _row(self, prompt: str) -> list[int]:
        if not prompt.strip():
            raise NoMask(f"the prompt is empty; type a sentence with a gap, written {MASK} or ___")
        refuse_half_characters(prompt, "the prompt", PromptError)
        row = tokenize([self._common_mask(prompt)], self.encoder)[0]
        if len(row) > self.encoder.max_pieces:
            limit = self.encoder.max_pieces
            message = f"the prompt has {len(row)} word pieces, {self.encoder.name} takes at most {limit}; shorten it"
            raise TooLong(message, len(row), limit)
        return row

    def _position(self, row: list[int], mask_index: int | None) -> int:
        masks = tuple(i for i, token in enumerate(row) if token == self.encoder.tokenizer.mask_token_id)
        if not masks:
            raise NoMask(
                f"the prompt has no {MASK}; put it, or ___, where the answer belongs, as in 'Paris is the capital of"
                f" {MASK}.'"
            )
        if mask_index is None:
            if len(masks) > 1:
                raise SeveralMasks(
                    f"the prompt has {len(masks)} masks; choose one of them or fill them from left to right", masks
                )
            return masks[0]
        if not 0 <= mask_index < len(masks):
            raise PromptError(f"got mask {mask_index}, counted from 0; the prompt has {len(masks)} masks")
        return masks[mask_index]


def _check_top(top: int, vocabulary: int) -> None:
    if not 1 <= top <= vocabulary:
        raise PromptError(f"got top {top}, expected 1 to {vocabulary}")


@contextmanager
def checked(body: nn.Module, check: Callable[[], None] | None) -> Iterator[None]:
    """Calls ``check`` before every norm of the body: every layer of every architecture has one."""
    # DeBERTa's norm is another class than torch's.
    norms = [module for module in body.modules() if type(module).__name__.endswith("LayerNorm")] if check else []
    hooks = [norm.register_forward_pre_hook(lambda *_: check()) for norm in norms]  # type: ignore[misc]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def entropies(logp: torch.Tensor) -> torch.Tensor:
    """(rows,) entropy in nats; tokens of probability 0 add 0."""
    return -(logp.exp() * logp.clamp_min(torch.finfo(logp.dtype).min)).sum(1)


def _is_marked(tokenizer: PreTrainedTokenizerBase, token: str) -> bool:
    """Whether a token is written otherwise than the text that it stands for: ``##s``, ``Ġparis``, ``▁paris``."""
    (read,) = token_texts(tokenizer, [token])
    return read.text != token or (isinstance(tokenizer.backend_tokenizer.model, WordPiece) and not read.starts_word)


def _notes(tokenizer: PreTrainedTokenizerBase, text: str, pieces: Sequence[str]) -> tuple[str, ...]:
    """What a reader of the answer should know of the sentence."""
    notes, unknown = [], tokenizer.unk_token
    if unknown in pieces:
        notes.append(f"The model reads {' '.join(pieces)}, where {unknown} stands for text that its vocabulary lacks.")
    own = {tokenizer.cls_token, tokenizer.sep_token, tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token} - {
        None
    }
    if typed := [token for token in dict.fromkeys((*_SPECIAL, *sorted(own))) if token in text]:
        notes.append(
            f"The sentence has {' and '.join(typed)}; the tokenizer adds its own special tokens, so leave them out."
        )
    return tuple(notes)


def readable_token(tokenizer: PreTrainedTokenizerBase, token_id: int) -> str:
    """Readable text of a token, by ``token_texts``; half a character has no text, so its token is shown."""
    token: str | None = tokenizer.backend_tokenizer.id_to_token(token_id)
    if token is None:
        return f"unused {token_id}"  # Vocabulary matrices are padded to round sizes.
    text = token_texts(tokenizer, [token])[0].text
    return token if NO_TEXT in text else text


def load_live(encoder: Encoder, kind: str, heads: Path | None) -> LiveModel:
    """A live model from an encoder and the folder of its heads (None for ``logit_lens``)."""
    return LiveModel(encoder, load_heads(heads, encoder, kind), kind)


def open_live(model: str, kind: str, cache: Path, device: str = "auto", base: str | None = None) -> LiveModel:
    """Loads a model with a head per layer; ModelError or HeadError if they do not exist or do not fit."""
    encoder = open_encoder(model, base, device)
    folder = None if kind == LOGIT_LENS else heads_folder(model, encoder, kind, cache)
    return load_live(encoder, kind, folder)


@dataclass(frozen=True)
class ReplacedAnswer:
    """Predictions for one sentence with n = 0..L layers replaced."""

    model: str
    base: str  #: name of the model whose layers replace them
    reader: str  #: name of the model whose masked-LM head decodes the last layer
    where: str  #: the ``last`` or the ``first`` n
    answer: Answer  #: ``layers[n]`` is the last layer with n layers replaced


def ask_replaced(
    live: LiveModel,
    base: Encoder,
    prompt: str,
    where: Where = "last",
    top: int = 10,
    watch: Sequence[str] = (),
    mask_index: int | None = None,
    check: Callable[[], None] | None = None,
) -> ReplacedAnswer:
    """Predictions at the mask with n = 0..L layers replaced, always by the live model's own last head.

    ``check`` is called before every n, when the model is not in use. Errors as in ``LiveModel.ask``; NotReplaceable.
    """

    def read(row: list[int], at: int) -> torch.Tensor:
        states = replaced_states(row, live.encoder, base, where, check)
        with torch.inference_mode():
            # All n in one batch, as in ``LiveModel.ask``, so that n = L is the base to the last bit.
            return layer_logits([live.heads[-1]] * len(states), states[:, at]).log_softmax(1)

    answer = live.ask(prompt, top, watch, mask_index, read=read)
    return ReplacedAnswer(live.encoder.name, base.name, live.encoder.base, where, answer)


def ask_layers(request: AskRequest, say: Say = print) -> Answer:
    """Every layer's predictions; ``say`` gets a line if the logit lens replaces heads that are not trained."""
    return _opened(request, say).ask(request.prompt, request.top, request.watch, request.mask)


def _opened(request: AskRequest, say: Say) -> LiveModel:
    """The model with the requested heads; by default the tied ones or, with a line to the user, the logit lens."""
    encoder = open_encoder(request.model, request.base, request.device, revision=request.revision)
    kind, folder = chosen_heads(request.model, encoder, request.head, cache_folder())
    if request.head is None and kind == LOGIT_LENS:
        say(no_heads_note(encoder))
    return load_live(encoder, kind, folder)
