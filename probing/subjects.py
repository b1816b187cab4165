"""What the subjects declare, joined: their kinds of runs, their reports, and what of them is shared together."""

from typing import TYPE_CHECKING

from probing.kernel.joined import Declared

if TYPE_CHECKING:
    from probing.kernel.report import Reports
    from probing.kernel.store.kinds import Kind

#: What is shared of a model besides its runs.
HEADS = "heads"
#: Subject, in the order of lists -> what its runs are shared as, alone or with those of other subjects.
SHARED_AS = {
    "facts": "predictions",
    "candidates": "predictions",
    "carried": "predictions",
    "edges": "edges",
    "sentences": "sentences",
    "changes": "sentences",
    "forgetting": "forgetting",
    "series": "forgetting",
}


def kinds() -> "dict[str, Kind]":
    """Subject -> its kind of runs."""
    from probing.changes.kind import CHANGES
    from probing.edges.kind import EDGES
    from probing.facts.kind import CANDIDATES, CARRIED, FACTS
    from probing.forgetting.kind import FORGETTING, SERIES
    from probing.sentences.kind import SENTENCES

    return {kind.name: kind for kind in (FACTS, CANDIDATES, CARRIED, EDGES, SENTENCES, CHANGES, FORGETTING, SERIES)}


def kinds_of(what: str) -> "list[Kind]":
    """The kinds of runs that are shared together."""
    return [kind for subject, kind in kinds().items() if SHARED_AS[subject] == what]


def reports() -> "dict[str, Reports]":
    """Subject -> its reports; what is carried is reported with the facts."""
    from probing.changes.report import CHANGES
    from probing.edges.report import EDGES
    from probing.facts.report import FACTS
    from probing.facts.report_candidates import CANDIDATES
    from probing.forgetting.report import FORGETTING, SERIES
    from probing.sentences.report import SENTENCES

    return {each.kind: each for each in (FACTS, CANDIDATES, EDGES, SENTENCES, CHANGES, FORGETTING, SERIES)}


#: Subject -> its reports, imported when one is needed.
REPORTS = Declared["Reports"](reports)


def everything_shared() -> tuple[str, ...]:
    """The names of all that can be shared: heads, and the runs of each subject, or of several together."""
    return (HEADS, *dict.fromkeys(SHARED_AS.values()))
