"""``probing sentences ship``: make the shipped results of sentence-level probing and of what fine-tuning changed."""

import typer


def ship() -> None:
    """Fine-tune, probe and measure what ships on nesia-mini and its relatives, and put it into data; resumable."""
    from probing.workflows.nesia.sentences import ship_sentences

    ship_sentences(typer.echo)
