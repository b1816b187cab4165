"""Options: each is a field of a request that carries its help, its range and its names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, fields
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from probing.kernel.errors import OptionError

_IN_PYTHON: ContextVar[bool] = ContextVar("in_python", default=False)


@dataclass(frozen=True)
class Option:
    """What an annotation says of an option: ``seeds: Annotated[int, Option("Seeds.", least=1)] = 1``."""

    help: str
    least: float | None = None
    most: float | None = None
    #: The only values that it takes, if there are any.
    known: tuple[Any, ...] = ()
    #: In the command, if not the field's name.
    names: tuple[str, ...] = ()
    #: Whether the command takes it without a name.
    argument: bool = False
    #: Whether several values repeat the option; otherwise commas separate them.
    repeated: bool = False

    @property
    def expected(self) -> str:
        """The range in words."""
        if self.known:
            return f"one of {', '.join(map(str, self.known))}"
        low, high = (f"{bound:,g}" for bound in (self.least or 0, self.most or 0))
        return f"{low} or more" if self.most is None else f"{low} to {high}"

    def takes(self, value: Any) -> bool:
        """Whether a value is in the range; NaN is in none."""
        if self.known:
            return value in self.known
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True)
class Declared:
    """An option of a request; its type is without None, its default ``MISSING`` if it is required."""

    name: str
    type: Any
    default: Any
    option: Option
    #: Field of the request whose object has it; empty for the request itself.
    holder: str = ""

    @property
    def several(self) -> bool:
        """Whether it takes several values."""
        return get_origin(self.type) is tuple


@dataclass(frozen=True)
class Options:
    """A request: a frozen dataclass whose fields may be options, which are checked when it is made."""

    def __post_init__(self) -> None:
        refuse_out_of_range(self)
        self.check()

    def check(self) -> None:
        """Raises an ``OptionError`` for values that exclude each other; called when the request is made."""


def option_fields(request: type) -> list[Declared]:
    """The options of a request: required ones, its own, its parents'; a field with options contributes them.

    >>> @dataclass(frozen=True)
    ... class Wish(Options):
    ...     seeds: Annotated[int, Option("Number of seeds.", least=1)] = 1
    >>> [(field.name, field.type, field.default, field.option.help) for field in option_fields(Wish)]
    [('seeds', <class 'int'>, 1, 'Number of seeds.')]
    """
    hints, declared = _hints(request), []
    for field in fields(request):
        if option := _option(hints[field.name]):
            declared.append(Declared(field.name, _plain(hints[field.name]), field.default, option))
        elif field.default_factory is not MISSING and (inner := _hints(type(holder := field.default_factory()))):
            marked = {name: option for name, hint in inner.items() if (option := _option(hint))}
            declared += [
                Declared(name, _plain(inner[name]), getattr(holder, name), option, field.name)
                for name, option in marked.items()
            ]
    own = get_annotations(request)
    return sorted(declared, key=lambda field: (field.default is not MISSING, (field.holder or field.name) not in own))


def made(request: type, values: Mapping[str, Any]) -> Any:
    """A request with these values of its options, by name; each goes to the object that has it."""
    direct: dict[str, Any] = {}
    held: dict[str, dict[str, Any]] = {}
    for field in option_fields(request):
        (held.setdefault(field.holder, {}) if field.holder else direct)[field.name] = values[field.name]
    holders = {field.name: field.default_factory for field in fields(request)}
    return request(**direct, **{name: type(holders[name]())(**inner) for name, inner in held.items()})  # type: ignore[operator]


def refuse_out_of_range(request: Any) -> None:
    """Refuses a value that an option does not take, spelled as the reader does.

    >>> @dataclass(frozen=True)
    ... class Wish(Options):
    ...     most_checks: Annotated[int, Option("Checks.", least=1)] = 20
    >>> Wish(0)
    Traceback (most recent call last):
    probing.kernel.errors.OptionError: got --most-checks 0; expected 1 or more
    >>> with in_python():
    ...     Wish(0)
    Traceback (most recent call last):
    probing.kernel.errors.OptionError: got most_checks=0; expected 1 or more
    """
    for name, hint in _hints(type(request)).items():
        if (option := _option(hint)) is None or (value := getattr(request, name)) is None:
            continue
        several = isinstance(value, tuple)
        if strange := [item for item in (value if several else (value,)) if not option.takes(item)]:
            raise OptionError(f"got {spelled(name, strange[0], option.names)}; expected {option.expected}")
        if several and not value and getattr(type(request), name, ()) != ():
            known = option.expected if option.known else "one or more, separated by commas"
            raise OptionError(f"got no {spelled(name, named=option.names)}; expected {known}")


@contextmanager
def in_python() -> Iterator[None]:
    """In this context, messages spell options as arguments: ``base=``, not ``--base``."""
    token = _IN_PYTHON.set(True)
    try:
        yield
    finally:
        _IN_PYTHON.reset(token)


def spelled(argument: str, value: Any = None, named: tuple[str, ...] = ()) -> str:
    """An option as the reader types it, with a value unless it is None; ``named`` are its names in the command.

    >>> spelled("base"), spelled("probe_set", "squad"), spelled("called", named=("--as",))
    ('--base', '--probe-set squad', '--as')
    >>> with in_python():
    ...     spelled("base"), spelled("probe_set", "squad"), spelled("called", named=("--as",))
    ('base=', "probe_set='squad'", 'called=')
    """
    if _IN_PYTHON.get():
        return f"{argument}={'' if value is None else repr(value)}"
    name = named[0] if named else f"--{argument.replace('_', '-')}"
    return name if value is None else f"{name} {value}"


def _hints(request: type) -> dict[str, Any]:
    return get_type_hints(request, include_extras=True)


def _option(hint: Any) -> Option | None:
    return (
        next((argument for argument in get_args(hint)[1:] if isinstance(argument, Option)), None)
        if get_origin(hint) is Annotated
        else None
    )


def _plain(hint: Any) -> Any:
    """The type of an annotation, without ``Annotated`` and None."""
    inner = get_args(hint)[0]
    if get_origin(inner) not in (Union, UnionType):
        return inner
    (only,) = (argument for argument in get_args(inner) if argument is not type(None))
    return only
