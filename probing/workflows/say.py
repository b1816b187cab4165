"""The lines that a use case has for the user: a command prints them."""

from collections.abc import Callable

#: Called with each line for the user.
Say = Callable[[str], None]
