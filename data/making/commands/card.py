"""``probing model-card``: the knowledge of a model trained here, by layer and exposure, as on its card."""

from typing import Annotated

import typer

from data.making.quality import Difference, LayerCounts, majority_points, p_at, subject_points
from probing.kernel.errors import HeadError
from probing.kernel.models.names import canonical_head, listed
from probing.kernel.stats.intervals import macro


def model_card(
    model: Annotated[str, typer.Option(help="A model made by pretrain.")] = "nesia-mini",
    head: Annotated[
        str | None, typer.Option(help=f"{listed()}; none: logit_lens or, if there are no such runs, tied.")
    ] = None,
    family: Annotated[bool, typer.Option("--family", help="The tables about what was made from it instead.")] = False,
) -> None:
    """Print a trained model's numbers by layer and exposure, and whether it meets the conditions of a demonstration."""
    if family:
        _print_family(model)
        return
    from data.making.card import followed_words, quality

    found = quality(model, None if head is None else canonical_head(head))
    last = max(found.layers)
    for condition in found.conditions:
        typer.echo(f"- {'holds' if condition.holds else 'does not hold'}: {condition.name}: {condition.measured}")
    typer.echo("\nRank of the right word at layers 0 to the last:")
    try:
        for sentence, ranks in followed_words(model, found.head).items():
            typer.echo(f"- {sentence}: {', '.join(f'{rank:,}' for rank in ranks)}")
    except HeadError:
        typer.echo(f"- not asked: the {found.head} heads are not here, only what they predicted")
    typer.echo("\nP@1 at the last layer, standardised to the relations of the held-out facts:")
    for contrast in found.contrasts:
        typer.echo(f"- {contrast}")
    evidence = f"{len(found.layers[last])} relations with evidence"
    typer.echo(f"\nMacro shares in per cent, {found.head} heads, {evidence}, runs {', '.join(found.run_ids)}.")
    typer.echo("Stated facts with their own subject and with a swapped one:\n")
    typer.echo(
        "| layer | own P@1 | swapped P@1 | own minus swapped, points | above the majority answer, all facts, points |"
    )
    typer.echo("|---" * 5 + "|")
    for layer, rows in sorted(found.layers.items()):
        stated = found.parts["stated"].get(layer, [])
        cells = [_share(stated, field) for field in ("hits_1", "other_1")]
        cells += [_points(difference) for difference in (subject_points(stated), majority_points(rows))]
        typer.echo(f"| {layer} | {' | '.join(cells)} |")
    typer.echo("\nAll facts, and P@1 by exposure:\n")
    typer.echo(
        "| layer | P@1 | P@10 | swapped subject P@1 | rank 1 among answers | "
        + " | ".join(f"P@1 {name}" for name in found.parts)
        + " |"
    )
    typer.echo("|---" * (5 + len(found.parts)) + "|")
    for layer, rows in sorted(found.layers.items()):
        cells = [_share(rows, field) for field in ("hits_1", "hits_10", "other_1", "answer_hits")]
        cells += [_share(part.get(layer, []), "hits_1") for part in found.parts.values()]
        typer.echo(f"| {layer} | {' | '.join(cells)} |")
    typer.echo(f"\nMajority answer: {_share(found.layers[last], 'majority_hits')}. Facts: " + _sizes(found.parts, last))
    values = {name: macro(counts).value for name, counts in found.unlisted.items()}
    shares = [f"{100 * value:.1f} {name}" for name in found.parts if (value := values.get(name)) is not None]
    typer.echo(f"Without the well-known facts, P@1 at layer {last}: {', '.join(shares)}.")


def _print_family(model: str) -> None:
    from data.making.card_family import family_lines
    from probing.kernel.files import result_folders
    from probing.kernel.store.opening import open_database

    with open_database(*result_folders()) as db:
        for line in family_lines(db, model):
            typer.echo(line)


def _points(difference: Difference | None) -> str:
    if difference is None:
        return "n/a"
    return f"{100 * difference.value:.1f} ({100 * difference.low:.1f} to {100 * difference.high:.1f})"


def _share(rows: list[LayerCounts], field: str) -> str:
    value = p_at(rows, field).value if rows else None
    return "n/a" if value is None else f"{100 * value:.1f}"


def _sizes(parts: dict[str, dict[int, list[LayerCounts]]], last: int) -> str:
    return ", ".join(f"{sum(c.n for c in layers.get(last, [])):,} {name}" for name, layers in parts.items()) + "."
