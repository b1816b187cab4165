"""Joins the commands; user errors are printed without a traceback."""

import logging
import re
import signal
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from probing.kernel.errors import OptionError, ProbingError
from probing.kernel.files import cannot_write, no_room
from probing.kernel.registry import REPOSITORY, has_data
from probing.kernel.text import HarmlessStream, harmless, refuse_half_characters
from probing.kernel.version import __version__

#: Without completion for shells, and with plain errors and help.
_PLAIN: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


class Command(NamedTuple):
    """A command: the module that has its function, and its line in the list of commands."""

    module: str
    line: str


class Group(NamedTuple):
    """The commands of a subject; the last one reports what is stored of it."""

    line: str
    commands: Mapping[str, Command]
    reporting: str

    @property
    def listed(self) -> dict[str, Command]:
        """Its commands with the one that reports."""
        return {**self.commands, "report": Command("", self.reporting)}


#: Group of commands -> its line, its commands, and the line of the one that reports what is stored.
GROUPS = {
    "candidates": Group(
        "Right answers of any number of tokens, ranked among candidates (`probe --measure independent`).",
        {},
        "Report right answers among candidates by layer: P@1, MRR and mean rank, beside chance and the answer alone.",
    ),
    "edges": Group(
        "Edge probing: which layers encode syntax and meaning.",
        {
            "tasks": Command(
                "probing.edges.commands",
                "List the tasks: spans, data sets, licences and, with --counts, how much data they have.",
            ),
            "train": Command(
                "probing.edges.commands",
                "Train probes of every layer for edge probing tasks and store their predictions; resumable, does"
                " nothing the second time.",
            ),
            "trace": Command(
                "probing.edges.commands",
                "Apply the probes of every layer to one span of a sentence, or to a pair of spans.",
            ),
        },
        "Report stored probes: F1, expected layer, centre of gravity, order of tasks; the same numbers as on the"
        " pages.",
    ),
    "sentences": Group(
        "Sentence probing: which layers encode a property of the whole sentence, before and after fine-tuning.",
        {
            "train": Command(
                "probing.sentences.commands",
                "Train probes of every layer for whole sentences, also for a fine-tuned model's base; resumable, does"
                " nothing the second time.",
            ),
            "ask": Command(
                "probing.live.sentence_commands",
                "Analyse one sentence: entropy, shares and distance of attention by layer, repeated words, and every"
                " probe's prediction.",
            ),
            "tasks": Command(
                "probing.sentences.commands",
                "List the tasks: question, data sets, licences and, with --counts, how much data they have and what was"
                " left out.",
            ),
            "make": Command(
                "probing.sentences.commands",
                "Write a task that is made by rule as TSV: odd-man-out, from UD English EWT.",
            ),
        },
        "Report stored probes of whole sentences: accuracy, changes, fates of properties; the same numbers as on the"
        " pages.",
    ),
    "changes": Group(
        "Effects of fine-tuning, layer by layer.",
        {
            "measure": Command(
                "probing.changes.commands",
                "Measure attention, perplexity and similarity of states of a model and its base; resumable, does"
                " nothing the second time.",
            ),
        },
        "Report the effects of fine-tuning: attention, similarity and perplexity; the same numbers as on the pages.",
    ),
    "forgetting": Group(
        "Facts that fine-tuning lost: what comes back, and do guesses, too?",
        {
            "recover": Command(
                "probing.forgetting.commands",
                "Ask for the facts that a fine-tuned model lost, by every way that may bring them back, next to what"
                " guessing brings; resumable.",
            ),
        },
        "Report the outcome of the facts that fine-tuned models lost, next to guesses; the same numbers as on the"
        " page.",
    ),
    "series": Group(
        "Trainings state by state: when facts are forgotten, and what prevents it.",
        {
            "follow": Command(
                "probing.forgetting.commands",
                "Ask every state of a training for the same facts, and store when each was forgotten; resumable, does"
                " nothing the second time.",
            ),
            "prevent": Command(
                "probing.forgetting.commands",
                "Fine-tune a base in several recipes against forgetting, and store what each scores and keeps;"
                " resumable, keeps no weights.",
            ),
        },
        "Report when facts were forgotten, and what prevents it; the same numbers as on the pages.",
    ),
}
_FIRST = {
    "fetch": Command(
        "probing.commands",
        "Fetch data sets and models by name; files are checked by sha256 if the registry or the hub has one.",
    ),
    "finetune": Command(
        "probing.finetuning.commands",
        "Fine-tune an encoder and score it on its task next to its baselines; resumable, the task's head is stored"
        " apart.",
    ),
    "score": Command(
        "probing.finetuning.commands",
        "Compute the task scores of a fine-tuned model again, from its weights, its task's head and the test data.",
    ),
    "train-heads": Command(
        "probing.heads.commands",
        "Train a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.",
    ),
    "line": Command(
        "probing.forgetting.commands",
        "Ask eleven means of the weights of a base and its fine-tuned model for facts, and score them; resumable.",
    ),
    "probe": Command(
        "probing.facts.commands",
        "Probe every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.",
    ),
}
_LAST = {
    "own": Command(
        "probing.own_model.commands",
        "Probe your model and its base on your facts, one command after the other; resumable, the page Your model shows"
        " the run.",
    ),
    "bert": Command(
        "probing.own_model.commands",
        "Download BERT-base and ask it all facts that ship; resumable, the pages then begin with it.",
    ),
    "own-report": Command(
        "probing.own_model.commands",
        "Write one page in plain words on what your model knows of your facts, as HTML.",
    ),
    "ask": Command("probing.live.commands", "Ask every layer to fill the mask of a sentence."),
    "report": Command(
        "probing.facts.commands", "Report stored results, all or a selection; the same numbers as on the pages."
    ),
    "reproduce": Command(
        "probing.papers.commands",
        "Fetch, train missing models, probe, write the tables of a paper; resumable, skips finished steps.",
    ),
    "runs": Command("probing.commands", "List the runs with their fingerprint, counts and what was left out."),
    "terms": Command(
        "probing.commands",
        "Print the definitions of all quantities and terms, or of those with a name, as Markdown.",
    ),
    "tables": Command(
        "probing.commands", "Print every column of all stored tables, or of those with a name, as Markdown."
    ),
    "ui": Command("probing.commands", "Serve the pages on this machine; they need the repository and the extra [app]."),
    "space": Command(
        "probing.own_model.commands",
        "List the models, runs and probe sets on this machine with the space that each takes.",
    ),
    "delete": Command(
        "probing.own_model.commands",
        "Delete a run, a probe set with all its runs, or a model from this machine; asks first.",
    ),
    "check": Command(
        "probing.commands",
        "Verify facts, data, models, heads, probes and runs, file by file; list the problems and exit with 1.",
    ),
    "push": Command(
        "probing.sharing.commands",
        "Share heads, predictions, edge or sentence probing, lost facts and series with a card and every file's sha256;"
        " pushing the same again changes nothing.",
    ),
    "pull": Command(
        "probing.sharing.commands",
        "Download shared heads, predictions, edge or sentence probing, lost facts and series at one revision; every"
        " sha256 is checked before anything is stored.",
    ),
}
#: Command -> its module and line; between those of all results, the groups of the subjects.
COMMANDS = {**_FIRST, **{name: Command("", group.line) for name, group in GROUPS.items()}, **_LAST}

