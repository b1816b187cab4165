"""The tasks of edge probing: one entry for each, which commands, training, reports and pages read."""

import gc
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from probing.edges.readers.gum import read_coreference
from probing.edges.readers.gum import read_entities as read_gum_entities
from probing.edges.readers.own_tasks import Parts, read_own_task
from probing.edges.readers.propbank import read_constituents, read_merged_constituents, read_roles
from probing.edges.readers.relations import read_proto_roles, read_semeval
from probing.edges.readers.sentences import dependencies, part_of_speech, read_conll_entities, read_ewt
from probing.edges.targets import Span, TaskData
from probing.kernel.errors import EdgeDataError, OptionError
from probing.kernel.registry import read_registry

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_ROLE = re.compile(r"ARG[0-5A]|ARGM(-.+)?")


def every_label(_label: str) -> bool:
    return True


def same_entity(label: str) -> bool:
    """Pairs of mentions of one entity; the other label is what a probe without knowledge predicts."""
    return label == "1"


def role(label: str) -> bool:
    """Core and non-core roles; the verb itself, ``R-`` and ``C-`` are trained and not counted."""
    return _ROLE.fullmatch(label) is not None


def relation(label: str) -> bool:
    """Every relation except ``Other``."""
    return label != "Other"


@dataclass(frozen=True)
class EdgeTask:
    """A task of edge probing; ``data_set`` has names of the registry, none for a user's folder."""

    name: str
    title: str
    spans: int
    data_set: tuple[str, ...]
    licence: str
    #: Whether F1 counts a label; the others are trained, too.
    counts: Callable[[str], bool]
    #: In tables and figures, from 0; own tasks come last.
    place: int
    #: (a folder for each data set) -> training, development and test data.
    read: Callable[..., Parts] = field(repr=False, compare=False)


_EWT = "CC BY-SA 4.0"
_GUM = "annotations CC BY 4.0; texts by genre: CC BY, CC BY-SA, and CC BY-NC-SA, which may not be published here"
_LDC = "parses of the Linguistic Data Consortium, not to be published; words CC BY-SA 4.0"
_LIST: tuple[tuple[str, str, int, tuple[str, ...], str, Callable[[str], bool], Callable[..., Parts]], ...] = (
    ("pos", "Part of speech", 1, ("ud-english-ewt",), _EWT, every_label, partial(read_ewt, part_of_speech)),
    ("constituents", "Constituents", 1, ("ewt-propbank",), _LDC, every_label, read_constituents),
    ("dependencies", "Dependencies", 2, ("ud-english-ewt",), _EWT, every_label, partial(read_ewt, dependencies)),
    ("entities", "Entities", 1, ("conll2003",), "Reuters corpus, research only", every_label, read_conll_entities),
    ("srl", "Semantic roles", 2, ("ewt-propbank",), _EWT, role, read_roles),
    ("coreference", "Coreference", 2, ("gum",), _GUM, same_entity, partial(read_coreference, "ontogum")),
    (
        "proto-roles",
        "Proto-roles",
        2,
        ("spr2-uds", "ud-english-ewt"),
        "annotations MIT; texts CC BY-SA 4.0",
        every_label,
        read_proto_roles,
    ),
    ("relations", "Relations", 2, ("semeval2010-task8",), "CC BY 3.0", relation, read_semeval),
    (
        "constituents-merged",
        "Constituents, one target a span",
        1,
        ("ewt-propbank",),
        _LDC,
        every_label,
        read_merged_constituents,
    ),
    ("entities-gum", "Entities, nested (GUM)", 1, ("gum",), _GUM, every_label, read_gum_entities),
    (
        "coreference-gum",
        "Coreference, with single mentions (GUM)",
        2,
        ("gum",),
        _GUM,
        same_entity,
        partial(read_coreference, "gum"),
    ),
)
#: Name -> task, in the order of tables and figures: the paper's eight, then further ones.
EDGE_TASKS: dict[str, EdgeTask] = {
    name: EdgeTask(name, title, spans, data, licence, counts, place, read)
    for place, (name, title, spans, data, licence, counts, read) in enumerate(_LIST)
}
#: The tasks that ``all`` means.
ALL: tuple[str, ...] = tuple(EDGE_TASKS)[:8]
#: The authors' names for tasks of which not every label counts; a user's folder of that name is counted likewise.
AUTHORS_COUNTS: dict[str, Callable[[str], bool]] = {
    "edges-srl-conll2005": role,
    "edges-srl-conll2012": role,
    "edges-srl-ontonotes": role,
    "edges-coref-ontonotes": same_entity,
    "edges-coref-ontonotes-conll": same_entity,
    "edges-rel-semeval": relation,
}

