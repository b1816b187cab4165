"""The pages. What can be chosen on each is declared with the first import, so that any page can lead to any other."""

import pkgutil
from importlib import import_module

from probing.ui import choices

for _module in pkgutil.iter_modules(choices.__path__, f"{choices.__name__}."):
    import_module(_module.name)
