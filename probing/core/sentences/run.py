"""The configuration whose fingerprint names a run of sentence-level probing."""

from probing.core.provenance import Provenance


class SentenceRunConfig(Provenance):
    """All that decides the numbers of a run; ``data`` is ``SentenceData.sha256``, the base is of a fine-tuned model
    only.
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
