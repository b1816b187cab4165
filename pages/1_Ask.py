"""What does every layer predict for a sentence of your own?"""

from probing.ui.frame import page
from probing.ui.live import ask, controls, views
from probing.ui.live.sentence import controls as sentence_controls
from probing.ui.live.sentence import pairs, sections
from probing.ui.live.spans import answers
from probing.ui.live.spans import controls as span_controls
from probing.ui.live.tokens import view as every_token

view = page.open_page("ask", "Ask", "Ask every layer", needs_results=False)
asked = views.chosen(view)
if asked == "spans":
    chosen = span_controls.draw(view)
    answers.draw(view, *chosen)
elif asked == "tokens":
    every_token.draw(view)
elif asked == "sentence":
    sections.draw(view, *sentence_controls.draw(view))
elif asked == "pairs":
    pairs.draw(view, sentence_controls.models(view))
else:
    models, head = controls.draw(view)
    ask.answer(view, models, head)
view.contents.end()
