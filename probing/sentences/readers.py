"""Readers of sentence tasks: CoLA, SST-2 and RTE (tested on the development file), SentEval, X-Probe, own tables."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from probing.finetuning.tasks.glue import LabelledText, cola_parts, rte_parts, sst2_parts
from probing.kernel.errors import FactsError, SentenceDataError
from probing.kernel.text import in_short, label_of, nearly_equal, numbered_lines, refuse_label, text_of
from probing.kernel.user_tables import DOUBTFUL, NOTHING, SUFFIXES, Kind, Table, cell_value, read_table
from probing.sentences.examples import PARTS, Example, Labelled

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


#: What both data sets call the parts.
PART_NAMES: Mapping[str, str] = {"tr": "train", "va": "dev", "te": "test"}


def read_probing_file(path: Path, labels: Mapping[str, str]) -> Iterator[Labelled]:
    """Rows of a file in either layout; the first column of its first line decides which.

    SentEval's lines have a part, a label and, in the last column, the sentence. X-Probe's have a sentence and, after
    the last tab, a label; the part is in the file's name (``bigram_shift.va.txt``).
    """
    senteval: bool | None = None
    of_file = PART_NAMES.get(path.name.split(".")[-2], "") if path.name.count(".") > 1 else ""
    for number, line in numbered_lines(path, SentenceDataError):
        if senteval is None:
            senteval = is_senteval(line)
        if senteval:
            part, label, text = _three(path, number, line)
        else:
            text, _, label = line.rpartition("\t")
            part = of_file
        if not text.strip():
            raise SentenceDataError(
                f"{path}, line {number}: got {line!r}, expected a sentence and its label, separated by a tab"
            )
        if label not in labels:
            raise SentenceDataError(
                f"{path}, line {number}: got the label {label!r}, expected one of {', '.join(labels)}"
            )
        yield Labelled(Example(text.strip(), labels[label]), part)


def is_senteval(line: str) -> bool:
    """Whether a line is SentEval's: at least three columns, the first of which is ``tr``, ``va`` or ``te``."""
    first, *others = line.split("\t")
    return first in PART_NAMES and len(others) > 1


def _three(path: Path, number: int, line: str) -> tuple[str, str, str]:
    cells = line.split("\t")
    if not is_senteval(line):
        expected = "tr, va or te, a label and a sentence, separated by tabs"
        raise SentenceDataError(f"{path}, line {number}: got {line[:80]!r}, expected {expected}")
    return PART_NAMES[cells[0]], cells[1], cells[-1]


#: Columns without which a row is left out.
NEEDED = ("sentence", "label")
#: How many classes a task may have, and how many examples each of them needs.
FEWEST_CLASSES, MAX_CLASSES, FEWEST_EXAMPLES = 2, 50, 40
#: Why a row is left out.
INCOMPLETE, MALFORMED_ROWS, OTHER_PART = "without sentence or label", "malformed rows", "of no known part"
#: What data sets call the parts, in lower case and without what follows, as in ``validation_matched``.
_PARTS = {
    **PART_NAMES,
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("dev", "devel", "develop", "development", "eval", "evaluation", "evaluate"), "dev"),
    **dict.fromkeys(("val", "valid", "validate", "validation", "trial"), "dev"),
    **dict.fromkeys(("test", "testing", "tst"), "test"),
}
#: Labels that say that a text has none, in lower case; -1 is one beside classes that count from 0.
_NO_LABEL = NOTHING | {"-", "–", "—", "_", "unsup", "unlabeled", "unlabelled"}
#: Headings of answers to choose from, as in WinoGrande, COPA, SWAG and PIQA, without case.
_CHOICE = re.compile(r"(op|option|choice|ending|sol|alternative)[\W_]*(\d|[a-e])", re.IGNORECASE)


