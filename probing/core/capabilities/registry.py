"""All capabilities, and what is computed from their declarations."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

from probing.core.capabilities.built_in import CHANGES, EDGES, FORGETTING, KNOWLEDGE, SENTENCES, SERIES
from probing.core.capabilities.capability import Capability

T = TypeVar("T")

#: What is shared of a model besides its runs.
HEADS = "heads"

#: Name -> capability, in the order of lists.
CAPABILITIES: dict[str, Capability] = {
    capability.name: capability for capability in (KNOWLEDGE, EDGES, SENTENCES, CHANGES, FORGETTING, SERIES)
}


def everything_shared() -> tuple[str, ...]:
    """The names of all that can be shared: heads, and the runs of each capability, or of several together."""
    return (HEADS, *dict.fromkeys(capability.shared for capability in CAPABILITIES.values()))


def load(reference: str) -> Any:
    """The object that is named as ``module:name``."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class Declared(Mapping[str, T]):
    """A mapping that is computed from the capabilities when it is first read."""

    def __init__(self, make: Callable[[], Mapping[str, T]]):
        self._make = make
        self._mapping: Mapping[str, T] = {}

    def _now(self) -> Mapping[str, T]:
        self._mapping = self._mapping or self._make()
        return self._mapping

    def __getitem__(self, name: str) -> T:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __contains__(self, name: object) -> bool:
        return name in self._now()
