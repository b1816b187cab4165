"""The configuration whose fingerprint names a series: the states of one training, asked for the same facts."""

from probing.core.provenance import Provenance

#: What reads the layers.
OWN_HEAD, HEAD_OF_THE_BASE = "the model's own head", "the base's head"


class SeriesRunConfig(Provenance):
    """All that decides the counts of a series.

    ``weights`` are those of the last state, and ``seed`` is 0, as nothing is trained to read it.

    Attributes:
        base_weights: identity of the weights before the training.
        state_weights: identity of the weights of each state, by step, as canonical JSON; empty for a training that was
            asked while it ran.
        steps: training steps of the states, the first of which is the model before the training.
        asked_layers: the layers that were asked.
        probe_set, template_set: of the facts.
        facts_sha256: of the facts in their order, with prompts and answer tokens.
        protection: what the training did against forgetting, in words.
        variant, tuned_seed: as in the row of the run; a training whose weights were not kept is identified by them.
    """

    base_weights: str
    state_weights: str = ""
    steps: tuple[int, ...]
    asked_layers: tuple[int, ...]
    probe_set: str
    template_set: str
    facts_sha256: str
    protection: str = ""
    variant: str = ""
    tuned_seed: int = 0
