"""What is chosen on the home page: the sentence, and what the bars show."""

from dataclasses import dataclass

from probing.figures.yardsticks import MODES
from probing.ui.frame.selection import OVERVIEW, declared, one_of

#: How many sentences are offered.
EXAMPLES = (1, 2, 3)


@declared("home", *OVERVIEW, "k")
@dataclass(frozen=True)
class HomeSelection:
    """The page's own choices.

    Attributes:
        example: which of the stored examples is shown.
        sentence: the visitor's own sentence, asked live in the example's place; ``""`` where none is asked.
        home_minus: the yardstick that is taken off the bars of what is known.
    """

    example: int = one_of(EXAMPLES)
    sentence: str = ""
    home_minus: str = one_of(tuple(MODES))
