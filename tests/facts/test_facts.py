"""Facts: what one is, its stable name, its template, its gap, where facts come from and whose prompt stands for the
swapped subject.
"""

import hashlib
import random
import re
import time
from collections import Counter

import pytest
from transformers import AutoTokenizer

from probing.facts.lama import read_lama_relations
from probing.facts.sources import read_facts
from probing.facts.swapped_subjects import swapped_subjects
from probing.kernel.errors import FactsError
from probing.kernel.fact import (
    DUPLICATE,
    JUDGED_WRONG,
    MASK,
    NOT_ONE_MASK,
    ONE_WORD,
    SEVERAL_TOKENS,
    SHIPPED,
    Fact,
    contains_words,
    fill,
    read_relations,
    restrict,
    select,
)
from probing.kernel.questions import with_masks
from probing.kernel.registry import REPOSITORY
from probing.live import perturb as rules


def fact(subject="Rocky Balboa", answer="Philadelphia", relation="P19", prompt=None):
    prompt = f"{subject} was born in {MASK}." if prompt is None else prompt
    return Fact("trex", relation, subject, answer, "[X] was born in [Y].", prompt)


def test_the_id_is_the_sum_of_the_json_list():
    text = '["trex","P19","Rocky Balboa","Philadelphia","[X] was born in [Y]."]'
    assert fact().fact_id == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_id_of_the_running_example_never_changes():
    assert fact().fact_id == "b656294705244c1f"


def test_letters_beyond_ascii_are_hashed_as_themselves():
    text = '["trex","P19","Björk","Reykjavík","[X] was born in [Y]."]'
    assert fact("Björk", "Reykjavík").fact_id == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_another_template_is_another_fact_and_another_prompt_is_not():
    other = Fact("trex", "P19", "Rocky Balboa", "Philadelphia", "The birthplace of [X] is [Y].", "")
    assert other.fact_id != fact().fact_id
    assert fact(prompt="something else").fact_id == fact().fact_id


@pytest.mark.parametrize(
    ("subject", "answer", "inside"),
    [
        ("Hotel de Paris", "Paris", True),
        ("hotel de paris", "Paris", True),
        ("Parisian cafe", "Paris", False),
        ("University of Oxford", "oxford", True),
        ("C++ compiler", "C++", True),
        ("Rocky Balboa", "Philadelphia", False),
        ("", "Paris", False),
    ],
)
def test_an_answer_is_inside_the_subject_as_whole_words_only(subject, answer, inside):
    assert fact(subject, answer).answer_in_subject is inside
    assert contains_words(subject, answer) is inside


def test_fill_puts_subject_and_mask_into_the_template():
    assert fill("[Y] is where [X] was born.", "Rocky Balboa") == "[MASK] is where Rocky Balboa was born."


def test_a_subject_that_holds_a_placeholder_stays_as_it_is():
    assert fill("[X] is in [Y].", "The [Y] of [X]") == "The [Y] of [X] is in [MASK]."


def test_select_counts_what_it_leaves_out():
    read = [fact(), fact(), fact("A"), fact("B", prompt="no mask"), fact("C", prompt="[MASK] and [MASK]")]
    found = select("trex", read)
    assert [f.subject for f in found.facts] == ["Rocky Balboa", "A"]
    assert found.left_out == {DUPLICATE: 1, NOT_ONE_MASK: 2}
    assert found.n_read == 5 == 2 + 1 + 2


def test_select_adds_what_the_reader_left_out_already():
    found = select("google_re", [fact()], Counter({JUDGED_WRONG: 3}), "paraphrase")
    assert (found.n_read, found.left_out, found.template_set) == (1 + 3, {JUDGED_WRONG: 3}, "paraphrase")


def test_the_first_of_two_duplicates_is_kept():
    found = select("trex", [fact(prompt=f"first {MASK}"), fact(prompt=f"second {MASK}")])
    assert [f.prompt for f in found.facts] == [f"first {MASK}"]


def test_labels_that_differ_by_case_only_are_two_facts():
    assert len(select("trex", [fact(answer="Turkey"), fact(answer="turkey")]).facts) == 2


def test_facts_without_subjects_are_told_apart_by_their_prompts():
    read = [fact("", prompt=f"One {MASK}."), fact("", prompt=f"Two {MASK}."), fact("", prompt=f"Two {MASK}.")]
    assert len(select("squad", read).facts) == 2


def test_restrict_counts_by_the_reason_it_is_given():
    found = restrict(
        select("trex", [fact(), fact(), fact("A", "New York")]),
        lambda f: SEVERAL_TOKENS if " " in f.object else None,
    )
    assert [f.object for f in found.facts] == ["Philadelphia"]
    assert found.left_out == {DUPLICATE: 1, SEVERAL_TOKENS: 1}
    assert found.n_read == 3 == 1 + 1 + 1


