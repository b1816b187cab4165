"""Joins the commands; user errors are printed without a traceback."""

import logging
import sys
from collections.abc import Callable

import typer

from probing import __version__
from probing.commands.ask import ask
from probing.commands.build import build
from probing.commands.check import check
from probing.commands.fetch import fetch
from probing.commands.finetune import finetune
from probing.commands.nesia.facts import facts
from probing.commands.nesia.gate import gate
from probing.commands.nesia.pretrain import pretrain
from probing.commands.probe import probe
from probing.commands.report import report
from probing.commands.reproduce import reproduce
from probing.commands.runs import runs
from probing.commands.share.pull import pull
from probing.commands.share.push import push
from probing.commands.train_heads import train_heads
from probing.core.errors import ProbingError
from probing.core.files.disk_errors import cannot_write, no_room

app = typer.Typer(
    name="probing",
    help="What every layer of a masked language model knows. Begin with: ask 'Paris is the capital of [MASK].'",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "fetch": fetch,
    "pretrain": pretrain,
    "finetune": finetune,
    "train-heads": train_heads,
    "probe": probe,
    "build": build,
    "ask": ask,
    "report": report,
    "reproduce": reproduce,
    "runs": runs,
    "check": check,
    "gate": gate,
    "facts": facts,
    "push": push,
    "pull": pull,
}
for _name, _function in COMMANDS.items():
    app.command(_name)(_function)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"probing {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version.")) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in ("httpx", "urllib3", "filelock", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def main() -> None:
    """Runs the command line; exit code 1 and one line for an error that the user can mend."""
    try:
        app()
    except ProbingError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        # Whatever library was writing: a full disk or a folder that cannot be written is the user's to mend, all else is ours.
        if (words := no_room(error) or cannot_write(error)) is None:
            raise
        print(f"error: {words}", file=sys.stderr)
        sys.exit(1)
