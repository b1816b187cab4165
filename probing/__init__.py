"""BERTnesia Explorer: what every layer of a language model knows, and what fine-tuning made it forget.

Two functions are the whole entry for a notebook: ``load`` opens a model that can be asked, ``results`` opens what is stored. Importing the
package loads no heavy library; the two functions load what they need when they are called.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from probing.api.model import Model
    from probing.api.results import Results
    from probing.models.encoders.load import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["__version__", "load", "results"]
__version__ = "0.6.0"


def load(
    model: "str | Path | PreTrainedModel",
    head: str = "tied",
    *,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    base: str | None = None,
    device: str = "auto",
    name: str | None = None,
) -> "Model":
    """Opens a masked language model whose every layer can be asked."""
    from probing.api.model import open_model

    return open_model(model, head, tokenizer=tokenizer, base=base, device=device, name=name)


def results() -> "Results":
    """Opens the stored results, the same that the pages show."""
    from probing.api.results import Results

    return Results()
