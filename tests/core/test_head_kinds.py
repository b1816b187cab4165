"""The names of kinds of heads: those of today, and those of earlier versions."""

import pytest

from probing.core.head_kinds import ALIASES, HEADS, LOGIT_LENS, MAPPED, STORED, canonical_head, canonical_heads, configured_head


@pytest.mark.parametrize(
    ("said", "meant"),
    [("lens", LOGIT_LENS), ("logit-lens", LOGIT_LENS), ("tuned-lens", "tuned_lens"), *((name, name) for name in HEADS)],
)
def test_a_name_of_today_or_before_gives_the_name_of_today(said, meant):
    assert canonical_head(said) == meant


@pytest.mark.parametrize("name", ["", "Lens", "lense", "tied-full", "logit lens"])
def test_an_unknown_name_stays_for_the_error_that_names_it(name):
    assert canonical_head(name) == name


def test_several_names_of_one_kind_are_one():
    assert canonical_heads(["lens", "tied", "logit_lens"]) == (LOGIT_LENS, "tied")
    assert canonical_heads(None) is None and canonical_heads(()) == ()


def test_a_configuration_has_the_name_of_version_0_2():
    assert {name: configured_head(name) for name in HEADS if configured_head(name) != name} == {LOGIT_LENS: "lens"}
    assert all(canonical_head(configured_head(name)) == name for name in HEADS)


def test_no_old_name_is_one_of_today():
    assert not set(ALIASES) & set(HEADS) and set(ALIASES.values()) <= set(HEADS)
    assert LOGIT_LENS not in STORED and set(MAPPED) < set(STORED)
