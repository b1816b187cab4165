"""How long it takes to ask BERT what the pages show, before it is here."""

from functools import cache

from probing.facts.sources import shipped_sizes
from probing.kernel.fact import PHRASES
from probing.own_model.check import CheckedModel
from probing.own_model.run import SAMPLE, TREX

SHAPE = CheckedModel("bert", 12, 768, 3072, 30_522, "", has_vocabulary=True, file_bytes=440_000_000)
#: Probes that cost as much as one fact: ranked among candidates, and of the sample, of which both groups are full.
_AMONG, _CARRIED = 5, 30


@cache
def expected() -> tuple[float, ...]:
    """Seconds of each question of ``run.SHOWN_OF_BERT`` on this machine's processor, roughly."""
    sizes = shipped_sizes()
    longer = sizes[PHRASES]
    questions = sum(sizes.values()) - longer, _AMONG * longer, sizes[TREX] + 2 * SAMPLE * _CARRIED
    return tuple(map(SHAPE.seconds, questions))
