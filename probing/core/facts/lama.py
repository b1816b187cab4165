"""Readers of LAMA's own files (Petroni et al. 2019); any part of the folder may be missing."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from probing.core.characters import refuse_half_characters, without_controls
from probing.core.errors import FactsError
from probing.core.facts.fact import DUPLICATE, JUDGED_WRONG, MASK, PROBE_SETS, Fact, FactSet, fill, select
from probing.core.facts.templates import Relation, checked
from probing.core.files.data_lines import text_of, warn_not_used
from probing.core.files.tables import json_objects

#: Part -> LAMA's name of its folder; others write it in other case and with other signs ("T-REx", "SQUAD", "GoogleRE").
FOLDERS = {"trex": "TREx", "google_re": "Google_RE", "conceptnet": "ConceptNet", "squad": "Squad"}
#: Relation -> template set -> template.
_Templates = dict[str, dict[str, str]]


def json_lines(path: Path) -> Iterator[tuple[int, dict]]:
    """Line number and object of every non-empty line.

    Raises:
        FactsError: naming file and line, if the file cannot be read or a line is not a JSON object.
    """
    text = without_controls(text_of(path, FactsError), json=True)
    halves = "\\ud" in text.lower()
    for number, row in json_objects(text, str(path), FactsError):
        if halves:
            refuse_half_characters(json.dumps(row, ensure_ascii=False), f"{path}, line {number}", FactsError)
        yield number, row


def _need(row: dict, key: str, path: Path, number: int) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise FactsError(f"{path}, line {number}: {key!r} is {value!r}, expected text; keys are {sorted(row)}")
    return value.strip()


def _part(folder: Path) -> str | None:
    """The part that a folder is called after; None if it is none of LAMA's."""
    plain = re.sub(r"[\W_]", "", folder.name).casefold()
    return next((part for part, name in FOLDERS.items() if plain == name.replace("_", "").casefold()), None)


def subfolder(root: Path, probe_set: str) -> Path | None:
    """The folder of one probe set inside a LAMA folder, or None if that part is missing."""
    return next((path for path in sorted(root.iterdir()) if path.is_dir() and _part(path) == probe_set), None)


def folder_of_parts(root: Path) -> Path | None:
    """The folder that has LAMA's parts: ``root`` or one in it, at most two levels down; None if there is none.

    Raises:
        FactsError: if several have, or ``root`` is a part itself.
    """
    for level in ("*", "*/*", "*/*/*"):
        if found := sorted({path.parent for path in root.glob(level) if path.is_dir() and _part(path)}):
            if len(found) > 1:
                raise FactsError(f"{root} has LAMA's parts in several folders; expected one of {', '.join(map(str, found))}")
            return found[0]
    if _part(root):
        raise FactsError(f"{root} is one part of LAMA; expected the folder that has the parts, {root.parent}")
    return None


def folder_relations(root: Path) -> dict[str, Relation]:
    """The relations of the ``relations.jsonl`` beside a folder's parts; none if it has no such file."""
    folder = folder_of_parts(root)
    return read_lama_relations(folder / "relations.jsonl") if folder and (folder / "relations.jsonl").is_file() else {}


def read_lama_relations(path: Path) -> dict[str, Relation]:
    """Reads a LAMA folder's own ``relations.jsonl``; its templates form the template set ``lama``.

    Further templates of a relation form the sets ``lama-2``, ``lama-3``, ... in the order of the lines.

    LAMA writes a space before the full stop; it is removed. BERT's tokenizers give the same tokens for both, but RoBERTa's does not, so
    its ranks are not those of LAMA's own prompts (docs/facts.md).

    Raises:
        FactsError: naming file and line, if a line is no JSON object with ``relation`` and ``template``.
    """
    relations: dict[str, Relation] = {}
    for number, row in json_lines(path):
        name, where = row.get("relation"), f"{path}, line {number}"
        if not isinstance(name, str) or "template" not in row:
            expected = 'a line such as {"relation": "P19", "template": "[X] was born in [Y] ."} for each template of each relation'
            raise FactsError(f"{where}: got the keys {', '.join(row)}; expected {expected}")
        template = re.sub(r" +([.?!])$", r"\1", checked(row["template"], where).strip())
        found = relations.setdefault(name, Relation(name, "trex", row.get("label", name), row.get("type", "")))
        if template not in found.templates.values():
            found.templates[f"lama-{len(found.templates) + 1}" if found.templates else "lama"] = template
    return relations


