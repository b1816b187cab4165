"""The one way to read facts: a shipped or fetched name, a folder in LAMA's layout, or a user's own file."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from probing.facts.lama import FOLDERS, read_lama, read_templated
from probing.kernel.errors import FactsError
from probing.kernel.fact import (
    DECLARED,
    EVERYDAY,
    FETCHED,
    MALFORMED,
    MASK,
    NOT_FILLED,
    ONE_WORD,
    PHRASES,
    PROBE_SETS,
    SOURCES,
    Fact,
    FactSet,
    Relation,
    checked,
    contains_words,
    restrict,
    right_answers,
    select,
    shipped_relations,
)
from probing.kernel.files import FACTS_FOLDER, cache_folder
from probing.kernel.questions import with_masks
from probing.kernel.registry import has_data, where_data_are
from probing.kernel.text import counted, in_short, label_of, nearly_equal, without_controls
from probing.kernel.user_tables import BY_SPLIT, DOUBTFUL, NOTHING, SUFFIXES, Kind, Table, cell_value, read_table

COLUMNS = ("subject", "relation", "object", "prompt")
#: Without them there is no fact; the others may be missing.
NEEDED = ("object", "prompt")
#: The relation of facts whose table names none.
NO_RELATION = "facts"
_LONGEST_NAME = 60


#: Our column -> headings that are taken for it, the first one that a table has: English, German, French, Spanish.
NAMES = {
    "subject": (
        *("subject", "sub_label", "subj", "sub", "entity", "topic", "head", "item"),
        *("subject_label", "subj_label", "entity_label", "item_label", "head_label", "subject_name", "sub_surface"),
        *("Subjekt", "Entität", "Thema", "sujet", "entité", "sujeto", "entidad", "tema"),
    ),
    "relation": (
        *("relation", "predicate", "predicate_id", "pred", "property", "prop", "rel", "property_label", "category"),
        *("relation_label", "relation_name", "relation_id", "rel_label", "rel_name", "rel_id", "predicate_label"),
        *("property_name", "property_id"),
        *("Beziehung", "Prädikat", "Eigenschaft", "Kategorie", "prédicat", "propriété", "catégorie"),
        *("relación", "predicado", "propiedad", "categoría"),
    ),
    "object": (
        *("object", "answer", "obj_label", "obj", "ground_truth", "gold_answer", "correct_answer", "target_true"),
        *("gold", "answers", "obj_surface", "object_label", "object_name", "tail_label", "answer_text", "value_label"),
        *("ans", "gold_answers", "target", "expected", "tail", "value", "label"),
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
        *("template", "context", "query", "questions"),
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
    return isinstance(text, str) and _template(text).count(MASK) == 1


def _slot(names: str) -> re.Pattern[str]:
    return re.compile(rf"\[\s*({names})\s*\]|<\s*({names})\s*>|\{{\{{?\s*({names})\s*\}}?\}}", re.IGNORECASE)


#: What is filled in in a template, in brackets: LAMA's letters, or the names of our columns.
_SUBJECT = _slot("X|subject|subj|sub|sub_label|subject_label|entity|head")
_OBJECT = _slot("Y|object|obj|obj_label|object_label|answer|tail")
#: A place without a name, the subject's if it is the only one: ``{}``, ``{0}`` or ``%s``.
_PLACE = re.compile(r"\{\{?\s*\d*\s*\}?\}|%s\b")
#: A name in brackets, of whatever kind, or a place as programs write it.
_NAMED = re.compile(r"\[[^\W\d]\w*\]|<[^\W\d]\w*>|\{[^{}]*\}|%(?:\(\w+\))?s\b|\$[^\W\d]\w*")
#: Words whose form the subject or the answer decides, as in X-FACTR: ``[was;X=Sing|were;X=Plur]``, ``[X.Nom]``.
_FORMS = re.compile(r"\[[^\[\]]*\b[XY][.;=][^\[\]]*\]")
#: Texts of an empty cell, in lower case.
_EMPTY = NOTHING | {"none", "-", "--", "–", "—"}
#: What data sets call their parts, which are no relations.
_PART = re.compile(r"(?i)(train|trn|dev|val|eval|test|tst)(ing|elopment|id|idation|uation)?([\W\d_].*)?")


def _template(text: str, subject: str = "") -> str:
    """A prompt with its gap as ``[MASK]`` and the place of its subject, if it is to be filled in, as ``[X]``.

    A prompt that names its subject has no other place for it than ``[X]``: its brackets are of the text.
    """
    masked = with_masks(text)
    if "[X]" in text or not (subject and contains_words(text, subject)):
        masked = _SUBJECT.sub("[X]", masked)
        if "[X]" not in masked and len(_PLACE.findall(masked)) == 1:
            masked = _PLACE.sub("[X]", masked)
    return masked if MASK in masked else _OBJECT.sub(MASK, masked)


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
    if not probe_set.strip() or probe_set in FOLDERS:
        raise FactsError(f"own facts cannot be called {probe_set!r}; expected a name other than {list(FOLDERS)}")
    table = read_table(content, name, KIND)
    columns = table.unnamed or (_columns(table) if table.heads else {})
    if not table.rows:
        raise FactsError(
            f"{name} holds no facts; expected lines with {' and '.join(NEEDED)}, or all of {', '.join(COLUMNS)}"
        )
    table = _of_groups(_of_groups(_without_nothing(table, columns), columns, "relation"), columns, "subject")
    table = _each_answer(table, columns)
    read, malformed, note = table.made(columns, lambda row: _fact(row, probe_set))
    facts = restrict(
        select(probe_set, read, Counter({MALFORMED: malformed}), several_prompts=True),
        lambda fact: NOT_FILLED if _is_open(fact) else None,
    )
    notes, about = [note] if note else [], defaultdict[str, set[str]](set)
    for fact in facts.facts:
        about[fact.prompt] |= {fact.subject} - {""}
    if alike := [prompt for prompt, subjects in about.items() if len(subjects) > 1]:
        notes.append(counted("prompts that are equal for different subjects", alike))
    # Sorted alone, a column loses its rows.
    lost = [fact.prompt for fact in facts.facts if fact.subject.lower() not in fact.prompt.lower()]
    if 2 * len(lost) > len(facts.facts) and _name_others(lost[:500], {fact.subject.lower() for fact in facts.facts}):
        notes.append(counted("prompts without their row's subject, most with another row's", lost))
    if several := nearly_equal(fact.relation for fact in facts.facts):
        notes.append(counted("relations that differ by case or marks alone", several))
    for ours in ("subject", "object"):
        names = sorted({getattr(fact, ours) for fact in facts.facts})
        # DBpedia's names of several words.
        joined = [name for name in names if re.search(r"[^\W_]_[^\W_]", name)]
        if len(joined) > sum(" " in name for name in names):
            notes.append(counted(f"{ours}s with underscores for blanks", joined))
    open_ones = [fact for fact in facts.facts if not fact.answer_in_subject]
    if held := [fact.prompt for fact in open_ones if contains_words(fact.prompt.replace(MASK, ""), fact.object)]:
        notes.append(counted("prompts that hold their answer", held))
    if (n := len({(fact.relation, fact.about, fact.object) for fact in facts.facts})) < len(facts.facts):
        notes.append(f"{len(facts.facts):,} prompts of {n:,} fact{'s' * (n > 1)}")
    return replace(facts, said="; ".join(notes))


def _name_others(prompts: Sequence[str], subjects: Collection[str]) -> bool:
    """Whether one of the subjects, in lower case, stands in most of the prompts as whole words."""
    n = 0
    for prompt in map(str.lower, prompts):
        cuts = [match.start() for match in re.finditer(r"\b", prompt)]
        n += any(prompt[start:end] in subjects for place, start in enumerate(cuts) for end in cuts[place + 1 :])
    return 2 * n > len(prompts)


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
    for ours, places in free.items():
        if ours == "object":
            places.sort(key=lambda place: len(set(table.filled(place))) == 1 < len(table.rows))
        free[ours] = places if ours == "prompt" else table.of_words(places)
    columns = {ours: free[ours][0] for ours in COLUMNS if free.get(ours)}
    if table.form == BY_SPLIT and not any(map(_PART.fullmatch, table.filled(split := table.heads.index("split")))):
        columns.setdefault("relation", split)
    if lacking := [ours for ours in NEEDED if ours not in columns]:
        names = " or ".join(f"{ours} (also {', '.join(KIND.names[ours][1:4])}, ...)" for ours in lacking)
        raise FactsError(
            f"{table.name} ({table.form}): the columns are {list(table.heads)}, and none is called {names}; rename its"
            " heading; subject and relation are read if they are there"
        )
    return columns


def _without_nothing(table: Table, columns: Mapping[str, int]) -> Table:
    """The table with empty cells where a subject, relation or answer is a text for nothing."""
    places = {place for ours, place in columns.items() if ours != "prompt"}

    def value(place: int, cell: Any) -> Any:
        return "" if place in places and str(cell).strip().lower() in _EMPTY else cell

    rows = [(number, [value(place, cell) for place, cell in enumerate(cells)]) for number, cells in table.rows]
    cells = (str(cells[place]).strip() for _, cells in rows for place in places)
    if doubtful := [cell for cell in cells if cell.lower() in DOUBTFUL]:
        listed = f"{len(doubtful):,} ({', '.join(sorted(set(doubtful)))})"
        return replace(table, rows=rows, notes=[*table.notes, f"cells that may be meant as empty: {listed}"])
    return replace(table, rows=rows)


def _of_groups(table: Table, columns: Mapping[str, int], ours: str) -> Table:
    """The table with every row's relation or subject where each is given once, in the first row of its group.

    A subject is in the prompts of its group.
    """
    place, prompt, rows, above = columns.get(ours, 0), columns["prompt"], [], ""
    filled = table.filled(place)
    if ours not in columns or not (empty := len(table.rows) - len(filled)):
        return table
    for number, cells in table.rows:
        above = above if cell_value(cells[place]) == "" else str(cells[place])
        rows.append((number, [*cells[:place], above, *cells[place + 1 :]]))
    given_once = len(rows) > 2 and rows[0][1][place] and len({*filled}) == len(filled) <= empty
    if given_once and (ours == "relation" or all(contains_words(str(row[prompt]), row[place]) for _, row in rows)):
        return replace(table, rows=rows, notes=[*table.notes, f"rows that have the {ours} above them: {empty:,}"])
    return replace(table, notes=[*table.notes, f"rows without a {ours}: {empty:,}"])


#: What parts the right answers of one cell, if it is in most of a column's.
_SIGNS = ("|", ";", " / ")
#: What is doubtful about answers -> how such an answer is written.
_DOUBTS = {
    "are 0 and 1": r"[01](\.0)?|true|false",
    "are single letters or digits": r"\(?[a-j\d][).:]?",
    "are ids": r"<?[a-z]+:\S+|/\w+/\S+|:?[qp]\d+",
    # A full stop after a single letter is that of an abbreviation.
    "have signs around them": r"""["'“”„‘‚«‹`*_<].+|.+["'”“’»›`*_>,;:!?…]|.+\w\w\.|\(.+\)"""
    r"""|.+[\[(]\w{1,3}[\])]|\[\w+\].+|(\(?([a-j]|\d\d?)\)|[a-j]:\s|\d\d?[.:]\s|[-*•]\s)\s*\w.*""",
}


