"""Brings rows that earlier versions of the program stored to this version's form."""

import pyarrow as pa

from probing.core.head_kinds import canonical_head

#: Tables whose column ``head`` is a kind of heads.
_NAMING_HEADS = ("runs", "counted_runs", "head_training")


def with_names_of_today(table: str, rows: pa.Table) -> pa.Table:
    """Rows of any version with the names that this one gives to kinds of heads; ``logit_lens`` was ``lens`` up to version 0.6."""
    if table not in _NAMING_HEADS or "head" not in rows.column_names:
        return rows
    place = rows.column_names.index("head")
    names = [canonical_head(name) for name in rows.column(place).to_pylist()]
    return rows.set_column(place, rows.schema.field(place), pa.array(names, rows.schema.field(place).type))
