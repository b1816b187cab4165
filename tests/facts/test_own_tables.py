"""Tables of facts that users bring: every form gives the same rows, no row is swallowed, and what is wrong is named."""

import bz2
import csv
import gzip
import io
import json
import lzma
import pickle
from pathlib import Path

import pandas as pd
import pyarrow
import pytest
from pyarrow import ipc

from probing.facts.sources import COLUMNS, NO_RELATION, own_facts, own_probe_set, read_own_facts
from probing.kernel import user_tables as tables
from probing.kernel.errors import FactsError
from probing.kernel.fact import DUPLICATE, NO_ANSWER, NOT_FILLED, NOT_ONE_MASK

FRAME = pd.DataFrame(
    {
        "subject": ["Ada", "Hamlet", "Rome"],
        "relation": ["birth", "author", ""],
        "object": ["London", "Shakespeare", "Italy"],
        "prompt": [
            "Ada, a writer, was born in [MASK].",
            '"Hamlet" was written by [MASK].',
            'Rome; the "eternal" city; is in [MASK].',
        ],
    }
)


def asked(given, name="my.csv"):
    """Subject, relation, object and prompt of every fact; an empty relation is ``facts``."""
    return [(one.subject, one.relation, one.object, one.prompt) for one in own_facts(given, name).facts]


EXPECTED = [("Ada", "birth"), ("Hamlet", "author"), ("Rome", "facts")]
EXPECTED = [
    (*one, *rest)
    for one, rest in zip(EXPECTED, FRAME[["object", "prompt"]].itertuples(index=False, name=None), strict=True)
]


def parquet() -> bytes:
    """The table as a Parquet file."""
    stream = io.BytesIO()
    FRAME.to_parquet(stream)
    return stream.getvalue()


def arrow(writer) -> bytes:
    """The table as a file or stream of Arrow."""
    stream, table = io.BytesIO(), pyarrow.Table.from_pandas(FRAME)
    with writer(stream, table.schema) as out:
        out.write_table(table)
    return stream.getvalue()


def viewer() -> dict:
    """The table as huggingface's viewer gives it."""
    rows = [{"row_idx": n, "row": row, "truncated_cells": []} for n, row in enumerate(FRAME.to_dict("records"))]
    return {"features": [{"feature_idx": 0, "name": "subject", "type": {}}], "rows": rows, "num_rows_total": 3}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (FRAME.to_csv(index=False), "a.csv"),
        (FRAME.to_csv(index=False, sep="|"), "a.txt"),
        (FRAME.to_csv(index=False, doublequote=False, escapechar="\\"), "a.csv"),
        ("# mine, of 2026\n\n" + FRAME.to_csv(index=False), "a.csv"),
        ("#separator:tab\n#html:false\n" + FRAME.to_csv(sep="\t", index=False), "a.txt"),
        ("#" + FRAME.to_csv(index=False), "a.csv"),
        ("My facts;;;\n" + FRAME.to_csv(sep=";", index=False), "a.csv"),
        (FRAME.to_json(orient="split"), "a.json"),
        (FRAME.to_json(orient="table", index=False), "a.json"),
        (FRAME.to_json(orient="index"), "a.json"),
        (FRAME.to_json(orient="values"), "a.json"),
        (json.dumps([list(FRAME), *FRAME.to_numpy().tolist()]), "a.json"),
        (json.dumps({"version": "1.0", "data": FRAME.to_dict("records"), "authors": ["A", "B"]}), "a.json"),
        (json.dumps({"train": FRAME.to_dict("records")[:2], "test": FRAME.to_dict("records")[2:]}), "a.json"),
        (json.dumps({"data": {"train": FRAME.to_dict("records")}}), "a.json"),
        (json.dumps(viewer()), "a.json"),
        (FRAME.to_csv(index=False).encode("utf-8-sig"), "a.txt"),
        (FRAME.to_csv(index=False).encode("utf-16"), "a.csv"),
        (FRAME.to_csv(sep="\t"), "with an index.tsv"),
        (FRAME.to_csv(sep="\t", index=False, quoting=csv.QUOTE_ALL), "a.csv"),
        (FRAME.to_csv(sep=";", index=False, lineterminator="\r\n"), "a.csv"),
        (FRAME.to_csv(sep=";", index=False, lineterminator="\r").encode(), "a.csv"),
        (FRAME.to_csv(sep="\t", index=False, quoting=csv.QUOTE_NONE, quotechar="'"), "a.tsv"),
        ("sep=|\r\n" + FRAME.to_csv(sep="|", index=False, lineterminator="\r\n"), "a.csv"),
        (FRAME.to_csv(index=False) + "\x1a", "a.csv"),
        (FRAME.to_csv(index=False).replace(',"', ', "'), "a.csv"),
        (FRAME.to_json(orient="records"), "a.json"),
        (FRAME.to_json(orient="records", indent=1), "a.txt"),
        (FRAME.to_json(orient="records", lines=True), "a.json"),
        (FRAME.to_json(orient="records", lines=True).replace("\n", "\r").encode(), "a.jsonl"),
        (FRAME.to_json(), "a.json"),
        (json.dumps(FRAME.to_dict("list")), "a.json"),
        (json.dumps({"data": FRAME.to_dict("records")}), "a.json"),
        (parquet(), "a.parquet"),
        (FRAME, "frame"),
        (FRAME.set_index("subject"), "with a named index"),
        (FRAME.astype({"subject": "category", "object": "string"}), "frame"),
        (pyarrow.Table.from_pandas(FRAME), "arrow"),
        (FRAME.to_dict("records"), "rows"),
        (FRAME.to_dict("list"), "columns"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else type(value).__name__,
)
def test_every_form_of_a_table_gives_the_same_facts(given, name):
    assert asked(given, name) == EXPECTED


