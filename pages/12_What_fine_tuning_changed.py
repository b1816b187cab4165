"""What did fine-tuning change, layer by layer, and where did it go?"""

from probing.ui.fine_tuning import layers, models, property_places
from probing.ui.fine_tuning.page_view import open_results
from probing.ui.fine_tuning.selection import TABS
from probing.ui.frame import page, selection
from probing.ui.widgets import blocks

view = page.open_page("fine_tuning", "What fine-tuning changed", "What fine-tuning changed, layer by layer", needs_results=False)
if shown := open_results(view):
    words = layers.lead(shown, property_places.where(shown))
    if len(shown.fates):
        property_places.draw_first(shown)
    else:
        layers.draw_first(shown)
    view.introduce()
    blocks.in_words(words)
    with selection.open_tab("tuning_tab", TABS, view.page) as tab:
        if tab == "layers":
            layers.draw(shown)
        elif tab == "properties":
            property_places.draw(shown)
        else:
            models.draw_table(shown)
            models.draw_plane(shown)
view.contents.end()
