"""What is chosen on each page and for all of them, its link, and which runs a page shows."""

from dataclasses import Field, fields, replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from probing import choices
from probing.kernel.app import selection
from probing.kernel.app.frame import View
from probing.kernel.app.selection import PAGE_FIELDS, RunChoice, from_query, to_query, unknown_names
from probing.kernel.figures.looks import fit, overlaid
from probing.kernel.models.names import BERT
from probing.kernel.store.stored import one_run_each

assert choices, "the import declares what is chosen on each page"


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


@pytest.mark.parametrize("page", PAGES)
def test_defaults_are_not_in_the_link(page):
    assert to_query(page, RunChoice(), own(page)()) == {}


@pytest.mark.parametrize(
    ("page", "values"),
    [
        ("layers", {"metric": "p_at_7", "average": "x", "panels": "yes", "exposures": "secret", "in_subject": "maybe"}),
        ("layers", {"metric": "<script>"}),
        ("facts", {"at_layer": "-1", "at_rank": "7", "list_page": "9" * 30, "known_at": "300"}),
        ("facts", {"at_layer": "1e3"}),
        ("ask", {"prompt": "x" * 5000}),
    ],
)
def test_values_that_make_no_sense_are_ignored_by_name(page, values):
    for name, value in values.items():
        assert from_query({name: [value]}, page) == (RunChoice(), own(page)(), [name])


def test_a_link_sets_the_fields_of_its_page_and_leaves_the_shared_ones_that_it_does_not_read():
    before = replace(RunChoice(), model="a model", live_model="another", models=("a",))
    shared, mine, _ = from_query({"example": ["2"]}, "home", before)
    assert (shared.models, mine.example) == ((), 2)
    assert (shared.model, shared.live_model) == ("a model", "another")


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


def runs(*rows: tuple, counted: tuple[str, ...] = ()) -> pd.DataFrame:
    columns = ["run_id", "model", "head", "probe_set", "role", "template_set", "created", "base"]
    defaults = ("r", "m", "tied", "trex", "primary", "default", "2026-01-01", "")
    table = pd.DataFrame([row + defaults[len(row) :] for row in rows], columns=columns)
    return table.assign(counted=table["run_id"].isin(counted), dtype="float32", config="{}")


def test_no_chosen_run_is_a_table_without_rows():
    assert overlaid(runs(("r",)), ["m"], ["full"], ["trex"]).empty


def test_replicates_other_templates_and_older_runs_come_last():
    table = runs(
        ("replicate", "m", "tied", "trex", "replicate"),
        ("paraphrase", "m", "tied", "trex", "primary", "paraphrase", "2026-03-01"),
        ("old", "m", "tied", "trex", "primary", "default", "2026-01-01"),
        ("new", "m", "tied", "trex", "primary", "default", "2026-02-01"),
        ("lama", "m", "tied", "squad", "primary", "lama"),
    )
    assert sorted(one_run_each(table)["run_id"]) == ["lama", "new"]


def test_a_run_with_predictions_comes_before_a_newer_one_of_which_counts_alone_are_stored():
    table = runs(
        ("counted", "m", "tied", "trex", "primary", "default", "2026-03-01"),
        ("asked", "m", "tied", "trex", "primary", "default", "2026-01-01"),
        ("alone", "m", "logit_lens", "trex", "primary", "default", "2026-03-01"),
        counted=("counted", "alone"),
    )
    assert sorted(one_run_each(table)["run_id"]) == ["alone", "asked"]


def test_a_newer_run_in_shorter_numbers_does_not_hide_that_of_the_same_facts_in_float32():
    newer = ("short", "m", "tied", "trex", "primary", "default", "2026-03-01")
    table = runs(("exact",), newer).assign(dtype=["float32", "bfloat16"])
    assert one_run_each(table)["run_id"].tolist() == ["exact"]
    other = table.assign(config=["{}", '{"facts_sha256": "1"}'])
    assert one_run_each(other)["run_id"].tolist() == ["short"]


def test_defaults_are_the_first_model_the_head_that_most_models_have_and_all_probe_sets():
    table = runs(
        ("1", "nesia-mini-control", "logit_lens"),
        ("2", "nesia-mini", "tied", "questions"),
        ("3", "nesia-mini", "tied", "trex"),
        ("4", "nesia-mini", "logit_lens"),
    )
    assert fit(RunChoice(), table)[0].heads == ("logit_lens",), (
        "a model without the first model's heads would have no line"
    )
    counted = pd.concat([table, runs(("5", "nesia-mini-control", "tied"), counted=("5",))], ignore_index=True)
    assert fit(RunChoice(), counted)[0].heads == ("logit_lens",), "of the other run counts alone are stored"
    table = pd.concat([table, runs(("5", "nesia-mini-control", "tied"))], ignore_index=True)
    chosen, unknown = fit(RunChoice(), table)
    assert unknown == {}
    assert (chosen.models, chosen.heads, chosen.probe_sets) == (
        ("nesia-mini", "nesia-mini-control"),
        ("tied",),
        ("trex", "questions"),
    )
    assert (chosen.model, chosen.head, chosen.probe_set) == ("nesia-mini", "tied", "trex")


