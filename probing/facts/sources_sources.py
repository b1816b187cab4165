"""The one way to read facts: a name that ships with the project, a folder in LAMA's layout, or a user's own file."""

from pathlib import Path

from probing.facts.fact import FactSet
from probing.facts.fact_templates import Relation
from probing.facts.lama import read_lama
from probing.facts.sources import SUFFIXES, own_probe_set, read_own_facts
from probing.kernel.errors import FactsError
from probing.kernel.files import FACTS_FOLDER
from probing.kernel.registry import has_data, where_data_are

#: Shipped sets with templates, read from ``lama/``, and without, each read from its own file.
_TEMPLATED = ("trex", "google_re")
_CLOZES = ("common_sense", "questions")
SHIPPED = (*_TEMPLATED, *_CLOZES)
#: What a name may be: one set, or all of them.
NAMES = (*SHIPPED, "all")


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
            f"got the facts {name_or_path!r}; expected one of {', '.join(NAMES)}, a folder or a file of own facts"
        )
    path = Path(name_or_path).expanduser()
    own = is_own_file(name_or_path)
    if own_name is not None and not own:
        raise FactsError(
            f"got the name {own_name!r} for {str(name_or_path)!r}; only a file of own facts ({' or '.join(SUFFIXES)})"
            " gets one"
        )
    if name_or_path in NAMES:
        if shipped == FACTS_FOLDER and not has_data():
            raise FactsError(where_data_are(f"the set of facts {name_or_path}"))
        names = SHIPPED if name_or_path == "all" else (str(name_or_path),)
        return _read_shipped(names, ours, template_set or "default", shipped)
    if path.is_dir():
        return read_lama(path, ours, template_set)
    if own:
        return [read_own_facts(path, own_probe_set(path, own_name))]
    raise FactsError(
        f"no facts called {str(name_or_path)!r}; expected one of {', '.join(NAMES)}, "
        f"a folder in LAMA's layout or a file of own facts ({' or '.join(SUFFIXES)})"
    )


def is_own_file(name_or_path: str | Path) -> bool:
    """Whether this names a file of own facts, which need not exist if it ends in one of ``SUFFIXES``."""
    path = Path(name_or_path).expanduser()
    return name_or_path not in NAMES and (path.is_file() or (path.suffix.lower() in SUFFIXES and not path.is_dir()))


def _read_shipped(names: tuple[str, ...], ours: dict[str, Relation], template_set: str, folder: Path) -> list[FactSet]:
    sets: list[FactSet] = []
    if any(name in _TEMPLATED for name in names):
        sets += [facts for facts in read_lama(folder / "lama", ours, template_set) if facts.probe_set in names]
    sets += [read_own_facts(folder / f"{name}.jsonl", name) for name in _CLOZES if name in names]
    if missing := set(names) - {facts.probe_set for facts in sets}:
        raise FactsError(f"{folder} lacks {sorted(missing)}; expected the facts that ship with the project")
    return sets
