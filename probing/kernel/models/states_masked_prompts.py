"""Token ids of sentences with gaps: those of the filled sentence, with the mask in place of the word."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

from probing.facts.fact import MASK
from probing.kernel.models.load import Encoder

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
    words: list[tuple[int, int]]
    text: str

    def pieces(self, first: int, last: int) -> list[int]:
        """Numbers of the tokens of these characters, with that of the space before them, if it is one."""
        space = first - (self.text[first - 1 : first] == " ")
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
    columns = zip(read["input_ids"], read["offset_mapping"], read["special_tokens_mask"], places, texts, strict=True)
    return [Filled(*column) for column in columns]


def own_mask(text: str, encoder: Encoder) -> str:
    """The text with the model's mask in each ``[MASK]``; some tokenizers set a token for a blank before it."""
    return re.sub(rf" ?{re.escape(MASK)}", lambda _: encoder.tokenizer.mask_token, text)


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
