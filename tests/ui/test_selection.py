"""What is chosen on each page and for all of them, and its link."""

from dataclasses import dataclass, fields, replace

import pytest

from probing.core.forgetting.ways import LOST_OUTCOMES
from probing.ui.choices.methods import MethodsSelection
from probing.ui.choices.papers import PapersSelection
from probing.ui.compare.selection import CompareSelection
from probing.ui.curves.selection import CurvesSelection
from probing.ui.edge_sentences.selection import EdgeSentencesSelection
from probing.ui.facts.selection import FactsSelection
from probing.ui.fine_tuning.selection import FineTuningSelection
from probing.ui.forgetting.selection import ForgettingSelection
from probing.ui.frame.selection import PAGE_FIELDS, RunChoice, declared, from_query, to_query, unknown_names
from probing.ui.heads.selection import HeadsSelection
from probing.ui.home.selection import HomeSelection
from probing.ui.live.selection import LiveSelection
from probing.ui.own_model.selection import OwnModelSelection
from probing.ui.pipeline.selection import PipelineSelection
from probing.ui.relations.selection import RelationsSelection
from probing.ui.sentence_probes.selection import SentenceProbesSelection

SHARED = RunChoice(
    models=("nesia-mini", "path,with comma"),
    heads=("logit_lens",),
    probe_sets=("trex",),
    average="micro",
    k=10,
    exposures=("held out", "stated"),
    in_subject="no",
    model="nesia-mini",
    head="logit_lens",
    probe_set="trex",
    live_model="m",
)
CHOSEN = {
    "home": HomeSelection(example=3, sentence="Paris is in [MASK].", home_minus="swapped"),
    "layer_curves": CurvesSelection(metric="mrr", panels=True, minus="swapped", point_run="abc", point_layer=0),
    "facts": FactsSelection(
        relation="P19", text="Zoë & <b>", known="ever", known_at=0, first_known=3, last_known=12, at_layer=0, at_rank=100,
        order="best rank", list_page=4, fact="abc", versus="nesia-mini", part="not_read", part_k=10, fact_models=("nesia-mini", "other"),
        facts_tab="own", own_head="full", own_base="nesia-mini",
    ),
    "relations": RelationsSelection(
        row_order="name", against_base=True, relations=("P36", "P19"), definition="strict", map_minus="majority",
    ),
    "compare": CompareSelection(
        tuned="nesia-mini-qa-squad-1", versus_model="nesia-mini", never=True, pair_minus="swapped", compare_tab="layers",
    ),
    "live": LiveSelection(
        live_head="full", prompt="Paris is in [MASK].", watch="france, italy", scale="probability", top=10, mask=0, gap=2, cell="8-3",
        live_models=("a", "b"),
        perturbation="shuffled", prime="talk", shuffle_seed=4, keep_words=0, other_name="Rome", replaced="last", live_base="nesia-mini",
        live_view="spans", words="Mary sings.", span1="0-1", span2="1-2", base_probes=True,
        whole="Mary sings.", second="Tom plays.", beside="b", attending=1, attention_head=2, swapped=1, likelier="It is [MASK].",
        unlikelier="are", minimal_pair=0,
    ),
    "heads": HeadsSelection(heads_minus="swapped"),
    "pipeline": PipelineSelection(
        edge_models=("a", "b"), edge_tasks=("pos", "srl"), edge_part="test", unseen=True, published=False, layerwise="compression",
        bars_of="a", normed=True, ordered="b", labels_of="srl", edge_tab="order",
    ),
    "edge_sentences": EdgeSentencesSelection(
        trace_model="a", trace_task="srl", trace_part="test", trace_label="ARG0", trace_unseen=True, trace_kind="revised", settled=0,
        trace_order="sentence", later_first="srl", earlier_last="pos", text_hash="ab", every_target=True, other_panels=True, trace_page=2,
    ),
    "sentence_probes": SentenceProbesSelection(
        sentence_models=("a", "b"), sentence_tasks=("cola", "rte"), sentence_protocol="senteval", poolings=("mean",),
        sentence_minus="surface", tuned_model="a", change_kind="base-mean", learned_task="cola", learned_layer=0, turned_task="rte",
        turned_pooling="mean", turned_layer=0, turned_way="right", turned_example="ab",
    ),
    "fine_tuning": FineTuningSelection(
        changed_model="a", gone_task="rte", gone_pooling="mean", gone_layer=0, plane_loss="emd", tuning_tab="all"
    ),
    "papers": PapersSelection(
        paper="edge-probing", papers_subject="nesia-mini", papers_head="full", papers_tab="figures", figure="A.3", panel="places",
    ),
    "forgetting": ForgettingSelection(
        lost_set="trex", lost_k=10, lost_model="a", lost_way=LOST_OUTCOMES[0], lost_relation="P19", lost_fact="ab", lost_training="a trex",
        followed_fact="ab", protected="a ner-conll", forgetting_tab="trainings",
    ),
    "own_model": OwnModelSelection(my_model="./mine", my_base="OWNER/base", my_others=("a", "b"), my_space="model",
        my_run="0123456789ab", my_k=10, my_part="gained"),
    "methods": MethodsSelection(methods_search="swapped subject", methods_tab="cite"),
}  # fmt: skip


