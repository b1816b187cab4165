"""The selection and its link."""

from dataclasses import fields, replace

import pytest

from probing.ui.frame.selection import PAGE_FIELDS, Selection, from_query, to_query

CHOSEN = Selection(
    models=("nesia-mini", "path,with comma"), heads=("lens",), probe_sets=("trex",), metric="mrr", average="micro", k=10, panels=True,
    exposures=("held out", "stated"), in_subject="no", model="nesia-mini", head="lens", probe_set="trex", relation="P19", text="Zoë & <b>",
    known="ever", known_at=0, first_known=3, last_known=12, at_layer=0, at_rank=100, order="best rank", sheet=4, fact="abc", live_model="m",
    live_head="full", prompt="Paris is in [MASK].", watch="france, italy", scale="probability", top=10, mask=0,
    row_order="name", against_base=True, relations=("P36", "P19"), definition="strict", tuned="nesia-mini-qa-squad-1",
    versus_model="nesia-mini", never=True,
    versus="nesia-mini", part="erased", part_k=10, fact_models=("nesia-mini", "other"), live_models=("a", "b"), behaviour="shuffled",
    prime="talk", shuffle_seed=4, keep_words=0, other_name="Rome", replaced="last", live_base="nesia-mini",
    family="bert-base-uncased", family_head="full", figure=4,
)  # fmt: skip


def as_read(query: dict) -> dict[str, list[str]]:
    return {name: value if isinstance(value, list) else [value] for name, value in query.items()}


@pytest.mark.parametrize("page", PAGE_FIELDS)
def test_a_copied_link_opens_the_same_view(page):
    read, ignored = from_query(as_read(to_query(CHOSEN, page)), page)
    assert ignored == []
    assert {name: getattr(read, name) for name in PAGE_FIELDS[page]} == {name: getattr(CHOSEN, name) for name in PAGE_FIELDS[page]}


def test_every_field_differs_from_its_default_in_this_test_and_is_in_some_link():
    assert all(getattr(CHOSEN, field.name) != field.default for field in fields(Selection))
    assert {field.name for field in fields(Selection)} == {name for names in PAGE_FIELDS.values() for name in names}


@pytest.mark.parametrize("page", PAGE_FIELDS)
def test_defaults_are_not_in_the_link(page):
    assert to_query(Selection(), page) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "p_at_7"), ("metric", "<script>"), ("average", ""), ("panels", "yes"), ("exposures", "secret"), ("in_subject", "maybe"),
    ],
)  # fmt: skip
def test_values_that_make_no_sense_are_ignored_by_name(name, value):
    read, ignored = from_query({name: [value or "x"]}, "layer_curves")
    assert ignored == [name]
    assert read == Selection()


@pytest.mark.parametrize(
    ("name", "value"), [("at_layer", "-1"), ("at_layer", "1e3"), ("at_rank", "7"), ("sheet", "9" * 30), ("known_at", "300")]
)
def test_numbers_out_of_range_are_ignored_by_name(name, value):
    assert from_query({name: [value]}, "facts")[1] == [name]


def test_a_link_sets_the_fields_of_its_page_and_leaves_the_others():
    before = replace(Selection(), prompt="typed", metric="mrr", models=("a",))
    read, _ = from_query({"average": ["micro"]}, "layer_curves", before)
    assert (read.average, read.metric, read.models) == ("micro", "p_at_1", ())
    assert read.prompt == "typed"


def test_an_endless_prompt_is_ignored():
    assert from_query({"prompt": ["x" * 5000]}, "live")[1] == ["prompt"]
