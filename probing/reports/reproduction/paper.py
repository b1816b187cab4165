"""A paper whose results are reproduced: its published numbers, our subjects and evidence, the rules on its claims, and its tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from probing.core.published import Published
from probing.reports.reproduction.findings import Evidence, Judged, Rule, claims_frame, judge
from probing.store.database import Database


@dataclass(frozen=True)
class Ours:
    """The numbers of a subject: an encoder, or a base with its fine-tuned models.

    Attributes:
        name: the model.
        evidence: its numbers, for the claims.
        run_ids: the runs behind them.
        origin: which results they are, for stamps.
        about: what else the paper's tables and figures need.
    """

    name: str
    evidence: Any
    run_ids: tuple[str, ...]
    origin: str
    about: Any = None


@dataclass(frozen=True)
class Reproduction:
    """Ours compared with a paper.

    Attributes:
        ours: None if nothing is stored.
        papers: side of the paper -> its numbers.
        judged: the claims.
        tables: name -> table.
    """

    ours: Ours | None
    papers: Mapping[str, Any]
    judged: tuple[Judged, ...]
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Paper:
    """A paper. ``papers.PAPERS`` lists all.

    Attributes:
        name: in links and options.
        published: its file of published numbers.
        rules: claim -> its rule.
        nothing: a sentence for claims if nothing of ours is stored.
        needs: what has to be stored of a subject.
        subjects: the stored subjects by name, the default first.
        measure: database, name of a subject and further settings -> its numbers.
        theirs: published numbers -> side of the paper -> the same numbers as evidence.
        tables: published numbers, database, ours and theirs -> name -> table.
        written: the tables that ``reproduce`` writes.
    """

    name: str
    published: type[Published]
    rules: Mapping[str, Rule]
    nothing: str
    needs: str
    subjects: Callable[[Database], Mapping[str, Any]]
    measure: Callable[..., Ours]
    theirs: Callable[[Any], Mapping[str, Evidence]]
    tables: Callable[[Any, Database | None, Ours | None, Mapping[str, Any]], Mapping[str, pd.DataFrame]]
    written: tuple[str, ...] = ()

    @cached_property
    def numbers(self) -> Any:
        """The published numbers; they change only with the program."""
        return self.published.read()

    def judge(self, ours: Evidence | None) -> tuple[Judged, ...]:
        """Every claim judged on these numbers and on the paper's own."""
        return judge(self.rules, self.numbers.claims, ours, self.theirs(self.numbers), self.nothing)

    def compare(self, db: Database | None, *subject: str) -> Reproduction:
        """Ours compared with the paper.

        Args:
            db: the database; None if there is none.
            subject: as for ``measure``; none compares nothing of ours.
        """
        ours = self.measure(db, *subject) if db is not None and subject else None
        papers = self.theirs(self.numbers)
        judged = judge(self.rules, self.numbers.claims, ours.evidence if ours else None, papers, self.nothing)
        return Reproduction(ours, papers, judged, self.tables(self.numbers, db, ours, papers))

    def to_write(self, reproduction: Reproduction) -> dict[str, pd.DataFrame]:
        """The tables and claims that ``reproduce`` writes."""
        return {name: reproduction.tables[name] for name in self.written} | {"claims": claims_frame(reproduction.judged)}
