"""``probing report``: the numbers of the pages as a table, CSV, LaTeX or JSON."""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from probing.core.errors import StoreError
from probing.core.knowledge.forgetting import DEFINITIONS
from probing.core.metrics import RANKS
from probing.core.paths import database_folder, result_folders
from probing.core.stats.intervals import AVERAGES

#: Report -> the columns on the terminal and in LaTeX, which are the keys of an object in JSON unless ``_OBJECTS`` names others.
KEYS = {
    "precision": ("model", "head", "seed", "probe_set", "k", "average", "layer", "n", "value", "swapped"),
    "total": ("model", "head", "seed", "probe_set", "k", "average", "n", "last_layer", "total"),
    "forgotten": ("model", "head", "seed", "k", "definition", "relations", "forgotten", "share", "names"),
    "transitions": (
        "base", "model", "head", "seed", "probe_set", "k", "kept", "gained", "lost", "never", "p_value", "relocated", "suppressed",
        "displaced", "erased",
    ),
}  # fmt: skip
#: Report -> the keys in JSON and first columns of CSV where they are more.
_OBJECTS = {
    "precision": (
        "model", "head", "seed", "probe_set", "k", "average", "layer", "n", "value", "low", "high", "majority", "swapped", "swapped_n",
    ),
}  # fmt: skip
#: Further columns of CSV; ``other`` is what ``swapped`` was called up to version 0.2.
_MORE = {
    "precision": ("other",),
    "total": ("last_low", "last_high", "total_low", "total_high", "intermediate_share", "seeds", "seed_union"),
    "forgotten": ("probe_set",),
    "transitions": ("n", "only_base", "only_model", "base_value", "value", "difference", "low", "high", "relocated_known_there"),
}


class What(StrEnum):
    """The reports."""

    precision = "precision"
    total = "total"
    forgotten = "forgotten"
    transitions = "transitions"


class Average(StrEnum):
    """Over relations, over facts, or each."""

    macro = "macro"
    micro = "micro"
    both = "both"


class Definition(StrEnum):
    """When a relation is forgotten."""

    caption = "caption"
    authors = "authors"
    strict = "strict"


