"""Log-likelihoods of candidates against a loop over transformers' own logits, ranks, and planted answers."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

import probing
from probing.facts import candidates as measure
from probing.facts.candidates import Question, Scorer, ask, best_of, cut_in, place, rank, rank_all
from probing.facts.requests import AMONG_CANDIDATES, ANSWER_L2R, INDEPENDENT, WITHIN_WORD_L2R
from probing.heads.decode import decode
from probing.kernel.errors import ModelError, OptionError, PromptError
from probing.kernel.fact import MASK, NO_CANDIDATE, NO_OTHER, OTHER_PROMPT, TOO_LONG, UNKNOWN, Fact, FactSet
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.load import Encoder, load_encoder
from probing.kernel.stats.intervals import wilson_mean
from tests import tiny_models
from tests.reference import candidate_oracles

PROMPTS = (
    "The capital of france is [MASK].",
    "[MASK] is the city of rocky balboa",
    "It was born in [MASK], and it is red.",
)
TEXTS = ("paris", "new york city", "rocky balboa", "quito", "rome", "red green blue", "one two three", "one two four")
#: Architecture -> the head of transformers' own model.
HEADS = {
    "bert": lambda model: model.cls,
    "roberta": lambda model: model.lm_head,
    "modernbert": lambda model: lambda states: model.decoder(model.head(states)),
}


def heads_of(encoder: Encoder) -> list:
    """The model's own head for every layer."""
    return [encoder.head] * encoder.layers


def scorer_of(encoder: Encoder, kind: str = INDEPENDENT, heads: list | None = None) -> Scorer:
    return Scorer(encoder, heads or heads_of(encoder), range(encoder.layers), kind)


def visible(kind: str, words: list, place: int, other: int) -> bool:
    """Whether a token of the answer is seen while the one at ``place`` is scored, by the measure's definition."""
    if kind == WITHIN_WORD_L2R:
        return other < place or words[other] != words[place]
    return kind == ANSWER_L2R and other < place


def through_norm(model, states) -> list[torch.Tensor]:
    """States as the head reads them: ModernBERT has a norm on top of its last layer."""
    return [*map(model.model.final_norm, states[:-1]), states[-1]] if hasattr(model, "model") else list(states)


def by_hand(model, tokenizer, prompt: str, text: str, kind: str) -> np.ndarray:
    """(layers,) log-likelihoods: a pass of transformers' model per token, its states read by its own head."""
    first = prompt.index(MASK)
    coded = tokenizer(prompt.replace(MASK, text), return_offsets_mapping=True, return_special_tokens_mask=True)
    spans = zip(coded["offset_mapping"], coded["special_tokens_mask"], strict=True)
    last = first + len(text)
    # A token of the space before the answer is the answer's, too, as words have the space in their first token.
    space = [not prompt[start:end].strip() and end == first for (start, end) in coded["offset_mapping"]]
    own = [
        n for n, ((start, end), added) in enumerate(spans) if not added and start < last and (end > first or space[n])
    ]
    ids, words, total = torch.tensor(coded["input_ids"]), [coded.word_ids()[n] for n in own], 0.0
    for number, position in enumerate(own):
        row = ids.clone()
        for other, at in enumerate(own):
            if not visible(kind, words, number, other):
                row[at] = tokenizer.mask_token_id
        with torch.no_grad():
            states = through_norm(model, model(input_ids=row[None], output_hidden_states=True).hidden_states)
            read = HEADS[model.config.model_type](model)
            total = total + torch.stack(
                [read(state[:, position]).log_softmax(-1)[0, ids[position]] for state in states]
            )
    return total.numpy()


@pytest.fixture(params=sorted(HEADS))
def loaded(request, folder_of, encoder_of):
    """An encoder, and transformers' own model of the same folder."""
    model = AutoModelForMaskedLM.from_pretrained(folder_of(request.param)).eval()
    return encoder_of(request.param), model


