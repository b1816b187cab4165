"""The glossary: every term is defined once and found in texts by each of its forms."""

from collections import Counter

from probing.core.glossary.terms import MOST, TERMS, found_in, glossary
from probing.core.metrics import METRICS


def names(text: str) -> list[str]:
    return [one.name for one in found_in(text)]


def test_every_word_has_one_meaning_and_every_quantity_is_a_term():
    forms = Counter(form.lower() for one in glossary().values() for form in {one.name, *one.forms})
    assert [form for form, number in forms.items() if number > 1] == []
    # F1 is a term and the label of one of the quantities that are called so.
    assert set(glossary()) == {one.name for one in TERMS} | {one.label for one in METRICS.values()}
    assert len(glossary()) == len(TERMS) + len(METRICS) - 1


def test_a_term_is_found_by_its_name_and_its_other_forms():
    for name, term in glossary().items():
        assert all(names(f"Here is the {form}, once more the {form}.") == [name] for form in (name, *term.forms)), name


def test_the_longer_of_two_terms_is_found_in_the_order_of_the_text():
    assert names("P@1 among answers, swapped subjects, then P@1.") == ["P@1 among answers", "swapped subject", "P@1"]
    assert names("nesia-mini-control is uncontrolled, and p@100 is no P@1000") == ["P@100"]


def test_only_the_first_terms_of_a_long_text_are_explained():
    assert names(", ".join(glossary())) == list(glossary())[:MOST]