def _each_answer(table: Table, columns: Mapping[str, int]) -> Table:
    """The table with a row for each right answer, and what is doubtful about the answers in its notes."""
    place, notes = columns.get("object", 0), list(table.notes)
    # HTML's entities end in a semicolon.
    texts = [re.sub(r"&#?\w+;", "", text) for text in table.filled(place)]
    parting = next((sign for sign in _SIGNS if 2 * sum(sign in text for text in texts) > len(texts)), "")
    rows = [
        (number, [*cells[:place], answer, *cells[place + 1 :]])
        for number, cells in table.rows
        for answer in right_answers(cells[place], parting or "\n")
    ]
    answers = [text.strip() for text in replace(table, rows=rows).filled(place)]
    if len(rows) > len(table.rows):
        listed = f"{len(rows):,} right answers of {len(table.rows):,} questions"
        notes.append(f"{listed}, each a fact (report right_any: a question is right if any of them comes first)")
    elif held := {sign.strip(): n for sign in (*_SIGNS, ", ") if (n := sum(sign in one for one in answers))}:
        listed = ", ".join(f"{n:,} with {sign!r}" for sign, n in held.items())
        notes.append(f"answers that are read as one: {listed}")
    (commonest, most), *_ = Counter(map(str.lower, answers)).most_common(1) or [("", 0)]
    # Half of the answers may well be equal, three quarters hardly.
    equal = {"are equal": re.escape(commonest)} if len(answers) > 3 and 4 * most >= 3 * len(answers) else {}
    doubtful = {
        why: [one for one in answers if re.fullmatch(f"(?i:{how})", one)] for why, how in (equal | _DOUBTS).items()
    }
    why, found = max(doubtful.items(), key=lambda item: len(item[1]))
    if answers and 2 * len(found) >= len(answers):
        which = f"{len(found):,} of {len(answers):,} ({in_short(found[0])})"
        notes.append(f"answers that {why}: {which}; if another column has them, call it object")
    return replace(table, rows=rows, notes=notes)