@pytest.mark.parametrize("kind", AMONG_CANDIDATES)
def test_every_layer_gives_what_a_loop_over_transformers_logits_gives(loaded, kind):
    encoder, model = loaded
    for prompt in PROMPTS:
        cut, found = rank_all(prompt, TEXTS, scorer_of(encoder, kind))
        scored = [n for n, reason in enumerate(cut.reasons) if not reason]
        assert len(scored) >= 6 and len(set(cut.lengths[scored])) >= 3
        for number in scored:
            expected = by_hand(model, encoder.tokenizer, prompt, TEXTS[number], kind)
            assert found["log_likelihood"][:, number] == pytest.approx(expected, abs=1e-4), (prompt, TEXTS[number])
        alone = scorer_of(encoder, kind).alone(cut)[1]
        assert found["alone_log_likelihood"] == pytest.approx(alone, nan_ok=True)


def test_without_the_prompt_only_masks_stand_between_the_special_tokens(loaded):
    encoder, model = loaded
    tokenizer = encoder.tokenizer
    cut = cut_in(PROMPTS[0], TEXTS, encoder)
    _, alone = scorer_of(encoder).alone(cut)
    for number, pieces in enumerate(cut.pieces):
        if pieces:
            row = tokenizer(tokenizer.mask_token * len(pieces), return_tensors="pt")["input_ids"]
            assert row.shape[1] == len(pieces) + 2
            with torch.no_grad():
                logp = model(input_ids=row).logits[0].log_softmax(-1)
            expected = sum(logp[1 + nth, token].item() for nth, token in enumerate(pieces))
            assert alone[-1, number] == pytest.approx(expected, abs=1e-4)


def test_candidates_are_cut_as_in_each_prompt_by_itself(architecture, encoder_of):
    encoder = encoder_of(architecture)
    prompts = [
        template.replace("X", name)
        for name in ("france", "rocky balboa")
        for template in (
            "The city of X is [MASK].",
            "[MASK] is in X",
            "X ([MASK])",
            "It is [MASK]",
            "X-[MASK], a city",
            "X [MASK]?",
        )
    ]
    facts = [Fact("own", "r", "", "paris", prompt, prompt) for prompt in prompts]
    asked = ask(facts, {"r": TEXTS}, {("r", prompt): ["paris"] for prompt in prompts}, encoder)
    assert sum(isinstance(one, Question) for one in asked) >= 6
    for prompt, one in zip(prompts, asked, strict=True):
        if isinstance(one, Question):
            alone = cut_in(prompt, TEXTS, encoder)
            assert (one.cut.pieces, one.cut.reasons) == (alone.pieces, alone.reasons), prompt
    shared = {id(one.cut) for one in asked if isinstance(one, Question)}
    assert len(shared) < len([one for one in asked if isinstance(one, Question)])


def test_left_to_right_scores_the_best_of_each_layer_and_ranks_the_others_behind(bert):
    cut = cut_in(PROMPTS[0], TEXTS, bert)
    ((row, _),) = measure.masked_rows([PROMPTS[0]], bert)
    independent, scores = (of[:, 0] for of in scorer_of(bert, ANSWER_L2R).score([row], cut, best=3))
    every = scorer_of(bert, ANSWER_L2R).score([row], cut)[1][:, 0]
    among = np.ones(len(TEXTS), bool)
    for layer in range(bert.layers):
        best = np.argsort(-independent[layer])[:3]
        assert set(np.flatnonzero(~np.isnan(scores[layer]))) == set(best)
        assert scores[layer, best] == pytest.approx(every[layer, best], abs=1e-5)
    ranks = np.stack([place(scores, independent, number, among)[0] for number in range(len(TEXTS))], axis=1)
    for layer in range(bert.layers):
        best = np.argsort(-independent[layer])
        behind = [*sorted(best[:3], key=lambda number: -scores[layer, number]), *best[3:]]
        assert ranks[layer, behind].tolist() == list(range(1, len(TEXTS) + 1))
    assert len(set(best_of(scores, independent, among))) >= 1


