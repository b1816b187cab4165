"""What the tables are: columns, types, bounds, and what identifies a row, from the declarations in ``store.tables``.

Parquet is canonical; the tables of the same names in the database have the same columns, except ``runs``, which ``store.run_tables``
splits into the columns of all runs and those of runs on facts. Some are views (``rows_table``). The command ``tables`` prints every
column.
"""

import hashlib
import json

import pyarrow as pa

from probing.core.capabilities.registry import CAPABILITIES, Declared, load
from probing.store.tables.columns import SQL_TYPES, Table

#: Raised when a table gets another version; earlier versions of the program refuse its files by name.
SCHEMA_VERSION = 2
#: Table name -> its declaration.
TABLES = Declared[Table](lambda: {table.name: table for capability in CAPABILITIES.values() for table in load(capability.kind).tables})
#: Table name -> its columns in order.
SCHEMAS = Declared[pa.Schema](lambda: {name: table.schema for name, table in TABLES.items()})
#: Table name -> the columns that identify a row.
KEYS = Declared[tuple[str, ...]](lambda: {name: table.keys for name, table in TABLES.items()})
#: Table name -> the order of rows in a file. If columns are equal, the writer's order stays.
SORT = Declared[tuple[str, ...]](lambda: {name: tuple(table.sort.split()) or table.keys for name, table in TABLES.items()})
#: Table name -> the version that its files are written with.
VERSIONS = Declared[int](lambda: {name: table.version for name, table in TABLES.items()})

#: In the database: the number of each fact's id (``store.build_steps.packed``).
NUMBERS = "main.fact_numbers"


def rows_table(table: str) -> str:
    """The table of the database that has a table's rows; not of the same name if the ids of its facts are numbers there."""
    return f"{table}_rows" if table in TABLES and TABLES[table].numbered else table


def tables_checksum() -> str:
    """First 16 hex digits of sha256 over names and versions of all tables: a database of other tables lacks some that queries name."""
    return hashlib.sha256(json.dumps(sorted(VERSIONS.items())).encode()).hexdigest()[:16]


def create_statement(table_name: str, schema: pa.Schema, temporary: bool = False) -> str:
    """The SQL that creates an empty table with the columns of a schema."""
    columns = ", ".join(f'"{field.name}" {SQL_TYPES[field.type]}' for field in schema)
    return f"CREATE {'TEMP ' * temporary}TABLE {table_name} ({columns})"