@pytest.mark.parametrize(
    ("lines", "prompts"),
    [
        # A title in quotation marks, and one whose mark is closed two rows later: the first reader swallowed what is
        # between.
        (
            ['"Emma" is by [MASK].\tAusten', "Ada was born in [MASK].\tLondon"],
            ['"Emma" is by [MASK].', "Ada was born in [MASK]."],
        ),
        (
            ['"Emma is by [MASK].\tAusten', "I know [MASK].\tx", 'Ada was "born" in [MASK]."\tLondon'],
            ['"Emma is by [MASK].', "I know [MASK].", 'Ada was "born" in [MASK]."'],
        ),
        (
            ['"Emma is by [MASK].\tAusten', "", "short", 'Ada is in [MASK]."\tLondon'],
            ['"Emma is by [MASK].', 'Ada is in [MASK]."'],
        ),
        (['5" wide is [MASK].\tx', 'A "b" is [MASK].\ty'], ['5" wide is [MASK].', 'A "b" is [MASK].']),
    ],
)
def test_a_quotation_mark_that_is_text_swallows_no_row(lines, prompts):
    found = own_facts("\n".join(["prompt\tobject", *lines]), "my.tsv")
    assert [fact.prompt for fact in found.facts] == prompts
    assert found.n_read == sum(map(bool, lines))
    assert ("quotation marks are text, as in line 2" in found.said) == lines[0].startswith('"')


def test_one_bad_record_is_left_out_counted_and_named():
    good = {"prompt": "Ada is in [MASK].", "object": "London"}
    bad = [{**good, "object": ["x", True]}, {**good, "prompt": True}, {**good, "object": "\ud83d"}, 3]
    lines = "\n".join(map(json.dumps, [good, *bad]))
    for given, name in ((json.dumps([good, *bad]), "a.json"), (lines, "a.jsonl"), ([good, *bad], "rows")):
        found = own_facts(given, name)
        assert (found.n_read, len(found.facts), found.left_out) == (6, 2, {"malformed": 4})
        for what in (
            "2: 'object' is True; expected one text",
            "3: 'prompt' is True",
            "4: 'object' contains",
            "5: got int",
        ):
            assert what in found.said
    found = own_facts("prompt,object\nAda, a writer, is in [MASK].,x\nAda is in [MASK].,London\n", "a.csv")
    assert (found.n_read, found.left_out) == (2, {"malformed": 1}) and "line 2: got 4 cells, expected 2" in found.said


