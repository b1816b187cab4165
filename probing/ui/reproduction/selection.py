"""What is chosen on the reproduction page."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared, one_of

#: Parts of the page, as a link names them -> what their tabs say.
TABS = {"tables": "Tables 1 to 3", "figures": "Figures 1 to 18", "claims": "Claims of the text"}
#: Figures of the paper.
FIGURES = range(1, 19)


@declared("reproduction")
@dataclass(frozen=True)
class ReproductionSelection:
    """The page's own choices.

    Attributes:
        family, family_head: base of the family laid beside the paper, and its heads.
        paper_tab: the tab that is open.
        figure: number of the paper's figure that is drawn.
    """

    family: str = ""
    family_head: str = ""
    paper_tab: str = one_of(tuple(TABS))
    figure: int = one_of(FIGURES)
