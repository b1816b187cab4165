"""How much does each layer know?"""

from probing.ui.curves import curve
from probing.ui.frame import page

view = page.open_page("layers", "Layers", "What each layer knows")
curve.draw(view)
