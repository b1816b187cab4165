"""What the tables are: columns, types, bounds, and what identifies a row, from the declarations in ``store.tables``.

A query sees the rows of all files under the same names, except those of runs, which ``kernel.store.opening_run_tables`` describes. The
command ``tables`` prints every column.
"""

import pyarrow as pa

from probing.kernel.store.columns import SQL_TYPES, Table
from probing.subjects import Declared, kinds

#: Table name -> its declaration.
TABLES = Declared[Table](lambda: {table.name: table for kind in kinds().values() for table in kind.tables})
#: Table name -> its columns in order.
SCHEMAS = Declared[pa.Schema](lambda: {name: table.schema for name, table in TABLES.items()})
#: Table name -> the columns that identify a row.
KEYS = Declared[tuple[str, ...]](lambda: {name: table.keys for name, table in TABLES.items()})
#: Table name -> the order of rows in a file. If columns are equal, the writer's order stays.
SORT = Declared[tuple[str, ...]](
    lambda: {name: tuple(table.sort.split()) or table.keys for name, table in TABLES.items()}
)
#: Table name -> the version that its files are written with.
VERSIONS = Declared[int](lambda: {name: table.version for name, table in TABLES.items()})


def create_statement(table_name: str, schema: pa.Schema) -> str:
    """The SQL that creates an empty table with the columns of a schema."""
    columns = ", ".join(f'"{field.name}" {SQL_TYPES[field.type]}' for field in schema)
    return f"CREATE TABLE {table_name} ({columns})"
