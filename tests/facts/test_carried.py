"""What is carried and settled: equal to a slow loop with hooks in whole models, and right where it is planted."""

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from probing.facts.askable import askable
from probing.facts.carried import MOST_GUESTS, Case, chosen, measure_cases, sentences, with_hosts
from probing.facts.sources import read_facts
from probing.facts.tables import MEASURED
from probing.kernel.fact import Fact, shipped_relations
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.layer_swap import NO_CUT, NOT_ALONE, _cut, layers_of
from probing.kernel.models.states import head_states, states_at
from tests import tiny_models

ALONE = sorted((tiny_models.KINDS | tiny_models.WHOLE).keys() - NOT_ALONE.keys())
TEMPLATE = "[X] is the capital of [Y] and it was red"
SUBJECTS = ("paris", "rome", "berlin", "london", "madrid", "rocky balboa", "music in boston")


def known_cases(encoder, subjects=SUBJECTS, template=TEMPLATE):
    """Cases whose answers are what the model says, with hosts."""
    facts = [
        Fact("own", "P36", subject, str(n), template, template.replace("[X]", subject).replace("[Y]", "[MASK]"))
        for n, subject in enumerate(subjects)
    ]
    asks = sentences(facts, encoder)
    cases = []
    for fact, asked in zip(facts, asks, strict=True):
        last = head_states([asked.row], encoder)[-1][0, asked.gap]
        with torch.inference_mode():
            cases.append(Case(fact, int(encoder.head(last[None]).argmax()), asked, True))
    return with_hosts(cases, cases)


class Slow:
    """Whole models of transformers, one sentence at a time, with hooks on their layers."""

    def __init__(self, encoder):
        self.encoder, self.layers = encoder, layers_of(encoder.body)

    def run(self, row, hooks=(), pre=()):
        ids = torch.tensor([row])
        made = [self.layers[n].register_forward_hook(hook) for n, hook in hooks]
        made += [self.layers[n].register_forward_pre_hook(hook, with_kwargs=True) for n, hook in pre]
        try:
            with torch.no_grad():
                return self.encoder.body(
                    input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True
                ).hidden_states
        finally:
            for hook in made:
                hook.remove()

    def first(self, last, gap):
        with torch.no_grad():
            logits = self.encoder.head(last[:, gap])[0]
        return int(logits.argmax()) if (logits == logits.max()).sum() == 1 else -1

    def put(self, row, gap, layer, state):
        """The first token of the last layer if the gap has this state after a layer."""

        def of_layer(_module, _args, output):
            tensor = (output[0] if isinstance(output, tuple) else output).clone()
            tensor[0, gap] = state
            return (tensor, *output[1:]) if isinstance(output, tuple) else tensor

        def below(_module, args, kwargs):
            tensor = args[0].clone()
            tensor[0, gap] = state
            return (tensor, *args[1:]), kwargs

        if layer == self.encoder.depth:
            last = self.run(row)[-1].clone()
            last[0, gap] = state
        elif layer:
            last = self.run(row, [(layer - 1, of_layer)])[-1]
        else:
            last = self.run(row, pre=[(0, below)])[-1]
        return self.first(last, gap)

    def hidden(self, row, gap, layer, places):
        cut = torch.zeros(1, 1, len(row), len(row), dtype=torch.bool)
        cut[0, 0, gap, list(places)] = True
        return self.first(self.run(row, pre=[(n, partial(_cut, cut)) for n in range(layer, len(self.layers))])[-1], gap)

    def flags(self, case):
        """``MEASURED`` -> one flag per layer."""
        mask, gap, own = self.encoder.tokenizer.mask_token_id, case.asked.gap, case.asked.row
        masked = [mask if n in case.asked.subject else token for n, token in enumerate(own)]
        runs = {"alone": (masked, case), "alone_null": (masked, case.other)}
        if case.host:
            runs |= {"against": (case.host.asked.row, case), "against_null": (case.host.asked.row, case.third)}
        found = {}
        for name, (row, donor) in runs.items():
            if donor is not None:
                given = [state[0, gap] for state in self.run(donor.asked.row)]
                found[name] = [self.put(row, gap, n, state) == case.answer for n, state in enumerate(given)]
        if self.encoder.body.config.model_type not in NO_CUT:
            for name, places in (("settled", case.asked.subject), ("settled_null", case.same_words)):
                if places:
                    found[name] = [self.hidden(own, gap, n, places) == case.answer for n in range(len(self.layers) + 1)]
        return found


@pytest.mark.parametrize("kind", ALONE)
def test_every_architecture_gives_what_a_slow_loop_with_hooks_gives(encoder_of, kind):
    encoder = encoder_of(kind)
    cases = known_cases(encoder, SUBJECTS[:5])
    found, slow = measure_cases(cases, encoder), Slow(encoder)
    assert any(case.host and case.third for case in cases) or len({case.answer for case in cases}) < 3
    for n, case in enumerate(cases):
        wanted = slow.flags(case)
        for name in MEASURED:
            if name not in wanted:
                assert np.isnan(found[name][:, n]).all(), name
                continue
            # The convolution of DeBERTa-v2 lies between the first layer and the states after it.
            layers = [layer for layer in range(encoder.layers) if (kind, layer) != ("deberta-v2", 1)]
            assert found[name][layers, n].tolist() == [wanted[name][layer] for layer in layers], (name, n)


