"""What is measured before and after fine-tuning."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from probing.kernel.options import Option
from probing.kernel.requests import StoredRuns


@dataclass(frozen=True)
class ChangesRequest(StoredRuns):
    """The model to measure, and the text. A model without a base is measured alone."""

    base: Annotated[str | None, Option("Model that it was fine-tuned from; none: the recorded one.")] = field(
        default=None, kw_only=True
    )
    blocks: Annotated[int, Option("Blocks of WikiText-2's test text for perplexity; 0: no perplexity.", least=0)] = 300
    replaced: Annotated[bool, Option("Also measure perplexity with layers put back, most of the work.")] = True
    sentences: Annotated[int, Option("Maximum number of sentences for attention and similarity.", least=2)] = 400
    text: Annotated[Path | None, Option("File with one sentence per line; none: WikiText-2's test text.")] = None
    seed: Annotated[int, Option("Seed of blocks, masks and intervals.", least=0)] = 0
