"""Hidden states of every layer at the mask, random encoders as their baseline, and how far weights moved."""

import contextlib
import copy
import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from probing.kernel.errors import ModelError, OptionError
from probing.kernel.fact import MASK
from probing.kernel.models.arrays import read_sealed, write_sealed
from probing.kernel.models.load import Encoder
from probing.kernel.provenance import RANDOM, RANDOM_BODY, TRAINED

#: Words that stand in a gap while a sentence is cut into tokens. Only the tokens around them are kept, and these are
#: the same for every word that does not merge with its neighbours: in the three kinds of vocabulary (WordPiece, byte
#: pairs, unigram) a part of a text is cut by itself, once its ends are known. A word may merge with letters that touch
#: the gap; then the next is tried.
_STAND_INS = ("internationally", "qq", "zz", "vw", "the", "xj", "L", "7")


@dataclass(frozen=True)
class Filled:
    """A sentence with words in its gaps, in tokens, special ones included; spans are of characters."""

    ids: list[int]
    spans: list[tuple[int, int]]
    added: list[int]  #: whether the tokenizer added it, as a special token
    parts: list[int | None]  #: the tokenizer's own word that it is of
    words: list[tuple[int, int]]
    text: str
    spaces: str  #: signs that the tokenizer reads as a space

    def pieces(self, first: int, last: int) -> list[int]:
        """Numbers of the tokens of these characters, with that of the space before them, if it is one."""
        space = first - (first > 0 and self.text[first - 1] in self.spaces)
        # A space has no width where offsets are trimmed (RoBERTa).
        return [
            n
            for n, (start, end) in enumerate(self.spans)
            if ((start < last and end > space) or start == end == first) and not self.added[n]
        ]

    def own_pieces(self, gap: int) -> list[int]:
        """Numbers of the tokens of a gap's word; none if one of them has letters beside it, too."""
        first, last = self.words[gap]
        pieces = self.pieces(first, last)
        merged = pieces and (
            self.spans[pieces[0]][0] < len(self.text[:first].rstrip()) or self.spans[pieces[-1]][1] > last
        )
        return [] if merged else pieces

    def beside_gap(self, first: int, last: int) -> tuple[int, ...]:
        """Places in ``masked`` of the tokens of these characters, of a sentence with one gap; without the gap's."""
        gap = self.own_pieces(0)
        fewer = max(len(gap) - 1, 0)
        return tuple(n - fewer * (n > gap[-1]) if gap else n for n in self.pieces(first, last) if n not in gap)

    def places_of(self, words: str, flags: re.RegexFlag = re.NOFLAG) -> set[int]:
        """``beside_gap`` of words, wherever they occur as whole ones; none for an empty text."""
        spans = re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", self.text, flags) if words else ()
        return {place for span in spans for place in self.beside_gap(*span.span())}

    def words_of(self, pieces: Sequence[int]) -> tuple[int, ...]:
        """Place in ``pieces`` of the first token of each one's word: the tokenizer's own, which ends at a blank, too.

        Gemma's tokenizer cuts no words.
        """
        starts: list[int] = []
        for place, n in enumerate(pieces):
            between = self.text[self.spans[n - 1][1] : self.spans[n][0] + 1]
            inside = starts and self.parts[n] == self.parts[n - 1] and not any(map(str.isspace, between))
            starts.append(starts[-1] if inside else place)
        return tuple(starts)

    def masked(self, mask: int) -> list[int] | None:
        """The token ids with one mask in place of each word; None if a word has no tokens of its own."""
        row, start = [], 0
        for gap in range(len(self.words)):
            pieces = self.own_pieces(gap)
            if not pieces:
                return None
            row += [*self.ids[start : pieces[0]], mask]
            start = pieces[-1] + 1
        return row + self.ids[start:]


def fill_gaps(prompts: Sequence[str], words: Sequence[Sequence[str]], encoder: Encoder) -> list[Filled]:
    """The prompts with a word in each ``[MASK]``, in tokens, never truncated."""
    return filled_by(encoder.tokenizer, prompts, words)


