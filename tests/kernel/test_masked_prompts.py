"""The ids of a prompt are those of the filled sentence with the mask in place of the answer, whatever the tokenizer."""

from dataclasses import replace

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AddedToken, PreTrainedTokenizerFast

from probing.changes.passes import Attending, ask_attention
from probing.edges.states import cut_words
from probing.facts.candidates import cut_in
from probing.kernel.models.states import own_mask, tokenize
from probing.sentences.ask import sentence_vectors
from probing.sentences.vectors import Row, pooled_states
from tests import tiny_models


def fast(model, pre_tokenizer, unknown=None, normalizer=None, **of_mask):
    """A tokenizer of transformers around a model of tokenizers, with ``<s>``, ``</s>`` and ``<mask>``."""
    made = Tokenizer(model)
    made.pre_tokenizer, made.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        made.normalizer = normalizer
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    names = {
        "bos_token": "<s>",
        "cls_token": "<s>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": unknown,
    }
    return PreTrainedTokenizerFast(tokenizer_object=made, mask_token=AddedToken("<mask>", **of_mask), **names)


def byte_level(prefix=False, trim=True, **of_mask):
    parts = tiny_models._byte_pairs(["<s>", "<pad>", "</s>", "<mask>"])
    return fast(models.BPE(**parts), pre_tokenizers.ByteLevel(add_prefix_space=prefix, trim_offsets=trim), **of_mask)


def unigram(scheme="always", **of_mask):
    scored = tiny_models._scored(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], *tiny_models.WORDS, *tiny_models.NAMES)
    spaces = normalizers.Replace(" ", "▁") if scheme == "split" else None
    before = pre_tokenizers.Metaspace(prepend_scheme="always" if scheme == "split" else scheme, split=scheme != "split")
    return fast(models.Unigram(scored, 3), before, "<unk>", spaces, **of_mask)


