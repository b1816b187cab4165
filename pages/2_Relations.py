"""Which kinds of knowledge come early, late, or are better at an inner layer than at the last?"""

from probing.ui.frame import page
from probing.ui.relations import overview, relation_tables

view = page.open_page("relations", "Relations", "Which kinds of knowledge come early, which late")
points, mode = overview.draw(view)
overview.draw_curves(view, points, mode)
relation_tables.draw_models(view)
relation_tables.draw_relations(view, points)
view.contents.end()
