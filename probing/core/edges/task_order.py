"""The order of tasks in tables, figures and menus."""

from collections.abc import Iterable

from probing.core.edges.tasks import EDGE_TASKS


def in_order(tasks: Iterable[str]) -> list[str]:
    """The tasks, each once: ours in the paper's order, then own ones by name."""
    places = list(EDGE_TASKS)
    return sorted(set(tasks), key=lambda task: (places.index(task) if task in EDGE_TASKS else len(places), task))
