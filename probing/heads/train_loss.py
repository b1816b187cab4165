"""Cross-entropy over the vocabulary with an explicit backward pass, the main cost of head training.

The three products with the vocabulary matrix are written to buffers that are made once: new arrays of this size cost as
much in page faults as in use. The matrix is padded to a multiple of 64 rows, because products with BERT's 30,522 rows
reach two thirds of the speed of those with 30,528 (see ``make bench PARTS=heads``).
"""

import torch
from torch import nn

from probing.kernel.models.head import DecodingHead

MULTIPLE = 64


class SoftmaxLoss:
    """Mean cross-entropy in nats of a head's vocabulary matrix, and its gradients.

    The head's matrix and bias become views of padded buffers; padding rows have weight 0 and bias minus infinity, so
    their probability and gradients are 0. ``bfloat16`` is for the three products alone.
    """

    def __init__(self, head: DecodingHead, max_positions: int, precision: str = "float32"):
        self.matrix = head.vocabulary
        self.size, width = self.matrix.weight.shape
        rows = -(-self.size // MULTIPLE) * MULTIPLE
        self._weight = self.matrix.weight.new_zeros((rows, width))
        self._bias = self.matrix.weight.new_full((rows,), float("-inf"))
        for name, padded in (("weight", self._weight), ("bias", self._bias)):
            old = getattr(self.matrix, name)
            padded[: self.size] = old.detach()
            setattr(self.matrix, name, nn.Parameter(padded[: self.size], requires_grad=old.requires_grad))
        self._scores = self._weight.new_empty((max_positions, rows))
        self._gradient = torch.empty_like(self._weight) if self.matrix.weight.requires_grad else None
        self._low = precision == "bfloat16"
        if self._low:
            self._low_weight = self._weight.bfloat16()
            self._low_scores = torch.empty((max_positions, rows), dtype=torch.bfloat16, device=self._scores.device)

    @torch.no_grad()
    def loss(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of (positions, embedding) features."""
        return self._exponentials(features, labels)[0].mean()

    @torch.no_grad()
    def loss_and_gradients(self, features: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean cross-entropy and its gradient by the features; those by matrix and bias are in ``.grad``.

        The matrix's gradient is a buffer that the next call overwrites.
        """
        losses, powers, total = self._exponentials(features, labels)
        # The gradient by the scores: probabilities minus 1 at the label, divided by the number of positions.
        powers.mul_(1 / (len(labels) * total))
        which = torch.arange(len(labels), device=labels.device)
        powers[which, labels] -= 1 / len(labels)
        if self.matrix.bias.requires_grad:
            self.matrix.bias.grad = powers.sum(0)[: self.size]
        if self._low:
            powers = self._low_scores[: len(labels)].copy_(powers)
        if self._gradient is not None:
            if self._low:
                self._gradient.copy_(powers.T @ features.bfloat16())
            else:
                torch.mm(powers.T, features, out=self._gradient)
            self.matrix.weight.grad = self._gradient[: self.size]
        return losses.mean(), self._by_features(powers).to(features.dtype)

    @torch.no_grad()
    def gradient_to(self, features: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Gradient by the features of the mean KL divergence of their distributions from the target's."""
        nobody = torch.zeros(len(features), dtype=torch.long, device=features.device)
        _, powers, total = self._exponentials(target, nobody)
        probabilities = powers / total
        _, powers, total = self._exponentials(features, nobody)
        powers.div_(total).sub_(probabilities).div_(len(features))
        return self._by_features(self._low_scores[: len(features)].copy_(powers) if self._low else powers).to(
            features.dtype
        )

    def _by_features(self, by_scores: torch.Tensor) -> torch.Tensor:
        """(positions, rows) gradient by the scores -> (positions, embedding) gradient by the features."""
        return by_scores @ (self._low_weight if self._low else self._weight)

    def _exponentials(
        self, features: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Losses (positions,), exponentials of scores minus maximum (positions, rows), their sums (positions, 1)."""
        scores = self._scores[: len(labels)]
        if self._low:
            # The weights have changed since the last step.
            self._low_weight.copy_(self._weight)
            scores.copy_(torch.mm(features.bfloat16(), self._low_weight.T, out=self._low_scores[: len(labels)])).add_(
                self._bias
            )
        else:
            torch.addmm(self._bias, features, self._weight.T, out=scores)
        highest = scores.amax(1, keepdim=True)
        right = scores.gather(1, labels[:, None])
        powers = scores.sub_(highest).exp_()
        total = powers.sum(1, keepdim=True)
        return (highest + total.log() - right).squeeze(1), powers, total
