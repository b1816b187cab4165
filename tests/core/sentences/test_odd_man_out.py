"""Our own odd-man-out: by rule from a treebank, equal every time."""

from collections import Counter
from itertools import pairwise
from math import log, log1p
from pathlib import Path

import pytest

from probing.core.errors import SentenceDataError
from probing.core.sentences.odd_man_out import make_odd_man_out, odd_man_out


def treebank(folder: Path, sentences: list[str]) -> Path:
    """UD English EWT's files with sentences of ``form/UPOS/XPOS``; all are in the training file."""
    folder.mkdir(parents=True)
    for part in ("train", "dev", "test"):
        lines = []
        for sentence in sentences if part == "train" else []:
            for place, word in enumerate(sentence.split(), 1):
                form, universal, tag = word.split("/")
                lines.append(f"{place}\t{form}\t_\t{universal}\t{tag}\t_\t0\troot\t_\t_\n")
            lines.append("\n")
        (folder / f"en_ewt-ud-{part}.conllu").write_text("".join(lines))
    return folder


def planted(number: int) -> list[str]:
    nouns = [f"noun{chr(97 + place)}" for place in range(10)]
    very = ["very/ADV/RB " * (place // 10) for place in range(number)]
    return [f"The/DET/DT {nouns[place % 10]}/NOUN/NN is/AUX/VBZ {very[place]}old/ADJ/JJ ./PUNCT/." for place in range(number)]


def test_half_of_the_sentences_have_one_noun_replaced_by_another(tmp_path):
    folder = treebank(tmp_path / "ud-english-ewt", planted(100))
    examples, without = odd_man_out(folder)
    assert len(examples) + without == 100 and without == 0
    assert examples == make_odd_man_out(folder)
    counts = Counter(one.label for one in examples)
    assert min(counts.values()) > 30
    originals = [" ".join(word.split("/")[0] for word in one.split()) for one in planted(100)]
    for text, one in zip(originals, examples, strict=True):
        differing = [(old, new) for old, new in zip(text.split(), one.text.split(), strict=True) if old != new]
        assert len(differing) == (one.label == "changed")
        assert all(old.startswith("noun") and new.startswith("noun") for old, new in differing)


def test_short_long_and_repeated_sentences_and_those_without_noun_or_verb_are_passed_over(tmp_path):
    none = ["Old/ADJ/JJ and/CCONJ/CC very/ADV/RB very/ADV/RB old/ADJ/JJ", "One/NOUN/NN two/NOUN/NN three/NOUN/NN ./PUNCT/."]
    long = " ".join(["word/NOUN/NN"] * 29)
    repeated = [planted(1)[0].replace("The/", "THE/")]
    examples, without = odd_man_out(treebank(tmp_path / "ewt", [*planted(20), *none, long, *repeated]))
    assert len(examples) + without == 20


def test_a_sentence_that_nothing_fits_is_left_out_and_counted(tmp_path):
    sentences = [f"Only/ADV/RB {'so/ADV/RB ' * place}thing/NOUN/X{place} is/AUX/VBZ here/ADV/RB ./PUNCT/." for place in range(1, 20)]
    examples, without = odd_man_out(treebank(tmp_path / "ewt", sentences))
    assert without > 3 and {one.label for one in examples} == {"original"} and len(examples) + without == 19


def test_a_line_of_another_form_is_named(tmp_path):
    folder = treebank(tmp_path / "ewt", planted(3))
    (folder / "en_ewt-ud-dev.conllu").write_text("1\tno\n")
    with pytest.raises(SentenceDataError, match=r"dev\.conllu, line 1: got 2 columns, expected CoNLL-U's 10"):
        make_odd_man_out(folder)


def test_of_the_treebank_half_is_changed_by_words_of_the_same_tag_and_frequency(shared_data):
    folder = shared_data / "ud-english-ewt"
    examples, without = odd_man_out(folder)
    assert len(examples) + without == 10_801 and without == 118
    assert Counter(one.label for one in examples) == {"original": 5_341, "changed": 5_342}
    # Again from the files alone: every changed sentence is one of the treebank with one word that is as frequent there.
    seen: dict[tuple[str, ...], list[list[str]]] = {}
    for part in ("train", "dev", "test"):
        for block in (folder / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf-8").split("\n\n"):
            columns = [line.split("\t") for line in block.split("\n") if line.split("\t")[0].isdigit()]
            seen.setdefault(tuple(one[1].lower() for one in columns), columns)
    single = Counter(word for words in seen for word in words)
    pairs = Counter(pair for words in seen for pair in pairwise(("", *words, "")))
    tags = {(one[1].lower(), one[4]) for columns in seen.values() for one in columns}
    made = iter(examples)
    one = next(made)
    for words, columns in seen.items():
        got = one.text.lower().split(" ")
        differing = [place for place, word in enumerate(words) if len(got) == len(words) and got[place] != word]
        if len(got) != len(words) or len(differing) != (one.label == "changed"):
            continue
        for place in differing:
            new, old, (before, _, behind) = got[place], words[place], ("", *words, "")[place : place + 3]
            assert columns[place][3] in ("NOUN", "VERB") and (new, columns[place][4]) in tags
            assert abs(log(single[new]) - log(single[old])) <= 1 + 1e-9
            assert abs(log1p(pairs[before, new]) - log1p(pairs[before, old])) <= 1
            assert abs(log1p(pairs[new, behind]) - log1p(pairs[old, behind])) <= 1
        one = next(made, one)
    assert next(made, None) is None and one is examples[-1]
