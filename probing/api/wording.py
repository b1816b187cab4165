"""Errors of the commands for a notebook: an option becomes the argument of that name."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from probing.core.errors import CacheError, ProbingError
from probing.core.files.disk_errors import cannot_write, no_room

#: Option of a command -> argument of a function, if they have different names.
_ARGUMENTS = {"as": "called"}
_OPTIONS = (
    "base", "name", "as", "model", "head", "probe-set", "k", "average", "definition", "templates", "task", "part", "kind", "pooling",
    "reading", "protocol", "measure", "heads",
)  # fmt: skip
#: A command, which stays unchanged; an option that is alone; an option with its value.
_OPTION = re.compile(
    rf"(?P<command>python -m probing(?:(?![;`)\n]|[.,:] ).)*)"
    rf"|--(?P<alone>{'|'.join(_OPTIONS)})(?=[),;.]|$)|--(?P<name>{'|'.join(_OPTIONS)})(?= )"
)


def as_arguments(message: str) -> str:
    """The message with every option outside of a command written as an argument.

    >>> as_arguments("name its base model (--base); train with: python -m probing train-heads --model A --base B --head tied")
    'name its base model (base=); train with: python -m probing train-heads --model A --base B --head tied'
    >>> as_arguments("got --k 7; expected one of 1, 10, 100"), as_arguments("no run with --probe-set squad")
    ('got k 7; expected one of 1, 10, 100', 'no run with probe_set squad')
    """
    return _OPTION.sub(_argument, message)


def _argument(found: re.Match[str]) -> str:
    if found["command"]:
        return found["command"]
    option = found["alone"] or found["name"]
    return f"{_ARGUMENTS.get(option, option.replace('-', '_'))}{'=' if found['alone'] else ''}"


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
