"""Which lost facts are looked for, and how."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from probing.kernel.options import Option
from probing.kernel.requests import OfModel


@dataclass(frozen=True)
class RecoverRequest(OfModel):
    """A fine-tuned model, its base, and the facts that both are asked."""

    base: Annotated[str | None, Option("Model that it was fine-tuned from; none: the recorded one.")] = field(
        default=None, kw_only=True
    )
    facts: Annotated[
        str, Option("trex, google_re, common_sense, questions; a LAMA folder; or a file with a table.")
    ] = "trex"
    name: Annotated[str | None, Option("Name of the model in results; none: its registry name or its folder's.")] = (
        field(default=None, kw_only=True)
    )
    k: Annotated[int, Option("A fact is known if the rank of its answer is at most k.", known=(1, 10))] = 1
    seeds: Annotated[
        int, Option("How often relearning is repeated, with other halves and another order.", least=1, most=10)
    ] = 3
    rate: Annotated[float, Option("Learning rate of relearning.", least=1e-6, most=0.1)] = 2e-4
    templates: Annotated[
        str | None,
        Option(
            "Template set in which lost facts are asked once more, as paraphrase: lost for this wording, or in general?"
        ),
    ] = None
    plant: Annotated[
        int | None,
        Option(
            "Teach the base so many arbitrary facts and fine-tune it again: do taught answers come back more often than"
            " guesses?",
            least=50,
        ),
    ] = None
    text: Annotated[
        Path | None,
        Option("Text for the fitted head, in the form of WikiText; none: the fetched WikiText-2, validation part."),
    ] = None
    positions: Annotated[int, Option("Masked pieces that the fitted head is fitted to.", least=100)] = 8192
    threads: Annotated[int | None, Option("Processors; none: as many as torch uses here.", least=1, most=1024)] = None
    called: Annotated[
        str | None, Option("Name of the probe set of your own facts; none: the file's name.", names=("--as",))
    ] = None
    out: Annotated[Path | None, Option("Folder of the runs; none: cache/runs.")] = None
