"""What is chosen on the page of the papers."""

from dataclasses import dataclass

from probing.kernel.app.selection import declared, one_of

PAPERS = {
    "bertnesia": "BERTnesia (Wallat et al. 2020)",
    "edge-probing": "Edge probing (Tenney et al. 2019)",
    "interplay": "Fine-tuning and probing (Mosbach et al. 2020)",
    "forgetting": "Unlearning (Deeb and Roger 2024)",
}
TABS = {"tables": "Tables", "figures": "Figures"}


@declared("papers")
@dataclass(frozen=True)
class PapersSelection:
    """The page's own choices, the same for every paper; ``""`` means the first, or the heads of most models."""

    paper: str = one_of(tuple(PAPERS))
    papers_subject: str = ""
    papers_head: str = ""
    papers_tab: str = one_of(tuple(TABS))
    figure: str = ""
    panel: str = ""
