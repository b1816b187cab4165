"""All reports that are declared."""

from probing.core.capabilities.registry import CAPABILITIES, Declared, load
from probing.reports.report import Reports

KINDS = Declared[Reports](lambda: {name: load(capability.reports) for name, capability in CAPABILITIES.items()})
