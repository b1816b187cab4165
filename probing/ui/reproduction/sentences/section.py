"""The paper on fine-tuning and sentence-level probing on the Reproduction page: the base that is compared with the paper."""

from probing.reports.reproduction.paper import Ours
from probing.reports.reproduction.sentences.paper import INTERPLAY as PAPER
from probing.ui.reproduction.page_view import Section, Shown
from probing.ui.reproduction.selection import INTERPLAY_TABS
from probing.ui.reproduction.sentences import figures
from probing.ui.reproduction.sentences.tables import TABLES
from probing.ui.widgets.markdown import Markdown, filled, joined


def _about(shown: Shown, ours: Ours) -> Markdown:
    family, view = ours.about.family, shown.view
    tuned = [view.called(model) for model in family.members.values()]
    return filled(
        " Ours: **{base}**, {layers} layers, probed with the protocol *{protocol}*, {tuned}. The sentences are not the paper's, except "
        "SentEval's own if they were fetched. The direction of a change and its layers can be compared.",
        base=view.called(family.base),
        layers=family.depth,
        protocol=family.protocol,
        tuned=filled("with {tuned}", tuned=joined(", ", tuned)) if tuned else "without fine-tuned models",
    )


INTERPLAY = Section(
    PAPER,
    ("tuned_base", "interplay_tab", "interplay_figure", "interplay_panel"),
    INTERPLAY_TABS,
    prefix="interplay-",
    menu="Pre-trained encoder",
    alone=True,
    missing=(
        Markdown("No sentence probes are stored yet, so only the published numbers are shown."),
        "python -m probing reproduce --paper interplay --family nesia-mini",
    ),
    about=_about,
    tables=TABLES,
    figure=figures.draw,
    panels=figures.panels,
    values=Markdown(" No values are printed."),
)
