"""The authors' way to train a probe, in plain torch: the encoder runs in every step, and each layer of each task is a
training of its own.

After jiant (``edge_probing.py``, ``simple_modules.py``) and AllenNLP (``ScalarMix``, ``SelfAttentiveSpanExtractor``):
sentences are padded, all their pieces are projected, and the pieces of each span are gathered and padded.
"""

from collections.abc import Mapping, Sequence

import torch

from probing.edges.states import Cut, lexical_states
from probing.edges.targets import Record


class PaddedProbe(torch.nn.Module):
    """One probe P(l) on padded sentences.

    Args:
        layer: l; layers 0..l are mixed.
        hidden: size of a state.
        spans: 1 or 2.
        width: of projection and hidden layer.
        labels: number of labels.
        dropout: in front of the last layer.
    """

    def __init__(self, layer: int, hidden: int, spans: int, width: int, labels: int, dropout: float):
        super().__init__()
        self.mix = torch.nn.ParameterList([torch.zeros(1) for _ in range(layer + 1)])
        self.gamma = torch.nn.Parameter(torch.ones(1))
        self.project = torch.nn.ModuleList([torch.nn.Linear(hidden, width) for _ in range(spans)])
        self.attend = torch.nn.ModuleList([torch.nn.Linear(width, 1) for _ in range(spans)])
        self.hidden, self.norm = torch.nn.Linear(spans * width, width), torch.nn.LayerNorm(width)
        self.dropout, self.out = torch.nn.Dropout(dropout), torch.nn.Linear(width, labels)

    def forward(self, states: Sequence[torch.Tensor], rows: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
        """Logits of all targets of some sentences, (targets, labels).

        Args:
            states: of layers 0..l, each (sentences, pieces, hidden).
            rows: (targets,), the sentence of each.
            spans: (targets, spans, 2), first piece and the one after the last.
        """
        weights = torch.softmax(torch.cat(list(self.mix)), 0)
        mixed = self.gamma * sum(weight * state for weight, state in zip(weights, states, strict=True))
        pooled = []
        for number, (project, attend) in enumerate(zip(self.project, self.attend, strict=True)):
            projected = project(mixed)
            scores = attend(projected)[..., 0]
            start, end = spans[:, number].unbind(1)
            places = start[:, None] + torch.arange(int((end - start).max()))
            inside = places < end[:, None]
            places = torch.where(inside, places, start[:, None])
            chosen = scores[rows[:, None], places].masked_fill(~inside, -torch.inf)
            pooled.append((torch.softmax(chosen, 1)[..., None] * projected[rows[:, None], places]).sum(1))
        found = self.norm(torch.tanh(self.hidden(torch.cat(pooled, 1))))
        return self.out(self.dropout(found))

    @torch.no_grad()
    def take(self, given: Mapping[str, torch.Tensor]) -> "PaddedProbe":
        """Takes the parameters of a probe as ``unpacked`` names them, without the axis of probes."""
        for layer, scalar in enumerate(self.mix):
            scalar.copy_(given["mix"][layer : layer + 1])
        self.gamma.copy_(given["gamma"])
        named = {"hidden": self.hidden, "out": self.out}
        for number, (project, attend) in enumerate(zip(self.project, self.attend, strict=True), 1):
            named |= {f"project{number}": project, f"attend{number}": attend}
        for name, linear in named.items():
            linear.weight.copy_(given[f"{name}.weight"].T)
            linear.bias.copy_(given[f"{name}.bias"][0])
        self.norm.weight.copy_(given["norm.weight"][0])
        self.norm.bias.copy_(given["norm.bias"][0])
        return self


class StepByStep:
    """A training of one probe that asks the encoder for the states of each batch.

    Args:
        body: the encoder, as transformers has it.
        probe: the probe.
        labels: names, in the order of the logits.
        rate: learning rate.
        clip: greatest norm of the gradient.
    """

    def __init__(self, body: torch.nn.Module, probe: PaddedProbe, labels: Sequence[str], rate: float, clip: float):
        self.body, self.probe, self.clip = body, probe, clip
        self.number_of = {label: number for number, label in enumerate(labels)}
        self.optimizer = torch.optim.Adam(probe.parameters(), rate, amsgrad=True)

    def logits(self, records: Sequence[Record], cuts: Sequence[Cut]) -> torch.Tensor:
        """(targets, labels) of all targets of some sentences, which are encoded here."""
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(cut.ids) for cut in cuts], batch_first=True)
        seen = torch.nn.utils.rnn.pad_sequence(
            [torch.ones(len(cut.ids), dtype=torch.long) for cut in cuts], batch_first=True
        )
        with torch.no_grad():
            states = list(self.body(input_ids=ids, attention_mask=seen, output_hidden_states=True).hidden_states)
            states[0] = lexical_states(self.body, ids)
        rows, spans = [], []
        for row, (record, cut) in enumerate(zip(records, cuts, strict=True)):
            for target in record.targets:
                chosen = [span for span in (target.span1, target.span2) if span is not None]
                rows.append(row)
                spans.append([[cut.first[start], cut.last[end - 1]] for start, end in chosen])
        return self.probe(states[: len(self.probe.mix)], torch.tensor(rows), torch.tensor(spans))

    def take(self, records: Sequence[Record], cuts: Sequence[Cut]) -> float:
        """One step; the mean loss."""
        logits = self.logits(records, cuts)
        gold = torch.zeros_like(logits)
        targets = [target for record in records for target in record.targets]
        for row, target in enumerate(targets):
            gold[row, [self.number_of[label] for label in target.labels]] = 1.0
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, gold)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.probe.parameters(), self.clip)
        self.optimizer.step()
        return loss.item()
