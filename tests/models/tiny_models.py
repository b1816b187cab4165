"""Tiny models with random weights, one of each architecture, with real small tokenizers, saved as folders."""

import json
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    AddedToken,
    AlbertConfig,
    AlbertForMaskedLM,
    AlbertTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    DistilBertConfig,
    DistilBertForMaskedLM,
    ElectraConfig,
    ElectraForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaTokenizer,
)

TEXT = """
paris berlin rome london madrid france germany italy england spain the capital of is was born in a city and it to
rocky balboa philadelphia boston music jazz plays red green blue sun moon one two three four
"""
WORDS = TEXT.split()
LETTERS = list("abcdefghijklmnopqrstuvwxyz0123456789.,?!'-<>/=\"():;")
LAYERS = 3
HIDDEN = 16


def wordpiece() -> BertTokenizer:
    """Uncased WordPiece: every word above is one token, anything else falls into letters."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    tokens += [letter for letter in LETTERS if letter not in tokens] + [f"##{letter}" for letter in LETTERS]
    return BertTokenizer(vocab={token: n for n, token in enumerate(tokens)}, do_lower_case=True)


def unigram() -> AlbertTokenizer:
    """ALBERT's tokenizer: words carry an underscore for the space before them."""
    pieces = [(token, 0.0) for token in ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")]
    pieces += [(f"▁{word}", -3.0) for word in WORDS if len(word) > 1]
    pieces += [("▁a", -3.0), ("▁", -4.0), *((letter, -6.0) for letter in LETTERS)]
    return AlbertTokenizer(vocab=pieces)


def _byte_pairs(special: list[str]) -> dict:
    trainer = ByteLevelBPETokenizer()
    names = [word.capitalize() for word in WORDS]
    text = [f"It {word} is {name}." for word, name in zip(WORDS, names, strict=True)] * 2
    trainer.train_from_iterator(text, vocab_size=900, min_frequency=2, special_tokens=special, show_progress=False)
    model = json.loads(trainer.to_str())["model"]
    return {"vocab": model["vocab"], "merges": [tuple(pair) for pair in model["merges"]]}


def byte_pairs_of_roberta() -> RobertaTokenizer:
    """Byte-level BPE with a mask that takes the space before it, as RoBERTa's files have it."""
    mask = AddedToken("<mask>", lstrip=True, special=True)
    return RobertaTokenizer(**_byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]), mask_token=mask)


def byte_pairs_of_modernbert() -> PreTrainedTokenizerFast:
    """Byte-level BPE under BERT's special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    parts = _byte_pairs([*special, "[MASK]"])
    tokenizer = Tokenizer(models.BPE(**parts))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    ends = [("[CLS]", parts["vocab"]["[CLS]"]), ("[SEP]", parts["vocab"]["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    pad, unknown, first, last = special
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
        mask_token=AddedToken("[MASK]", lstrip=True, special=True),
    )


def build(architecture: str, *, padded: int = 0) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Model and tokenizer; ``padded`` rows of the vocabulary matrix have no token."""
    torch.manual_seed(7)
    common = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 32}
    positions = {"max_position_embeddings": 48}
    tokenizer: PreTrainedTokenizerBase
    model: PreTrainedModel
    if architecture in ("bert", "distilbert", "electra"):
        tokenizer = wordpiece()
        size = {"vocab_size": len(tokenizer) + padded, **positions}
        if architecture == "bert":
            model = BertForMaskedLM(BertConfig(**common, **size))
        elif architecture == "distilbert":
            config = DistilBertConfig(dim=HIDDEN, n_layers=LAYERS, n_heads=2, hidden_dim=32, **size)
            model = DistilBertForMaskedLM(config)
        else:
            model = ElectraForMaskedLM(ElectraConfig(embedding_size=8, **common, **size))
    elif architecture == "albert":
        tokenizer = unigram()
        model = AlbertForMaskedLM(AlbertConfig(vocab_size=len(tokenizer) + padded, embedding_size=8, **common, **positions))
    elif architecture == "roberta":
        tokenizer = byte_pairs_of_roberta()
        config = RobertaConfig(vocab_size=len(tokenizer) + padded, max_position_embeddings=50, pad_token_id=1, **common)
        model = RobertaForMaskedLM(config)
    elif architecture == "modernbert":
        tokenizer = byte_pairs_of_modernbert()
        ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
        config = ModernBertConfig(vocab_size=len(tokenizer) + padded, local_attention=8, **ids, **common, **positions)
        model = ModernBertForMaskedLM(config)
    else:
        raise ValueError(f"no tiny {architecture}")
    for parameter in model.parameters():
        # Random norms and biases too: a head that dropped one of them would still agree with zeros and ones.
        torch.nn.init.normal_(parameter, std=0.3)
    assert model.num_parameters() < 30_000, "tiny is tiny"
    return model.eval(), tokenizer


def save(architecture: str, folder: Path, *, padded: int = 0) -> Path:
    """A folder as ``save_pretrained`` writes it."""
    model, tokenizer = build(architecture, padded=padded)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
