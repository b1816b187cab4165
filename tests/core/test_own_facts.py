"""A user's own facts, as file or upload; whatever is wrong with them is named."""

import json
from pathlib import Path

import pytest

from probing.core.errors import FactsError
from probing.core.facts.custom import COLUMNS, NO_RELATION, own_facts, own_probe_set, read_own_facts
from probing.core.facts.fact import DUPLICATE, NO_ANSWER, NOT_ONE_MASK

PROMPT = "Rocky Balboa was born in [MASK]."
ROCKY = {"subject": "Rocky Balboa", "relation": "place of birth", "object": "Philadelphia", "prompt": PROMPT}
JSONL = json.dumps(ROCKY)
HEADER = ",".join(COLUMNS)
CSV = f"{HEADER}\nRocky Balboa,place of birth,Philadelphia,{PROMPT}\n"


def test_prompts_without_exactly_one_mask_and_duplicates_are_counted():
    rows = [
        ROCKY,
        ROCKY,
        {**ROCKY, "subject": "A", "prompt": "No gap."},
        {**ROCKY, "subject": "B", "prompt": "[MASK] [MASK]"},
    ]
    found = own_facts("\n".join(map(json.dumps, rows)), "my.jsonl")
    assert found.left_out == {DUPLICATE: 1, NOT_ONE_MASK: 2}
    assert found.n_read == 4 == len(found.facts) + 1 + 2


def test_the_name_of_the_set_is_ours_to_give_but_not_lamas():
    assert own_facts(JSONL, "my.jsonl", "questions").facts[0].probe_set == "questions"
    for name in ("trex", "google_re", "conceptnet", "squad", " "):
        with pytest.raises(FactsError, match="own facts cannot be called"):
            own_facts(JSONL, "my.jsonl", name)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("{", "my.jsonl", "my.jsonl, line 1: not JSON"),
        (
            '{"subject": "A"}',
            "my.jsonl",
            r"lines.: the columns are \['subject'\], and none is called object \(also answer",
        ),
        ('{"subject": "\\ud83d", "relation": "r", "object": "o", "prompt": "[MASK]"}', "my.jsonl", "half a character"),
        ("", "my.jsonl", "my.jsonl holds no facts"),
        (
            "subject;relation;object\nA;b;c\n",
            "my.csv",
            r"semicolons.: the columns are .* none is called prompt \(also .*; rename",
        ),
        ("One [MASK] two,Paris,Rome\n", "my.csv", "the columns are .* subject and relation are read if they are there"),
        ("subject,subject,relation,object,prompt\n", "my.csv", "the column 'subject' twice .*; expected it once"),
        (f"{HEADER}\nA,b,c,One, two [MASK]\n", "my.csv", "line 2: got 5 cells, expected 4 .* in double quotes"),
        (JSONL.encode() + b"\n\xe4", "my.jsonl", "line 2: byte 0xe4 is not UTF-8"),
        ("[" * 100_000, "my.jsonl", "line 1: not JSON"),
    ],
    ids=lambda value: None if len(value) < 60 else "long",
)
def test_what_is_wrong_is_named_with_its_line(content, name, message):
    with pytest.raises(FactsError, match=message):
        own_facts(content, name)


