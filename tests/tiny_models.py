"""Tiny models with random weights, one of each architecture, with real small tokenizers, saved as folders."""

import json
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    AddedToken,
    AlbertTokenizer,
    AutoConfig,
    AutoModelForMaskedLM,
    BertTokenizer,
    CamembertTokenizer,
    DebertaTokenizer,
    DebertaV2Tokenizer,
    EsmTokenizer,
    MPNetTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    XLMRobertaTokenizer,
)

TEXT = """
paris berlin rome london madrid france germany italy england spain the capital of is was born in a city and it to
rocky balboa philadelphia boston music jazz plays red green blue sun moon one two three four
"""
WORDS = TEXT.split()
NAMES = [word.capitalize() for word in WORDS]
LETTERS = list("abcdefghijklmnopqrstuvwxyz0123456789.,?!'-<>/=\"():;")
LAYERS = 3
HIDDEN = 16


def _pieces_of_words(special: list[str]) -> dict[str, int]:
    tokens = [*special, *WORDS]
    tokens += [letter for letter in LETTERS if letter not in tokens] + [f"##{letter}" for letter in LETTERS]
    return {token: n for n, token in enumerate(tokens)}


def wordpiece() -> BertTokenizer:
    """Uncased WordPiece: every word above is one token, anything else falls into letters."""
    return BertTokenizer(vocab=_pieces_of_words(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]), do_lower_case=True)


def wordpiece_without_types() -> PreTrainedTokenizerFast:
    """XLM adds the embedding of the *word* whose id is a token's type."""
    own = wordpiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=own.backend_tokenizer,
        model_input_names=["input_ids", "attention_mask"],
        **own.special_tokens_map,
    )


def wordpiece_of_mpnet() -> MPNetTokenizer:
    """The same pieces under RoBERTa's special tokens."""
    return MPNetTokenizer(vocab=_pieces_of_words(["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]))


def _scored(special: list[str], *words: str) -> list[tuple[str, float]]:
    """Pieces of a unigram vocabulary, in which words carry an underscore for the space before them."""
    pieces = [(token, 0.0) for token in special] + [(f"▁{word}", -3.0) for word in words if len(word) > 1]
    return [*pieces, ("▁a", -3.0), ("▁", -4.0), *((letter, -6.0) for letter in LETTERS)]


def unigram() -> AlbertTokenizer:
    """ALBERT's tokenizer, uncased."""
    return AlbertTokenizer(vocab=_scored(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], *WORDS))


def unigram_of_xlm_roberta() -> XLMRobertaTokenizer:
    """Cased, with a mask that takes the space before it, as XLM-R's files have it."""
    mask = AddedToken("<mask>", lstrip=True, special=True)
    return XLMRobertaTokenizer(
        vocab=_scored(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], *WORDS, *NAMES), mask_token=mask
    )


def unigram_of_camembert() -> CamembertTokenizer:
    """Cased; three of its tokens are never used."""
    special = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>", "<mask>"]
    return CamembertTokenizer(vocab=_scored(special, *WORDS, *NAMES))


def unigram_of_deberta() -> DebertaV2Tokenizer:
    """Cased, under BERT's special tokens."""
    return DebertaV2Tokenizer(vocab=_scored(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"], *WORDS, *NAMES))


def _byte_pairs(special: list[str]) -> dict:
    trainer = ByteLevelBPETokenizer()
    text = [f"It {word} is {name}." for word, name in zip(WORDS, NAMES, strict=True)] * 2
    trainer.train_from_iterator(text, vocab_size=900, min_frequency=2, special_tokens=special, show_progress=False)
    model = json.loads(trainer.to_str())["model"]
    return {"vocab": model["vocab"], "merges": [tuple(pair) for pair in model["merges"]]}


def byte_pairs_of_roberta() -> RobertaTokenizer:
    """Byte-level BPE with a mask that takes the space before it, as RoBERTa's files have it."""
    mask = AddedToken("<mask>", lstrip=True, special=True)
    return RobertaTokenizer(**_byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]), mask_token=mask)


def byte_pairs_of_deberta() -> DebertaTokenizer:
    """Byte-level BPE under BERT's special tokens, with token types."""
    return DebertaTokenizer(**_byte_pairs(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]))


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


def letters_of_esm() -> EsmTokenizer:
    """ESM's tokenizer, which cuts a text into the tokens of its list wherever they occur. Here the list also has the
    words above.
    """
    tokens = ["<cls>", "<pad>", "<eos>", "<unk>", *LETTERS, *map(str.upper, LETTERS[:26])]
    tokens += [word for word in (*WORDS, *NAMES) if len(word) > 1]
    with TemporaryDirectory() as folder:
        path = Path(folder, "vocab.txt")
        path.write_text("\n".join([*tokens, "<mask>"]), encoding="utf-8")
        return EsmTokenizer(str(path))