def test_ties_share_their_places_and_other_right_answers_do_not_count():
    scores = np.array([[-1.0, -2.0, -2.0, -3.0, np.nan], [-5.0, -5.0, -5.0, -5.0, np.nan]])
    every, without = np.array([True, True, True, True, False]), np.array([False, True, True, True, False])
    assert [part.tolist() for part in place(scores, scores, 1, every)] == [[2.5, 2.5], [2, 4]]
    assert [part.tolist() for part in place(scores, scores, 1, without)] == [[1.5, 2.0], [2, 3]]
    assert [part.tolist() for part in place(scores, scores, 3, every)] == [[4, 2.5], [1, 4]]
    # Three were scored left to right; the other two come behind, in the order of the first pass, in which they tie.
    left = np.array([[-9.0, np.nan, -8.0, -8.0, np.nan]])
    first = np.array([[-1.0, -4.0, -1.0, -1.0, -4.0]])
    everyone = np.ones(5, bool)
    assert [place(left, first, number, everyone)[0].tolist() for number in range(5)] == [
        [3],
        [4.5],
        [1.5],
        [1.5],
        [4.5],
    ]
    assert best_of(left, first, everyone).tolist() == [2]
    assert best_of(left, first, np.array([False, True, False, False, True])).tolist() == [1]


def test_candidates_of_the_same_tokens_are_one_answer(bert):
    texts = ("Paris", "paris", "New York City", "new york city", "rome")
    facts = [Fact("own", "r", "", text, PROMPTS[0], PROMPTS[0]) for text in ("Paris", "paris", "new york city")]
    questions = ask(facts, {"r": texts}, {("r", PROMPTS[0]): {"paris"}}, bert)
    # Of the last fact both spellings are another right answer, which does not count.
    assert [np.flatnonzero(question.among).tolist() for question in questions] == [[0, 2, 4], [1, 2, 4], [3, 4]]
    found = rank(questions, scorer_of(bert))
    assert (found.tied == 1).all() and (found.rank[:, 0] == found.rank[:, 1]).all()


def test_a_relation_with_a_prompt_without_a_wrong_answer_has_those_of_all_relations():
    rows = [("city", "paris", "It"), ("town", "rome", "It"), ("land", "a", "x"), ("land", "b", "x")]
    rows += [("sea", "c", "y"), ("sea", "d", "z")]
    facts = tuple(Fact("own", relation, "", text, "", f"{prompt} [MASK]") for relation, text, prompt in rows)
    among, right = FactSet("own", facts, len(facts), {}).candidates
    every = ("a", "b", "c", "d", "paris", "rome")
    assert among == {"city": every, "town": every, "land": every, "sea": ("c", "d")}
    assert right["city", "It [MASK]"] == {"paris", "rome"} and right["sea", "y [MASK]"] == {"c"}


def test_what_cannot_stand_in_the_gap_is_left_out_with_its_reason(bert):
    long = " ".join(["red"] * 60)
    texts = ("paris", "привет", long, "rome", "madrid")
    facts = [Fact("own", "r", "", text, PROMPTS[0], PROMPTS[0]) for text in (*texts, "berlin")]
    # Of another relation both answers are right, so there is nothing to rank them among.
    facts.append(replace(facts[0], relation="two"))
    right = {("r", PROMPTS[0]): texts[:1], ("two", PROMPTS[0]): ("paris", "rome")}
    asked = ask(facts, {"r": texts, "two": ("paris", "rome")}, right, bert)
    assert asked[1:3] == [UNKNOWN, TOO_LONG] and asked[5:] == [NO_CANDIDATE, NO_OTHER]
    assert asked[0].possible.tolist() == [True, False, False, True, True]
    assert asked[3].among.tolist() == [False] * 3 + [True] * 2
    # "was" is one token.
    assert cut_in("It is [MASK]s.", ["wa", "paris"], bert).reasons == (OTHER_PROMPT, "")


SUBJECTS = [f"{first} {second}" for first in ("paris", "rome", "london", "madrid", "boston") for second in "abcdef"]
ANSWERS = ("red green blue", "one two three", "moon sun", "jazz", "music")


