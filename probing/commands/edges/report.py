"""``probing edges report``: the numbers on the pages about edge probing as text, CSV, LaTeX or JSON."""

from probing.commands.report import command_of
from probing.reports.edges.declared import EDGES

report = command_of(EDGES, "Report stored probes: F1, expected layer, centre of gravity, order of tasks; the same numbers as on the pages.")
