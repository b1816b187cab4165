"""``probing edges``: the commands of edge probing."""

import typer

from probing.commands.main import CommandsOnCall

#: Command -> its module and its line, as in ``probing.commands.main.COMMANDS``.
EDGE_COMMANDS = {
    "tasks": ("probing.commands.edges.tasks", "List the tasks: spans, data sets, licences and, with --counts, how much data they have."),
    "train": (
        "probing.commands.edges.train",
        "Train probes of every layer for edge probing tasks and store their answers; resumable, does nothing the second time.",
    ),
    "ship": (
        "probing.commands.nesia.edges",
        "Train what ships of edge probing on nesia-mini, its random twin and its relatives, and put it into data; resumable.",
    ),
    "trace": ("probing.commands.edges.trace", "Ask the probes of every layer what one span of a sentence is, or a pair of spans."),
    "report": (
        "probing.commands.edges.report",
        "Report stored probes: F1, expected layer, centre of gravity, order of tasks; the same numbers as on the pages.",
    ),
}


class EdgeCommandsOnCall(CommandsOnCall):
    """Knows the commands of edge probing."""

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
    """Edge probing: where in the layers syntax and meaning can be read."""
