"""What does every layer make of a sentence of your own?"""

from probing.ui.frame import page
from probing.ui.live import ask, controls
from probing.ui.widgets import blocks

view = page.open_page("live", "Live", "Ask every layer", needs_results=False)
models, head = controls.draw(view)
ask.answer(view, models, head)
blocks.small_model_note([model.name for model in models])
