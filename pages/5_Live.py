"""What does every layer make of a sentence of your own?"""

from probing.ui.frame import page
from probing.ui.live import ask, controls, views
from probing.ui.live.spans import answers
from probing.ui.live.spans import controls as span_controls

view = page.open_page("live", "Live", "Ask every layer", needs_results=False)
if views.chosen(view) == "spans":
    chosen = span_controls.draw(view)
    answers.draw(view, *chosen)
else:
    models, head = controls.draw(view)
    ask.answer(view, models, head)
view.contents.end()
