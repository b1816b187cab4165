"""What BERTnesia published: its Tables 1 to 3 and what its figures show. Reads ``data/published``."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from probing.kernel import published
from probing.kernel.provenance import Frozen
from probing.kernel.published import refuse_twice, refuse_unknown


class PublishedModel(Frozen):
    """A model of the paper; ``objective`` is what ``runs.objective`` calls its kind here."""

    name: str
    objective: str
    note: str = ""


class PublishedSet(Frozen):
    """A row of Table 1."""

    name: str
    #: The probe set here that holds facts of the same source.
    ours: str
    #: The probe set with other facts that is shown if there is none of ``ours``.
    stand_in: str = ""
    relations: int | None = None
    instances: int
    parts: dict[str, int] = Field(default_factory=dict)
    example: str
    answer: str

    @model_validator(mode="after")
    def _parts_add_up(self) -> "PublishedSet":
        if self.parts and sum(self.parts.values()) != self.instances:
            raise ValueError(
                f"the parts of {self.name} add up to {sum(self.parts.values())}, expected {self.instances}"
            )
        return self


class ForgottenRow(Frozen):
    """A row of Table 2: per rank the share as printed and the number of relations behind it."""

    model: str
    shares: tuple[float, ...]
    counts: tuple[int, ...]


class ForgottenTable(Frozen):
    """Table 2. ``divisor`` is what the counts were divided by before they were rounded to two places."""

    divisor: int
    ranks: tuple[int, ...]
    rows: tuple[ForgottenRow, ...]

    @model_validator(mode="after")
    def _shares_are_counts(self) -> "ForgottenTable":
        for row in self.rows:
            if not len(row.shares) == len(row.counts) == len(self.ranks):
                raise ValueError(
                    f"{row.model} has {len(row.shares)} shares and {len(row.counts)} counts, expected {len(self.ranks)}"
                    " each"
                )
            for share, count in zip(row.shares, row.counts, strict=True):
                if abs(share - count / self.divisor) > 0.005 + 1e-9:
                    raise ValueError(
                        f"{row.model} has the share {share}, but {count} of {self.divisor} is"
                        f" {count / self.divisor:.4f}"
                    )
        return self


class KnowledgeRow(Frozen):
    """A row of Table 3: probe set -> (last layer, total), P@1 in per cent."""

    model: str
    cells: dict[str, tuple[float, float]]

    @model_validator(mode="after")
    def _total_is_not_less(self) -> "KnowledgeRow":
        for name, (last, total) in self.cells.items():
            if not 0 <= last <= total <= 100:
                raise ValueError(f"{self.model} has {last} / {total} on {name}, expected 0 <= last <= total <= 100")
        return self


class PublishedFigure(published.PublishedFigure):
    """A figure of the paper; ``relations`` only if single relations are drawn."""

    number: int
    kind: Literal["bars", "layers", "relations"]
    models: tuple[str, ...]
    probe_sets: tuple[str, ...]
    ranks: tuple[int, ...] = (1,)
    relations: tuple[str, ...] = ()


class PublishedFacts(published.Published):
    """All that is known of the paper's results."""

    file: ClassVar[str] = "bertnesia.toml"
    models: tuple[PublishedModel, ...]
    probe_sets: tuple[PublishedSet, ...]
    table_2: ForgottenTable
    table_3: tuple[KnowledgeRow, ...]
    figures: tuple[PublishedFigure, ...] = ()

    @model_validator(mode="after")
    def _names_are_known(self) -> "PublishedFacts":
        rows = [row.model for row in self.table_2.rows], [row.model for row in self.table_3]
        models, sets = [model.name for model in self.models], {probe_set.name for probe_set in self.probe_sets}
        refuse_unknown(
            "model", {*rows[0], *rows[1], *(name for figure in self.figures for name in figure.models)}, set(models)
        )
        cells = {name for row in self.table_3 for name in row.cells}
        refuse_unknown("probe set", cells | {name for figure in self.figures for name in figure.probe_sets}, sets)
        refuse_twice({"models": models, "rows of Table 2": rows[0], "rows of Table 3": rows[1]})
        return self

    def objective(self, model: str) -> str:
        """The objective of a model of the paper."""
        return next(entry.objective for entry in self.models if entry.name == model)

    def forgotten(self, model: str, k: int) -> tuple[float, int] | None:
        """Table 2's share and the count behind it; None if it was not published."""
        row = next((row for row in self.table_2.rows if row.model == model), None)
        if row is None or k not in self.table_2.ranks:
            return None
        place = self.table_2.ranks.index(k)
        return row.shares[place], row.counts[place]

    def knowledge(self, model: str, probe_set: str) -> tuple[float, float] | None:
        """Table 3's last layer and total in per cent; None if they were not published, which differs from 0."""
        row = next((row for row in self.table_3 if row.model == model), None)
        return row.cells.get(probe_set) if row else None

    def probe_set(self, name: str) -> PublishedSet:
        """The row of Table 1 with the paper's name."""
        return next(row for row in self.probe_sets if row.name == name)
