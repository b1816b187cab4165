"""Planted losses: the cheapest way back is the right one, and facts that were never there come back no more often."""

import copy
import itertools
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from probing.facts.askable import answer_ids
from probing.forgetting.memory import GROUPS, LOST, MORE, NEVER_IN_TEXT, NEVER_KNOWN, groups_of, summary, verdict
from probing.forgetting.ranks import ranks
from probing.forgetting.ways import (
    ANY,
    AS_IN_BASE,
    BY_ANSWER,
    FITTED_HEAD,
    LAYERS_BACK,
    LOST_OUTCOMES,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    usual_protocol,
)
from probing.forgetting.ways_back import (
    RecoveryRecipe,
    RecoveryWork,
    RelearnRecipe,
    count_of_parts,
    fitted_head,
    known_inside,
    recovery_answers,
    try_ways,
    why_not_put_back,
)
from probing.kernel.errors import FactsError
from probing.kernel.models.layer_swap import layers_of
from probing.kernel.models.load import load_encoder
from tests.forgetting.planted import (
    KNOWN,
    SENTENCES,
    facts,
    planted_base,
    trained,
    with_a_layer_in_front,
    with_other_head,
    with_redrawn_layer,
    with_rotated_layer,
)

torch.set_num_threads(1)
RECIPE = RecoveryRecipe(seeds=(1,), relearning=RelearnRecipe(rate=1e-3, steps=(5, 15)))


@pytest.fixture(scope="session")
def base_folder(folder_of_run):
    return planted_base(folder_of_run)


@pytest.fixture(scope="session")
def base(base_folder):
    """Knows the first facts."""
    return load_encoder(base_folder, device="cpu")


def work_of(base, tuned, folder, recipe=RECIPE):
    every = facts()
    return RecoveryWork(
        base,
        tuned,
        every,
        answer_ids(every, base),
        lambda model: fitted_head(model, base, SENTENCES, 2000),
        folder,
        recipe,
    )


def recovered(base, tuned, folder, recipe=RECIPE):
    """Everything that a recovery finds, the work that found it, what was asked, and its parts."""
    work = work_of(base, tuned, folder, recipe)
    asked = recovery_answers(work)
    groups, made = groups_of(asked, recipe.k, recipe.most_pairs), []
    ways = list(try_ways(work, asked, groups, lambda: made.append(1)))
    exposure = ["stated"] * KNOWN + ["unseen"] * (len(work.facts) - KNOWN)
    found = summary(asked, groups, ways, known_inside(work, groups), recipe.k, exposure)
    assert len(found.outcomes) == len(asked.lost()) and set(found.outcomes) <= set(LOST_OUTCOMES)
    assert len(made) == count_of_parts(recipe) - bool(work.not_put_back)
    return found, work, asked, ways


def untrained(work):
    """The ways without training."""
    asked = recovery_answers(work)
    return list(
        itertools.takewhile(
            lambda one: one.way != RELEARNED, try_ways(work, asked, groups_of(asked, 1, 50), lambda: None)
        )
    )


def counted(found):
    """Outcome -> share of the lost facts that no other layer reads. There are few answers, so other layers read many by
    chance.
    """
    names = np.array([one for one in found.outcomes if one not in (AS_IN_BASE, MOVED)])
    return {name: float((names == name).mean()) for name in (FITTED_HEAD, LAYERS_BACK, RELEARNED, NOT_RECOVERED)}


def share_of(found, way, level=ANY, group=LOST):
    protocol = usual_protocol(way)
    (one,) = (s.share for s in found.shares if (s.way, s.level, s.protocol, s.group) == (way, level, protocol, group))
    return one.value


def touched(encoder):
    """A model whose first layer differs by next to nothing."""
    body = copy.deepcopy(encoder.body)
    with torch.no_grad():
        layers_of(body)[0].output.dense.bias[0] += 1e-5
    return replace(encoder, body=body, weights_id="touched")


@pytest.fixture(scope="session")
def other_head(base, tmp_path_factory):
    return recovered(base, with_other_head(base), tmp_path_factory.mktemp("other-head"))


@pytest.fixture(scope="session")
def redrawn(base, tmp_path_factory):
    return recovered(
        base, touched(with_redrawn_layer(base, 3)), tmp_path_factory.mktemp("redrawn"), replace(RECIPE, seeds=(1, 2))
    )


def test_the_planted_base_knows_what_it_was_taught_and_no_more(other_head):
    found = other_head[2]
    assert (found.base_rank[:KNOWN] == 1).mean() > 0.95 and (found.base_rank[KNOWN:] == 1).mean() < 0.4


def test_answers_are_asked_with_their_log_probabilities(other_head):
    _, work, found, _ = other_head
    assert (found.said[found.base_rank == 1] == found.answers[found.base_rank == 1]).all()
    assert (
        (found.base_logp_of_said >= found.base_logp).all()
        and (found.first_logp >= found.logp).all()
        and found.first_logp.max() <= 0
    )
    prompts = work.prompts.some([3])
    inputs = torch.tensor([prompts.rows[0]])
    with torch.inference_mode():
        logits = work.tuned.head(
            work.tuned.body(input_ids=inputs).last_hidden_state[0, prompts.positions[0]]
        ).log_softmax(-1)
    assert found.logp[3] == pytest.approx(logits[found.answers[3]].item(), abs=1e-4)
    assert found.first_logp[3] == pytest.approx(logits.max().item(), abs=1e-4)


def test_an_unchanged_copy_has_lost_nothing(base, tmp_path):
    with pytest.raises(FactsError, match=r"lost 0 of the \d+ facts .* at least 50"):
        recovered(base, base, tmp_path)


