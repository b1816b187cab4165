"""The list of commands is shown without importing them."""

import importlib
import inspect

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from probing.commands.changes.group import CHANGE_COMMANDS
from probing.commands.edges.group import EDGE_COMMANDS
from probing.commands.main import COMMANDS, MAKERS, app, loaded
from probing.commands.sentences.group import SENTENCE_COMMANDS


@pytest.mark.parametrize(
    ("name", "entry"),
    [*COMMANDS.items(), *MAKERS.items(), *EDGE_COMMANDS.items(), *SENTENCE_COMMANDS.items(), *CHANGE_COMMANDS.items()],
    ids=[
        *COMMANDS,
        *MAKERS,
        *(f"edges {n}" for n in EDGE_COMMANDS),
        *(f"sentences {n}" for n in SENTENCE_COMMANDS),
        *(f"changes {n}" for n in CHANGE_COMMANDS),
    ],
)
def test_a_commands_line_is_the_first_of_its_docstring_at_every_width(name, entry):
    module, line = entry
    found = getattr(importlib.import_module(module), name.replace("-", "_"))
    text = found.registered_callback.callback if isinstance(found, typer.Typer) else found
    assert (inspect.getdoc(text) or "").splitlines()[0] == line
    for width in (20, 45, 61, 80, 200):
        assert TyperCommand(name, help=line).get_short_help_str(width) == loaded(module, name).get_short_help_str(width)


def test_every_command_is_listed_once_and_in_order():
    shown = CliRunner().invoke(app, ["--help"]).output.split("Commands:")[1]
    users, makers = shown.split("Commands that make the shipped data:")
    assert [line.split()[0] for line in users.strip().splitlines()] == list(COMMANDS)
    assert [line.split()[0] for line in makers.strip().splitlines()] == list(MAKERS)


@pytest.mark.parametrize(("group", "commands"), [("edges", EDGE_COMMANDS), ("sentences", SENTENCE_COMMANDS), ("changes", CHANGE_COMMANDS)])
def test_commands_of_a_group_are_listed_once_and_in_order(group, commands):
    shown = CliRunner().invoke(app, [group, "--help"]).output.split("Commands:")[1]
    assert [line.split()[0] for line in shown.strip().splitlines()] == list(commands)


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant():
    found = CliRunner().invoke(app, ["prob"])
    assert found.exit_code == 2 and "No such command 'prob'. Did you mean 'probe'?" in found.output


def test_commands_and_options_of_earlier_versions_still_work():
    def output(*words):
        return CliRunner().invoke(app, words).output

    assert output("gate", "--help").split("[OPTIONS]")[1] == output("model-card", "--help").split("[OPTIONS]")[1]
    assert "gate" not in output("--help")
    for earlier in ("--blocks-per-step", "--blocks-a-step", "--layers-per-shard", "--layers-a-shard"):
        assert earlier in output("train-heads", "--help")