def filled_by(
    tokenizer: PreTrainedTokenizerBase, prompts: Sequence[str], words: Sequence[Sequence[str]]
) -> list[Filled]:
    """As ``fill_gaps``, by a tokenizer alone."""
    if not prompts:
        return []
    texts, places = [], []
    for prompt, inserted in zip(prompts, words, strict=True):
        text, *others = prompt.split(MASK)
        spans = []
        for word, after in zip(inserted, others, strict=True):
            spans.append((len(text), len(text) + len(word)))
            text += word + after
        texts.append(text)
        places.append(spans)
    read = tokenizer(
        texts, truncation=False, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False
    )
    parts = [read.word_ids(n) for n in range(len(texts))]
    before = {text[first - 1 : first] for text, spans in zip(texts, places, strict=True) for first, _ in spans}
    spaces = [_spaces(tokenizer, before)] * len(texts)
    tokens = (read["input_ids"], read["offset_mapping"], read["special_tokens_mask"], parts)
    return [Filled(*column) for column in zip(*tokens, places, texts, spaces, strict=True)]


def _spaces(tokenizer: PreTrainedTokenizerBase, signs: Iterable[str]) -> str:
    """The space, and those of the signs that the tokenizer makes one, such as a no-break space."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    others = {sign for sign in signs if sign.isspace() and sign != " "} if normalizer else set()
    return " " + "".join(
        sign for sign in sorted(others) if normalizer.normalize_str(f"a{sign}a") == normalizer.normalize_str("a a")
    )


def own_mask(text: str, encoder: Encoder) -> str:
    """The text with the model's mask in each ``[MASK]``; some tokenizers set a token for a blank before it."""
    spaces = re.escape(_spaces(encoder.tokenizer, text))
    return re.sub(rf"[{spaces}]?{re.escape(MASK)}", lambda _: encoder.tokenizer.mask_token, text)


def masked_rows(prompts: Sequence[str], encoder: Encoder) -> list[tuple[list[int], str]]:
    """Token ids of each prompt, and the word of its gaps: the mask, if every word merges with its neighbours."""
    mask = encoder.tokenizer.mask_token
    readings: list[tuple[list[int], str]] = [([], mask)] * len(prompts)
    left = list(range(len(prompts)))
    for word in (*_STAND_INS, mask):
        filled = fill_gaps([prompts[n] for n in left], [[word] * prompts[n].count(MASK) for n in left], encoder)
        rows = [
            prompt.masked(encoder.tokenizer.mask_token_id) or (prompt.ids if word == mask else []) for prompt in filled
        ]
        for n, row in zip(left, rows, strict=True):
            readings[n] = (row, word)
        left = [n for n, row in zip(left, rows, strict=True) if not row]
    return readings


def tokenize(prompts: Sequence[str], encoder: Encoder) -> list[list[int]]:
    """Token ids of each prompt, special tokens included, never truncated.

    For an answer of one token they are those of the filled sentence with the mask in place of the answer, as in
    pre-training; the tokenizer's own reading of a text with a mask may have a token for the space before or after it.
    """
    return [row for row, _ in masked_rows(prompts, encoder)]


TOKENS_A_BATCH = 4096
#: A batch of prompts with this many tokens takes no longer row: more tokens are not faster, and padding is wasted work.
ENOUGH_TOKENS = 256


def batches_by_length(
    lengths: Sequence[int], tokens: int = TOKENS_A_BATCH, enough: int | None = None
) -> Iterator[list[int]]:
    """Indices of the rows of each batch, sorted by length, with at most ``tokens`` padded tokens per batch.

    A longer row is a batch alone. A batch with ``enough`` tokens takes no longer row; None: it grows to ``tokens``.
    """
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        longer = (
            bool(batch)
            and enough is not None
            and lengths[i] > lengths[batch[-1]]
            and len(batch) * lengths[batch[-1]] >= enough
        )
        if batch and (longer or (len(batch) + 1) * lengths[i] > tokens):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def all_hidden_states(
    rows: Sequence[Sequence[int]], encoder: Encoder, types: Sequence[Sequence[int]] | None = None
) -> tuple[torch.Tensor, ...]:
    """States of layers 0..L for one padded batch, each (rows, tokens, hidden), on the encoder's device.

    Inner layers are as they are passed on, the last one is what the head reads; ``head_states`` has all as it reads
    them.
    """
    if encoder.reads_padding and len({len(row) for row in rows}) > 1:
        return _by_length(rows, encoder, types)
    inputs = padded_inputs(rows, encoder, types)
    with torch.inference_mode():
        output = encoder.body(**inputs, output_hidden_states=True)
    states: tuple[torch.Tensor, ...] = output.hidden_states
    if len(states) != encoder.layers:
        raise ModelError(
            f"{encoder.name} gave {len(states)} hidden states, expected {encoder.layers} (embeddings and layers)"
        )
    return states


