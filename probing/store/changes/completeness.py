"""Which runs of what fine-tuning changed are complete enough to be shown."""

import duckdb

_RUNS = """
SELECT e.run_id, e.layers, e.blocks,
    (SELECT count(*) FROM change_values v WHERE v.run_id = e.run_id),
    (SELECT count(*) FROM change_values v WHERE v.run_id = e.run_id AND v.layer >= e.layers),
    (SELECT count(*) FROM perplexity p WHERE p.run_id = e.run_id),
    (SELECT count(*) FROM perplexity p WHERE p.run_id = e.run_id AND p.replaced = 'none'),
    (SELECT count(DISTINCT p.masked) FROM perplexity p WHERE p.run_id = e.run_id),
    (SELECT count(*) FROM perplexity p WHERE p.run_id = e.run_id AND (len(p.by_block) <> e.blocks OR len(p.masked_by_block) <> e.blocks))
FROM change_runs e JOIN runs r ON r.run_id = e.run_id ORDER BY e.run_id
"""


def lacking_changes(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Id of a run that is not complete -> what it lacks or has too much.

    A run is complete when it has values or perplexities, every value is of a layer of its model, and its perplexities are of the
    same masked pieces, of as many blocks as the run read, and one of them of the unchanged model.
    """
    problems: dict[str, str] = {}
    for run_id, layers, blocks, values, above, rows, whole, masked, uneven in connection.execute(_RUNS).fetchall():
        if not values and not rows:
            problems[run_id] = "it has no values"
        elif above:
            problems[run_id] = f"{above} values are of layers above {layers - 1}, its last"
        elif rows and whole != 1:
            problems[run_id] = f"{whole} perplexities of the unchanged model, expected 1"
        elif masked > 1:
            problems[run_id] = f"its perplexities are of {masked} different numbers of masked pieces, expected one"
        elif uneven:
            problems[run_id] = f"{uneven} of its perplexities are not of {blocks:,} blocks"
    return problems
