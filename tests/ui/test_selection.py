"""What is chosen on each page and for all of them, and its link."""

from dataclasses import Field, dataclass, fields, replace
from typing import Any

import pytest

from probing import ui
from probing.ui.frame import selection
from probing.ui.frame.selection import PAGE_FIELDS, RunChoice, declared, from_query, to_query, unknown_names

assert ui, "the import declares what is chosen on each page"


def another(one: Field) -> Any:
    """A value of a field that is not its default."""
    default = one.default
    choices = [value for value in one.metadata.get("choices", ()) if value != default]
    if choices:
        return choices[-1]
    if isinstance(default, tuple):
        return tuple(one.metadata.get("each", ("path,with comma", "Zoë & <b>")))[:2]
    return (
        (not default)
        if isinstance(default, bool)
        else 7
        if isinstance(default, int)
        else 0
        if default is None
        else "Zoë & <b>, x"
    )


def chosen(kind: type) -> Any:
    """A selection in which no field has its default."""
    return kind(**{one.name: another(one) for one in fields(kind)})


SHARED = chosen(RunChoice)
PAGES = sorted(PAGE_FIELDS)


def own(page: str) -> type:
    """The class of a page's own choices."""
    return selection._OWN[page]


def as_read(query: dict) -> dict[str, list[str]]:
    return {name: value if isinstance(value, list) else [value] for name, value in query.items()}


@pytest.mark.parametrize("page", PAGES)
def test_a_copied_link_opens_the_same_view(page):
    wanted = chosen(own(page))
    shared, found, ignored = from_query(as_read(to_query(page, SHARED, wanted)), page)
    assert ignored == [] and found == wanted
    read = {one.name for one in fields(RunChoice)} & set(PAGE_FIELDS[page])
    assert {name: getattr(shared, name) for name in read} == {name: getattr(SHARED, name) for name in read}


def test_two_selections_cannot_have_a_field_of_the_same_name():
    @dataclass(frozen=True)
    class Other:
        prompt: str = ""

    with pytest.raises(TypeError, match="prompt"):
        declared("another page")(Other)
    assert "another page" not in PAGE_FIELDS


@pytest.mark.parametrize("page", PAGES)
def test_defaults_are_not_in_the_link(page):
    assert to_query(page, RunChoice(), own(page)()) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "p_at_7"),
        ("metric", "<script>"),
        ("average", ""),
        ("panels", "yes"),
        ("exposures", "secret"),
        ("in_subject", "maybe"),
    ],
)
def test_values_that_make_no_sense_are_ignored_by_name(name, value):
    assert from_query({name: [value or "x"]}, "layers") == (RunChoice(), own("layers")(), [name])


@pytest.mark.parametrize(
    ("name", "value"),
    [("at_layer", "-1"), ("at_layer", "1e3"), ("at_rank", "7"), ("list_page", "9" * 30), ("known_at", "300")],
)
def test_numbers_out_of_range_are_ignored_by_name(name, value):
    assert from_query({name: [value]}, "facts")[2] == [name]


def test_a_link_sets_the_fields_of_its_page_and_leaves_the_shared_ones_that_it_does_not_read():
    before = replace(RunChoice(), model="a model", live_model="another", models=("a",))
    shared, mine, _ = from_query({"example": ["2"]}, "home", before)
    assert (shared.models, mine.example) == ((), 2)
    assert (shared.model, shared.live_model) == ("a model", "another")


def test_an_endless_prompt_is_ignored():
    assert from_query({"prompt": ["x" * 5000]}, "ask")[2] == ["prompt"]


@pytest.mark.parametrize(
    ("page", "name", "similar"),
    [
        ("facts", "relatoin", "relation"),
        ("compare", "model", ""),
        ("methods", "prompt", ""),
        ("ask", "perturbatoin", "perturbation"),
    ],
)
def test_a_name_that_is_no_field_of_the_page_is_found_with_the_field_that_it_may_mean(page, name, similar):
    query = as_read(to_query(page, SHARED, chosen(own(page)))) | {"embed": ["true"]}
    assert unknown_names(query, page) == {}
    assert unknown_names(query | {name: ["x"]}, page).keys() == {name}
    assert not similar or unknown_names({name: ["x"]}, page) == {name: similar}
