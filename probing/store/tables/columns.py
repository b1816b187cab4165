"""How the columns of a stored table are described."""

import pyarrow as pa


def table_schema(required: dict[str, pa.DataType], optional: dict[str, pa.DataType] | None = None) -> pa.Schema:
    """Columns that may not be empty, then those that may."""
    fields = [pa.field(name, kind, nullable=False) for name, kind in required.items()]
    return pa.schema(fields + [pa.field(name, kind, nullable=True) for name, kind in (optional or {}).items()])


def ordered(schema: pa.Schema, names: str) -> pa.Schema:
    """The schema with its columns in the order of ``names``, which are separated by blanks."""
    if sorted(names.split()) != sorted(schema.names):
        raise ValueError(f"the column order names {names.split()}, the schema has {schema.names}")
    return pa.schema([schema.field(name) for name in names.split()])
