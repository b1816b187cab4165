"""``probing sentences``: the commands of sentence-level probing."""

import typer

from probing.commands.main import CommandsOnCall

#: Command -> its module and its line, as in ``probing.commands.main.COMMANDS``.
SENTENCE_COMMANDS = {
    "train": (
        "probing.commands.sentences.train",
        "Train probes of every layer for whole sentences, also for a fine-tuned model's base; resumable, does nothing the second time.",
    ),
    "ask": (
        "probing.commands.sentences.ask",
        "Analyse one sentence: entropy, shares and distance of attention by layer, repeated words, and every probe's prediction.",
    ),
    "tasks": (
        "probing.commands.sentences.tasks",
        "List the tasks: question, data sets, licences and, with --counts, how much data they have and what was left out.",
    ),
    "make": ("probing.commands.sentences.make", "Write a task that is made by rule as TSV: odd-man-out, from UD English EWT."),
    "report": (
        "probing.commands.sentences.report",
        "Report stored probes of whole sentences: accuracy, changes, fates of properties; the same numbers as on the pages.",
    ),
}


class SentenceCommandsOnCall(CommandsOnCall):
    """Lists the commands of sentence-level probing."""

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
    """Sentence probing: which layers encode a property of the whole sentence, before and after fine-tuning."""
