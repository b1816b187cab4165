"""Makes nesia-mini's WordPiece vocabulary from its training text."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from tokenizers import BertWordPieceTokenizer
from transformers import BertTokenizer, PreTrainedTokenizerBase

from probing.kernel.errors import ModelError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def train_vocabulary(texts: Iterable[str], size: int, must_hold: Iterable[str]) -> PreTrainedTokenizerBase:
    """An uncased WordPiece tokenizer of at most ``size`` tokens in which every word of ``must_hold`` is one token.

    The order of tokens, and the choice among equally frequent pieces, can differ between calls, so keep the result. The
    learned part is made smaller by the number of words that it lacks, until both fit together.
    """
    texts, words = list(texts), sorted(set(must_hold))
    learnt = _learn(texts, size)
    for _ in range(5):
        missing = [word for word in words if word not in learnt]
        if len(learnt) + len(missing) <= size:
            break
        if size - len(missing) < len(SPECIAL):
            raise ModelError(
                f"got a vocabulary of {size:,} tokens, but {len(words):,} words must each be one; give a larger"
                " --vocabulary"
            )
        learnt = _learn(texts, size - len(missing))
    missing = [word for word in words if word not in learnt][: size - len(learnt)]
    tokenizer = BertTokenizer(
        vocab={token: number for number, token in enumerate(learnt + missing)}, do_lower_case=True
    )
    split = [word for word in words if len(tokenizer.tokenize(word)) != 1]
    if len(tokenizer) > size or split:
        raise ModelError(
            f"made a vocabulary of {len(tokenizer)} tokens that splits {split[:5]}; expected {size} tokens and no split"
            " word"
        )
    return tokenizer


def _learn(texts: list[str], size: int) -> list[str]:
    trainer = BertWordPieceTokenizer(lowercase=True)
    trainer.train_from_iterator(
        texts, vocab_size=size, min_frequency=2, special_tokens=SPECIAL, limit_alphabet=300, show_progress=False
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer.save_model(folder)
        return Path(folder, "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
