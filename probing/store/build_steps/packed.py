"""Tables of many rows as the database stores them, because DuckDB packs whole numbers well and nothing else.

Ids of facts are numbers (``Table.numbered``), and logarithms that are multiples of 1/256 are stored times 256 (``Table.in_steps``), which
changes no bit of any other value either. The rows are in ``TABLE_rows``; a view of the table's name has the ids and logarithms again, so
queries need not know. A number is given when an id is first read, and stays: an addition goes on with those of the copied database.
"""

import duckdb
import numpy as np
import pyarrow as pa

from probing.store.schema import NUMBERS, SCHEMAS, TABLES, create_statement, rows_table

_STEPS = 256


def create_packed(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    """Makes the empty table of a table's rows and its view, in the current schema."""
    connection.execute(f"CREATE TABLE IF NOT EXISTS {NUMBERS} (number UINTEGER, fact_id VARCHAR)")
    (schema,) = connection.execute("SELECT current_schema()").fetchall()[0]
    numbered, in_steps = TABLES[table].numbered, TABLES[table].in_steps
    fields = [pa.field(field.name, pa.uint32()) if field.name in numbered else field for field in SCHEMAS[table]]
    connection.execute(create_statement(rows_table(table), pa.schema(fields)))
    columns = {name: f"r.{name}" for name in SCHEMAS[table].names}
    columns |= {name: f"{name}.fact_id" for name in numbered}
    columns |= {name: f"r.{name} * {1 / _STEPS}::FLOAT" for name in in_steps}
    selected = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    joined = " ".join(f"JOIN {NUMBERS} {name} ON {name}.number = r.{name}" for name in numbered)
    connection.execute(f"CREATE VIEW {table} AS SELECT {selected} FROM {schema}.{rows_table(table)} r {joined}")


def packed_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table, files: np.ndarray | None = None) -> pa.Table:
    """The rows of any table as it stores them: those of a packed one with numbers and steps.

    Args:
        connection: of the database, in the schema that is filled.
        table: its name.
        rows: from one or more files.
        files: number of each row's file, (n,); None if all are from one. New ids of a file get consecutive numbers, which pack well.
    """
    for name in TABLES[table].numbered:
        ids = rows.column(name).combine_chunks().dictionary_encode()
        places = ids.indices.to_numpy()
        firsts = np.unique(places, return_index=True)[1]
        numbers = _numbers_of(connection, ids.dictionary, firsts * 0 if files is None else files[firsts])[places]
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(numbers))
    for name in TABLES[table].in_steps:
        steps = rows.column(name).to_numpy() * np.float32(_STEPS)
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(steps))
    return rows


def _numbers_of(connection: duckdb.DuckDBPyConnection, ids: pa.Array, files: np.ndarray) -> np.ndarray:
    """The number of each id, (n,) uint32; an id without one gets the next, in the order of their first files, then of their bytes."""
    connection.register("named", pa.table({"fact_id": ids, "file": files, "place": np.arange(len(ids))}))
    connection.execute(f"""
        INSERT INTO {NUMBERS}
        SELECT (SELECT count(*) FROM {NUMBERS}) + row_number() OVER (ORDER BY file, fact_id) - 1, fact_id
        FROM named WHERE fact_id NOT IN (SELECT fact_id FROM {NUMBERS})
    """)
    numbers = connection.execute(f"SELECT n.number FROM named JOIN {NUMBERS} n USING (fact_id) ORDER BY place").fetchnumpy()["number"]
    connection.unregister("named")
    return np.asarray(numbers, dtype=np.uint32)
