"""``probing probe``: probe every layer of a model with every fact, and store the predictions."""

import typer

from probing.facts.requests import ProbeRequest
from probing.kernel.commands import command


@command(ProbeRequest)
def probe(request: ProbeRequest) -> None:
    """Probe every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.

    A killed run resumes under any executor: the fingerprint and the bytes do not depend on the executor.
    """
    from probing.facts import probe as workflow

    workflow.probe(request, typer.echo)
