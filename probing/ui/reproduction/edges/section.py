"""The paper on edge probing on the Reproduction page: the encoder that is compared with the paper."""

from probing.reports.reproduction.edges.paper import EDGE_PROBING as PAPER
from probing.reports.reproduction.paper import Ours
from probing.ui.reproduction.edges import figures
from probing.ui.reproduction.edges.tables import TABLES
from probing.ui.reproduction.page_view import Section, Shown
from probing.ui.reproduction.selection import EDGE_TABS
from probing.ui.widgets.markdown import Markdown, filled


def _about(shown: Shown, ours: Ours) -> Markdown:
    return filled(
        " Ours: **{encoder}**, {layers} layers, on the data that are available. If the data differ, F1s are not comparable with the "
        "paper's; layers of encoders of different depth are comparable only as shares of the depth. The pattern can be compared.",
        encoder=shown.view.called(ours.name),
        layers=ours.about.depth,
    )


EDGE_PROBING = Section(
    PAPER, ("probed_encoder", "pipeline_tab", "pipeline_figure", "pipeline_panel"), EDGE_TABS, prefix="edge-", menu="Encoder", alone=True,
    missing=(
        Markdown("No cumulative probes are stored yet, so only the published numbers are shown."),
        "python -m probing edges train --model nesia-mini --tasks all",
    ),
    about=_about, tables=TABLES, figure=figures.draw, panels=figures.panels,
)  # fmt: skip