#: Commands that make what ships, listed last; their modules lie in the repository next to the data, not in the package.
MAKERS = {
    "pretrain": Command(
        "data.making.commands.pretrain",
        "Train nesia-mini by masked language modelling, resumable, and record every fact's exposure.",
    ),
    "family": Command(
        "data.making.commands.family",
        "Make the family's models, heads, probes and results after the base; prints the hours first, resumable.",
    ),
    "model-card": Command(
        "data.making.commands.card",
        "Print a trained model's numbers by layer and exposure, and whether it meets the conditions of a"
        " demonstration.",
    ),
    "facts": Command(
        "data.making.commands.triples",
        "Write the shipped triples: labels of T-REx and Google-RE, without sentences, templates or judgements.",
    ),
    "phrases": Command(
        "data.making.commands.triples",
        "Write the shipped facts whose answers have two to four words: triples of T-REx, asked for their subject.",
    ),
}


def command(*words: str) -> Any:
    """The command of these words: one of ``COMMANDS``, or of a group, which is named first."""
    *group, name = words
    if group:
        module, _ = GROUPS[group[0]].listed[name]
        return _loaded(module, name) if module else _report(group[0])
    module, _ = MAKERS[name] if name in MAKERS else COMMANDS[name]
    return _loaded(module, name) if module else _group(name)


@cache
def _loaded(module: str, name: str) -> Any:
    """A module's command: its function of that name."""
    if module.startswith("data.") and str(REPOSITORY) not in sys.path:
        sys.path.append(str(REPOSITORY))
    return _alone(name, getattr(import_module(module), name.replace("-", "_")))


