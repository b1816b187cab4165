"""``probing changes``: the commands on the effects of fine-tuning."""

import typer

from probing.commands.main import CommandsOnCall

#: Command -> its module and its line, as in ``probing.commands.main.COMMANDS``.
CHANGE_COMMANDS = {
    "measure": (
        "probing.commands.changes.measure",
        "Measure attention, perplexity and similarity of states of a model and its base; resumable, does nothing the second time.",
    ),
    "report": (
        "probing.commands.changes.report",
        "Report the effects of fine-tuning: attention, similarity and perplexity; the same numbers as on the pages.",
    ),
}


class ChangeCommandsOnCall(CommandsOnCall):
    """Lists the commands on the effects of fine-tuning."""

    listed = CHANGE_COMMANDS


changes = typer.Typer(
    name="changes",
    cls=ChangeCommandsOnCall,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@changes.callback()
def _group() -> None:
    """Effects of fine-tuning, layer by layer."""
