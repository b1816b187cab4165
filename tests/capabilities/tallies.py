"""Letters of sentences, counted by task: a capability of a table per task, whose text is withheld, and a table per run.

A run needs a model for its name alone: what is counted are the capital letters before each layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from probing.commands.options import command
from probing.core.capabilities.capability import Capability, Command
from probing.core.options import Option
from probing.core.paths import cache_folder
from probing.core.provenance import Provenance, fingerprint_of
from probing.jobs.job import Job, Shard
from probing.models.encoders.catalogue import Opened, open_models, with_base
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

#: The task that everybody may publish.
OPEN = "greetings"
SENTENCES = {OPEN: ("Hello Rome", "Good Day"), "letters": ("Dear Ada", "Best Wishes", "yours")}


class TalliesConfig(Provenance):
    """All that decides the numbers of a run: the task and its sentences."""

    task: str
    data: str


_TASK = col.text("task", "name of the task")
TABLES = (
    col.Table("tally_runs", "One run.", "run_id", (*col.RUN, _TASK, col.SEED, col.LAYERS, col.LEFT_OUT, *col.MADE), per="run_id",
              sort="model task run_id"),
    col.Table("tally_sentences", "One sentence.", "task place", (
        _TASK, col.text("licence", "of the task"), col.count("place", "number of the sentence"), col.text("text", "its words").or_empty(),
        col.count("capitals", "its capital letters"),
    ), per="task", withheld=("text",)),
    col.Table("tally_counts", "One layer.", "run_id layer", (col.RUN_ID, col.LAYER, col.count("n", "capital letters")), per="run_id"),
)  # fmt: skip
RULES = (
    Rule(
        f"""SELECT run_id AS id, task, n, wanted FROM {ASKED} JOIN tally_counts USING (run_id)
            JOIN (SELECT task, sum(capitals)::BIGINT AS wanted FROM tally_sentences GROUP BY task) USING (task) WHERE n <> wanted""",
        "it counts {n} capital letters of {task}, which has {wanted}",
    ),
    Rule(
        f"SELECT run_id AS id, task FROM {ASKED} ANTI JOIN tally_sentences USING (task)",
        "its task {task} has no sentences",
    ),
)
KIND = Kind(
    "tallies", TalliesConfig, TABLES, RULES, about=__doc__, command="tallies measure", title="tallies", line="tallies {task}",
    of_tasks=("tally_sentences",), open_tasks={OPEN: True, "letters": False},
    card=Card("Capital letters before every layer of {name}", "A row is a layer.", ("tallies",), ("tally_counts",), {"task": "task"},
              named="Sentences that may not be published are numbered."),
)  # fmt: skip


@dataclass(frozen=True)
class TalliesRequest(StoredRuns):
    """The model, and the tasks."""

    tasks: Annotated[tuple[str, ...], Option("Tasks, separated by commas.", known=tuple(SENTENCES))] = (OPEN,)


@dataclass(frozen=True)
class TalliesWork(Opened, Tasks):
    """Counts tasks, one run each."""

    runs: Mapping[str, RunFiles]

    def do(self, name: str) -> list[Path]:
        """Counts one task."""
        run, encoder = self.runs[name], self.encoder
        found = [
            {"task": name, "licence": "mine", "place": n, "text": text, "capitals": sum(map(str.isupper, text))}
            for n, text in enumerate(SENTENCES[name])
        ]
        described = write_table("tally_sentences", found, run.target / f"tally_sentences-{name}.parquet")
        n, layers = sum(row["capitals"] for row in found), encoder.layers
        counts = [{"run_id": run.config.fingerprint, "layer": layer, "n": n} for layer in range(layers)]
        run.write({"tally_counts": counts, "tally_runs": [run.config.row | {"task": name, "layers": layers, "left_out": "{}"}]}, encoder)
        return [described, *run.all]


def _work(opened: Opened, tasks: tuple[str, ...], target: Path) -> TalliesWork:
    made = provenance_of(opened.encoder, opened.base, opened.objective, "none", 0, thread_count())
    configs = {task: TalliesConfig(**made, task=task, data=fingerprint_of("\n".join(SENTENCES[task]))) for task in tasks}
    return TalliesWork(**vars(opened), runs={task: RunFiles(one, ("tally_counts", "tally_runs"), target) for task, one in configs.items()})


def opened_tallies(setup: Mapping[str, Any]) -> TalliesWork:
    """The worker in another process."""
    encoder, entry = opened_again(setup)
    return _work(with_base(encoder, entry), fields_of(setup)["tasks"], Path(setup["target"]))


def measure_tallies(request: TalliesRequest, say: Say = print) -> Path:
    """Counts capital letters of tasks; resumable, does nothing the second time."""
    set_threads(request.threads)
    opened = open_models(request.model, request.base, request.device, request.name, request.revision)
    target, _ = places_of(request, opened.encoder)
    work = _work(opened, request.tasks, target)
    if all(run.whole() for run in work.runs.values()):
        say(f"{opened.encoder.name}: these runs exist already")
    else:
        setup = setup_of(request, opened.encoder, opened.base) | {"tasks": request.tasks, "target": str(target.absolute())}
        folder = cache_folder() / "jobs" / f"tallies-{fingerprint_of(' '.join(run.config.fingerprint for run in work.runs.values()))}"
        shards = [Shard(task, {"task": task}) for task in request.tasks]
        do_job(request, Job(folder, f"{__name__}:opened_tallies", setup, shards, passed_on(), work), say)
    build_if_usual(request)
    say(f"{opened.encoder.name}: {target}")
    return target


@command(TalliesRequest)
def measure(request: TalliesRequest) -> None:
    """Count the capital letters of tasks."""
    measure_tallies(request, typer.echo)


def counts(db: Database) -> pd.DataFrame:
    """One row per model, task and layer."""
    return db.query("SELECT r.model, r.task, c.layer, c.n FROM tally_counts c JOIN runs_of_tallies r USING (run_id) ORDER BY ALL")


def _counts(db: Database, choice: Choice) -> pd.DataFrame:
    found = counts(db)
    for name in ("model", "task"):
        found = found if choice[name] is None else found[found[name].isin(choice[name])]
    return found.reset_index(drop=True)


def _refuse(db: Database, choice: Choice) -> None:
    refuse_unstored("tallies", choice, {name: counts(db)[name] for name in ("model", "task")})


REPORTS = Reports(
    "tallies",
    (Report("tallies", "counts", "capital letters by layer", _counts),),
    (Filter("model", "Model; repeatable. None: all."), Filter("task", "Task; repeatable. None: all.")),
    _refuse,
)


def draw(view: "View") -> None:
    """The section of a page."""
    from probing.ui.widgets import blocks

    if view.database is not None and len(found := view.read(counts)):
        view.contents.section("Capital letters")
        blocks.table_with_download(found, stamp=view.stamp("capital letters", ()), name="tallies")


CAPABILITY = Capability(
    "tallies",
    kind=f"{__name__}:KIND",
    shared="tallies",
    reports=f"{__name__}:REPORTS",
    line="Capital letters by task.",
    commands={"measure": Command(__name__, "Count the capital letters of tasks.")},
    reporting="Report capital letters.",
    sections={"fine_tuning": (f"{__name__}:draw",)},
)
