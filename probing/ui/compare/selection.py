"""What is chosen on the compare page."""

from probing.ui.choices.compare import TABS as TABS
from probing.ui.choices.compare import CompareSelection as CompareSelection
