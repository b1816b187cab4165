"""What is chosen on the reproduction page."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from probing.ui.frame.selection import bound, declared, of, one_of
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown

#: The papers by their name in links -> label of the control.
PAPERS = {"bertnesia": "BERTnesia", "edge-probing": "Edge probing", "interplay": "Fine-tuning and probing", "forgetting": "Forgetting"}
#: Parts of the page by their name in links -> labels of their tabs.
TABS = {"claims": "Claims of the text", "tables": "Tables 1 to 3", "figures": "Figures 1 to 18"}
#: Figures of the paper.
FIGURES = range(1, 19)
#: The same for edge probing.
EDGE_TABS = {"claims": "Claims of the text", "tables": "F1 of every layer", "figures": "Figures 1, 2, A.2 and A.3"}
EDGE_FIGURES = ("1", "2", "A.2", "A.3")
#: The same for fine-tuning and sentence-level probing.
INTERPLAY_TABS = {"claims": "Claims of the text", "tables": "Tables 1 to 5", "figures": "Figures 1 to 5"}
INTERPLAY_FIGURES = ("1", "2a", "2b", "3ab", "3cd", "4", "5")
#: The same for forgetting, which has no figures.
FORGETTING_TABS = {"claims": "Claims of the texts", "tables": "Ours"}
#: In links: all panels of a figure.
ALL_PANELS = "all"


@declared("papers")
@dataclass(frozen=True)
class ReproductionSelection:
    """The page's own choices.

    Attributes:
        paper: the paper that is shown.
        family, family_head: base of the family that is compared with the paper, and its heads.
        paper_tab: the tab that is open.
        figure: number of the paper's figure that is drawn.
        probed_encoder: the encoder that is compared with the paper on edge probing.
        pipeline_tab, pipeline_figure: as ``paper_tab`` and ``figure``, of that paper.
        tuned_base: the base that is compared, with its fine-tuned models, with the paper on fine-tuning and sentence-level probing.
        interplay_tab, interplay_figure: as ``paper_tab`` and ``figure``, of that paper.
        panel: the panel that is shown of a figure with several; ``""`` for its first.
        pipeline_panel, interplay_panel: the same for the other papers.
        pipeline_task: the task whose F1 is shown layer by layer; ``""`` for the first.
        lost_base, lost_tab: as ``tuned_base`` and ``paper_tab``, of the claims on forgetting.
    """

    paper: str = one_of(tuple(PAPERS))
    family: str = ""
    family_head: str = ""
    paper_tab: str = one_of(tuple(TABS))
    figure: int = one_of(FIGURES)
    probed_encoder: str = ""
    pipeline_tab: str = one_of(tuple(EDGE_TABS))
    pipeline_figure: str = one_of(EDGE_FIGURES)
    tuned_base: str = ""
    interplay_tab: str = one_of(tuple(INTERPLAY_TABS))
    interplay_figure: str = one_of(INTERPLAY_FIGURES)
    panel: str = ""
    pipeline_panel: str = ""
    interplay_panel: str = ""
    pipeline_task: str = ""
    lost_base: str = ""
    lost_tab: str = one_of(tuple(FORGETTING_TABS))


def choose_panel(panels: Mapping[str, str], name: str, page: str, label: Markdown) -> str:
    """Draws the choice of one panel, or of all, if there are several.

    Args:
        panels: name in links -> title.
        name: a field of the page's own selection.
        page: part of the widget's key.
        label: of the choice.

    Returns:
        The panel's name; ``""`` for all.
    """
    titles = {**panels, ALL_PANELS: "All"} if len(panels) > 1 else panels
    wanted = getattr(of(ReproductionSelection), name)
    if wanted and wanted not in titles:
        blocks.say_ignored([wanted], of="this figure")
    if len(panels) < 2:
        return ""
    shown = wanted if wanted in titles else next(iter(panels))
    chosen = bound(st.selectbox, label, name, page, value=shown, options=list(titles), format_func=titles.__getitem__)
    return "" if chosen == ALL_PANELS else chosen
