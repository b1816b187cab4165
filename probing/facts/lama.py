"""Readers of LAMA's own files (Petroni et al. 2019); any part of the folder may be missing."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from probing.kernel.errors import FactsError
from probing.kernel.fact import (
    DECLARED,
    DUPLICATE,
    JUDGED_WRONG,
    MALFORMED,
    MASK,
    Fact,
    FactSet,
    Relation,
    checked,
    fill,
    right_answers,
    select,
)
from probing.kernel.text import (
    counted,
    json_object,
    numbered_lines,
    refuse_half_characters,
    sorted_out,
    without_controls,
)

#: Part -> LAMA's name of its folder; others write it in other case and with other signs ("T-REx", "SQUAD", "GoogleRE").
FOLDERS = {one.name: one.source for one in DECLARED if one.reader == "lama"}
#: Files of a relation's folder, as AutoPrompt and KAMEL have them.
_SPLITS = ("train", "dev", "valid", "val", "validation", "test")
T = TypeVar("T")
#: Relation -> template set -> template.
Templates = dict[str, dict[str, str]]


def json_lines(path: Path) -> Iterator[tuple[int, dict]]:
    """Line number and object of every line that is not blank."""
    for number, line in _lines(path):
        try:
            yield number, json_object(line)
        except ValueError as error:
            raise FactsError(f"{path}, line {number}: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in numbered_lines(path, FactsError) if line.strip())


def _need(row: dict, key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key!r} is {value!r}, expected text; keys are {sorted(row)}")
    refuse_half_characters(value, repr(key), FactsError)
    return without_controls(value).strip()


def _part(folder: Path) -> str | None:
    """The part that a folder is called after; None if it is none of LAMA's."""
    plain = re.sub(r"[\W_]", "", folder.name).casefold()
    return next((part for part, name in FOLDERS.items() if plain == name.replace("_", "").casefold()), None)


def subfolder(root: Path, probe_set: str) -> Path | None:
    """The folder of one probe set inside a LAMA folder, or None if that part is missing."""
    return next((path for path in sorted(root.iterdir()) if path.is_dir() and _part(path) == probe_set), None)


def folder_of_parts(root: Path) -> Path | None:
    """The folder that has LAMA's parts: ``root`` or one in it, at most two levels down; None if there is none."""
    for level in ("*", "*/*", "*/*/*"):
        if folders := sorted({path.parent for path in root.glob(level) if path.is_dir() and _part(path)}):
            if len(folders) > 1:
                raise FactsError(
                    f"{root} has LAMA's parts in several folders; expected one of {', '.join(map(str, folders))}"
                )
            return folders[0]
    if _part(root):
        raise FactsError(f"{root} is one part of LAMA; expected the folder that has the parts, {root.parent}")
    return None


def folder_relations(root: Path) -> dict[str, Relation]:
    """The relations of the ``relations.jsonl`` beside a folder's parts; none if it has no such file."""
    folder = folder_of_parts(root)
    return read_lama_relations(folder / "relations.jsonl") if folder and (folder / "relations.jsonl").is_file() else {}


def read_lama_relations(path: Path) -> dict[str, Relation]:
    """Reads a LAMA folder's own ``relations.jsonl``, by its lines into the template sets ``lama``, ``lama-2``, ...

    LAMA writes a space before the full stop; it is removed. BERT's tokenizers give the same tokens for both, but
    RoBERTa's does not, so its ranks are not those of LAMA's own prompts (docs/facts.md).
    """
    relations: dict[str, Relation] = {}
    for number, row in json_lines(path):
        name, where = row.get("relation"), f"{path}, line {number}"
        if not isinstance(name, str) or "template" not in row:
            expected = (
                'a line such as {"relation": "P19", "template": "[X] was born in [Y] ."} for each template of each'
                " relation"
            )
            raise FactsError(f"{where}: got the keys {', '.join(row)}; expected {expected}")
        template = re.sub(r" +([.?!])$", r"\1", checked(row["template"], where).strip())
        relation = relations.setdefault(name, Relation(name, "trex", row.get("label", name), row.get("type", "")))
        if template not in relation.templates.values():
            relation.templates[f"lama-{len(relation.templates) + 1}" if relation.templates else "lama"] = template
    return relations


def _files(folder: Path) -> list[Path]:
    """The files of facts of a part, in its folder or below; those that end in ``.json`` only if there are no others."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    lines = [path for path in inside if path.name.lower().endswith((".jsonl", ".jsonl.gz"))]
    return lines or [path for path in inside if path.suffix.lower() == ".json"]


def _named(path: Path) -> Path:
    """The file that is called after its relation, or its folder, if the file is called as a part of a data set."""
    is_split = path.name.split(".")[0].lower() in _SPLITS and not _part(path.parent)
    return path.parent if is_split else path


def _relation(path: Path) -> str:
    return _named(path).name.split(".")[0].removesuffix("_test")


def _not_read(folder: Path, read: set[Path]) -> Iterator[Path]:
    """Files, and folders without any file that was read."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and any(path in file.parents for file in read):
            yield from _not_read(path, read)
        elif path not in read and not path.name.startswith("."):
            yield path


