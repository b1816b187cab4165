"""``probing probe``: ask every layer of a model every fact, and store what it says."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from probing import __version__
from probing.core.errors import FactsError, ProbingError
from probing.core.fact_sources import read_facts
from probing.core.facts import FactSet
from probing.core.places import cache_folder, database_folder, result_folders, runs_folder
from probing.core.shipped import FACTS_FOLDER
from probing.core.templates import Relation, read_lama_relations, read_relations


def probe(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    facts: Annotated[
        str, typer.Option(help="trex, google_re, common_sense, questions, all; a LAMA folder; or a .jsonl or .csv file.")
    ] = "all",
    head: Annotated[str, typer.Option(help="full, tied or lens.")] = "tied",
    out: Annotated[Path | None, typer.Option(help="Folder of the runs; none: cache/runs.")] = None,
    templates: Annotated[str | None, typer.Option(help="Template set; none: a LAMA folder's own, else default.")] = None,
    top: Annotated[int, typer.Option(help="Best tokens to keep for each fact and layer.", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the heads.")] = 0,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model takes.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    double: Annotated[bool, typer.Option("--float64", help="Compute in float64.")] = False,
    shard: Annotated[int, typer.Option(help="Facts a shard; a killed run loses at most one.", min=1)] = 2048,
) -> None:
    """Probe every layer of a model; resumable, does nothing the second time, equal runs have equal bytes."""
    import torch

    from probing.models.answers import askable
    from probing.models.catalogue import find_entry, heads_folder, open_encoder
    from probing.models.head_files import heads_fingerprint, load_heads
    from probing.models.probing import RunConfig, facts_sha256, thread_count
    from probing.store.build import build_database

    relations = read_relations(FACTS_FOLDER / "relations.toml")
    sets = read_facts(facts, relations, templates)
    target = out or runs_folder()
    encoder = open_encoder(model, base, device, torch.float64 if double else torch.float32)
    entry = find_entry(model, base)
    folder = None if head == "lens" else heads_folder(model, encoder, head, cache_folder(), seed)
    heads = load_heads(folder, encoder, head)
    for found in sets:
        kept, answers = askable(found, encoder)
        left = ", ".join(f"{count:,} {reason}" for reason, count in sorted(kept.left_out.items())) or "none"
        typer.echo(f"{found.probe_set}: read {kept.n_read:,} = probed {len(kept.facts):,} + left out ({left})")
        if not kept.facts:
            typer.echo("  nothing is left to probe, so no run is stored")
            continue
        config = RunConfig(
            model=encoder.name,
            weights=encoder.identity,
            model_revision=encoder.revision,
            base=encoder.base if encoder.base != encoder.name else "",
            objective=entry.objective,
            head=head,
            head_recipe=heads_fingerprint(folder, encoder, head),
            seed=seed,
            probe_set=found.probe_set,
            template_set=found.template_set,
            facts_sha256=facts_sha256(kept.facts, answers),
            top_k=top,
            dtype="float64" if double else "float32",
            threads=thread_count(),
            shard=shard,
            code_version=__version__,
        )
        _one_set(encoder, heads, kept, answers, config, target)
        _write_relations(relations, facts, target)
        exposure = Path(entry.location) / f"exposure-{encoder.name}.parquet"
        if exposure.is_file():
            shutil.copyfile(exposure, target / exposure.name)
    if out is None:
        build_database(result_folders(), database_folder())


def _one_set(encoder, heads, kept: FactSet, answers: list[int], config, target: Path) -> None:
    from probing.models.probing import probe as ask_all
    from probing.store.parquet import write_table

    run_id, layers = config.run_id, encoder.layers + 1
    predictions, run = target / f"predictions-{run_id}.parquet", target / f"runs-{run_id}.parquet"
    order = sorted(range(len(kept.facts)), key=lambda n: (kept.facts[n].relation, n))
    facts = [kept.facts[n] for n in order]
    tokenizer = f"{encoder.base}-{len(encoder.tokenizer)}"
    tokens = encoder.tokenizer.convert_ids_to_tokens(range(len(encoder.tokenizer)))
    # Cheap, and thus written where they are missing or torn, even if the predictions are there already.
    _whole("facts", target / f"facts-{config.facts_sha256[:16]}.parquet", [_fact_row(fact, config.template_set) for fact in facts])
    vocabulary = [{"tokenizer": tokenizer, "id": i, "token": token} for i, token in enumerate(tokens)]
    _whole("vocabulary", target / f"vocabulary-{tokenizer}.parquet", vocabulary)
    work = cache_folder() / "shards"
    done = _rows("predictions", predictions) == layers * len(facts)
    if not done:
        columns = ask_all(encoder, heads, facts, [answers[n] for n in order], config, work, cache_folder() / "states")
        write_table("predictions", _prediction_columns(run_id, facts, columns, layers), predictions)
    row = config.model_dump(exclude={"weights", "head_recipe", "facts_sha256", "threads", "shard"}) | {
        "run_id": run_id,
        "role": "primary" if config.seed == 0 else "replicate",
        "layers": layers,
        "n_read": kept.n_read,
        "n_probed": len(facts),
        "left_out": json.dumps(kept.left_out, sort_keys=True),
        "tokenizer": tokenizer,
        "config": config.canonical(),
    }
    # Written last: a run exists once its row does. What was read and left out may change while the kept facts stay.
    if not (done and _same_row(run, row)):
        now = {"device": str(encoder.device), "created": datetime.now(UTC).isoformat(timespec="seconds")}
        write_table("runs", [row | now], run)
    shutil.rmtree(work / run_id, ignore_errors=True)
    typer.echo(f"  {run_id} is there already: {predictions}" if done else f"  {run_id}: {predictions}")


def _readable(table: str, path: Path):
    """The table in a file, None where there is none; a torn one is named, for its caller makes it again."""
    from probing.store.parquet import read_table

    if not path.is_file():
        return None
    try:
        return read_table(path, table)
    except ProbingError as error:
        typer.echo(f"  {error}; it is made again")
        return None


def _rows(table: str, path: Path) -> int | None:
    found = _readable(table, path)
    return None if found is None else found.num_rows


def _whole(table: str, path: Path, rows: list[dict]) -> None:
    from probing.store.parquet import write_table

    if _rows(table, path) != len(rows):
        write_table(table, rows, path)


def _same_row(path: Path, row: dict) -> bool:
    found = _readable("runs", path)
    if found is None or found.num_rows != 1:
        return False
    (stored,) = found.to_pylist()
    return all(stored[key] == value for key, value in row.items())


def _stored_logp(values):
    """Log-probabilities in steps of 1/256 nat, which makes runs a third smaller; the error is at most 0.2 per cent."""
    import numpy as np

    return (np.round(values.reshape(-1) * np.float32(256)) / np.float32(256)).astype(np.float32)


def _prediction_columns(run_id: str, facts, columns: dict, layers: int) -> dict:
    import numpy as np
    import pyarrow as pa

    n = len(facts)
    other = columns["other_rank"].reshape(-1)
    k = columns["top_ids"].shape[2]

    def lists(values):
        return pa.ListArray.from_arrays(pa.array(np.arange(0, layers * n * k + 1, k, dtype=np.int32)), pa.array(values.reshape(-1)))

    return {
        "run_id": pa.array([run_id] * (layers * n)),
        "fact_id": pa.array([fact.fact_id for fact in facts] * layers),
        "layer": pa.array(np.repeat(np.arange(layers, dtype=np.uint8), n)),
        "gold_rank": pa.array(columns["gold_rank"].reshape(-1)),
        "answer_rank": pa.array(columns["answer_rank"].reshape(-1)),
        "other_rank": pa.array(other, mask=other == 0),
        "gold_logp": pa.array(_stored_logp(columns["gold_logp"])),
        "top_ids": lists(columns["top_ids"]),
        "top_logp": lists(_stored_logp(columns["top_logp"])),
    }


def _fact_row(fact, template_set: str) -> dict:
    return {
        "fact_id": fact.fact_id,
        "probe_set": fact.probe_set,
        "relation": fact.relation,
        "subject": fact.subject,
        "object": fact.object,
        "prompt": fact.prompt,
        "template": fact.template,
        "template_set": template_set,
        "answer_in_subject": fact.answer_in_subject,
        "pred": fact.pred,
    }


def _write_relations(ours: dict[str, Relation], source: str, target: Path) -> None:
    from probing.store.parquet import write_table

    rows = dict(ours)
    theirs = Path(source) / "relations.jsonl"
    if theirs.is_file():
        rows = {**read_lama_relations(theirs), **rows}
    if not rows:
        raise FactsError("no relations are known; expected data/facts/relations.toml")
    table = [{"relation": r.name, "probe_set": r.probe_set, "label": r.label, "cardinality": r.cardinality} for r in rows.values()]
    write_table("relations", table, target / "relations.parquet")
