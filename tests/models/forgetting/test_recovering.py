"""Planted losses: the cheapest way back is the right one, and facts that were never in the weights do not seem to come back."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from probing.core.errors import FactsError
from probing.core.forgetting.groups import LOST, NEVER_KNOWN
from probing.core.forgetting.protocols import OWN, RIGHT, lessons
from probing.core.forgetting.summary import summary
from probing.core.forgetting.ways import ANY, FITTED_HEAD, LAYERS_BACK, NOT_RECOVERED, OTHER_LAYER, RELEARNED, WAYS
from probing.models.encoders.answer_tokens import answer_ids
from probing.models.encoders.load import load_encoder
from probing.models.forgetting.fitted_heads import fitted_head
from probing.models.forgetting.relearning import RelearnRecipe
from probing.models.forgetting.ways_back import RecoveryRecipe, RecoveryWork, asked_of, count_of_parts, parts, splits_of
from tests.models.forgetting.planted import (
    KNOWN,
    SENTENCES,
    facts,
    planted_base,
    trained,
    with_other_head,
    with_redrawn_layer,
    with_rotated_layer,
)

torch.set_num_threads(1)
#: Where facts come back before anything is relearned, few steps of relearning find the same as many.
RECIPE = RecoveryRecipe(seeds=(1, 2), folds=2, relearning=RelearnRecipe(rate=1e-3, steps=(1, 2)))
#: What a fitted head recovers is counted with the first seed alone.
ONE_SEED = replace(RECIPE, seeds=(1,))
RELEARNING = RecoveryRecipe(seeds=(1,), folds=2, relearning=RelearnRecipe(rate=1e-3, steps=(5, 15)))


@pytest.fixture(scope="session")
def base_folder(folder_of_run):
    return planted_base(folder_of_run)


@pytest.fixture(scope="session")
def base(base_folder):
    """Knows the first facts."""
    return load_encoder(base_folder, device="cpu")


def recovered(base, tuned, folder, recipe=RECIPE):
    """Everything that a recovery finds, and the work that found it."""
    every = facts()
    work = RecoveryWork(
        base, tuned, every, answer_ids(every, base), lambda model: fitted_head(model, base, SENTENCES, 2000), folder, recipe
    )
    asked = asked_of(work)
    splits = splits_of(work, asked)
    return summary(asked, splits, list(parts(work, asked, splits)), recipe.k), work, asked, splits


def counted(found):
    """Way -> share of the lost facts that no other layer reads. There are few answers, so other layers read many by chance."""
    names = np.array([one.way for one in found.facts])
    return {name: float((names[names != OTHER_LAYER] == name).mean()) for name in (*WAYS, NOT_RECOVERED)}


@pytest.fixture(scope="session")
def other_head(base, tmp_path_factory):
    return recovered(base, with_other_head(base), tmp_path_factory.mktemp("other-head"), ONE_SEED)


@pytest.fixture(scope="session")
def redrawn(base, tmp_path_factory):
    return recovered(base, with_redrawn_layer(base, 3), tmp_path_factory.mktemp("redrawn"))


def test_the_planted_base_knows_what_it_was_taught_and_no_more(other_head):
    found = other_head[2]
    assert (found.base_rank[:KNOWN] == 1).mean() > 0.95 and (found.base_rank[KNOWN:] == 1).mean() < 0.4


def test_an_unchanged_copy_has_lost_nothing(base, tmp_path):
    with pytest.raises(FactsError, match=r"lost 0 of the \d+ facts .* at least 50"):
        recovered(base, base, tmp_path)


def test_a_change_of_the_head_alone_is_undone_by_a_fitted_head(other_head):
    found = other_head[0]
    assert counted(found)[FITTED_HEAD] > 0.95
    assert found.share(FITTED_HEAD, ANY, RIGHT, LOST).value > 0.95


def test_a_last_layer_that_is_rotated_is_read_by_a_fitted_head(base, tmp_path):
    assert counted(recovered(base, with_rotated_layer(base, 4), tmp_path, ONE_SEED)[0])[FITTED_HEAD] > 0.95


def test_a_redrawn_layer_is_undone_by_putting_it_back(redrawn):
    found = redrawn[0]
    assert counted(found)[LAYERS_BACK] > 0.6 and {one.layers_back for one in found.facts if one.way == LAYERS_BACK} == {2}
    assert found.share(LAYERS_BACK, ANY, RIGHT, LOST).value == 1 and counted(found)[NOT_RECOVERED] == 0


def test_facts_that_were_never_in_the_weights_come_back_no_more_often_than_never_known_ones(base, tmp_path):
    # The fine-tuned model comes from another base, which was taught only half of the facts that this base knows.
    other = trained(facts()[: KNOWN // 2], tmp_path / "other")
    found = recovered(base, other, tmp_path / "work", RELEARNING)[0]
    excess = found.excess(RELEARNED, 15, RIGHT, NEVER_KNOWN)
    assert excess.low <= 0 <= excess.high


def test_no_subject_that_is_held_out_is_relearned(redrawn):
    _, _, asked, splits = redrawn
    for seed, of_seed in splits.items():
        for fold in range(RECIPE.folds):
            held = {asked.subjects[n] for group in of_seed.groups for n in of_seed.held_out(group, fold).prompts}
            for protocol in (RIGHT, OWN):
                taught = lessons(asked, of_seed, protocol, fold, 1, RECIPE, seed)
                assert len(taught.facts) and not held & {asked.subjects[n] for n in taught.facts}
        assert np.isin(lessons(asked, of_seed, RIGHT, 0, 1, RECIPE, seed).facts, asked.lost()).all()


def test_a_recovery_that_is_called_again_reads_its_parts_and_goes_on_after_a_kill(base, redrawn, tmp_path):
    whole, work, asked, splits = redrawn
    assert len(list(parts(work, asked, splits))) == count_of_parts(RECIPE)
    folder = shutil.copytree(work.folder, tmp_path / "killed")
    files = sorted(folder.glob("*.safetensors"))
    for path in files[::3]:
        path.unlink()
    files[1].write_bytes(files[1].read_bytes()[:-7])
    assert recovered(base, work.tuned, folder)[0] == whole