def read_lama(root: Path, ours: dict[str, Relation], template_set: str | None = None) -> list[FactSet]:
    """Reads every part that a folder in LAMA's layout has; ``ours`` are for template sets that it lacks.

    Template set None takes the folder's own (``lama``) if it has them, else ``default``.
    """
    if not root.is_dir():
        raise FactsError(f"no folder {root}; expected a folder in LAMA's layout")
    folder = folder_of_parts(root)
    if folder is None:
        files = (path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
        found = sorted(str(path.relative_to(root)) for path in files)
        got = f"got {', '.join(found[:3])}{', ...' * (len(found) > 3)}; " if found else ""
        raise FactsError(
            f"{root} holds none of LAMA's parts; {got}expected one of {', '.join(FOLDERS.values())}, or name one file"
            " (CSV, JSON or Parquet) instead of its folder"
        )
    templates = {name: dict(relation.templates) for name, relation in ours.items()}
    for name, relation in folder_relations(root).items():
        templates.setdefault(name, {}).update(relation.templates)
    inside = [inner for inner in sorted(folder.iterdir()) if inner.is_dir()]
    paths = {part: [path for inner in inside if _part(inner) == part for path in _files(inner)] for part in FOLDERS}
    places = defaultdict[str, set[str]](set)
    for path in paths["trex"]:
        places[_relation(path)].add(str(_named(path).parent.relative_to(folder)))
    if name := next((name for name, found in places.items() if len(found) > 1), ""):
        raise FactsError(
            f"{folder} has the relation {name} in several folders ({', '.join(sorted(places[name]))}); expected each"
            " relation once, in the language of its templates: take the other folders out"
        )
    # Of relations with unequal numbers of templates, some lack the later sets.
    having = [path for path in paths["trex"] if template_set in templates.get(_relation(path), {})]
    paths["trex"] = having or paths["trex"]
    fact_sets = []
    if paths["trex"]:
        fact_sets.append(read_templated(paths["trex"], templates, template_set))
    if paths["google_re"]:
        fact_sets.append(_read_google_re(paths["google_re"], templates, template_set))
    fact_sets += [_read_masked_sentences(paths[part], part) for part in ("conceptnet", "squad") if paths[part]]
    if not any(part.n_read for part in fact_sets):
        raise FactsError(f"{root} has LAMA's folders but no fact in them; expected .jsonl files that are not empty")
    read = {path for part in paths.values() for path in part}
    ignored = [str(path.relative_to(root)) for path in _not_read(root, read | {folder / "relations.jsonl"})]
    ignored += [f"{path.relative_to(root)} (empty)" for path in sorted(read) if not path.stat().st_size]
    sets = {name for path in paths["trex"] for name in templates[_relation(path)] if name.startswith("lama-")}
    ignored += [f"the templates {name} of relations.jsonl" for name in sorted(sets - {template_set})]
    if ignored:
        first = fact_sets[0]
        notes = [first.said] * bool(first.said)
        fact_sets[0] = replace(
            first, said="; ".join([*notes, counted("files, folders or template sets not read", ignored)])
        )
    return fact_sets


def _chosen(paths: Sequence[Path], templates: Templates, template_set: str | None) -> dict[Path, tuple[str, str]]:
    """File -> template of its relation and name of the template's set; raises a ``FactsError`` if one has none."""
    sets = (template_set,) if template_set else ("lama", "default")
    available = {path: templates.get(_relation(path), {}) for path in paths}
    if lacking := [_relation(path) for path in paths if available[path].keys().isdisjoint(sets)]:
        example = f'{{"relation": "{lacking[0]}", "template": "[X] ... [Y] ."}}'
        raise FactsError(
            f"no template in the set {' or '.join(sets)} for the relations {', '.join(lacking)}; {lacking[0]} has the"
            f" sets {sorted(templates.get(lacking[0], {}))}; write a line such as {example} for each into"
            " relations.jsonl"
        )
    return {path: next((available[path][name], name) for name in sets if name in available[path]) for path in paths}


def _made(paths: Iterable[Path], make: Callable[[Path, dict], T]) -> tuple[list[T], list[str]]:
    """What is made of the rows of files, and what is wrong with those that are malformed."""
    made, wrong = list[T](), list[str]()
    for path in paths:
        rows = ((number, (path, line)) for number, line in _lines(path))
        good, more = sorted_out(rows, lambda row: make(row[0], json_object(row[1])), path, FactsError)
        made += [value for _, value in good]
        wrong += [f"{path.name}, {reason}" for reason in more]
    return made, wrong


def _set(
    probe_set: str, facts: Iterable[Fact], left_out: Counter[str], wrong: Sequence[str], template_set: str = "default"
) -> FactSet:
    fact_set = select(probe_set, facts, left_out + Counter({MALFORMED: len(wrong)}), template_set)
    return replace(fact_set, said=counted("malformed rows left out", wrong)) if wrong else fact_set


def _templated(path: Path, row: dict, probe_set: str, template: str) -> list[Fact]:
    """A fact for each right answer, of which KAMEL lists several."""
    subject, relation = _need(row, "sub_label"), _relation(path)
    answers = [_need({**row, "obj_label": answer}, "obj_label") for answer in right_answers(row.get("obj_label"))]
    return [Fact(probe_set, relation, subject, answer, template, fill(template, subject)) for answer in answers]


def read_templated(
    paths: Sequence[Path], templates: Templates, template_set: str | None, probe_set: str = "trex"
) -> FactSet:
    """The facts of files of one relation each, named for it, in the relation's words."""
    chosen = _chosen(paths, templates, template_set)
    rows, wrong = _made(paths, lambda path, row: _templated(path, row, probe_set, chosen[path][0]))
    return _set(
        probe_set, chain.from_iterable(rows), Counter(), wrong, _set_name({name for _, name in chosen.values()})
    )


def _set_name(sets: set[str]) -> str:
    return sets.pop() if len(sets) == 1 else "+".join(sorted(sets)) or "default"


def _read_google_re(paths: Sequence[Path], templates: Templates, template_set: str | None) -> FactSet:
    # LAMA's relations.jsonl has no Google-RE, so a folder's own set means our default here.
    chosen = _chosen(paths, templates, None if template_set and template_set.split("-")[0] == "lama" else template_set)

    def judged(path: Path, row: dict) -> list[Fact]:
        votes = _votes(row)
        return [] if votes["no"] > votes["yes"] else _templated(path, row, "google_re", chosen[path][0])

    read, wrong = _made(paths, judged)
    facts = [fact for some in read for fact in some]
    left_out = Counter({JUDGED_WRONG: read.count([])})
    return _set("google_re", facts, left_out, wrong, _set_name({name for _, name in chosen.values()}))


def _votes(row: dict) -> Counter:
    votes = row.get("judgments") or []
    if not isinstance(votes, list) or not all(isinstance(vote, dict) for vote in votes):
        raise ValueError(f"judgments is {votes!r}, expected a list of objects with judgment")
    return Counter(str(vote.get("judgment")) for vote in votes)


def _wordings(row: dict, probe_set: str) -> list[Fact]:
    """The wordings of one fact: several sentences are one text if one has the mask."""
    sentences = row.get("masked_sentences")
    if not isinstance(sentences, list) or not all(isinstance(text, str) for text in sentences):
        raise ValueError(f"masked_sentences is {sentences!r}, expected a list of texts")
    refuse_half_characters(" ".join(sentences), "masked_sentences", FactsError)
    answer, pred = _need(row, "obj_label"), str(row.get("pred") or "")
    subject = str(row.get("sub_label") or row.get("sub") or "").strip()
    # LAMA's SQuAD writes the set's own name for every subject, so its facts have none.
    subject = "" if subject.casefold() == probe_set else without_controls(subject)
    texts = [without_controls(text).strip() for text in sentences]
    masked = list(dict.fromkeys(text for text in texts if MASK in text))
    return [
        Fact(probe_set, probe_set, subject, answer, text, text, pred)
        for text in (masked if len(masked) > 1 else [" ".join(texts)])
    ]


def _read_masked_sentences(paths: Sequence[Path], probe_set: str) -> FactSet:
    rows, wrong = _made(paths, lambda _, row: _wordings(row, probe_set))
    # By their place in the row, so that each place has a fact once, as LAMA counts.
    sets = [
        select(probe_set, [row[place] for row in rows if place < len(row)])
        for place in range(max(map(len, rows), default=0))
    ]
    facts = {fact.fact_id: fact for fact_set in sets for fact in fact_set.facts}
    left_out = sum((Counter(fact_set.left_out) for fact_set in sets), Counter({MALFORMED: len(wrong)}))
    left_out += Counter({DUPLICATE: sum(len(fact_set.facts) for fact_set in sets) - len(facts)})
    dropped = tuple(entry for fact_set in sets for entry in fact_set.dropped)
    n_read = sum(fact_set.n_read for fact_set in sets) + len(wrong)
    note = counted("malformed rows left out", wrong) if wrong else ""
    return FactSet(probe_set, tuple(facts.values()), n_read, dict(+left_out), dropped=dropped, said=note)
