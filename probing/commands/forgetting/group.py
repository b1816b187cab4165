"""``probing forgetting``: the commands on facts that fine-tuning lost."""

import typer

from probing.commands.main import CommandsOnCall

#: Command -> its module and its line, as in ``probing.commands.main.COMMANDS``.
FORGETTING_COMMANDS = {
    "recover": (
        "probing.commands.forgetting.recover",
        "Ask for the facts that a fine-tuned model lost, by every way that may bring them back, next to what guessing brings; resumable.",
    ),
    "report": (
        "probing.commands.forgetting.report",
        "Report the outcome of the facts that fine-tuned models lost, next to guesses; the same numbers as on the page.",
    ),
}


class ForgettingCommandsOnCall(CommandsOnCall):
    """Lists the commands on lost facts."""

    listed = FORGETTING_COMMANDS


forgetting = typer.Typer(
    name="forgetting",
    cls=ForgettingCommandsOnCall,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@forgetting.callback()
def _group() -> None:
    """Facts that fine-tuning lost: forgotten, or only out of reach?"""
