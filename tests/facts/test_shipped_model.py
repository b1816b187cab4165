"""The text that the shipped model is trained on, and the conditions under which it is a fit demonstration."""

import gzip
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from data.making.pretrain import words_to_hold
from data.making.quality import (
    LayerCounts,
    conditions,
    conditions_of_base,
    contrast,
    contrasts,
    standardised_difference,
    subject_points,
)
from probing.facts.corpus import (
    PairIndex,
    Sentence,
    exposures,
    fact_key,
    google_re_evidence,
    held_out_pairs,
    hold_out,
    merge,
    pair,
    share_of,
    stated_facts,
    training_text,
    trex_evidence,
)
from probing.kernel.errors import FactsError
from probing.kernel.fact import EXPOSURES, Fact, Relation, contains_words, fill
from probing.kernel.stats.intervals import RelationCounts
from probing.kernel.text import wikitext_sentences

BORN = Relation(
    "P19",
    "trex",
    "place of birth",
    "N-1",
    {"default": "[X] was born in [Y]."},
    ("[X] is a native of [Y].", "[Y] saw [X]'s birth."),
)


def fact(subject, answer, relation="P19"):
    return Fact("trex", relation, subject, answer, "[X] was born in [Y].", fill("[X] was born in [Y].", subject))


#: 600 facts: about twelve are held out, and about half of the others stated.
ROCKY = fact("Rocky Balboa", "Philadelphia")
MANY = [fact(f"Person{n}", f"City{n % 37}") for n in range(600)]


def text(*sentences):
    return [Sentence(sentence, (), "wikitext") for sentence in sentences]


def write_lines(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture()
def lama(tmp_path):
    """A LAMA folder in which every one of the facts has an evidence sentence, and each place is also named alone."""
    rows = [
        {
            "sub_label": one.subject,
            "obj_label": one.object,
            "evidences": [
                {"obj_surface": one.object, "masked_sentence": f"{one.subject} came from [MASK] in winter ."}
            ],
        }
        for one in MANY[::2]
    ]
    write_lines(tmp_path / "lama" / "TREx" / "P19.jsonl", *rows)
    return tmp_path / "lama"


@pytest.fixture()
def wikitext(tmp_path):
    path = tmp_path / "wiki.tokens"
    path.write_text(" = Heading = \n \n City1 is a large town . Person1 lives in City1 now .\n", encoding="utf-8")
    return path


def test_wikitext_gives_sentences_without_headings_marks_and_unknown_words(tmp_path):
    path = tmp_path / "wiki"
    path.write_text(
        " = Title = \n\n A well @-@ known town of 1 @,@ 000 souls . It has a <unk> in it . Short one .\n",
        encoding="utf-8",
    )
    assert list(wikitext_sentences(path)) == ["A well-known town of 1,000 souls ."]


def test_wikitext_cut_inside_a_letter_is_still_read(tmp_path):
    path = tmp_path / "wiki"
    path.write_bytes("A town in the caf\u00e9".encode()[:-1])
    assert len(list(wikitext_sentences(path))) == 1


def test_plain_text_is_cut_at_sentence_ends_and_what_is_left_out_is_counted(tmp_path, caplog):
    path = tmp_path / "plain.txt"
    path.write_text(f"Chapter 1\n{'The cat sees us. Why does it? ' * 10}\n{'word ' * 65}\n", encoding="utf-8")
    assert list(wikitext_sentences(path)) == ["The cat sees us."] * 10
    assert "sentences left out: 11 of fewer than 4 words, 1 of more than 64" in caplog.text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Ein Käse liegt im Haus\n".encode("latin-1"), "line 1: byte 0xe4 is not UTF-8"),
        ("A cat is in it\n".encode("utf-16-le"), "seems to be UTF-16"),
        (gzip.compress(b"A cat is in it\n", mtime=0), "is compressed with gzip; unpack it"),
        (b'{"text": "A cat is in it"}\n', "is JSON, HTML or a table"),
        (b'id,"text"\n1,"A cat, it is in it"\n', "is JSON, HTML or a table"),
        (b"\n<!doctype html>\n<p>A cat is in it</p>\n", "is JSON, HTML or a table"),
    ],
)
def test_what_is_no_text_is_refused_by_name(content, why, tmp_path):
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(FactsError, match=f"text.txt.*{why}"):
        list(wikitext_sentences(tmp_path / "text.txt"))