def _is_open(fact: Fact) -> bool:
    """Whether a prompt has a place for its subject, or a name in brackets where its subject could be."""
    if _FORMS.search(fact.prompt) or ("[X]" in fact.template and _PLACE.search(fact.template)):
        return True
    if not fact.subject:
        return bool(_SUBJECT.search(fact.prompt) or _PLACE.search(fact.prompt))
    return _NAMED.search(fact.prompt.replace(MASK, "")) is not None and not contains_words(fact.prompt, fact.subject)


def _fact(row: Mapping[str, str], probe_set: str) -> Fact:
    cells = {column: row.get(column, "").strip() for column in COLUMNS}
    cells["object"] = "" if cells["object"].lower() in _EMPTY else cells["object"]
    subject = cells["subject"]
    template = _template(cells["prompt"], subject)
    prompt = template.replace("[X]", subject or "[X]")
    has_slots = subject and template.count("[X]") == template.count(MASK) == 1
    template = template.replace(MASK, "[Y]") if has_slots else prompt
    return Fact(probe_set, label_of(cells["relation"]) or NO_RELATION, subject, cells["object"], template, prompt)


def read_facts(
    name_or_path: str | Path,
    ours: dict[str, Relation],
    template_set: str | None = None,
    shipped: Path = FACTS_FOLDER,
    own_name: str | None = None,
) -> list[FactSet]:
    """Facts by one of ``NAMES``, a folder in LAMA's layout or a file of own facts; ``./name`` is always a folder.

    Template set None is ``default`` for shipped facts and as in ``read_lama`` for a folder. Sets without templates have
    only the prompts they come with. ``own_name`` None names own facts after their file.
    """
    if not str(name_or_path).strip():
        raise FactsError(
            f"got the facts {name_or_path!r}; expected one of {', '.join(SOURCES)}, a folder or a file of own facts"
        )
    path = Path(name_or_path).expanduser()
    own = is_own_file(name_or_path)
    if own_name is not None and not own:
        raise FactsError(
            f"got the name {own_name!r} for {str(name_or_path)!r}; only a file of own facts ({' or '.join(SUFFIXES)})"
            " gets one"
        )
    if name_or_path in FETCHED:
        return [_read_bear(str(name_or_path), template_set or "default")]
    if name_or_path in SOURCES:
        if shipped == FACTS_FOLDER and not has_data():
            raise FactsError(where_data_are(f"the set of facts {name_or_path}"))
        names = ONE_WORD if name_or_path == "all" else (str(name_or_path),)
        return _read_shipped(names, ours, template_set or "default", shipped)
    if path.is_dir():
        return read_lama(path, ours, template_set)
    if own:
        return [read_own_facts(path, own_probe_set(path, own_name))]
    raise FactsError(
        f"no facts called {str(name_or_path)!r}; expected one of {', '.join(SOURCES)}, "
        f"a folder in LAMA's layout or a file of own facts ({' or '.join(SUFFIXES)})"
    )