def _by_length(
    rows: Sequence[Sequence[int]], encoder: Encoder, types: Sequence[Sequence[int]] | None
) -> tuple[torch.Tensor, ...]:
    """As ``all_hidden_states``, one length at a time; zeros in place of padding."""
    lengths = np.array([len(row) for row in rows])
    joined: list[torch.Tensor] = []
    for length in np.unique(lengths):
        some = np.flatnonzero(lengths == length).tolist()
        states = all_hidden_states([rows[n] for n in some], encoder, types and [types[n] for n in some])
        joined = joined or [state.new_zeros(len(rows), lengths.max(), state.shape[2]) for state in states]
        for every, state in zip(joined, states, strict=True):
            every[torch.tensor(some, device=state.device), :length] = state
    return tuple(joined)


def head_states(rows: Sequence[Sequence[int]], encoder: Encoder) -> tuple[torch.Tensor, ...]:
    """``all_hidden_states`` as the head reads them: through the norm that a model has on top of its last layer.

    So a layer reads as if the model ended with it.
    """
    *inner, last = all_hidden_states(rows, encoder)
    if encoder.on_top:
        norm = attrgetter(encoder.on_top)(encoder.body)
        with torch.inference_mode():
            inner = [norm(state) for state in inner]
    return (*inner, last)


def padded_inputs(
    rows: Sequence[Sequence[int]], encoder: Encoder, types: Sequence[Sequence[int]] | None = None
) -> dict[str, torch.Tensor]:
    """Input ids, attention mask and, if given, token types of one batch, each (rows, tokens), on the device."""
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), encoder.tokenizer.pad_token_id or 0, dtype=torch.long)
    attention_mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        attention_mask[i, : len(row)] = 1
    inputs = {"input_ids": ids, "attention_mask": attention_mask}
    if types is not None:
        inputs["token_type_ids"] = torch.tensor([[*row, *[0] * (width - len(row))] for row in types])
    return {name: tensor.to(encoder.device) for name, tensor in inputs.items()}


def states_at(
    rows: Sequence[Sequence[int]],
    positions: Sequence[int],
    encoder: Encoder,
    tokens: int = TOKENS_A_BATCH,
    passed: Callable[[int], None] | None = None,
) -> np.ndarray:
    """(layers, rows, hidden) ``head_states`` at one position of each row, float32 or the encoder's float64.

    ``passed`` is called after each batch with its number of rows.
    """
    dtype = encoder.exact
    result = torch.empty((encoder.layers, len(rows), encoder.hidden), dtype=dtype).numpy()
    for batch in batches_by_length([len(row) for row in rows], tokens, ENOUGH_TOKENS):
        states = head_states([rows[i] for i in batch], encoder)
        index = torch.tensor([positions[i] for i in batch], device=encoder.device)
        which = torch.arange(len(batch), device=encoder.device)
        result[:, batch] = torch.stack([state[which, index] for state in states]).to(dtype).cpu().numpy()
        if passed:
            passed(len(batch))
    return result


def mask_positions(rows: Sequence[Sequence[int]], encoder: Encoder) -> list[int]:
    """Position of the one mask of each row; ModelError if a row does not have exactly one."""
    mask, positions = encoder.tokenizer.mask_token_id, []
    for row in rows:
        if row.count(mask) != 1:
            raise ModelError(f"a prompt became {row.count(mask)} mask tokens in {encoder.name}'s tokenizer, expected 1")
        positions.append(row.index(mask))
    return positions


def read_states(path: Path | None) -> np.ndarray | None:
    """Hidden states stored at ``path``, (layers, prompts, hidden); None if there are none that can be read."""
    if path is not None and path.is_file():
        with contextlib.suppress(OSError, KeyError):  # A missing or damaged cache file is computed again.
            return read_sealed(path)["states"]
    return None


