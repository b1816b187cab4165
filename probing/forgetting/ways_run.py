"""The configuration whose fingerprint names a run that asks for lost facts."""

from probing.kernel.provenance import Provenance


class ForgettingRunConfig(Provenance):
    """All that decides the numbers of a run; ``seed`` is the first of its seeds, of parts and relearning."""

    base_weights: str
    probe_set: str
    template_set: str
    facts_sha256: str
    k: int
    seeds: int
    most_relearned: int
    #: Facts that each yardstick takes.
    most_pairs: int
    relearning: str
    #: Of the text that the head is fitted to, of which ``positions`` pieces are masked.
    text_sha256: str
    positions: int
    #: Of what is known of the base's training text, by fact; empty if nothing is.
    exposure_sha256: str = ""
    #: Template set in whose wording lost facts are asked once more; empty: none.
    other_templates: str = ""
    other_sha256: str = ""
    #: Facts that the base was taught before the same fine-tuning was done again.
    planted: int = 0
