"""Requests refuse wrong values by the name that the reader typed, and commands pass on what was typed."""

import inspect
import re
from contextlib import nullcontext
from dataclasses import MISSING
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from probing.commands.options import command
from probing.core.errors import OptionError
from probing.core.options import in_python, made, option_fields, spelled
from probing.workflows.executors import ExecutorChoice, Who
from probing.workflows.requests.changes import ChangesRequest
from probing.workflows.requests.edges import EdgesRequest, TraceRequest
from probing.workflows.requests.finetune import FinetuneRequest
from probing.workflows.requests.heads import HeadsRequest
from probing.workflows.requests.knowledge import AskRequest, ProbeRequest
from probing.workflows.requests.reproduction import ReproduceRequest
from probing.workflows.requests.sentences import SentenceAskRequest, SentencesRequest

REQUESTS = (
    ChangesRequest,
    EdgesRequest,
    TraceRequest,
    SentencesRequest,
    SentenceAskRequest,
    FinetuneRequest,
    HeadsRequest,
    ProbeRequest,
    AskRequest,
    ReproduceRequest,
)


def a_request_of(request, **given):
    """A request with the required options."""
    needed = {one.name: (*one.option.known, "x")[0] for one in option_fields(request) if one.default is MISSING}
    usual = {one.name: one.default for one in option_fields(request) if one.default is not MISSING}
    return made(request, needed | usual | given)


def test_a_value_out_of_range_is_refused_by_the_name_that_the_reader_typed():
    refused = 0
    for request in REQUESTS:
        for one in option_fields(request):
            option = one.option
            if option.least is None and option.most is None and not option.known:
                continue
            wrong = (
                "nonsense" if isinstance((*option.known, 0)[0], str) else 3 if option.known else (option.least or 0) - 1
            )
            for value in (wrong, *(() if option.most is None else (option.most + 1,))):
                for context, typed in (
                    (nullcontext, (*option.names, spelled(one.name))[0]),
                    (in_python, f"{one.name}="),
                ):
                    with context(), pytest.raises(OptionError, match=re.escape(typed)):
                        a_request_of(request, **{one.name: (value,) if one.several else value})
                    refused += 1
    assert refused > 100


def test_what_is_typed_reaches_the_request():
    given = []

    @command(SentencesRequest)
    def train(request: SentencesRequest, loud: bool = False) -> None:
        given.append((request, loud))

    alone = typer.Typer()
    alone.command()(train)
    words = "--model m --tasks a, b --portions 1,4 --readings own --no-codes --out here --loud"
    typed = ["--tasks=a, b" if word == "--tasks" else word for word in words.split() if word not in ("a,", "b")]
    assert CliRunner().invoke(alone, [*typed, "--executor", "ray", "--workers", "3"]).exit_code == 0
    executor = ExecutorChoice(Who.ray, 3)
    expected = SentencesRequest(
        "m", ("a", "b"), readings=("own",), portions=(1, 4), codes=False, out=Path("here"), executor=executor
    )
    assert given == [(expected, True)]
    assert list(inspect.signature(train).parameters)[-1] == "loud"
    found = CliRunner().invoke(alone, ["--model", "m", "--portions", "1,x"])
    assert found.exit_code == 2 and "got --portions 1,x; expected numbers separated by commas" in found.output


@pytest.mark.parametrize(
    ("request_of", "message"),
    [
        (lambda: EdgesRequest("x", codes=True, kinds=("at",)), "the online code exists for cumulative probes only"),
        (lambda: FinetuneRequest("x", "cola", bits=4), "got --bits 4 without --difference"),
        (lambda: FinetuneRequest("x", "cola", rates=(1e-4, 2e-4)), "got --rates without --steps and --looks"),
        (lambda: ExecutorChoice(workers=2), "got --workers 2 with --executor local"),
    ],
    ids=["codes", "bits", "rates", "workers"],
)
def test_options_that_exclude_each_other_are_refused_when_the_request_is_made(request_of, message):
    with pytest.raises(OptionError, match=message):
        request_of()
