"""CoNLL-2003: names of persons, places, organisations and others."""

from collections.abc import Sequence
from pathlib import Path

from probing.edges.readers.own_tasks_data_lines import Parts, part_of
from probing.edges.targets import Part, Record, Target
from probing.finetuning.scores_scores import entities as tagged_entities
from probing.finetuning.tasks.conll import read_conll
from probing.finetuning.tasks.data_files_data_files import first_of
from probing.kernel.errors import EdgeDataError, FactsError

_FILES = (("eng.train", "train.txt"), ("eng.testa", "valid.txt"), ("eng.testb", "test.txt"))


def read_conll_entities(folder: Path) -> Parts:
    """Entities of CoNLL-2003. The words may not be published: the texts are Reuters'."""
    train, dev, test = (_part(folder, names) for names in _FILES)
    return train, dev, test


def _part(folder: Path, names: Sequence[str]) -> Part:
    try:
        path = first_of(folder, names)
        sentences = read_conll(path)
    except FactsError as error:
        raise EdgeDataError(str(error)) from error
    return part_of(path, (Record(sentence.words, entities(sentence.tags), open=False) for sentence in sentences))


def entities(tags: Sequence[str]) -> tuple[Target, ...]:
    """One target per entity, in the order of the words."""
    spans = sorted(tagged_entities(tags), key=lambda span: span[1])
    return tuple(Target((start, end), None, (kind,)) for kind, start, end in spans)
