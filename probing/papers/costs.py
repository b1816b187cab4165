"""What long commands cost at BERT-base's size, as measured, and the sum of those of a plan."""

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from probing.kernel.provenance import Frozen


class Cost(Frozen):
    """A command at BERT-base's size on two cores, float32: how it was measured, and the whole of it."""

    command: str
    #: How much of it was run, with its time.
    measured: str
    #: What the whole is, to which the measured part was extrapolated.
    whole: str
    hours: float
    #: Most gigabytes of memory, and gigabytes on disk while it works.
    memory: float
    disk: float


@cache
def costs() -> Mapping[str, Cost]:
    """Name, as ``reproduce`` calls a part of its work -> its cost, in the order of the table of docs/scale.md."""
    rows = tomllib.loads(Path(__file__).with_name("costs.toml").read_text(encoding="utf-8"))
    return {name: Cost.model_validate(row) for name, row in rows.items()}


def in_words(parts: Collection[str]) -> list[str]:
    """Lines on hours, memory and disk of these parts, one for each time that a name occurs, done one by one."""
    if not parts:
        return []
    each = {name: n * costs()[name].hours for name, n in Counter(parts).items()}
    largest = ", ".join(f"{name} {hours:,.1f}" for name, hours in sorted(each.items(), key=lambda of: -of[1])[:4])
    return [
        "in all, if the models have BERT-base's size, with the papers' settings on two cores (docs/scale.md):",
        f"  hours: about {sum(each.values()):,.0f} ({largest})",
        f"  memory: {max(costs()[name].memory for name in parts):.1f} GB",
        f"  disk: {sum(costs()[name].disk for name in parts):.1f} GB",
    ]
