"""How a gap can be written."""

import pytest

from probing.core.perturb import rules
from probing.core.questions import with_masks

GAPS = "[MASK]|[mask]|[Mask]|<mask>|<MASK>|___|_______|＿＿＿|[ MASK ]|[BLANK]|[MASK\u200b]|< mask >"
UNSPACED = "柏林是{}的首都。 ベルリンは{}の首都です。 เบอร์ลินอยู่ใน{}ครับ ເບີລິນຢູ່{}ນະ ប៊ែរឡាំង{}ជា ဘာလင်{}သည် 1989{}年 在{}Berlin"
NO_GAPS = (
    "snake_case|__init__|a _ b|a __ b|one___two|mask|<masked>|[masks]||Ünï___ço|мир___дом|서울___도|a＿＿＿b|(mask)"
)


@pytest.mark.parametrize("gap", GAPS.split("|"))
def test_a_gap_can_be_written_in_several_ways(gap):
    assert with_masks(f"The capital of France is {gap}.") == "The capital of France is [MASK]."
    assert with_masks(f"{gap} is in {gap}") == "[MASK] is in [MASK]"
    assert with_masks(gap) == "[MASK]"


@pytest.mark.parametrize("gap", ["___", "____", "＿＿＿"])
@pytest.mark.parametrize("text", UNSPACED.split())
def test_a_gap_needs_no_blanks_in_scripts_that_write_none(text, gap):
    assert with_masks(text.format(gap)) == text.format("[MASK]")


def test_a_gap_may_touch_a_word_and_several_spellings_may_meet():
    assert with_masks("It is___, not <mask> or [mask]") == "It is[MASK], not [MASK] or [MASK]"


@pytest.mark.parametrize("text", NO_GAPS.split("|"))
def test_other_underscores_and_words_stay(text):
    assert with_masks(text) == text


def test_a_word_that_is_put_in_brings_no_gap_of_its_own():
    assert rules.misprimed("Birds can [MASK].", "___").text is None
    assert rules.renamed("Rocky was born in [MASK].", "<mask>", "Rocky").text is None
