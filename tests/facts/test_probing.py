from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from probing.facts import probe as probing_module
from probing.facts.askable import answer_ids
from probing.facts.probe import ProbeWork, gather_shards, probe_shards, shard_numbers, shard_path
from probing.facts.requests import RunConfig
from probing.facts.swapped_subjects import swapped_subjects
from probing.heads.files import load_heads
from probing.kernel.errors import ModelError
from probing.kernel.fact import Fact, facts_sha256, fill
from probing.kernel.models.torch_settings import thread_count
from tests.heads.test_decoding import PlainHead

LANDS = {"France": "Paris", "Germany": "Berlin", "Italy": "Rome", "England": "London", "Spain": "Madrid"}
CAPITAL = "The capital of [X] is [Y]."
BORN = "[X] was born in [Y] and plays music."


def fact(relation, subject, answer, template):
    return Fact("trex", relation, subject, answer, template, fill(template, subject))


FACTS = [
    *(fact("P36", land, city, CAPITAL) for land, city in LANDS.items()),
    *(
        fact("P19", name, city, BORN)
        for name, city in (("Rocky", "Philadelphia"), ("Balboa", "Boston"), ("Rocky", "Rome"))
    ),
    fact("P101", "Rocky", "music", "[X] plays [Y]."),
    Fact("trex", "P999", "", "blue", "The moon is [MASK].", "The moon is [MASK]."),
]


def config_for(encoder, facts, answers, **more):
    settings = {
        "model": encoder.name,
        "weights": encoder.weights_id,
        "model_revision": "local",
        "base": "",
        "objective": "mlm",
        "head": "logit_lens",
        "head_recipe": "pre-trained",
        "seed": 0,
        "probe_set": "trex",
        "template_set": "default",
        "facts_sha256": facts_sha256(facts, answers),
        "top_k": 5,
        "dtype": "float32",
        "threads": thread_count(),
        "shard": 4,
        "code_version": "0",
    }
    return RunConfig(**{**settings, **more})


def probe(work):
    """The columns of all shards, after probing those that are not there."""
    probe_shards(work)
    return gather_shards(work)


@pytest.fixture()
def asked(tmp_path):
    """Probes the facts above with the pre-trained head."""

    def ask(encoder, work="work", states=None, facts=FACTS, **settings):
        answers = answer_ids(facts, encoder)
        assert all(isinstance(answer, int) for answer in answers)
        config = config_for(encoder, facts, answers, **settings)
        heads = load_heads(None, encoder, "logit_lens")
        return probe(ProbeWork(encoder, heads, facts, answers, config, tmp_path / work, states and tmp_path / states))

    return ask


def single_logits(folder, encoder, one, dtype):
    """Transformers' own logits, one sentence a pass: the filled sentence with the mask put in place of the answer's
    token.
    """
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=dtype).eval()
    row = encoder.tokenizer(one.prompt.replace("[MASK]", one.object))["input_ids"]
    at = row.index(answer_ids([one], encoder)[0])
    row[at] = encoder.tokenizer.mask_token_id
    with torch.inference_mode():
        return model(input_ids=torch.tensor([row])).logits[0, at]


def slow_rank(scores, token):
    return sum(score >= scores[token] for score in scores.tolist())


def test_lens_at_the_last_layer_gives_transformers_ranks_exactly_in_float64(architecture, folder_of, encoder_of, asked):
    encoder = encoder_of(architecture, torch.float64)
    # One fact a shard is one sentence a pass.
    result = asked(encoder, shard=1, dtype="float64")
    for n, (one, token) in enumerate(zip(FACTS, answer_ids(FACTS, encoder), strict=True)):
        scores = single_logits(folder_of(architecture), encoder, one, torch.float64)
        assert result["gold_rank"][-1, n] == slow_rank(scores, token)
        assert result["top_ids"][-1, n].tolist() == scores.argsort(descending=True, stable=True)[:5].tolist()
        assert result["gold_logp"][-1, n] == pytest.approx(float(scores.log_softmax(0)[token]), abs=1e-5)


def test_batched_float32_ranks_lie_within_what_a_ten_thousandth_of_a_logit_allows(
    architecture, folder_of, encoder_of, asked
):
    encoder = encoder_of(architecture)
    result = asked(encoder, shard=100)
    for n, (one, token) in enumerate(zip(FACTS, answer_ids(FACTS, encoder), strict=True)):
        scores = single_logits(folder_of(architecture), encoder, one, torch.float32)
        best, worst = (int((scores >= scores[token] + change).sum()) for change in (1e-4, -1e-4))
        assert best <= result["gold_rank"][-1, n] <= worst


def test_every_layer_and_fact_is_answered(bert, asked):
    result = asked(bert)
    layers = bert.layers
    for name in ("gold_rank", "answer_rank", "other_rank", "gold_logp"):
        assert result[name].shape == (layers, len(FACTS))
    assert result["top_ids"].shape == result["top_logp"].shape == (layers, len(FACTS), 5)
    vocabulary = bert.head.vocabulary.out_features
    assert result["gold_rank"].min() >= 1 and result["gold_rank"].max() <= vocabulary


