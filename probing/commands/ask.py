"""``probing ask``: one cloze sentence, every layer's answer."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from probing.core.errors import PromptError
from probing.core.paths import cache_folder
from probing.core.questions import SeveralMasks

if TYPE_CHECKING:
    from probing.models.knowledge.ask import LiveModel


def ask(
    prompt: Annotated[str, typer.Argument(help="A sentence with one [MASK].")],
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")] = "nesia-mini",
    head: Annotated[str | None, typer.Option(help="full, tied or lens; none: tied or, where none are trained, lens.")] = None,
    top: Annotated[int, typer.Option(help="Tokens a layer.", min=1)] = 10,
    watch: Annotated[list[str] | None, typer.Option(help="A word to follow through the layers; repeatable.")] = None,
    mask: Annotated[int | None, typer.Option(help="Which of several masks to read, from 0.")] = None,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model takes.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask every layer to fill the mask of a sentence."""
    try:
        answer = _open(model, head, device, base).ask(prompt, top, tuple(watch or ()), mask)
    except SeveralMasks as error:
        raise PromptError(f"{error} (here: --mask 0 reads the first)") from None
    if as_json:
        layers = [
            {
                "layer": layer.layer,
                "tokens": [{"token": t.token, "probability": t.probability} for t in layer.tokens],
                "watched": [{"token": w.token, "rank": w.rank, "probability": w.probability} for w in layer.watched],
            }
            for layer in answer.layers
        ]
        typer.echo(json.dumps({"model": answer.model, "head": answer.head, "layers": layers}, ensure_ascii=False))
        return
    typer.echo(f"{answer.prompt}\n{answer.model}, {answer.head} heads, {answer.device}, {answer.seconds * 1000:.0f} ms")
    for layer in answer.layers:
        tokens = "  ".join(f"{t.token} {100 * t.probability:.1f}%" for t in layer.tokens)
        watched = "".join(f"   [{w.token}: rank {w.rank:,}, {100 * w.probability:.2f}%]" for w in layer.watched)
        name = "embeddings" if layer.layer == 0 else f"layer {layer.layer}"
        typer.echo(f"{name:>10}  {tokens}{watched}")


def _open(model: str, head: str | None, device: str, base: str | None) -> "LiveModel":
    """The model with the heads asked for; without a wish the tied ones or, said on stderr, the logit lens, which every model has."""
    from probing.models.encoders.catalogue import open_encoder
    from probing.models.heads.files import heads_folder, train_command
    from probing.models.knowledge.ask import load_live

    encoder = open_encoder(model, base, device)
    kind = head or "tied"
    folder = None if kind == "lens" else heads_folder(model, encoder, kind, cache_folder())
    if folder is None and head is None:
        kind = "lens"
        typer.echo(
            f"no tied heads are known for {encoder.name}, so every layer is read through its pre-trained head, the logit lens "
            f"(--head lens); train heads with: {train_command(encoder, 'tied')}",
            err=True,
        )
    return load_live(encoder, kind, folder)
