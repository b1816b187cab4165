"""The configuration whose fingerprint names a run that asks for lost facts."""

from probing.core.provenance import Provenance


class ForgettingRunConfig(Provenance):
    """All that decides the numbers of a run; ``seed`` is the first of its seeds.

    Attributes:
        base_weights: identity of the base's weights.
        probe_set, template_set: the facts and their prompts.
        facts_sha256: of the facts that both models can be asked, in their order.
        k: a fact is known if the rank of its answer is <= k.
        seeds: how many, of parts and relearning.
        most_relearned, most_pairs: facts that a model relearns, and that each yardstick takes.
        relearning: canonical JSON of the training.
        text_sha256: of the text that the head is fitted to.
        positions: masked pieces of it.
        exposure_sha256: of what is known of the base's training text, by fact; empty if nothing is.
        other_templates: template set of the other wording in which lost facts are asked once more; empty: none.
        other_sha256: of the facts in that wording.
        planted: facts that the base was taught before the same fine-tuning was done again; 0: none.
    """

    base_weights: str
    probe_set: str
    template_set: str
    facts_sha256: str
    k: int
    seeds: int
    most_relearned: int
    most_pairs: int
    relearning: str
    text_sha256: str
    positions: int
    exposure_sha256: str = ""
    other_templates: str = ""
    other_sha256: str = ""
    planted: int = 0
