"""``probing report``: the numbers on the pages as a table, CSV, LaTeX or JSON."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import options_refused, printed_or_written
from probing.core.head_kinds import listed
from probing.core.knowledge.forgetting import DEFINITIONS
from probing.core.knowledge.total import AVERAGES
from probing.core.metrics import RANKS
from probing.core.paths import database_folder, result_folders
from probing.reports.knowledge.stored import CHANGED, ReportChoice, What, other_templates, refuse_unknown
from probing.reports.knowledge.stored import report as stored_report
from probing.reports.knowledge.written import written
from probing.store.build import built_database


class Average(StrEnum):
    """Kinds of means: over relations, over facts, or both."""

    macro = "macro"
    micro = "micro"
    both = "both"


class Definition(StrEnum):
    """Definitions of a forgotten relation."""

    caption = "caption"
    authors = "authors"
    strict = "strict"


def report(
    what: Annotated[
        What,
        typer.Argument(
            help="precision (by layer), total, forgotten (relations), transitions (base to fine-tuned), facts (kept, gained, lost) or "
            "tasks (scores)."
        ),
    ],
    model: Annotated[
        list[str] | None, typer.Option(help="Model; repeatable. None: all. For transitions and facts: the fine-tuned one.")
    ] = None,
    head: Annotated[list[str] | None, typer.Option(help=f"{listed()}; repeatable. None: all.")] = None,
    probe_set: Annotated[
        list[str] | None, typer.Option(help="trex, google_re, ...; repeatable. None: all, except for forgotten relations: trex.")
    ] = None,
    k: Annotated[list[int] | None, typer.Option(help="1, 10 or 100; repeatable. None: all, for facts 1.")] = None,
    average: Annotated[Average, typer.Option(help="Mean over relations (macro), over facts (micro), or both. For precision and total.")] = (
        Average.both
    ),
    definition: Annotated[list[Definition] | None, typer.Option(help="For forgotten; repeatable. None: all.")] = None,
    templates: Annotated[str, typer.Option(help="Template set of the prompts.")] = "default",
    base: Annotated[str | None, typer.Option(help="For transitions and facts: the model to compare with. None: the model's base.")] = None,
    lost: Annotated[bool, typer.Option("--lost", help="For facts: those that only the base knows at its last layer.")] = False,
    kept: Annotated[bool, typer.Option("--kept", help="For facts: those that both know.")] = False,
    gained: Annotated[bool, typer.Option("--gained", help="For facts: those that only the fine-tuned model knows.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: a list of objects, shares in [0, 1], unrounded.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Report stored results, all or a selection; the same numbers as on the pages."""
    if as_csv + as_latex + as_json > 1:
        raise typer.BadParameter("give one of --csv, --latex and --json")
    if what is What.tasks and (head or probe_set or k or definition or average is not Average.both or templates != "default"):
        raise typer.BadParameter("tasks are scores of models: only --model selects among them; leave the other options out")
    parts = tuple(name for name, wanted in zip(CHANGED, (lost, kept, gained), strict=True) if wanted)
    if (parts and what is not What.facts) or (base and what not in (What.facts, What.transitions)):
        raise typer.BadParameter("--lost, --kept and --gained are for facts, --base is for facts and transitions: leave them out")
    ks = tuple(dict.fromkeys(k or ((1,) if what is What.facts else RANKS)))
    averages = AVERAGES if average is Average.both else (average.value,)
    definitions = tuple(one.value for one in definition) if definition else DEFINITIONS
    with options_refused():
        choice = ReportChoice(what, model, head, probe_set, ks, averages, definitions, templates, base and [base], parts or CHANGED)
    with built_database(result_folders(), database_folder()) as db:
        refuse_unknown(db, choice)
        table = stored_report(db, choice)
        others = other_templates(db, choice) if table.empty else []
    if others:
        typer.echo(f"no run of this selection has --templates {templates}; there are runs with --templates {', '.join(others)}", err=True)
    with options_refused():
        text = written(table, choice.what, "json" if as_json else "csv" if as_csv else "latex" if as_latex else "text")
    printed_or_written(text, out, f"{len(table):,} rows: {out}")
