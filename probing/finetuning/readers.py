"""How the data of each objective are read."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from probing.facts.corpus import control_texts
from probing.finetuning.tasks.conll import conll_dev, conll_parts, ewt_part
from probing.finetuning.tasks.data_files import split_texts
from probing.finetuning.tasks.glue import cola_parts, rte_parts, sst2_parts
from probing.finetuning.tasks.msmarco import ranking_parts, ranking_texts
from probing.finetuning.tasks.squad import squad_parts, squad_texts

#: Training and test examples.
Parts = tuple[Sequence[Any], Sequence[Any]]
#: Objective -> (data folder, LAMA folder of a base made here, counter of what is left out) -> its examples.
PARTS: Mapping[str, Callable[[Path, Path | None, Counter[str]], Parts]] = MappingProxyType(
    {
        "ner-conll": lambda data, *_: conll_parts(data),
        "qa-squad-1": lambda data, _, left_out: squad_parts(data, False, left_out),
        "qa-squad-2": lambda data, _, left_out: squad_parts(data, True, left_out),
        "rank-msmarco": lambda data, *_: ranking_parts(data),
        "mlm-msmarco": lambda data, *_: split_texts(ranking_texts(data)),
        "mlm-squad": lambda data, *_: split_texts(squad_texts(data)),
        "control": lambda data, lama, _: split_texts(control_texts(data, lama)),
        "cola": lambda data, *_: cola_parts(data),
        "sst-2": lambda data, *_: sst2_parts(data),
        "rte": lambda data, *_: rte_parts(data),
        "pos-ewt": lambda data, *_: (ewt_part(data, "train"), ewt_part(data, "test")),
    }
)
#: Objective -> (data folder) -> the data set's own development part; of others a tenth of the training part serves.
DEV: Mapping[str, Callable[[Path], Sequence[Any]]] = MappingProxyType(
    {"ner-conll": conll_dev, "pos-ewt": lambda data: ewt_part(data, "dev")}
)
