"""How much does a layer's knowledge depend on the decoding head?"""

from probing.ui.frame import page
from probing.ui.heads import by_kind, losses

view = page.open_page("heads", "Decoding heads", "How results depend on the decoding head")
points = by_kind.draw_curves(view, losses.headline(view))
by_kind.draw_losses(view, points)
losses.draw(view)
view.contents.end()