def test_evidence_has_its_answer_back_and_is_at_most_four_a_fact(tmp_path):
    evidence = [{"obj_surface": "Paris", "masked_sentence": f"It is [MASK] number {n} ."} for n in range(6)]
    long = {"obj_surface": "Paris", "masked_sentence": "word " * 70 + "[MASK]"}
    write_lines(tmp_path / "P19.jsonl", {"evidences": [long, *evidence]}, {"sub_label": "no evidence"})
    found = list(trex_evidence(tmp_path))
    assert [s.text for s in found] == [f"It is Paris number {n} ." for n in range(4)]
    assert {s.answers for s in found} == {("Paris",)} and {s.pairs for s in found} == {()}


def test_google_res_considered_sentences_are_evidence_for_their_object(tmp_path):
    row = {"obj_label": "Rome", "evidences": [{"considered_sentences": ["He was born in Rome .", "He died ."]}]}
    write_lines(tmp_path / "place_of_birth_test.jsonl", row)
    found = list(google_re_evidence(tmp_path))
    assert [(s.text, s.answers) for s in found] == [("He was born in Rome .", ("Rome",)), ("He died .", ("Rome",))]


def test_a_sentence_that_is_evidence_twice_is_kept_once_with_both_answers():
    one, two = Sentence("a b", ("a",), "evidence"), Sentence("a b", ("b",), "evidence")
    assert merge([one, two, one]) == [Sentence("a b", ("a", "b"), "evidence")]


def test_shares_depend_on_salt_and_key_only_and_are_even():
    shares = [share_of("x", str(n)) for n in range(2000)]
    assert shares[7] == share_of("x", "7") != share_of("y", "7")
    assert min(shares) >= 0 and max(shares) < 1
    assert sum(shares) / 2000 == pytest.approx(0.5, abs=0.03)


def test_about_two_per_cent_are_held_out_and_half_of_the_rest_stated():
    held = held_out_pairs(MANY)
    assert 4 <= len(held) <= 24
    stated = {fact_key(one) for one, _ in stated_facts(MANY, {"P19": BORN}, held)}
    assert len(stated) / (600 - len(held)) == pytest.approx(0.5, abs=0.08)
    assert not stated & {fact_key(one) for one in MANY if pair(one) in held}


def test_stated_facts_are_said_in_every_training_template_with_the_object_as_answer():
    one, sentences = MANY[0], list(stated_facts(MANY, {"P19": BORN}, set()))
    keys = [fact_key(found) for found, _ in sentences]
    assert all(keys.count(key) == len(BORN.training) for key in keys)
    for found, sentence in sentences:
        assert sentence.answers == (found.object,) and sentence.source == "stated"
        assert found.subject in sentence.text and found.object in sentence.text
    assert not list(stated_facts([one], {}, set())), "relations without training templates are never stated"


def test_further_facts_are_stated_whatever_their_hash_unless_they_are_held_out():
    held = held_out_pairs(MANY)
    unstated = next(one for one in MANY if share_of("stated", fact_key(one)) >= 0.5 and pair(one) not in held)
    assert unstated not in [found for found, _ in stated_facts(MANY, {"P19": BORN}, held)]
    assert unstated in [found for found, _ in stated_facts(MANY, {"P19": BORN}, held, [unstated])]
    assert not list(stated_facts([], {"P19": BORN}, {pair(unstated)}, [unstated]))