def test_rank_among_answers_is_the_place_among_the_relations_objects(bert, asked):
    result = asked(bert)
    answers = answer_ids(FACTS, bert)
    states = probing_module.cached_states([one.prompt for one in FACTS], bert, None)
    for layer in range(bert.layers):
        logits = bert.head(torch.from_numpy(states[layer]))
        for n, one in enumerate(FACTS):
            among = {answers[m] for m, other in enumerate(FACTS) if other.relation == one.relation}
            wanted = sum(bool(logits[n, token] >= logits[n, answers[n]]) for token in among)
            assert result["answer_rank"][layer, n] == wanted


def test_swapped_rank_is_the_own_objects_rank_at_the_swapped_subjects_prompt(folder_of, encoder_of, asked):
    encoder = encoder_of("bert", torch.float64)
    result = asked(encoder, shard=3, dtype="float64")
    answers, other = answer_ids(FACTS, encoder), swapped_subjects(FACTS)
    for n, one in enumerate(FACTS):
        if other[n] is None:
            assert one.relation in ("P101", "P999"), "only there is no other subject"
            assert result["other_rank"][:, n].tolist() == [0] * (encoder.layers)
        else:
            scores = single_logits(folder_of("bert"), encoder, FACTS[other[n]], torch.float64)
            assert result["other_rank"][-1, n] == slow_rank(scores, answers[n])


def test_a_prompt_may_be_swapped_into_several_facts_and_to_none(folder_of, encoder_of, asked):
    encoder = encoder_of("bert", torch.float64)
    facts = [fact("P19", name, "Rome", BORN) for name in ("France", "Spain", "Rocky")] + [
        fact("P19", "Balboa", "London", BORN)
    ]
    assert swapped_subjects(facts)[:3] == [3, 3, 3]
    result = asked(encoder, facts=facts, shard=2, dtype="float64")
    scores = single_logits(folder_of("bert"), encoder, facts[3], torch.float64)
    wanted = slow_rank(scores, answer_ids(facts, encoder)[0])
    assert result["other_rank"][-1, :3].tolist() == [wanted] * 3


def test_a_model_that_knows_everything_is_never_right_with_the_swapped_subject(bert, tmp_path, monkeypatch):
    # Several subjects share answers, one has two; the model puts all answers of a subject first.
    cities = ("Paris", "Paris", "Paris", "Rome", "Rome", "Berlin", "London", "Madrid")
    names = ("France", "Germany", "Italy", "England", "Spain", "Rocky", "Balboa", "Philadelphia")
    facts = [
        fact("P19", *pair, BORN) for pair in (*zip(names, cities, strict=True), ("France", "Boston"), ("Rocky", "Rome"))
    ]
    answers, vocabulary = answer_ids(facts, bert), len(bert.tokenizer)
    known = {one.prompt: [answers[n] for n, two in enumerate(facts) if two.subject == one.subject] for one in facts}

    def perfect(prompts, *_):
        scores = np.zeros((bert.layers, len(prompts), vocabulary), dtype=np.float32)
        for n, prompt in enumerate(prompts):
            scores[:, n, known[prompt]] = np.arange(9, 9 - len(known[prompt]), -1)
        return scores

    monkeypatch.setattr(probing_module, "cached_states", perfect)
    heads = [PlainHead(vocabulary)] * (bert.layers)
    result = probe(ProbeWork(bert, heads, facts, answers, config_for(bert, facts, answers), tmp_path))
    assert result["gold_rank"].max() == 2
    assert (result["other_rank"] > 0).all(), "every fact has a swapped subject here"
    assert (result["other_rank"] > 10).all()


def test_the_progress_bar_counts_facts_and_moves_within_a_shard(bert, asked, monkeypatch):
    shown = []

    class Bar:
        def __init__(self, total, unit, desc, disable):
            assert not disable
            shown.append((total, unit))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, count):
            shown.append(count)

    monkeypatch.setattr(probing_module, "tqdm", Bar)
    # Two lengths of prompts are two batches of the encoder.
    monkeypatch.setattr("probing.kernel.models.states.ENOUGH_TOKENS", 1)
    asked(bert, shard=100)
    moves = [count for count in shown[1:] if count]
    assert shown[0] == (len(FACTS), "fact")
    assert all(count > 0 for count in moves) and sum(moves) == len(FACTS)
    assert len(moves) >= 4
    shown.clear()
    asked(bert, shard=100)
    assert [count for count in shown[1:] if count] == [len(FACTS)], "what exists already is shown at once"


@pytest.mark.parametrize("die_at", [1, 2, 3])
def test_killed_in_the_middle_and_resumed_the_arrays_are_equal(die_at, bert, asked, monkeypatch):
    whole = asked(bert, "whole")
    real, calls = probing_module.cached_states, []

    def killed(*arguments):
        calls.append(1)
        if len(calls) == die_at:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(probing_module, "cached_states", killed)
        asked(bert, "killed")
    calls.clear()
    monkeypatch.setattr(probing_module, "cached_states", lambda *a: calls.append(1) or real(*a))
    resumed = asked(bert, "killed")
    # Ten facts in shards of four are three shards; those before the kill are not asked again.
    assert len(calls) == 3 - (die_at - 1)
    assert {name: array.tobytes() for name, array in resumed.items()} == {
        name: array.tobytes() for name, array in whole.items()
    }


