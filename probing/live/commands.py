"""``probing ask``: every layer's predictions for one cloze sentence."""

import json
from typing import Annotated

import typer

from probing.facts.requests import AskRequest
from probing.kernel.commands import command
from probing.kernel.errors import PromptError
from probing.kernel.questions import Answer, SeveralMasks


@command(AskRequest)
def ask(request: AskRequest, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Ask every layer to fill the mask of a sentence."""
    from probing.live.ask import ask_layers

    try:
        answer = ask_layers(request, lambda line: typer.echo(line, err=True))
    except SeveralMasks as error:
        raise PromptError(f"{error} (here: --mask 0 reads the first)") from None
    typer.echo(_as_json(answer) if as_json else _as_text(answer))


#: What a text with such an answer says of its numbers.
FILLED = "Several pieces are filled best first; a phrase's probability is the product of theirs when they were filled."
FOLLOWED = (
    "A followed word of several tokens has all of them masked: their worst rank, the product of their probabilities."
)


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
        *([FILLED] if answer.filled > 1 else []),
        *([FOLLOWED] if any(len(word.ids) > 1 for word in answer.layers[0].watched) else []),
    ]
    for layer in answer.layers:
        tokens = "  ".join(f"{t.token} {100 * t.probability:.1f}%" for t in layer.tokens)
        watched = "".join(f"   [{w.token}: rank {w.rank:,}, {100 * w.probability:.2f}%]" for w in layer.watched)
        name = "embeddings" if layer.layer == 0 else f"layer {layer.layer}"
        lines.append(f"{name:>10}  {tokens}{watched}")
    return "\n".join(lines)
