"""What is chosen on the home page: the sentence, and what the bars show."""

from dataclasses import dataclass

from probing.ui.frame.selection import OVERVIEW, declared, one_of

#: How many sentences are offered.
EXAMPLES = (1, 2, 3)
#: What the bars of the first figure show; a key each.
BARS = ("value", "minus majority", "minus swapped")


@declared("home", *OVERVIEW, "k")
@dataclass(frozen=True)
class HomeSelection:
    """The page's own choices.

    Attributes:
        example: which of the stored examples is shown.
        sentence: the visitor's own sentence, asked live in the example's place; ``""`` where none is asked.
        bars: whether what the last layer knows is shown whole, or what lies above a guess.
    """

    example: int = one_of(EXAMPLES)
    sentence: str = ""
    bars: str = one_of(BARS)
