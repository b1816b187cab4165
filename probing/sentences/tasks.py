"""The tasks of sentence-level probing: one entry for each, which commands, training, reports and pages read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from probing.kernel.errors import OptionError, SentenceDataError
from probing.kernel.user_tables import SUFFIXES
from probing.sentences.examples import OURS, PROTOCOLS, SENTEVAL, Labelled, SentenceData
from probing.sentences.odd_man_out import NO_CANDIDATE, odd_man_out
from probing.sentences.readers import (
    GLUE,
    check_classes,
    parse_own_file,
    read_glue,
    read_own_file,
    read_own_folder,
    read_probing_file,
)
from probing.sentences.splits import cleaned, pooled, split

X_PROBE, SENTEVAL_DATA, GLUE_DATA, EWT = "x-probe", "senteval", "glue", "ud-english-ewt"


@dataclass(frozen=True)
class Source:
    """Where sentences come from; ``open``: their licence allows that results hold them."""

    title: str
    licence: str
    open: bool = False


#: Data set -> what it is.
SOURCES: Mapping[str, Source] = {
    X_PROBE: Source("X-Probe, English", "none stated; sentences of Wikipedia"),
    SENTEVAL_DATA: Source(
        "SentEval", "BSD 3-clause for the labels; sentences of the Toronto Book Corpus, not to be published"
    ),
    GLUE_DATA: Source("GLUE", "research use; rights in the sentences remain with their authors"),
    EWT: Source("UD English EWT, changed by rule", "CC BY-SA 4.0", open=True),
}


@dataclass(frozen=True)
class SentenceTask:
    """A task of sentence-level probing."""

    name: str
    title: str
    level: str
    asks: str
    #: Any of them serves; the first that was fetched is read.
    data_sets: tuple[str, ...]
    licence: str
    source: str
    #: Whether the licence allows that results hold them.
    open: bool


_PROBING = (X_PROBE, SENTEVAL_DATA)
_LIST: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("bigram-shift", "Bigram shift", "syntactic", "Were two neighbouring words swapped?", _PROBING),
    ("coordination-inversion", "Coordination inversion", "semantic", "Were two coordinated clauses swapped?", _PROBING),
    (
        "odd-man-out",
        "Odd man out",
        "semantic",
        "Was a noun or verb replaced by another of the same form and frequency?",
        (EWT,),
    ),
    ("past-present", "Past or present", "semantic", "Is the main verb in the past or in the present tense?", _PROBING),
    ("subject-number", "Subject number", "semantic", "Is the subject of the main clause singular or plural?", _PROBING),
    ("tree-depth", "Tree depth", "syntactic", "How deep is the parse tree?", _PROBING),
    ("cola", "CoLA", "syntactic", "Is the sentence acceptable English?", (GLUE_DATA,)),
    ("sst-2", "SST-2", "semantic", "Is the opinion of a film positive or negative?", (GLUE_DATA,)),
    ("rte", "RTE", "semantic", "Does the second sentence follow from the first?", (GLUE_DATA,)),
)


def _task(name: str, title: str, level: str, asks: str, data_sets: tuple[str, ...]) -> SentenceTask:
    source = SOURCES[data_sets[0]]
    return SentenceTask(name, title, level, asks, data_sets, source.licence, source.title, source.open)


#: Name -> task, in the order of tables and figures.
SENTENCE_TASKS: Mapping[str, SentenceTask] = {entry[0]: _task(*entry) for entry in _LIST}
#: The tasks that ``all`` means.
ALL: tuple[str, ...] = tuple(SENTENCE_TASKS)[:6]

_SWAPPED = {"I": "inverted", "O": "original"}
_DEPTHS = {str(depth): str(depth) for depth in range(1, 21)}
#: Task -> name of its files in SentEval and X-Probe, and what their labels are called here.
_FILES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "bigram-shift": ("bigram_shift", _SWAPPED),
    "coordination-inversion": ("coordination_inversion", {**_SWAPPED, "Inv": "inverted", "Orig": "original"}),
    "past-present": ("past_present", {"PAST": "past", "PRES": "present", "Past": "past", "Pres": "present"}),
    "subject-number": ("subj_number", {"NN": "singular", "NNS": "plural", "Sing": "singular", "Plur": "plural"}),
    "tree-depth": ("tree_depth", _DEPTHS),
}

#: What is refused by name, and why.
_BROKEN = ("odd_man_out", "odd_man_out.va.txt", "odd_man_out.te.txt")
_BROKEN_REASON = (
    "X-Probe's odd_man_out is broken at its source: 4,248 of its 10,650 texts have both labels; "
    "take odd-man-out, which is made by rule from UD English EWT (python -m probing fetch ud-english-ewt)"
)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def read_task(name: str, downloads: Path, protocol: str = OURS) -> tuple[SentenceTask, SentenceData]:
    """A task, by its name or a file's path, with source and licence of the data that were read, and its examples."""
    _check_protocol(protocol)
    if name not in SENTENCE_TASKS:
        return _own_task(name, protocol)
    task = SENTENCE_TASKS[name]
    data_set = _fetched(task, downloads, protocol)
    source = SOURCES[data_set]
    rows, left_out = _rows(name, data_set, downloads / data_set, protocol)
    data = split(name, rows, protocol)
    data = replace(data, dropped={**left_out, **data.dropped})
    return replace(task, licence=source.licence, source=source.title, open=source.open), data


