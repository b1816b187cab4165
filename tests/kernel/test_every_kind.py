"""What holds for every kind of run: each stored number is checked, also before a pull places a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from probing.forgetting.ways import LINE
from probing.kernel.errors import StoreError
from probing.kernel.store.check import check_store
from probing.kernel.store.columns import KEYS, SCHEMAS, TABLES, Column, Table
from probing.kernel.store.database import Database
from probing.kernel.store.kinds import FACTS, KINDS, in_memory, light
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table, table_of, write_table
from tests.candidates_planted import plant_candidates
from tests.carried_planted import plant_carried
from tests.changes_planted import plant_changes
from tests.edges_planted import POS, SRL, PlantedEdgeRun, plant_edge_runs
from tests.forgetting_planted import plant_forgetting
from tests.planted_relatives import BASE, COLA
from tests.planted_store import SEVERAL, plant_runs
from tests.sentences_planted import ODD, PlantedSentenceRun, plant_sentence_runs
from tests.series_planted import SERIES as PLANTED_SERIES
from tests.series_planted import PlantedSeries, plant_series

CANDIDATES, CARRIED, EDGES, SENTENCES, CHANGES, FORGETTING, SERIES = (
    "candidates",
    "carried",
    "edges",
    "sentences",
    "changes",
    "forgetting",
    "series",
)
PLANT: dict[str, Callable[[Path], Path]] = {
    FACTS: lambda folder: plant_runs(folder, [run for run in SEVERAL if (run.head, run.probe_set) == ("tied", "trex")]),
    CANDIDATES: plant_candidates,
    CARRIED: plant_carried,
    EDGES: lambda folder: plant_edge_runs(
        folder, [PlantedEdgeRun(task=SRL), PlantedEdgeRun(task=POS, kind="at", codes=True)]
    ),
    SENTENCES: lambda folder: plant_sentence_runs(folder, [PlantedSentenceRun(model, ODD) for model in (BASE, COLA)]),
    CHANGES: lambda folder: plant_changes(folder, [BASE, COLA]),
    FORGETTING: lambda folder: plant_forgetting(folder, [COLA]),
    SERIES: lambda folder: plant_series(folder, [*PLANTED_SERIES, PlantedSeries(COLA, LINE)]),
}
#: The tables whose rows decide whether a run is complete; of the others a row may be missing.
NEEDED = {
    FACTS: ("predictions", "facts", "runs", "layer_counts", "total_counts", "against_counts"),
    CANDIDATES: ("candidate_runs", "candidate_facts", "candidate_ranks"),
    CARRIED: ("carried_runs", "carried_facts", "carried_layers"),
    EDGES: (
        "edge_labels",
        "edge_targets",
        "edge_runs",
        "edge_scores",
        "edge_codes",
        "edge_training",
        "edge_predictions",
    ),
    SENTENCES: tuple(table.name for table in KINDS[SENTENCES].tables if table.name != "sentence_pairs"),
    CHANGES: ("change_runs", "change_values", "perplexity"),
    FORGETTING: ("forgetting_runs", "forgetting_relations", "forgetting_facts", "forgetting_shares"),
    SERIES: tuple(table.name for table in KINDS[SERIES].tables if table.name not in ("series_facts", "series_line")),
}
#: What a run may lack altogether.
FREE = ("predictions", "edge_predictions", "sentence_predictions", "change_values")
OF_NEEDED = [(kind, table) for kind, tables in NEEDED.items() for table in tables]
_REAL = (pa.float32(), pa.float64())


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A sound store of each kind; tests do not change it."""
    return {kind: plant(tmp_path_factory.mktemp(kind) / "runs") for kind, plant in PLANT.items()}


@pytest.fixture(scope="module")
def rows(planted: dict[str, Path]) -> dict[str, dict[str, pa.Table]]:
    """Kind -> table -> its rows."""
    found: dict[str, dict[str, list[pa.Table]]] = {}
    for kind, folder in planted.items():
        for path in sorted(folder.rglob("*.parquet")):
            table = str(table_of(path))
            found.setdefault(kind, {}).setdefault(table, []).append(read_table(path, table))
    return {kind: {table: pa.concat_tables(parts) for table, parts in tables.items()} for kind, tables in found.items()}


@pytest.fixture(scope="module")
def together(planted: dict[str, Path]) -> Iterator[Database]:
    """The results of all kinds together."""
    with open_database(*planted.values()) as database:
        yield database


@pytest.mark.parametrize("table", list(dict.fromkeys(table.name for kind in KINDS.values() for table in kind.tables)))
def test_queries_see_the_rows_of_the_files(together, rows, table):
    key = list(KEYS[table])
    expected = {
        tuple(row.values())
        for of_kind in rows.values()
        if table in of_kind
        for row in of_kind[table].select(key).to_pylist()
    }
    found = together.query(f"SELECT {', '.join(key)} FROM {'fact_runs' if table == 'runs' else table}")
    assert sorted(found.itertuples(index=False, name=None)) == sorted(expected)