def test_lines_are_counted_by_another_than_what_parts_them(monkeypatch):
    parted = tables._quoted
    monkeypatch.setattr(tables, "_quoted", lambda text, sign: list(parted(text, sign))[:-1])
    with pytest.raises(FactsError, match="1 of 2 lines are in rows"):
        own_facts("prompt,object\nAda is in [MASK].,London", "a.csv")


def test_a_row_of_several_lines_is_one_row_and_named():
    text = 'prompt,object\n"Ada, a writer\nis in [MASK].",London\n\n"Rome, they say, is in [MASK].",Italy\n'
    found = own_facts(text, "a.csv")
    assert [fact.prompt for fact in found.facts] == ["Ada, a writer\nis in [MASK].", "Rome, they say, is in [MASK]."]
    assert "rows of several lines: 1 (line 2: 2 lines)" in found.said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'prompt,object\n"Emma is by [MASK].,Austen\nAda is in [MASK].",London\n',
            "line 2: a cell begins .* the next lines are rows as well",
        ),
        (
            'prompt,object\n"Emma" is by [MASK].,Austen\n"Ada, a writer, is [MASK].",x\n',
            "line 2: a cell begins .* line 3 has not 2 cells if it is text",
        ),
        (
            "prompt,object\nAda, a writer, is [MASK].,x\n",
            "line 2: got 4 cells, expected 2 .*; put a cell that holds one of the commas in double",
        ),
        (gzip.compress(b"prompt,object", mtime=0), "compressed with gzip; unpack it"),
        (b"PK\x03\x04rest", "spreadsheet workbook .* export the sheet as CSV"),
        (
            "prompt,object\nÉmile is [MASK].,x".encode("cp1252"),
            r"line 2: byte 0xc9 is not UTF-8 \(.* Windows-1252 .*\); save it as UTF-8",
        ),
        ("prompt,object\n".encode("utf-16-le"), "UTF-16 without a byte order mark; save it as UTF-8"),
        (parquet()[:99], "cannot be read as Parquet"),
        ("[1, 2]", "row 1: got int, expected a JSON object"),
        ('[{"prompt": true, "object": "x"}]', "row 1: 'prompt' is True; expected one text or number"),
        ('{"prompt": ["[MASK]", 2], "answers": "x"}', r"line 1: 'prompt' is \['\[MASK\]', 2\]; expected one text"),
        ('[\n{"prompt": "[MASK]", "object": "x"},\n]', "line 3: not JSON .* without a comma before a closing bracket"),
        ('{\n "data": [\n  {"prompt": "[MASK]", "object": "x"},\n ]\n}', "line 4: not JSON"),
        (FRAME.to_csv().encode("utf-32"), "is UTF-32; save it as UTF-8"),
        (FRAME.to_csv().encode("utf-32-le"), "seems to be UTF-32 without"),
        (bz2.compress(b"prompt,object"), "compressed with bzip2; unpack it"),
        (lzma.compress(b"prompt,object"), "compressed with xz; unpack it"),
        (pickle.dumps(["x"]), "is a pickle of Python, which is not opened; write it as Parquet or CSV"),
        (arrow(ipc.new_file), "is an Arrow or Feather file; write it as Parquet or CSV"),
        (arrow(ipc.new_stream), "is a stream of Arrow, as huggingface's save_to_disk writes it; write it"),
        (b"<!DOCTYPE html><html>", "is a web page; download the file itself"),
    ],
    ids=range(21),
)
def test_what_can_be_read_in_two_ways_or_in_none_is_refused_with_its_line_and_a_way_out(text, said):
    with pytest.raises(FactsError, match=said):
        own_facts(text, "my.json" if str(text)[0] in "[{" else "my.csv")


def test_missing_cells_at_the_end_are_empty_and_surplus_empty_ones_are_dropped():
    text = (
        "prompt,object,subject,relation\nAda was born in [MASK].,London,Ada,birth,,\nParis is the capital of"
        " [MASK].,France\n"
    )
    assert asked(text) == [
        ("Ada", "birth", "London", "Ada was born in [MASK]."),
        ("", "facts", "France", "Paris is the capital of [MASK]."),
    ]
    assert "rows with fewer cells than the first, the others empty: 1" in own_facts(text, "my.csv").said


