"""What fine-tuning changes: distances and similarities against slow versions, texts, minimal pairs and sentences
changed by rule.
"""

import json

import numpy as np
import pytest

from probing.changes.attention import (
    TokenKinds,
    between,
    entropy,
    is_constant,
    jackknife,
    linear_cka,
    map_cosine,
    mean_cosine,
    movers_distance,
    of_model,
    rsa,
    total_variation,
    unit_rows,
)
from probing.changes.measures import mean_intervals
from probing.changes.minimal_pairs import (
    KINDS,
    chosen_sentences,
    read_minimal_pairs,
    text_lines,
    two_sentences,
    two_words,
)
from probing.kernel.errors import TextError
from probing.live.perturb import (
    find_entity,
    misprimed,
    negated,
    other_entity,
    renamed,
    shuffled,
    truncated,
    wrong_answers,
)
from tests.reference import changes as slow


@pytest.fixture()
def rng():
    return np.random.default_rng(0)


def distributions(rng, *shape):
    return rng.dirichlet(np.full(shape[-1], 0.5), shape[:-1])


def test_equal_attention_to_all_has_the_entropy_ln_n_and_to_one_none():
    assert entropy(np.full((2, 7), 1 / 7)) == pytest.approx(np.log(7))
    assert entropy(np.eye(5)).tolist() == [0] * 5


def test_entropy_and_distance_are_those_of_the_slow_version_and_of_scipy(rng):
    first, second = distributions(rng, 40, 9), distributions(rng, 40, 9)
    assert entropy(first) == pytest.approx([slow.entropy(row) for row in first], abs=1e-12)
    wanted = [slow.movers_distance(a, b) for a, b in zip(first, second, strict=True)]
    assert movers_distance(first, second) == pytest.approx(wanted, abs=1e-6)


def test_a_shift_by_four_places_is_a_distance_of_four_and_a_variation_of_one():
    first, second = np.zeros((2, 12))
    first[2] = second[6] = 1
    assert movers_distance(first, second) == pytest.approx(4)
    assert total_variation(first, second) == 1
    spread = np.array([0, 0.5, 0.25, 0.25, 0, 0, 0, 0, 0, 0])
    assert movers_distance(spread, np.roll(spread, 4)) == pytest.approx(4)


def test_equal_maps_have_no_distance_at_all(rng):
    maps = distributions(rng, 2, 3, 2, 6, 6)
    found = between(maps, maps.copy())
    assert (found.pop("map-cosine") == 1).all()
    assert all((values == 0).all() for values in found.values())


def test_shares_add_up_over_the_tokens_that_get_attention(rng):
    maps = distributions(rng, 2, 3, 2, 6, 6)
    none, one = np.zeros((3, 6), bool), np.zeros((3, 6), bool)
    one[:, 4] = True
    found = of_model(maps, TokenKinds(one, ~one))
    assert found["to-separator-mean"] + found["to-punctuation-mean"] == pytest.approx(np.ones((2, 3, 2)))
    assert found["to-separator-first"] == pytest.approx(maps[..., 0, 4])
    assert (of_model(maps, TokenKinds(none, none))["to-punctuation-mean"] == 0).all()
    assert found["to-self-mean"] == pytest.approx(np.einsum("lrhii->lrhi", maps).mean(-1))
    assert found["to-first-mean"] == pytest.approx(maps[..., 0].mean(-1))
    assert found["flatness-first"] == pytest.approx(found["entropy-first"] / np.log(6))


def test_a_share_of_the_distance_is_of_the_farthest_way(rng):
    first, second = np.zeros((2, 1, 1, 1, 5, 5))
    first[..., 0], second[..., 4] = 1, 1
    assert between(first, second)["emd-share-mean"] == pytest.approx(1)
    assert map_cosine(first, second) == pytest.approx(0)