#: Task -> what its spans are called, if "first span" and "second span" are not clear.
SPANS_ARE: dict[str, tuple[str, ...]] = {
    "pos": ("word",),
    "constituents": ("phrase",),
    "constituents-merged": ("phrase",),
    "dependencies": ("word", "its head"),
    "entities": ("mention",),
    "entities-gum": ("mention",),
    "srl": ("predicate", "argument"),
    "coreference": ("mention", "mention"),
    "coreference-gum": ("mention", "mention"),
    "proto-roles": ("predicate", "argument"),
    "relations": ("first entity", "second entity"),
}
#: Tasks whose spans are single words: their probes have never seen a longer one.
SINGLE_WORDS = ("pos", "dependencies", "proto-roles")

#: Tasks of which a target may have several labels, or none, so that labels do not compete.
SEVERAL_LABELS = ("proto-roles",)


def fits(task: str, spans: Sequence[Span]) -> bool:
    """Whether spans are as long as the task's own: its probes have not learned others."""
    return task not in SINGLE_WORDS or all(end - start == 1 for start, end in spans)


#: Tasks whose data anybody may fetch and whose probes may be shared.
OPEN_TASKS = ("pos", "dependencies", "srl", "proto-roles", "relations")


def train_command(model: str) -> str:
    """The commands that train the probes of a model, on tasks whose data anybody can download."""
    there = {entry.name for entry in read_registry().data if entry.has_address}
    tasks = [name for name in OPEN_TASKS if there.issuperset(EDGE_TASKS[name].data_set)]
    data = dict.fromkeys(data_set for name in tasks for data_set in EDGE_TASKS[name].data_set)
    fetch = f"python -m probing fetch {' '.join(data)}"
    return f"{fetch} && python -m probing edges train --model {shlex.quote(model)} --tasks {','.join(tasks)}"


def read_task(name: str, downloads: Path) -> tuple[EdgeTask, TaskData]:
    """A task and its data, by its name or the path of a folder in jiant's format."""
    if name not in EDGE_TASKS:
        return _read_own(name)
    task = EDGE_TASKS[name]
    for data_set in task.data_set:
        if not (downloads / data_set).is_dir():
            raise EdgeDataError(
                f"no folder {downloads / data_set}; {name} needs it: python -m probing fetch {' '.join(task.data_set)}"
            )
    with _without_collection():
        train, dev, test = task.read(*(downloads / data_set for data_set in task.data_set))
    return task, TaskData(name, train, dev, test)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Switches garbage collection off: it would scan hundreds of thousands of targets repeatedly and find nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _read_own(path: str) -> tuple[EdgeTask, TaskData]:
    """The task of a folder, called by the folder's name."""
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise OptionError(
            f"got the task {path!r}; expected one of {', '.join(EDGE_TASKS)}, or the path of a folder with train.jsonl"
            " and dev.jsonl"
        )
    name = folder.resolve().name
    if name.casefold() in {"all", *EDGE_TASKS}:
        raise EdgeDataError(
            f"{folder} has the name of the built-in task {name.casefold()!r}; rename the folder, which names the task"
        )
    if not _NAME.fullmatch(name):
        raise EdgeDataError(
            f"got the folder name {name!r} for a task; expected letters, digits, '.', '_' and '-' only: rename the"
            " folder"
        )
    with _without_collection():
        own = read_own_task(folder)
    counts = AUTHORS_COUNTS.get(name, every_label)
    task = EdgeTask(name, name, own.spans, (), own.licence, counts, len(EDGE_TASKS), partial(_own_parts, folder))
    return task, TaskData(name, *own.parts)


def _own_parts(folder: Path) -> Parts:
    return read_own_task(folder).parts