def test_the_keys_of_all_rows_count_and_a_missing_one_is_an_empty_cell():
    rows = [
        {"object": "x", "prompt": "A [MASK]"},
        {"subject": "s", "relation": "r", "object": "y", "prompt": "B [MASK]"},
    ]
    for order in (rows, rows[::-1]):
        found = asked("\n".join(map(json.dumps, order)), "my.jsonl")
        assert sorted(found) == [("", "facts", "x", "A [MASK]"), ("s", "r", "y", "B [MASK]")]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "question,answer,cloze\nWhere?,London,Ada was born in [MASK].",
            "object = answer, prompt = cloze; no subject, relation; not used: question",
        ),
        (
            "sentence,answer,mine\nAda was born in London.,London,Ada was born in [MASK].",
            "prompt = mine; no subject, relation; not used: sentence",
        ),
        (
            "prompt,answer,cloze\nIn [MASK].,London,Ada was born in [MASK].",
            "prompt = prompt; no subject, relation; not used: cloze",
        ),
        (",object,prompt,\n0,London,In [MASK].,then", "no subject, relation; not used: column 4"),
        ('"Cloze (with [MASK])",Answer\nIn [MASK].,London', "object = Answer, prompt = Cloze (with [MASK])"),
        (
            "masked sentence;expected;predicate_id;subj\nIn [MASK].;London;P19;Ada",
            "relation = predicate_id, object = expected",
        ),
        (
            "maskedSentence;obj;prop;sub\nIn [MASK].;London;P19;Ada",
            "subject = sub, relation = prop, object = obj, prompt = maskedSentence",
        ),
        (
            '{"masked_sentences": ["In [MASK]."], "obj_label": "London", "pred": "P19"}',
            "relation = pred, object = obj_label",
        ),
    ],
)
def test_the_prompt_is_the_column_with_the_gap_and_what_was_used_or_not_is_said(text, columns):
    found = own_facts(text, "my.txt")
    assert columns in found.said
    assert [(fact.object, fact.prompt.count("[MASK]")) for fact in found.facts] == [("London", 1)]


def test_control_characters_become_blanks_and_are_counted():
    found = own_facts(b"prompt,object\nA\x08b is [MASK].,Lon\x00don\n", "my.csv")
    assert [(fact.object, fact.prompt) for fact in found.facts] == [("Lon don", "A b is [MASK].")]
    assert "control characters read as blanks: 2" in found.said


def test_what_pandas_makes_of_a_file_gives_the_same_facts_as_the_file():
    text = (
        "subject,object,prompt\nApollo 11,1969,It landed in [MASK].\n,1912,It sank in [MASK].\nNo one,,It was [MASK].\n"
    )
    found, read = own_facts(text, "my.csv"), own_facts(pd.read_csv(io.StringIO(text)), "table")
    assert found.facts == read.facts and found.left_out == read.left_out == {"no answer": 1}
    assert [fact.object for fact in read.facts] == ["1969", "1912"]
    again = pd.read_csv(io.StringIO(text)).to_csv(index=False)
    assert "1969.0" in again and own_facts(again, "my.csv").facts == found.facts


def test_several_prompts_of_a_fact_are_asked_and_counted():
    text = (
        "subject,relation,object,prompt\nAda,birth,London,Ada was born in [MASK].\nAda,birth,London,Ada is from"
        " [MASK].\n"
    )
    found = own_facts(text + text.splitlines()[1], "my.csv")
    assert len({fact.fact_id for fact in found.facts}) == 2 and found.left_out == {"duplicate": 1}
    assert found.said == "2 prompts of 1 fact"


def test_lines_above_the_headings_and_escapes_are_said_and_a_last_backslash_is_no_escape():
    text = '# mine\nprompt,object\n"A \\"b\\", c [MASK].",x\n"D is [MASK].",y\n'
    found = own_facts(text, "my.csv")
    assert [fact.prompt for fact in found.facts] == ['A "b", c [MASK].', "D is [MASK]."]
    assert "not read: 1 (# mine)" in found.said and r"\" is read as a quotation mark" in found.said
    found = own_facts('prompt,object\n"In C:\\ is [MASK].","x\\"\n', "my.csv")
    assert [(fact.prompt, fact.object) for fact in found.facts] == [("In C:\\ is [MASK].", "x\\")]


