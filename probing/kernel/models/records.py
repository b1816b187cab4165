"""What is stored of a model next to its predictions: name, distance from its base, tables in its folder."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probing.kernel.errors import ModelError, ProbingError, Say
from probing.kernel.files import atomic_copy, cache_folder
from probing.kernel.locks import exclusive_lock
from probing.kernel.models.checkpoint import unlike, warn_of_drift
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.options import spelled
from probing.kernel.provenance import stored_configuration
from probing.kernel.registry import ModelEntry, name_in_files
from probing.kernel.store.columns import KEYS
from probing.kernel.store.parquet import files_of, read_table, write_differing, write_table

if TYPE_CHECKING:
    from probing.kernel.models.load import Encoder
    from probing.kernel.requests import FactsConfig

_log = logging.getLogger(__name__)


def refuse_taken_name(encoder: "Encoder", folders: Sequence[Path]) -> None:
    """Raises a ``ModelError`` if stored runs call another model so: reports could not tell the two apart.

    Another model has other weights, or the same ones under another configuration or tokenizer.
    """
    for folder, row in (*_stored_runs(folders, "runs"), *_stored_runs(folders, "candidate_runs")):
        config = stored_configuration(row["config"])
        recorded = (config.get("weights"), config.get("configuration"))
        if row["model"] != encoder.name or recorded == (encoder.weights_id, encoder.configuration):
            continue
        what = (
            "weights"
            if config.get("weights") != encoder.weights_id
            else "settings in its config.json, or another tokenizer"
        )
        run_id = row["run_id"]
        raise ModelError(
            f"run {run_id} in {folder} is of a model called {encoder.name} with different {what}; give this model"
            f" another name with {spelled('name')}, or delete the files of the other's runs, such as all"
            f" *-{run_id}.parquet"
        )


def hidden_by_name(config: "FactsConfig", folders: Sequence[Path], table: str) -> str | None:
    """A note on a stored run of other facts under the same name, which hides this one from reports; else None."""
    same = ("model", "head", "seed", "probe_set", "template_set", "measure")
    for folder, row in _stored_runs(folders, table):
        facts_sum = stored_configuration(row["config"]).get("facts_sha256")
        if facts_sum != config.facts_sha256 and all(row.get(key) == getattr(config, key, None) for key in same):
            return (
                f"note: run {row['run_id']} in {folder} has {row['n_probed']:,} other facts as {config.probe_set};"
                " reports and pages show the newer run only. If they are two files, give one another name with"
                f" {spelled('called', named=('--as',))}"
            )
    return None


def _stored_runs(folders: Sequence[Path], table: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folder and row of every stored run of a table that can be read; others report damaged files."""
    for path in sorted(path for folder in folders if folder.is_dir() for path in files_of(table, folder)):
        try:
            rows = read_table(path, table).to_pylist()
        except ProbingError:
            continue
        yield from ((path.parent, row) for row in rows)


def drift_from_base(encoder: "Encoder", entry: ModelEntry, family: str, say: Say, chosen: bool) -> list[dict[str, Any]]:
    """Rows of ``weight_drift``: how far each layer's weights are from the base's; none if the base is not available.

    ``chosen``: the user named the base, so failing to open it is an error. A base that the model was not fine-tuned
    from always is.
    """
    from probing.kernel.models.catalogue import open_base
    from probing.kernel.models.check import shape_of
    from probing.kernel.models.states import weight_drift

    try:
        base = open_base(entry)
    except ProbingError as error:
        if chosen:
            raise
        say(f"  no weight drift is stored: {error}")
        return []
    if entry.base_weights and base.weights_id != entry.base_weights:
        got = (
            f"the base {family} has weights {base.weights_id[:12]}, {encoder.name} was fine-tuned from"
            f" {entry.base_weights[:12]}"
        )
        raise ModelError(f"{got}; name the folder of the original base ({spelled('base')})")
    own, lent = (shape_of(model.body.config, model.tokenizer) for model in (encoder, base))
    if why := unlike(own, lent, family):
        raise ModelError(f"{encoder.name} {why} ({spelled('base')})")
    tuned = {name: weight.detach().cpu() for name, weight in encoder.body.named_parameters()}
    rows = weight_drift(dict(base.body.named_parameters()), tuned)
    if warning := warn_of_drift(encoder.name, family, rows):
        _log.warning("warning: %s If not, name another (%s)", warning, spelled("base"))
    return [{"model": encoder.name, "base": family} | row for row in rows]


def copy_beside(model: str, entry: ModelEntry, target: Path) -> None:
    """Copies the tables of a model's folder (exposure, task scores, perplexity) to its runs, under their name, and its
    base's exposure, by which facts are counted.
    """
    own = find_entry(model).name
    beside = [(table, Path(entry.location), own, entry.name) for table in ("exposure", "tasks", "epoch_perplexity")]
    if base := base_entry(entry):
        beside.append(("exposure", Path(base.location), base.name, entry.base))
    for table, folder, own, name in beside:
        source = folder / f"{table}-{name_in_files(own)}.parquet"
        placed = target / f"{table}-{name_in_files(name)}.parquet"
        if source.is_file() and own == name:
            atomic_copy(source, placed)
        elif source.is_file():
            write_table(table, [row | {"model": name} for row in read_table(source, table).to_pylist()], placed)


def add_rows(table: str, rows: Sequence[dict[str, Any]], path: Path, say: Say) -> None:
    """Adds rows to a stored file and replaces those with the same keys; a damaged file is made again."""
    # Two processes that read a file at once would each drop the other's rows.
    with exclusive_lock(cache_folder() / "locks" / f"{table}.lock"):
        stored: list[dict[str, Any]] = []
        with suppress(ProbingError):
            stored = read_table(path, table).to_pylist()
        both = {tuple(row[name] for name in KEYS[table]): row for row in (*stored, *rows)}
        write_differing(table, list(both.values()), path, say)