@pytest.mark.parametrize(("rows", "reference"), [(400, slow.cka), (12, slow.unbiased_cka)])
def test_cka_is_that_of_kernel_matrices(rng, rows, reference):
    first = rng.normal(3, 1, (rows, 5))
    second = first @ rng.normal(size=(5, 7)) + rng.normal(size=(rows, 7))
    second = second[:, :5]
    assert linear_cka(first, second) == pytest.approx(reference(first, second), abs=1e-9)


@pytest.mark.parametrize("rows", [400, 30])
def test_turned_moved_and_scaled_states_are_the_same_to_cka(rng, rows):
    first = rng.normal(size=(rows, 6))
    turned = 3 * first @ np.linalg.qr(rng.normal(size=(6, 6)))[0] + 5
    assert linear_cka(first, first.copy()) == pytest.approx(1, abs=1e-12)
    assert linear_cka(first, turned) == pytest.approx(1)
    assert rsa(first, first) == pytest.approx(1)


def test_independent_states_have_no_cka_also_where_there_are_few(rng):
    found = [linear_cka(rng.normal(size=(40, 30)), rng.normal(size=(40, 30))) for _ in range(40)]
    assert abs(np.mean(found)) < 0.05


def test_rsa_is_the_correlation_of_all_pairs(rng):
    first, second = rng.normal(size=(2, 9, 4)) + 1
    pairs = [[slow.cosine(states[i], states[j]) for i in range(9) for j in range(i)] for states in (first, second)]
    assert rsa(first, second) == pytest.approx(np.corrcoef(pairs)[0, 1])


def test_states_that_are_all_the_same_up_to_rounding_have_no_similarity(rng):
    same = np.tile(rng.normal(size=6), (50, 1)) + 1e-6 * rng.normal(size=(50, 6))
    other = rng.normal(size=(50, 6))
    assert is_constant(same) and not is_constant(other)
    assert linear_cka(same, other) is None and rsa(other, same) is None
    assert jackknife(lambda kept: linear_cka(same[kept], other[kept]), 50) is None


def test_the_mean_cosine_of_all_pairs_follows_from_the_sum(rng):
    vectors = rng.normal(size=(11, 5)) + 0.5
    assert mean_cosine(unit_rows(vectors).sum(0), 11) == pytest.approx(slow.mean_cosine(vectors))


def test_the_jackknife_of_a_mean_has_its_standard_error(rng):
    values = rng.normal(size=400)
    value, low, high = jackknife(lambda kept: float(values[kept].mean()), 400)
    assert value == values.mean()
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.4)


def test_intervals_of_means_hold_the_mean_and_have_no_width_where_all_are_equal(rng):
    values = np.column_stack([rng.normal(size=200), np.ones(200)])
    mean, low, high = mean_intervals(values)
    assert low[0] < mean[0] < high[0]
    assert (high[0] - low[0]) / 2 == pytest.approx(1.96 / np.sqrt(200), rel=0.2)
    assert (low[1], mean[1], high[1]) == (1, 1, 1)
    assert np.array_equal(np.array(mean_intervals(values)), np.array(mean_intervals(values)))
    assert [float(one[0]) for one in mean_intervals(values[:1])] == [values[0, 0]] * 3


def test_lines_lose_the_marks_of_the_data_set_and_nothing_else(tmp_path):
    path = tmp_path / "text"
    path.write_text(" = A heading = \n\n A well @-@ known\u2028man of 1 @,@ 000 . \n", encoding="utf-8")
    assert text_lines(path) == ["= A heading =", "A well-known\u2028man of 1,000 ."]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"caf\xe9"])
def test_a_text_without_words_or_in_another_encoding_is_named(tmp_path, content):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(TextError, match="expected"):
        text_lines(tmp_path / "text")


def test_fewer_sentences_are_the_beginning_of_more_and_repeats_count_once(tmp_path):
    path = tmp_path / "text"
    path.write_text(
        "".join(f" This is the sentence number {n} .\n" for n in [*range(20), *range(20)]) + " Too short .\n",
        encoding="utf-8",
    )
    many = chosen_sentences(path, 50)
    assert len(many) == len(set(many)) == 20
    assert chosen_sentences(path, 7) == many[:7]
    assert "Too short ." in chosen_sentences(path, 50, plain=True)
    (tmp_path / "one").write_text("one line\n", encoding="utf-8")
    with pytest.raises(TextError, match="has 1 different lines, expected at least 2"):
        chosen_sentences(tmp_path / "one", 50, plain=True)


