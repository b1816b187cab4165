"""No two models have one colour, and every colour can be seen."""

import itertools
import math

import pytest

from probing.core.naming.model_names import KnownModel
from probing.figures import theme

from .colours import colours_of, contrast

SHIPPED = (
    "nesia-mini",
    "nesia-mini-qa-squad-1",
    "nesia-mini-qa-squad-2",
    "nesia-mini-mlm-squad",
    "nesia-mini-rank-msmarco",
    "nesia-mini-mlm-msmarco",
    "nesia-mini-ner-conll",
    "nesia-mini-control",
)
BERT = (
    "bert-base-uncased",
    "bert-base-uncased-squad-v1",
    "bert-base-uncased-squad2",
    "pt-bert-base-uncased-msmarco",
    "bert-base-NER",
)
ROBERTA = ("roberta-base", "roberta-base-squad2")
#: Streamlit's own dark page, and ours.
DARK = ("#0E1117", "#11161C")
FIRST_FAMILY = {shades[0] for shades in theme.OBJECTIVE_COLOURS.values()}
FURTHER = {colour for shades in theme.OBJECTIVE_COLOURS.values() for colour in shades[1:]} | set(theme.OTHER_COLOURS)


def lab(colour: str) -> tuple[float, float, float]:
    """OKLab: distances are about as large as they look."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)
    )
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    middle = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def test_no_two_models_of_three_families_and_eight_others_have_one_colour():
    colours = colours_of(*SHIPPED, *BERT, *ROBERTA, *(f"model {n}" for n in range(8)))
    assert len(set(colours.values())) == len(colours)


def test_a_colour_of_the_registry_is_taken_as_it_is_and_given_to_no_other():
    models = [KnownModel("a", colour=theme.OTHER_COLOURS[0], family="a"), KnownModel("b", family="b")]
    assert theme.model_colours(models) == {"a": theme.OTHER_COLOURS[0], "b": theme.OTHER_COLOURS[1]}


@pytest.mark.parametrize("colour", sorted(FURTHER | {"#8C6BD1"}))
def test_colours_of_further_models_can_be_seen_on_a_light_and_on_a_dark_page(colour):
    assert min(contrast(colour, page) for page in ("#FFFFFF", *DARK)) >= 3


@pytest.mark.parametrize("colour", sorted(FIRST_FAMILY | FURTHER))
def test_numbers_on_bars_can_be_read_on_every_models_colour(colour):
    assert contrast(colour, theme.ink_on(colour)) >= 4.5


def test_shades_look_different_from_each_other_and_from_the_first_familys():
    shades = [*(colour for shades in theme.OBJECTIVE_COLOURS.values() for colour in shades), "#8C6BD1"]
    near = [pair for pair in itertools.combinations(shades, 2) if math.dist(lab(pair[0]), lab(pair[1])) < 0.05]
    assert near == []
