"""``probing changes measure``: attention, perplexity and similarity of states before and after fine-tuning."""

import typer

from probing.changes.requests import ChangesRequest
from probing.kernel.commands import command


@command(ChangesRequest)
def measure(request: ChangesRequest) -> None:
    """Measure attention, perplexity and similarity of states of a model and its base; resumable, does nothing the
    second time.

    It needs WikiText-2's raw test text: `fetch wikitext-2-raw` downloads it. A model that was not fine-tuned is
    measured alone.
    """
    from probing.changes.measure_run import measure_changes

    measure_changes(request, typer.echo)
