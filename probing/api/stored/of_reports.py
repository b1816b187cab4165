"""A method with the filters of declared reports as its arguments."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from probing.api.stored.argument_checks import checked
from probing.api.stored.argument_values import Numbers, Words
from probing.reports.report import Filter, Reports

T = TypeVar("T")
_ARGUMENTS: dict[type, Any] = {str: Words, int: Numbers, bool: bool}


def method_of(reports: Reports, report: Callable[..., T]) -> Callable[..., T]:
    """A method that gives any of the reports, by its name ``what`` and their filters.

    Args:
        reports: of one capability.
        report: called with the reports, the name and the given filters.
    """
    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    what = inspect.Parameter("what", place, default=reports.every[0].name, annotation=str)
    signature = inspect.Signature([what, *map(_parameter, reports.filters)])

    def method(*given: Any, **named: Any) -> T:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        return report(reports, **bound.arguments)

    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__name__ = method.__qualname__ = reports.kind
    captions = "; ".join(f"``{one.name}`` ({one.caption})" for one in reports.every)
    lines = "\n".join(f"    {one.name}: {one.help}" for one in reports.filters)
    method.__doc__ = f"What ``probing {reports.kind} report WHAT --json`` prints: {captions}.\n\nArgs:\n{lines}\n"
    return checked(method)


def _parameter(one: Filter) -> inspect.Parameter:
    default = False if one.of is bool else None
    return inspect.Parameter(
        one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=_ARGUMENTS[one.of]
    )
