"""How long the vectors of single words are, layer by layer: a capability of one table, all of it in this file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from probing.commands.options import command
from probing.core.capabilities.capability import Capability, Command
from probing.core.options import Option
from probing.core.paths import cache_folder
from probing.core.provenance import Provenance
from probing.jobs.job import Job, Shard
from probing.models.encoders.catalogue import Opened, open_models, with_base
from probing.models.encoders.hidden_states import states_at
from probing.models.runtime.torch_settings import set_threads, thread_count
from probing.reports.report import Choice, Filter, Report, Reports, refuse_unstored
from probing.store.database import Database
from probing.store.kinds import Card, Kind
from probing.store.parquet import write_table
from probing.store.rules.asking import ASKED, Rule
from probing.store.tables import columns as col
from probing.workflows.executors import passed_on
from probing.workflows.output import Say
from probing.workflows.requests.model import StoredRuns
from probing.workflows.stored_runs import (
    RunFiles,
    Tasks,
    build_if_usual,
    do_job,
    fields_of,
    opened_again,
    places_of,
    provenance_of,
    setup_of,
)

if TYPE_CHECKING:
    from probing.ui.frame.page import View


class NormsConfig(Provenance):
    """All that decides the numbers of a run: the words."""

    words: tuple[str, ...]


TABLES = (
    col.Table(
        "norm_runs", "One run.", "run_id", (*col.RUN, col.SEED, col.LAYERS, col.LEFT_OUT, *col.MADE), per="run_id", sort="model run_id"
    ),
    col.Table("norm_values", "One layer.", "run_id layer", (col.RUN_ID, col.LAYER, col.real("value", "mean length", 0)), per="run_id"),
)
RULES = (
    Rule(
        f"SELECT run_id AS id, count(layer) AS n, layers FROM {ASKED} LEFT JOIN norm_values USING (run_id) GROUP BY ALL HAVING n <> layers",
        "it has {n} layers, expected {layers}",
    ),
)
KIND = Kind(
    "norms",
    NormsConfig,
    TABLES,
    RULES,
    about=__doc__,
    command="norms measure",
    title="lengths of vectors",
    line="norms of {layers} layers",
    card=Card("Lengths of the vectors of {name}", "A row is a layer.", ("norms",), ("norm_values",), {"layers": "layers"}),
)


@dataclass(frozen=True)
class NormsRequest(StoredRuns):
    """The model, and the words."""

    words: Annotated[tuple[str, ...], Option("Words, separated by commas.")] = ("paris", "rome")


@dataclass(frozen=True)
class NormsWork(Opened, Tasks):
    """Measures one run."""

    words: tuple[str, ...]
    values: Path

    def do(self, name: str) -> list[Path]:
        """Measures all layers."""
        rows = [self.encoder.tokenizer(word)["input_ids"] for word in self.words]
        lengths = np.linalg.norm(states_at(rows, [1] * len(rows), self.encoder), axis=-1).mean(axis=1)
        run_id = self.values.stem.rpartition("-")[2]
        found = [{"run_id": run_id, "layer": layer, "value": float(value)} for layer, value in enumerate(lengths)]
        return [write_table("norm_values", found, self.values)]


def opened_norms(setup: Mapping[str, Any]) -> NormsWork:
    """The worker in another process."""
    encoder, entry = opened_again(setup)
    return NormsWork(**vars(with_base(encoder, entry)), **fields_of(setup["work"]) | {"values": Path(setup["work"]["values"])})


def measure_norms(request: NormsRequest, say: Say = print) -> Path:
    """Measures the lengths of words' vectors; resumable, does nothing the second time."""
    set_threads(request.threads)
    opened = open_models(request.model, request.base, request.device, request.name, request.revision)
    encoder, (target, _) = opened.encoder, places_of(request, opened.encoder)
    config = NormsConfig(**provenance_of(encoder, opened.base, opened.objective, "none", 0, thread_count()), words=request.words)
    run = RunFiles(config, ("norm_values", "norm_runs"), target)
    if run.whole():
        say(f"{encoder.name}: run {config.fingerprint} exists already")
    else:
        work = {"words": request.words, "values": run.file("norm_values")}
        setup = setup_of(request, encoder, opened.base) | {"work": {"words": request.words, "values": str(work["values"].absolute())}}
        folder = cache_folder() / "jobs" / f"norms-{config.fingerprint}"
        shards = [Shard("values", {"part": "values"})]
        job = Job(folder, f"{__name__}:opened_norms", setup, shards, passed_on(), NormsWork(**vars(opened), **work))
        do_job(
            request,
            job,
            say,
            finish=lambda: run.write({"norm_runs": [config.row | {"layers": encoder.layers, "left_out": "{}"}]}, encoder),
        )
    build_if_usual(request)
    say(f"{encoder.name}: {target}")
    return target


@command(NormsRequest)
def measure(request: NormsRequest) -> None:
    """Measure the lengths of words' vectors."""
    measure_norms(request, typer.echo)


def values(db: Database) -> pd.DataFrame:
    """One row per model and layer."""
    return db.query("SELECT r.model, v.layer, v.value FROM norm_values v JOIN runs_of_norms r USING (run_id) ORDER BY ALL")


def _values(db: Database, choice: Choice) -> pd.DataFrame:
    found = values(db)
    return found if choice["model"] is None else found[found["model"].isin(choice["model"])].reset_index(drop=True)


def _refuse(db: Database, choice: Choice) -> None:
    refuse_unstored("lengths", choice, {"model": values(db)["model"]})


REPORTS = Reports(
    "norms", (Report("norms", "values", "mean length by layer", _values),), (Filter("model", "Model; repeatable. None: all."),), _refuse
)


def draw(view: "View") -> None:
    """The section of a page."""
    from probing.figures.layer_lines import layer_lines
    from probing.ui.widgets import blocks
    from probing.ui.widgets.figure_cache import drawing

    if view.database is not None and len(found := view.read(values)):
        view.contents.section("How long vectors are")
        lines = found.assign(name=found["model"].map(view.label))
        blocks.figure(drawing(layer_lines, lines, "value", "%{y:.1f}"), table=found, stamp=view.stamp("lengths", ()), name="norms")


CAPABILITY = Capability(
    "norms",
    kind=f"{__name__}:KIND",
    shared="norms",
    reports=f"{__name__}:REPORTS",
    line="Lengths of vectors.",
    commands={"measure": Command(__name__, "Measure the lengths of words' vectors.")},
    reporting="Report lengths of vectors.",
    sections={"fine_tuning": (f"{__name__}:draw",)},
)
