"""The pages. What can be chosen on each is declared with the first import, so that any page can lead to any other."""

import pkgutil
from importlib import import_module

from probing.ui import choices
from probing.ui.compare import selection as _compare
from probing.ui.edge_sentences import selection as _edge_sentences
from probing.ui.facts import selection as _facts
from probing.ui.fine_tuning import selection as _fine_tuning
from probing.ui.forgetting import selection as _forgetting
from probing.ui.live import selection as _live
from probing.ui.methods import selection as _methods
from probing.ui.own_model import selection as _own_model
from probing.ui.pipeline import selection as _pipeline
from probing.ui.reproduction import selection as _reproduction
from probing.ui.sentence_probes import selection as _sentence_probes

_DECLARED = (
    _compare, _edge_sentences, _facts, _fine_tuning, _forgetting, _live, _methods, _own_model, _pipeline,
    _reproduction, _sentence_probes,
)  # fmt: skip
for _module in pkgutil.iter_modules(choices.__path__, f"{choices.__name__}."):
    import_module(_module.name)
