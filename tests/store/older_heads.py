"""Files as versions up to 0.6 wrote them: the logit lens is called ``lens``."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def write_as_before(path: Path) -> bytes:
    """Puts ``lens`` in place of ``logit_lens`` in a stored file, past this version's writer; gives its bytes."""
    rows, marks = pq.read_table(path), pq.read_schema(path).metadata
    assert b"probing.table" in marks
    place = rows.column_names.index("head")
    names = [{"logit_lens": "lens"}.get(name, name) for name in rows.column(place).to_pylist()]
    pq.write_table(rows.set_column(place, "head", pa.array(names)).replace_schema_metadata(marks), path)
    return path.read_bytes()
