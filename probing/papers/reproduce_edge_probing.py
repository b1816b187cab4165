"""How the paper on edge probing is reproduced: from a family's base to the tables."""

from pathlib import Path

from probing.edges.requests import EdgesRequest
from probing.edges.targets import RANDOM, TRAINED
from probing.edges.tasks import ALL, EDGE_TASKS
from probing.edges.train import train_edges
from probing.kernel.errors import OptionError, Say
from probing.papers.edge_probing_paper import EDGE_PROBING
from probing.papers.reproduce_plan import Plan, Procedure
from probing.papers.reproduce_steps import compare, fetch
from probing.papers.requests import ReproduceRequest, Stage


def _tasks(request: ReproduceRequest) -> tuple[str, ...]:
    """Names of tasks, or paths of folders in jiant's format."""
    tasks = ALL if request.tasks == ("all",) else request.tasks
    if any(task not in EDGE_TASKS and not Path(task).expanduser().is_dir() for task in tasks):
        raise OptionError(
            f"got the tasks {','.join(tasks)!r}; expected some of all, {', '.join(EDGE_TASKS)}, or folders in jiant's"
            " format, separated by commas"
        )
    return tasks


def _fetch(plan: Plan, say: Say) -> None:
    fetch(plan, [name for task in plan.tasks if task in EDGE_TASKS for name in EDGE_TASKS[task].data_set], say)


def _train(plan: Plan, say: Say) -> None:
    """Cumulative probes of the base and of its random twin."""
    request, base = plan.request, plan.family.base
    for encoder in (TRAINED, RANDOM):
        say(f"  {base}, {encoder} encoder:")
        edges_request = EdgesRequest(
            base, plan.tasks, encoder=encoder, seeds=request.seeds, device=request.device, executor=request.executor
        )
        train_edges(edges_request, say)


REPRODUCE_EDGE_PROBING = Procedure(
    EDGE_PROBING,
    "Edge probing, {family.base}",
    prefix="edges-",
    tasks=_tasks,
    steps={Stage.fetch: _fetch, Stage.train: _train, Stage.tables: compare},
)