def _files(folder: Path) -> list[Path]:
    """The files of facts of a part, in its folder or below; those that end in ``.json`` only if there are no others."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    lines = [path for path in inside if path.name.lower().endswith((".jsonl", ".jsonl.gz"))]
    return lines or [path for path in inside if path.suffix.lower() == ".json"]


def _relation(path: Path) -> str:
    return path.name.split(".")[0].removesuffix("_test")


def _not_read(folder: Path, read: set[Path]) -> Iterator[Path]:
    """Files, and folders without any file that was read."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and any(path in one.parents for one in read):
            yield from _not_read(path, read)
        elif path not in read and not path.name.startswith("."):
            yield path


def read_lama(root: Path, ours: dict[str, Relation], template_set: str | None = None) -> list[FactSet]:
    """Reads every part that a LAMA folder has.

    Args:
        root: folder in LAMA's layout: ``TREx/P*.jsonl``, ``Google_RE/*.jsonl``, ``ConceptNet/*.jsonl``,
            ``Squad/*.jsonl`` and ``relations.jsonl``.
        ours: the project's own relations, for the template sets that the folder does not have itself.
        template_set: name of a template set; None takes the folder's own templates (``lama``) if it has them,
            else ``default``.

    Raises:
        FactsError: if there is no part, or a file is malformed.
    """
    if not root.is_dir():
        raise FactsError(f"no folder {root}; expected a folder in LAMA's layout")
    folder = folder_of_parts(root)
    if folder is None:
        raise FactsError(f"{root} holds none of LAMA's parts; expected one of {', '.join(FOLDERS.values())}")
    templates = {name: dict(relation.templates) for name, relation in ours.items()}
    for name, relation in folder_relations(root).items():
        templates.setdefault(name, {}).update(relation.templates)
    inside = [one for one in sorted(folder.iterdir()) if one.is_dir()]
    paths = {part: [path for one in inside if _part(one) == part for path in _files(one)] for part in FOLDERS}
    # Of relations with unequal numbers of templates, some lack the later sets.
    having = [path for path in paths["trex"] if template_set in templates.get(_relation(path), {})]
    paths["trex"] = having or paths["trex"]
    found = []
    if paths["trex"]:
        found.append(_read_trex(paths["trex"], templates, template_set))
    if paths["google_re"]:
        found.append(_read_google_re(paths["google_re"], templates, template_set))
    found += [_read_masked_sentences(paths[part], part) for part in ("conceptnet", "squad") if paths[part]]
    if not any(part.n_read for part in found):
        raise FactsError(f"{root} has LAMA's folders but no fact in them; expected .jsonl files that are not empty")
    read = {path for part in paths.values() for path in part}
    ignored = [str(path.relative_to(root)) for path in _not_read(root, read | {folder / "relations.jsonl"})]
    ignored += [f"{path.relative_to(root)} (empty)" for path in sorted(read) if not path.stat().st_size]
    sets = {name for path in paths["trex"] for name in templates[_relation(path)] if name.startswith("lama-")}
    ignored += [f"the templates {name} of relations.jsonl" for name in sorted(sets - {template_set})]
    warn_not_used(root, "files, folders or template sets not read", ignored)
    return found


def _chosen(paths: Sequence[Path], templates: _Templates, wanted: str | None) -> dict[Path, tuple[str, str]]:
    """File -> template of its relation and name of the template's set; raises a ``FactsError`` if one has none."""
    sets = (wanted,) if wanted else ("lama", "default")
    available = {path: templates.get(_relation(path), {}) for path in paths}
    if lacking := [_relation(path) for path in paths if available[path].keys().isdisjoint(sets)]:
        example = f'{{"relation": "{lacking[0]}", "template": "[X] ... [Y] ."}}'
        raise FactsError(
            f"no template in the set {' or '.join(sets)} for the relations {', '.join(lacking)}; {lacking[0]} has the sets "
            f"{sorted(templates.get(lacking[0], {}))}; write a line such as {example} for each into relations.jsonl"
        )
    return {path: next((available[path][name], name) for name in sets if name in available[path]) for path in paths}