def test_many_models_are_shown_on_one_probe_set_at_first():
    table = runs(
        *((f"{name}{probe_set}", name, "tied", probe_set) for name in "abcde" for probe_set in ("questions", "trex"))
    )
    chosen, _ = fit(RunChoice(), table)
    assert (chosen.models, chosen.probe_sets) == (tuple("abcde"), ("trex",))
    assert fit(RunChoice(models=("a", "b")), table)[0].probe_sets == ("trex", "questions")
    assert fit(RunChoice(probe_sets=("questions", "trex")), table)[0].probe_sets == ("questions", "trex")


def test_the_single_run_exists_whatever_was_chosen():
    table = runs(("1", "a", "logit_lens", "trex"), ("2", "b", "tied", "questions"))
    chosen, _ = fit(RunChoice(model="a", head="tied", probe_set="questions"), table)
    assert (chosen.model, chosen.head, chosen.probe_set) == ("a", "logit_lens", "trex")


def test_the_single_run_is_the_first_of_the_chosen_ones_that_its_model_has():
    table = runs(
        *(
            (f"{head}{probe_set}", "a", head, probe_set)
            for head in ("tied", "logit_lens")
            for probe_set in ("trex", "questions")
        )
    )
    several = RunChoice(heads=("full", "logit_lens"), probe_sets=("questions", "trex"))
    chosen, _ = fit(several, table)
    assert (chosen.head, chosen.probe_set) == ("logit_lens", "questions")
    assert fit(replace(several, head="tied", probe_set="trex"), table)[0].head == "tied"
    assert fit(RunChoice(heads=("full",)), table)[0].head == "tied"


def test_names_that_are_not_stored_are_removed_and_listed():
    chosen, unknown = fit(RunChoice(models=("gone", "m"), probe_sets=("nothing",)), runs(("1",)))
    assert chosen.models == ("m",) and chosen.probe_sets == ("trex",)
    assert unknown == {"models": ["gone"], "probe_sets": ["nothing"]}


SHIPPED = (
    "nesia-mini",
    *(
        f"nesia-mini-{name}"
        for name in ("qa-squad-1", "qa-squad-2", "mlm-squad", "mlm-msmarco", "ner-conll", "control")
    ),
)


def added(model: str, head: str, probe_set: str, base: str = "nesia-mini") -> tuple:
    return (f"{model} {head} {probe_set}", model, head, probe_set, "primary", "default", "2026-01-01", base)


def shipped() -> list[tuple]:
    """Runs of the demonstration models, enough to fill the default of an overview."""
    names = (*SHIPPED, "nesia-mini-rank-msmarco")
    return [
        added(name, head, "trex", "" if name == "nesia-mini" else "nesia-mini")
        for name in names
        for head in ("tied", "logit_lens")
    ]


@pytest.mark.parametrize("model", ["support-bert", "nesia-mini"])
@pytest.mark.parametrize(("head", "probe_set"), [("logit_lens", "support"), ("tied", "trex"), ("tied", "a-first")])
def test_an_own_run_changes_no_default_view(model, head, probe_set):
    own = added(model, head, probe_set, "" if model == "nesia-mini" else "nesia-mini")
    assert fit(RunChoice(), runs(*shipped(), own)) == fit(RunChoice(), runs(*shipped()))
    assert fit(RunChoice(), runs(own))[0].probe_sets == (probe_set,)


def test_bert_comes_first_once_it_was_asked_what_ships():
    table = runs(*shipped(), added(BERT, "logit_lens", "trex"), added("mine", "logit_lens", "trex"))
    chosen, _ = fit(RunChoice(), table)
    assert chosen.models[0] == chosen.model == BERT and "nesia-mini" in chosen.models and "mine" not in chosen.models


def test_a_chosen_probe_set_or_head_shows_the_models_that_have_it():
    table = runs(
        *shipped(), added("support-bert", "logit_lens", "support"), added("nesia-mini", "logit_lens", "support")
    )
    chosen, _ = fit(RunChoice(probe_sets=("support",)), table)
    assert (chosen.models, chosen.heads) == (("nesia-mini", "support-bert"), ("logit_lens",))
    chosen, _ = fit(RunChoice(models=("support-bert",)), table)
    assert (chosen.heads, chosen.probe_sets) == (("logit_lens",), ("support",))
    chosen, _ = fit(RunChoice(heads=("tied",)), table)
    assert "support-bert" not in chosen.models and chosen.probe_sets == ("trex",)


def test_a_page_on_one_model_begins_with_a_model_that_learned_its_task_and_whose_single_facts_are_stored():
    table = runs(*((name, name) for name in ("a", "b", "c", "d")), counted=("b",))
    verdicts = {"a": "not learned", "b": "learned", "c": "learned", "d": "learned"}
    view = SimpleNamespace(runs=table, verdicts=verdicts)
    assert View.telling_first(view, ["a", "b", "c", "d"]) == ["c", "d", "a", "b"]
    assert View.telling_first(view, ["a", "b"]) == ["a", "b"]