@cache
def shipped_sizes() -> dict[str, int]:
    """Shipped probe set -> number of its facts."""
    sets = (one for names in ("all", PHRASES) for one in read_facts(names, shipped_relations()))
    return {one.probe_set: len(one.facts) for one in sets}


def is_own_file(name_or_path: str | Path) -> bool:
    """Whether this names a file of own facts, which need not exist if it ends in one of ``SUFFIXES``."""
    path = Path(name_or_path).expanduser()
    return name_or_path not in SOURCES and (path.is_file() or (path.suffix.lower() in SUFFIXES and not path.is_dir()))


def _read_shipped(names: tuple[str, ...], ours: dict[str, Relation], template_set: str, folder: Path) -> list[FactSet]:
    asked = [one for one in DECLARED if one.name in names]
    sets: list[FactSet] = []
    if any(one.reader == "lama" for one in asked):
        sets += [facts for facts in read_lama(folder / "lama", ours, template_set) if facts.probe_set in names]
    templates = {name: relation.templates for name, relation in ours.items()}
    for one in asked:
        if one.reader == "clozes":
            sets.append(_read_clozes(folder / one.source, one.name))
        elif one.reader == "triples" and (paths := sorted((folder / one.source).glob("*.jsonl"))):
            sets.append(read_templated(paths, templates, template_set, one.name))
    if missing := set(names) - {facts.probe_set for facts in sets}:
        raise FactsError(f"{folder} lacks {sorted(missing)}; expected the facts that ship with the project")
    return sets