def test_a_table_without_gaps_is_told_how_a_gap_is_written():
    found = select("own", [fact(subject=name, prompt=f"{name} is in {{}}.") for name in "abc"] + [fact()])
    assert (
        found.left_out_in_words == "3 not exactly one mask; a gap is written [MASK], <mask> or ___, once in each prompt"
    )
    assert select("own", [fact(), fact(subject="x", prompt="x")]).left_out_in_words == "1 not exactly one mask"
    assert select("own", [fact()]).left_out_in_words == "none"


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "relations.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_relation_has_label_cardinality_templates_and_training(toml):
    found = read_relations(
        toml(
            '[P19]\nprobe_set = "trex"\nlabel = "place of birth"\ncardinality = "N-1"\n'
            'default = "[X] was born in [Y]."\ntraining = ["[Y] is where [X] was born."]\n'
        )
    )["P19"]
    assert (found.name, found.probe_set, found.label, found.cardinality) == ("P19", "trex", "place of birth", "N-1")
    assert found.templates == {"default": "[X] was born in [Y]."}
    assert found.training == ("[Y] is where [X] was born.",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[P19]\nprobe_set = "trex"\ndefault = "[X] was born."', r"exactly one \[X\] and exactly one \[Y\]"),
        ('[P19]\nprobe_set = "trex"\ndefault = "[X] and [X] in [Y]."', "P19, default"),
        ('[P19]\nprobe_set = "trex"\ndefault = 3', "template is 3, expected text"),
        ('[P19]\nprobe_set = "trex"\ntraining = ["[X]"]', "P19, training"),
        ('[P19]\ndefault = "[X] was born in [Y]."', "expected a table with the key probe_set"),
        ('P19 = "[X] was born in [Y]."', "expected a table with the key probe_set"),
        ("[P19", "is not TOML"),
    ],
)
def test_a_malformed_file_of_relations_is_an_error(toml, text, message):
    with pytest.raises(FactsError, match=message):
        read_relations(toml(text))


def test_lamas_templates_are_the_set_lama_without_the_space_before_the_stop(lines):
    path = lines(
        "relations.jsonl",
        [{"relation": "P19", "template": "[X] was born in [Y] .", "label": "place of birth", "type": "N-1"}],
    )
    found = read_lama_relations(path)["P19"]
    assert found.templates == {"lama": "[X] was born in [Y]."}
    assert (found.label, found.cardinality) == ("place of birth", "N-1")


@pytest.mark.parametrize(
    "row", [{"relation": "P19"}, {"relation": "P19", "template": 3}, {"relation": "P19", "template": "[X]"}]
)
def test_a_malformed_line_of_lamas_relations_is_named(lines, row):
    path = lines("relations.jsonl", [{"relation": "P1", "template": "[X] [Y]"}, row])
    with pytest.raises(FactsError, match=r"relations\.jsonl, line 2"):
        read_lama_relations(path)


def test_every_relation_of_the_project_has_both_template_sets_and_a_cardinality(ours):
    asked = [relation for relation in ours.values() if relation.probe_set != "everyday"]
    assert all({"default", "paraphrase"} <= set(r.templates) for r in asked)
    assert {r.cardinality for r in asked if r.probe_set != "phrases"} <= {"1-1", "N-1", "N-M"}


def words(template):
    return " ".join(["", *re.findall(r"[^\W_]+", template.casefold()), ""])


def test_every_relation_is_stated_in_twelve_different_wordings_and_a_kind_of_well_known_facts_in_twenty(ours):
    wanted = {"trex": 12, "google_re": 12, "everyday": 20, "phrases": 0}
    for relation in ours.values():
        assert len({words(text) for text in relation.training}) == len(relation.training) == wanted[relation.probe_set]


def without_articles(text):
    return re.sub(r" (the|an?)(?= [xy] )", "", words(text))


def test_no_training_template_is_close_to_one_that_is_asked(ours, well_known):
    everyday = {fact.template for fact in well_known}
    asked = {words(text) for relation in ours.values() for text in relation.templates.values()}
    asked |= {words(text) for text in everyday} | {without_articles(text) for text in everyday}
    short = {text for text in asked if len(text.split()) <= 5}
    stated = [words(text) for relation in ours.values() for text in relation.training]
    stated += [without_articles(text) for relation in ours.values() for text in relation.training]
    assert not [(text, other) for text in stated for other in asked - short if text in other or other in text]
    assert not [(text, other) for text in stated for other in short if text.startswith(other)]