def table(**columns) -> pd.DataFrame:
    """Four cities with prompts, and further or other columns."""
    cities = {"Rome": "Italy", "Oslo": "Norway", "Lima": "Peru", "Bern": "Switzerland"}
    prompts = [f"{city} is in [MASK]." for city in cities]
    return pd.DataFrame({"subject": list(cities), "object": list(cities.values()), "prompt": prompts} | columns)


@pytest.mark.parametrize(
    "prompt",
    ["[X] is in [MASK].", "[X] is in [Y].", "{} is in ___.", "{subject} is in {object}.", "<subject> is in <mask>."],
)
@pytest.mark.parametrize("heading", ["prompt", "template"])
def test_the_subject_is_filled_into_a_prompt_or_the_fact_is_left_out(prompt, heading):
    frame = table(prompt=prompt).rename(columns={"prompt": heading})
    found = own_facts(frame.assign(subject=["Rome", "Oslo", "Lima", None]), "my table")
    assert [fact.prompt for fact in found.facts] == ["Rome is in [MASK].", "Oslo is in [MASK].", "Lima is in [MASK]."]
    assert {fact.template for fact in found.facts} == {"[X] is in [Y]."} and found.left_out == {NOT_FILLED: 1}
    assert own_facts(frame.drop(columns="subject"), "my table").left_out[NOT_FILLED] == 4


def test_a_place_of_no_known_name_is_not_asked_and_brackets_beside_the_subject_are_text():
    prompts = [
        "{city} is in [MASK].",
        "[SUB] is in [OBJ].",
        "<head> of Lima: {} is in [MASK].",
        "Bern (Paris): [MASK].",
    ]
    found = own_facts(table(prompt=prompts, object=["Italy", "Norway", "Peru", "Paris"]), "my table")
    assert [fact.prompt for fact in found.facts] == ["Oslo is in [MASK].", *prompts[2:]]
    assert found.left_out == {NOT_FILLED: 1} and "prompts that hold their answer: 1 (Bern (Paris)" in found.said


@pytest.mark.parametrize("empty", ["[]", "nan", "None", "N/A", [], [None]])
def test_a_text_for_nothing_is_no_answer(empty):
    assert own_facts(table(object=["Italy", "Norway", "Peru", empty]), "my table").left_out == {NO_ANSWER: 1}


def test_equal_prompts_of_different_subjects_are_named():
    said = own_facts(table(prompt="It is in [MASK]."), "my table").said
    assert "prompts that are equal for different subjects: 1 (It is in [MASK].)" in said
    assert "equal" not in own_facts(table(), "my table").said


@pytest.mark.parametrize(
    "answers",
    [
        [["Italy", "Italia"], ["Norway"], ["Peru", "Perú"], "Switzerland"],
        ['["Italy", "Italia"]', "Norway", "['Peru', 'Per\\u00fa']", "('Switzerland',)"],
        ["['Italy' 'Italia']", "['Norway']", "['Peru'\n 'Perú']", "Switzerland"],
        ["Italy|Italia", "Norway", "Peru|Perú", "Switzerland|"],
        ["Italy; Italia", "Norway", "Peru;Perú", "Switzerland;"],
        ["[Italy, Italia]", "[Norway]", "Peru\nPerú", "Switzerland"],
        [[{"name": "Italy", "id": "Q38"}, {"name": "Italia"}], {"text": ["Norway"]}, ["Peru", "Perú"], "Switzerland"],
    ],
)
def test_several_right_answers_of_a_question_are_facts_and_no_rivals_of_each_other(answers):
    found = own_facts(table(object=answers), "my table")
    assert [fact.object for fact in found.facts] == ["Italy", "Italia", "Norway", "Peru", "Perú", "Switzerland"]
    assert found.n_read == 6 and "6 right answers of 4 questions" in found.said
    among, right = found.candidates
    assert right["facts", "Rome is in [MASK]."] == {"Italy", "Italia"} and len(among["facts"]) == 6