def _read_clozes(path: Path, name: str) -> FactSet:
    """A shipped file of clozes; a well-known fact has a template, so that another subject can be put into it."""
    found = read_own_facts(path, name)
    if name != EVERYDAY:
        return found
    templates = (fact.prompt.replace(fact.subject, "[X]").replace(MASK, "[Y]") for fact in found.facts)
    made = [
        replace(fact, template=checked(template, f"{path}, {fact.subject}"))
        for fact, template in zip(found.facts, templates, strict=True)
    ]
    return replace(found, facts=tuple(made))


def _read_bear(name: str, template_set: str) -> FactSet:
    """BEAR's folder (Wiland et al. 2024): a file of facts for each relation, and the templates and answers of all.

    A relation's candidates are its whole answer space. Its first template is ``default``, the others ``bear-2``, ...
    """
    folder = cache_folder() / "downloads" / name
    path = folder / "metadata_relations.json"
    if not path.is_file():
        raise FactsError(f"the facts {name} are not fetched yet: no {path}; fetch them: python -m probing fetch {name}")
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
        texts = {key: (relation["templates"], relation["answer_space_labels"]) for key, relation in metadata.items()}
        if not all(isinstance(text, str) for both in texts.values() for some in both for text in some):
            raise ValueError("not all of them are texts")
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise FactsError(
            f"cannot read {path}: {error}; expected BEAR's lists templates and answer_space_labels of each relation"
        ) from error
    templates = {
        relation: {f"bear-{n}" if n > 1 else "default": checked(text, f"{path}, {relation}") for n, text in numbered}
        for relation, (wordings, _) in texts.items()
        if (numbered := list(enumerate(wordings, 1)))
    }
    files = sorted(folder.glob("*.jsonl"))
    if known := sorted({one for file in files for one in templates.get(file.stem, {})}):
        if template_set not in known:
            raise FactsError(f"{name} has no templates {template_set!r}; expected one of {', '.join(known)}")
    else:
        raise FactsError(f"{folder} holds no facts of a relation in {path.name}; expected files such as P36.jsonl")
    found = read_templated(files, templates, template_set, name)
    cleaned = {
        relation: [without_controls(text).strip() for text in answers] for relation, (_, answers) in texts.items()
    }
    spaces = {relation: tuple(dict.fromkeys(filter(None, answers))) for relation, answers in cleaned.items()}
    again = [relation for relation, answers in cleaned.items() for _ in range(len(answers) - len(spaces[relation]))]
    said = "; ".join([found.said] * bool(found.said) + [counted("answers named twice or empty", again)] * bool(again))
    return replace(found, said=said, answer_spaces={file.stem: spaces[file.stem] for file in files})
