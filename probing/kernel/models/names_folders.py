"""The user's own models that ``PROBING_MODELS`` names: folders of models, or folders that contain them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

#: Of one named folder, as many models are listed.
MOST = 200
_CHECKPOINT = re.compile(r"checkpoint-\d+")


@dataclass(frozen=True)
class NamedFolder:
    """A folder that ``PROBING_MODELS`` names, with the folders of models: itself, or those in it."""

    path: Path
    models: tuple[Path, ...]

    @property
    def said(self) -> str:
        """What was found in it, in words."""
        if not self.path.is_dir():
            return "no such folder"
        if self.models == (self.path,):
            return "a model"
        if not self.models:
            return "no model: neither it nor a folder in it has a config.json"
        names = [str(model.relative_to(self.path)) for model in self.models]
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        return f"{len(names):,} {'model' if len(names) == 1 else 'models'}: {', '.join(names[:5])}{more}"


def named_folders() -> list[NamedFolder]:
    """The folders that ``PROBING_MODELS`` names, separated like ``PATH``, each with the models in it."""
    named = [Path(text).expanduser() for text in os.environ.get("PROBING_MODELS", "").split(os.pathsep) if text]
    return [NamedFolder(path, tuple(_models_in(path)[:MOST])) for path in named]


def own_model_folders() -> list[Path]:
    """The folders of models that ``PROBING_MODELS`` names or that are in a folder that it names."""
    return [model for folder in named_folders() for model in folder.models]


def _models_in(folder: Path) -> list[Path]:
    """The folder itself if it is a model; else the models in it, and the checkpoints of the trainings in it."""
    if _is_model(folder):
        return [folder]
    models = []
    for inside in _folders_in(folder):
        if _is_model(inside):
            models.append(inside)
        else:
            models += [path for path in _folders_in(inside) if _CHECKPOINT.fullmatch(path.name) and _is_model(path)]
    return models


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file()


def _folders_in(folder: Path) -> list[Path]:
    """Its folders by name, numbers by their size; none if it cannot be read."""
    try:
        folders = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    except OSError:
        return []
    return sorted(
        folders,
        key=lambda path: [
            (part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", path.name)
        ],
    )
