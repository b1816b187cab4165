"""``probing tables``: every column of every stored table."""

from inspect import cleandoc
from typing import Annotated

import typer

from probing.kernel.errors import OptionError


def tables(
    name: Annotated[str, typer.Argument(help="A table or a part of its name. None: all.", show_default=False)] = "",
) -> None:
    """Print every column of all stored tables, or of those with a name, as Markdown."""
    from probing.kernel.store.kinds import KINDS

    parts = []
    for kind in KINDS.values():
        chosen = [table for table in kind.tables if name.lower() in table.name]
        if chosen:
            parts.append(f"## {kind.name.capitalize()}\n\n{cleandoc(kind.about or '')}\n")
        for table in chosen:
            key = ", ".join(f"`{column}`" for column in table.keys)
            per = f" One file per {' and '.join(f'`{column}`' for column in table.per.split())}." if table.per else ""
            rows = [f"| {' | '.join(column.described.values())} |" for column in table.columns]
            lines = [
                f"### {table.name}\n\n{table.says} Key: {key}.{per}\n",
                "| column | type | values | meaning |",
                "|---|---|---|---|",
            ]
            parts.append("\n".join([*lines, *rows]) + "\n")
    if not parts:
        raise OptionError(
            f"got {name!r}; expected a part of the name of a table; `python -m probing tables` prints all"
        )
    typer.echo("\n".join(parts).replace("``", "`").rstrip())
