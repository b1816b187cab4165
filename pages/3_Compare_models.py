"""What did fine-tuning keep, gain and lose?"""

from probing.ui.compare import counts, flow, layers, model_pair
from probing.ui.choices.compare import TABS
from probing.ui.frame import page, selection

view = page.open_page("compare", "Compare models", "What fine-tuning kept, gained and lost")
pair = model_pair.choose(view)
if pair is not None:
    if pair.by_fact:
        model_pair.draw_curves(view, pair)
        with selection.open_tab("compare_tab", TABS, view.page) as tab:
            if tab == "relations":
                flow.draw_flow(view, pair)
            elif tab == "models":
                flow.draw_family(view, pair)
                layers.draw_weights(view, pair)
            else:
                layers.draw_answers(view, pair)
                layers.draw_early_exit(view, pair)
    else:
        counts.draw(view, pair)
        model_pair.draw_badge(view, pair)
        flow.draw_family(view, pair)
        layers.draw_weights(view, pair)
    model_pair.lead_on(view, pair)
view.contents.end()
