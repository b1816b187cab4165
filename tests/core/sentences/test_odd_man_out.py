"""Our own odd-man-out: by rule from a treebank, equal every time."""

from collections import Counter
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
    return [
        f"The/DET/DT {nouns[place % 10]}/NOUN/NN is/AUX/VBZ {very[place]}old/ADJ/JJ ./PUNCT/."
        for place in range(number)
    ]


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
    none = [
        "Old/ADJ/JJ and/CCONJ/CC very/ADV/RB very/ADV/RB old/ADJ/JJ",
        "One/NOUN/NN two/NOUN/NN three/NOUN/NN ./PUNCT/.",
    ]
    long = " ".join(["word/NOUN/NN"] * 29)
    repeated = [planted(1)[0].replace("The/", "THE/")]
    examples, without = odd_man_out(treebank(tmp_path / "ewt", [*planted(20), *none, long, *repeated]))
    assert len(examples) + without == 20


def test_a_sentence_that_nothing_fits_is_left_out_and_counted(tmp_path):
    sentences = [
        f"Only/ADV/RB {'so/ADV/RB ' * place}thing/NOUN/X{place} is/AUX/VBZ here/ADV/RB ./PUNCT/."
        for place in range(1, 20)
    ]
    examples, without = odd_man_out(treebank(tmp_path / "ewt", sentences))
    assert without > 3 and {one.label for one in examples} == {"original"} and len(examples) + without == 19


def test_a_line_of_another_form_is_named(tmp_path):
    folder = treebank(tmp_path / "ewt", planted(3))
    (folder / "en_ewt-ud-dev.conllu").write_text("1\tno\n")
    with pytest.raises(SentenceDataError, match=r"dev\.conllu, line 1: got 2 columns, expected CoNLL-U's 10"):
        make_odd_man_out(folder)
