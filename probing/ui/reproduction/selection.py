"""What is chosen on the reproduction page."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared, one_of

#: Figures of the paper.
FIGURES = range(1, 19)


@declared("reproduction")
@dataclass(frozen=True)
class ReproductionSelection:
    """The page's own choices.

    Attributes:
        family, family_head: base of the family laid beside the paper, and its heads.
        figure: number of the paper's figure that is drawn.
    """

    family: str = ""
    family_head: str = ""
    figure: int = one_of(FIGURES)
