"""CoLA, SST-2 and RTE as GLUE has them (Wang et al. 2019): a sentence, or two, with one label.

The official test parts have no labels, so a model is scored on the development part.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from probing.finetuning.tasks.data_files import first_of, lines_of
from probing.kernel.errors import FactsError


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A sentence, or two, with its label."""

    text: str
    label: str
    pair: str = ""


#: Label in the files -> our label. RTE's files have words already.
COLA_LABELS: Mapping[str, str] = MappingProxyType({"0": "unacceptable", "1": "acceptable"})
SST2_LABELS: Mapping[str, str] = MappingProxyType({"0": "negative", "1": "positive"})
RTE_LABELS: Mapping[str, str] = MappingProxyType({"entailment": "entailment", "not_entailment": "not_entailment"})


def read_cola(path: Path) -> list[LabelledText]:
    """Sentences of a CoLA file: source, label, the author's mark and sentence, without a header."""
    return list(_labelled(path, lines_of(path), ("source", "label", "mark", "sentence"), COLA_LABELS))


def read_sst2(path: Path) -> list[LabelledText]:
    """Sentences and phrases of an SST-2 file; raises as ``read_cola``, and for a header other than GLUE's."""
    return _below_a_header(path, ("sentence", "label"), SST2_LABELS)


def read_rte(path: Path) -> list[LabelledText]:
    """Premises with their hypotheses of an RTE file; raises as ``read_sst2``."""
    return _below_a_header(path, ("index", "sentence1", "sentence2", "label"), RTE_LABELS)


def _parts(
    read: Callable[[Path], list[LabelledText]], name: str, folder: Path
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Training and development part of a task: from its folder in GLUE's, or from its own folder."""
    inside = folder / name
    where = inside if inside.is_dir() else folder
    return read(first_of(where, ("train.tsv",))), read(first_of(where, ("dev.tsv",)))


#: (folder) -> training and development part, as the files have them.
cola_parts = partial(_parts, read_cola, "CoLA")
sst2_parts = partial(_parts, read_sst2, "SST-2")
rte_parts = partial(_parts, read_rte, "RTE")


def without_scored(train: Sequence[LabelledText], scored: Sequence[LabelledText]) -> list[LabelledText]:
    """The training part without texts that are scored: 16 of CoLA's development sentences are in both."""
    held = {(example.text, example.pair) for example in scored}
    return [example for example in train if (example.text, example.pair) not in held]


def _below_a_header(path: Path, columns: Sequence[str], labels: Mapping[str, str]) -> list[LabelledText]:
    lines = lines_of(path)
    header = next(lines, (1, ""))[1].split("\t")
    if header != list(columns):
        raise FactsError(
            f"{path}, line 1: got the columns {', '.join(header)[:200]!r}, expected {', '.join(columns)}; "
            "take GLUE's train.tsv and dev.tsv (test.tsv has no labels)"
        )
    return list(_labelled(path, lines, columns, labels))


def _labelled(
    path: Path, lines: Iterator[tuple[int, str]], columns: Sequence[str], labels: Mapping[str, str]
) -> Iterator[LabelledText]:
    """Examples of tab-separated lines; a quotation mark is an ordinary character, as GLUE has it.

    In a file that a program wrote every cell with a mark is in marks, its own ones doubled: these are undone. Control
    characters stay as GLUE has them: the checksums of stored results are of these texts.
    """
    label_at, texts_at = (
        columns.index("label"),
        [place for place, name in enumerate(columns) if name.startswith("sentence")],
    )
    rows = [(number, line.split("\t")) for number, line in lines]
    marked = [cell for _, cells in rows for cell in cells if '"' in cell]
    if marked and all('""' in cell and re.fullmatch(r'"(?:[^"]|"")+"', cell) for cell in marked):
        rows = [
            (number, [cell[1:-1].replace('""', '"') if '"' in cell else cell for cell in cells])
            for number, cells in rows
        ]
    for number, values in rows:
        if len(values) != len(columns):
            raise _wrong(
                path,
                number,
                f"{len(values)} columns, expected {len(columns)} with tabs between them ({', '.join(columns)})",
            )
        label, texts = values[label_at], [values[place].strip() for place in texts_at]
        if label not in labels:
            raise _wrong(path, number, f"the label {label[:60]!r}, expected {' or '.join(labels)}")
        if not all(texts):
            raise _wrong(path, number, "an empty sentence, expected one")
        yield LabelledText(texts[0], labels[label], *texts[1:])
    if not rows:
        raise FactsError(
            f"{path} has no sentences; expected lines of {', '.join(columns)} with tabs between; fetch the data set"
            " again"
        )


def _wrong(path: Path, number: int, got: str) -> FactsError:
    return FactsError(f"{path}, line {number}: got {got}; take GLUE's own file")
