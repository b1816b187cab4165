"""The configuration whose fingerprint names a run on facts."""

from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from probing.core.head_kinds import canonical_head, configured_head
from probing.core.provenance import Provenance


class RunConfig(Provenance):
    """Everything that decides the result of a run on facts; its fingerprint is the run's id.

    ``head`` is one of ``HEADS``; in the JSON that the id is made from it has its name of versions up to 0.6 (``configured_head``).
    """

    head: Annotated[str, BeforeValidator(canonical_head), PlainSerializer(configured_head)]
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
