"""Predicts the masked word of one sentence at every layer of a model. ``probing ask``: every layer's predictions for
one cloze sentence.
"""

import json
from typing import Annotated

import typer

from probing.facts.requests import AskRequest
from probing.heads.files import chosen_heads, no_heads_note
from probing.kernel.commands import command
from probing.kernel.errors import PromptError, Say
from probing.kernel.files import cache_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.questions import Answer, SeveralMasks
from probing.live.ask import LiveModel, load_live


def ask_layers(request: AskRequest, say: Say = print) -> Answer:
    """Every layer's predictions; ``say`` gets a line if the logit lens replaces heads that are not trained."""
    return _opened(request, say).ask(request.prompt, request.top, request.watch, request.mask)


def _opened(request: AskRequest, say: Say) -> LiveModel:
    """The model with the requested heads; by default the tied ones or, with a line to the user, the logit lens."""
    encoder = open_encoder(request.model, request.base, request.device, revision=request.revision)
    kind, folder = chosen_heads(request.model, encoder, request.head, cache_folder())
    if request.head is None and kind == LOGIT_LENS:
        say(no_heads_note(encoder))
    return load_live(encoder, kind, folder)


@command(AskRequest)
def ask(request: AskRequest, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Ask every layer to fill the mask of a sentence."""

    try:
        answer = ask_layers(request, lambda line: typer.echo(line, err=True))
    except SeveralMasks as error:
        raise PromptError(f"{error} (here: --mask 0 reads the first)") from None
    typer.echo(_as_json(answer) if as_json else _as_text(answer))


def _as_json(answer: Answer) -> str:
    layers = [
        {
            "layer": layer.layer,
            "tokens": [{"token": t.token, "probability": t.probability} for t in layer.tokens],
            "watched": [{"token": w.token, "rank": w.rank, "probability": w.probability} for w in layer.watched],
        }
        for layer in answer.layers
    ]
    return json.dumps(
        {"model": answer.model, "head": answer.head, "layers": layers, "notes": answer.notes}, ensure_ascii=False
    )


def _as_text(answer: Answer) -> str:
    lines = [
        answer.prompt,
        f"{answer.model}, {answer.head} heads, {answer.device}, {answer.seconds * 1000:.0f} ms",
        *answer.notes,
    ]
    for layer in answer.layers:
        tokens = "  ".join(f"{t.token} {100 * t.probability:.1f}%" for t in layer.tokens)
        watched = "".join(f"   [{w.token}: rank {w.rank:,}, {100 * w.probability:.2f}%]" for w in layer.watched)
        name = "embeddings" if layer.layer == 0 else f"layer {layer.layer}"
        lines.append(f"{name:>10}  {tokens}{watched}")
    return "\n".join(lines)