def test_thirty_pairs_ship_ten_of_each_kind():
    pairs = read_minimal_pairs()
    assert [sum(pair.kind == kind for pair in pairs) for kind in KINDS] == [10, 10, 10]
    assert len({(pair.good, pair.bad) for pair in pairs}) == 30
    for pair in pairs:
        assert (pair.good.sentence == pair.bad.sentence) != (pair.good.word == pair.bad.word)


def test_two_sentences_become_a_gap_where_they_differ():
    pair = two_sentences("the keys to the cabinet are here", "the keys to the cabinet is here")
    assert pair == two_words("the keys to the cabinet [MASK] here", "are", "is")
    assert two_sentences("no man saw it", "each old man saw it").bad.sentence == "[MASK] man saw it"


def test_a_file_of_pairs_that_is_none_is_named_by_line(tmp_path):
    path = tmp_path / "pairs.jsonl"
    row = {"kind": "own", "good": "a [MASK]", "good_word": "b", "bad": "a [MASK]", "bad_word": "c"}
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"bad": "no gap"}) + "\n", encoding="utf-8")
    with pytest.raises(TextError, match="line 2 is no minimal pair"):
        read_minimal_pairs(path)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A robin is a [MASK].", "A robin is not a [MASK]."),
        ("Birds can [MASK].", "Birds cannot [MASK]."),
        ("Rocky Balboa was born in [MASK] .", "Rocky Balboa was not born in [MASK] ."),
        ("He has been born in [MASK].", "He has not been born in [MASK]."),
        ("It could have been [MASK].", "It could not have been [MASK]."),
        ("[MASK] is a city that is old.", "[MASK] is not a city that is old."),
        ("[MASK] is the capital of [MASK].", "[MASK] is not the capital of [MASK]."),
        ("[MASK] can fly.", "[MASK] cannot fly."),
        ("May is the month of [MASK].", "May is not the month of [MASK]."),
        ("In May the sun is [MASK].", "In May the sun is not [MASK]."),
        ("Will Smith was born in [MASK].", "Will Smith was not born in [MASK]."),
        ("Talk? Birds can [MASK].", "Talk? Birds cannot [MASK]."),
        ("BIRDS CAN [MASK].", "BIRDS CANNOT [MASK]."),
    ],
)
def test_a_sentence_is_negated_where_its_gap_is(sentence, expected):
    assert negated(sentence).text == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A robin is not a [MASK].", "A robin is a [MASK]."),
        ("Birds cannot [MASK].", "Birds can [MASK]."),
        ("It isn't in [MASK].", "It is in [MASK]."),
        ("He was never in [MASK].", "He was in [MASK]."),
    ],
)
def test_a_negated_sentence_loses_its_negation(sentence, expected):
    changed = negated(sentence)
    assert changed.text == expected
    assert "was negated" in changed.words


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        *((text, "was found to put") for text in ("[MASK]", "Miles Davis plays [MASK] .", "May birds [MASK]", "")),
        *(
            (f"{text} [MASK].", "other than “not”")
            for text in ("He ain't", "It won’t be", "Nobody is", "Not all are", "It is hardly")
        ),
        *(
            (f"{text} is [MASK].", "several verbs")
            for text in ("Rome is big and Paris", "The man who was tall", "If it was cold, snow")
        ),
        ("Can birds [MASK]?", "is a question"),
        ("can birds fly to [MASK]", "is a question"),
        ("Will it be said that he was in [MASK]?", "is a question"),
        ("Where is [MASK]? It is here.", "is a question"),
    ],
)
def test_a_sentence_that_no_rule_negates_is_left_with_the_reason(sentence, reason):
    changed = negated(sentence)
    assert changed.text is None and reason in changed.words


