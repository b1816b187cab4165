"""The configuration whose fingerprint names a run of measurements before and after fine-tuning."""

from probing.core.provenance import Provenance


class ChangeRunConfig(Provenance):
    """All that decides the numbers of a run.

    Attributes:
        base_weights: identity of the base's weights; empty for a model that is measured alone.
        sentences_sha256: of the sentences for attention and similarity, in their order.
        sentences: how many were given.
        blocks_sha256: of the masked blocks, as token ids; empty if perplexity is not measured.
        blocks, block_pieces: how many, and of how many word pieces each.
        replaced: whether perplexity is also measured with layers replaced by the base's.
    """

    base_weights: str
    sentences_sha256: str
    sentences: int
    blocks_sha256: str
    blocks: int
    block_pieces: int
    replaced: bool = True