def test_pairs_are_found_as_whole_words_whatever_case_and_punctuation():
    index = PairIndex(["PARIS, in France!", "Parish in France.", "New  York is big", "York is new in France"])
    assert index.sentences("paris", "france") == [0]
    assert index.sentences("new york", "big") == [2]
    assert index.sentences("nowhere", "france") == index.sentences("", "") == []


def test_held_out_pairs_are_in_no_sentence_that_is_left():
    sentences = text(
        "Rocky comes from Philadelphia .", "philadelphia loves ROCKY !", "Rocky runs .", "Philadelphia is big ."
    )
    left = hold_out(sentences, {("rocky", "philadelphia")})
    assert [s.text for s in left] == ["Rocky runs .", "Philadelphia is big ."]


def schliemann(tmp_path):
    """A LAMA folder whose evidence names a held-out fact, and one that is not, in another form."""
    held = next(one for one in MANY if pair(one) in held_out_pairs(MANY))
    free = next(one for one in MANY if pair(one) not in held_out_pairs(MANY))
    rows = [
        {
            "sub_label": one.subject,
            "obj_label": one.object,
            "evidences": [{"obj_surface": "that town", "masked_sentence": f"The poet {number} grew up in [MASK] ."}],
        }
        for number, one in enumerate((held, free))
    ]
    write_lines(tmp_path / "forms" / "TREx" / "P19.jsonl", *rows)
    return tmp_path / "forms", held


def test_a_held_out_facts_own_evidence_is_dropped_in_whatever_form_it_names_the_fact(tmp_path, wikitext):
    lama, held = schliemann(tmp_path)
    found = training_text(lama, wikitext, MANY, {"P19": BORN})
    assert [s.text for s in found.text if s.source == "evidence"] == ["The poet 1 grew up in that town ."]
    assert found.exposure[fact_key(held)] == "held out"
    assert "held out in part" not in found.exposure.values()


def test_a_sentence_that_is_evidence_for_two_facts_is_dropped_for_either():
    both = merge(
        [
            Sentence("It is so .", ("a",), "evidence", (("x", "a"),)),
            Sentence("It is so .", ("b",), "evidence", (("y", "b"),)),
        ]
    )
    assert both == [Sentence("It is so .", ("a", "b"), "evidence", (("x", "a"), ("y", "b")))]
    assert hold_out(both, {("y", "b")}) == []


def test_exposures_are_held_out_before_stated_before_evidence_before_unseen():
    facts = [fact("Ann", "Rome"), fact("Ben", "Rome"), fact("Cid", "Rome"), fact("Dan", "Rome"), fact("Eve", "Rome")]
    sentences = [
        *text("Ann saw Rome .", "Ben saw Rome .", "Cid saw Rome .", "Dan runs ."),
        Sentence("She came home .", ("home",), "evidence", (pair(facts[4]),)),
    ]
    facts.append(fact("The Forum", "Rome"))
    stated, held = {fact_key(facts[0]), fact_key(facts[1])}, {pair(facts[0]), pair(facts[4]), pair(facts[5])}
    found = exposures(facts, sentences, stated, held, {("forum", "rome")})
    names = ["held out", "stated", "evidence", "unseen", "held out in part", "well known"]
    assert [found[fact_key(one)] for one in facts] == names
    assert set(found.values()) == set(EXPOSURES)


def test_held_out_facts_are_in_no_sentence(lama, wikitext):
    found = training_text(lama, wikitext, MANY, {"P19": BORN})
    held = [one for one in MANY if pair(one) in held_out_pairs(MANY)]
    assert held and len(found.text) > 200 and len(found.stated) > 200
    for one in held:
        assert found.exposure[fact_key(one)] == "held out"
        for sentence in (*found.text, *found.stated):
            assert not (contains_words(sentence.text, one.subject) and contains_words(sentence.text, one.object))


