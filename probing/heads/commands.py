"""``probing train-heads``: a decoding head for every layer."""

import typer

from probing.heads.requests import HeadsRequest
from probing.kernel.commands import command


@command(HeadsRequest)
def train_heads(request: HeadsRequest) -> None:
    """Train a head for every layer by masked language modelling; resumable, best checkpoint from step 0 on.

    Settings that are not given are those of the heads in the folder, finished or not; in an empty folder, the usual
    ones.

    Replicates measure what a union over re-trained heads of the last layer finds by chance, for comparison with the
    union over layers.
    """
    from probing.heads.training_run import train_all_heads

    train_all_heads(request, typer.echo)
