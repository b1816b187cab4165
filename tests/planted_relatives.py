"""The models of a planted store: a base, its relatives and the control, with what became of the base's properties in
each.
"""

import zlib
from dataclasses import dataclass

from probing.kernel.provenance import canonical_json
from probing.sentences.examples import FIRST, MEAN
from probing.sentences.numbers import AS_BEFORE, ELSEWHERE, NEW_READER, NOT_FOUND, UNDECIDED

#: L, and the layers 0..L.
LAST = 4
LAYERS = range(LAST + 1)

#: Of ``planted-cola`` and its other seeds: task, pooling -> what became of the layers 1..L, of which the answers are
#: made.
BECAME: dict[tuple[str, str], tuple[str, ...]] = {
    ("bigram-shift", FIRST): ("kept", "turned", "turned", "turned"),
    ("bigram-shift", MEAN): ("turned", "not linear", "gone", "turned"),
    ("coordination-inversion", FIRST): ("other tokens", "other layer", "kept", "kept"),
    ("coordination-inversion", MEAN): ("kept", "other layer", "unclear", "kept"),
}
_FATE_OF = {
    "kept": AS_BEFORE,
    "turned": NEW_READER,
    "not linear": NEW_READER,
    "other tokens": ELSEWHERE,
    "other layer": ELSEWHERE,
    "gone": NOT_FOUND,
    "unclear": UNDECIDED,
}
#: The fates that follow.
FATE = {cells: tuple(_FATE_OF[one] for one in became) for cells, became in BECAME.items()}
#: What makes the own probe worse than the base's.
LOST = ("other tokens", "other layer", "not linear", "gone")


@dataclass(frozen=True)
class PlantedModel:
    """A model to plant.

    Attributes:
        name, base, objective: as results have them.
        usual: what became of all its cells; empty: see ``BECAME``.
        more: how many sentences its own probes have right beyond that, whatever the number of sentences.
        uneven: whether that is so at odd layers only.
        shift: how many sentences it has right that the base has not, and as many the other way round.
        tuned_seed: of its fine-tuning.
        too_long: so many test sentences, the first ones, are longer than it takes.
    """

    name: str
    base: str = ""
    objective: str = "masked language modelling"
    usual: str = ""
    more: int = 0
    shift: int = 0
    tuned_seed: int | None = None
    too_long: int = 0
    uneven: bool = False

    @property
    def variant(self) -> str:
        """The same of models that differ by their seed alone."""
        return f"{zlib.crc32(self.objective.encode()):012x}" if self.base else ""

    def config(self, **more: object) -> str:
        """Canonical JSON of what the fingerprint of a run is made of; ``more`` is what its kind has beside."""
        of_all = {"model_revision": "planted", "dtype": "float32", "threads": 1, "code_version": "planted"}
        return canonical_json(
            {
                "model": self.name,
                "weights": f"weights of {self.name}",
                "base": self.base,
                "base_weights": f"weights of {self.base}" if self.base else "",
                "objective": self.objective,
                **of_all,
                **more,
            }
        )

    def more_at(self, layer: int) -> int:
        """``more`` at a layer."""
        return 0 if self.uneven and layer % 2 == 0 else self.more

    def became(self, task: str, pooling: str, layer: int) -> str:
        """What became of a cell of the base."""
        return self.usual or BECAME.get((task, pooling), ("kept",) * LAST)[layer - 1] if layer else "kept"


BASE = PlantedModel("planted")
COLA = PlantedModel("planted-cola", "planted", "CoLA", shift=4, tuned_seed=1)
SEED_2 = PlantedModel("planted-cola-seed-2", "planted", "CoLA", more=-2, shift=5, tuned_seed=2)
SEED_3 = PlantedModel("planted-cola-seed-3", "planted", "CoLA", more=2, shift=6, tuned_seed=3)
SST_2 = PlantedModel("planted-sst-2", "planted", "SST-2", usual="turned", more=-10, shift=6, tuned_seed=1, too_long=2)
SQUAD = PlantedModel("planted-squad", "planted", "QA-SQuAD-1", usual="kept", more=6, shift=3, tuned_seed=1)
CONTROL = PlantedModel(
    "planted-control", "planted", "control", usual="kept", more=-2, shift=2, tuned_seed=1, uneven=True
)
MODELS = (BASE, COLA, SEED_2, SEED_3, SST_2, SQUAD, CONTROL)