def test_a_misprime_is_put_before_the_sentence_as_a_question():
    assert misprimed("Birds can [MASK].", "talk").text == "Talk? Birds can [MASK]."
    assert misprimed("Birds can [MASK].", " talk? ").text == "Talk? Birds can [MASK]."


@pytest.mark.parametrize(
    ("prime", "expected"), [("", "type a word"), (" ?", "type a word"), ("[mask]", "contains a gap")]
)
def test_a_misprime_must_be_a_word(prime, expected):
    changed = misprimed("Birds can [MASK].", prime)
    assert changed.text is None
    assert expected in changed.words


def test_shuffling_moves_words_and_leaves_gap_and_punctuation():
    sentence = "In San Marino, official documents are written in [MASK]."
    changed = shuffled(sentence, 3).text
    assert changed != sentence
    assert changed.endswith("[MASK].") and changed.count(",") == 1
    assert sorted(changed.replace(",", "").split()) == sorted(sentence.replace(",", "").split())
    assert changed == shuffled(sentence, 3).text
    assert len({shuffled(sentence, seed).text for seed in range(8)}) > 4


@pytest.mark.parametrize("sentence", ["[MASK]", "Paris [MASK]", "the The [MASK]"])
def test_one_word_cannot_be_shuffled(sentence):
    assert shuffled(sentence).text is None


@pytest.mark.parametrize(
    ("sentence", "keep", "expected"),
    [
        ("The capital of France is [MASK].", 2, "France is [MASK]."),
        ("The capital of France is [MASK].", 0, "[MASK]."),
        ("The city of [MASK] lies on the river Seine .", 1, "of [MASK] lies ."),
        ("The capital of France is [MASK]", 4, "capital of France is [MASK]"),
    ],
)
def test_only_the_words_nearest_the_gap_stay(sentence, keep, expected):
    assert truncated(sentence, keep).text == expected


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Rocky Balboa was born in [MASK].", "Rocky Balboa"),
        ("The capital of France is [MASK].", "France"),
        ("France is in [MASK].", "France"),
        ("University of London is in [MASK]. It is old.", "University of London"),
        ("In San Marino, official documents are written in [MASK].", "San Marino"),
        ("iPod Touch is made by [MASK].", "iPod Touch"),
        ("Does Marie de France live in [MASK]?", "Marie de France"),
        ("A robin is a [MASK].", None),
        ("Fresh snow is [MASK].", None),
        ("[MASK] is a city.", None),
    ],
)
def test_a_name_is_recognised_by_its_capital_letters(sentence, name):
    assert find_entity(sentence) == name


def test_another_name_replaces_that_of_the_sentence():
    assert renamed("Rocky Balboa was born in [MASK].", "Hans Müller").text == "Hans Müller was born in [MASK]."
    assert renamed("Paris is in [MASK], not Parisian.", "Rome", "Paris").text == "Rome is in [MASK], not Parisian."


@pytest.mark.parametrize(
    ("sentence", "other", "name", "expected"),
    [
        ("fresh snow is [MASK].", "Rome", None, "no name was found"),
        ("Paris is in [MASK].", " ", None, "no other name"),
        ("Paris is in [MASK].", "Rome", "Berlin", "is not in the sentence"),
        ("Paris is in [MASK].", "Paris", None, "is already the name"),
    ],
)
def test_a_name_that_cannot_be_changed_is_explained(sentence, other, name, expected):
    changed = renamed(sentence, other, name)
    assert changed.text is None
    assert expected in changed.words


def test_a_name_is_offered_that_is_not_there_yet():
    assert other_entity("Rocky Balboa") == "Giovanni Rossi"
    assert other_entity("Giovanni Rossi") == "Hans Müller"
    assert other_entity("Italy") == "Poland"


def test_words_to_mislead_with_are_the_models_own_wrong_answers():
    assert wrong_answers(["paris", "##s", ".", " lyon", "a", "lyon", "rome"], ["Paris"]) == ["lyon", "rome"]
