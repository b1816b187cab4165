"""The tasks of edge probing: one entry for each, which commands, training, reports and pages read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from probing.core.edges.readers.conll_entities import read_conll_entities
from probing.core.edges.readers.data_lines import Parts
from probing.core.edges.readers.semeval import read_semeval
from probing.core.edges.readers.universal_dependencies import dependencies, part_of_speech, read_ewt
from probing.core.edges.target import TaskData
from probing.core.errors import EdgeDataError, OptionError

_ROLE = re.compile(r"ARG[0-5A]|ARGM(-.+)?")


def every_label(_label: str) -> bool:
    return True


def same_entity(label: str) -> bool:
    """Pairs of mentions that mean the same; the others are the answer of who knows nothing."""
    return label == "1"


def role(label: str) -> bool:
    """Core and non-core roles; the verb's own, and references and continuations (``R-``, ``C-``), are trained and not counted."""
    return _ROLE.fullmatch(label) is not None


def relation(label: str) -> bool:
    """Every relation but ``Other``."""
    return label != "Other"


@dataclass(frozen=True)
class EdgeTask:
    """A task of edge probing.

    Attributes:
        name: on the command line and in results.
        title: for readers.
        spans: of a target, 1 or 2.
        data_set: the fetched data sets that it reads, as the registry calls them; none for a folder of the user's.
        licence: of texts and annotations.
        counts: whether F1 counts a label; the others are trained all the same.
        place: in tables and figures, from 0; own tasks come last.
        read: (a folder for each data set) -> training, development and test data.
    """

    name: str
    title: str
    spans: int
    data_set: tuple[str, ...]
    licence: str
    counts: Callable[[str], bool]
    place: int
    read: Callable[..., Parts] = field(repr=False, compare=False)


_LIST = (
    ("pos", "Part of speech", 1, ("ud-english-ewt",), "CC BY-SA 4.0", every_label, partial(read_ewt, part_of_speech)),
    ("dependencies", "Dependencies", 2, ("ud-english-ewt",), "CC BY-SA 4.0", every_label, partial(read_ewt, dependencies)),
    ("entities", "Entities", 1, ("conll2003",), "Reuters corpus, research only", every_label, read_conll_entities),
    ("relations", "Relations", 2, ("semeval2010-task8",), "CC BY 3.0", relation, read_semeval),
)
#: Name -> task, in the order of tables and figures: the paper's.
EDGE_TASKS: dict[str, EdgeTask] = {
    name: EdgeTask(name, title, spans, data, licence, counts, place, read)
    for place, (name, title, spans, data, licence, counts, read) in enumerate(_LIST)
}
#: The tasks that ``all`` means.
ALL: tuple[str, ...] = ("pos", "dependencies", "entities", "relations")


def read_task(name: str, downloads: Path) -> tuple[EdgeTask, TaskData]:
    """A task and its data.

    Args:
        name: of a task, or the path of a folder in jiant's format.
        downloads: the folder with the fetched data sets, each in a folder of its name.

    Raises:
        OptionError: if there is no task of that name.
        EdgeDataError: if its data are missing or malformed.
    """
    if name not in EDGE_TASKS:
        raise OptionError(f"got the task {name!r}; expected one of {', '.join(EDGE_TASKS)}")
    task = EDGE_TASKS[name]
    for data_set in task.data_set:
        if not (downloads / data_set).is_dir():
            raise EdgeDataError(f"no folder {downloads / data_set}; {name} needs it: python -m probing fetch {' '.join(task.data_set)}")
    train, dev, test = task.read(*(downloads / data_set for data_set in task.data_set))
    return task, TaskData(name, train, dev, test)
