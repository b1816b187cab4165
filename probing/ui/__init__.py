"""The pages. What can be chosen on each is declared with the first import, so that any page can lead to any other."""

import pkgutil
from importlib import import_module

from probing.ui import choices
from probing.ui.compare import selection as _compare
from probing.ui.curves import selection as _curves
from probing.ui.facts import selection as _facts
from probing.ui.fine_tuning import selection as _fine_tuning
from probing.ui.forgetting import selection as _forgetting
from probing.ui.heads import selection as _heads
from probing.ui.live import selection as _live
from probing.ui.methods import selection as _methods
from probing.ui.own_model import selection as _own_model
from probing.ui.relations import selection as _relations
from probing.ui.reproduction import selection as _reproduction

_DECLARED = (
    _compare, _curves, _facts, _fine_tuning, _forgetting, _heads, _live, _methods, _own_model,
    _relations, _reproduction,
)  # fmt: skip
for _module in pkgutil.iter_modules(choices.__path__, f"{choices.__name__}."):
    import_module(_module.name)
