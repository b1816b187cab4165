"""Encoders with random weights have the shape of the trained one and none of what it learnt."""

import torch

from probing.edges.states import word_states
from probing.edges.targets import Record, Target
from probing.kernel.models.states import encoder_of_kind


def weights(encoder) -> dict[str, torch.Tensor]:
    """By name; a pooler, which no layer reads, is left out."""
    return {name: weight for name, weight in encoder.body.named_parameters() if not name.startswith("pooler.")}


def is_embedding(name: str) -> bool:
    return name.startswith(("embeddings.", "embeddings_project.")) or "embedding_hidden_mapping_in" in name


def test_a_random_encoder_differs_in_every_weight(encoder_of, architecture):
    trained = encoder_of(architecture)
    random = encoder_of_kind(trained, "random")
    before = weights(trained)
    assert list(before) == list(weights(random))
    for name, weight in weights(random).items():
        # The rows of the padding token start from 0 and the tiny models' do not.
        assert not torch.isclose(weight, before[name], rtol=0, atol=1e-9).any(), name
    assert not any(weight.requires_grad for weight in weights(random).values()) and not random.body.training


def test_a_random_body_lies_under_the_trained_embeddings(encoder_of, architecture):
    trained = encoder_of(architecture)
    random = encoder_of_kind(trained, "random-body")
    before, kept = weights(trained), []
    for name, weight in weights(random).items():
        if is_embedding(name):
            kept.append(name)
            assert torch.equal(weight, before[name]), name
        else:
            assert not torch.isclose(weight, before[name], rtol=0, atol=1e-9).any(), name
    assert len(kept) >= 2 and (
        architecture not in ("albert", "electra") or any("embeddings." not in name for name in kept)
    )


def test_both_are_drawn_once_and_have_names_and_states_of_their_own(encoder_of, architecture, tmp_path):
    trained = encoder_of(architecture)
    asked = Record(("red", "jazz", "is"), (Target((0, 2), None, ("x",)),))
    torch.manual_seed(5)
    found = {kind: encoder_of_kind(trained, kind) for kind in ("trained", "random", "random-body")}
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(3), expected), "drawing an encoder draws nothing from the user's numbers"
    assert found["trained"] is trained and len({one.weights_id for one in found.values()}) == 3
    states = {kind: word_states([asked], one, tmp_path).read(range(2)) for kind, one in found.items()}
    for kind, one in found.items():
        again = encoder_of_kind(trained, kind)
        assert again.weights_id == one.weights_id
        assert all(
            torch.equal(weight, other)
            for weight, other in zip(weights(one).values(), weights(again).values(), strict=True)
        )
        assert torch.isfinite(states[kind]).all()
    assert torch.equal(states["random-body"][:, 0], states["trained"][:, 0])
    assert not torch.allclose(states["random-body"][:, 1], states["trained"][:, 1], atol=1e-2)
    assert not torch.allclose(states["random"][:, 0], states["trained"][:, 0], atol=1e-2)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 3