def test_a_sign_in_few_answers_parts_none_and_is_said():
    found = own_facts(table(object=["Italy; or Rome", "Norway", "Peru", "Switzerland"]), "my table")
    assert len(found.facts) == 4 and "answers that are read as one: 1 with ';'" in found.said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"object": ["Q38", "Q20", "Q419", "Q39"], "objectLabel": list(table()["object"])}, "object = objectLabel"),
        ({"object": ["http://x.org/Q38"] * 4, "tail_label": list(table()["object"])}, "object = tail_label"),
        ({"object": [4, 8, 15, 16], "answer": list(table()["object"])}, "object = answer"),
        ({"subject": ["Q1", "Q2", "Q3", "Q4"], "itemLabel": list(table()["subject"])}, "subject = itemLabel"),
        ({"relation": "P17", "relation_name": "country"}, "relation = relation_name"),
        ({"relation_id": "P17"}, "relation = relation_id"),
        ({"label": "country"}, "object = object"),
    ],
)
def test_of_several_columns_for_one_of_ours_the_one_with_words_is_taken_and_said(more, said):
    found = own_facts(table(**more), "my table")
    assert said in found.said
    assert [(fact.subject, fact.object) for fact in found.facts] == list(
        table()[["subject", "object"]].itertuples(index=False, name=None)
    )


@pytest.mark.parametrize("right", ["ground_truth", "gold_answer", "target_true", "obj_surface", "ans", "valueLabel"])
@pytest.mark.parametrize("wrong", ["target", "label", "expected"])
def test_the_right_answer_has_more_names_and_comes_before_an_edit_and_a_label(right, wrong):
    frame = table().rename(columns={"object": right}).assign(**{wrong: "false"})
    assert own_facts(frame[[wrong, *frame.columns[:-1]]], "my table").facts[0].object == "Italy"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (["place"] * 4, "are equal: 4"),
        (["place"] * 3 + ["Rome"], "are equal: 3"),
        ([0, 1, 1, "Rome"], "are 0 and 1: 3"),
        (["Q1", "Q2", "Q3", "Rome"], "are ids: 3"),
        (["/c/en/italy", "/m/05b4w", "dbr:Peru", "Rome"], "are ids: 3"),
        ([*list("ABC"), "Rome"], "are single letters or digits: 3"),
        (["(A)", "b.", 2, "Rome"], "are single letters or digits: 3"),
        *(
            ([sign.format(name) for name in ("Rome", "Oslo", "Lima")] + ["Bern"], "have signs around them: 3")
            for sign in ("{}[1]", "{} (b)", "{}.", "“{}”", "'{}'", "'{}", "A) {}", "(2) {}", "- {}", "({})")
        ),
        (["Rome", "Oslo", "Lima, Peru", "Rome, Italy"], "are read as one: 2 with ','"),
        *((some, "") for some in (["U.S.", "U.K.", "U.A.E.", "Rome"], ["Rome.", "Oslo", "Lima", "Bern"])),
        *((some, "") for some in ([1815, 1066, 1492, 1], ["red", "red", "blue", "green"], ["C++", "-5", "$7", "5%"])),
    ],
)
def test_most_answers_that_look_like_none_are_questioned(answers, why):
    said = own_facts(table(object=answers), "my table").said
    assert f"answers that {why}" in said if why else "answers" not in said


@pytest.mark.parametrize("nothing", [r"\N", "#REF!", "#N/A", "-", "nan", "None"])
@pytest.mark.parametrize("column", ["subject", "relation", "object"])
def test_a_text_for_nothing_is_an_empty_cell_in_every_column(column, nothing):
    frame = table(relation=list("abcd"))
    given = own_facts(frame.replace({column: {frame[column][3]: nothing}}).to_csv(index=False), "my.csv")
    empty = own_facts(frame.replace({column: {frame[column][3]: ""}}).to_csv(index=False), "my.csv")
    assert given == empty and given.said == empty.said
    assert given.left_out == {NO_ANSWER: 1} if column == "object" else f"rows without a {column}: 1" in given.said


