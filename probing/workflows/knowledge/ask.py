"""Predicts the masked word of one sentence at every layer of a model."""

from dataclasses import dataclass

from probing.core.head_kinds import LOGIT_LENS, canonical_head
from probing.core.paths import cache_folder
from probing.core.questions import Answer
from probing.models.encoders.catalogue import open_encoder
from probing.models.heads.files import chosen_heads, said_of_the_default
from probing.models.knowledge.ask import LiveModel, load_live
from probing.workflows.say import Say


@dataclass(frozen=True)
class AskRequest:
    """One sentence, and the model.

    Attributes:
        prompt: a sentence with one mask.
        model: registry name, hub id or folder.
        head: one of ``HEADS``; None: tied or, if none are trained, ``logit_lens``.
        top: tokens per layer.
        watch: words to follow through the layers.
        mask: which of several masks to read, from 0.
        base: base model whose head a headless model uses.
        device: auto, cpu, cuda or mps.
        revision: branch, tag or commit of a model on the hub; None: what the registry pins, else the main branch.
    """

    prompt: str
    model: str = "nesia-mini"
    head: str | None = None
    top: int = 10
    watch: tuple[str, ...] = ()
    mask: int | None = None
    base: str | None = None
    device: str = "auto"
    revision: str | None = None

    def __post_init__(self) -> None:
        if self.head is not None:
            object.__setattr__(self, "head", canonical_head(self.head))


def ask(request: AskRequest, say: Say = print) -> Answer:
    """Every layer's predictions.

    Args:
        request: sentence and model.
        say: called with a line for the user if the logit lens replaces heads that are not trained.

    Raises:
        PromptError: if the prompt cannot be used.
        ProbingError: if model or heads are missing or not usable.
    """
    return _opened(request, say).ask(request.prompt, request.top, request.watch, request.mask)


def _opened(request: AskRequest, say: Say) -> LiveModel:
    """The model with the requested heads; by default the tied ones or, with a line to the user, the logit lens, which every model has."""
    encoder = open_encoder(request.model, request.base, request.device, revision=request.revision)
    kind, folder = chosen_heads(request.model, encoder, request.head, cache_folder())
    if request.head is None and kind == LOGIT_LENS:
        say(said_of_the_default(encoder))
    return load_live(encoder, kind, folder)