def part_called(name: str) -> str:
    """The part that a data set calls so; empty if it is none."""
    word = re.match(r"[^\W\d_]*", name.strip().lower())
    return _PARTS.get(word[0] if word else "", "")


def _unnamed(cells: Sequence[str]) -> dict[str, int]:
    return {"part": 0, "label": 1, "sentence": 2} if len(cells) == 3 and cells[0] in PART_NAMES else {}


KIND = Kind(
    SentenceDataError,
    "sentences",
    {
        "sentence": (
            *("sentence", "text", "sentence1", "premise", "sentence_a", "text1", "text_a", "question1", "string1"),
            *("1string", "question", "Satz", "phrase", "frase", "oración", "texte", "texto"),
        ),
        "label": (
            *("label", "gold_label", "class", "quality", "is_duplicate", "entailment_label", "answer"),
            *("Etikett", "Klasse", "étiquette", "classe", "etiqueta", "clase"),
        ),
        "pair": (
            *("pair", "sentence2", "hypothesis", "sentence_b", "text2", "text_b", "question2", "string2", "2string"),
            *("question", "passage", "context"),
        ),
        "part": ("part", "split", "set", "fold"),
        "group": ("group",),
    },
    _unnamed,
    flags=("label",),
)


def read_own_file(path: Path) -> tuple[list[Labelled], dict[str, int], str]:
    """Rows of a file, as ``parse_own_file`` gives them."""
    try:
        return parse_own_file(path.read_bytes(), str(path))
    except OSError as error:
        raise SentenceDataError(
            f"cannot read {path}: {error.strerror or error}; expected a file of sentences and labels,"
            f" {', '.join(SUFFIXES)}"
        ) from error


