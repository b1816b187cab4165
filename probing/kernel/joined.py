"""What subjects declare, for the kernel, which imports none of them: ``probing`` names the modules that join it."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")

#: What is joined -> the module that does it.
MODULES: dict[str, str] = {}


def joined(name: str) -> ModuleType:
    """The module that joins what subjects declare, imported when it is first needed."""
    return import_module(MODULES[name])


class Declared(Mapping[str, T]):
    """A mapping that is made when it is first read, because its makers are imported late."""

    def __init__(self, make: Callable[[], Mapping[str, T]]):
        self._make = make
        self._mapping: Mapping[str, T] = {}

    def _made(self) -> Mapping[str, T]:
        self._mapping = self._mapping or self._make()
        return self._mapping

    def __getitem__(self, name: str) -> T:
        return self._made()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())

    def __contains__(self, name: object) -> bool:
        return name in self._made()
