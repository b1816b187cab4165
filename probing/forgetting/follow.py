"""Asks every state of a training for the same facts, and stores when each was forgotten."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from probing.forgetting.ranks import Questions, ranks_by_layer
from probing.forgetting.recover import one_set
from probing.forgetting.requests import FollowRequest
from probing.forgetting.series import AskedStates, Progress, progress, stored_rows
from probing.forgetting.ways import HEAD_OF_THE_BASE, OWN_HEAD, SeriesRunConfig
from probing.kernel.errors import ModelError, Say
from probing.kernel.files import cache_folder, require_writable, runs_folder
from probing.kernel.jobs.stored_runs import RunFiles, provenance_of
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.models.catalogue import open_encoder, open_entry
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import FINETUNING, base_entry, find_entry, finetuning_note, variant_and_seed
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.options import spelled
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.recipe import protection_of
from probing.kernel.registry import ModelEntry

#: The tables of a series; without single facts, and with them.
COUNTED, FACT_BY_FACT = (
    ("series_steps", "series_counts", "series_runs"),
    ("series_facts", "series_steps", "series_counts", "series_runs"),
)


@dataclass(frozen=True)
class Training:
    """The training that a series is of.

    ``protection`` is what it did against forgetting; ``state_weights`` has the identity of the weights of each state,
    as canonical JSON; empty if they were not kept.
    """

    name: str
    base: str
    base_weights: str
    objective: str = ""
    variant: str = ""
    seed: int | None = None
    protection: str = ""
    state_weights: str = ""


def series_config(
    training: Training,
    last: Encoder,
    weights: str,
    questions: Questions,
    asked: tuple[Sequence[int], Sequence[int]],
    threads: int,
) -> SeriesRunConfig:
    """The configuration of a series; ``weights`` is the identity of ``last``, ``asked`` has steps and layers."""
    head = OWN_HEAD if last.opens_base is None else HEAD_OF_THE_BASE
    steps, layers = asked
    made = provenance_of(last, training.base, training.objective, head, 0, threads)
    return SeriesRunConfig(
        **made | {"model": training.name, "weights": weights},
        base_weights=training.base_weights,
        state_weights=training.state_weights,
        steps=tuple(steps),
        asked_layers=tuple(layers),
        probe_set=questions.probe_set,
        template_set=questions.template_set,
        facts_sha256=questions.sha256,
        protection=training.protection,
        variant=training.variant,
        tuned_seed=training.seed or 0,
    )


def series_files(config: SeriesRunConfig, target: Path, fact_by_fact: bool = True) -> RunFiles:
    return RunFiles(config, FACT_BY_FACT if fact_by_fact else COUNTED, target)


def write_series(
    files: RunFiles, last: Encoder, asked: AskedStates, questions: Questions, history: Sequence[Progress]
) -> None:
    """Writes the tables of a series, its row last."""
    config = files.config
    assert isinstance(config, SeriesRunConfig)
    ids = [fact.fact_id for fact in questions.facts] if FACT_BY_FACT[0] in files.tables else []
    row = {
        "run_id": config.fingerprint,
        "layers": last.layers,
        "states": len(config.steps),
        "facts": len(questions.facts),
        "left_out": json.dumps(questions.left_out, sort_keys=True),
        "config": config.canonical(),
        "tuned_seed": config.tuned_seed or None,
        **{name: getattr(config, name) for name in ("model", "variant", "probe_set", "template_set")},
    }
    row |= {
        name: getattr(config, name) or None
        for name in ("model_revision", "base", "objective", "code_version", "protection")
    }
    rows = stored_rows(config.fingerprint, asked, ids, history)
    files.write({**rows, "series_runs": [row]}, last)


_STATE = re.compile(r"checkpoint-(\d+)")
#: What the Trainer of transformers writes to each of its checkpoints.
_TRAINER_STATE = "trainer_state.json"


@dataclass(frozen=True)
class States:
    """The states of a training on disk, by ascending step; ``note`` is the record of ``finetune``, or empty."""

    folders: Mapping[int, Path]
    note: Mapping[str, Any]
    record: Path | None
    history: list[Progress]


def follow(request: FollowRequest, say: Say = print) -> Path:
    """Asks the base and every state of a training, and returns the file with the row of the series.

    A killed run goes on where it was, and a finished one is not repeated.
    """
    threads = set_threads(request.threads)
    found = states_of(Path(request.model), request.name, request.record)
    name = request.name or Path(request.model).resolve().name
    target = request.out or runs_folder()
    require_writable(target)
    origin = _origin(request, found)
    base = open_entry(origin, request.device)
    questions = Questions.of(one_set(request.facts, say=say), base, request.size)
    layers = range(base.layers)
    say(
        f"{name}: {len(found.folders):,} states and their base {base.name}, {len(questions.facts):,} facts of"
        f" {questions.probe_set}"
    )
    encoder, ranks, identities = base, [_asked(base, questions, threads)], {0: base.weights_id}
    for step, folder in tqdm(found.folders.items(), unit="state", desc=f"follow {name}"):
        encoder = open_encoder(str(folder), origin.location, request.device)
        if encoder.depth != base.depth:
            raise ModelError(
                f"{folder} has {encoder.depth} layers, the base {base.name} has {base.depth}; name its base"
                f" ({spelled('base')})"
            )
        identities[step] = encoder.weights_id
        ranks.append(_asked(encoder, questions, threads))
    variant, seed = variant_and_seed(found.record) if found.record else ("", None)
    training = Training(
        name,
        base.name,
        base.weights_id,
        str(found.note.get("objective", "")),
        variant,
        seed,
        protection_of(found.note.get("recipe", {})),
        canonical_json({str(step): identity for step, identity in identities.items()}),
    )
    own, swapped = (np.stack([one[name] for one in ranks]) for name in ("own", "swapped"))
    asked = AskedStates(tuple(identities), layers, own, swapped, questions.relations)
    files = series_files(
        series_config(training, encoder, encoder.weights_id, questions, (asked.steps, layers), threads), target
    )
    if files.whole():
        say(f"{name}: series {files.config.fingerprint} exists already")
    else:
        write_series(files, encoder, asked, questions, found.history)
        say(f"{name}: series {files.config.fingerprint}: {files.file('series_runs')}")
    return files.file("series_runs")


def states_of(folder: Path, name: str | None = None, record: Path | None = None) -> States:
    """The states of a training: its folders ``checkpoint-STEP``, with what is recorded of the training.

    ``name`` None takes the folder's; ``record`` None takes the finished model of this name in ``cache/models``.
    """
    if not folder.is_dir():
        raise ModelError(
            f"no folder {folder}; expected the states of a training (finetune {spelled('checkpoints', 12)} keeps them)"
        )
    steps = {
        int(found[1]): path
        for path in folder.iterdir()
        if (found := _STATE.fullmatch(path.name)) and (path / "config.json").is_file()
    }
    if not steps:
        raise ModelError(
            f"{folder} has no folder checkpoint-STEP with a model; expected what finetune {spelled('checkpoints', 12)}"
            " keeps"
        )
    kept = cache_folder() / "models" / (name or folder.resolve().name)
    place = record or (kept if (kept / FINETUNING).is_file() else None)
    if record is not None and not (record / FINETUNING).is_file():
        raise ModelError(f"{record} has no {FINETUNING}; expected the folder of a model that finetune made")
    note = finetuning_note(place) if place else {}
    history = progress([*note.get("history", ()), *note.get("looks", ())])
    last = steps[max(steps)] / _TRAINER_STATE
    if not note and last.is_file():
        history = _trainer_history(last)
    return States(dict(sorted(steps.items())), note, place, history)


def _trainer_history(path: Path) -> list[Progress]:
    """Losses and scores that a Trainer recorded in its last state."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        metric = state.get("best_metric_name") or None
        return progress(state["log_history"], metric)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{path} is not what a Trainer writes ({error!r}); delete it, or name the record ({spelled('record')})"
        ) from error


def _origin(request: FollowRequest, found: States) -> ModelEntry:
    """The entry of the base."""
    if request.base:
        return find_entry(request.base, revision=request.revision)
    origin = base_entry(find_entry(str(found.record))) if found.record else None
    if origin is None:
        raise ModelError(
            f"the base of {request.model} is not recorded; name the model that the training began with"
            f" ({spelled('base')})"
        )
    return origin


def _asked(encoder: Encoder, questions: Questions, threads: int) -> Mapping[str, np.ndarray]:
    """The ranks of one state, which are kept until the series is asked again."""
    parts = (encoder.weights_id, encoder.configuration, questions.sha256, threads)
    path = cache_folder() / "forgetting" / "series" / f"{fingerprint_of(canonical_json(parts))}.safetensors"

    def made() -> dict[str, np.ndarray]:
        found = ranks_by_layer(encoder, questions, range(encoder.layers))
        return {"own": found.own, "swapped": found.swapped}

    return stored_arrays(path, made)
