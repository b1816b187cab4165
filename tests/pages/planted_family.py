"""A base, a model fine-tuned from it and a control, in which the fate of every fact is planted."""

from tests.planted_store import PlantedRun

#: Number of the fact -> rank at layers 0 to 3 in the fine-tuned model; its base has the facts 0 to 5 first at the last
#: layer.
FATES = {
    0: ("kept", (300, 20, 5, 1)),
    1: ("still_inside", (300, 20, 1, 50)),
    2: ("suppressed", (300, 200, 60, 50)),
    3: ("displaced", (300, 80, 200, 250)),
    4: ("not_read", (300, 200, 200, 250)),
    5: ("moved", (300, 1, 200, 250)),
    6: ("gained", (300, 200, 20, 1)),
    7: ("never", (300, 200, 200, 250)),
    8: ("never", (300, 200, 200, 250)),
    9: ("never", (300, 200, 200, 250)),
}


def base_rank(number: int, layer: int) -> int:
    return 1 if number < 6 and layer >= 2 else 200


def tuned_rank(number: int, layer: int) -> int:
    return FATES[number][1][layer]


FAMILY = (
    PlantedRun(rank=base_rank),
    PlantedRun(model="nesia-mini-qa-squad-1", base="nesia-mini", objective="QA-SQuAD-1", rank=tuned_rank),
    PlantedRun(model="nesia-mini-control", base="nesia-mini", objective="control", rank=base_rank),
)
