"""``probing changes report``: the effects of fine-tuning as text, CSV, LaTeX or JSON."""

from probing.commands.report import command_of
from probing.reports.changes.declared import CHANGES

report = command_of(CHANGES, "Report the effects of fine-tuning: attention, similarity and perplexity; the same numbers as on the pages.")
