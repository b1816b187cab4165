"""Errors of the commands for a notebook: an option becomes the argument of that name."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from probing.core.errors import CacheError, ProbingError
from probing.core.files.disk_errors import cannot_write, no_room

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
    """Errors raised inside the ``with`` block name arguments instead of options; class and cause stay.

    A full disk or a folder that cannot be written is a ``CacheError``, in any library.
    """
    try:
        yield
    except ProbingError as error:
        error.args = tuple(as_arguments(part) if isinstance(part, str) else part for part in error.args)
        raise
    except Exception as error:
        if (words := no_room(error) or cannot_write(error)) is None:
            raise
        raise CacheError(words.replace("run the same command again", "call the same again")) from error
