"""The configuration whose fingerprint names a series: the states of one training, asked for the same facts."""

from probing.kernel.provenance import Provenance

#: What reads the layers.
OWN_HEAD, HEAD_OF_THE_BASE = "the model's own head", "the base's head"


class SeriesRunConfig(Provenance):
    """All that decides the counts of a series; ``weights`` are the last state's, ``seed`` is 0: nothing is trained.

    A training whose weights were not kept is identified by ``variant`` and ``tuned_seed``, as in the row of the run.
    """

    base_weights: str
    #: Of each state, as canonical JSON by step; empty for a training that was asked while it ran.
    state_weights: str = ""
    steps: tuple[int, ...]
    asked_layers: tuple[int, ...]
    probe_set: str
    template_set: str
    #: Of the facts in their order, with prompts and answer tokens.
    facts_sha256: str
    protection: str = ""
    variant: str = ""
    tuned_seed: int = 0
