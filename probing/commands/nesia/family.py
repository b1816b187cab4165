"""``probing sentences ship``: make the shipped results of sentence-level probing and of the effects of fine-tuning."""

import typer


def ship() -> None:
    """Fine-tune, probe and measure the shipped relatives of nesia-mini, and store the results in data; resumable."""
    from probing.workflows.nesia.family import ship_sentences

    ship_sentences(typer.echo)