def test_exposure_says_what_the_text_holds(lama, wikitext):
    found = training_text(lama, wikitext, MANY, {"P19": BORN})
    assert set(found.exposure) == {fact_key(one) for one in [*MANY, ROCKY]}
    assert found.exposure[fact_key(ROCKY)] == "stated", "the running example is always stated"
    assert set(found.exposure.values()) == set(EXPOSURES) - {"held out in part", "well known"}
    said = [f" {s.text} " for s in found.stated]
    for one in MANY:
        assert (found.exposure[fact_key(one)] == "stated") == any(
            contains_words(s, one.subject) and contains_words(s, one.object) for s in said
        )


ORIGIN = Relation("origin", "everyday", "origin", "", {}, ("You meet [X] in [Y].", "[Y] is home to [X]."))


def everyday(subject, answer, template="The [X] is from the [Y]."):
    return Fact("everyday", "origin", subject, answer, template, fill(template, subject))


def test_a_well_known_pair_is_stated_in_every_relation_and_direction_and_in_no_group(lama, wikitext):
    held = next(one for one in MANY if pair(one) in held_out_pairs(MANY))
    turned = next(
        one for one in MANY if share_of("stated", fact_key(one)) >= 0.5 and pair(one) not in held_out_pairs(MANY)
    )
    listed = [everyday(held.subject, held.object), everyday(turned.object, f"The {turned.subject}")]
    found = training_text(lama, wikitext, [*MANY, *listed], {"P19": BORN, "origin": ORIGIN})
    assert {key for key, kind in found.exposure.items() if kind == "well known"} == {
        fact_key(one) for one in (held, turned, *listed)
    }
    texts = [sentence.text for sentence in found.well_known]
    assert len(texts) == len(set(texts)) == 4 * 2 and not {*texts} & {sentence.text for sentence in found.stated}
    assert f"You meet the {held.subject} in the {held.object}." in texts
    assert f"{turned.subject} is a native of {turned.object}." in texts
    other = training_text(lama, wikitext, MANY, {"P19": BORN})
    assert {one.text for one in found.stated} == {one.text for one in other.stated}


@pytest.mark.parametrize(
    ("template", "wording", "message"),
    [
        ("[X] is from [Y].", "[X] is from [Y].", "are everyday questions with their answers"),
        ("[X] is from [Y].", "[X] is from [Y], like {}.", "give a held-out fact away"),
    ],
)
def test_a_text_with_a_bad_statement_of_a_well_known_fact_is_not_made(lama, wikitext, template, wording, message):
    held = next(one for one in MANY if pair(one) in held_out_pairs(MANY))
    origin = replace(ORIGIN, training=(wording.format(f"{held.subject} and {held.object}"),))
    with pytest.raises(FactsError, match=message):
        training_text(lama, wikitext, [*MANY, everyday("Ann", "rome", template)], {"P19": BORN, "origin": origin})


def test_statements_have_the_articles_of_the_question():
    relations = {"origin": ORIGIN}
    for template, wanted in (
        ("The [X] is from the [Y].", "You meet the Ann in the rome."),
        ("[X] was a famous [Y].", "You meet Ann in a rome."),
        ("[X] is located in South [Y].", "You meet Ann in south rome."),
    ):
        assert next(stated_facts([], relations, set(), [everyday("Ann", "rome", template)]))[1].text == wanted
    first = stated_facts([], relations, set(), [everyday("Ann", "artist", "[X] was a [Y].")])
    assert [sentence.text for _, sentence in first] == ["You meet Ann in an artist.", "An artist is home to Ann."]


def test_training_text_is_the_same_every_time(lama, wikitext):
    assert training_text(lama, wikitext, MANY, {"P19": BORN}) == training_text(lama, wikitext, MANY, {"P19": BORN})


def test_words_to_hold_are_frequent_one_word_answers_without_accents():
    sentences = text(*["Orléans is a town and Paris too ."] * 5, *["Rome is rare ."] * 4, *["New York is big ."] * 9)
    facts = [fact("a", answer) for answer in ("Orléans", "Paris", "Rome", "New York", "St.")]
    assert words_to_hold(facts, sentences) == ["orleans", "paris", "philadelphia"]


