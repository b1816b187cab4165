"""The configuration whose fingerprint names a run of sentence-level probing."""

from probing.kernel.provenance import Provenance


class SentenceRunConfig(Provenance):
    """All that decides a run's numbers; ``data`` is ``SentenceData.sha256``, the base a fine-tuned model's."""

    task: str
    data: str
    protocol: str
    poolings: tuple[str, ...]
    readings: tuple[str, ...]
    portions: tuple[int, ...]
    codes: bool
    base_weights: str = ""
    base_configuration: str = ""
