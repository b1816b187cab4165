"""``probing forgetting series``: when facts were forgotten and what prevents it, as text, CSV, LaTeX or JSON."""

from probing.commands.report import command_of
from probing.reports.forgetting.declared_series import SERIES

series = command_of(SERIES, "Report when facts were forgotten, and what prevents it; the same numbers as on the pages.")
