"""Joins the commands; user errors are printed without a traceback."""

import logging
import sys
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from probing import __version__
from probing.core.characters import refuse_half_characters
from probing.core.errors import OptionError, ProbingError
from probing.core.files.disk_errors import cannot_write, no_room
from probing.core.registry import REPOSITORY, has_data

#: Command -> its module, imported when the command is called, and its line in the list of commands: its docstring's first.
COMMANDS = {
    "fetch": (
        "probing.commands.fetch",
        "Fetch data sets and models by name; files are checked by sha256 if the registry or the hub has one.",
    ),
    "finetune": (
        "probing.commands.training.finetune",
        "Fine-tune an encoder and score it on its task next to its baselines; resumable, the task's head is stored apart.",
    ),
    "score": (
        "probing.commands.training.score",
        "Compute the task scores of a fine-tuned model again, from its weights, its task's head and the test data.",
    ),
    "train-heads": (
        "probing.commands.training.train_heads",
        "Train a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.",
    ),
    "probe": (
        "probing.commands.probe",
        "Probe every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.",
    ),
    "build": ("probing.commands.build", "Build the database from Parquet runs; does nothing if it is up to date."),
    "edges": ("probing.commands.edges.group", "Edge probing: which layers encode syntax and meaning."),
    "sentences": (
        "probing.commands.sentences.group",
        "Sentence probing: which layers encode a property of the whole sentence, before and after fine-tuning.",
    ),
    "changes": ("probing.commands.changes.group", "Effects of fine-tuning, layer by layer."),
    "forgetting": ("probing.commands.forgetting.group", "Facts that fine-tuning lost: forgotten, or only out of reach?"),
    "ask": ("probing.commands.ask", "Ask every layer to fill the mask of a sentence."),
    "report": ("probing.commands.report", "Report stored results, all or a selection; the same numbers as on the pages."),
    "reproduce": (
        "probing.commands.reproduce",
        "Fetch, train missing models, probe, build, write the tables of a paper; resumable, skips finished steps.",
    ),
    "runs": ("probing.commands.runs", "List the runs with their fingerprint, counts and what was left out."),
    "check": (
        "probing.commands.check",
        "Verify facts, data, models, heads, probes, runs and database, file by file; list the problems and exit with 1.",
    ),
    "counts": ("probing.commands.share.counts", "Add the counts of full runs to equivalent compact runs, which lack them."),
    "push": (
        "probing.commands.share.push",
        "Share heads, predictions, edge or sentence probing with a card and every file's sha256; pushing the same again changes nothing.",
    ),
    "pull": (
        "probing.commands.share.pull",
        "Download shared heads, predictions, edge or sentence probing at one revision; every sha256 is checked before anything is stored.",
    ),
}

#: Commands that make what ships, listed last; their modules lie in the repository next to the data, not in the package.
MAKERS = {
    "pretrain": (
        "data.making.commands.pretrain",
        "Train nesia-mini by masked language modelling, resumable, and record every fact's exposure.",
    ),
    "family": (
        "data.making.commands.family",
        "Make the family's models, heads, probes and results after the base; prints the hours first, resumable.",
    ),
    "model-card": (
        "data.making.commands.card",
        "Print a trained model's numbers by layer and exposure, and whether it meets the conditions of a demonstration.",
    ),
    "facts": (
        "data.making.commands.triples",
        "Write the shipped triples: labels of T-REx and Google-RE, without sentences, templates or judgements.",
    ),
}


@cache
def command(name: str) -> Any:
    """The command of that name."""
    return loaded((COMMANDS | MAKERS)[name][0], name)


@cache
def loaded(module: str, name: str) -> Any:
    """A module's command: its function of that name, or its group of further commands."""
    if module.startswith("data.") and str(REPOSITORY) not in sys.path:
        sys.path.append(str(REPOSITORY))
    found = getattr(import_module(module), name.replace("-", "_"))
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name)(found)
    return typer.main.get_command(alone)


class CommandsOnCall(TyperGroup):
    """Lists every command's name and line; imports only the called one."""

    listed: ClassVar = COMMANDS
    #: Listed after them under a heading; what makes the shipped data exists where these are.
    makers: ClassVar[dict[str, tuple[str, str]]] = {}
    #: Earlier names of commands, which still work and are not listed.
    earlier: ClassVar = {"gate": "model-card"}

    def __init__(self, **settings: Any) -> None:
        lines = {name: TyperCommand(name, help=line) for name, (_, line) in (self.listed | self.makers).items()}
        super().__init__(**settings | {"commands": lines})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As in typer; a word with bytes that are no UTF-8, of any command, is refused by name.

        Raises:
            OptionError: which names the first of them.
        """
        for number, word in enumerate(args, 1):
            refuse_half_characters(word, f"word {number} of the command, {word!r},", OptionError)
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command itself."""
        name = self.earlier.get(cmd_name, cmd_name)
        known = self.listed | self.makers
        return loaded(known[name][0], name) if name in known else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands by their lines, without importing them."""
        users = {name: one for name, one in self.commands.items() if name not in self.makers}
        TyperGroup(commands=users).format_commands(ctx, formatter)
        if self.makers:
            with formatter.section("Commands that make the shipped data"):
                limit = formatter.width - 6 - max(map(len, self.makers))
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in self.makers])


class AllCommandsOnCall(CommandsOnCall):
    """Lists the commands of users and, in the repository, those of makers."""

    makers: ClassVar = MAKERS if has_data() else {}


#: The model that ships is in the repository only.
_EXAMPLE = "" if has_data() else " --model bert-base-uncased (a download of 440 MB)"
app = typer.Typer(
    name="probing",
    cls=AllCommandsOnCall,
    help=f"Show what every layer of a masked language model knows. Begin with: ask 'Paris is the capital of [MASK].'{_EXAMPLE}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"probing {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version.")) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    # huggingface_hub 2 logs every request as httpx2, huggingface_hub 1 as httpx.
    for noisy in ("httpx", "httpx2", "urllib3", "filelock", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def main() -> None:
    """Runs the command line; exit code 1 and one line for an error that the user can fix."""
    try:
        app()
    except ProbingError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        # The user can fix a full disk or a folder that cannot be written, in any library; all other errors are ours.
        if (words := no_room(error) or cannot_write(error)) is None:
            raise
        print(f"error: {words}", file=sys.stderr)
        sys.exit(1)
