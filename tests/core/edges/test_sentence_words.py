"""A typed sentence is cut into words as the data sets cut theirs, and spans of it are read."""

import pytest

from probing.core.edges.words import numbered, read_span, split_words, written_span
from probing.core.errors import EdgeDataError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("he smoked toronto, with six hits ...", "he smoked toronto , with six hits ..."),
        ("Don't you think it's the dogs' bone?!", "Do n't you think it 's the dogs ' bone ? !"),
        (
            "She can’t “see” 1,000.5 well-known U.S. sites at a@b.org.",
            "She ca n’t “ see ” 1,000.5 well-known U.S. sites at a@b.org .",
        ),
        ("<b>Zoë’s</b> 🙂 (o'clock)", "< b > Zoë ’s < / b > 🙂 ( o'clock )"),
        ("हिन्दी भाषा e\u0301te\u0301", "हिन्दी भाषा e\u0301te\u0301"),
        ("  \n ", ""),
    ],
)
def test_a_sentence_is_cut_at_blanks_marks_and_clitics(text, words):
    assert " ".join(split_words(text)) == words


@pytest.mark.parametrize("text", ["I do n't know what 's up , he said .", "it costs $ 3 , or so ..."])
def test_words_that_are_apart_already_stay_as_they_are(text):
    assert list(split_words(text)) == text.split()


def test_every_character_but_blanks_is_in_a_word_and_cutting_again_changes_nothing():
    text = (
        "".join(chr(number) for number in range(33, 0x2600) if chr(number).isprintable())
        + " ''s n't's -- a--b x'-y ..!! 𝔘."
    )
    words = split_words(text)
    assert "".join(words) == "".join(text.split())
    assert split_words(" ".join(words)) == words


def test_a_span_is_read_as_commands_and_as_links_write_it():
    assert read_span("3:5", 5, "--span1") == read_span(" 3-5 ", 5, "span1") == (3, 5)
    assert read_span(written_span((0, 2)), 2, "span1") == (0, 2)
    assert numbered(["he", "ran"]) == "0 he  1 ran"


@pytest.mark.parametrize("text", ["5:3", "3:3", "0:6", "-1:2", "3", "a:b", "3:5:7", "", "٣:٤", "999999:9999999"])
def test_a_span_that_is_none_is_refused_in_words(text):
    with pytest.raises(EdgeDataError, match=r"got --span1 .*; expected"):
        read_span(text, 5, "--span1")
