"""What does every layer make of a sentence of your own?"""

from probing.ui.frame import page
from probing.ui.live import ask, controls

view = page.open_page("live", "Live", "Ask every layer", needs_results=False)
models, head = controls.draw(view)
ask.answer(view, models, head)
view.contents.end()
