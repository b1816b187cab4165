"""The gradients written out are those of torch."""

import copy

import pytest
import torch
import torch.nn.functional as F

from probing.heads.train import MULTIPLE, SoftmaxLoss
from probing.kernel.models.head import fresh_copy


def batch(head, positions=9):
    """(positions, hidden) states and labels, the first and last token of the vocabulary among them."""
    torch.manual_seed(5)
    states = torch.randn(positions, head.dense.in_features, dtype=head.dense.weight.dtype)
    labels = torch.randint(head.vocabulary.out_features, (positions,))
    labels[:2] = torch.tensor([0, head.vocabulary.out_features - 1])
    return states, labels


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_loss_and_gradients_are_those_of_cross_entropy(kind, architecture, encoder_of):
    encoder = encoder_of(architecture, torch.float64)
    ours, theirs = fresh_copy(encoder.head, kind), fresh_copy(encoder.head, kind)
    states, labels = batch(ours)
    for head in (ours, theirs):
        for parameter in head.trainable(kind).values():
            parameter.requires_grad_()
    expected = F.cross_entropy(theirs(states), labels)
    expected.backward()
    # A buffer larger than the batch, and used before: nothing of an earlier call may show.
    vocabulary = SoftmaxLoss(ours, max_positions=20)
    vocabulary.loss_and_gradients(
        torch.randn(20, ours.vocabulary.in_features, dtype=torch.float64), torch.zeros(20, dtype=torch.long)
    )
    features = ours.transform(states)
    loss, gradient = vocabulary.loss_and_gradients(features.detach(), labels)
    features.backward(gradient)
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(vocabulary.loss(features.detach(), labels), expected.detach(), rtol=1e-12, atol=1e-12)
    slow = theirs.trainable(kind)
    assert set(slow) == set(ours.trainable(kind))
    for name, parameter in ours.trainable(kind).items():
        torch.testing.assert_close(parameter.grad, slow[name].grad, rtol=1e-9, atol=1e-12, msg=name)
    assert (ours.vocabulary.weight.grad is None) == (kind == "tied")


def test_the_gradient_to_a_distribution_is_that_of_the_kl_divergence(architecture, encoder_of):
    head = fresh_copy(encoder_of(architecture, torch.float64).head, "tuned_lens")
    states, _ = batch(head)
    target = head(torch.flip(states, [0])).log_softmax(1)
    features = head.transform(states).requires_grad_()
    F.kl_div(head.vocabulary(features).log_softmax(1), target, reduction="batchmean", log_target=True).backward()
    wanted = head.transform(torch.flip(states, [0]))
    found = SoftmaxLoss(head, max_positions=20).gradient_to(features.detach(), wanted)
    torch.testing.assert_close(found, features.grad, rtol=1e-9, atol=1e-12)


def test_padding_rows_have_no_probability_and_stay_as_they_are(bert):
    head = fresh_copy(bert.head, "full")
    for parameter in head.parameters():
        parameter.requires_grad_()
    before = copy.deepcopy(head.state_dict())
    vocabulary = SoftmaxLoss(head, max_positions=9)
    assert vocabulary._weight.shape[0] % MULTIPLE == 0 and vocabulary._weight.shape[0] > head.vocabulary.out_features
    assert {name: tuple(p.shape) for name, p in head.named_parameters()} == {
        name: tuple(t.shape) for name, t in before.items()
    }
    assert all(torch.equal(tensor, before[name]) for name, tensor in head.state_dict().items())
    states, labels = batch(head)
    optimiser = torch.optim.AdamW(head.parameters(), lr=0.1)
    features = head.transform(states)
    _, gradient = vocabulary.loss_and_gradients(features.detach(), labels)
    features.backward(gradient)
    optimiser.step()
    size = head.vocabulary.out_features
    assert not torch.equal(head.vocabulary.weight, before["vocabulary.weight"])
    assert torch.equal(vocabulary._weight[:size], head.vocabulary.weight), "the step reaches what the products read"
    assert not vocabulary._weight[size:].any() and (vocabulary._bias[size:] == float("-inf")).all()


def test_scores_too_far_apart_for_exponentials_give_the_right_loss(bert):
    head = fresh_copy(bert.head, "full")
    with torch.no_grad():
        head.vocabulary.weight.mul_(1000)
    states, labels = batch(head)
    expected = F.cross_entropy(head(states), labels)
    assert expected > 100
    found = SoftmaxLoss(head, max_positions=9).loss(head.transform(states), labels)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=0)


def test_products_in_bfloat16_agree_to_their_digits(bert):
    head = fresh_copy(bert.head, "full").requires_grad_()
    states, labels = batch(head, 64)
    found = {}
    for precision in ("float32", "bfloat16"):
        own = copy.deepcopy(head)
        features = own.transform(states).detach()
        loss, gradient = SoftmaxLoss(own, 64, precision).loss_and_gradients(features, labels)
        found[precision] = (loss, gradient, own.vocabulary.weight.grad, own.vocabulary.bias.grad)
    for low, full in zip(found["bfloat16"], found["float32"], strict=True):
        assert low.dtype == torch.float32
        assert not torch.equal(low, full), "the products are in bfloat16"
        # bfloat16 keeps 8 binary digits: each factor is off by at most 0.4 %.
        assert (low - full).norm() < 0.02 * full.norm()
