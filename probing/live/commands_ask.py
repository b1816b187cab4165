"""Predicts the masked word of one sentence at every layer of a model."""

from probing.facts.requests import AskRequest
from probing.heads.files import chosen_heads, no_heads_note
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.questions import Answer
from probing.live.ask import LiveModel, load_live


def ask(request: AskRequest, say: Say = print) -> Answer:
    """Every layer's predictions; ``say`` gets a line if the logit lens replaces heads that are not trained."""
    return _opened(request, say).ask(request.prompt, request.top, request.watch, request.mask)


def _opened(request: AskRequest, say: Say) -> LiveModel:
    """The model with the requested heads; by default the tied ones or, with a line to the user, the logit lens."""
    encoder = open_encoder(request.model, request.base, request.device, revision=request.revision)
    kind, folder = chosen_heads(request.model, encoder, request.head, cache_folder())
    if request.head is None and kind == LOGIT_LENS:
        say(no_heads_note(encoder))
    return load_live(encoder, kind, folder)