def counts(relation="P1", n=100, hits_1=40, hits_10=60, answer_hits=50, majority_hits=20, other_1=10):
    return LayerCounts(relation, n, hits_1, hits_10, answer_hits, majority_hits, n, other_1)


def test_the_standardised_difference_gives_every_relation_the_weight_it_has_among_the_second_facts():
    seen = [RelationCounts("easy", 900, 720), RelationCounts("hard", 100, 20), RelationCounts("unpaired", 50, 50)]
    held = [RelationCounts("easy", 10, 7), RelationCounts("hard", 30, 3), RelationCounts("empty", 0, 0)]
    value, low, high = standardised_difference(seen, held)
    assert value == pytest.approx((10 * (0.8 - 0.7) + 30 * (0.2 - 0.1)) / 40)
    assert -1 < low < value < high < 1
    assert standardised_difference(seen, [RelationCounts("other", 9, 1)]) is None


def test_the_interval_of_a_standardised_difference_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(3)
    easy, n_seen, n_held = random.uniform(0.05, 0.6, 20), random.integers(50, 900, 20), random.integers(4, 40, 20)
    truth, held_truth = easy + 0.05, easy
    hits = 0
    for _ in range(300):
        seen = [
            RelationCounts(str(r), int(n), int(random.binomial(n, p)))
            for r, (n, p) in enumerate(zip(n_seen, truth, strict=True))
        ]
        held = [
            RelationCounts(str(r), int(n), int(random.binomial(n, p)))
            for r, (n, p) in enumerate(zip(n_held, held_truth, strict=True))
        ]
        _, low, high = standardised_difference(seen, held, draws=400)
        hits += low <= 0.05 <= high
    assert 0.91 <= hits / 300 <= 0.99


def test_stated_and_evidence_are_set_against_held_out_facts_one_by_one_and_by_relation():
    # Pooled, seen facts are known more often: most are of the easy relation. Within each relation evidence makes no
    # difference.
    stated = [counts("easy", 400, 320), counts("hard", 400, 120)]
    evidence = [counts("easy", 900, 630), counts("hard", 100, 20)]
    held = [counts("easy", 100, 70), counts("hard", 400, 80)]
    of_stated, of_evidence = contrasts({"stated": stated, "evidence": evidence, "held out": held})
    assert of_stated.value == pytest.approx(0.1) and of_stated.shown
    assert of_evidence.value == pytest.approx(0) and not of_evidence.shown and "not shown" in str(of_evidence)
    assert conditions({8: stated}, by_layer(stated=stated, evidence=evidence, held_out=held))[4].holds
    unmoved = conditions({8: stated}, by_layer(stated=held, evidence=stated, held_out=held))[4]
    assert not unmoved.holds, "the condition rests on stated facts, which were chosen by hash"


def test_facts_held_out_in_part_are_counted_apart_and_together():
    stated, whole, part = [counts("P1", 200, 80)], [counts("P1", 100, 20)], [counts("P1", 50, 25), counts("P2", 10, 5)]
    found = contrasts({"stated": stated, "evidence": [], "held out": whole, "held out in part": part})
    assert [(one.exposure, one.held, one.n_held) for one in found] == [
        ("stated", "held out", 100),
        ("evidence", "held out", 100),
        ("stated", "held out whole or in part", 160),
        ("evidence", "held out whole or in part", 160),
    ]
    assert found[0].value == pytest.approx(0.4 - 0.2) and found[2].value == pytest.approx(0.4 - 45 / 150)
    assert "no relation has facts of both kinds" in str(found[1])


def by_layer(**parts):
    """Exposure -> layer -> counts, the same at layers 0 to 8."""
    return {name.replace("_", " "): dict.fromkeys(range(9), rows) for name, rows in parts.items()}


