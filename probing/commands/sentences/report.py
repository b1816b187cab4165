"""``probing sentences report``: the numbers on the pages about sentence-level probing as text, CSV, LaTeX or JSON."""

from probing.commands.report import command_of
from probing.reports.sentences.declared import SENTENCES

report = command_of(
    SENTENCES, "Report stored probes of whole sentences: accuracy, changes, fates of properties; the same numbers as on the pages."
)
