"""A model in a notebook: ask one sentence, probe facts, ask words of a sentence, ask a whole sentence."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from probing.models.encoders.load import Encoder
from probing.models.knowledge.ask import LiveModel

if TYPE_CHECKING:
    from probing.api.sentence import SentenceAnswer
    from probing.api.spans import SpanAnswer
    from probing.models.encoders.load import PreTrainedModel, PreTrainedTokenizerBase


class Model:
    """An encoder with a decoding head for every layer, ready to be asked."""

    def __init__(self, live: LiveModel):
        self.live = live

    @property
    def name(self) -> str:
        """How results call the model."""
        return self.live.encoder.name

    @property
    def head(self) -> str:
        """The kind of the decoding heads that read its layers."""
        return self.live.kind

    @property
    def encoder(self) -> Encoder:
        """The encoder with its tokenizer."""
        return self.live.encoder

    def edges(self, sentence: str, spans: Sequence[tuple[int, int]], tasks: Sequence[str] | None = None) -> "SpanAnswer":
        """What every layer says of one or two spans of a sentence, by edge probing's tasks."""
        from probing.api.spans import ask_spans

        return ask_spans(self, sentence, spans, tasks)

    def sentence(self, text: str, second: str | None = None, tasks: Sequence[str] | None = None) -> "SentenceAnswer":
        """What every layer says of a whole sentence, by the sentence probes."""
        from probing.api.sentence import ask_sentence

        return ask_sentence(self, text, second, tasks)


def open_model(
    model: "str | Path | PreTrainedModel",
    head: str = "tied",
    *,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    base: str | None = None,
    device: str = "auto",
    name: str | None = None,
) -> Model:
    """The model of ``probing.load``."""
    from probing.core.paths import cache_folder
    from probing.models.knowledge.ask import open_live

    return Model(open_live(str(model), head, cache_folder(), device, base))
