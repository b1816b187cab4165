"""Predictions of every layer for a typed cloze sentence, also with some layers replaced by the base's."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from tokenizers.models import WordPiece
from torch import nn
from transformers import PreTrainedTokenizerBase

from probing.facts.askable import no_answers
from probing.facts.candidates import cut_in
from probing.facts.requests import AskRequest
from probing.heads.decode import best_tokens, layer_logits
from probing.heads.files import chosen_heads, heads_folder, load_heads, no_heads_note
from probing.kernel.errors import ModelError, PromptError, Say
from probing.kernel.fact import MASK
from probing.kernel.files import cache_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.head import Head
from probing.kernel.models.layer_swap import Where, replaced_states
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.models.states import ENOUGH_TOKENS, batches_by_length, head_states, tokenize
from probing.kernel.models.tokens import phrase_text, token_texts
from probing.kernel.questions import (
    MAX_PIECES,
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
#: Partly filled gaps that each layer keeps.
BEAM = 5
#: A followed word, its token ids, and what a reader should know of it.
_Followed = tuple[str, tuple[int, ...], str]
#: (layers, positions, vocabulary) natural log-probabilities at positions of a row of tokens.
_Read = Callable[[list[int], Sequence[int]], torch.Tensor]


class LiveModel:
    """An encoder with a head per layer, ready for predictions."""

    def __init__(self, encoder: Encoder, heads: Sequence[Head], kind: str):
        self.encoder, self.heads, self.kind = encoder, list(heads), kind
        self._shown: dict[tuple[int, ...], str] = {}

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
        row = self.row(prompt)
        self.position(row, 0)
        return row.count(self.encoder.tokenizer.mask_token_id)

    def watched_ids(self, word: str, prompt: str, mask_index: int = 0) -> tuple[int, ...]:
        """Token ids of a watched word at a mask, as ``probe`` has them, or of the token written so, or UnknownWord."""
        return self._followed(word, prompt, mask_index)[1]

    def _followed(self, word: str, prompt: str, mask_index: int) -> _Followed:
        """The word, its token ids, and a note if only a token of the vocabulary looks so."""
        refuse_half_characters(word, "the word to follow", PromptError)
        row, text, tokenizer = self.row(prompt), self.common(prompt), self.encoder.tokenizer
        self.position(row, mask_index)
        if not word.strip() or MASK in self.common(word) or word.strip() in tokenizer.all_special_tokens:
            raise UnknownWord(f"got {word!r} as the word to follow; expected a word", "no word")
        (ids,) = cut_in(text, [word.strip()], self.encoder, mask_index).pieces
        if len(ids) == 1:
            return word, ids, ""
        before, after = text.split(MASK)[mask_index : mask_index + 2]
        token: int | None = tokenizer.backend_tokenizer.token_to_id(word.strip())
        if token is not None and _is_marked(tokenizer, word.strip()):
            return word, (token,), ""
        # Beside a letter, a token that looks like the word would be another one: "45" after "19" is not the token of
        # the word 45.
        if token is not None and not before[-1:].isalnum() and not after[:1].isalnum():
            return (
                word,
                (token,),
                f"{word} is not one token as a word here; the token {word} of the vocabulary is followed.",
            )
        most = min(MAX_PIECES, self.encoder.max_pieces - len(row) + 1)
        if 1 < len(ids) <= most:
            return word, ids, ""
        if not ids and (before[-1:].isalnum() or after[:1].isalnum()):
            raise UnknownWord(
                f"{word!r} merges with the letters beside the gap in the tokens of {self.encoder.name}; write blanks"
                f" between them, as in 'D L I {MASK} S', or choose another word",
                "no tokens apart from the letters beside the gap",
            )
        cut = f"{len(ids)} tokens" if ids else f"no tokens of its own (alone: {tokenizer.tokenize(word)})"
        raise UnknownWord(
            f"{word!r} has {cut} of {self.encoder.name}; this gap has room for one to {most}, so choose another word",
            f"{len(ids) or 'no'} tokens, room for {most}",
        )

    def ask(
        self,
        prompt: str,
        top: int = 10,
        watch: Sequence[str] = (),
        mask_index: int | None = None,
        pieces: int | None = None,
        *,
        read: _Read | None = None,
        check: Callable[[], None] | None = None,
        pause: Callable[[], None] | None = None,
    ) -> Answer:
        """Every layer's best tokens at the mask, or at one of several (``mask_index``, from 0), and the watched words.

        ``pieces``: tokens that fill the gap; None: as many as the first watched word has, else 1. Several are filled
        best first by every layer, see ``_best_first``; the probability is the product of those that the tokens had when
        they were filled. ``read`` gives the log-probabilities in place of layers, of one token. ``check`` is called
        before every layer and head; an error that it raises stops the computation. ``pause`` is called before every
        pass of such fillings, when the model is not in use. Errors: NoMask, SeveralMasks, TooLong, UnknownWord, or
        PromptError if ``top``, ``mask_index`` or ``pieces`` is out of range.
        """
        started = time.perf_counter()
        row = self.row(prompt)
        position = self.position(row, mask_index)
        followed = [self._followed(word, prompt, mask_index or 0) for word in watch]
        if pieces is None:
            pieces = len(followed[0][1]) if followed else 1
        elif not 1 <= pieces <= MAX_PIECES:
            raise PromptError(f"got {pieces} pieces in the gap, expected 1 to {MAX_PIECES}")
        _check_top(top, len(self.encoder.token_ids))
        masked = self._masked(row, position, pieces)
        best = self._best_first(masked, position, pieces, top, check, pause) if pieces > 1 else None
        read = read or partial(self._log_probabilities, check=check)
        return self._answer(self.common(prompt), row, position, read, top, followed, started, best)

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
        text, row = self.common(prompt), self.row(prompt)
        answers: list[Answer] = []
        self.position(row, 0)
        _check_top(top, len(self.encoder.token_ids))
        # In the typed prompt, before a neighbouring gap is filled.
        followed = [[self._followed(word, prompt, gap) for word in watch] for gap in range(self.gaps(prompt))]
        while tokenizer.mask_token_id in row:
            if pause:
                pause()
            started = time.perf_counter()
            position = self.position(row, 0)
            logp = self._log_probabilities(row, [position], check)

            def read(masked: list[int], at: Sequence[int], known: torch.Tensor = logp) -> torch.Tensor:
                return known if len(at) == 1 else self._log_probabilities(masked, at, check)

            answers.append(self._answer(text, row, position, read, top, followed[len(answers)], started))
            last = logp[-1, 0].clone()
            last[self._no_words(len(last))] = -torch.inf
            best = int(last.argmax())
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
        row, tokenizer = self.row(text), self.encoder.tokenizer
        _check_top(top, len(self.encoder.token_ids))
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
        words = {int(token): self._text((int(token),)) for token in np.unique(of)}
        pieces = tuple(tokenizer.convert_ids_to_tokens(row))
        seconds, device, shown_text = time.perf_counter() - started, str(self.encoder.device), self.common(text)
        return EveryToken(
            self.encoder.name, self.kind, device, seconds, shown_text, pieces, tuple(row), of, np.stack(odds), words
        )

    def _refuse_damage(self, logp: torch.Tensor) -> None:
        if logp.isnan().any():
            raise ModelError(
                f"{self.encoder.name} predicts values that are not finite; its weights or heads are damaged"
            )

    def _log_probabilities(
        self, row: list[int], positions: Sequence[int], check: Callable[[], None] | None = None
    ) -> torch.Tensor:
        """(layers, positions, vocabulary) natural log-probabilities."""
        with checked(self.encoder.body, check):
            states = [state[0] for state in head_states([row], self.encoder)]
        with torch.inference_mode():
            every = [torch.stack([state[position] for state in states]) for position in positions]
            return torch.stack([layer_logits(self.heads, at, check).log_softmax(1) for at in every], dim=1)

    def _best_first(
        self,
        masked: list[int],
        position: int,
        pieces: int,
        top: int,
        check: Callable[[], None] | None,
        pause: Callable[[], None] | None,
    ) -> list[tuple[TokenProbability, ...]]:
        """Each layer's best fillings of the masks from a position on.

        Of all masks and tokens the most probable one is filled first, and the others are predicted again (Jiang et al.
        2020, confidence-based decoding); each layer goes on with its ``BEAM`` best. A log-probability is the sum of
        those that the tokens had when they were filled; of several orders the most probable one counts.
        """
        end = position + pieces
        beams = [{tuple(masked[position:end]): 0.0}] * len(self.heads)
        for step in range(1, pieces + 1):
            # All layers share the passes, and equal rows are read once.
            fillings = list(dict.fromkeys(filled for beam in beams for filled in beam))
            rows = [[*masked[:position], *filled, *masked[end:]] for filled in fillings]
            parts = []
            for some in batches_by_length([len(row) for row in rows], ENOUGH_TOKENS):
                if pause:
                    pause()
                with checked(self.encoder.body, check):
                    read = head_states([rows[n] for n in some], self.encoder)
                parts.append(torch.stack([state[:, position:end] for state in read]))
            states, places = torch.cat(parts, dim=1), {filled: n for n, filled in enumerate(fillings)}
            for layer, (head, beam) in enumerate(zip(self.heads, beams, strict=True)):
                if check:
                    check()
                of = [states[layer, places[filled]] for filled in beam]
                beams[layer] = self._filled_further(head, of, beam, BEAM if step < pieces else top)
        return [
            tuple(TokenProbability(self._text(ids), math.exp(value), value, ids) for ids, value in beam.items())
            for beam in beams
        ]

    def _filled_further(
        self, head: Head, states: Sequence[torch.Tensor], beam: Mapping[tuple[int, ...], float], keep: int
    ) -> dict[tuple[int, ...], float]:
        """The best fillings that have one token more, with log-probabilities; states are (masks, hidden) of each."""
        tokenizer, fillings = self.encoder.tokenizer, list(beam)
        gaps = [
            (n, place)
            for n, filled in enumerate(fillings)
            for place, token in enumerate(filled)
            if token == tokenizer.mask_token_id
        ]
        with torch.inference_mode():
            logp = head(torch.stack([states[n][place] for n, place in gaps])).log_softmax(1)
            self._refuse_damage(logp)
            for row, (n, _) in zip(logp, gaps, strict=True):
                row += beam[fillings[n]]
            logp.index_fill_(1, self._no_words(logp.shape[1]), -math.inf)
            # A filling is reached by each of its tokens as the last one.
            values, numbers = best_tokens(logp.reshape(1, -1), keep * len(fillings[0]))
        found: dict[tuple[int, ...], float] = {}
        for value, number in zip(values[0].tolist(), numbers[0].tolist(), strict=True):
            (n, place), token = gaps[number // logp.shape[1]], number % logp.shape[1]
            if value > -math.inf and len(found) < keep:
                found.setdefault((*fillings[n][:place], token, *fillings[n][place + 1 :]), value)
        return found

    def _no_words(self, rows: int) -> torch.Tensor:
        """Those of the rows of the vocabulary that are filled into no gap, as they are no answers or have no token."""
        words = np.setdiff1d(self.encoder.token_ids, list(no_answers(self.encoder)))
        return torch.tensor(np.setdiff1d(np.arange(rows), words), device=self.encoder.device)

    def _answer(
        self,
        prompt: str,
        row: list[int],
        position: int,
        read: _Read,
        top: int,
        followed: Sequence[_Followed],
        started: float,
        best: Sequence[tuple[TokenProbability, ...]] | None = None,
    ) -> Answer:
        """``best``: each layer's fillings of several tokens; None: of one token, by its probability."""
        tokenizer, filled = self.encoder.tokenizer, len(best[0][0].ids) if best else 1
        watched: dict[tuple[int, ...], list[tuple[int, float]]] = {}
        for pieces in sorted({*(len(ids) for _, ids, _ in followed), filled}, key=lambda n: n == filled):
            logp = read(self._masked(row, position, pieces), range(position, position + pieces))
            self._refuse_damage(logp)
            for ids in {ids for _, ids, _ in followed if len(ids) == pieces}:
                gold = torch.stack([logp[:, place, token] for place, token in enumerate(ids)], dim=1)
                ranks = (logp >= gold[:, :, None]).sum(2).amax(1)
                watched[ids] = list(zip(ranks.tolist(), gold.sum(1).exp().tolist(), strict=True))
        if best is None:
            values, tokens = best_tokens(logp[:, 0], top)
            columns = zip(tokens.tolist(), values.exp().tolist(), values.tolist(), strict=True)
            best = [
                tuple(TokenProbability(self._text((i,)), p, v, (i,)) for i, p, v in zip(*of, strict=True))
                for of in columns
            ]
        entropy = entropies(logp.flatten(0, 1)).view(logp.shape[:2]).sum(1).tolist()
        layers = tuple(
            LayerAnswer(
                layer,
                tokens,
                tuple(WatchedToken(w, *watched[ids][layer], ids) for w, ids, _ in followed),
                entropy[layer],
            )
            for layer, tokens in enumerate(best)
        )
        names = tuple(tokenizer.convert_ids_to_tokens(self._masked(row, position, filled)))
        notes = (*_notes(tokenizer, prompt, names), *filter(None, (note for *_, note in followed)))
        seconds, device = time.perf_counter() - started, str(self.encoder.device)
        return Answer(
            self.encoder.name, self.kind, device, seconds, prompt, names, position, layers, logp.shape[2], notes
        )

    def _masked(self, row: list[int], position: int, pieces: int) -> list[int]:
        """The row with a mask for each of some pieces in place of one."""
        masks = [self.encoder.tokenizer.mask_token_id] * pieces
        return self._fitting([*row[:position], *masks, *row[position + 1 :]], pieces)

    def _text(self, ids: tuple[int, ...]) -> str:
        """The tokens as a reader writes them; half characters are shown token by token."""
        if ids not in self._shown:
            tokenizer = self.encoder.tokenizer
            tokens = [tokenizer.backend_tokenizer.id_to_token(token) for token in ids]
            text = phrase_text(tokenizer, tokens) if len(ids) > 1 else NO_TEXT
            self._shown[ids] = " ".join(readable_token(tokenizer, one) for one in ids) if NO_TEXT in text else text
        return self._shown[ids]

    def common(self, prompt: str) -> str:
        """The prompt with ``[MASK]`` in every gap."""
        return with_masks(prompt.replace(self.encoder.tokenizer.mask_token, MASK))

    def row(self, prompt: str) -> list[int]:
        """Token ids of a prompt; NoMask if it is empty, TooLong."""
        if not prompt.strip():
            raise NoMask(f"the prompt is empty; type a sentence with a gap, written {MASK} or ___")
        refuse_half_characters(prompt, "the prompt", PromptError)
        return self._fitting(tokenize([self.common(prompt)], self.encoder)[0])

    def _fitting(self, row: list[int], pieces: int = 1) -> list[int]:
        if len(row) > self.encoder.max_pieces:
            limit, gap = self.encoder.max_pieces, f" with {pieces} in the gap" if pieces > 1 else ""
            message = (
                f"the prompt{gap} has {len(row)} word pieces, {self.encoder.name} takes at most {limit}; shorten it"
            )
            raise TooLong(message, len(row), limit)
        return row

    def position(self, row: list[int], mask_index: int | None) -> int:
        """Place of a mask, counted from 0; None: of the only one, else SeveralMasks."""
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
    named = ("cls_token", "sep_token", "bos_token", "eos_token", "pad_token")
    # A few tokenizers pad with the mask.
    own = {getattr(tokenizer, name) for name in named} - {None, tokenizer.mask_token}
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
    """Predictions of one token at the mask with n = 0..L layers replaced, always by the live model's own last head.

    ``check`` is called before every n, when the model is not in use. Errors as in ``LiveModel.ask``; NotReplaceable.
    """

    def read(row: list[int], at: Sequence[int]) -> torch.Tensor:
        states = replaced_states(row, live.encoder, base, where, check)
        with torch.inference_mode():
            # All n in one batch, as in ``LiveModel.ask``, so that n = L is the base to the last bit.
            every = [layer_logits([live.heads[-1]] * len(states), states[:, position]) for position in at]
            return torch.stack(every, dim=1).log_softmax(2)

    answer = live.ask(prompt, top, watch, mask_index, 1, read=read)
    return ReplacedAnswer(live.encoder.name, base.name, live.encoder.base, where, answer)


def ask_layers(request: AskRequest, say: Say = print) -> Answer:
    """Every layer's predictions; ``say`` gets a line if the logit lens replaces heads that are not trained."""
    return _opened(request, say).ask(request.prompt, request.top, request.watch, request.mask, request.pieces)


def _opened(request: AskRequest, say: Say) -> LiveModel:
    """The model with the requested heads; by default the tied ones or, with a line to the user, the logit lens."""
    encoder = open_encoder(request.model, request.base, request.device, revision=request.revision)
    kind, folder = chosen_heads(request.model, encoder, request.head, cache_folder())
    if request.head is None and kind == LOGIT_LENS:
        say(no_heads_note(encoder))
    return load_live(encoder, kind, folder)
