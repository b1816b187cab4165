"""The configuration whose fingerprint names a run of measurements before and after fine-tuning."""

from probing.kernel.provenance import Provenance


class ChangeRunConfig(Provenance):
    """All that decides a run's numbers; ``base_weights`` is empty for one model, ``blocks_sha256`` if not masked."""

    base_weights: str
    sentences_sha256: str
    sentences: int
    blocks_sha256: str
    blocks: int
    #: Word pieces of each block.
    block_pieces: int
    #: Whether perplexity is also measured with layers replaced by the base's.
    replaced: bool = True
