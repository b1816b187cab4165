"""The table of metrics is complete, and true to what the functions do."""

import ast
import re
from pathlib import Path

import pytest

from probing.core.metrics import METRICS
from tests.reference.ranks import precision_at

NAMES = (
    *("p_at_1", "p_at_10", "p_at_100", "mrr", "answer_p_at_1", "total", "intermediate_share", "gold_rank"),
    *("answer_rank", "gold_logp", "entropy", "probability", "majority", "swapped_subject"),
    *("chance", "above_majority", "above_swapped", "total_null"),
    *("seed_union", "forgotten_caption", "forgotten_authors", "forgotten_strict", "doubling", "onset", "transitions"),
    *("relocated", "suppressed", "displaced", "not_read", "answer_drift", "early_exit", "weight_drift"),
    *("head_loss", "points_lost"),
    *("entity_f1", "words_tagged_right", "answer_f1", "answer_exact", "ndcg_at_10", "mrr_at_10", "masked_accuracy", "learned"),
    *("matthews", "task_accuracy"),
    *("micro_f1", "top_f1", "gain_above_memory"),
    *("centre_of_gravity", "expected_layer", "k_weights", "k_gains", "weight_times_norm", "selectivity", "compression"),
    *("memory", "majority_label", "ceiling", "settled_layer", "revisions", "mean_share", "layer_order"),
    *("sentence_accuracy", "sentence_majority", "surface_baseline", "sentence_change", "change_by_group"),
    *("sentence_fate", "fate_shares", "online_code"),
    *("attention_entropy", "attention_flatness", "attention_share", "attention_movers_distance", "attention_total_variation"),
    *("attention_map_cosine", "entropy_change", "masked_perplexity", "cka", "rsa", "same_token_cosine", "self_similarity", "anisotropy"),
)


def test_every_quantity_is_in_the_table_and_nothing_else():
    assert sorted(METRICS) == sorted(NAMES)


def test_the_key_is_the_name_and_labels_differ():
    assert all(key == metric.name for key, metric in METRICS.items())
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)


@pytest.mark.parametrize("name", NAMES)
def test_no_field_of_a_metric_is_empty(name):
    metric = METRICS[name]
    for field in ("label", "unit", "definition", "ties", "empty", "source"):
        assert getattr(metric, field).strip(), f"{name} has no {field}"
    assert metric.better in ("higher", "lower", "neither")
    assert metric.definition.endswith(".")


@pytest.fixture(scope="module")
def called(repo_root) -> set[str]:
    """The names that the package calls anywhere."""
    texts = (path.read_text("utf-8") for path in (repo_root / "probing").rglob("*.py"))
    return {name for text in texts for name in re.findall(r"(?<!def )\b(\w+)\(", text)}


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_computed_by_a_function_that_is_there_and_is_called(name, repo_root, called):
    module, function = METRICS[name].computed_in.rsplit(".", 1)
    path = repo_root / "probing" / Path(*module.split(".")).with_suffix(".py")
    assert function in {node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}
    assert function in called, f"{function} is called by nothing but tests"


@pytest.mark.parametrize("name", NAMES)
def test_low_is_below_high(name):
    metric = METRICS[name]
    assert metric.low is None or metric.high is None or metric.low < metric.high


@pytest.mark.parametrize("k", [1, 10, 100])
def test_p_at_k_keeps_to_its_range(k):
    metric = METRICS[f"p_at_{k}"]
    assert precision_at([1, 1], k) == metric.high
    assert precision_at([101, 500], k) == metric.low
    assert f"rank <= {k}," in metric.definition
