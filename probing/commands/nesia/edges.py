"""``probing edges ship``: make the shipped results of edge probing."""

import typer


def ship() -> None:
    """Train the shipped probes of edge probing on nesia-mini, its random twin and its relatives, and store them in data; resumable."""
    from probing.workflows.nesia.edges import ship_edges

    ship_edges(typer.echo)