def report(
    what: Annotated[What, typer.Argument(help="precision (by layer), total, forgotten (relations) or transitions (base to fine-tuned).")],
    model: Annotated[list[str] | None, typer.Option(help="Model; repeatable. None: all. For transitions: the fine-tuned one.")] = None,
    head: Annotated[list[str] | None, typer.Option(help="full, tied or lens; repeatable. None: all.")] = None,
    probe_set: Annotated[
        list[str] | None, typer.Option(help="trex, google_re, ...; repeatable. None: all, but of forgotten relations: trex.")
    ] = None,
    k: Annotated[list[int] | None, typer.Option(help="1, 10 or 100; repeatable. None: all.")] = None,
    average: Annotated[Average, typer.Option(help="Mean over relations (macro), over facts (micro), or both. For precision and total.")] = (
        Average.both
    ),
    definition: Annotated[list[Definition] | None, typer.Option(help="For forgotten; repeatable. None: all.")] = None,
    templates: Annotated[str, typer.Option(help="Template set that the facts were asked in.")] = "default",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: a list of objects, shares in [0, 1], unrounded.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Report stored results: every cell, or those chosen; the same numbers as on the pages."""
    from probing.reports.runs import stored_templates
    from probing.store.build import built_database

    if as_csv + as_latex + as_json > 1:
        raise typer.BadParameter("give one of --csv, --latex and --json")
    ks = tuple(dict.fromkeys(k or RANKS))
    if set(ks) - {1, 10, 100}:
        raise typer.BadParameter(f"got k {', '.join(map(str, ks))}; expected 1, 10 or 100")
    averages = AVERAGES if average is Average.both else (average.value,)
    sets = probe_set or (["trex"] if what is What.forgotten else None)
    with built_database(result_folders(), database_folder()) as db:
        if (there := stored_templates(db)) and templates not in there:
            raise StoreError(f"no run with --templates {templates}; there are {', '.join(there)}")
        _refuse_unknown(db, {"--model": model, "--head": head, "--probe-set": probe_set}, templates)
        definitions = tuple(one.value for one in definition) if definition else DEFINITIONS
        table = table_of(db, what, model, head, sets, ks, averages, definitions, templates)
        others = [name for name in stored_templates(db, model, head, sets) if name != templates] if table.empty else []
    if others:
        typer.echo(f"no run of this selection has --templates {templates}; there are runs with --templates {', '.join(others)}", err=True)
    text = written(table, what.value, "json" if as_json else "csv" if as_csv else "latex" if as_latex else "text")
    if out is None:
        typer.echo(text, nl=False)
    else:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StoreError(f"cannot write {out}: {error}; name another file with --out") from error
        typer.echo(f"{len(table):,} rows: {out}")


def _refuse_unknown(db: Any, given: dict[str, list[str] | None], templates: str) -> None:
    """Raises a ``StoreError`` for a name that no run of the template set has; it says which sets have it."""
    from probing.reports.runs import choose, stored_templates

    every = choose(db, templates=templates)
    for option, wanted in given.items():
        column = option.removeprefix("--").replace("-", "_")
        if unknown := sorted(set(wanted or ()) - set(every[column])):
            elsewhere = stored_templates(db, **{f"{column}s": unknown})
            asked = f" asked with --templates {templates}" if elsewhere else ""
            there = f"; it was asked with --templates {', '.join(elsewhere)}" if elsewhere else ""
            names = ", ".join(sorted(set(every[column]))) or "none"
            raise StoreError(f"no run with {option} {', '.join(unknown)}{asked}{there}; there are {names}")


def table_of(
    db: Any, what: What, models: Sequence[str] | None = None, heads: Sequence[str] | None = None, probe_sets: Sequence[str] | None = None,
    ks: Sequence[int] = RANKS, averages: Sequence[str] = AVERAGES, definitions: Sequence[str] = DEFINITIONS,
    templates: str = "default",
) -> Any:  # fmt: skip
    """The frame of a report.

    Args:
        db: the open database.
        what: which report.
        models, heads, probe_sets: names to keep; None keeps all. For transitions ``models`` are the fine-tuned ones.
        ks, averages, definitions: what to report, as far as the report knows it.
        templates: name of the template set.
    """
    import pandas as pd

    from probing.reports.knowledge.forgotten import forgotten
    from probing.reports.knowledge.precision import precision
    from probing.reports.knowledge.total import total
    from probing.reports.knowledge.transitions import transitions
    from probing.reports.runs import choose, pairs

    if what is What.transitions:
        found = pairs(choose(db, None, heads, probe_sets, templates=templates))
        return transitions(db, found[found["model"].isin(list(models))] if models else found, ks)
    ids = list(choose(db, models, heads, probe_sets, templates=templates)["run_id"])
    if what is What.precision:
        return pd.concat([precision(db, ids, ks, one) for one in averages], ignore_index=True)
    return total(db, ids, ks, averages) if what is What.total else forgotten(db, ids, ks, definitions)


def written(table, what: str, form: str) -> str:
    """A report's frame as ``text``, ``csv``, ``latex`` or ``json``."""
    several = "probe_set" not in KEYS[what] and table["probe_set"].nunique() > 1
    columns = _OBJECTS.get(what, KEYS[what]) if form in ("json", "csv") else KEYS[what]
    if form == "json":
        if several:
            raise typer.BadParameter(f"an object of {what} does not say its probe set; name one with --probe-set")
        objects = [{key: _plain(value) for key, value in row.items()} for row in _with_null(table[list(columns)]).to_dict("records")]
        return json.dumps(objects, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    if what == "precision":
        table = table.assign(other=table["swapped"])
    shown = table[[*columns, *(_MORE[what] if form == "csv" else ("probe_set",) if several else ())]]
    if "names" in shown:
        shown = shown.assign(names=[" ".join(names) for names in shown["names"]])
    if form == "csv":
        return shown.to_csv(index=False)
    rows = [[_rounded(value) for value in row] for row in _with_null(shown).itertuples(index=False)]
    if form == "latex":
        return _latex(list(shown.columns), rows)
    widths = [max(len(name), *(len(row[n]) for row in rows)) if rows else len(name) for n, name in enumerate(shown.columns)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (shown.columns, *rows)]
    return "\n".join(lines if rows else [*lines, "no rows: nothing that is stored answers this"]) + "\n"


def _with_null(table):
    """The frame with None where nothing was measured."""
    return table.astype(object).where(table.notna(), None)


def _plain(value: Any) -> Any:
    """A value as JSON has it; what is not defined is null."""
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and value != value else value


def _rounded(value: Any) -> str:
    value = _plain(value)
    if value is None:
        return "-"
    return (
        f"{value:.4g}"
        if isinstance(value, float) and 0 < abs(value) < 0.001
        else f"{value:.3f}"
        if isinstance(value, float)
        else str(value)
    )


_ESCAPES = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _latex(columns: list[str], rows: list[list[str]]) -> str:
    def escaped(cells: list[str]) -> str:
        return " & ".join(cell.translate(_ESCAPES) for cell in cells) + r" \\"

    head = [rf"\begin{{tabular}}{{{'l' * len(columns)}}}", r"\toprule", escaped(columns), r"\midrule"]
    return "\n".join([*head, *map(escaped, rows), r"\bottomrule", r"\end{tabular}"]) + "\n"
