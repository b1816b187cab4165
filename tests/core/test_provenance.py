"""What every run is made with, and what it is called."""

import hashlib
import json

import pytest
from pydantic import ValidationError

from probing.core.provenance import Provenance, canonical_json, fingerprint_of, stored_provenance

MADE = {
    "model": "nesia-mini",
    "weights": "abc",
    "model_revision": "local",
    "base": "",
    "objective": "pre-training",
    "recipe": '{"seed":0}',
    "seed": 0,
    "dtype": "float32",
    "threads": 2,
    "code_version": "0.2.0",
}
#: As versions up to 0.2 wrote it, without what came later.
TEXT = (
    r'{"base":"","code_version":"0.2.0","dtype":"float32","head_recipe":"{\"seed\":0}","model":"nesia-mini","model_revision":"local",'
    r'"objective":"pre-training","seed":0,"threads":2,"weights":"abc"}'
)


class OnSpans(Provenance):
    """A kind of run to come."""

    spans: str
    pooled: bool = False


def test_equal_configurations_have_the_text_and_the_name_that_they_had():
    made = Provenance(**MADE)
    assert made.canonical() == TEXT
    assert made.fingerprint == hashlib.sha256(TEXT.encode()).hexdigest()[:16]
    assert Provenance(**json.loads(TEXT)) == made


def test_a_later_option_is_left_out_where_it_has_its_default():
    assert json.loads(Provenance(**MADE, casing="cased").canonical()) == {**json.loads(TEXT), "casing": "cased"}


def test_a_kind_of_run_adds_what_it_depends_on():
    run = OnSpans(**MADE, spans="ontonotes")
    assert json.loads(run.canonical()) == {**json.loads(TEXT), "spans": "ontonotes"}
    assert run.fingerprint != Provenance(**MADE).fingerprint
    assert stored_provenance(run.canonical()) == MADE


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"colour": 1}'])
def test_a_configuration_that_says_nothing_of_it_has_no_provenance(text: str):
    assert stored_provenance(text) == {}


def test_a_provenance_does_not_change_and_takes_no_strange_field():
    with pytest.raises(ValidationError):
        Provenance(**MADE).seed = 1
    with pytest.raises(ValidationError):
        Provenance(**MADE, colour="red")


def test_the_fingerprint_is_of_the_text():
    assert fingerprint_of(canonical_json({"b": 1, "a": "é"})) == fingerprint_of('{"a":"\\u00e9","b":1}')
    assert canonical_json({"a": "é"}, ascii_only=False) == '{"a":"é"}'
