"""All reports that are declared."""

from probing.core.capabilities.registry import CAPABILITIES, Declared, load
from probing.reports.report import Reports

KINDS = Declared[Reports](lambda: {name: load(one.reports) for name, one in CAPABILITIES.items()})
