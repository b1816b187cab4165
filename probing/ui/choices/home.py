"""What is chosen on the first page."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared, one_of

#: Numbers of the example sentences.
EXAMPLES = (1, 2, 3)


@declared("home", "models", "heads", "probe_sets")
@dataclass(frozen=True)
class HomeSelection:
    """The page's own choices.

    Attributes:
        example: number of the stored example that is shown.
        sentence: the user's own sentence, asked live in place of the example; ``""`` if there is none.
    """

    example: int = one_of(EXAMPLES)
    sentence: str = ""
