"""The home page's selection: the sentence, and what the bars show."""

from dataclasses import dataclass

from probing.figures.yardsticks import MODES
from probing.ui.frame.selection import OVERVIEW, declared, one_of

#: Numbers of the example sentences.
EXAMPLES = (1, 2, 3)


@declared("home", *OVERVIEW, "k")
@dataclass(frozen=True)
class HomeSelection:
    """The page's own choices.

    Attributes:
        example: number of the stored example that is shown.
        sentence: the user's own sentence, asked live in place of the example; ``""`` if there is none.
        home_minus: the yardstick that is subtracted from the bars.
    """

    example: int = one_of(EXAMPLES)
    sentence: str = ""
    home_minus: str = one_of(tuple(MODES))
