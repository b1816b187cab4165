"""Relations: label, cardinality and the templates that turn their triples into prompts."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from probing.core.errors import FactsError
from probing.core.paths import FACTS_FOLDER
from probing.core.registry import has_data


@dataclass(frozen=True)
class Relation:
    """A relation of a probe set.

    Attributes:
        name: ``P19``, ``place_of_birth``, ...
        probe_set: the probe set it belongs to.
        label: what a reader sees, "place of birth".
        cardinality: ``1-1``, ``N-1``, ``N-M`` or ``""`` if it is unknown.
        templates: template set -> template with one ``[X]`` and one ``[Y]``.
        training: templates that state triples in a model's training text; never used for probing.
    """

    name: str
    probe_set: str
    label: str
    cardinality: str = ""
    templates: dict[str, str] = field(default_factory=dict)
    training: tuple[str, ...] = ()


def _check(template: object, where: str) -> str:
    if not isinstance(template, str):
        raise FactsError(f"{where}: template is {template!r}, expected text with one [X] and one [Y]")
    if template.count("[X]") != 1 or template.count("[Y]") != 1:
        raise FactsError(f"{where}: template {template!r} needs exactly one [X] and exactly one [Y]")
    return template


def read_relations(path: Path) -> dict[str, Relation]:
    """Reads the project's own ``relations.toml``.

    Raises:
        FactsError: if the file is missing or a template does not have exactly one ``[X]`` and ``[Y]``.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FactsError(f"no file of relations at {path}; expected relations.toml as in data/facts") from None
    except OSError as error:
        raise FactsError(f"cannot read {path}: {error}; expected relations.toml as in data/facts") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FactsError(f"{path} is not TOML: {error}") from error
    relations = {}
    for name, table in tables.items():
        if not isinstance(table, dict) or not isinstance(table.get("probe_set"), str):
            raise FactsError(f"{path}, {name}: got {table!r}, expected a table with the key probe_set")
        fixed = {"probe_set", "label", "cardinality", "training"}
        templates = {key: _check(text, f"{path}, {name}, {key}") for key, text in table.items() if key not in fixed}
        training = tuple(_check(text, f"{path}, {name}, training") for text in table.get("training", ()))
        relations[name] = Relation(name, table["probe_set"], table.get("label", name), table.get("cardinality", ""), templates, training)
    return relations


def shipped_relations() -> dict[str, Relation]:
    """The relations that ship with the project; none if the package is installed without the repository.

    Raises:
        FactsError: as ``read_relations``.
    """
    if not has_data():
        return {}
    return read_relations(FACTS_FOLDER / "relations.toml")


def read_lama_relations(path: Path) -> dict[str, Relation]:
    """Reads a LAMA folder's own ``relations.jsonl``; its templates form the template set ``lama``.

    LAMA writes a space before the full stop; it is removed. BERT's tokenizers give the same tokens for both, but RoBERTa's does not, so
    its ranks are not those of LAMA's own prompts (docs/facts.md).

    Raises:
        FactsError: naming file and line, if a line is no JSON object with ``relation`` and ``template``.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FactsError(f"cannot read {path}: {error}; expected UTF-8 text with one JSON object per line") from error
    relations = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, template = row["relation"], row["template"]
        except (ValueError, KeyError, TypeError) as error:
            raise FactsError(f"{path}, line {number}: expected JSON with relation and template, got {error!r}") from error
        template = re.sub(r" +([.?!])$", r"\1", _check(template, f"{path}, line {number}").strip())
        relations[name] = Relation(name, "trex", row.get("label", name), row.get("type", ""), {"lama": template})
    return relations
