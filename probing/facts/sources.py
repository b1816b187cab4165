"""Reader of a user's own facts: a table with object and prompt, and possibly subject and relation.

One fact per line is all that is needed::

    {"subject": "Germany", "relation": "capital", "object": "Berlin", "prompt": "The capital of Germany is [MASK]."}

Headings are guessed, because tables of questions and answers rarely have ours. A gap may be written ``<mask>`` or
``___`` too. Several prompts of one fact are several questions.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from probing.facts.fact import MALFORMED, MASK, PROBE_SETS, Fact, FactSet, select
from probing.facts.lama import known_probe_sets
from probing.kernel.errors import FactsError
from probing.kernel.questions import with_masks
from probing.kernel.user_tables import SUFFIXES as SUFFIXES
from probing.kernel.user_tables import Kind, Table, cell_value, read_table

COLUMNS = ("subject", "relation", "object", "prompt")
#: Without them there is no fact; the others may be missing.
NEEDED = ("object", "prompt")
#: The relation of facts whose table names none.
NO_RELATION = "facts"
_LONGEST_NAME = 60


#: Our column -> headings that are taken for it, the first one that a table has: English, German, French, Spanish.
NAMES = {
    "subject": (
        *("subject", "sub_label", "subj", "sub", "entity", "topic", "head"),
        *("Subjekt", "Entität", "Thema", "sujet", "entité", "sujeto", "entidad", "tema"),
    ),
    "relation": (
        *("relation", "predicate", "predicate_id", "pred", "property", "prop", "rel", "property_label", "category"),
        *("Beziehung", "Prädikat", "Eigenschaft", "Kategorie", "prédicat", "propriété", "catégorie"),
        *("relación", "predicado", "propiedad", "categoría"),
    ),
    "object": (
        *("object", "answer", "obj_label", "obj", "gold", "target", "expected", "answers", "label", "tail"),
        *(
            "Objekt",
            "Antwort",
            "Antworten",
            "Lösung",
            "objet",
            "réponse",
            "réponses",
            "objeto",
            "respuesta",
            "respuestas",
        ),
    ),
    "prompt": (
        *("prompt", "question", "sentence", "masked_sentence", "masked_sentences", "cloze", "statement", "text"),
        *("context", "query", "questions"),
        *(
            "Frage",
            "Fragen",
            "Satz",
            "Lückentext",
            "phrase",
            "texte",
            "énoncé",
            "pregunta",
            "preguntas",
            "frase",
            "oración",
            "texto",
        ),
    ),
}


def _unnamed(cells: Sequence[str]) -> dict[str, int]:
    """Our column -> its number without headings, by the first row; empty if that is no fact, or has a heading."""
    gaps = [place for place, cell in enumerate(cells) if _has_gap(cell)]
    if len(gaps) != 1 or KIND.known(cells):
        return {}
    if len(cells) == 2:
        return {"prompt": gaps[0], "object": 1 - gaps[0]}
    return {ours: place for place, ours in enumerate(COLUMNS)} if len(cells) == 4 and gaps == [3] else {}


def _has_gap(cell: Any) -> bool:
    text = cell_value(cell, joined=True)
    return isinstance(text, str) and with_masks(text).count(MASK) == 1


KIND = Kind(
    FactsError,
    "facts",
    NAMES,
    _unnamed,
    joined="prompt",
    missed=("subject", "relation"),
)


def own_probe_set(path: Path, name: str | None = None) -> str:
    """The name of the probe set of a file of own facts: the user's choice, else after the file.

    The file's stem gets ``own-`` in front if other facts have that name; a user's choice is refused then.
    """
    reserved = (*PROBE_SETS, "all")
    stem = re.sub(r"[^\w.-]+", "-", path.stem)[:_LONGEST_NAME].strip("-.") or "facts"
    if name is None:
        return f"own-{stem}" if stem.lower() in reserved else stem
    if name.lower() in reserved or not re.fullmatch(rf"\w[\w.-]{{0,{_LONGEST_NAME - 1}}}", name):
        raise FactsError(
            f"own facts cannot be called {name!r}; expected up to {_LONGEST_NAME} letters, digits and ._- "
            f"in a name other than {', '.join(reserved)}"
        )
    return name


def is_own(probe_set: str) -> bool:
    """Whether a probe set is called after a file of own facts."""
    return probe_set not in PROBE_SETS


def read_own_facts(path: Path, probe_set: str = "own") -> FactSet:
    """The facts of a file of one of the forms that ``tables`` reads; what is no fact is left out and counted."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FactsError(
            f"cannot read {path}: {error.strerror or error}; expected a file of facts, {' or '.join(SUFFIXES)}"
        ) from error
    return own_facts(content, str(path), probe_set)


def own_facts(content: Any, name: str, probe_set: str = "own") -> FactSet:
    """As ``read_own_facts``, from what ``read_table`` takes, such as an upload.

    A probe set with the name of one of LAMA's is refused: it would be compared with the papers' numbers.
    """
    if not probe_set.strip() or probe_set in known_probe_sets():
        raise FactsError(f"own facts cannot be called {probe_set!r}; expected a name other than {known_probe_sets()}")
    table = read_table(content, name, KIND)
    columns = table.unnamed or (_columns(table) if table.heads else {})
    if not table.rows:
        raise FactsError(
            f"{name} holds no facts; expected lines with {' and '.join(NEEDED)}, or all of {', '.join(COLUMNS)}"
        )
    read, malformed, note = table.made(columns, lambda row: _fact(row, probe_set))
    facts = select(probe_set, read, Counter({MALFORMED: malformed}), several_prompts=True)
    if (n := len({(fact.relation, fact.about, fact.object) for fact in facts.facts})) < len(facts.facts):
        note = f"{note}; {len(facts.facts):,} prompts of {n:,} fact{'s' * (n > 1)}".removeprefix("; ")
    return replace(facts, said=note)


def _columns(table: Table) -> dict[str, int]:
    """Our column -> its number; the prompt is ours or one with a known name if half of its cells have one gap, else the
    one with most.
    """
    numbers = table.kind.columns(table.heads, table.name)
    known = numbers.get("prompt", [])
    called_ours = [place for place in known if table.heads[place].strip().lower() == "prompt"]
    for group in (called_ours, known, [*known, *(place for place in range(len(table.heads)) if place not in known)]):
        gaps = {place: sum(_has_gap(cells[place]) for _, cells in table.rows) for place in group}
        best = max(group, key=gaps.__getitem__, default=-1)
        if gaps.get(best) and (2 * gaps[best] >= len(table.rows) or len(group) == len(table.heads)):
            numbers["prompt"] = [best]
            break
    prompt = numbers.get("prompt", [])[:1]
    free = {
        ours: [place for place in places if ours == "prompt" or [place] != prompt] for ours, places in numbers.items()
    }
    columns = {ours: free[ours][0] for ours in COLUMNS if free.get(ours)}
    if lacking := [ours for ours in NEEDED if ours not in columns]:
        names = " or ".join(f"{ours} (also {', '.join(KIND.names[ours][1:4])}, ...)" for ours in lacking)
        raise FactsError(
            f"{table.name} ({table.form}): the columns are {list(table.heads)}, and none is called {names}; rename its"
            " heading; subject and relation are read if they are there"
        )
    return columns


def _fact(row: Mapping[str, str], probe_set: str) -> Fact:
    cells = {column: row.get(column, "").strip() for column in COLUMNS}
    prompt = with_masks(cells["prompt"])
    return Fact(probe_set, cells["relation"] or NO_RELATION, cells["subject"], cells["object"], prompt, prompt)
