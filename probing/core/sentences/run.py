"""The configuration whose fingerprint names a run of sentence-level probing."""

from probing.core.provenance import Provenance


class SentenceRunConfig(Provenance):
    """All that decides the numbers of a run.

    Attributes:
        task: name of the task.
        data: ``SentenceData.sha256``.
        protocol: how its sentences became parts, and how probes are fitted.
        poolings, readings, portions: which probes there are.
        codes: whether the online code was computed.
        base_weights, base_configuration: of the base that a fine-tuned model is compared with; empty for a base.
    """

    task: str
    data: str
    protocol: str
    poolings: tuple[str, ...]
    readings: tuple[str, ...]
    portions: tuple[int, ...]
    codes: bool
    base_weights: str = ""
    base_configuration: str = ""
