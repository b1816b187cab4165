"""Stores a series: the outcomes of facts at the states of one training."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.forgetting.ranks_by_layer import Questions
from probing.forgetting.series import AskedStates, stored_rows
from probing.forgetting.series_progress import Progress
from probing.forgetting.ways_series_run import HEAD_OF_THE_BASE, OWN_HEAD, SeriesRunConfig
from probing.kernel.jobs.stored_runs import RunFiles, provenance_of
from probing.kernel.models.load import Encoder

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
        "variant": config.variant,
        "model": config.model,
        "probe_set": config.probe_set,
        "template_set": config.template_set,
    }
    row |= {
        name: getattr(config, name) or None
        for name in ("model_revision", "base", "objective", "code_version", "protection")
    }
    rows = stored_rows(config.fingerprint, asked, ids, history)
    files.write({**rows, "series_runs": [row]}, last)
