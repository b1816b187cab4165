"""The shipped facts whose answers have several words: recounted from the triples, and which models are asked them."""

import json
import re
from collections import Counter, defaultdict

import pytest
from transformers import AutoTokenizer

from data.making.triples import MOST_ANSWERS, MOST_FACTS, inverse_facts, write_phrases
from probing.facts.askable import of_one_piece
from probing.facts.sources import read_facts
from probing.kernel.fact import MASK, PHRASES
from probing.kernel.files import FACTS_FOLDER
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.parquet import read_table

MODEL = REPOSITORY / "data" / "models" / "nesia-mini"


@pytest.fixture(scope="module")
def by_relation():
    """Wikidata's relation -> the facts that ask for its subjects."""
    from probing.kernel.fact import shipped_relations

    (found,) = read_facts(PHRASES, shipped_relations())
    facts = defaultdict(list)
    for fact in found.facts:
        facts[fact.relation.removesuffix("-inverse")].append(fact)
    return facts


@pytest.fixture(scope="module")
def triples():
    """Wikidata's relation -> its shipped (subject, object)."""
    rows = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in (FACTS_FOLDER / "lama/TREx").iterdir()}
    return {
        name: [(row["sub_label"], row["obj_label"]) for row in map(json.loads, lines)] for name, lines in rows.items()
    }


def test_a_clone_selects_the_same_facts_from_the_triples(ours, tmp_path):
    write_phrases(ours, tmp_path)
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert again == {path.name: path.read_bytes() for path in (FACTS_FOLDER / PHRASES).iterdir()}


def test_there_are_enough_facts_relations_and_candidates(by_relation):
    table = (FACTS_FOLDER / "README.md").read_text(encoding="utf-8")
    said = re.findall(r"^\| (P\d+)-inverse, .* \| (\d+) \| (\d+) \| (\d+) \|$", table, re.MULTILINE)
    assert sum(map(len, by_relation.values())) >= 300
    for relation, facts in by_relation.items():
        counts = len(facts), len({fact.subject for fact in facts}), len({fact.object for fact in facts})
        assert (relation, *map(str, counts)) in said
        assert 30 <= counts[0] <= 80 and counts[2] >= 15, relation
        asked = {(fact.subject.casefold(), fact.object.casefold()) for fact in facts}
        assert len(asked) == len(facts), f"{relation} has a fact twice, to a model without capital letters"


def test_every_fact_is_a_triple_of_trex_whose_names_the_base_has_read_together(by_relation, triples):
    rows = read_table(MODEL / "exposure-nesia-mini.parquet", "exposure").to_pylist()
    exposure = {row["fact_key"]: row["exposure"] for row in rows}
    for relation, facts in by_relation.items():
        for fact in facts:
            assert (fact.object, fact.subject) in triples[relation]
            assert exposure[f"{relation}\t{fact.object}\t{fact.subject}"] in ("stated", "evidence", "well known")


def test_an_answer_has_two_to_four_words_and_is_not_told_by_its_prompt(by_relation):
    for fact in (fact for facts in by_relation.values() for fact in facts):
        assert 2 <= len(fact.object.split(" ")) <= 4
        assert all(letter.isalpha() or letter in " -'’" for letter in fact.object), fact.object
        assert fact.subject.casefold() not in fact.object.casefold()
        first, second = re.findall(r"\w+", fact.object.casefold()), re.findall(r"\w+", fact.subject.casefold())
        assert not [(a, b) for a in first for b in second if a.startswith(b[:3])]


def test_each_recorded_right_answer_among_the_candidates_is_a_fact_of_its_question(by_relation, triples):
    for relation, facts in by_relation.items():
        answers, questions = {fact.object for fact in facts}, {fact.subject for fact in facts}
        right = {(question, answer) for answer, question in triples[relation] if answer in answers}
        assert {pair for pair in right if pair[0] in questions} == {(fact.subject, fact.object) for fact in facts}
        recorded = Counter(question for _, question in triples[relation])
        assert max(recorded[question] for question in questions) <= MOST_ANSWERS


def test_no_piece_is_unknown_to_the_base_and_its_vocabularys_p_at_k_leaves_all_out(ours):
    (found,) = read_facts(PHRASES, ours)
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    filled = [fact.prompt.replace(MASK, fact.object) for fact in found.facts]
    assert not [text for text in filled if tokenizer.unk_token_id in tokenizer(text)["input_ids"]]
    assert found.facts and not of_one_piece(found.facts, "nesia-mini")


def test_no_text_that_the_base_was_trained_on_is_asked_the_other_way_round(ours):
    def words(template):
        return " ".join(["", *re.findall(r"[^\W_]+", template.casefold()), ""])

    turned = str.maketrans("XY", "YX")
    stated = [words(text.translate(turned)) for relation in ours.values() for text in relation.training]
    asked = [words(text) for one in ours.values() if one.probe_set == PHRASES for text in one.templates.values()]
    assert len(asked) == 20
    assert not [(text, other) for text in asked for other in stated if text in other or other in text]


def test_planted_triples_are_chosen_by_the_rules():
    good = [("Old Bridge Road", "Ulm"), ("Jean-Luc d'Arc", "Ulm"), ("Blue Hall", "Rome")]
    bad = {
        "one word": [("Bridge", "Ulm")],
        "five words": [("A B C D E", "Ulm")],
        "a digit": [("Terminal 2", "Ulm")],
        "punctuation": [("St. John", "Ulm")],
        "told by the prompt": [("Roman Forum", "Rome"), ("Scottish Parliament", "Scotland"), ("Banan District", "Ba")],
        "told by another prompt": [("Parisian Tower", "Ulm"), ("Parisian Tower", "Paris")],
        "not read": [("Green Hall", "Rome")],
        "read for one question only": [("Red Hall", "Rome"), ("Red Hall", "Oslo")],
        "too many answers": [(f"Hall {letter}", "Bonn") for letter in "abcdef"],
    }
    triples = [*good, *(pair for pairs in bad.values() for pair in pairs)]
    read = {*triples} - {*bad["not read"], ("Red Hall", "Oslo")}
    # Ulm has more answers than are asked, as long as those that are none are counted.
    assert set(inverse_facts("P0", triples, read)) == {("Rome", "Blue Hall")}
    fewer = [pair for pair in triples if pair not in (*bad["one word"], *bad["five words"], *bad["a digit"])]
    assert set(inverse_facts("P0", fewer, read)) == {(question, answer) for answer, question in good}


def test_a_relation_takes_whole_questions_up_to_its_most_facts():
    letters = "abcdefghijklmnopqrstuvwxyz"
    triples = [(f"Hall {first}{second}", f"Town-{first}") for first in letters for second in "abc"]
    found = inverse_facts("P0", triples, set(triples))
    assert MOST_FACTS - 3 < len(found) <= MOST_FACTS
    assert set(Counter(subject for subject, _ in found).values()) == {3}
    assert found == inverse_facts("P0", triples, set(triples))
