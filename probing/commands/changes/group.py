"""``probing changes``: the commands of what fine-tuning changed."""

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
        "Report what fine-tuning changed: attention, similarity and perplexity; the same numbers as on the pages.",
    ),
}


class ChangeCommandsOnCall(CommandsOnCall):
    """Knows the commands of what fine-tuning changed."""

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
    """What fine-tuning changed, layer by layer."""
