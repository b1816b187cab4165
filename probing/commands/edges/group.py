"""``probing edges``: the commands of edge probing."""

import typer

from probing.commands.main import CommandsOnCall

#: Command -> its module and its line, as in ``probing.commands.main.COMMANDS``.
EDGE_COMMANDS = {
    "tasks": ("probing.commands.edges.tasks", "List the tasks: spans, data sets, licences and, with --counts, how much data they have."),
    "train": (
        "probing.commands.edges.train",
        "Train probes of every layer for edge probing tasks and store their predictions; resumable, does nothing the second time.",
    ),
    "trace": ("probing.commands.edges.trace", "Apply the probes of every layer to one span of a sentence, or to a pair of spans."),
    "report": (
        "probing.commands.edges.report",
        "Report stored probes: F1, expected layer, centre of gravity, order of tasks; the same numbers as on the pages.",
    ),
}


class EdgeCommandsOnCall(CommandsOnCall):
    """Lists the commands of edge probing."""

    listed = EDGE_COMMANDS


edges = typer.Typer(
    name="edges",
    cls=EdgeCommandsOnCall,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@edges.callback()
def _edges() -> None:
    """Edge probing: which layers encode syntax and meaning."""
