"""Which stored models correspond to the paper's: a base with its fine-tuned models, and other encoders of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from probing.changes.store import change_runs
from probing.finetuning.objectives import CONTROL
from probing.finetuning.relatives import named, relatives
from probing.kernel.store.database import Database
from probing.sentences.examples import OURS, QUICK, SENTEVAL
from probing.sentences.published import PublishedSentences
from probing.sentences.store import sentence_runs

#: Objectives of the paper, by their names in results, and CoLA fine-tuned on the mean over all tokens.
COLA, SST, RTE, SQUAD, COLA_MEAN = "CoLA", "SST-2", "RTE", "QA-SQuAD-1", "CoLA (mean)"
TUNED = (COLA, SST, RTE, SQUAD)
#: Objectives that are compared with the paper: its own, CoLA on the mean, and the control.
OBJECTIVES = (*TUNED, COLA_MEAN, CONTROL)
_NAMES = ["model", "base", "objective", "variant", "tuned_seed"]


@dataclass(frozen=True)
class SentenceFamily:
    """A base with the model that stands for each objective, and the protocol of its probes (``ours`` without any)."""

    base: str
    members: Mapping[str, str]
    depth: int
    protocol: str = OURS

    @property
    def models(self) -> tuple[str, ...]:
        return (self.base, *self.members.values())


def families_here(db: Database) -> dict[str, SentenceFamily]:
    """Bases with probes of the paper's tasks or with measured changes, those with most models first."""
    probed, measured = named(sentence_runs(db)), named(change_runs(db))
    probed = probed[probed["task"].isin(PublishedSentences.read().tasks)]
    models = pd.concat([probed, measured])
    stands = relatives(models).stands if len(models) else {}
    bases = sorted(set(models.loc[models["base"].eq(""), "model"]) | (set(models["base"]) - {""}))
    families = [
        SentenceFamily(base, _members(models, base, stands), _depth(models, base), _protocol(probed, base))
        for base in bases
    ]
    return {family.base: family for family in sorted(families, key=lambda family: (-len(family.members), family.base))}


def _members(models: pd.DataFrame, base: str, stands: Mapping[str, str]) -> dict[str, str]:
    tuned = models[models["base"].eq(base)].drop_duplicates("model")
    tuned = tuned[tuned["model"].map(stands).eq(tuned["model"])].sort_values("model")
    first = tuned.drop_duplicates("objective").set_index("objective")["model"]
    return {objective: str(first[objective]) for objective in OBJECTIVES if objective in first.index}


def _depth(models: pd.DataFrame, base: str) -> int:
    return int(models.loc[models["model"].eq(base) | models["base"].eq(base), "layers"].max()) - 1


def _protocol(probed: pd.DataFrame, base: str) -> str:
    """The protocol by which most of the base's and its children's tasks were probed; of several the larger one."""
    counts = probed.loc[probed["model"].eq(base) | probed["base"].eq(base), "protocol"].value_counts()
    return max(
        (OURS, SENTEVAL, QUICK),
        key=lambda protocol: (int(counts.get(protocol, 0)), -(OURS, SENTEVAL, QUICK).index(protocol)),
    )
