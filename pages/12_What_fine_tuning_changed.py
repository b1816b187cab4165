"""What did fine-tuning change, layer by layer, and where did it go?"""

from probing.ui.fine_tuning import gone, layers, models
from probing.ui.fine_tuning.shown import open_results
from probing.ui.frame import page

view = page.open_page("fine_tuning", "What fine-tuning changed", "What fine-tuning changed, layer by layer", needs_results=False)
if shown := open_results(view):
    words = layers.lead(shown)
    # Without fates the panels are the page's first figure.
    if shown.fates.empty:
        layers.draw(shown)
    gone.draw(shown, words)
    gone.draw_words(shown)
    if len(shown.fates):
        layers.draw(shown)
    models.draw_table(shown)
    models.draw_plane(shown)
page.sections(view)
view.contents.end()
