"""What the subjects declare, joined: their kinds of runs, their reports, and what of them is shared together."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from probing.kernel.report import Reports
    from probing.kernel.store.kinds import Kind

T = TypeVar("T")

#: What is shared of a model besides its runs.
HEADS = "heads"
#: Subject, in the order of lists -> what its runs are shared as, alone or with those of other subjects.
SHARED_AS = {
    "knowledge": "predictions",
    "candidates": "predictions",
    "edges": "edges",
    "sentences": "sentences",
    "changes": "sentences",
    "forgetting": "forgetting",
    "series": "forgetting",
}


class Declared(Mapping[str, T]):
    """A mapping that is made when it is first read, because what it reads imports this module."""

    def __init__(self, make: Callable[[], Mapping[str, T]]):
        self._make = make
        self._mapping: Mapping[str, T] = {}

    def _made(self) -> Mapping[str, T]:
        self._mapping = self._mapping or self._make()
        return self._mapping

    def __getitem__(self, name: str) -> T:
        return self._made()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())

    def __contains__(self, name: object) -> bool:
        return name in self._made()


def kinds() -> "dict[str, Kind]":
    """Subject -> its kind of runs."""
    from probing.changes.kind import CHANGES
    from probing.edges.kind import EDGES
    from probing.facts.kind import CANDIDATES, FACTS
    from probing.forgetting.kind import FORGETTING, SERIES
    from probing.sentences.kind import SENTENCES

    return dict(zip(SHARED_AS, (FACTS, CANDIDATES, EDGES, SENTENCES, CHANGES, FORGETTING, SERIES), strict=True))


def reports() -> "dict[str, Reports]":
    """Subject -> its reports."""
    from probing.changes.report import CHANGES
    from probing.edges.report import EDGES
    from probing.facts.report import KNOWLEDGE
    from probing.facts.report_candidates import CANDIDATES
    from probing.forgetting.report import FORGETTING, SERIES
    from probing.sentences.report import SENTENCES

    return dict(zip(SHARED_AS, (KNOWLEDGE, CANDIDATES, EDGES, SENTENCES, CHANGES, FORGETTING, SERIES), strict=True))


#: Subject -> its reports, imported when one is needed.
REPORTS = Declared["Reports"](reports)


def everything_shared() -> tuple[str, ...]:
    """The names of all that can be shared: heads, and the runs of each subject, or of several together."""
    return (HEADS, *dict.fromkeys(SHARED_AS.values()))