@pytest.fixture(scope="module")
def knowing(tmp_path_factory):
    """An encoder whose layer 1 alone gives each of 30 subjects its answer, of one to three tokens; and its heads."""
    folder = tiny_models.save(
        "bert", tmp_path_factory.mktemp("knowing") / "knowing", hidden_size=40, num_hidden_layers=2, intermediate_size=8
    )
    encoder = load_encoder(folder, device="cpu", dtype=torch.float64)
    questions = questions_of(encoder, facts_of([ANSWERS[number % 5] for number in range(30)]))
    cut, start, mask = questions[0].cut, questions[0].row.index(4), encoder.tokenizer.mask_token_id
    answers = {question.row[:start]: question.answer for question in questions}
    tokens = [(number, nth) for number, pieces in enumerate(cut.pieces) for nth in range(len(pieces))]

    def plant(body, args, inputs, output):
        """Every masked piece of the right answer is a state of its own at layer 1; all other masks are one state."""
        states = output.hidden_states[1].clone()
        for row, own in zip(inputs["input_ids"].tolist(), states, strict=True):
            number, pieces = (
                answers.get(tuple(row[:start])),
                sum(token > 0 for token in row) - len(questions[0].row) + 1,
            )
            for position in (position for position, token in enumerate(row) if token == mask):
                known = (number, position - start) if number is not None and cut.lengths[number] == pieces else None
                own[position] = torch.eye(40)[tokens.index(known) if known else 39]
        return replace(output, hidden_states=(output.hidden_states[0], states, *output.hidden_states[2:]))

    encoder.body.register_forward_hook(plant, with_kwargs=True)
    vocabulary = torch.nn.Linear(40, len(encoder.tokenizer)).double().requires_grad_(False)
    vocabulary.weight.zero_()
    for at, (number, nth) in enumerate(tokens):
        vocabulary.weight[cut.pieces[number][nth], at] = 5
    dense = torch.nn.Linear(40, 40, bias=False).double().requires_grad_(False)
    dense.weight.copy_(torch.eye(40))
    head = DecodingHead(dense, torch.nn.Identity(), torch.nn.LayerNorm(40).double(), vocabulary)
    return encoder, [encoder.head, head, encoder.head]


def facts_of(answers: list[str]) -> list[Fact]:
    prompts = [f"The music of {subject} is [MASK]." for subject in SUBJECTS]
    return [Fact("own", "r", "", answer, prompt, prompt) for answer, prompt in zip(answers, prompts, strict=True)]


def questions_of(encoder: Encoder, facts: list[Fact]) -> list[Question]:
    found = ask(facts, {"r": ANSWERS}, {("r", fact.prompt): {fact.object} for fact in facts}, encoder)
    return [one for one in found if isinstance(one, Question)]


@pytest.mark.parametrize("kind", AMONG_CANDIDATES)
def test_answers_that_one_layer_alone_raises_are_found_there_and_shuffled_prompts_give_chance(knowing, kind):
    encoder, heads = knowing
    answers = [ANSWERS[number % 5] for number in range(30)]
    questions = questions_of(encoder, facts_of(answers))
    assert sorted(set(questions[0].cut.lengths)) == [1, 2, 3] and len(questions) == 30
    found = rank(questions, scorer_of(encoder, kind, heads))
    assert (found.rank[1] == 1).all() and (found.best[1] == [question.answer for question in questions]).all()
    for layer in (0, 2):
        low, high = wilson_mean(float((found.rank[layer] == 1).mean()), 30)
        assert low <= 1 / 5 <= high
    shuffled = np.random.default_rng(3).permutation(answers).tolist()
    found = rank(questions_of(encoder, facts_of(shuffled)), scorer_of(encoder, kind, heads))
    for layer in range(encoder.layers):
        low, high = wilson_mean(float((found.rank[layer] == 1).mean()), 30)
        assert low <= 1 / 5 <= high