def wordpiece():
    pieces = tiny_models._pieces_of_words(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    pieces["##paris"] = len(pieces)
    return fast(
        models.WordPiece(pieces, unk_token="<unk>"),
        pre_tokenizers.BertPreTokenizer(),
        "<unk>",
        normalizers.BertNormalizer(),
    )


FORMS = {
    **{kind: make for kind, (make, _) in tiny_models.KINDS.items()},
    "byte-level": byte_level,
    "byte-level, lstrip": lambda: byte_level(lstrip=True),
    "byte-level, rstrip": lambda: byte_level(rstrip=True),
    "byte-level, prefix": lambda: byte_level(prefix=True),
    "byte-level, prefix, lstrip": lambda: byte_level(prefix=True, lstrip=True),
    "byte-level, untrimmed": lambda: byte_level(trim=False),
    "byte-level, untrimmed, prefix": lambda: byte_level(prefix=True, trim=False),
    "unigram": unigram,
    "unigram, lstrip": lambda: unigram(lstrip=True),
    "unigram, first": lambda: unigram("first"),
    "unigram, never": lambda: unigram("never"),
    "unigram, unsplit": lambda: unigram("split"),
    "wordpiece": wordpiece,
}

PROMPTS = (
    "It is [MASK].",
    "It is  [MASK], and red",
    "It is\n[MASK].",
    "[MASK] is red",
    "It is '[MASK]'s one",
    "Is it in [MASK]ing?",
    "it is a[MASK].",
    "It is 1[MASK]. It",
    "It is [MASK]",
    "([MASK])",
)


@pytest.fixture(params=FORMS)
def encoder(request, encoder_of):
    """An encoder with each form of tokenizer; the tokenizers of architectures as they are loaded from a folder."""
    if request.param in tiny_models.KINDS:
        return encoder_of(request.param)
    return replace(encoder_of("roberta"), tokenizer=FORMS[request.param]())


def test_a_prompt_is_the_filled_sentence_with_the_mask_in_place_of_the_answer(encoder):
    tokenizer = encoder.tokenizer
    asked = 0
    for word in ("Paris", "red", "a", "2", "?"):
        for prompt, row in zip(PROMPTS, tokenize(PROMPTS, encoder), strict=True):
            (ids,) = cut_in(prompt, [word], encoder).pieces
            if ids:
                at = row.index(tokenizer.mask_token_id)
                assert [*row[:at], *ids, *row[at + 1 :]] == tokenizer(prompt.replace("[MASK]", word))["input_ids"], (
                    prompt,
                    word,
                )
                asked += 1
    assert asked >= 15
    assert len(cut_in(PROMPTS[0], ["Paris"], encoder).pieces[0]) == 1


def test_the_space_before_the_answer_and_the_full_stop_after_it_are_as_in_the_filled_sentence(encoder):
    row = tokenize(["It is [MASK]. It is [MASK]."], encoder)[0]
    filled = encoder.tokenizer("It is Paris. It is Rome.")["input_ids"]
    mask = encoder.tokenizer.mask_token_id
    assert row.count(mask) == 2 and len(row) == len(filled)
    assert all(one in (mask, other) for one, other in zip(row, filled, strict=True))


@pytest.mark.parametrize("gap", [0, 1])
def test_each_of_several_gaps_takes_the_same_answer(gap, encoder):
    words = ["Paris", "red green"]
    alone = cut_in("It is [MASK] and it.", words, encoder).pieces
    assert all(alone) and cut_in("It is [MASK] and [MASK] and it.", words, encoder, gap).pieces == alone


def test_words_end_at_blanks_where_the_tokenizer_cuts_none(encoder_of):
    """Gemma's tokenizer gives a whole text to its pairs; one that cuts it at blanks first has the same tokens."""
    prompt, texts = "It is in [MASK] and red.", ["new york", "Paris", "red green blue", "no moon, two"]
    whole, cut = (
        cut_in(prompt, texts, replace(encoder_of("xlm-roberta"), tokenizer=unigram(scheme)))
        for scheme in ("split", "always")
    )
    assert whole.pieces == cut.pieces and all(whole.pieces)
    assert whole.words == cut.words and [len({*words}) for words in whole.words] == [2, 1, 3, 3]


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\u3000"])
def test_a_blank_that_the_tokenizer_makes_a_space_is_one_before_a_gap(blank, encoder_of):
    made = unigram()
    made.backend_tokenizer.normalizer = normalizers.NFKC()
    for kind, tokenizer in (("xlm-roberta", made), ("bert", tiny_models.wordpiece())):
        encoder = replace(encoder_of(kind), tokenizer=tokenizer)
        other, usual = f"It is{blank}[MASK].", "It is [MASK]."
        assert tokenize([other], encoder) == tokenize([usual], encoder)
        assert cut_in(other, ["Paris", "quito"], encoder).pieces == cut_in(usual, ["Paris", "quito"], encoder).pieces
        assert tokenizer(own_mask(other, encoder))["input_ids"] == tokenizer(own_mask(usual, encoder))["input_ids"]
    # RoBERTa reads another blank than the space as two bytes, which stay before the gap.
    kept = encoder_of("roberta")
    (row,) = tokenize([f"It is{blank}[MASK]."], kept)
    assert len(row) > len(tokenize(["It is [MASK]."], kept)[0])


def test_readers_of_whole_sentences_take_the_models_mask_for_a_gap(encoder_of):
    for encoder in (encoder_of("roberta"), replace(encoder_of("roberta"), tokenizer=byte_level())):
        row = tokenize(["It is [MASK]."], encoder)[0]
        pieces = tuple(encoder.tokenizer.convert_ids_to_tokens(row))
        assert cut_words([["It", "is", "[MASK]."]], encoder)[0].ids == tuple(row)
        for typed in ("It is [MASK].", "It is ___."):
            assert ask_attention(typed, Attending(encoder)).tokens == pieces
            assert (sentence_vectors(encoder, typed) == pooled_states([Row(tuple(row))], encoder)).all()


def test_a_gap_whose_every_word_merges_keeps_its_mask(bert):
    # Nothing is known about the letters beside it, so they would swallow any word.
    assert bert.tokenizer.convert_ids_to_tokens(tokenize(["☃[MASK] it"], bert)[0]) == [
        "[CLS]",
        "[UNK]",
        "[MASK]",
        "it",
        "[SEP]",
    ]