#: Ids of the special tokens in RoBERTa's order.
_ROBERTA = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "max_position_embeddings": 50}
_MODERN = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
#: Attention to relative positions and other parts that the released DeBERTa models have; v2-xlarge has the convolution.
_DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "type_vocab_size": 0,
    "position_biased_input": False,
}
_DEBERTA_2 = _DEBERTA | {
    "position_buckets": 8,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "conv_kernel_size": 3,
    "conv_act": "gelu",
}
#: Model type -> its tokenizer and the settings that are its own.
KINDS: dict[str, tuple[Callable[[], PreTrainedTokenizerBase], dict]] = {
    "albert": (unigram, {"embedding_size": 8}),
    "bert": (wordpiece, {}),
    "camembert": (unigram_of_camembert, {**_ROBERTA, "bos_token_id": 5, "eos_token_id": 6}),
    "data2vec-text": (byte_pairs_of_roberta, _ROBERTA),
    "deberta": (byte_pairs_of_deberta, {**_DEBERTA, "legacy": False}),
    "deberta-v2": (unigram_of_deberta, _DEBERTA_2),
    "distilbert": (wordpiece, {"dim": HIDDEN, "n_layers": LAYERS, "n_heads": 2, "hidden_dim": 32}),
    "electra": (wordpiece, {"embedding_size": 8}),
    "ernie": (wordpiece, {"use_task_id": True}),
    "esm": (
        letters_of_esm,
        {"pad_token_id": 1, "position_embedding_type": "rotary", "token_dropout": True, "emb_layer_norm_before": True},
    ),
    "megatron-bert": (wordpiece, {}),
    "modernbert": (byte_pairs_of_modernbert, {"local_attention": 8, **_MODERN}),
    "mpnet": (wordpiece_of_mpnet, _ROBERTA),
    "roberta": (byte_pairs_of_roberta, {"pad_token_id": 1, "max_position_embeddings": 50}),
    "roberta-prelayernorm": (byte_pairs_of_roberta, _ROBERTA),
    "xlm-roberta": (unigram_of_xlm_roberta, _ROBERTA),
    "xlm-roberta-xl": (unigram_of_xlm_roberta, _ROBERTA),
}
_XLM = {"emb_dim": HIDDEN, "n_layers": LAYERS, "n_heads": 2, "pad_index": 0, "unk_index": 1, "mask_token_id": 4}
#: The same for those whose head is read as a whole.
WHOLE: dict[str, tuple[Callable[[], PreTrainedTokenizerBase], dict]] = {
    "big_bird": (wordpiece, {}),
    "convbert": (wordpiece, {"embedding_size": 8}),
    "esmc": (wordpiece, {"pad_token_id": 0, "mask_token_id": 4}),
    "eurobert": (wordpiece, {"num_key_value_heads": 1, "pad_token_id": 0, "mask_token_id": 4}),
    "flaubert": (wordpiece_without_types, _XLM),
    "fnet": (wordpiece, {"pad_token_id": 0}),
    "gte": (wordpiece, {"pad_token_id": 0}),
    "ibert": (byte_pairs_of_roberta, _ROBERTA),
    "jina_embeddings_v3": (wordpiece, {"pad_token_id": 0}),
    "layoutlm": (wordpiece, {"max_2d_position_embeddings": 8}),
    "longformer": (byte_pairs_of_roberta, {**_ROBERTA, "attention_window": 4}),
    "luke": (byte_pairs_of_roberta, {**_ROBERTA, "entity_vocab_size": 8, "entity_emb_size": 8}),
    "mobilebert": (
        wordpiece,
        {"embedding_size": 8, "intra_bottleneck_size": 8, "num_feedforward_networks": 2, "true_hidden_size": 8},
    ),
    "mra": (wordpiece, {}),
    "neomme": (wordpiece, {"num_key_value_heads": 1, "head_dim": 16, "embedding_rank": 8, "patch_size": 2}),
    "nomic_bert": (wordpiece, {}),
    "nystromformer": (wordpiece, {}),
    "rembert": (wordpiece, {"input_embedding_size": 8, "output_embedding_size": 12}),
    "roc_bert": (
        wordpiece,
        {
            "pronunciation_vocab_size": 8,
            "pronunciation_embed_dim": 4,
            "shape_vocab_size": 8,
            "shape_embed_dim": 4,
        },
    ),
    "roformer": (wordpiece, {"embedding_size": 8}),
    "squeezebert": (
        wordpiece,
        {"embedding_size": HIDDEN, **{f"{part}_groups": 2 for part in ("q", "k", "v", "intermediate", "output")}},
    ),
    "ultrabert": (wordpiece, {"pad_token_id": 0, "prediction_head_size": 8}),
    "xlm": (wordpiece_without_types, _XLM),
    "xmod": (byte_pairs_of_roberta, {**_ROBERTA, "languages": ["en_XX"], "default_language": "en_XX"}),
    "yoso": (wordpiece, {"use_expectation": True}),
}


def build(architecture: str, *, padded: int = 0, **settings) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Model and tokenizer; ``padded`` rows of the vocabulary matrix have no token, ``settings`` replace those of the
    configuration.
    """
    torch.manual_seed(7)
    make, own = (KINDS | WHOLE)[architecture]
    tokenizer = make()
    sizes = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 32}
    shape = {"max_position_embeddings": 48} | own | settings | {"vocab_size": len(tokenizer) + padded}
    if architecture not in ("distilbert", "flaubert", "xlm"):
        shape = sizes | shape
    if architecture == "esm":
        shape["mask_token_id"] = tokenizer.mask_token_id
    model = AutoModelForMaskedLM.from_config(AutoConfig.for_model(architecture, **shape))
    for parameter in model.parameters():
        # Random norms and biases too: a head that dropped one of them would still agree with zeros and ones.
        torch.nn.init.normal_(parameter, std=0.3)
    assert model.num_parameters() < 30_000, "tiny is tiny"
    return model.eval(), tokenizer


def as_read(states, encoder):
    """Hidden states of transformers through the norm that a model has on top of its last layer."""
    *inner, last = states
    with torch.inference_mode():
        return (*(map(attrgetter(encoder.on_top)(encoder.body), inner) if encoder.on_top else inner), last)


def save(architecture: str, folder: Path, *, padded: int = 0, **settings) -> Path:
    """A folder as ``save_pretrained`` writes it."""
    model, tokenizer = build(architecture, padded=padded, **settings)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
