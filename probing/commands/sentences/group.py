"""``probing sentences``: the commands of sentence-level probing."""

import typer

from probing.commands.main import CommandsOnCall

#: Command -> its module and its line, as in ``probing.commands.main.COMMANDS``.
SENTENCE_COMMANDS = {
    "train": (
        "probing.commands.sentences.train",
        "Train probes of every layer for whole sentences, also of a fine-tuned model's base; resumable, does nothing the second time.",
    ),
    "ask": (
        "probing.commands.sentences.ask",
        "Ask one sentence: entropy, shares and distance of attention by layer, the same word twice, and every probe's verdict.",
    ),
    "tasks": (
        "probing.commands.sentences.tasks",
        "List the tasks: what they ask, data sets, licences and, with --counts, how much data they have and what was left out.",
    ),
    "make": ("probing.commands.sentences.make", "Write a task that is made by rule as TSV: odd-man-out, from UD English EWT."),
    "ship": (
        "probing.commands.nesia.family",
        "Fine-tune, probe and measure what ships on nesia-mini and its relatives, and put it into data; resumable.",
    ),
    "report": (
        "probing.commands.sentences.report",
        "Report stored probes of whole sentences: accuracy, changes, where properties went; the same numbers as on the pages.",
    ),
}


class SentenceCommandsOnCall(CommandsOnCall):
    """Knows the commands of sentence-level probing."""

    listed = SENTENCE_COMMANDS


sentences = typer.Typer(
    name="sentences",
    cls=SentenceCommandsOnCall,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@sentences.callback()
def _sentences() -> None:
    """Sentence probing: in which layers a property of the whole sentence can be read, before and after fine-tuning."""
