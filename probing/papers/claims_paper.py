"""A paper whose results are reproduced: its published numbers, our subjects, their numbers and tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from probing.kernel.published import Published
from probing.kernel.store.database import Database
from probing.papers.claims import Judged, Subject, claims_frame, judge


@dataclass(frozen=True)
class Ours:
    """The numbers of a subject, an encoder or a base with its fine-tuned models, and the runs behind them."""

    name: str
    about: Any
    run_ids: tuple[str, ...]
    origin: str
    judged_as: Subject


@dataclass(frozen=True)
class Reproduction:
    """Ours (None if nothing is stored) compared with a paper, in tables by name."""

    ours: Ours | None
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Paper:
    """A paper, its file of published numbers, and how ours are measured and compared. ``papers.PAPERS`` lists all.

    ``needs``: what has to be stored of a subject; ``subjects``: the stored ones by name, the default first;
    ``measure``: database, name of a subject and further settings -> its numbers; ``written``: the tables that
    ``reproduce`` writes.
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
        """Ours compared with the paper; ``subject`` is as for ``measure``, none compares nothing of ours."""
        ours = self.measure(db, *subject) if db is not None and subject else None
        return Reproduction(ours, self.tables(self.numbers, db, ours))

    def judge(self, db: Database | None, ours: Ours | None) -> tuple[Judged, ...]:
        return judge(db, self.numbers.claims, ours.judged_as if ours else None)

    def to_write(self, db: Database, base: str) -> dict[str, pd.DataFrame]:
        """The tables and claims that ``reproduce`` writes."""
        reproduction = self.compare(db, base)
        return {name: reproduction.tables[name] for name in self.written} | {
            "claims": claims_frame(self.judge(db, reproduction.ours))
        }
