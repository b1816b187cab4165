"""A pull asks of every kind of run what `check` asks, before a file is placed: sound files pass, and each damaged one
is refused.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probing.core.capabilities.registry import CAPABILITIES
from probing.core.errors import HubError, StoreError
from probing.store.parquet import read_table, text_size, write_table
from probing.store.schema import TABLES
from probing.store.sources import table_of
from probing.workflows.share.manifest import SharedManifest, describe
from probing.workflows.share.pull_refusals import check_results, refuse_large
from probing.workflows.share.results import gather_results
from tests.kinds.test_every_kind import CHANGES, EDGES, FORGETTING, NEEDED, PLANT, SENTENCES, SERIES, beyond
from tests.planted_relatives import BASE, COLA

#: Kind -> the model whose runs are shared. Runs on facts are shared as they are probed, in
#: ``tests/commands/test_hub.py``. Which pairs a fine-tuned model's run has is decided by its base's, which is not
#: shared with it.
MODELS = {EDGES: "nesia-mini", SENTENCES: BASE.name, CHANGES: COLA.name, FORGETTING: COLA.name, SERIES: COLA.name}


@pytest.fixture(scope="module", params=MODELS)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path, SharedManifest]]:
    """A kind, the files of a push of it, and their manifest; nothing is stored here."""
    kind, folder = request.param, tmp_path_factory.mktemp(f"pull-{request.param}")
    shared, model = CAPABILITIES[kind].shared, MODELS[kind]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBING_CACHE", str(folder / "cache"))
        patch.setenv("PROBING_SNAPSHOT", str(folder / "snapshot"))
        gather_results(shared, model, [PLANT[kind](folder / "runs")], folder / "shared")
        yield kind, folder / "shared", describe(folder / "shared", shared, model, "", "planted")


def damaged(table: str, rows: pa.Table, needed: bool) -> Iterator[tuple[str, pa.Table]]:
    """What is wrong, and the rows with it."""
    yield "a row twice", pa.concat_tables([rows, rows.slice(0, 1)])
    if needed:
        yield "a row is missing", rows.slice(0, len(rows) - 1)
    # An impossible value is refused when a file is read, whichever column has it; tests/kinds/test_every_kind.py reads
    # one of each.
    impossible = [(column, beyond(column)[0]) for column in TABLES[table].columns if beyond(column)][:1]
    for column, value in impossible + [
        (one, "much") for one in TABLES[table].columns if one.name in ("left_out", "config")
    ]:
        place = rows.column_names.index(column.name)
        values = pa.array([[value] if pa.types.is_list(column.type) else value] * len(rows), column.type)
        yield f"{column.name} is {value}", rows.set_column(place, rows.schema.field(place), values)


def test_a_pull_takes_what_is_sound_and_refuses_all_else(shared):
    kind, folder, manifest = shared
    check_results(folder, manifest, "here")
    files = {str(table_of(path)): path for path in sorted(folder.rglob("*.parquet"))}
    assert set(NEEDED[kind]) <= set(files)
    for table, path in files.items():
        sound, rows = path.read_bytes(), read_table(path, table)
        for what, wrong in damaged(table, rows, table in NEEDED[kind]):
            write_table(table, wrong, path)
            with pytest.raises(HubError, match="nothing was taken"):
                check_results(folder, manifest, "here")
                pytest.fail(f"{table}: {what}")
        path.write_bytes(sound)


def planted_share(folder: Path, **changed: list) -> tuple[Path, SharedManifest]:
    """A share of lost facts with other values in its table of shares."""
    gather_results("forgetting", COLA.name, [PLANT[FORGETTING](folder / "runs")], folder / "shared")
    (path,) = (folder / "shared").rglob("forgetting_shares-*.parquet")
    rows = read_table(path, "forgetting_shares")
    for name, values in changed.items():
        place = rows.column_names.index(name)
        rows = rows.set_column(
            place, rows.schema.field(place), pa.array((values * len(rows))[: len(rows)], pa.string())
        )
    write_table("forgetting_shares", rows, path)
    return folder / "shared", describe(folder / "shared", "forgetting", COLA.name, "", "planted")


# Without ``read``, no text is read; without ``read_row_group``, no length of a text is.
@pytest.mark.parametrize(("size", "unread"), [(2001, "read"), (9_000_000, "read_row_group")])
def test_a_long_text_is_refused_before_it_is_read(size, unread, tmp_path, monkeypatch):
    folder, _ = planted_share(tmp_path, asked=["a" * size] + ["lost"] * 300)
    monkeypatch.setattr("probing.store.parquet.LONGEST_TEXT", 2000)
    monkeypatch.setattr(pq.ParquetFile, unread, lambda *given, **named: pytest.fail("a text was read"))
    with pytest.raises(
        StoreError, match=r"forgetting_shares-\w+\.parquet has a text of [\d,]+ bytes, expected at most 2,000"
    ):
        refuse_large(folder.rglob("forgetting_shares-*.parquet"))


def test_texts_are_refused_by_their_sum_over_all_files(tmp_path, monkeypatch):
    folder, manifest = planted_share(tmp_path)
    sizes = [text_size(path) for path in folder.rglob("*.parquet")]
    assert len(sizes) > 3 and min(sizes) > 0
    monkeypatch.setattr("probing.workflows.share.pull_refusals.MAX_TEXT", sum(sizes) - 1)
    with pytest.raises(
        HubError,
        match=f"and the files before it hold {sum(sizes):,} bytes of text, expected at most {sum(sizes) - 1:,}",
    ):
        check_results(folder, manifest, "here")


def test_a_refusal_repeats_the_first_letters_of_a_text_only(tmp_path):
    folder, manifest = planted_share(tmp_path, run_id=["\x1b[2J" + "b" * 1900])
    with pytest.raises(HubError, match="nothing was taken") as refused:
        check_results(folder, manifest, "here")
    assert len(str(refused.value)) < 400 and "\x1b" not in str(refused.value)
