"""``probing gate``: what a model trained here knows, by layer and exposure, as its card prints it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from probing.core.errors import ModelError
from probing.core.nesia.corpus import EXPOSURES
from probing.core.nesia.quality import LayerCounts, conditions, p_at
from probing.core.paths import database_folder


def gate(
    model: Annotated[str, typer.Option(help="A model made by pretrain.")] = "nesia-mini",
    head: Annotated[str, typer.Option(help="full, tied or lens.")] = "tied",
) -> None:
    """Print a trained model's numbers by layer and exposure, and whether it is fit to be an instrument."""
    from probing.core.model_folders import find_entry
    from probing.store.database import open_database
    from probing.store.run_queries import aggregate, majority, runs

    record = Path(find_entry(model).location, "training.json")
    if not record.is_file():
        raise ModelError(f"{record} is missing; the gate is for models made by: python -m probing pretrain")
    with_evidence = set(json.loads(record.read_text(encoding="utf-8"))["relations_with_evidence"])
    db = open_database(database_folder())
    found = runs(db)
    chosen = found[
        (found["model"] == model)
        & (found["head"] == head)
        & (found["role"] == "primary")
        & (found["template_set"] == "default")
        & found["probe_set"].isin(["trex", "google_re"])
    ]
    ids = list(chosen["run_id"])
    if not ids:
        raise ModelError(f"no runs of {model} with {head} heads; make them with: python -m probing probe --model {model} --head {head}")

    def counts(exposures: tuple[str, ...] | None) -> dict[int, list[LayerCounts]]:
        frame = aggregate(db, ids, exposures)
        sizes = majority(db, ids, exposures).set_index("relation")["majority_hits"]
        layers: dict[int, list[LayerCounts]] = {}
        for row in frame[frame["relation"].isin(with_evidence)].itertuples():
            layers.setdefault(int(row.layer), []).append(
                LayerCounts(
                    row.relation,
                    int(row.n),
                    int(row.hits_1),
                    int(row.hits_10),
                    int(row.answer_hits_1),
                    int(sizes[row.relation]),
                    int(row.other_n),
                    int(row.other_1),
                )
            )
        return layers

    everything = counts(None)
    parts = {name: counts((name,)) for name in EXPOSURES}
    last = max(everything)
    for condition in conditions(everything[last], {name: layers.get(last, []) for name, layers in parts.items()}):
        typer.echo(f"- {'holds' if condition.holds else 'does not hold'}: {condition.name}: {condition.measured}")
    typer.echo(f"\nMacro shares in per cent, {head} heads, {len(everything[last])} relations with evidence, runs {', '.join(ids)}:\n")
    typer.echo(
        "| layer | P@1 | P@10 | swapped subject P@1 | rank 1 among answers | " + " | ".join(f"P@1 {name}" for name in EXPOSURES) + " |"
    )
    typer.echo("|---" * (5 + len(EXPOSURES)) + "|")
    for layer, rows in sorted(everything.items()):
        cells = [_share(rows, field) for field in ("hits_1", "hits_10", "other_1", "answer_hits")]
        cells += [_share(parts[name].get(layer, []), "hits_1") for name in EXPOSURES]
        typer.echo(f"| {layer} | {' | '.join(cells)} |")
    typer.echo(f"\nMajority answer: {_share(everything[last], 'majority_hits')}. Facts: " + _sizes(parts, last))


def _share(rows: list[LayerCounts], field: str) -> str:
    value = p_at(rows, field).value if rows else None
    return "n/a" if value is None else f"{100 * value:.1f}"


def _sizes(parts: dict[str, dict[int, list[LayerCounts]]], last: int) -> str:
    return ", ".join(f"{sum(c.n for c in layers.get(last, [])):,} {name}" for name, layers in parts.items()) + "."
