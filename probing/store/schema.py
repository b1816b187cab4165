"""What the tables are: columns, types, bounds, and what identifies a row, from the declarations in ``store.tables``.

Parquet is canonical; the tables of the same names in the database have the same columns, except ``runs``, which ``store.run_tables``
splits into the columns of all runs and those of runs on facts. ``docs/tables.md`` describes every column.
"""

import pyarrow as pa

from probing.store.tables import changes, edges, forgetting, knowledge, sentences
from probing.store.tables.columns import SQL_TYPES, Table

#: Raised when a table gets another version; earlier versions of the program refuse its files by name.
SCHEMA_VERSION = 2
#: Table name -> its declaration.
TABLES: dict[str, Table] = {table.name: table for kind in (knowledge, edges, sentences, changes, forgetting) for table in kind.TABLES}
#: Table name -> its columns in order.
SCHEMAS: dict[str, pa.Schema] = {name: table.schema for name, table in TABLES.items()}
#: Table name -> the columns that identify a row.
KEYS: dict[str, tuple[str, ...]] = {name: table.keys for name, table in TABLES.items()}
#: Table name -> the order of rows in a file. If columns are equal, the writer's order stays.
SORT: dict[str, tuple[str, ...]] = {name: tuple(table.sort.split()) or table.keys for name, table in TABLES.items()}
#: Table name -> the version that its files are written with.
VERSIONS: dict[str, int] = {name: table.version for name, table in TABLES.items()}


def create_statement(table_name: str, schema: pa.Schema, temporary: bool = False) -> str:
    """The SQL that creates an empty table with the columns of a schema."""
    columns = ", ".join(f'"{field.name}" {SQL_TYPES[field.type]}' for field in schema)
    return f"CREATE {'TEMP ' * temporary}TABLE {table_name} ({columns})"
