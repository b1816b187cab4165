"""Planted runs that rank candidates: which place the right answer has at a layer, and how many share it."""

from dataclasses import dataclass
from pathlib import Path

from probing.facts.requests import INDEPENDENT
from probing.kernel.fact import Fact
from probing.kernel.provenance import fingerprint_of
from tests.planted_files import Rows, write_planted
from tests.planted_relatives import BASE, COLA, LAYERS, PlantedModel

ANSWERS = ("New York City", "Paris", "Rome", "Rio de Janeiro", "Berlin")
PIECES = (3, 1, 1, 4, 1)
FACTS = [
    Fact("cities", relation, f"{relation}-{number}", ANSWERS[number % 5], "", f"{relation} {number} is in [MASK].")
    for number, relation in enumerate(["river"] * 6 + ["tower"] * 3)
]


@dataclass(frozen=True)
class PlantedRanking:
    """A run to plant."""

    model: PlantedModel = BASE
    measure: str = INDEPENDENT

    @property
    def config(self) -> str:
        """Canonical JSON of what the fingerprint is made of."""
        return self.model.config(head_recipe="{}", seed=0, head="tied", probe_set="cities", measure=self.measure)

    @property
    def run_id(self) -> str:
        """Fingerprint of the run."""
        return fingerprint_of(self.config)


def rank_of(number: int, layer: int) -> tuple[float, int]:
    """Rank of a fact's right answer among its candidates, and how many tie at it: the higher the layer the better."""
    place = max(1, 1 + number % 5 - layer)
    return (1.5, 2) if place == 1 and number % 4 == 3 else (place, 1)


def filtered_of(number: int) -> int:
    """How many other right answers a fact's prompt has; only those of a high rank leave room."""
    return int(number % 5 == 0)


def rows_of(run: PlantedRanking) -> Rows:
    """Table -> rows of a run."""
    row = {
        "run_id": run.run_id,
        "model": run.model.name,
        "model_revision": "planted",
        "base": run.model.base,
        "objective": run.model.objective,
        "head": "tied",
        "seed": 0,
        "measure": run.measure,
        "template_set": "default",
        "probe_set": "cities",
        "candidates_file": None,
        "best": 0 if run.measure == INDEPENDENT else 50,
        "layers": len(LAYERS),
        "n_read": len(FACTS) + 2,
        "n_probed": len(FACTS),
        "left_out": '{"candidates": {"duplicate": 1}, "facts": {"not exactly one mask": 2}}',
        "dtype": "float32",
        "device": "cpu",
        "code_version": "planted",
        "created": "2026-01-01T00:00:00+00:00",
        "config": run.config,
    }
    facts, ranks = [], []
    for number, fact in enumerate(FACTS):
        pieces = PIECES[ANSWERS.index(fact.object)]
        facts.append(
            {name: getattr(fact, name) for name in ("fact_id", "relation", "subject", "object", "prompt")}
            | {"run_id": run.run_id, "answer_in_subject": False, "pieces": pieces}
            | {"candidates": 5 - filtered_of(number), "filtered": filtered_of(number)}
            # Another right answer of the prompt is the longest one.
            | {"fewer_pieces": {1: 0, 3: 3, 4: 4}[pieces], "equal_pieces": {1: 3, 3: 1, 4: 1}[pieces]}
        )
        for layer in LAYERS:
            rank, tied = rank_of(number, layer)
            ranks.append(
                {"run_id": run.run_id, "fact_id": fact.fact_id, "layer": layer, "rank": rank, "tied": tied}
                | {"log_likelihood": -rank, "best": fact.object if rank == 1 else "Oslo"}
                | {"alone_log_likelihood": -9.0, "alone_rank": 1 + number % 2, "alone_tied": 1}
                | {"pmi_rank": 2, "pmi_tied": 3}
            )
    return {"candidate_runs": [row], "candidate_facts": facts, "candidate_ranks": ranks}


def plant_candidates(folder: Path) -> Path:
    """Plants runs of a base by two measures, and of a fine-tuned model."""
    for run in (PlantedRanking(), PlantedRanking(measure="answer_l2r"), PlantedRanking(COLA)):
        write_planted(folder, run.run_id, None, rows_of, run)
    return folder