def content(db: Database) -> dict[str, list]:
    """Table or view -> its rows in some order."""
    names = db.query(
        "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
    )
    return {
        name: db.query(f"SELECT * FROM {name} ORDER BY ALL").astype(str).values.tolist() for name in names["table_name"]
    }


def test_runs_on_facts_are_the_same_next_to_runs_of_other_kinds(planted, together):
    with open_database(planted[FACTS]) as alone:
        without, found = content(alone), content(together)
    others = {table.name for kind in set(KINDS) - {FACTS} for table in KINDS[kind].tables} | {"runs", "weight_drift"}
    others |= {f"runs_of_{kind}" for kind in set(KINDS) - {FACTS}}
    assert {"known", "layer_counts", "predictions", "runs_of_facts", "answer_clusters"} < without.keys() - others - {
        "facts"
    }
    for table in without.keys() - others - {"facts"}:
        assert without[table] == found[table], table
    # Runs of some other kinds name further facts.
    assert [row for row in found["facts"] if row in without["facts"]] == without["facts"]
    assert without["runs"] == [row for row in found["runs"] if row[1] == FACTS]


def problems(kind: str, tables: dict[str, pa.Table]) -> list[str]:
    return KINDS[kind].problems({name: light(name, found) for name, found in tables.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_store_breaks_no_rule(planted, rows, kind):
    assert problems(kind, rows[kind]) == [] == check_store([planted[kind]])


@pytest.mark.parametrize(("kind", "table"), OF_NEEDED)
def test_a_missing_row_is_found(rows, kind, table):
    found = rows[kind][table]
    assert problems(kind, rows[kind] | {table: found.slice(0, len(found) - 1)})
    # At layer 0 some measures are undefined.
    assert table == "change_values" or problems(kind, rows[kind] | {table: found.slice(1)})
    assert table in FREE or problems(kind, rows[kind] | {table: found.slice(0, 0)})


@pytest.mark.parametrize(("kind", "table"), [(kind, table) for kind, table in OF_NEEDED if TABLES[table].per])
def test_rows_of_another_run_or_task_are_found(rows, kind, table):
    column = TABLES[table].per.split()[0]
    if column == "model":
        return
    found = rows[kind][table]
    place = found.column_names.index(column)
    strange = found.set_column(place, found.schema.field(place), pa.array(["0" * 16] * len(found), pa.string()))
    assert problems(kind, rows[kind] | {table: strange})


@pytest.mark.parametrize("kind", KINDS)
def test_texts_that_are_no_json_or_no_configuration_are_found(rows, kind):
    for table, found in rows[kind].items():
        for column in {"left_out", "config"} & set(found.column_names):
            for text in ("much", '{"a": "b"}', "[" * 100_000):
                place = found.column_names.index(column)
                changed = found.set_column(place, found.schema.field(place), pa.array([text] * len(found), pa.string()))
                assert problems(kind, rows[kind] | {table: changed}), (table, column, text[:20])


#: What follows from stored answers: a table, the rows that have some, and what is added to a row of them.
COUNTED: list[tuple[str, str, Callable[[dict], bool], dict[str, int]]] = [
    *((SENTENCES, "sentence_scores", lambda row: True, {"right": by}) for by in (1, -1)),
    (SENTENCES, "sentence_pairs", lambda row: row["neither"], {"both": 1, "neither": -1}),
    # The number that each of both probes has right stays.
    (
        SENTENCES,
        "sentence_pairs",
        lambda row: row["only_this"] and row["only_other"],
        {"both": 1, "only_this": -1, "only_other": -1, "neither": 1},
    ),
    *(
        (
            EDGES,
            "edge_scores",
            lambda row, more=more, less=less: row["part"] == "test" and row[less],
            {more: 1, less: -1},
        )
        for more, less in (("tp", "fn"), ("fn", "tp"), ("fp", "tn"), ("tn", "fp"))
    ),
    (CANDIDATES, "candidate_facts", lambda row: True, {"candidates": 1}),
    (CANDIDATES, "candidate_facts", lambda row: True, {"filtered": 1}),
    (CANDIDATES, "candidate_facts", lambda row: True, {"fewer_pieces": 5}),
    (CANDIDATES, "candidate_facts", lambda row: not row["filtered"] and row["pieces"] == 1, {"fewer_pieces": 1}),
    (CANDIDATES, "candidate_facts", lambda row: not row["filtered"] and row["pieces"] == 1, {"equal_pieces": -1}),
]


@pytest.mark.parametrize(("kind", "table", "has", "by"), COUNTED, ids=lambda one: "" if callable(one) else str(one))
def test_counts_that_do_not_follow_from_the_stored_answers_are_found(rows, kind, table, has, by):
    listed = rows[kind][table].to_pylist()
    some = [number for number, row in enumerate(listed) if has(row)]
    for number in {some[0], some[len(some) // 2], some[-1]}:
        changed = [dict(row) for row in listed]
        changed[number] |= {name: changed[number][name] + more for name, more in by.items()}
        assert problems(kind, rows[kind] | {table: pa.Table.from_pylist(changed, SCHEMAS[table])}), listed[number]


@pytest.mark.parametrize(("kind", "table"), [(SENTENCES, "sentence_predictions"), (EDGES, "edge_predictions")])
def test_answers_from_which_other_counts_follow_are_found(rows, kind, table):
    listed = rows[kind][table].to_pylist()
    for number in (0, len(listed) // 2, len(listed) - 1):
        changed = [dict(row) for row in listed]
        said = changed[number]["predicted"]
        changed[number]["predicted"] = [1 - said[0], *said[1:]] if kind == SENTENCES else [] if said else [0]
        assert problems(kind, rows[kind] | {table: pa.Table.from_pylist(changed, SCHEMAS[table])}), listed[number]


def beyond(column: Column) -> list:
    """Values outside a column's bounds that its type can hold."""
    if column.among:
        return [99 if isinstance(column.among[0], int) else "../../x"]
    kind = column.type.value_type if pa.types.is_list(column.type) else column.type
    if column.low is None or kind == pa.string():
        return []
    if kind in _REAL:
        return [float("nan"), float("inf"), column.low - 1, *([] if column.high is None else [column.high * 2 + 1])]
    most = {pa.uint8(): 2**8 - 1, pa.uint32(): 2**32 - 1, pa.uint64(): 2**64 - 1}[kind]
    return [value for value in (0, most) if not column.low <= value <= (column.high or 0)]


BOUNDED = [(table, column) for table in TABLES.values() for column in table.columns if beyond(column)]


@pytest.mark.parametrize(("table", "column"), BOUNDED, ids=lambda one: one.name)
def test_an_impossible_value_is_refused_when_it_is_read(tmp_path: Path, rows, table: Table, column: Column):
    sound = next((tables[table.name] for tables in rows.values() if table.name in tables), None)
    row = sound.slice(0, 1).to_pylist()[0] if sound else {one.name: possible(one) for one in table.columns}
    for value in beyond(column):
        bad = [value] if pa.types.is_list(column.type) else value
        path = write_table(table.name, [row | {column.name: bad}], tmp_path / f"{table.name}.parquet")
        with pytest.raises(StoreError, match=f"{column.name} is .*, expected "):
            read_table(path, table.name)


def possible(column: Column):
    """A value that a column allows."""
    if pa.types.is_list(column.type):
        return []
    if column.among:
        return column.among[0]
    if column.type in (pa.string(), pa.bool_()):
        return "x" if column.type == pa.string() else True
    return 0 if column.low in (None, float("-inf")) else int(column.low or 0)


def test_a_file_with_an_impossible_value_is_left_out_and_named_and_the_others_are_shown(tmp_path: Path):
    source, damaged = tmp_path / "runs", {}
    for kind, plant in PLANT.items():
        plant(source)
        table = KINDS[kind].runs
        first, *_ = sorted(source.rglob(f"{table}-*.parquet"))
        (row,) = read_table(first, table).to_pylist()
        damaged[first.name] = row["run_id"]
        write_table(table, [row | {"layers": 0}], first)
    problems = check_store([source])
    with open_database(source) as database:
        whys, stored = list(database.left_out["why"]), list(database.query("SELECT run_id FROM runs")["run_id"])
    assert len(whys) == len(KINDS) and stored and not set(damaged.values()) & set(stored)
    for name in damaged:
        assert any(name in why and "layers is 0" in why for why in whys), name
        assert any(name in problem and "layers is 0" in problem for problem in problems), name


@pytest.mark.parametrize(("kind", "table"), OF_NEEDED)
def test_a_repeated_row_is_named(tmp_path: Path, rows, kind, table):
    found = rows[kind][table]
    write_table(table, pa.concat_tables([found, found.slice(0, 1)]), tmp_path / f"{table}.parquet")
    assert any("1 rows repeat the key" in problem for problem in check_store([tmp_path]))


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_a_declaration_names_its_own_columns(table: Table):
    names = [column.name for column in table.columns]
    listed = [
        table.key,
        table.per,
        table.sort,
        *table.withheld,
        *table.free,
        *table.ascending,
        *table.unions,
        *table.aligned,
    ]
    assert {name for columns in listed for name in columns.split()} <= set(names)
    assert len(set(names)) == len(names) and list(SCHEMAS[table.name].names) == names


def test_repeated_rows_that_take_too_much_memory_are_said_to(monkeypatch):
    row = {"relation": "P36", "probe_set": "trex", "label": "capital", "cardinality": "1-1"}
    small = duckdb.connect(config={"memory_limit": "1MB"})
    monkeypatch.setattr("probing.kernel.store.kinds._instance", lambda: small)
    twice = pa.Table.from_pylist([row, row], schema=SCHEMAS["relations"])
    with pytest.raises(StoreError, match="more memory than there is"), in_memory({"relations": twice}, ["relations"]):
        pass
