"""The configuration whose fingerprint names a run on facts."""

from typing import Annotated

from pydantic import PlainSerializer

from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.provenance import Provenance


class RunConfig(Provenance):
    """Everything that decides the result of a run on facts; ``head`` is one of ``HEADS``."""

    #: In the JSON that ids are made from, the logit lens is called ``lens``: stored runs keep their ids.
    head: Annotated[str, PlainSerializer(lambda head: "lens" if head == LOGIT_LENS else head)]
    probe_set: str
    template_set: str
    facts_sha256: str
    top_k: int
    shard: int
    compact: bool = False
    #: Rule that selects the swapped subjects; empty in compact runs.
    lenders: str = ""

    @property
    def run_id(self) -> str:
        """Its fingerprint."""
        return self.fingerprint
