"""A labelled sentence as a file has it, before sentences become parts."""

from dataclasses import dataclass

from probing.sentences.examples import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """A row of a file; ``part`` is train, dev or test if the file says so, else empty."""

    example: Example
    part: str = ""
    #: Rows of one group stay in one part; empty: only rows with the same words do.
    group: str = ""
