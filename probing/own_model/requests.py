"""Which own model is probed on which own facts, and which of its results are reported."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from probing.facts.requests import INDEPENDENT, VOCABULARY
from probing.kernel.errors import OptionError
from probing.kernel.options import Option, Options, spelled


@dataclass(frozen=True, kw_only=True)
class OwnRequest(Options):
    """A new run of an own model, or one that is resumed."""

    model: Annotated[str | None, Option("Your model: a folder, a hub id or a name of the registry.")] = None
    base: Annotated[str | None, Option("The model that it was fine-tuned from; none: it is probed alone.")] = None
    also: Annotated[tuple[str, ...], Option("A further model with the same base; repeatable.", repeated=True)] = ()
    facts: Annotated[Path | None, Option("File of your facts: CSV, TSV, JSON or Parquet.")] = None
    called: Annotated[str | None, Option("Name of the probe set; none: the file's name.", names=("--as",))] = None
    name: Annotated[str | None, Option("Name of the model in results; none: its registry name or its folder's.")] = None
    trex: Annotated[bool, Option("Ask the shipped facts of T-REx, too.")] = False
    recover: Annotated[
        bool, Option("Ask for the lost facts by the ways that may bring them back; needs WikiText-2.")
    ] = False
    plan: Annotated[bool, Option("Print the commands and run none.")] = False
    resume: Annotated[str | None, Option("Id of an earlier run: do what is missing.")] = None

    def check(self) -> None:
        """Raises an ``OptionError`` if neither a run nor a model with facts is named, or both are."""
        named = [spelled(name) for name in ("model", "facts") if getattr(self, name) is not None]
        if self.resume is not None and named:
            raise OptionError(
                f"got {spelled('resume')} with {' and '.join(named)}; a run that is resumed has its model and facts"
            )
        if self.resume is None and len(named) < 2:
            raise OptionError(
                f"got {' and '.join(named) or 'neither'}; expected {spelled('model')} and {spelled('facts')}"
            )
        if self.recover and self.base is None and self.resume is None:
            raise OptionError(
                f"got {spelled('recover')} without {spelled('base')}; facts are lost in comparison with a base"
            )


@dataclass(frozen=True, kw_only=True)
class BertRequest(Options):
    """What of BERT is brought to this machine, or given on."""

    download: Annotated[bool, Option("Download it only.")] = False
    plan: Annotated[bool, Option("Print the commands with the time that they take here, and run none.")] = False
    share: Annotated[Path | None, Option("Write its answers to this folder, for `push` and `pull`.")] = None

    def check(self) -> None:
        """Raises an ``OptionError`` if what is to be shared is not asked."""
        if self.download and self.share:
            raise OptionError(f"got {spelled('download')} with {spelled('share')}; answers are shared: leave one out")


@dataclass(frozen=True, kw_only=True)
class OwnReportRequest(Options):
    """The report of a probed model."""

    model: Annotated[str, Option("Name of the model in results.")]
    facts: Annotated[str, Option("Name of the probe set.")]
    out: Annotated[Path | None, Option("The HTML file; none: MODEL-FACTS.html in this folder.")] = None
    k: Annotated[int, Option("A fact is known if the rank of its answer is at most k.", known=(1, 10))] = 1
    measure: Annotated[
        str | None,
        Option(
            "Ranks among all words (vocabulary), or among the answers of the file (independent); none: the latter if"
            " answers have several tokens and k is 1.",
            known=(VOCABULARY, INDEPENDENT),
        ),
    ] = None

    def check(self) -> None:
        """Raises an ``OptionError`` for more than the first place among the answers of the file."""
        if self.measure == INDEPENDENT and self.k != 1:
            raise OptionError(
                f"got {spelled('k', self.k)} with {spelled('measure', INDEPENDENT)}; among the answers of a file the"
                " first place counts: leave one of the two out"
            )
