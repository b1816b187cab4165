"""A labelled sentence as a file has it, before sentences become parts."""

from dataclasses import dataclass

from probing.core.sentences.example import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """A row of a file.

    Attributes:
        example: its text and label.
        part: train, dev or test if the file says so, else empty.
        group: rows of one group stay in one part; empty: only rows with the same words do.
    """

    example: Example
    part: str = ""
    group: str = ""
