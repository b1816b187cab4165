"""Checks of the arguments of a method by its annotations, before anything is read."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from probing.api.arguments import FLAG, NUMBER, NUMBERS, TEXT, WORDS, Argument, in_a_notebook
from probing.api.stored.argument_values import Numbers, Words

Given = ParamSpec("Given")
Found = TypeVar("Found")


#: Annotation -> what such an argument takes, and whether None is one of its values.
_TAKEN: dict[Any, tuple[Argument, bool]] = {
    Words: (WORDS, True),
    Numbers: (NUMBERS, True),
    str | None: (TEXT, True),
    int | None: (NUMBER, True),
    str: (TEXT, False),
    int: (NUMBER, False),
    bool: (FLAG, False),
}
_FILTERS: dict[Any, Argument] = {str: TEXT, int: NUMBER, bool: FLAG, str | list[str]: WORDS}


def checked(method: Callable[Given, Found]) -> Callable[Given, Found]:
    """A method whose arguments have the types of their annotations, and whose errors name arguments instead of options.

    >>> @checked
    ... def curve(k: Numbers = None):
    ...     return k
    >>> curve(k=[1, 10])
    (1, 10)
    >>> curve(k=1.5)
    Traceback (most recent call last):
    probing.core.errors.OptionError: got k=1.5, of type float; expected a whole number or a list of whole numbers
    """
    signature = inspect.signature(method)

    @wraps(method)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{method.__qualname__}() {error}") from None
        with in_a_notebook():
            for name, value in given.arguments.items():
                if name == "filters":
                    given.arguments[name] = {one: _filter(one, wanted) for one, wanted in value.items()}
                elif taken := _TAKEN.get(signature.parameters[name].annotation):
                    argument, optional = taken
                    given.arguments[name] = None if optional and value is None else argument.value(name, value)
            return method(*given.args, **given.kwargs)

    return called


def _filter(name: str, value: Any) -> Any:
    """A filter of a list of facts; ``FactChoice`` refuses unknown names."""
    # Needs the libraries of stored results, which an answer of a model does without.
    from probing.api.stored.facts import FactFilters

    argument = _FILTERS.get(FactFilters.__annotations__.get(name))
    return value if argument is None or value is None else argument.value(name, value)
