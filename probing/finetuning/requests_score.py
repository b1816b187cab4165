"""Which fine-tuned model is scored again, and on what."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from probing.kernel.options import Option, Options
from probing.kernel.requests import ModelName


@dataclass(frozen=True)
class ScoreRequest(Options):
    """A model that ``finetune`` made, and the data. Every field's annotation has its description."""

    model: ModelName
    _: KW_ONLY
    base: Annotated[str | None, Option("Model that it was fine-tuned from; none: the recorded one.")] = None
    data: Annotated[Path | None, Option("Folder of the data set (control: a text file); none: the fetched one.")] = None
    lama: Annotated[
        Path | None, Option("For the control of nesia-mini: LAMA folder of nesia-mini's training text.")
    ] = None
    device: Annotated[str, Option("auto or cpu.", known=("auto", "cpu"))] = "auto"
