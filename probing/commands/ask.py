"""``probing ask``: every layer's predictions for one cloze sentence."""

import json
from typing import Annotated

import typer

from probing.commands.options import RevisionOption
from probing.core.errors import PromptError
from probing.core.head_kinds import listed
from probing.core.questions import Answer, SeveralMasks


def ask(
    prompt: Annotated[str, typer.Argument(help="A sentence with one gap, written [MASK], <mask> or ___.")],
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")] = "nesia-mini",
    head: Annotated[str | None, typer.Option(help=f"{listed()}; none: tied or, if none are trained, logit_lens.")] = None,
    top: Annotated[int, typer.Option(help="Top-k per layer.", min=1)] = 10,
    watch: Annotated[list[str] | None, typer.Option(help="A word to follow through the layers; repeatable.")] = None,
    mask: Annotated[int | None, typer.Option(help="Which of several masks to read, from 0.")] = None,
    revision: RevisionOption = None,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model uses.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask every layer to fill the mask of a sentence."""
    from probing.workflows.knowledge import ask as workflow

    request = workflow.AskRequest(prompt, model, head, top, tuple(watch or ()), mask, base, device, revision)
    try:
        answer = workflow.ask(request, lambda line: typer.echo(line, err=True))
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
    return json.dumps({"model": answer.model, "head": answer.head, "layers": layers}, ensure_ascii=False)


def _as_text(answer: Answer) -> str:
    lines = [answer.prompt, f"{answer.model}, {answer.head} heads, {answer.device}, {answer.seconds * 1000:.0f} ms"]
    for layer in answer.layers:
        tokens = "  ".join(f"{t.token} {100 * t.probability:.1f}%" for t in layer.tokens)
        watched = "".join(f"   [{w.token}: rank {w.rank:,}, {100 * w.probability:.2f}%]" for w in layer.watched)
        name = "embeddings" if layer.layer == 0 else f"layer {layer.layer}"
        lines.append(f"{name:>10}  {tokens}{watched}")
    return "\n".join(lines)