def read_upload(content: bytes, name: str, protocol: str = OURS) -> tuple[SentenceTask, SentenceData]:
    """The task of an uploaded file and its data; raises as ``read_task``."""
    _check_protocol(protocol)
    return _own(parse_own_file(content, name), Path(name), protocol)


def _check_protocol(protocol: str) -> None:
    if protocol not in PROTOCOLS:
        raise OptionError(f"got the protocol {protocol!r}, expected one of {', '.join(PROTOCOLS)}")


def _own_task(file: str, protocol: str) -> tuple[SentenceTask, SentenceData]:
    path = Path(file).expanduser()
    if path.name in _BROKEN:
        raise SentenceDataError(_BROKEN_REASON)
    if path.is_dir():
        return _own(read_own_folder(path), path.resolve(), protocol)
    if path.suffix.lower() not in SUFFIXES and not path.is_file():
        raise OptionError(
            f"got the task {file!r}; expected one of {', '.join(SENTENCE_TASKS)}, or the path of a file"
            f" ({', '.join(SUFFIXES)}) or of a folder with train and test"
        )
    return _own(read_own_file(path), path, protocol)


def _own(
    read: tuple[Sequence[Labelled], Mapping[str, int], str], path: Path, protocol: str
) -> tuple[SentenceTask, SentenceData]:
    """The task of a file's rows, called by the file's name without its ending, or of a folder's."""
    name = path.name if path.is_dir() else path.stem
    if name.casefold() in {"all", *SENTENCE_TASKS}:
        raise SentenceDataError(
            f"{path.name} has the name of the built-in task {name.casefold()!r}; rename the file, which names the task"
        )
    if not _NAME.fullmatch(name):
        raise SentenceDataError(
            f"got the file name {path.name!r} for a task; expected letters, digits, '.', '_' and '-' only: rename the"
            " file"
        )
    rows, incomplete, note = read
    usable, dropped = cleaned(rows)
    check_classes(usable, path.name, {**incomplete, **dropped})
    task = SentenceTask(
        name, name, "own", "Which label does the sentence have?", (), "the user's own", path.name, open=True
    )
    data = split(name, rows, protocol)
    return task, replace(data, dropped={**incomplete, **data.dropped}, said="; ".join(filter(None, (note, data.said))))


def _fetched(task: SentenceTask, downloads: Path, protocol: str) -> str:
    """The data set that is read; SentEval's own comes first under its protocol."""
    order = sorted(task.data_sets, key=lambda name: protocol == SENTEVAL and name != SENTEVAL_DATA)
    for data_set in order:
        if (downloads / data_set).is_dir():
            return data_set
    fetch = " or ".join(f"python -m probing fetch {name}" for name in order)
    raise SentenceDataError(f"no folder {downloads / order[0]}; {task.name} needs it: {fetch}")


def _rows(name: str, data_set: str, folder: Path, protocol: str) -> tuple[list[Labelled], dict[str, int]]:
    """Rows of a task, and how many sentences were left out for what reason when they were made."""
    if name in GLUE:
        return read_glue(name, folder), {}
    if data_set == EWT:
        examples, without = odd_man_out(folder)
        return [Labelled(example) for example in examples], {NO_CANDIDATE: without}
    stem, labels = _FILES[name]
    paths = [folder / f"{stem}.txt"] if data_set == SENTEVAL_DATA else sorted(folder.glob(f"{stem}.*.txt"))
    if not paths:
        raise SentenceDataError(f"{folder} has no {stem}.te.txt; fetch it again: python -m probing fetch {data_set}")
    rows = [row for path in paths for row in read_probing_file(path, labels)]
    # Parts of the files count under SentEval's protocol only, and if there is more than one.
    return rows if protocol == SENTEVAL and len({row.part for row in rows}) > 1 else pooled(rows), {}
