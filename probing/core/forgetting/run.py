"""The configuration whose fingerprint names a run that asks for lost facts."""

from probing.core.provenance import Provenance


class ForgettingRunConfig(Provenance):
    """All that decides the numbers of a run; ``seed`` is the first of its seeds.

    Attributes:
        base_weights: identity of the base's weights.
        probe_set, template_set: the facts and their prompts.
        facts_sha256: of the facts that both models can be asked, in their order.
        k: a fact is known if the rank of its answer is <= k.
        seeds: how many, of folds, pairs and relearning.
        folds: parts of the subjects, each of which is held out once.
        most_relearned, most_pairs: facts that a model relearns, and that each yardstick takes, per seed.
        relearning: canonical JSON of the training.
        text_sha256: of the text that the head is fitted to.
        positions: masked pieces of it.
        exposure_sha256: of what is known of the base's training text, by fact; empty if nothing is.
    """

    base_weights: str
    probe_set: str
    template_set: str
    facts_sha256: str
    k: int
    seeds: int
    folds: int
    most_relearned: int
    most_pairs: int
    relearning: str
    text_sha256: str
    positions: int
    exposure_sha256: str = ""
