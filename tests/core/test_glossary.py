"""Terms of the glossary are found in texts, the longer of two first."""

from probing.core.glossary.terms import terms_in


def names(text: str) -> list[str]:
    return [one.name for one in terms_in(text)]


def test_the_longer_of_two_terms_is_found_in_the_order_of_the_text():
    assert names("P@1 among answers, swapped subjects, then P@1.") == ["P@1 among answers", "blind guess", "P@1"]
    assert names("nesia-mini-control is uncontrolled, and p@100 is no P@1000") == ["P@100"]
