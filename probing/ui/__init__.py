"""The pages. What can be chosen on each is declared with the first import, so that any page can lead to any other."""

import os
import pkgutil
from importlib import import_module

from probing.ui import choices

# Torch's threads wait for each other by spinning, unless this is set before it is loaded. Where other programs use the
# cores, too, that makes a question twenty times as slow.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

for _module in pkgutil.iter_modules(choices.__path__, f"{choices.__name__}."):
    import_module(_module.name)