def read_own_folder(folder: Path) -> tuple[list[Labelled], dict[str, int], str]:
    """As ``read_own_file``, of files called as parts, or of a folder for each part with a folder of texts per label."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    rows, left_out, notes = list[Labelled](), Counter[str](), []
    placed = [(path.relative_to(folder).parts[-3:-1], path) for path in files if path.suffix == ".txt"]
    texts = [(part, names[1], path) for names, path in placed if len(names) > 1 and (part := part_called(names[0]))]
    for part, label, path in texts:
        text = " ".join(text_of(path, SentenceDataError).split())
        if text and label.lower() not in _NO_LABEL:
            rows.append(Labelled(Example(text, label_of(label)), part))
        else:
            left_out[INCOMPLETE] += 1
    for path in (path for path in files if not texts and path.suffix.lower() in SUFFIXES and part_called(path.stem)):
        of_file, lost, note = read_own_file(path)
        rows += [row if row.part else replace(row, part=part_called(path.stem)) for row in of_file]
        left_out.update(lost)
        notes += [f"{path.relative_to(folder)}: {note or 'read'}"]
    if not rows:
        raise SentenceDataError(
            f"{folder} has no rows of a part; expected files such as train.tsv and test.tsv, or folders such as"
            " train/LABEL and test/LABEL with a text in each file"
        )
    return rows, dict(left_out), "; ".join(notes)


def parse_own_file(content: bytes, name: str) -> tuple[list[Labelled], dict[str, int], str]:
    """Rows of a file's content, how many were left out for what reason, and how the table was read, in words."""
    table = read_table(content, name, KIND)
    columns, notes = (table.unnamed, []) if table.unnamed or not table.heads else _columns(table)
    if not table.rows:
        raise SentenceDataError(f"{name} holds no sentences; expected lines with {' and '.join(NEEDED)}")
    without = _without_label(table, columns)
    labels = Counter(map(label_of, table.filled(columns["label"])))
    if counts := {label: n for label, n in labels.items() if label.lower() in without}:
        notes.append(f"read as no label: {_listed(counts)}")
    texts = table.filled(columns["sentence"])
    if 2 * (n := sum(len(text.split()) < 2 for text in texts)) > len(texts):
        notes.append(f"sentences of one word: {n:,}")
    if "pair" in columns and (n := len(table.rows) - len(table.filled(columns["pair"]))):
        notes.append(f"rows without a pair: {n:,}")
    classes = Counter({label: n for label, n in labels.items() if label and label.lower() not in without})
    most = 2 * sum(n for label, n in classes.items() if re.search(r"\D[,;|]", label)) > classes.total()

    def is_list(label: str) -> bool:
        pieces = set(re.split(r" *[,;|] *", label))
        return (label[0] in "[{(" and label[-1] in "]})") or (len(pieces) > 1 and (most or pieces <= classes.keys()))

    spelt = nearly_equal(classes)
    doubts = {
        "classes that may be no label": lambda label: label.lower() in DOUBTFUL,
        "classes that differ by case or marks alone": lambda label: label in spelt,
        "classes that are lists": is_list,
    }
    for words, holds in doubts.items():
        if found := {label: n for label, n in classes.items() if holds(label)}:
            notes.append(f"{words}: {_listed(found)}")
    other = Counter[str]()

    def labelled(row: Mapping[str, str]) -> Labelled | None:
        cells = {column: " ".join(row.get(column, "").split()) for column in KIND.names}
        part = part_called(cells["part"])
        if cells["part"] and not part:
            other[cells["part"]] += 1
            return None
        if not all(cells[column] for column in NEEDED) or cells["label"].lower() in without:
            return None
        refuse_label(label := label_of(cells["label"]), "'label'", SentenceDataError)
        # As pandas writes 1 in a column with an empty cell.
        label = whole if (whole := label.removesuffix(".0")) in labels else label
        return Labelled(Example(cells["sentence"], label, cells["pair"]), part, cells["group"])

    read, malformed, note = replace(table, notes=[*table.notes, *notes]).made(columns, labelled)
    rows = [row for row in read if row]
    if other and len(parts := {row.part for row in rows}) < 2:
        got = ", ".join([*sorted(filter(None, parts)), _listed(other)])
        raise SentenceDataError(f"{name}: got the parts {got}; expected {', '.join(PARTS)}, or nothing")
    if other:
        note = f"{note}; of other parts: {_listed(other)}".removeprefix("; ")
    if 0 < sum(not row.part for row in rows) < len(rows):
        raise SentenceDataError(
            f"{name}: some rows name a part and others do not; give all of them one of {', '.join(PARTS)}, or none"
        )
    n_other = other.total()
    left_out = {INCOMPLETE: len(read) - len(rows) - n_other, OTHER_PART: n_other, MALFORMED_ROWS: malformed}
    return rows, {reason: n for reason, n in left_out.items() if n}, note


def _listed(counts: Mapping[str, int]) -> str:
    named = [f"{in_short(value)!r} ({n:,})" for value, n in sorted(counts.items(), key=lambda item: -item[1])]
    return ", ".join([*named[:5], *["..."] * (len(named) > 5)])


def _without_label(table: Table, columns: Mapping[str, int]) -> frozenset[str]:
    """The labels, in lower case, that say that a text has none.

    ``-`` is a class beside ``+``, and -1 beside 0 and 1 if it has at least half as many texts as one of them, in all
    parts that these are in.
    """
    counts, parts = Counter[str](), defaultdict[str, set[str]](set)
    for _, cells in table.rows:
        label = str(cell_value(cells[columns["label"]])).strip().lower().removesuffix(".0")
        counts[label] += 1
        parts[label].add(part_called(str(cells[columns["part"]])) if "part" in columns else "")
    without = _NO_LABEL & counts.keys() - ({"-", "–", "—"} if "+" in counts else set())
    classes = {label for label in counts if label.isdecimal()}
    from_0 = len(classes) > 1 and min(map(int, classes)) < 2 and counts.keys() - without - {""} == {"-1", *classes}
    few = 2 * counts["-1"] < min(counts["0"], counts["1"]) or not parts["0"] | parts["1"] <= parts["-1"]
    return without | ({"-1", "-1.0"} if from_0 and (few or classes != {"0", "1"}) else set())


