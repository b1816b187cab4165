"""A command's options, made from its request, and those of reports."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from probing.kernel.errors import OptionError, StoreError
from probing.kernel.options import Declared, made, option_fields, spelled

if TYPE_CHECKING:
    import pandas as pd

RevisionOption = Annotated[
    str | None,
    typer.Option(
        help="Branch, tag or commit of a model on the hub; none: what the registry pins, else its main branch."
    ),
]


class Shape(StrEnum):
    """Output formats of a table."""

    table = "table"
    csv = "csv"
    json = "json"


def echo_table(table: "pd.DataFrame", shape: Shape) -> None:
    """Prints a table in a format."""
    from probing.kernel.report import as_csv, as_json, objects, text_table

    written: dict[Shape, Callable[[pd.DataFrame], str]]
    written = {Shape.table: text_table, Shape.csv: as_csv, Shape.json: lambda table: as_json(objects(table))}
    typer.echo(written[shape](table), nl=False)


def command(request: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the options of a request, which its function takes first, and its own further parameters."""

    def of(function: Callable[..., None]) -> Callable[..., None]:
        declared = option_fields(request)
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @wraps(function)
        def called(**typed: Any) -> None:
            with options_refused():
                values = {field.name: _value(field, typed.pop(field.name)) for field in declared}
                function(made(request, values), **typed)

        parameters = [
            *map(_parameter, declared),
            *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own),
        ]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return of


def listed(text: str) -> tuple[str, ...]:
    """The parts of a text that commas separate, without blanks around them and without empty ones."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parameter(field: Declared) -> inspect.Parameter:
    """The parameter of a command that typer makes an option of the request from."""
    plain_type, default = field.type, inspect.Parameter.empty if field.default is MISSING else field.default
    more: dict[str, Any] = {}
    if field.several:
        plain_type = list[str] if field.option.repeated else str
        if isinstance(default, tuple):
            default = None if field.option.repeated else ",".join(map(str, default))
    elif field.type in (int, float):
        more = {"min": field.option.least, "max": field.option.most}
    names = field.option.names
    if field.type is bool and default is False and not names:
        # A switch that is off needs no option that switches it off.
        names = (f"--{field.name.replace('_', '-')}",)
    info = (
        typer.Argument(help=field.option.help)
        if field.option.argument
        else typer.Option(*names, help=field.option.help, **more)
    )
    annotation = Annotated[plain_type | None if default is None else plain_type, info]  # type: ignore[valid-type]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _value(field: Declared, typed: Any) -> Any:
    """The value of an option of the request, of what was typed."""
    if not field.several or typed is None:
        return () if field.option.repeated and typed is None else typed
    parts = tuple(typed) if field.option.repeated else listed(typed)
    try:
        return tuple(map(get_args(field.type)[0], parts))
    except ValueError:
        raise OptionError(
            f"got {spelled(field.name, typed, field.option.names)}; expected numbers separated by commas"
        ) from None


@contextmanager
def options_refused() -> Iterator[None]:
    """In this context, an ``OptionError`` ends the command with its usage and exit code 2."""
    try:
        yield
    except OptionError as error:
        raise typer.BadParameter(str(error)) from None


def printed_or_written(text: str, out: Path | None, done: str) -> None:
    """Prints a report, or writes it to a file and prints ``done``."""
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error}; name another file with --out") from error
    typer.echo(done)