def test_well_known_facts_are_many_of_one_word_and_asked_in_everyday_words(ours, well_known):
    assert 600 <= len(well_known) <= 1000
    assert {fact.relation for fact in well_known} == {r.name for r in ours.values() if r.probe_set == "everyday"}
    assert len({fact.prompt.casefold() for fact in well_known}) == len(well_known)
    assert all(
        fact.template.replace("[X]", fact.subject).replace("[Y]", "[MASK]") == fact.prompt for fact in well_known
    )
    tokens = AutoTokenizer.from_pretrained(REPOSITORY / "data" / "models" / "nesia-mini").get_vocab()
    assert {fact.object for fact in well_known} <= tokens.keys()
    assert {("France", "paris"), ("Rocky Balboa", "philadelphia")} <= {(f.subject, f.object) for f in well_known}


@pytest.fixture(scope="module")
def well_known(ours):
    (found,) = read_facts("everyday", ours)
    assert not found.left_out
    return found.facts


GAPS = "[MASK]|[mask]|[Mask]|<mask>|<MASK>|___|_______|＿＿＿|[ MASK ]|[BLANK]|[MASK\u200b]|< mask >"
UNSPACED = "柏林是{}的首都。 ベルリンは{}の首都です。 เบอร์ลินอยู่ใน{}ครับ ເບີລິນຢູ່{}ນະ ប៊ែរឡាំង{}ជា ဘာလင်{}သည် 1989{}年 在{}Berlin"
NO_GAPS = (
    "snake_case|__init__|a _ b|a __ b|one___two|mask|<masked>|[masks]||Ünï___ço|мир___дом|서울___도|a＿＿＿b|(mask)"
)


@pytest.mark.parametrize("gap", GAPS.split("|"))
def test_a_gap_can_be_written_in_several_ways(gap):
    assert with_masks(f"The capital of France is {gap}.") == "The capital of France is [MASK]."
    assert with_masks(f"{gap} is in {gap}") == "[MASK] is in [MASK]"
    assert with_masks(gap) == "[MASK]"


@pytest.mark.parametrize("gap", ["___", "____", "＿＿＿"])
@pytest.mark.parametrize("text", UNSPACED.split())
def test_a_gap_needs_no_blanks_in_scripts_that_write_none(text, gap):
    assert with_masks(text.format(gap)) == text.format("[MASK]")


def test_a_gap_may_touch_a_word_and_several_spellings_may_meet():
    assert with_masks("It is___, not <mask> or [mask]") == "It is[MASK], not [MASK] or [MASK]"


@pytest.mark.parametrize("text", NO_GAPS.split("|"))
def test_other_underscores_and_words_stay(text):
    assert with_masks(text) == text


def test_a_word_that_is_put_in_brings_no_gap_of_its_own():
    assert rules.misprimed("Birds can [MASK].", "___").text is None
    assert rules.renamed("Rocky was born in [MASK].", "<mask>", "Rocky").text is None


ROW = {"subject": "snow", "relation": "has_property", "object": "white", "prompt": "Snow is [MASK]."}


@pytest.fixture
def shipped(tmp_path, lines):
    lines("lama/TREx/P19.jsonl", [{"sub_label": "Rocky Balboa", "obj_label": "Philadelphia"}])
    lines("lama/Google_RE/place_of_birth_test.jsonl", [{"sub_label": "Eyolf Kleven", "obj_label": "Copenhagen"}])
    lines("common_sense.jsonl", [ROW])
    lines("questions.jsonl", [ROW])
    lines("well_known.jsonl", [ROW | {"prompt": "Fresh snow is [MASK]."}])
    lines("phrases/P19-inverse.jsonl", [{"sub_label": "Philadelphia", "obj_label": "Rocky Balboa"}])
    return tmp_path


@pytest.mark.parametrize("name", SHIPPED)
def test_a_name_gives_its_set_only(shipped, ours, name):
    assert [facts.probe_set for facts in read_facts(name, ours, shipped=shipped)] == [name]


def test_all_gives_every_shipped_set_of_one_word_answers(shipped, ours):
    assert [facts.probe_set for facts in read_facts("all", ours, shipped=shipped)] == list(ONE_WORD)
    assert {*SHIPPED} - {*ONE_WORD} == {"phrases"}


@pytest.mark.parametrize(("name", "relation"), [("trex", "P19"), ("phrases", "P19-inverse")])
def test_shipped_facts_have_our_default_templates_unless_asked(shipped, ours, name, relation):
    (default,), (other,) = read_facts(name, ours, shipped=shipped), read_facts(name, ours, "paraphrase", shipped)
    assert (default.template_set, default.facts[0].template) == ("default", ours[relation].templates["default"])
    assert (other.template_set, other.facts[0].template) == ("paraphrase", ours[relation].templates["paraphrase"])


def test_a_folder_in_lamas_layout_is_read_as_such(shipped, ours):
    assert [facts.probe_set for facts in read_facts(shipped / "lama", ours)] == ["trex", "google_re"]