def check_classes(rows: Iterable[Labelled], name: str, dropped: Mapping[str, int]) -> None:
    """Refuses rows that no probe can learn: fewer than 2 or more than 50 classes, or fewer than 40 examples of one.

    The rows are without repeats and contradictions; ``dropped`` is reason -> number left out for it.
    """
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.example.label] = counts.get(row.example.label, 0) + 1
    left_out = ", ".join(f"{number:,} {reason}" for reason, number in dropped.items() if number)
    advice = f" (left out before: {left_out})" if left_out else ""
    if not FEWEST_CLASSES <= len(counts) <= MAX_CLASSES:
        labels = ", ".join(map(repr, sorted(counts)[:5]))
        raise SentenceDataError(
            f"{name}: got {len(counts)} classes{f' ({labels})' if labels else ''}, expected {FEWEST_CLASSES} to"
            f" {MAX_CLASSES}{advice}"
        )
    label = min(counts, key=lambda candidate: (counts[candidate], candidate))
    if counts[label] < FEWEST_EXAMPLES:
        raise SentenceDataError(
            f"{name}: the label {label!r} has {counts[label]} different examples, expected at least {FEWEST_EXAMPLES}"
            f" for each label{advice}"
        )


def _columns(table: Table) -> tuple[dict[str, int], list[str]]:
    """Our column -> its number, and what is to be said of the others.

    A column of parts under another name than ours has a part in one row or more, under any other name two parts or more
    in all rows; a sentence has words.
    """
    if len(choices := [head for head in table.heads if _CHOICE.fullmatch(head.strip())]) > 1:
        raise SentenceDataError(
            f"{table.name} holds answers to choose from ({', '.join(choices[:5])}), as WinoGrande does; expected one"
            " label for each sentence: write a row for each answer, in its sentence, with the label right or wrong"
        )
    candidates = table.kind.columns(table.heads, table.name)
    if missing := [column for column in NEEDED if column not in candidates]:
        raise SentenceDataError(
            f"{table.name}: got the columns {', '.join(map(repr, table.heads))[:120]}; expected one called"
            f" {' and one called '.join(missing)} (or"
            f" {', '.join(name for column in missing for name in KIND.names[column][1:])}): name the columns in the"
            " first line, or give SentEval's three (tr, va or te; label; sentence) with tabs between them"
        )
    candidates["sentence"] = table.of_words(candidates["sentence"])
    candidates["pair"] = table.of_words([one for one in candidates.get("pair", []) if one != candidates["sentence"][0]])
    named = candidates.get("part", [])
    candidates["part"] = [
        place
        for place in named
        if table.heads[place].strip().lower() == "part" or any(map(part_called, table.filled(place)))
    ]
    columns = {ours: places[0] for ours, places in candidates.items() if places}
    for place in range(len(table.heads)):
        cells = table.filled(place) if "part" not in columns and place not in columns.values() else []
        if len(cells) == len(table.rows) and all(map(part_called, cells)) and len({*map(part_called, cells)}) > 1:
            columns["part"] = place
    notes = []
    if named and "part" not in columns:
        values = _listed(Counter(table.filled(named[0])))
        notes.append(f"divided by hash, as {table.heads[named[0]]} names no parts: {values}")
    unused = [
        head for place, head in enumerate(table.heads) if place not in columns.values() and _is_text(table, place)
    ]
    if unused:
        notes.append(f"text that is not read: {', '.join(unused)} (if the label depends on it, call it pair)")
    return columns, notes


def _is_text(table: Table, place: int) -> bool:
    """Whether most cells of a column have three words or more."""
    cells = table.filled(place)
    return 2 * sum(len(cell.split()) > 2 for cell in cells) > len(cells)
