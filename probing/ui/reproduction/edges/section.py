"""The paper on edge probing on the Reproduction page: the encoder that is compared with the paper."""

from typing import Any

from probing.reports.reproduction.edges.paper import EDGE_PROBING as PAPER
from probing.reports.reproduction.paper import Ours
from probing.ui.reproduction.edges import figures
from probing.ui.reproduction.edges.tables import TABLES
from probing.ui.reproduction.page_view import Section, Shown, Words
from probing.ui.reproduction.selection import EDGE_TABS
from probing.ui.widgets.markdown import Markdown, filled

#: Claim whose numbers are stored predictions for single targets.
_OF_SENTENCES = "single sentences leave the order"


def _about(shown: Shown, ours: Ours) -> Markdown:
    return filled(
        " Ours: **{encoder}**, {layers} layers, on the data that are available. If the data differ, F1s are not comparable with the "
        "paper's; layers of encoders of different depth are comparable only as shares of the depth. The pattern can be compared.",
        encoder=shown.view.called(ours.name),
        layers=ours.evidence.depth,
    )


def _view_of(ours: Ours, claim: str) -> tuple[str, Markdown, dict[str, Any]]:
    """The page that shows what the claim is about."""
    if claim == _OF_SENTENCES:
        return "edge_sentences", Markdown("See single sentences"), {}
    return "pipeline", Markdown("See the layers"), {"edge_models": (ours.name,)}


EDGE_PROBING = Section(
    PAPER, ("probed_encoder", "pipeline_tab", "pipeline_figure", "pipeline_panel"), EDGE_TABS, prefix="edge-", menu="Encoder", alone=True,
    missing=(
        Markdown("No cumulative probes are stored yet, so only the published numbers are shown."),
        "python -m probing edges train --model nesia-mini --tasks all",
    ),
    about=_about, tables=TABLES, figure=figures.draw, panels=figures.panels, view_of=_view_of,
    words=Words(
        whose=Markdown(""), scope=Markdown("this encoder and these data"), side="{side}, published numbers", none=Markdown("No encoder"),
        chance=Markdown("; only the order of tasks corrects for their number"),
        printed=Markdown(
            "The same rules judge the published numbers of BERT-base and BERT-large. These have no intervals, so each is taken to lie "
            "within its rounding error, half a hundredth of a point either way. “Holds” therefore means that the printed numbers agree "
            "with the text, not that another seed would."
        ),
    ),
)  # fmt: skip
