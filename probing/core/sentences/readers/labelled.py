"""A labelled sentence as a file has it, before sentences become parts."""

from dataclasses import dataclass

from probing.core.sentences.example import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """A row of a file.

    Attributes:
        example: its text and label.
        part: train, dev or test where the file says so, else empty.
        group: what keeps it in one part with all others of the same group; empty: only its words do.
    """

    example: Example
    part: str = ""
    group: str = ""