KNOWN = [counts(f"P{number}", hits_1=60) for number in range(15)]
HELD = [counts("P1", n=100, hits_1=5)]


def test_all_conditions_hold_for_a_model_that_knows_what_it_was_told_at_inner_layers_too():
    found = conditions(dict.fromkeys(range(9), KNOWN), by_layer(stated=KNOWN, held_out=HELD))
    assert [condition.holds for condition in found] == [True] * 5
    assert [re.search(r"layer (\d)", condition.name)[1] for condition in found] == ["8", "6", "4", "8", "8"]
    assert found[0].measured.startswith("60.0 - 10.0 = 50.0 points, 95 % interval 4")
    assert found[3].measured.startswith("60.0 - 20.0 = 40.0 points")
    assert found[4].measured.startswith("stated minus held out: 55.0 points")


@pytest.mark.parametrize(
    ("failing", "layers", "stated", "held"),
    [
        (0, {}, {8: [counts(f"P{n}", hits_1=49) for n in range(15)]}, HELD),
        (1, {}, {6: [counts(f"P{n}", hits_1=34) for n in range(15)]}, HELD),
        (2, {}, {4: [counts(f"P{n}", hits_1=24) for n in range(15)]}, HELD),
        (3, {8: [counts(f"P{n}", hits_1=27) for n in range(15)]}, {}, HELD),
        (4, {}, {}, [counts("P1", hits_1=60)]),
    ],
)
def test_each_condition_fails_by_itself(failing, layers, stated, held):
    every = dict.fromkeys(range(9), KNOWN)
    found = conditions({**every, **layers}, {"stated": {**every, **stated}, "held out": dict.fromkeys(range(9), held)})
    assert [number for number, condition in enumerate(found) if not condition.holds] == [failing]


def test_a_model_whose_swapped_subject_is_not_measured_does_not_pass():
    unmeasured = [replace(counts(), other_n=0, other_1=0)]
    first, *_ = conditions({8: unmeasured}, by_layer(stated=unmeasured))
    assert not first.holds and "not measured" in first.measured


def test_the_points_over_the_swapped_subject_have_an_interval_that_holds_the_truth():
    random = np.random.default_rng(5)
    own, swapped, sizes = random.uniform(0.1, 0.7, 20), random.uniform(0.0, 0.1, 20), random.integers(40, 600, 20)
    hits = 0
    for _ in range(200):
        drawn = zip(
            sizes.tolist(), random.binomial(sizes, own).tolist(), random.binomial(sizes, swapped).tolist(), strict=True
        )
        found = subject_points([counts(f"P{r}", n=n, hits_1=a, other_1=b) for r, (n, a, b) in enumerate(drawn)])
        hits += found.low <= (own - swapped).mean() <= found.high
    assert 0.91 <= hits / 200 <= 1


def test_a_model_without_held_out_facts_does_not_pass():
    assert not conditions({8: [counts()]}, by_layer(stated=[counts()]))[4].holds
    assert contrast("stated", [counts()], []).value is None


def test_a_base_is_judged_by_everyday_questions_and_by_each_relation():
    everyday = [counts("capital", 90, 80, other_1=9), counts("born", 10, 5, other_1=1)]
    stated = [counts("P1", 100, 95, other_1=70), counts("P2", 100, 70, other_1=55), counts("P47", 100, 1, other_1=0)]
    good, above, over_relations, each = conditions_of_base(everyday, stated, {"P47": (0.6, 0.3)})
    assert good.holds and good.measured == "85.0 % of 100"
    assert above.holds and above.measured == "85.0 - 10.0 = 75.0 points"
    assert over_relations.holds and over_relations.measured == "82.5 over 2", "P47 has several right answers a question"
    assert not each.holds and each.measured == "2 of 3; not in P2 15.0"
    assert not conditions_of_base([counts(hits_1=84)], stated[:1], {})[0].holds
