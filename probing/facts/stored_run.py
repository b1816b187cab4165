"""The tables that a run on facts stores, its row last, and what is stored of the training of its heads."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probing.facts.lama import folder_relations
from probing.heads.files import head_path, read_identity, read_seconds, validation_losses
from probing.kernel.errors import NewerVersionError, ProbingError, Say
from probing.kernel.fact import FETCHED, Fact, FactSet, Relation
from probing.kernel.files import result_folders, runs_folder
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.models.records import add_rows
from probing.kernel.provenance import stored_configuration, tokenizer_id
from probing.kernel.registry import name_in_files
from probing.kernel.store.kinds import FACTS, KINDS
from probing.kernel.store.opening import write_counts
from probing.kernel.store.parquet import read_table, write_differing, write_table

if TYPE_CHECKING:
    from probing.facts.requests import RunConfig
    from probing.kernel.models.load import Encoder


def in_order(facts: Sequence[Fact]) -> list[int]:
    """The order in which a run's facts are probed and stored: by relation, else as they were read."""
    return sorted(range(len(facts)), key=lambda n: (facts[n].relation, n))


def predictions_path(target: Path, run_id: str) -> Path:
    return target / f"predictions-{run_id}.parquet"


def has_predictions(target: Path, run_id: str, rows: int, say: Say) -> bool:
    table = _readable("predictions", predictions_path(target, run_id), say)
    return table is not None and table.num_rows == rows


def run_files(folder: Path, row: Mapping[str, Any]) -> list[Path]:
    """The files of its own that a run needs besides its row: predictions, facts, vocabulary."""
    made = stored_configuration(row["config"])
    names = [f"facts-{made['facts_sha256'][:16]}", f"vocabulary-{row['tokenizer']}"]
    return [predictions_path(folder, row["run_id"]), *(folder / f"{name}.parquet" for name in names)]


def write_asked_facts(facts: Sequence[Fact], config: "RunConfig", encoder: "Encoder", target: Path, say: Say) -> str:
    """Writes a run's facts and vocabulary if missing or damaged; returns the tokenizer's id."""
    from probing.kernel.models.check import tokens_of
    from probing.kernel.models.tokens import token_texts

    # A fine-tuned model has its base's tokenizer, stored once.
    tokens = tokens_of(encoder.tokenizer)
    tokenizer = tokenizer_id(name_in_files(config.base or encoder.base), tokens)
    write_facts(facts, config.template_set, config.facts_sha256, target, say)
    texts = token_texts(encoder.tokenizer, tokens)
    vocabulary = [
        {
            "tokenizer": tokenizer,
            "id": number,
            "token": token,
            "text": token_text.text,
            "starts_word": token_text.starts_word,
        }
        for number, (token, token_text) in enumerate(zip(tokens, texts, strict=True))
        if token
    ]
    write_differing("vocabulary", vocabulary, target / f"vocabulary-{tokenizer}.parquet", say)
    return tokenizer


def write_facts(facts: Sequence[Fact], template_set: str, sha256: str, target: Path, say: Say) -> None:
    """Writes the facts of a run if they are missing or damaged; ``sha256`` is their checksum in its configuration."""
    write_differing(
        "facts", [_fact_row(fact, template_set) for fact in facts], target / f"facts-{sha256[:16]}.parquet", say
    )


def write_row(
    config: "RunConfig", kept: FactSet, encoder: "Encoder", tokenizer: str, target: Path, say: Say, done: bool
) -> None:
    """Writes a run's counts and row, unless an equal one is stored and its predictions were, too (``done``)."""
    unlisted = {
        "weights",
        "recipe",
        "facts_sha256",
        "threads",
        "shard",
        "compact",
        "lenders",
        "configuration",
        "casing",
    }
    unlisted |= {"hub_id", "base_source"}
    row = config.model_dump(exclude=unlisted) | {
        "run_id": config.run_id,
        "head": config.head,
        "role": "primary" if config.seed == 0 else "replicate",
        "layers": encoder.layers,
        "n_read": kept.n_read,
        "n_probed": len(kept.facts),
        "left_out": json.dumps(kept.left_out, sort_keys=True),
        "tokenizer": tokenizer,
        "config": config.canonical(),
    }
    path = target / f"runs-{config.run_id}.parquet"
    write_counts(KINDS[FACTS], row, target, result_folders() if target == runs_folder() else ())
    # Written last: a run exists when its row does. The counts of read and left-out facts may change while the kept
    # facts stay.
    if not (done and _same_row(path, row, say)):
        now = {"device": str(encoder.device), "created": datetime.now(UTC).isoformat(timespec="seconds")}
        write_table("runs", [row | now], path)


def _readable(table: str, path: Path, say: Say):
    """The table in a file, None if there is none; a damaged one is reported, as the caller makes it again."""
    if not path.is_file():
        return None
    try:
        return read_table(path, table)
    except NewerVersionError:
        raise
    except ProbingError as error:
        say(f"  {error}; it is made again")
        return None


def _same_row(path: Path, row: dict, say: Say) -> bool:
    table = _readable("runs", path, say)
    if table is None or table.num_rows != 1:
        return False
    (stored,) = table.to_pylist()
    return all(stored[key] == value for key, value in row.items())


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


def write_relations(ours: dict[str, Relation], source: str, target: Path, say: Say) -> None:
    """Adds the known relations to the stored ones."""
    rows = dict(ours)
    if Path(source).is_dir():
        rows = {**folder_relations(Path(source)), **rows}
    known = list(rows.values())
    if source in FETCHED:  # They are Wikidata's, as T-REx's are.
        known += [replace(r, probe_set=source, cardinality="") for r in ours.values() if r.probe_set == "trex"]
    table = [
        {"relation": r.name, "probe_set": r.probe_set, "label": r.label, "cardinality": r.cardinality} for r in known
    ]
    add_rows("relations", table, target / "relations.parquet", say)


def write_training(model: str, seed: int, folder: Path, layers: Sequence[int], target: Path, say: Say) -> None:
    """Adds the heads in a folder to the runs' ``head_training``; rows of other recipes and seeds stay."""
    rows = []
    for losses in validation_losses(folder, layers):
        identity = read_identity(head_path(folder, losses["layer"]))
        random = json.loads(identity.recipe).get("start") == "random"
        made = {
            "model": model,
            "head": identity.kind,
            "seed": seed,
            "layer": losses["layer"],
            "recipe": identity.recipe,
        }
        reached = {"start_loss": losses["start"], "loss": losses["best"], "steps": losses["steps"]}
        found = {"lens_loss": _of_the_logit_lens(losses, random)} | reached
        rows.append(made | found | {"seconds": read_seconds(folder, losses["layer"], identity.recipe)})
    kind = rows[0]["head"]
    add_rows("head_training", rows, target / f"head_training-{name_in_files(model)}-{kind}.parquet", say)


def _of_the_logit_lens(losses: Mapping[str, Any], random: bool) -> float | None:
    """The logit lens's loss on all validation positions, from a row of ``validation_losses``; None if it is unknown."""
    if LOGIT_LENS not in losses:
        # A head that was not tried on top of the map started as the pre-trained one, unless it started at random.
        return None if random else losses["start"]
    if "positions" not in losses:
        return losses[LOGIT_LENS]
    # The two were compared on some positions; only the start was measured on all.
    return losses["start"] if losses[LOGIT_LENS] <= losses["map"] else None
