"""Errors of the commands for a notebook: an option becomes the argument of that name."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from probing.core.errors import ProbingError

#: Option of a command -> argument of a function, only if the option is alone in a message; inside a command a value follows it.
_ARGUMENTS = {"base": "base=", "name": "name=", "as": "called="}
_OPTION = re.compile(rf"--({'|'.join(_ARGUMENTS)})(?=[),;.]|$)")


def as_arguments(message: str) -> str:
    """The message with every option that is alone in it written as an argument.

    >>> as_arguments("name its base model (--base); train with: python -m probing train-heads --model A --base B --head tied")
    'name its base model (base=); train with: python -m probing train-heads --model A --base B --head tied'
    """
    return _OPTION.sub(lambda found: _ARGUMENTS[found[1]], message)


@contextmanager
def in_a_notebook() -> Iterator[None]:
    """Errors raised inside the ``with`` block name arguments instead of options; class and cause stay."""
    try:
        yield
    except ProbingError as error:
        error.args = tuple(as_arguments(part) if isinstance(part, str) else part for part in error.args)
        raise