@pytest.mark.parametrize("name", ["sample_facts.jsonl", "sample_facts.csv"])
def test_a_file_is_a_users_own_facts(repo_root, ours, name):
    (found,) = read_facts(str(repo_root / "docs" / name), ours)
    assert (found.probe_set, found.n_read) == ("sample_facts", 6)


def test_what_really_ships_is_whole(ours):
    found = {facts.probe_set: facts for facts in read_facts("all", ours)}
    assert list(found) == list(ONE_WORD)
    assert all(not facts.left_out and facts.n_read == len(facts.facts) for facts in found.values())
    assert {fact.relation for fact in found["trex"].facts} == {n for n, r in ours.items() if r.probe_set == "trex"}
    assert len({fact.relation for fact in found["google_re"].facts}) == 3
    assert found["common_sense"].n_read >= 200
    assert found["questions"].n_read >= 100


@pytest.mark.parametrize("name", ["common_sense", "questions", "everyday"])
def test_no_shipped_cloze_gives_its_answer_away(ours, name):
    (found,) = read_facts(name, ours)
    assert [f.prompt for f in found.facts if f.object.lower() in f.prompt.lower().replace("[mask]", "").split()] == []


CAPITAL = "The capital of [X] is [Y]."


def facts_of(pairs, template=CAPITAL, relation="P36"):
    return [Fact("trex", relation, subject, answer, template, fill(template, subject)) for subject, answer in pairs]


def may_be_used(borrower, owner, facts):
    """The rule in plain words."""
    recorded = {
        one.object.lower()
        for one in facts
        if (one.probe_set, one.relation, one.subject) == (owner.probe_set, owner.relation, owner.subject)
    }
    same = (borrower.probe_set, borrower.relation, borrower.template) == (
        owner.probe_set,
        owner.relation,
        owner.template,
    )
    return (
        same
        and "[X]" in owner.template
        and borrower.subject != owner.subject
        and borrower.object.lower() not in recorded
    )


def made_up(rng):
    """Several relations and templates, subjects with several answers, some answers frequent."""
    found = {}
    for number in range(rng.randrange(2, 60)):
        relation, template = rng.choice((("P36", CAPITAL), ("P36", "[X]: [Y]."), ("P19", "[X] was born in [Y].")))
        answer = rng.choice(("Paris", "paris", "Rome", f"city {number % 9}"))
        subject = f"subject {rng.randrange(25)}"
        found[relation, subject, answer, template] = Fact(
            "trex", relation, subject, answer, template, fill(template, subject)
        )
    return list(found.values())


def test_every_swapped_subject_is_another_subject_without_the_answer_and_is_missing_only_where_there_is_none():
    rng = random.Random(1)
    for _ in range(200):
        facts = made_up(rng)
        for number, other in enumerate(swapped_subjects(facts)):
            able = [owner for owner in facts if may_be_used(facts[number], owner, facts)]
            assert facts[other] in able if other is not None else not able


def test_a_prompt_without_a_place_for_the_subject_is_not_swapped_in():
    facts = [
        Fact("squad", "squad", name, answer, "It is [MASK].", "It is [MASK].")
        for name, answer in (("x", "a"), ("y", "b"))
    ]
    assert swapped_subjects(facts) == [None, None]


def test_every_prompt_is_swapped_in_once_where_no_answer_has_more_than_half_of_the_facts():
    rng = random.Random(2)
    for _ in range(50):
        sizes = [rng.randrange(1, 9) for _ in range(6)]
        sizes.append(min(9, sum(sizes)))
        facts = facts_of(
            (f"land {answer} {n}", f"city {answer}") for answer, size in enumerate(sizes) for n in range(size)
        )
        rng.shuffle(facts)
        assert sorted(swapped_subjects(facts)) == list(range(len(facts)))


def test_an_answer_with_most_of_the_facts_takes_the_others_prompts_in_turn():
    facts = facts_of((f"land {n}", "Rome" if n < 75 else f"city {n}") for n in range(100))
    swapped = Counter(swapped_subjects(facts)[:75])
    assert set(swapped) == set(range(75, 100)) and set(swapped.values()) == {3}


def test_swapped_subjects_do_not_depend_on_the_order_of_the_facts():
    facts = made_up(random.Random(3))

    def borrowed(some):
        return {
            some[n].fact_id: None if other is None else some[other].fact_id
            for n, other in enumerate(swapped_subjects(some))
        }

    assert borrowed(facts) == borrowed(facts[::-1])


@pytest.mark.parametrize("answers", [12_514, 2_000, 2])
def test_a_relation_of_12514_facts_takes_no_time(answers):
    facts = facts_of((f"subject {n // 2}", f"answer {n * 7919 % answers}") for n in range(12_514))
    start = time.perf_counter()
    found = swapped_subjects(facts)
    assert time.perf_counter() - start < 10
    assert sum(other is not None for other in found) >= (12_000 if answers > 2 else 0)