@pytest.fixture(scope="module")
def shipped():
    """The shipped model, and cases of it: well-known facts that its last layer answers."""
    encoder = open_encoder("nesia-mini", device="cpu")
    (found,) = read_facts("everyday", shipped_relations(), None)
    kept, answers = askable(found, encoder)
    asks = sentences(kept.facts, encoder)
    right = read(encoder, asks, answers)[-1]
    known = [
        Case(*each, True) for each, one in zip(zip(kept.facts, answers, asks, strict=True), right, strict=True) if one
    ]
    return encoder, with_hosts(known, chosen(known, 120))


def read(encoder, asks, answers):
    """(layers, cases) whether the answer is first at each layer, by the model's own head."""
    states = states_at([one.row for one in asks], [one.gap for one in asks], encoder)
    with torch.inference_mode():
        logits = [encoder.head(torch.from_numpy(state)) for state in states]
    return np.stack([of_layer.argmax(1).numpy() == answers for of_layer in logits])


def rates(found, name):
    """(layers,) share; of what is carried alone, over facts that the sentence does not answer without the state."""
    flags = found[name]
    return np.nanmean(flags[:, found["guessed"] == 0] if name.startswith("alone") else flags, axis=1)


def test_at_the_last_layer_all_is_right_and_at_the_embeddings_nothing_is_carried(shipped):
    encoder, cases = shipped
    found = measure_cases(cases, encoder)
    for name in ("alone", "against", "settled"):
        assert rates(found, name)[-1] == 1, name
        assert rates(found, name)[0] < 0.3, name
    for name in ("alone", "against"):
        null = found[f"{name}_null"][0]
        both = ~np.isnan(null)
        assert np.array_equal(found[name][0][both], null[both]), "the state of a mask is everywhere the same"
        assert rates(found, f"{name}_null").max() < 0.1
    settled = np.nan_to_num(found["settled_null"], nan=1.0)
    assert settled.mean() > np.nanmean(found["settled"]), "the subject is needed more than other words"


def test_hosts_have_another_answer_and_are_used_at_most_five_times(shipped):
    _, cases = shipped
    hosts = [case.host.fact.fact_id for case in cases if case.host]
    assert len(hosts) > 60 and max(map(hosts.count, hosts)) <= MOST_GUESTS
    for case in cases:
        for other in (case.host, case.third, case.other):
            if other:
                assert other.answer != case.answer and len(other.asked.row) == len(case.asked.row)
                assert other.fact.relation == case.fact.relation and other.asked.gap == case.asked.gap
        if case.third:
            assert case.third.answer != case.host.answer


def planted(encoder, change, above):
    """The encoder with its layers above a number changed."""
    body = copy.deepcopy(encoder.body)
    for layer in list(layers_of(body))[above:]:
        change(layer)
    return replace(encoder, body=body)


def test_where_the_layers_above_are_scrambled_nothing_is_carried_although_it_is_read_as_before(shipped):
    encoder, cases = shipped
    above, generator = 5, torch.Generator().manual_seed(0)

    def scramble(layer):
        for weight in layer.parameters():
            flat = weight.data.flatten()
            weight.data = flat[torch.randperm(len(flat), generator=generator)].view_as(weight)

    broken = planted(encoder, scramble, above)
    asks, answers = [case.asked for case in cases], [case.answer for case in cases]
    assert np.array_equal(read(broken, asks, answers)[: above + 1], read(encoder, asks, answers)[: above + 1])
    whole, found = measure_cases(cases, encoder), measure_cases(cases, broken)
    assert rates(whole, "alone")[above] > 0.3
    for name in ("alone", "against"):
        assert rates(found, name)[: above + 1].max() < 0.05, (name, rates(found, name), rates(whole, name))


def test_where_the_layers_above_change_nothing_what_is_read_is_carried(shipped):
    encoder, cases = shipped
    above = 5

    def pass_on(layer):
        layer.forward = lambda states, attention_mask=None, *_args, **_kwargs: states

    through = planted(encoder, pass_on, above)
    seen = read(through, [case.asked for case in cases], [case.answer for case in cases])
    found = measure_cases(cases, through)
    for name in ("alone", "against"):
        known = ~np.isnan(found[name][0])
        assert np.array_equal(found[name][above:, known] == 1, seen[above:, known]), name
    assert 0.3 < seen[above].mean() < 1


def test_where_the_gap_never_sees_the_subject_settled_does_not_move(shipped):
    encoder, cases = shipped
    groups = {}
    for case in cases:
        groups.setdefault((len(case.asked.row), case.asked.gap, case.asked.subject), []).append(case)
    (length, gap, subject), alike = max(groups.items(), key=lambda one: len(one[1]))
    cut = torch.zeros(1, 1, length, length, dtype=torch.bool)
    cut[0, 0, gap, list(subject)] = True
    blind = planted(encoder, lambda layer: layer.register_forward_pre_hook(partial(_cut, cut), with_kwargs=True), 0)
    found = measure_cases([replace(case, host=None, third=None, other=None) for case in alike], blind)
    assert len(alike) > 5 and (found["settled"] == found["settled"][0]).all()


def test_the_sample_has_as_many_facts_of_each_relation_as_there_are():
    facts = [Fact("own", relation, f"s{n}", "o", "", f"s{n} [MASK]") for relation in "AAAAAABBC" for n in range(3)]
    facts = [replace(fact, subject=f"{fact.subject}{n}") for n, fact in enumerate(facts)]
    cases = [Case(fact, 1, None, True) for fact in facts]
    counts = [[case.fact.relation for case in chosen(cases, most)].count(name) for most in (9, 14) for name in "ABC"]
    assert counts == [3, 3, 3, 6, 5, 3]
    assert [case.fact.fact_id for case in chosen(cases[::-1], 9)] == [case.fact.fact_id for case in chosen(cases, 9)]