def test_layers_that_are_asked_alone_and_blocks_of_prompts_change_nothing(knowing, monkeypatch):
    encoder, heads = knowing
    questions = questions_of(encoder, facts_of([ANSWERS[number % 5] for number in range(30)]))
    for kind in (INDEPENDENT, WITHIN_WORD_L2R):
        whole = rank(questions, scorer_of(encoder, kind, heads))
        last = rank(questions, Scorer(encoder, heads[-1:], [2], kind))
        assert last.log_likelihood[0] == pytest.approx(whole.log_likelihood[2], abs=1e-9)
        with monkeypatch.context() as patch:
            for name, size in (("_PROMPTS", 7), ("_POSITIONS", 16), ("ROWS", 5)):
                patch.setattr(measure, name, size)
            parts = rank(questions, scorer_of(encoder, kind, heads))
        assert parts.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-9)
        assert (parts.rank == whole.rank).all() and (parts.pmi_rank == whole.pmi_rank).all()


def test_no_more_rows_of_logits_are_held_than_a_block_has(bert, monkeypatch):
    seen = []

    def counted(head, states, buffer):
        seen.append(len(states))
        return decode(head, states, buffer)

    monkeypatch.setattr(measure, "decode", counted)
    monkeypatch.setattr(measure, "ROWS", 4)
    rank_all(PROMPTS[0], TEXTS, scorer_of(bert, ANSWER_L2R))
    assert max(seen) == 4


def test_a_notebook_ranks_candidates(folder_of, cache):
    model = probing.load(str(folder_of("bert")), "logit_lens", device="cpu")
    table = model.rank("The city of france is ___.", [*TEXTS, "привет"], WITHIN_WORD_L2R)
    assert len(table) == model.encoder.layers * 9 and set(table["layer"]) == set(range(model.encoder.layers))
    for _, rows in table[table["left_out"] == ""].groupby("layer"):
        by_rank = rows.sort_values("rank")
        assert by_rank["rank"].tolist() == list(range(1, 9)) and by_rank["log_likelihood"].is_monotonic_decreasing
    strange = table[table["candidate"] == "привет"]
    assert (strange["left_out"] == UNKNOWN).all() and strange["rank"].isna().all()
    for given, error in (
        (("no gap", TEXTS), PromptError),
        (("[MASK] is [MASK]", TEXTS), PromptError),
        (("It is [MASK]", ["paris"]), OptionError),
        (("It is [MASK]", TEXTS, "vocabulary"), OptionError),
        (("It is [MASK]", 3), OptionError),
    ):
        with pytest.raises(error):
            model.rank(*given)


def test_a_head_that_has_diverged_is_named(bert):
    parts = torch.nn.Linear(bert.hidden, bert.hidden), torch.nn.Identity(), torch.nn.LayerNorm(bert.hidden)
    broken = DecodingHead(*parts, torch.nn.Linear(bert.hidden, len(bert.tokenizer)))
    torch.nn.init.constant_(broken.norm.weight, float("nan"))
    with pytest.raises(ModelError, match="diverged"):
        rank_all(PROMPTS[0], TEXTS, Scorer(bert, [broken], [0], INDEPENDENT))


@pytest.mark.parametrize("architecture", candidate_oracles.ARCHITECTURES)
def test_the_last_layer_gives_what_lm_pub_quiz_and_minicons_give(architecture, encoder_of):
    encoder = encoder_of(architecture)
    rows = [row for row in json.loads(candidate_oracles.TABLE.read_text()) if row["architecture"] == architecture]
    assert {row["library"] for row in rows} == {"lm-pub-quiz", "minicons"} and max(row["tokens"] for row in rows) > 2
    answers = candidate_oracles.ANSWERS
    for prompt, kind in {(row["prompt"], row["measure"]) for row in rows}:
        cut, found = rank_all(prompt, answers, Scorer(encoder, [encoder.head], [encoder.depth], kind))
        for row in (row for row in rows if (row["prompt"], row["measure"]) == (prompt, kind)):
            number = answers.index(row["answer"])
            assert cut.lengths[number] == row["tokens"]
            assert found["log_likelihood"][0, number] == pytest.approx(row["value"], abs=1e-4), row
