import pytest

from probing.facts.askable import answer_ids, askable
from probing.kernel.fact import (
    NOT_ONE_MASK,
    OTHER_PROMPT,
    SEVERAL_TOKENS,
    SUBJECT_UNKNOWN,
    TOO_LONG,
    UNKNOWN,
    Fact,
    select,
)


def fact(prompt, answer):
    return Fact("own", "r", "s", answer, prompt, prompt)


def token(encoder, prompt, answer):
    """The token text of the answer, or the reason why there is none."""
    found = answer_ids([fact(prompt, answer)], encoder)[0]
    return encoder.tokenizer.convert_ids_to_tokens(found) if isinstance(found, int) else found


def test_uncased_bert_lower_cases_and_drops_accents(bert):
    assert token(bert, "Rocky was born in [MASK].", "Philadelphia") == "philadelphia"
    assert token(bert, "Rocky was born in [MASK].", "PÁRIS") == "paris"


def test_roberta_takes_the_leading_space_into_the_token(encoder_of):
    encoder = encoder_of("roberta")
    assert token(encoder, "It is [MASK].", "Berlin") == "ĠBerlin"
    # At the start of a sentence there is no space; without one, this tokenizer splits the word.
    assert token(encoder, "[MASK] is it.", "Berlin") == SEVERAL_TOKENS


def test_albert_takes_the_underscore_into_the_token(encoder_of):
    encoder = encoder_of("albert")
    for prompt in ("Rocky was born in [MASK].", "[MASK] is a city.", "It is [MASK] and it is red.", "It is [MASK]"):
        assert token(encoder, prompt, "Paris") == "▁paris"


def test_every_architecture_knows_a_word_of_its_vocabulary(architecture, encoder_of):
    encoder = encoder_of(architecture)
    found = token(encoder, "The capital of France is [MASK].", "Paris")
    assert found.strip("Ġ▁").lower() == "paris"
    assert token(encoder, "The capital of France is [MASK].", "Zanzibar") == SEVERAL_TOKENS


def test_a_space_of_its_own_makes_the_word_several_tokens(encoder_of):
    encoder = encoder_of("roberta")
    assert encoder.tokenizer.tokenize(" is %") == ["Ġis", "Ġ", "%"]
    assert token(encoder, "It is [MASK].", "%") == SEVERAL_TOKENS
    assert token(encoder, "It is one[MASK].", "%") == "%"


def test_a_split_word_is_several_tokens(bert):
    assert token(bert, "It is [MASK].", "Bolton") == SEVERAL_TOKENS
    assert token(bert, "It is [MASK].", "New York") == SEVERAL_TOKENS
    assert token(bert, "It is [MASK].", "red green") == SEVERAL_TOKENS


@pytest.mark.parametrize(
    ("prompt", "word"), [("It is in [MASK]is.", "Par"), ("It is in Par[MASK].", "is"), ("It is in P[MASK]s.", "ari")]
)
def test_a_word_that_melts_into_its_neighbours_is_several_tokens(prompt, word, bert):
    assert token(bert, prompt, word) == SEVERAL_TOKENS


def test_a_word_beside_letters_that_it_does_not_melt_into_is_asked(bert):
    assert token(bert, "It is 1[MASK].", "9") == "##9"
    assert token(bert, "It is [MASK]ed.", "Paris") == "paris"


def test_an_answer_after_which_the_sentence_is_cut_otherwise_is_left_out(bert):
    # "-ing" is "-", "i", "##n", "##g"; after a word it is "##i", "##n", "##g".
    assert token(bert, "It is [MASK]ing.", "-") == OTHER_PROMPT


@pytest.mark.parametrize("subject", ["☃", "the ☃", "", "snowman", "\u200b"])
def test_a_fact_about_what_is_unknown_is_left_out_and_counted(subject, bert):
    prompt = "It is in \u200b [MASK]" if subject == "\u200b" else "The ☃ is in [MASK]."
    facts = [
        Fact("own", "r", subject, "Paris", prompt, prompt),
        Fact("own", "r", "Rocky", "Paris", "Rocky [MASK]", "Rocky [MASK]"),
    ]
    kept, ids = askable(select("own", facts), bert)
    assert kept.left_out == {SUBJECT_UNKNOWN: 1} and kept.dropped == ((facts[0], SUBJECT_UNKNOWN),)
    assert kept.n_read == len(kept.facts) + sum(kept.left_out.values()) == 2 and len(ids) == 1


def test_an_unknown_piece_elsewhere_than_in_the_subject_does_no_harm(bert):
    assert answer_ids([Fact("own", "r", "Rocky", "Paris", "t", "Rocky is ☃ in [MASK].")], bert) == [
        bert.tokenizer.vocab["paris"]
    ]
    assert token(bert, "☃ s is in [MASK].", "Bolton") == SEVERAL_TOKENS, "what is wrong with the object is said first"


@pytest.mark.parametrize("word", ["☃", "\u200b", "[SEP]", "[MASK]", "[PAD]", "[UNK]"])
def test_a_word_that_the_tokenizer_does_not_know_or_drops_and_a_special_token_are_unknown(word, bert):
    assert token(bert, "It is [MASK].", word) == UNKNOWN


@pytest.mark.parametrize("prompt", ["No mask.", "[MASK] is [MASK]."])
def test_prompts_without_exactly_one_mask_are_left_out(prompt, bert):
    assert token(bert, prompt, "Paris") == NOT_ONE_MASK


def test_the_models_own_mask_counts_as_a_mask(encoder_of):
    assert token(encoder_of("roberta"), "<mask> is [MASK].", "Berlin") == NOT_ONE_MASK


def test_a_prompt_longer_than_the_model_takes_is_left_out(bert):
    fits, too_long = " ".join(["it"] * (bert.max_pieces - 3)), " ".join(["it"] * (bert.max_pieces - 2))
    assert token(bert, f"{fits} [MASK]", "Paris") == "paris"
    assert token(bert, f"{too_long} [MASK]", "Paris") == TOO_LONG


def test_read_is_asked_plus_left_out_by_reason(bert):
    prompts = [("Paris", "It is [MASK]."), ("Bolton", "It is [MASK]."), ("☃", "It is [MASK]."), ("red", "no mask")]
    read = select("own", [fact(prompt, answer) for answer, prompt in prompts])
    kept, ids = askable(read, bert)
    assert [f.object for f in kept.facts] == ["Paris"]
    assert ids == [bert.tokenizer.convert_tokens_to_ids("paris")]
    assert kept.left_out == {NOT_ONE_MASK: 1, SEVERAL_TOKENS: 1, UNKNOWN: 1}
    assert kept.n_read == len(kept.facts) + sum(kept.left_out.values()) == 4


def test_nothing_asked_is_nothing_found(bert):
    assert answer_ids([], bert) == []