def test_a_torn_shard_is_asked_again(bert, asked, tmp_path):
    whole = asked(bert)
    shard = next((tmp_path / "work").rglob("shard-00001.safetensors"))
    shard.write_bytes(shard.read_bytes()[:50])
    again = asked(bert)
    assert all(np.array_equal(whole[name], again[name]) for name in whole)


def test_cached_states_change_nothing(bert, asked, tmp_path, monkeypatch):
    without = asked(bert, "a")
    first = asked(bert, "b", states="states")
    monkeypatch.setattr("probing.kernel.models.states.states_at", lambda *_: pytest.fail("computed again"))
    second = asked(bert, "c", states="states")
    for name in without:
        assert without[name].tobytes() == first[name].tobytes() == second[name].tobytes()


def test_states_of_other_precision_version_or_thread_count_are_kept_apart(encoder_of, tmp_path, monkeypatch):
    def path(encoder, version="1"):
        config = config_for(encoder, FACTS, answer_ids(FACTS, encoder)).model_copy(update={"code_version": version})
        return probing_module._states_path(tmp_path, encoder, config, ["It is [MASK]."])

    places = {
        path(encoder_of("bert")),
        path(encoder_of("bert", torch.float64)),
        path(encoder_of("albert")),
        path(encoder_of("bert"), "2"),
    }
    monkeypatch.setattr(probing_module, "thread_count", lambda: 64)
    places.add(path(encoder_of("bert")))
    assert len(places) == 5


def test_shards_asked_one_by_one_in_any_order_are_the_whole_run(bert, asked, tmp_path):
    whole = asked(bert, "whole")
    answers, heads = answer_ids(FACTS, bert), load_heads(None, bert, "logit_lens")
    config = config_for(bert, FACTS, answers)
    apart = ProbeWork(bert, heads, FACTS, answers, config, tmp_path / "apart")
    assert list(shard_numbers(len(FACTS), config.shard)) == [0, 1, 2] and len(shard_numbers(8, 4)) == 2
    for numbers in ([2], [0]):
        paths = probe_shards(apart, numbers)
        assert paths == [shard_path(tmp_path / "apart", config, number) for number in numbers]
    with pytest.raises(ModelError, match=r"shard-00001\.safetensors is missing"):
        gather_shards(apart)
    probe_shards(apart, [1, 0])
    joined = gather_shards(apart)
    assert {name: array.tobytes() for name, array in joined.items()} == {
        name: array.tobytes() for name, array in whole.items()
    }
    for number in range(3):
        first, second = (shard_path(tmp_path / place, config, number).read_bytes() for place in ("whole", "apart"))
        assert first == second
    with pytest.raises(ModelError, match="got shard 3, expected 0 to 2"):
        probe_shards(apart, [3])


def test_a_shard_of_other_layers_is_not_taken_for_this_one(bert, tmp_path):
    answers, heads = answer_ids(FACTS, bert), load_heads(None, bert, "logit_lens")
    config = config_for(bert, FACTS, answers)
    probe_shards(ProbeWork(bert, heads[-1:], FACTS, answers, config, tmp_path, layers=[bert.depth]))
    with pytest.raises(ModelError, match="missing or damaged"):
        gather_shards(ProbeWork(bert, heads, FACTS, answers, config, tmp_path))
    assert probe(ProbeWork(bert, heads, FACTS, answers, config, tmp_path))["gold_rank"].shape == (
        bert.layers,
        len(FACTS),
    )


def test_two_at_the_same_run_leave_whole_shards_and_nothing_else(bert, asked, tmp_path):
    whole = asked(bert, "whole")
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda _: asked(bert, "shared", states="states"), range(2)))
    assert all(one[name].tobytes() == whole[name].tobytes() for one in found for name in whole)
    names = {path.name for path in (tmp_path / "shared").rglob("*") if path.is_file()}
    assert names == {f"shard-0000{number}.safetensors" for number in range(3)}


def test_an_error_of_writing_surfaces_and_leaves_no_half_shard(bert, asked, tmp_path, monkeypatch):
    def full_disk(_part, path, **_metadata):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("probing.kernel.models.arrays.save_file", full_disk)
    with pytest.raises(OSError, match="No space left"):
        asked(bert)
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]


def test_a_run_is_its_configuration(bert):
    answers = answer_ids(FACTS, bert)
    config = config_for(bert, FACTS, answers)
    assert config.run_id == config_for(bert, FACTS, answers).run_id
    assert len(config.run_id) == 16
    changed = [
        config_for(bert, FACTS, answers, seed=1),
        config_for(bert, FACTS, answers, head="tied"),
        config_for(bert, FACTS[:-1], answers[:-1]),
        config_for(bert, FACTS, [*answers[:-1], 7]),
    ]
    assert len({config.run_id, *(other.run_id for other in changed)}) == 5
