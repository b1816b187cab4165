"""Which facts are probed and which sentence is asked; the configuration whose fingerprint names a run on facts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from probing.facts.swapped_subjects import WITHOUT_THE_ANSWER
from probing.kernel import fact
from probing.kernel.errors import HeadError, OptionError
from probing.kernel.files import runs_folder
from probing.kernel.models.names import LOGIT_LENS, canonical_head, listed
from probing.kernel.options import Option, spelled
from probing.kernel.requests import SHIPPED, FactsConfig, ModelName, OfModel, StoredRuns

#: Formats of the numbers of a body; its head computes in float32, or in float64 with it.
DTYPES = ("float32", "float64", "bfloat16")
#: What is asked of the right answer: its rank in the vocabulary if it is one token; its rank among candidates of any
#: number of tokens, by the log-likelihood of its tokens; or whether the model goes by what a layer shows of it.
MEASURES = ("vocabulary", "independent", "answer_l2r", "within_word_l2r", "carried")
VOCABULARY, INDEPENDENT, ANSWER_L2R, WITHIN_WORD_L2R, CARRIED = MEASURES
#: The measures that rank candidates.
AMONG_CANDIDATES = (INDEPENDENT, ANSWER_L2R, WITHIN_WORD_L2R)


class RunConfig(FactsConfig):
    """Everything that decides the result of a run on facts."""

    top_k: int
    compact: bool = False
    #: Rule that selects the swapped subjects; empty in compact runs.
    lenders: str = ""


class CandidateRunConfig(FactsConfig):
    """Everything that decides the result of a run that ranks candidates."""

    measure: str
    candidates_sha256: str
    #: Of left to right: how many of the best candidates by ``independent`` are scored.
    best: int


Head = Annotated[str | None, Option(f"{listed()}; none: tied or, if none are trained, logit_lens.")]


class CarriedRunConfig(FactsConfig):
    """Everything that decides the result of a run on whether the model goes by what its layers show."""

    #: Checksum of each fact's group, host and third fact.
    hosts_sha256: str
    #: The most facts of each group.
    sample: int


@dataclass(frozen=True)
class ProbeRequest(StoredRuns):
    """The model, the facts, and how they are probed. The model of a notebook that has no folder is called ``""``."""

    facts: Annotated[
        str,
        Option(f"{', '.join(fact.SHIPPED)}, all; {', '.join(fact.FETCHED)}; a LAMA folder; or a table."),
    ] = "all"
    head: Head = None
    called: Annotated[
        str | None, Option("Name of the probe set of your own facts; none: the file's name.", names=("--as",))
    ] = None
    out: Annotated[Path | None, Option("Folder of the runs; none: cache/runs.")] = field(default=None, kw_only=True)
    templates: Annotated[str | None, Option("Template set; none: a LAMA folder's own, else default.")] = None
    top: Annotated[int, Option("Number of best tokens to keep per fact and layer.", least=1)] = 10
    seed: Annotated[int, Option("Seed of the heads; from 1 on a replicate, of the last layer only.", least=0)] = 0
    dtype: Annotated[str, Option("Numbers of the body.", known=DTYPES)] = "float32"
    shard: Annotated[int, Option("Facts per shard; a killed run repeats the shards in progress.", least=1)] = 2048
    compact: Annotated[bool, Option("A third of the size: rounded, best token only, no swapped subject.")] = False
    measure: Annotated[
        str,
        Option(
            "vocabulary: the answer's rank among all tokens, if it is one token. Answers of any number of tokens are"
            " ranked among candidates: independent (its tokens are masked together), answer_l2r (left to right through"
            " the answer), within_word_l2r (left to right through each word). carried: whether the model goes by what a"
            " layer shows, on a sample of the facts.",
            known=MEASURES,
        ),
    ] = VOCABULARY
    sample: Annotated[int, Option("Facts for carried, over all relations.", least=1)] = 1000
    candidates: Annotated[
        Path | None, Option("File with the candidates, one per line; none: the answers of the relation.")
    ] = None
    progress: bool = True

    def check(self) -> None:
        """Raises an error for options that exclude each other; gives the kind of heads its usual name."""
        if self.measure not in AMONG_CANDIDATES and self.candidates:
            raise OptionError(
                f"got {spelled('candidates', self.candidates)} with {spelled('measure', self.measure)}; candidates are"
                f" ranked with {spelled('measure')} {', '.join(AMONG_CANDIDATES)}"
            )
        if self.measure != VOCABULARY:
            for name in ("compact", "top"):
                if getattr(self, name) != getattr(type(self), name):
                    raise OptionError(
                        f"got {spelled(name)} with {spelled('measure', self.measure)}, which keeps no best tokens;"
                        f" leave {spelled(name)} out"
                    )
        if self.head is not None:
            object.__setattr__(self, "head", canonical_head(self.head))
        if self.measure == CARRIED:
            if self.head not in (None, LOGIT_LENS):
                raise OptionError(
                    f"got {spelled('head', self.head)} with {spelled('measure', CARRIED)}, where the model's own head"
                    f" reads; leave {spelled('head')} out"
                )
            object.__setattr__(self, "head", LOGIT_LENS)
        if self.head == LOGIT_LENS and self.seed:
            raise HeadError(
                f"got seed {self.seed} for {LOGIT_LENS}: it is not trained, so it has no other seed; leave"
                f" {spelled('seed')} out"
            )

    @property
    def swapped_rule(self) -> str:
        """Rule of ``facts.swapped_subjects`` that chooses the swapped subjects; empty for none."""
        return "" if self.compact else WITHOUT_THE_ANSWER

    @property
    def target(self) -> Path:
        return self.out or runs_folder()


@dataclass(frozen=True, kw_only=True)
class AskRequest(OfModel):
    """One sentence with a mask, and the model."""

    prompt: Annotated[str, Option("A sentence with one gap, written [MASK], <mask> or ___.", argument=True)]
    model: ModelName = SHIPPED
    head: Head = None
    top: Annotated[int, Option("Top-k per layer.", least=1)] = 10
    watch: Annotated[tuple[str, ...], Option("A word of up to five tokens to follow; repeatable.", repeated=True)] = ()
    mask: Annotated[int | None, Option("Which of several masks to read, from 0.")] = None
    pieces: Annotated[
        int | None,
        Option("Tokens that fill the gap; none: as many as the first followed word has, else 1.", least=1, most=5),
    ] = None

    def check(self) -> None:
        """Gives the kind of heads its usual name."""
        if self.head is not None:
            object.__setattr__(self, "head", canonical_head(self.head))
