"""The list of commands is shown without importing them."""

import importlib
import inspect

import pytest
from typer.core import TyperCommand
from typer.testing import CliRunner

from probing.commands.main import COMMANDS, MAKERS, app, command, commands_of
from probing.core.capabilities.registry import CAPABILITIES

#: Group -> its commands.
GROUPS = {name: commands_of(one) for name, one in CAPABILITIES.items() if one.line}
EVERY = {(name,): one for name, one in (*COMMANDS.items(), *MAKERS.items())}
EVERY |= {(group, name): one for group, commands in GROUPS.items() for name, one in commands.items()}


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_a_commands_line_is_the_first_of_its_docstring_at_every_width(words):
    module, line = EVERY[words]
    if module:
        text = inspect.getdoc(getattr(importlib.import_module(module), words[-1].replace("-", "_")))
        assert (text or "").splitlines()[0] == line
    assert (command(*words).help or "").splitlines()[0] == line
    for width in (20, 45, 61, 80, 200):
        assert TyperCommand(words[-1], help=line).get_short_help_str(width) == command(*words).get_short_help_str(width)


def test_every_command_is_listed_once_and_in_order():
    shown = CliRunner().invoke(app, ["--help"]).output.split("Commands:")[1]
    users, makers = shown.split("Commands that make the shipped data:")
    assert [line.split()[0] for line in users.strip().splitlines()] == list(COMMANDS)
    assert [line.split()[0] for line in makers.strip().splitlines()] == list(MAKERS)


@pytest.mark.parametrize("group", GROUPS)
def test_commands_of_a_group_are_listed_once_and_in_order(group):
    shown = CliRunner().invoke(app, [group, "--help"]).output.split("Commands:")[1]
    assert [line.split()[0] for line in shown.strip().splitlines()] == list(GROUPS[group])


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant():
    found = CliRunner().invoke(app, ["prob"])
    assert found.exit_code == 2 and "No such command 'prob'. Did you mean 'probe'?" in found.output
