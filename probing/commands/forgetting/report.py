"""``probing forgetting report``: the outcome of lost facts, as text, CSV, LaTeX or JSON."""

from probing.commands.report import command_of
from probing.reports.forgetting.declared import FORGETTING

report = command_of(
    FORGETTING, "Report the outcome of the facts that fine-tuned models lost, next to guesses; the same numbers as on the page."
)
