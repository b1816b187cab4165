"""``probing edges train``: probes for every layer and task."""

import typer

from probing.edges.requests_edges import EdgesRequest
from probing.kernel.commands import command


@command(EdgesRequest)
def train(request: EdgesRequest) -> None:
    """Train probes of every layer for edge probing tasks and store their predictions; resumable, does nothing the
    second time.

    A task needs its data set: see `fetch`. Without options, cumulative probes P(0)..P(L) with one seed.
    """
    from probing.edges.train_train import train_edges

    train_edges(request, typer.echo)