@pytest.mark.parametrize("cell", ["", " ", None])
def test_a_row_without_an_answer_is_left_out_and_the_others_are_read(cell):
    rows = [{**ROCKY, "object": cell}, {**ROCKY, "prompt": cell}, {**ROCKY, "subject": cell, "relation": cell}]
    found = own_facts("\n".join(map(json.dumps, rows)), "my.jsonl")
    assert found.left_out == {NO_ANSWER: 1, NOT_ONE_MASK: 1}
    assert [(fact.object, reason) for fact, reason in found.dropped] == [
        ("", NO_ANSWER),
        ("Philadelphia", NOT_ONE_MASK),
    ]
    assert [(fact.subject, fact.relation) for fact in found.facts] == [("", NO_RELATION)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Question;Answer\nRocky was born in ___.;Philadelphia\n", "semicolons; object = Answer, prompt = Question"),
        ("answer\tquestion\nPhiladelphia\tRocky, he was born in ___.\n", "tabs; object = answer, prompt = question"),
        (
            '{"question": "Rocky was born in [MASK].", "answer": "Philadelphia"}',
            "JSON lines; object = answer, prompt = question",
        ),
        ("Rocky, he was born in [MASK].;Philadelphia\n", "semicolons; prompt = column 1, object = column 2"),
        ("Philadelphia\tRocky was born in [MASK].\n", "tabs; prompt = column 2, object = column 1"),
        (
            "Rocky,facts,Philadelphia,Rocky was born in [MASK].\n",
            "commas; subject = column 1, relation = column 2, object = column 3",
        ),
    ],
)
def test_what_separates_cells_and_which_column_is_which_are_guessed_and_said(content, said):
    found = own_facts(content, "my.txt")
    assert said in found.said
    (fact,) = found.facts
    assert fact.object == "Philadelphia" and fact.prompt.endswith("born in [MASK].")
    assert (bool(fact.subject), fact.relation) == ("subject =" in said, "facts")


@pytest.mark.parametrize(
    "heads",
    [
        "Frage;Antwort;Subjekt;Beziehung",
        "question\tréponse\tsujet\tprédicat",
        "pregunta;respuesta;sujeto;relación",
        "QUESTION;re\u0301ponse;Sujet;relation",
    ],
)
def test_headings_may_be_german_french_or_spanish_with_accents_in_either_form(heads):
    sign = "\t" if "\t" in heads else ";"
    (fact,) = own_facts(f"{heads}\n" + sign.join((PROMPT, "Philadelphia", "Rocky Balboa", "birth")), "my.txt").facts
    assert (fact.prompt, fact.object, fact.subject, fact.relation) == (PROMPT, "Philadelphia", "Rocky Balboa", "birth")


def test_two_facts_without_a_subject_are_told_apart_by_their_prompts():
    found = own_facts("question;answer\nOne is [MASK].;red\nTwo is [MASK].;red\nTwo is [MASK].;red\n", "my.csv")
    assert len(found.facts) == 2 and found.left_out == {DUPLICATE: 1}
    assert [fact.about for fact in found.facts] == ["One is [MASK].", "Two is [MASK]."]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("capitals.csv", "capitals"),
        ("my facts (2).jsonl", "my-facts-2"),
        ("städte.csv", "städte"),
        ("trex.csv", "own-trex"),
        ("T-REx.jsonl", "T-REx"),
        ("own.csv", "own-own"),
        ("All.csv", "own-All"),
        ("....csv", "facts"),
        ("x" * 300 + ".csv", "x" * 60),
    ],
)
def test_a_probe_set_is_called_after_its_file_and_never_like_a_known_one(file, name):
    assert own_probe_set(Path(file)) == name


@pytest.mark.parametrize("name", ["", " ", "trex", "TREX", "own", "all", "questions", "a b", "<b>", "-x", "x" * 61])
def test_a_name_that_stands_for_other_facts_or_is_no_name_is_refused(name):
    with pytest.raises(FactsError, match="own facts cannot be called"):
        own_probe_set(Path("mine.csv"), name)
    assert own_probe_set(Path("trex.csv"), "mine") == "mine"


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FactsError, match="cannot read"):
        read_own_facts(tmp_path / "absent.csv")


def test_the_two_samples_hold_the_same_facts_and_leave_none_out(repo_root):
    one = read_own_facts(repo_root / "docs" / "sample_facts.jsonl")
    other = read_own_facts(repo_root / "docs" / "sample_facts.csv")
    assert one == other and one.said == other.said == ""
    assert (one.n_read, one.left_out) == (6, {})
    assert sum(fact.answer_in_subject for fact in one.facts) == 1
