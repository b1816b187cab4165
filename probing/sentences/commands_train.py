"""``probing sentences train``: probes for every layer, pooling and task."""

import typer

from probing.kernel.commands import command
from probing.sentences.requests import SentencesRequest


@command(SentencesRequest)
def train(request: SentencesRequest) -> None:
    """Train probes of every layer for whole sentences, also for a fine-tuned model's base; resumable, does nothing the
    second time.

    A task needs its data set: see `fetch`. A fine-tuned model is read by its own probes and by its base's: unchanged,
        on its own
    scale, and on top of a linear map without labels.
    """
    from probing.sentences.train_train import train_sentences

    train_sentences(request, typer.echo)
