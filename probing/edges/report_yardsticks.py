"""Yardsticks for a task's predictions: the memory baseline, and the share of the most frequent label."""

from dataclasses import dataclass

from probing.edges.report_summary import baselines
from probing.edges.store import edge_labels, edge_tasks
from probing.kernel.store.database import Database

#: The part whose numbers are shown with a prediction.
PART = "dev"


@dataclass(frozen=True)
class TaskYardsticks:
    """F1 on dev of always predicting a span text's commonest training label, that of all texts, and its share."""

    memory: float
    label: str
    share: float


def yardsticks(db: Database) -> dict[str, TaskYardsticks]:
    """Task -> its yardsticks, for every task whose data are described in the store."""
    tasks, labels, scores = edge_tasks(db), edge_labels(db), baselines(db, PART)
    trained = tasks[tasks["part"] == "train"].set_index("task")["targets"]
    by_task = {}
    for task, rows in labels.groupby("task", sort=False):
        name = str(task)
        if (name, "memory") in scores and int(trained.get(name, 0)):
            most = rows.sort_values(["n", "name"], ascending=[False, True]).iloc[0]
            by_task[name] = TaskYardsticks(
                scores[name, "memory"], str(most["name"]), int(most["n"]) / int(trained[name])
            )
    return by_task