@cache
def _report(name: str) -> Any:
    """The command that reports the stored results of a subject."""
    from probing.facts.commands import command_of
    from probing.subjects import reports

    return _alone("report", command_of(reports()[name], GROUPS[name].reporting))


@cache
def _group(name: str) -> Any:
    """The group of a subject's commands."""
    of = type("CommandsOfGroup", (CommandsOnCall,), {"listed": GROUPS[name].listed, "words": (name,)})
    group = typer.Typer(name=name, cls=of, help=GROUPS[name].line, no_args_is_help=True, **_PLAIN)
    group.callback()(lambda: None)
    return typer.main.get_group(group)


def _alone(name: str, function: Callable[..., None]) -> Any:
    alone = typer.Typer(**_PLAIN)
    alone.command(name)(function)
    return typer.main.get_command(alone)


class CommandsOnCall(TyperGroup):
    """Lists every command's name and line; imports only the called one."""

    listed: ClassVar[Mapping[str, Command]] = COMMANDS
    #: Listed after them under a heading; what makes the shipped data exists where these are.
    makers: ClassVar[Mapping[str, Command]] = {}
    #: What is typed before them.
    words: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **settings: Any) -> None:
        lines = {
            name: TyperCommand(name, help=entry.line) for name, entry in (*self.listed.items(), *self.makers.items())
        }
        super().__init__(**settings | {"commands": lines})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As in typer; a word with bytes that are no UTF-8, of any command, is refused by name."""
        for number, word in enumerate(args, 1):
            refuse_half_characters(word, f"word {number} of the command, {word!r},", OptionError)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """As in typer; a word that is none of a few is refused in the program's words, not in pydantic's."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            ours = r"got \1; expected one of \2"
            error.message = re.sub(r"^Value error, (.*) is not one of (.*)\.$", ours, error.message)
            raise

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command itself."""
        return command(*self.words, cmd_name) if cmd_name in self.listed or cmd_name in self.makers else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands by their lines, without importing them."""
        users = {name: command for name, command in self.commands.items() if name not in self.makers}
        TyperGroup(commands=users).format_commands(ctx, formatter)
        if self.makers:
            with formatter.section("Commands that make the shipped data"):
                limit = formatter.width - 6 - max(map(len, self.makers))
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in self.makers])


class AllCommandsOnCall(CommandsOnCall):
    """Lists the commands of users and, in the repository, those of makers."""

    makers = MAKERS if (REPOSITORY / "data" / "making").is_dir() else {}


#: The model that ships is in the repository only.
_EXAMPLE = "" if has_data() else " --model bert-base-uncased (a download of 440 MB)"
app = typer.Typer(
    name="probing",
    cls=AllCommandsOnCall,
    help=(
        "Show what every layer of a masked language model knows. Begin with: ask 'Paris is the capital of"
        f" [MASK].'{_EXAMPLE}"
    ),
    no_args_is_help=True,
    **_PLAIN,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"probing {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    # huggingface_hub 2 logs every request as httpx2, huggingface_hub 1 as httpx.
    for noisy in ("httpx", "httpx2", "urllib3", "filelock", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def main() -> None:
    """Runs the command line; exit code 1 and one line for an error of the user's, 130 and one line after Ctrl-C."""
    interrupted = []

    def note(number: int, frame: Any) -> None:
        interrupted.append(number)
        signal.default_int_handler(number, frame)

    # A library can turn Ctrl-C into any error. A shell's script may have switched it off.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
    streams = sys.stdout, sys.stderr
    # A closed stream is None. Progress bars move.
    sys.stdout = sys.stdout and HarmlessStream(sys.stdout)
    sys.stderr = sys.stderr and HarmlessStream(sys.stderr, r"(\r|\x1b\[A)")
    try:
        app()
    except BaseException as error:
        if interrupted and not (isinstance(error, SystemExit) and error.code in (0, None)):
            print("interrupted; the same command goes on", file=sys.stderr)
            sys.exit(130)
        # The user can fix a full disk or a folder that cannot be written, in any library; all other errors are ours.
        words = str(error) if isinstance(error, ProbingError) else no_room(error) or cannot_write(error)
        if words is None:
            raise
        print(f"error: {harmless(words)}", file=sys.stderr)
        sys.exit(1)
    finally:
        sys.stdout, sys.stderr = streams
