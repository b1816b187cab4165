"""The options of commands are those of their requests: default, help, range, and messages that name them as the reader typed them."""

import inspect
from contextlib import nullcontext
from dataclasses import MISSING
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from probing.commands.main import app
from probing.commands.main import command as found_command
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

#: Command -> its request.
COMMANDS = {
    "changes measure": ChangesRequest,
    "edges train": EdgesRequest,
    "edges trace": TraceRequest,
    "sentences train": SentencesRequest,
    "sentences ask": SentenceAskRequest,
    "finetune": FinetuneRequest,
    "train-heads": HeadsRequest,
    "probe": ProbeRequest,
    "ask": AskRequest,
    "reproduce": ReproduceRequest,
}
OPTIONS = [pytest.param(name, one, id=f"{name} {one.name}") for name, request in COMMANDS.items() for one in option_fields(request)]
#: Those that take only some values.
BOUNDED = [
    param
    for param in OPTIONS
    if any(bound is not None for bound in (param.values[1].option.least, param.values[1].option.most, *param.values[1].option.known))
]


def names_in(name, one):
    """The names by which a command takes an option."""
    (found,) = (shown for shown in found_command(*name.split()).params if shown.name == one.name)
    return found


@pytest.mark.parametrize(("name", "one"), OPTIONS)
def test_an_option_has_the_default_the_help_and_the_range_of_the_request(name, one):
    shown = names_in(name, one)
    assert shown.help == one.option.help and shown.required == (one.default is MISSING)
    if not one.option.argument:
        assert set(one.option.names or (spelled(one.name),)) <= set(shown.opts)
    if one.several:
        assert shown.default in (None if one.default is None else ",".join(map(str, one.default)), None)
    elif one.default is not MISSING:
        assert shown.default == one.default
    if {one.option.least, one.option.most} != {None} and not one.several:
        bounds = shown if hasattr(shown, "min") else shown.type
        assert (bounds.min, bounds.max) == (one.option.least, one.option.most)


def a_request_of(request, **given):
    """A request with the required options."""
    needed = {one.name: (*one.option.known, "x")[0] for one in option_fields(request) if one.default is MISSING}
    usual = {one.name: one.default for one in option_fields(request) if one.default is not MISSING}
    return made(request, needed | usual | given)


@pytest.mark.parametrize(("name", "one"), BOUNDED)
@pytest.mark.parametrize(("context", "python"), [(nullcontext, False), (in_python, True)], ids=["command", "python"])
def test_a_value_out_of_range_is_refused_by_the_name_that_the_reader_typed(name, one, context, python):
    request = COMMANDS[name]
    option = one.option
    wrong = "nonsense" if isinstance((*option.known, 0)[0], str) else 3 if option.known else (option.least or 0) - 1
    typed = f"{one.name}={wrong!r}" if python else f"{(*option.names, spelled(one.name))[0]} {wrong}"
    with context(), pytest.raises(OptionError) as raised:
        a_request_of(request, **{one.name: (wrong,) if one.several else wrong})
    assert str(raised.value) == f"got {typed}; expected {option.expected}"
    if option.most is not None:
        with pytest.raises(OptionError):
            a_request_of(request, **{one.name: (option.most + 1,) if one.several else option.most + 1})


@pytest.mark.parametrize(("name", "one"), [param for param in OPTIONS if param.values[1].several and not param.values[1].option.repeated])
def test_an_empty_list_is_refused_unless_it_is_the_default(name, one):
    request = COMMANDS[name]
    with nullcontext() if one.default == () else pytest.raises(OptionError, match=f"got no {spelled(one.name)}; expected"):
        a_request_of(request, **{one.name: ()})


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_option_ends_the_command_before_torch_is_imported(name, monkeypatch):
    bounded = [one for of, one in (param.values for param in BOUNDED) if of == name]
    needed = [
        ["x"] if one.option.argument else [spelled(one.name), (*one.option.known, "x")[0]]
        for one in option_fields(COMMANDS[name])
        if one.default is MISSING
    ]
    for one in bounded:
        typed = names_in(name, one).opts[0]
        found = CliRunner().invoke(app, [*name.split(), *(word for words in needed for word in words), f"{typed}=-1"])
        assert found.exit_code == 2 and typed in found.output


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
    expected = SentencesRequest("m", ("a", "b"), readings=("own",), portions=(1, 4), codes=False, out=Path("here"), executor=executor)
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
