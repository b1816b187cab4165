"""A command's options, made from its request, and those of reports."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from probing.core.errors import OptionError, StoreError
from probing.core.options import Declared, made, option_fields, spelled

RevisionOption = Annotated[
    str | None,
    typer.Option(
        help="Branch, tag or commit of a model on the hub; none: what the registry pins, else its main branch."
    ),
]


def command(request: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the options of a request, which its function takes first, and its own further parameters."""

    def of(function: Callable[..., None]) -> Callable[..., None]:
        declared = option_fields(request)
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @wraps(function)
        def called(**given: Any) -> None:
            with options_refused():
                values = {one.name: _value(one, given.pop(one.name)) for one in declared}
                function(made(request, values), **given)

        parameters = [*map(_parameter, declared), *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own)]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return of


def listed(text: str) -> tuple[str, ...]:
    """The parts of a text that commas separate, without blanks around them and without empty ones."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parameter(one: Declared) -> inspect.Parameter:
    """The parameter of a command that typer makes an option of the request from."""
    shown, default = one.type, inspect.Parameter.empty if one.default is MISSING else one.default
    more: dict[str, Any] = {}
    if one.several:
        shown = list[str] if one.option.repeated else str
        if isinstance(default, tuple):
            default = None if one.option.repeated else ",".join(map(str, default))
    elif one.type in (int, float):
        more = {"min": one.option.least, "max": one.option.most}
    names = one.option.names
    if one.type is bool and default is False and not names:
        # A switch that is off needs no option that switches it off.
        names = (f"--{one.name.replace('_', '-')}",)
    info = (
        typer.Argument(help=one.option.help)
        if one.option.argument
        else typer.Option(*names, help=one.option.help, **more)
    )
    annotation = Annotated[shown | None if default is None else shown, info]  # type: ignore[valid-type]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _value(one: Declared, given: Any) -> Any:
    """The value of an option of the request, of what was typed."""
    if not one.several or given is None:
        return () if one.option.repeated and given is None else given
    parts = tuple(given) if one.option.repeated else listed(given)
    try:
        return tuple(map(get_args(one.type)[0], parts))
    except ValueError:
        raise OptionError(
            f"got {spelled(one.name, given, one.option.names)}; expected numbers separated by commas"
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
