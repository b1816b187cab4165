"""The authors' probe (jiant, AllenNLP) in plain torch: one probe, one target at a time."""

import torch


class SlowProbe(torch.nn.Module):
    """Scalar mix, a projection and a self-attentive pooling for each span, and an MLP.

    Args:
        layers: numbers of the layers that are mixed.
        hidden: size of a state.
        spans: 1 or 2.
        width: of projection and hidden layer.
        labels: number of labels.
        dropout: in front of the last layer.
    """

    def __init__(self, layers: list[int], hidden: int, spans: int, width: int, labels: int, dropout: float = 0.0):
        super().__init__()
        self.layers = layers
        self.scalars = torch.nn.ParameterList([torch.zeros(1) for _ in layers])
        self.gamma = torch.nn.Parameter(torch.ones(1))
        self.project = torch.nn.ModuleList([torch.nn.Conv1d(hidden, width, 1) for _ in range(spans)])
        self.attend = torch.nn.ModuleList([torch.nn.Linear(width, 1) for _ in range(spans)])
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(spans * width, width),
            torch.nn.Tanh(),
            torch.nn.LayerNorm(width),
            torch.nn.Dropout(dropout),
            torch.nn.Linear(width, labels),
        )

    def forward(self, spans: list[torch.Tensor]) -> torch.Tensor:
        """Logits of one target; of each span its states, (pieces, all layers, hidden)."""
        shares = torch.softmax(torch.cat(list(self.scalars)), 0)
        pooled = []
        for states, project, attend in zip(spans, self.project, self.attend, strict=True):
            mixed = self.gamma * sum(share * states[:, layer] for share, layer in zip(shares, self.layers, strict=True))
            projected = project(mixed.T[None])[0].T
            weights = torch.softmax(attend(projected)[:, 0], 0)
            pooled.append((weights[:, None] * projected).sum(0))
        return self.mlp(torch.cat(pooled))

    @torch.no_grad()
    def take(self, given: dict[str, torch.Tensor]) -> "SlowProbe":
        """Takes the parameters of a probe as ``unpacked`` names them, without the axis of probes."""
        for scalar, layer in zip(self.scalars, self.layers, strict=True):
            scalar.copy_(given["mix"][layer : layer + 1])
        self.gamma.copy_(given["gamma"])
        for number, (project, attend) in enumerate(zip(self.project, self.attend, strict=True), 1):
            project.weight.copy_(given[f"project{number}.weight"].T[:, :, None])
            project.bias.copy_(given[f"project{number}.bias"][0])
            attend.weight.copy_(given[f"attend{number}.weight"].T)
            attend.bias.copy_(given[f"attend{number}.bias"][0])
        first, _, norm, _, last = self.mlp
        first.weight.copy_(given["hidden.weight"].T)
        first.bias.copy_(given["hidden.bias"][0])
        norm.weight.copy_(given["norm.weight"][0])
        norm.bias.copy_(given["norm.bias"][0])
        last.weight.copy_(given["out.weight"].T)
        last.bias.copy_(given["out.bias"][0])
        return self

    def given(self, hidden_layers: int) -> dict[str, torch.Tensor]:
        """The parameters under the names of ``unpacked``; layers that are not mixed have 0."""
        found = {"mix": torch.zeros(hidden_layers), "gamma": self.gamma.detach()}
        for scalar, layer in zip(self.scalars, self.layers, strict=True):
            found["mix"][layer] = scalar.detach()[0]
        for number, (project, attend) in enumerate(zip(self.project, self.attend, strict=True), 1):
            found[f"project{number}.weight"] = project.weight.detach()[:, :, 0].T
            found[f"project{number}.bias"] = project.bias.detach()[None]
            found[f"attend{number}.weight"] = attend.weight.detach().T
            found[f"attend{number}.bias"] = attend.bias.detach()[None]
        first, _, norm, _, last = self.mlp
        for name, module in (("hidden", first), ("out", last)):
            found |= {f"{name}.weight": module.weight.detach().T, f"{name}.bias": module.bias.detach()[None]}
        return found | {"norm.weight": norm.weight.detach()[None], "norm.bias": norm.bias.detach()[None]}
