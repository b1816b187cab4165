"""From a family's base to the tables of the paper on edge probing; resumable, finished steps are skipped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from probing.core.edges.encoders import RANDOM, TRAINED
from probing.core.edges.published import PublishedEdges
from probing.core.edges.tasks import ALL, EDGE_TASKS
from probing.core.errors import OptionError, StoreError
from probing.core.paths import cache_folder, database_folder, result_folders
from probing.core.registry import FamilyEntry, Registry, read_registry
from probing.reports.reproduction.edges import tables
from probing.reports.reproduction.edges.claims import judged_frame
from probing.reports.reproduction.edges.laid import encoders_here, lay_beside
from probing.store.build import build_database
from probing.store.database import open_database
from probing.workflows.edges.train import train_edges
from probing.workflows.executors import ExecutorChoice, executor
from probing.workflows.reproduction.fetching import fetch_all
from probing.workflows.reproduction.stage import Stage, stages_of
from probing.workflows.reproduction.written import write_tables
from probing.workflows.requests.edges import EdgesRequest
from probing.workflows.say import Say


@dataclass(frozen=True)
class ReproduceEdgesRequest:
    """A reproduction and its settings.

    Attributes:
        family: a family of the registry; its base is probed.
        tasks: names of tasks, or paths of folders in jiant's format.
        out: folder of the tables; None: ``cache/reproduction/edges-FAMILY``.
        source: folder of local copies; None downloads.
        seeds: number of seeds per kind of probe.
        device: auto, cpu, cuda or mps.
        executor: where probes are trained.
    """

    family: str = "bert-base"
    tasks: tuple[str, ...] = ALL
    out: Path | None = None
    source: Path | None = None
    seeds: int = 1
    device: str = "auto"
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)


@dataclass(frozen=True)
class EdgePlan:
    """A request with its entries of the registry."""

    request: ReproduceEdgesRequest
    registry: Registry
    family: FamilyEntry

    @property
    def out(self) -> Path:
        """Folder of the tables."""
        return self.request.out or cache_folder() / "reproduction" / f"edges-{self.family.name}"


def reproduce_edges(request: ReproduceEdgesRequest, only: Stage | None = None, say: Say = print) -> None:
    """Fetches, trains cumulative probes of the base and of its random twin, builds the database and writes the tables.

    Args:
        request: the reproduction.
        only: one stage instead of all.
        say: called with a line for each step.

    Raises:
        OptionError: for an unknown task, a stage that this paper lacks, or an option of another executor.
        ProbingError: as the workflow of each stage.
    """
    plan = _planned(request)
    stages = stages_of(STAGES, only, "edge-probing")
    for number, (stage, do) in enumerate(stages.items(), 1):
        say(f"== Edge probing, {plan.family.base}, stage {number} of {len(stages)}: {stage.value}")
        do(plan, say)


def _planned(request: ReproduceEdgesRequest) -> EdgePlan:
    """Refuses impossible requests now, not after hours of training."""
    unknown = [task for task in request.tasks if task not in EDGE_TASKS and not Path(task).expanduser().is_dir()]
    if unknown or not request.tasks:
        raise OptionError(
            f"got the tasks {','.join(request.tasks)!r}; expected some of all, {', '.join(EDGE_TASKS)}, or folders in jiant's format, "
            "separated by commas"
        )
    executor(request.executor, 1, request.device)
    registry = read_registry()
    return EdgePlan(request, registry, registry.family(request.family))


def _fetch(plan: EdgePlan, say: Say) -> None:
    needed = [name for task in plan.request.tasks if task in EDGE_TASKS for name in EDGE_TASKS[task].data_set]
    fetch_all(plan.registry, [plan.family.base], list(dict.fromkeys(needed)), plan.request.source, say)


def _train(plan: EdgePlan, say: Say) -> None:
    request = plan.request
    for encoder in (TRAINED, RANDOM):
        say(f"  {plan.family.base}, {encoder} encoder:")
        wanted = EdgesRequest(
            model=plan.family.base, tasks=request.tasks, encoder=encoder, seeds=request.seeds, device=request.device,
            executor=request.executor, rebuild=False,
        )  # fmt: skip
        # The database is built once, at the end.
        train_edges(wanted, say)


def _build(plan: EdgePlan, say: Say) -> None:
    say(f"  {build_database(result_folders(), database_folder())}")


def _tables(plan: EdgePlan, say: Say) -> None:
    base, published = plan.family.base, PublishedEdges.read()
    with open_database(database_folder()) as db:
        if base not in encoders_here(db):
            again = f"python -m probing reproduce --paper edge-probing --family {plan.family.name}"
            raise StoreError(f"no cumulative probes of {base} are stored; make them with: {again}")
        laid = lay_beside(db, base, published)
    written = {
        "scores": tables.scores_by_layer(laid.tasks, laid.encoders),
        "summary": laid.summary,
        "data": tables.data(published, laid.data),
        "claims": judged_frame(laid.judged, {claim.name: claim.says for claim in published.claims}),
    }
    write_tables(plan.out, written, say)


STAGES: Mapping[Stage, Callable[[EdgePlan, Say], None]] = {
    Stage.fetch: _fetch,
    Stage.train: _train,
    Stage.build: _build,
    Stage.tables: _tables,
}