@pytest.mark.parametrize(
    ("asked", "prompt"),
    [
        *((True, prompt) for prompt in ("%s is in [MASK].", "{0} is in ___.", "{ 0 } is in [Y].")),
        *(
            (False, prompt)
            for prompt in ("%s of %s is in [MASK].", "{0} of {1} is in [MASK].", "{head} of {}: [MASK].")
        ),
        *((False, prompt) for prompt in ("%(city)s is in [MASK].", "$city is in [MASK].", "{city_1} is in [MASK].")),
        *((False, prompt) for prompt in ("[X] [is;X=Sing|are;X=Plur] in [Y].", "[X.Nom] is in [MASK].")),
    ],
)
def test_a_place_is_the_subjects_if_it_is_the_only_one_and_else_not_filled(asked, prompt):
    found = own_facts(table(prompt=prompt), "my table")
    assert [fact.prompt for fact in found.facts] == [fact.prompt for fact in own_facts(table(), "t").facts] * asked
    assert found.left_out == ({} if asked else {NOT_FILLED: 4})
    if asked:
        assert own_facts(table(prompt=prompt).drop(columns="subject"), "my table").left_out == {NOT_FILLED: 4}


@pytest.mark.parametrize(
    ("keys", "relations"),
    [(("capital", "developer"), ["capital", "developer"]), (("train_1", "validation"), [NO_RELATION] * 2)],
)
def test_keys_of_json_that_are_no_parts_are_relations(keys, relations):
    rows = table().to_dict("records")
    found = own_facts(json.dumps(dict(zip(keys, (rows[:1], rows[1:2]), strict=True))), "my.json")
    assert [fact.relation for fact in found.facts] == relations
    assert ("relation = split" in found.said) == (relations[0] == keys[0])


@pytest.mark.parametrize("line", ["|---|:-:|--:|", "----+----+----", "--- | --- | ---"])
def test_the_line_below_the_headings_of_a_table_in_text_is_no_fact(line):
    rows = [line, *(f"| {' | '.join(row)} |" for row in table().itertuples(index=False))]
    assert own_facts("\n".join(["| subject | object | prompt |", *rows]), "my.txt").n_read == 4


def test_a_relation_that_is_given_once_for_a_group_is_that_of_its_rows_and_others_are_counted():
    found = own_facts(table(relation=["country", "", None, "state"]).to_csv(index=False), "my.csv")
    assert [fact.relation for fact in found.facts] == ["country", "country", "country", "state"]
    assert "rows that have the relation above them: 2" in found.said
    for cells in (["", "a", "", ""], ["a", "", "", "a"], ["a", "b", "c", ""]):
        found = own_facts(table(relation=cells), "my table")
        assert [fact.relation for fact in found.facts] == [cell or NO_RELATION for cell in cells]
        assert f"rows without a relation: {cells.count('')}" in found.said


def test_a_subject_that_is_given_once_is_that_of_the_rows_whose_prompts_have_it():
    prompts = ["Rome is in [MASK].", "Rome speaks [MASK].", "Oslo is in [MASK].", "Oslo speaks [MASK]."]
    frame = table(prompt=prompts, subject=["Rome", "", "Oslo", ""])
    assert [fact.subject for fact in own_facts(frame, "my table").facts] == ["Rome", "Rome", "Oslo", "Oslo"]
    for other in ("Lima speaks [MASK].", "Oslonians speak [MASK]."):
        frame["prompt"] = [*prompts[:3], other]
        assert [fact.subject for fact in own_facts(frame, "my table").facts] == ["Rome", "", "Oslo", ""]


def test_numbers_of_a_text_file_that_lose_their_point_and_zero_are_said():
    found = own_facts("prompt,object\nIt is version [MASK].,1.0\nThen came [MASK].,2.0\n", "my.csv")
    assert [fact.object for fact in found.facts] == ["1", "2"]
    assert "numbers that end in .0 are read without it: object" in found.said


PROMPT = "Rocky Balboa was born in [MASK]."
ROCKY = {"subject": "Rocky Balboa", "relation": "place of birth", "object": "Philadelphia", "prompt": PROMPT}
JSONL = json.dumps(ROCKY)
HEADER = ",".join(COLUMNS)


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


