"""Which kinds of knowledge come early, late, or are better at an inner layer than at the last?"""

from probing.ui.frame import page
from probing.ui.relations import forgotten, overview

view = page.open_page("relations", "Relations", "Which kinds of knowledge come early, which late")
points, mode = overview.draw(view)
overview.draw_curves(view, points, mode)
forgotten.draw_models(view)
forgotten.draw_relations(view, points)
view.contents.end()
