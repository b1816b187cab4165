"""Checks of the arguments of a method by its annotations, before anything is read."""

import inspect
import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from numbers import Integral
from typing import Any, ParamSpec, TypeVar

from probing.api.arguments import in_a_notebook, readable
from probing.api.stored.given import Numbers, Words
from probing.core.errors import OptionError

Given = ParamSpec("Given")
Found = TypeVar("Found")


@dataclass(frozen=True)
class _Kind:
    """What an argument takes: values of one type, several of them or one, and None if it may be left out."""

    of: type
    words: str
    several: bool = False
    optional: bool = True

    def value(self, name: str, given: Any) -> Any:
        """The checked argument; several values become a tuple.

        Raises:
            OptionError: for a value of another type.
        """
        if given is None and self.optional:
            return None
        if self._fits(given):
            return self._plain(name, given)
        if self.several and isinstance(given, Iterable) and not isinstance(given, str):
            values = tuple(given)
            if all(map(self._fits, values)):
                return tuple(self._plain(name, one) for one in values)
            # An iterator is exhausted by now.
            raise self._error(name, list(values), type(given))
        raise self._error(name, given, type(given))

    def _error(self, name: str, shown: Any, of: type) -> OptionError:
        return OptionError(f"got {name}={in_short(shown)}, of type {of.__name__}; expected {self.words}")

    def _fits(self, given: Any) -> bool:
        return isinstance(given, self.of) and (self.of is bool or not isinstance(given, bool))

    def _plain(self, name: str, given: Any) -> Any:
        """The number of Python for a number of numpy; a text, if it is readable."""
        return int(given) if self.of is Integral else readable(name, given) if self.of is str else given


_TEXT, _NUMBER, _FLAG = _Kind(str, "a text"), _Kind(Integral, "a whole number"), _Kind(bool, "True or False")
_WORDS = _Kind(str, "a name or a list of names", several=True)
_KINDS: dict[Any, _Kind] = {
    Words: _WORDS,
    Numbers: _Kind(Integral, "a whole number or a list of whole numbers", several=True),
    str | None: _TEXT,
    int | None: _NUMBER,
    str: _Kind(str, "a text", optional=False),
    int: _Kind(Integral, "a whole number", optional=False),
    bool: _Kind(bool, "True or False", optional=False),
}
_FILTERS: dict[Any, _Kind] = {str: _TEXT, int: _NUMBER, bool: _FLAG, str | list[str]: _WORDS}


def in_short(value: Any) -> str:
    """A value in one line, abbreviated if it is long."""
    return " ".join(reprlib.repr(value).split())


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
                elif kind := _KINDS.get(signature.parameters[name].annotation):
                    given.arguments[name] = kind.value(name, value)
            return method(*given.args, **given.kwargs)

    return called


def _filter(name: str, value: Any) -> Any:
    """A filter of a list of facts; ``FactChoice`` refuses unknown names."""
    # Needs the libraries of stored results, which an answer of a model does without.
    from probing.api.stored.facts import FactFilters

    kind = _FILTERS.get(FactFilters.__annotations__.get(name))
    return kind.value(name, value) if kind else value
