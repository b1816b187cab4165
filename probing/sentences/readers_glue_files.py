"""CoLA, SST-2 and RTE as tasks for probes; the development file is the test part.

A model that is fine-tuned on one of them has seen the labels of its training file.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from probing.finetuning.tasks.glue import LabelledText, cola_parts, rte_parts, sst2_parts
from probing.kernel.errors import FactsError, SentenceDataError
from probing.sentences.examples import Example
from probing.sentences.examples_labelled_sentence import Labelled

GLUE: Mapping[str, Callable[[Path], tuple[Sequence[LabelledText], Sequence[LabelledText]]]] = {
    "cola": cola_parts,
    "sst-2": sst2_parts,
    "rte": rte_parts,
}


def read_glue(task: str, folder: Path) -> list[Labelled]:
    """Rows of a task of GLUE: those of the training file, then those of the development file as the test part."""
    try:
        train, test = GLUE[task](folder)
    except FactsError as error:
        raise SentenceDataError(str(error)) from error
    return [
        Labelled(Example(row.text, row.label, row.pair), part)
        for part, rows in (("train", train), ("test", test))
        for row in rows
    ]
