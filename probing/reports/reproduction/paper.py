"""A paper whose results are reproduced: its published numbers, our subjects and their numbers, its tables, and verdicts
on its claims.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from probing.core.published import Published
from probing.reports.reproduction.judge import Judged, Subject, claims_frame, judge
from probing.store.database import Database


@dataclass(frozen=True)
class Ours:
    """The numbers of a subject: an encoder, or a base with its fine-tuned models.

    Attributes:
        name: the model.
        about: its numbers, as the paper's tables and figures need them.
        run_ids: the runs behind them.
        origin: which results they are, for stamps.
        judged_as: its models and settings, for the claims.
    """

    name: str
    about: Any
    run_ids: tuple[str, ...]
    origin: str
    judged_as: Subject


@dataclass(frozen=True)
class Reproduction:
    """Ours compared with a paper.

    Attributes:
        ours: None if nothing is stored.
        tables: name -> table.
    """

    ours: Ours | None
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Paper:
    """A paper. ``papers.PAPERS`` lists all.

    Attributes:
        name: in links and options.
        published: its file of published numbers.
        needs: what has to be stored of a subject.
        subjects: the stored subjects by name, the default first.
        measure: database, name of a subject and further settings -> its numbers.
        tables: published numbers, database and ours -> name -> table.
        written: the tables that ``reproduce`` writes.
    """

    name: str
    published: type[Published]
    needs: str
    subjects: Callable[[Database], Mapping[str, Any]]
    measure: Callable[..., Ours]
    tables: Callable[[Any, Database | None, Ours | None], Mapping[str, pd.DataFrame]]
    written: tuple[str, ...] = ()

    @cached_property
    def numbers(self) -> Any:
        """The published numbers; they change only with the program."""
        return self.published.read()

    def compare(self, db: Database | None, *subject: str) -> Reproduction:
        """Ours compared with the paper.

        Args:
            db: the database; None if there is none.
            subject: as for ``measure``; none compares nothing of ours.
        """
        ours = self.measure(db, *subject) if db is not None and subject else None
        return Reproduction(ours, self.tables(self.numbers, db, ours))

    def judge(self, db: Database | None, ours: Ours | None) -> tuple[Judged, ...]:
        """Every claim, judged on ours."""
        return judge(db, self.numbers.claims, ours.judged_as if ours else None)

    def to_write(self, db: Database, base: str) -> dict[str, pd.DataFrame]:
        """The tables and claims that ``reproduce`` writes."""
        found = self.compare(db, base)
        return {name: found.tables[name] for name in self.written} | {
            "claims": claims_frame(self.judge(db, found.ours))
        }
