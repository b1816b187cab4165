"""BERT on this machine: how long it takes to ask it what the pages show, and what of that is given on."""

from functools import cache
from pathlib import Path

from probing.facts.sources import read_facts
from probing.kernel.errors import Say
from probing.kernel.fact import PHRASES, shipped_relations
from probing.kernel.models.names import BERT
from probing.own_model.check import CheckedModel
from probing.own_model.run import SAMPLE, TREX, bert_folder

SHAPE = CheckedModel("bert", 12, 768, 3072, 30_522, "", has_vocabulary=True, file_bytes=440_000_000)
#: Probes that cost as much as one fact: ranked among candidates, and of the sample, of which both groups are full.
_AMONG, _CARRIED = 5, 30


@cache
def expected() -> tuple[float, ...]:
    """Seconds of each question of ``run.SHOWN_OF_BERT`` on this machine's processor, roughly."""
    sizes = {
        one.probe_set: len(one.facts) for name in ("all", PHRASES) for one in read_facts(name, shipped_relations())
    }
    longer = sizes.pop(PHRASES)
    return tuple(
        SHAPE.seconds(facts) for facts in (sum(sizes.values()), _AMONG * longer, sizes[TREX] + 2 * SAMPLE * _CARRIED)
    )


def share(folder: Path, say: Say) -> None:
    """Writes a share of BERT's answers to the shipped facts, which ``pull`` takes without its weights."""
    from probing.sharing.push import PushRequest, push

    push(PushRequest("predictions", BERT, to_folder=folder, runs=(bert_folder(),)), say)