def _read_trex(paths: Sequence[Path], templates: _Templates, wanted: str | None) -> FactSet:
    facts, chosen = [], _chosen(paths, templates, wanted)
    for path, (template, _) in chosen.items():
        for number, row in json_lines(path):
            subject, answer = _need(row, "sub_label", path, number), _need(row, "obj_label", path, number)
            facts.append(Fact("trex", _relation(path), subject, answer, template, fill(template, subject)))
    return select("trex", facts, template_set=_one_set({name for _, name in chosen.values()}))


def _one_set(sets: set[str]) -> str:
    return sets.pop() if len(sets) == 1 else "+".join(sorted(sets)) or "default"


def _read_google_re(paths: Sequence[Path], templates: _Templates, wanted: str | None) -> FactSet:
    # LAMA's relations.jsonl has no Google-RE, so a folder's own set means our default here.
    facts, chosen = [], _chosen(paths, templates, None if wanted and wanted.split("-")[0] == "lama" else wanted)
    left_out: Counter = Counter()
    for path, (template, _) in chosen.items():
        relation = _relation(path)
        for number, row in json_lines(path):
            votes = _votes(row, path, number)
            if votes["no"] > votes["yes"]:
                left_out[JUDGED_WRONG] += 1
                continue
            subject, answer = _need(row, "sub_label", path, number), _need(row, "obj_label", path, number)
            facts.append(Fact("google_re", relation, subject, answer, template, fill(template, subject)))
    return select("google_re", facts, left_out, _one_set({name for _, name in chosen.values()}))


def _votes(row: dict, path: Path, number: int) -> Counter:
    votes = row.get("judgments") or []
    if not isinstance(votes, list) or not all(isinstance(vote, dict) for vote in votes):
        raise FactsError(f"{path}, line {number}: judgments is {votes!r}, expected a list of objects with judgment")
    return Counter(str(vote.get("judgment")) for vote in votes)


def _read_masked_sentences(paths: Sequence[Path], probe_set: str) -> FactSet:
    # Wordings of one fact by their place in the row, so that each place has a fact once, as LAMA counts.
    wordings: list[list[Fact]] = []
    for path in paths:
        for number, row in json_lines(path):
            sentences = row.get("masked_sentences")
            if not isinstance(sentences, list) or not all(isinstance(text, str) for text in sentences):
                raise FactsError(f"{path}, line {number}: masked_sentences is {sentences!r}, expected a list of texts")
            answer, pred = _need(row, "obj_label", path, number), str(row.get("pred") or "")
            subject = str(row.get("sub_label") or row.get("sub") or "").strip()
            # LAMA's SQuAD writes the set's own name for every subject, so its facts have none.
            subject = "" if subject.casefold() == probe_set else subject
            texts = [text.strip() for text in sentences]
            masked = list(dict.fromkeys(text for text in texts if MASK in text))
            # Several sentences are one text if one has the mask, else wordings of one fact.
            for place, prompt in enumerate(masked if len(masked) > 1 else [" ".join(texts)]):
                wordings += [[]] * (place == len(wordings))
                wordings[place].append(Fact(probe_set, probe_set, subject, answer, prompt, prompt, pred))
    sets = [select(probe_set, facts) for facts in wordings]
    facts = {fact.fact_id: fact for found in sets for fact in found.facts}
    left_out = sum((Counter(found.left_out) for found in sets), Counter())
    left_out += Counter({DUPLICATE: sum(len(found.facts) for found in sets) - len(facts)})
    dropped = tuple(one for found in sets for one in found.dropped)
    n_read = sum(found.n_read for found in sets)
    return FactSet(probe_set, tuple(facts.values()), n_read, dict(left_out), dropped=dropped)


def known_probe_sets() -> list[str]:
    """Names of the probe sets that this module reads."""
    return [name for name in PROBE_SETS if name in FOLDERS]