def as_read(query: dict) -> dict[str, list[str]]:
    return {name: value if isinstance(value, list) else [value] for name, value in query.items()}


@pytest.mark.parametrize("page", CHOSEN)
def test_a_copied_link_opens_the_same_view(page):
    shared, own, ignored = from_query(as_read(to_query(page, SHARED, CHOSEN[page])), page)
    assert ignored == [] and own == CHOSEN[page]
    read = {one.name for one in fields(RunChoice)} & set(PAGE_FIELDS[page])
    assert {name: getattr(shared, name) for name in read} == {name: getattr(SHARED, name) for name in read}


def test_every_field_differs_from_its_default_in_this_test_and_is_in_some_link():
    for one in (SHARED, *CHOSEN.values()):
        assert all(getattr(one, field.name) != field.default for field in fields(one))
    assert {field.name for one in (SHARED, *CHOSEN.values()) for field in fields(one)} == {
        name for names in PAGE_FIELDS.values() for name in names
    }


def test_two_selections_cannot_have_a_field_of_the_same_name():
    @dataclass(frozen=True)
    class Other:
        prompt: str = ""

    with pytest.raises(TypeError, match="prompt"):
        declared("another page")(Other)
    assert "another page" not in PAGE_FIELDS


@pytest.mark.parametrize("page", CHOSEN)
def test_defaults_are_not_in_the_link(page):
    assert to_query(page, RunChoice(), type(CHOSEN[page])()) == {}


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
    assert from_query({name: [value or "x"]}, "layer_curves") == (RunChoice(), CurvesSelection(), [name])


@pytest.mark.parametrize(
    ("name", "value"), [("at_layer", "-1"), ("at_layer", "1e3"), ("at_rank", "7"), ("list_page", "9" * 30), ("known_at", "300")]
)
def test_numbers_out_of_range_are_ignored_by_name(name, value):
    assert from_query({name: [value]}, "facts")[2] == [name]


def test_a_link_sets_the_fields_of_its_page_and_leaves_the_shared_ones_that_it_does_not_read():
    before = replace(RunChoice(), model="a model", live_model="another", models=("a",))
    shared, own, _ = from_query({"average": ["micro"]}, "layer_curves", before)
    assert (shared.average, shared.models, own.metric) == ("micro", (), "p_at_1")
    assert (shared.model, shared.live_model) == ("a model", "another")


def test_an_endless_prompt_is_ignored():
    assert from_query({"prompt": ["x" * 5000]}, "live")[2] == ["prompt"]


@pytest.mark.parametrize(
    ("page", "name", "similar"),
    [("facts", "relatoin", "relation"), ("compare", "model", ""), ("methods", "prompt", ""), ("live", "perturbatoin", "perturbation")],
)
def test_a_name_that_is_no_field_of_the_page_is_found_with_the_field_that_it_may_mean(page, name, similar):
    query = as_read(to_query(page, SHARED, CHOSEN[page])) | {"embed": ["true"]}
    assert unknown_names(query, page) == {}
    assert unknown_names(query | {name: ["x"]}, page).keys() == {name}
    assert not similar or unknown_names({name: ["x"]}, page) == {name: similar}
