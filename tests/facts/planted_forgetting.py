"""A base and a fine-tuned model with known truth: every fact's fate is written here, not computed."""

from dataclasses import dataclass
from pathlib import Path

from probing.kernel.fact import Fact, fill
from tests.planted_store import PlantedRun, plant_store

KS = (1, 10, 100)
_TEMPLATES = {"P19": "[X] was born in [Y] .", "P36": "The capital of [X] is [Y] ."}


@dataclass(frozen=True)
class Case:
    """Facts with the same ranks.

    Attributes:
        copies: how many facts.
        base, model: ranks of layers 0 to 4 in base and fine-tuned model.
        truth: their fates for k = 1, 10 and 100.
    """

    copies: int
    base: tuple[int, ...]
    model: tuple[int, ...]
    truth: tuple[str, str, str]


CASES = (
    Case(7, (9, 9, 9, 9, 1), (9, 9, 9, 9, 1), ("kept", "kept", "kept")),
    Case(3, (9, 9, 9, 9, 5), (9, 9, 9, 9, 1), ("gained", "kept", "kept")),
    Case(4, (300, 300, 1, 40, 1), (300, 300, 1, 40, 30), ("still_inside", "still_inside", "kept")),
    Case(2, (300, 300, 300, 1, 1), (300, 300, 1, 300, 500), ("moved", "moved", "moved")),
    # First at the embeddings and the last layer of the base: neither is an inner layer.
    Case(1, (1, 300, 300, 300, 1), (1, 200, 1, 200, 200), ("moved", "moved", "moved")),
    Case(5, (300, 300, 300, 300, 1), (300, 300, 300, 50, 100), ("suppressed", "suppressed", "kept")),
    Case(3, (300, 300, 300, 300, 1), (300, 300, 100, 300, 101), ("displaced", "displaced", "displaced")),
    Case(2, (1, 300, 300, 300, 1), (1, 101, 101, 101, 101), ("not_read", "not_read", "not_read")),
    Case(6, (300, 300, 300, 300, 10), (300, 300, 300, 300, 11), ("never", "suppressed", "kept")),
    Case(3, (300, 300, 300, 300, 100), (300, 20, 300, 300, 101), ("never", "never", "displaced")),
    Case(2, (300, 300, 300, 300, 101), (300, 300, 300, 300, 100), ("never", "never", "gained")),
    Case(8, (300, 300, 300, 300, 400), (300, 300, 300, 300, 400), ("never", "never", "never")),
)


@dataclass(frozen=True)
class Planted:
    """One fact that both models are probed on."""

    fact: Fact
    case: Case
    exposure: str

    def truth(self, k: int) -> str:
        """Its fate."""
        return self.case.truth[KS.index(k)]


def _fact(relation: str, subject: str) -> Fact:
    template = _TEMPLATES[relation]
    return Fact("trex", relation, subject, "paris", template, fill(template, subject))


def planted() -> tuple[Planted, ...]:
    """All facts: even copies of a case are births and stated, odd ones capitals and unseen; the first has its answer in
    its subject.
    """
    found = []
    for number, case in enumerate(CASES):
        for copy in range(case.copies):
            relation, exposure = ("P19", "stated") if copy % 2 == 0 else ("P36", "unseen")
            name = f"Paris {number}" if copy == 0 else f"Subject {number} {copy}"
            found.append(Planted(_fact(relation, name), case, exposure))
    return tuple(found)


FACTS = planted()
#: Facts that only one of the models is probed on.
ONLY_BASE = (_fact("P19", "Base only"),)
ONLY_MODEL = (_fact("P36", "Model only 1"), _fact("P36", "Model only 2"))
EXPOSURE = {f"{one.fact.relation}\t{one.fact.subject}\t{one.fact.object}": one.exposure for one in FACTS}

BASE = PlantedRun(
    layers=5,
    objective="pre-training",
    facts=(*(one.fact for one in FACTS), *ONLY_BASE),
    rank=lambda number, layer: FACTS[number].case.base[layer] if number < len(FACTS) else 1,
)
MODEL = PlantedRun(
    model="nesia-mini-qa-squad-1",
    base="nesia-mini",
    objective="QA-SQuAD-1",
    layers=5,
    facts=(*(one.fact for one in FACTS), *ONLY_MODEL),
    rank=lambda number, layer: FACTS[number].case.model[layer] if number < len(FACTS) else 1,
)
RUNS = (BASE, MODEL)


def plant(folder: Path) -> Path:
    """Builds the store; returns the folder for ``open_database``."""
    return plant_store(folder, RUNS, EXPOSURE)
