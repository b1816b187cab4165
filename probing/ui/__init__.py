"""The pages. What can be chosen on each is declared with the first import, so that any page can lead to any other."""

import pkgutil
from importlib import import_module

from probing.ui import choices
from probing.ui.compare import selection as _compare
from probing.ui.fine_tuning import selection as _fine_tuning
from probing.ui.forgetting import selection as _forgetting
from probing.ui.methods import selection as _methods

_DECLARED = (_compare, _fine_tuning, _forgetting, _methods,)

for _module in pkgutil.iter_modules(choices.__path__, f"{choices.__name__}."):
    import_module(_module.name)
