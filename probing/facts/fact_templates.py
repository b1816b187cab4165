"""Relations: label, cardinality and the templates that turn their triples into prompts."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from probing.kernel.errors import FactsError
from probing.kernel.files import FACTS_FOLDER
from probing.kernel.registry import has_data


@dataclass(frozen=True)
class Relation:
    """A relation of a probe set."""

    name: str
    probe_set: str
    #: What a reader sees, "place of birth".
    label: str
    #: ``1-1``, ``N-1``, ``N-M`` or ``""`` if it is unknown.
    cardinality: str = ""
    #: Template set -> template with one ``[X]`` and one ``[Y]``.
    templates: dict[str, str] = field(default_factory=dict)
    #: Templates that state triples in a model's training text; never used for probing.
    training: tuple[str, ...] = ()


def checked(template: object, where: str) -> str:
    """The template, which has exactly one ``[X]`` and ``[Y]``; else a ``FactsError`` names ``where`` it is."""
    if not isinstance(template, str):
        raise FactsError(f"{where}: template is {template!r}, expected text with one [X] and one [Y]")
    if template.count("[X]") != 1 or template.count("[Y]") != 1:
        raise FactsError(f"{where}: template {template!r} needs exactly one [X] and exactly one [Y]")
    return template


def read_relations(path: Path) -> dict[str, Relation]:
    """Reads the project's own ``relations.toml``."""
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
        templates = {key: checked(text, f"{path}, {name}, {key}") for key, text in table.items() if key not in fixed}
        training = tuple(checked(text, f"{path}, {name}, training") for text in table.get("training", ()))
        relations[name] = Relation(
            name, table["probe_set"], table.get("label", name), table.get("cardinality", ""), templates, training
        )
    return relations


def shipped_relations() -> dict[str, Relation]:
    """The relations that ship with the project; none if the package is installed without the repository."""
    if not has_data():
        return {}
    return read_relations(FACTS_FOLDER / "relations.toml")
