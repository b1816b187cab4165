"""The floors of every accuracy: the commonest label, and what length, first letter, final mark and words say."""

import numpy as np
import pytest

from probing.core.sentences.example import Example
from probing.core.sentences.majority import majority_label, majority_right
from probing.core.sentences.surface import surface_features


def examples(labels: str) -> list[Example]:
    return [Example(f"Sentence {place}", label) for place, label in enumerate(labels)]


def test_the_majority_label_is_the_commonest_of_training_and_of_ties_the_first():
    assert majority_label(examples("abb")) == "b"
    assert majority_label(examples("bbaa")) == "a"
    assert majority_right(examples("bbaa"), examples("abbb")) == 1


def test_surface_features_are_length_first_letter_final_mark_and_training_words():
    train = [Example("The dog ran .", "x"), Example("the dog ?", "y")]
    features = surface_features(train, [Example("The cat sat on a dog ?", "x"), Example("oh", "y")])
    assert features.dtype == np.float32
    # Words of training by frequency, then alphabetically: dog, the, ., ?, ran.
    assert features[0].tolist() == [7, 22, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0]
    assert features[1].tolist() == [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]


def test_pairs_have_the_shape_of_both_and_only_2000_words_count():
    train = [Example(f"w{place} w{place + 1}", "x", "Yes .") for place in range(3000)]
    features = surface_features(train, train[:2])
    assert features.shape == (2, 24 + 2000)
    assert features[0, :3].tolist() == [2, 5, 0] and features[0, 12:16].tolist() == [2, 5, 1, 1]


@pytest.mark.parametrize("text", ["", " ", "."])
def test_what_has_no_word_has_features(text):
    assert np.isfinite(surface_features([Example(text, "x")], [Example(text, "x")])).all()
