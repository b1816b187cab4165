"""Measures the effects of fine-tuning on a model, layer by layer, and stores them."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from probing.changes.measure_run import STATES, ChangeWork
from probing.changes.minimal_pairs_text import raw_text
from probing.changes.requests import ChangesRequest
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder
from probing.kernel.jobs.stored_runs import RunFiles, do_job, places_of
from probing.kernel.models.catalogue import open_models
from probing.kernel.models.layer_swap import NotReplaceable, check_replaceable
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import weight_drift
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.registry import name_in_files
from probing.kernel.requests import ExecutorChoice
from probing.kernel.store.parquet import read_table, write_table

_TABLES = ("change_values", "perplexity", "change_runs")


def measure_changes(request: ChangesRequest, say: Say = print) -> Path:
    """Measures attention, similarity of states and perplexity of a model and its base; resumable, does nothing the
    second time.

    Args:
        request: the model.
        say: called with each line for the user.

    Returns:
        The folder of the results.

    Raises:
        TextError: if a text is missing or too short.
        ProbingError: if model or base are missing or do not fit, or a name is taken.
    """
    set_threads(request.threads)
    raw = raw_text(cache_folder() / "downloads") if request.text is None or request.blocks else None
    opened = open_models(request.model, request.base, request.device, request.name, request.revision)
    encoder, base = opened.encoder, opened.base
    left_out = _not_replaceable(encoder, base) if base and request.replaced else {}
    target, _ = places_of(request, encoder)
    work = ChangeWork(
        **vars(opened),
        request=replace(request, executor=ExecutorChoice()),
        text=(request.text or raw or Path()).absolute(),
        blocks_text=raw.absolute() if raw and request.blocks else None,
        left_out=left_out,
        target=target.absolute(),
    )
    run = RunFiles(work.config, _TABLES, work.target)
    if run.whole():
        say(f"{encoder.name}: run {work.run_id} exists already")
    else:
        do_job(request, work, say, finish=lambda: _gather(work, run))
        for reason in left_out.values():
            say(f"  no layers are put back: {reason}")
    beside = f"and {base.name}" if base else "alone"
    say(f"{encoder.name} {beside}: {target}")
    return target


def _not_replaceable(encoder: Encoder, base: Encoder) -> dict[str, str]:
    """Why no layers can be put back; empty if they can."""
    try:
        check_replaceable(encoder, base)
    except NotReplaceable as error:
        return {"replaced layers": str(error)}
    return {}


def _gather(work: ChangeWork, run: RunFiles) -> None:
    """Joins the parts of the perplexities, and writes the drift of the weights and, last, the run's row."""
    encoder, config = work.encoder, work.config
    found = [read_table(work.part_file(part), "perplexity") for part in work.shards if part != STATES]
    noted = json.loads(work.part_file(STATES).read_text(encoding="utf-8"))
    if work.base is not None:
        bodies = [
            {name: weight.detach().cpu() for name, weight in one.body.named_parameters()}
            for one in (work.base, encoder)
        ]
        drift = [{"model": encoder.name, "base": work.base.name} | row for row in weight_drift(*bodies)]
        write_table("weight_drift", drift, work.target / f"weight_drift-{name_in_files(encoder.name)}.parquet")
    row = config.row | {
        "variant": work.variant,
        "tuned_seed": work.tuned_seed,
        "layers": encoder.layers,
        "heads": int(encoder.body.config.num_attention_heads),
        "width": encoder.hidden,
        "sentences": noted["sentences"],
        "blocks": config.blocks,
        "block_pieces": config.block_pieces,
        "left_out": json.dumps(noted["left_out"] | work.left_out, sort_keys=True),
    }
    run.write({"perplexity": pa.concat_tables(found) if found else [], "change_runs": [row]}, encoder)