def test_the_two_samples_hold_the_same_facts_and_leave_none_out(repo_root):
    one = read_own_facts(repo_root / "docs" / "sample_facts.jsonl")
    other = read_own_facts(repo_root / "docs" / "sample_facts.csv")
    assert one == other and one.said == other.said == ""
    assert (one.n_read, one.left_out) == (6, {})
    assert sum(fact.answer_in_subject for fact in one.facts) == 1


PLAIN = [
    {"subject": land, "relation": "capital", "object": city, "prompt": f"{land} is governed from [MASK]."}
    for land, city in (("Peru", "Lima"), ("Oman", "Muscat"), ("Kenya", "Nairobi"), ("Chad", "Ndjamena"))
]
ODD = "a wrong encoding: 3 of 4"


def changed(**wrapped: str) -> list[dict[str, str]]:
    return [{key: wrapped.get(key, "{}").format(text) for key, text in row.items()} for row in PLAIN[:3]] + PLAIN[3:]


@pytest.mark.parametrize(
    ("rows", "said", "kept"),
    [
        (changed(prompt="[CLS] {} [SEP]"), "special tokens at the ends of texts left out: 3", PLAIN),
        (changed(object="\u200e{}\u200f", relation="{}\u200b", prompt="\ufeff {}\u00ad"), "", PLAIN),
        (changed(prompt="<p>{}&nbsp;</p>"), f"{ODD} (<p>)", ()),
        (changed(object="{}&amp;Co"), f"{ODD} (&amp;)", ()),
        (changed(prompt="A fact.\\n{}"), rf"{ODD} (\n)", ()),
        (changed(subject="S\\u00e3o {}"), rf"{ODD} (\u00e3)", ()),
        (changed(prompt="So. [SEP] {}"), f"{ODD} ([SEP])", ()),
        (changed(prompt="AT&T; a <b, $\\nu$ and C:\\temp: {}"), "", ()),
        ([*PLAIN, PLAIN[0] | {"subject": "NA"}], "cells that may be meant as empty: 1 (NA)", ()),
        (changed(object="New_{}"), "objects with underscores for blanks: 3 (New_Lima", ()),
        ([*PLAIN, PLAIN[0] | {"relation": "Capital"}], "differ by case or marks alone: 2 (Capital; capital)", ()),
        ([*PLAIN, *(PLAIN[0] | {"relation": one} for one in ("Lies-in", "lies in"))], "2 (Lies-in; lies in)", ()),
        (changed(relation="a\u00a0 {}e\u0301"), "", changed(relation="a {}\u00e9")),
        (changed(prompt="it\u00e2\u20ac\u2122s {}"), f"{ODD} (\u00e2\u20ac)", ()),
        (changed(subject="Malm\ufffd {}"), f"{ODD} (\ufffd)", ()),
        (changed(object="b'{}'"), f"{ODD} (b'Lima', b'Muscat', b'Nairobi')", ()),
        (changed(prompt="['{}']"), f"{ODD} (['Peru is governed from", ()),
        (changed(prompt="\u00c3lvaro, \u00d1u\u00f1oa and #1: {}"), "", ()),
        ([row | {"prompt": PLAIN[n - 1]["prompt"]} for n, row in enumerate(PLAIN)], "another row's: 4 (Chad is", ()),
    ],
)
def test_signs_around_texts_are_not_read_and_those_hardly_meant_inside_are_kept_and_counted(rows, said, kept):
    found = own_facts(rows, "my")
    assert said in found.said and bool(said) == bool(found.said)
    assert [[getattr(one, key) for key in COLUMNS] for one in found.facts] == [[*row.values()] for row in kept or rows]


def test_columns_by_key_are_joined_by_their_keys_and_others_are_refused():
    columns = {name: {str(n): row[name] for n, row in enumerate(PLAIN)} for name in PLAIN[0]}
    columns["object"] = dict(reversed(columns["object"].items()))
    assert own_facts(json.dumps(columns), "my.json").facts == own_facts(PLAIN, "my").facts
    del columns["object"]["2"]
    with pytest.raises(FactsError, match=r"not every column has the keys \['2'\]"):
        own_facts(json.dumps(columns), "my.json")
