"""``probing probe``, and the commands that print or write reports, made from their declarations."""

import inspect
from collections.abc import Callable
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from probing.facts.report import FACTS
from probing.facts.requests import ProbeRequest
from probing.kernel.commands import command, options_refused, printed_or_written
from probing.kernel.files import result_folders
from probing.kernel.report import Filter, Form, Reports, refuse_unknown_words
from probing.kernel.store.opening import open_database


@command(ProbeRequest)
def probe(request: ProbeRequest) -> None:
    """Probe every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.

    A killed run resumes under any executor: the fingerprint and the bytes do not depend on the executor.
    """
    from probing.facts.probe import probe as workflow

    workflow(request, typer.echo)


#: Output formats.
FORMS = ("text", "csv", "latex", "json")


Option = inspect.Parameter


def command_of(reports: Reports, line: str) -> Callable[..., None]:
    """The command that prints or writes any of the reports; ``line`` is its line in the list of commands."""
    groups = {filter_.name: _options(filter_) for filter_ in reports.filters}

    def command(**values: Any) -> None:
        form, out, what = _form(values), values["out"], values["what"]
        with options_refused():
            choice = reports.choose(what.value, {name: _value(values, options) for name, options in groups.items()})
        with open_database(*result_folders()) as db:
            with options_refused():
                text, table = reports.written(db, choice, form)
            rows = len(table)
            if not rows and reports.hint and (hint := reports.hint(db, choice)):
                typer.echo(hint, err=True)
        if form == "latex" and (filters := reports.narrowing(table)):
            typer.echo(f"note: {rows:,} rows are many for a table in a paper; choose fewer with {filters}", err=True)
        printed_or_written(text, out, f"{rows:,} rows: {out}")

    names = StrEnum("What", {report.name: report.name for report in reports.every})  # type: ignore[misc]
    options = [_what(reports, names), *(option for several in groups.values() for option in several.values()), *_OUTPUT]
    command.__doc__ = line
    command.__annotations__ = {option.name: option.annotation for option in options}
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return command


def _what(reports: Reports, names: type[Enum]) -> Option:
    captions = [f"{report.name} ({report.caption})" for report in reports.every]
    usual = next(iter(names)) if reports.usual else Option.empty
    return _option(
        "what", Annotated[names, typer.Argument(help=f"{', '.join(captions[:-1])} or {captions[-1]}.")], usual
    )


def _options(filter_: Filter) -> dict[str, Option]:
    """Value, or ``""`` for any -> the option of the command that gives it to a filter."""
    if filter_.switches:
        return {value: _switch(value, line) for value, line in filter_.switches.items()}
    if filter_.of is bool:
        return {"": _switch(filter_.name, filter_.help)}
    of: Any = filter_.of | None if filter_.single or filter_.once else list[filter_.of] | None  # type: ignore[name-defined]
    return {"": _option(filter_.name, Annotated[of, typer.Option(help=filter_.help)], filter_.every or filter_.usual)}


def _switch(name: str, line: str) -> Option:
    return _option(name, Annotated[bool, typer.Option(f"--{name}", help=line)], False)


def _value(values: dict[str, Any], options: dict[str, Option]) -> Any:
    """What the options of a filter give it."""
    if "" in options:
        return values[options[""].name]
    return tuple(value for value in options if values[value])


def _form(values: dict[str, Any]) -> Form:
    """The output format of ``--as`` and its short forms together, which must not contradict each other."""
    named = [values["shape"]] * (values["shape"] is not None) + [
        name for name in ("csv", "latex", "json") if values[f"as_{name}"]
    ]
    with options_refused():
        refuse_unknown_words("as", named, FORMS)
    forms = set(named)
    if len(forms) > 1:
        raise typer.BadParameter(
            f"got the formats {' and '.join(named)}; give one of them, by --as, --csv, --latex or --json"
        )
    return cast(Form, forms.pop() if forms else "text")


def _option(name: str, annotation: Any, default: Any) -> Option:
    return Option(name, Option.KEYWORD_ONLY, default=default, annotation=annotation)


_OUTPUT = (
    _option("shape", Annotated[str | None, typer.Option("--as", help="text, csv, latex or json. None: text.")], None),
    _option("as_csv", Annotated[bool, typer.Option("--csv", help="The same as --as csv.")], False),
    _option(
        "as_latex",
        Annotated[bool, typer.Option("--latex", help="The same as --as latex: a table for booktabs.")],
        False,
    ),
    _option(
        "as_json",
        Annotated[bool, typer.Option("--json", help="The same as --as json: unrounded, shares in [0, 1].")],
        False,
    ),
    _option("out", Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")], None),
)


report = command_of(FACTS, "Report stored results, all or a selection; the same numbers as on the pages.")