def cached_states(
    prompts: Sequence[str],
    encoder: Encoder,
    path: Path | None,
    rows: Sequence[Sequence[int]] | None = None,
    later: Callable[..., None] | None = None,
    passed: Callable[[int], None] | None = None,
) -> np.ndarray:
    """(layers, prompts, hidden) states at the mask of each prompt; from ``path`` if they were computed before.

    ``rows`` are the prompts' token ids, if known. ``later`` schedules the writing; None writes at once. ``passed`` as
    in ``states_at``; never called if the states are read.
    """
    stored = read_states(path)
    if stored is not None:
        return stored
    rows = tokenize(prompts, encoder) if rows is None else rows
    states = states_at(rows, mask_positions(rows, encoder), encoder, TOKENS_A_BATCH, passed)
    if path is not None:
        if later is None:
            write_sealed({"states": states}, path)
        else:
            later(write_sealed, {"states": states}, path)
    return states


#: Seed of the random weights. It is fixed, because another draw is another encoder.
SEED = 0


def encoder_of_kind(encoder: Encoder, kind: str) -> Encoder:
    """The encoder itself (``trained``), or one of its shape with random weights, whose identity names the kind.

    ``random``: as before pre-training; ``random-body``: only the layers, on top of the trained embeddings.
    """
    if kind == TRAINED:
        return encoder
    if kind not in (RANDOM, RANDOM_BODY):
        raise OptionError(f"got the encoder {kind!r}, expected {TRAINED}, {RANDOM} or {RANDOM_BODY}")
    parameter = next(encoder.body.parameters())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        # A config that sets its attention kernels is copied, because from_config may write into it.
        body = AutoModel.from_config(copy.deepcopy(encoder.body.config)).to(parameter.dtype)
    if kind == RANDOM_BODY:
        for name in embedding_modules(encoder.body):
            attrgetter(name)(body).load_state_dict(attrgetter(name)(encoder.body).state_dict())
    body = body.eval().requires_grad_(False).to(encoder.device)
    identity = hashlib.sha256(f"{encoder.weights_id}+{kind}+{SEED}".encode()).hexdigest()
    return replace(encoder, body=body, weights_id=identity)


def embedding_modules(body: PreTrainedModel) -> tuple[str, ...]:
    """Names of the modules of the embeddings, the only trained ones that a ``random-body`` encoder keeps."""
    names = [
        name
        for name, child in body.named_children()
        if next(child.parameters(), None) is not None
        and not any(isinstance(module, torch.nn.ModuleList) for module in child.modules())
        and "emb" in name
    ]
    if body.config.model_type == "albert":
        names.append("encoder.embedding_hidden_mapping_in")
    return tuple(names)


_LAYER, _EMBEDDED = re.compile(r"\.(\d+)\."), re.compile(r"embed|_emb\.")


def layer_of(parameter: str) -> int | None:
    """0 for the embeddings, 1..L for a transformer layer, None for others (pooler, heads).

    ALBERT's shared weights count as layer 1. DeBERTa's embeddings of relative positions are in no layer: all read them.
    """
    if match := _LAYER.search(parameter):
        return int(match[1]) + 1
    return 0 if _EMBEDDED.search(parameter) and "rel_embeddings" not in parameter else None


def weight_drift(base: Mapping[str, torch.Tensor], tuned: Mapping[str, torch.Tensor]) -> list[dict[str, float]]:
    """``layer, drift, parameters``: Frobenius norm of the difference over that of the base's weights, by layer."""
    change: dict[int, float] = defaultdict(float)
    size: dict[int, float] = defaultdict(float)
    count: dict[int, int] = defaultdict(int)
    for name, before in base.items():
        layer = layer_of(name)
        if layer is None or name not in tuned or tuned[name].shape != before.shape or not before.is_floating_point():
            continue
        change[layer] += (tuned[name].double() - before.double()).square().sum().item()
        size[layer] += before.double().square().sum().item()
        count[layer] += before.numel()
    return [
        {"layer": n, "drift": math.sqrt(change[n] / size[n]) if size[n] else 0.0, "parameters": count[n]}
        for n in sorted(count)
    ]