def test_a_change_of_the_head_alone_is_undone_by_a_fitted_head(other_head):
    found, work, _, _ = other_head
    assert counted(found)[FITTED_HEAD] > 0.95 and share_of(found, FITTED_HEAD) > 0.95
    assert "none of the layers" in work.not_put_back and LAYERS_BACK not in {one.way for one in found.shares}


def test_a_last_layer_that_is_rotated_is_read_by_a_fitted_head(base, tmp_path):
    *_, fitted = untrained(work_of(base, with_rotated_layer(base, 4), tmp_path))
    assert fitted.way == FITTED_HEAD and fitted.at(4, LOST).mean() > 0.95


def test_layers_put_back_bring_all_back_and_below_them_nothing_has_moved(redrawn):
    found, work, _, ways = redrawn
    assert work.not_put_back == "" and share_of(found, LAYERS_BACK) == 1
    (back,) = (one for one in ways if one.way == LAYERS_BACK)
    assert back.levels == (1, 2) and back.at(2, LOST).all() and not back.at(1, LOST).all()
    assert counted(found)[LAYERS_BACK] > 0.6 and counted(found)[RELEARNED] == counted(found)[NOT_RECOVERED] == 0
    # Layers 1 and 2 are almost the base's, and read what they read there.
    inside, moved = next(one for one in ways if one.way == OTHER_LAYER), np.array(found.outcomes) == MOVED
    assert inside.at(3, LOST)[0, moved].all() and not any(inside.at(layer, LOST)[0, moved].any() for layer in (2, 1, 0))


def test_layers_that_are_all_that_changed_are_not_put_back(base, tmp_path):
    for number in (3, 4):
        assert f"changed are {number}: with them put back it is the base itself" in why_not_put_back(
            with_redrawn_layer(base, number), base
        )
    for kept in (
        with_redrawn_layer(base, 1),
        with_redrawn_layer(base, 2),
        replace(with_redrawn_layer(base, 3), head=with_other_head(base).head),
    ):
        assert why_not_put_back(kept, base) == ""
    assert "do not fit" in why_not_put_back(with_a_layer_in_front(base), base)
    ways = [one.way for one in untrained(work_of(base, with_redrawn_layer(base, 3), tmp_path))]
    assert ways == [OTHER_LAYER, OTHER_LAYER, FITTED_HEAD]


def test_what_a_layer_reads_that_does_not_in_the_base_has_moved_there(base, tmp_path):
    # The base reads its facts at its fifth layer; the other model has the same layers one earlier, and a spoilt fifth.
    later = with_a_layer_in_front(base)
    early = with_redrawn_layer(later, 5)
    list_of = layers_of(early.body)
    for place in range(4):
        list_of[place] = copy.deepcopy(layers_of(base.body)[place])
    work = work_of(later, early, tmp_path)
    asked = recovery_answers(work)
    groups = groups_of(asked, 1, 50)
    in_base, inside = known_inside(work, groups), next(try_ways(work, asked, groups, lambda: None))
    assert inside.levels == (4, 3, 2, 1, 0) and inside.at(4, LOST).mean() > 0.9
    lost = groups.of[LOST]
    read = ranks(later, work.prompts.some(lost.facts), lost.targets.tolist(), dict.fromkeys((4, 0), later.head)) == 1
    assert (in_base[[0, 4]] == read).all()
    moved = inside.back[LOST][0].any(0) & ~(inside.back[LOST][0] & in_base).any(0)
    # How many is a matter of the trained weights, which differ between processors.
    assert 0.1 < moved.mean() < 1 and not moved[in_base[0] & inside.at(4, LOST)[0]].any()


def test_facts_that_were_never_in_the_weights_come_back_no_more_often(base, tmp_path):
    # The fine-tuned model comes from another base, which was taught only half of the facts that this base knows.
    other = trained(facts()[: KNOWN // 2], tmp_path / "other")
    found = recovered(base, other, tmp_path / "work")[0]
    (relearned,) = (
        one.difference
        for one in found.against
        if (one.way, one.level, one.protocol, one.yardstick) == (RELEARNED, 15, BY_ANSWER, NEVER_KNOWN)
    )
    assert relearned.low <= 0 <= relearned.high
    tests = [one for one in found.against if one.yardstick == NEVER_IN_TEXT]
    assert tests and MORE not in {verdict(1, one.difference.low, one.difference.high, *one.without) for one in tests}


def test_every_way_has_its_yardsticks(redrawn):
    found, _, asked, ways = redrawn
    assert {(one.way, one.protocol): set(one.back) for one in ways} == {
        (way, protocol): {LOST} if protocol == RANDOM_BODY else set(GROUPS)
        for way, protocol in ((one.way, one.protocol) for one in ways)
    }
    compared = {(one.way, one.yardstick) for one in found.against}
    assert (
        (RELEARNED, RANDOM_BODY) in compared
        and (OTHER_LAYER, RANDOM_BODY) in compared
        and (LAYERS_BACK, RANDOM_BODY) not in compared
    )
    assert all(one.share.n == len(asked.lost()) for one in found.shares if one.group == LOST), (
        "every lost fact is asked once by every way"
    )


def test_a_recovery_that_is_called_again_reads_its_parts_and_goes_on_after_a_kill(base, redrawn, tmp_path):
    whole, work, _, _ = redrawn
    folder = shutil.copytree(work.folder, tmp_path / "killed")
    files = sorted(folder.glob("*.safetensors"))
    # Besides the parts, what both models answer and what the base reads at other layers.
    assert len(files) == count_of_parts(work.recipe) + 2
    for path in files[::3]:
        path.unlink()
    files[1].write_bytes(files[1].read_bytes()[:-7])
    assert recovered(base, work.tuned, folder, work.recipe)[0] == whole
