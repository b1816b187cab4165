"""What is known of a model and its heads by name, without loading it; short names; folders of ``PROBING_MODELS``."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.kernel.errors import ModelError
from probing.kernel.files import cache_folder
from probing.kernel.metric import Metric
from probing.kernel.models.checkpoint import ADAPTER, ModelFiles
from probing.kernel.objectives import CALLED
from probing.kernel.options import spelled
from probing.kernel.provenance import COMMIT
from probing.kernel.recipe import FinetuneRecipe, variant_of
from probing.kernel.registry import ModelEntry, Registry, name_in_files, name_of_model, read_registry

TIED, LOGIT_LENS, FULL, LEAST_SQUARES, TUNED_LENS = "tied", "logit_lens", "full", "least_squares", "tuned_lens"
#: The model of the registry that pages begin with once it, or results of it, are on this machine.
BERT = "bert-base-uncased"


@dataclass(frozen=True)
class HeadKind:
    """A kind of decoding head: what of it is its own, and how it is found; its training is in ``heads.train``."""

    name: str
    #: End of the names of its symbols in figures.
    suffix: str = ""
    #: Whether it is stored in files; the pre-trained head is not.
    stored: bool = True
    #: Whether the vocabulary matrix is its own, not the model's.
    own_vocabulary: bool = False
    #: Whether it starts with an affine map to the last layer, whatever the recipe says.
    mapped: bool = False
    #: Whether that map is all: without steps, seed and random start.
    closed_form: bool = False
    #: Whether it learns from the last layer's states instead of from labels.
    follows: bool = False


#: In the order of menus and lists.
HEAD_KINDS = {
    kind.name: kind
    for kind in (
        HeadKind(TIED),
        HeadKind(LOGIT_LENS, "-open", stored=False),
        HeadKind(FULL, "-dot", own_vocabulary=True),
        HeadKind(LEAST_SQUARES, "-open-dot", mapped=True, closed_form=True),
        HeadKind(TUNED_LENS, "-x", mapped=True, follows=True),
    )
}
HEADS = tuple(HEAD_KINDS)
STORED = tuple(name for name, kind in HEAD_KINDS.items() if kind.stored)

#: Quantities of heads and of their effect on results.
HEAD_METRICS = (
    Metric(
        "head_loss",
        "nats",
        "Mean cross-entropy of the right word pieces at the masked positions of a validation text, by layer and kind of"
        " head. Lower: the head predicts words better from the layer. It is no evidence that the layer knows facts.",
        "heads.files.validation_losses",
        label="validation loss",
        better="lower",
        empty="undefined if the training of the head is not stored",
        source="as masked language modelling; the logit lens is that of nostalgebraist 2020; Belrose et al. 2023 train"
        " the tuned lens by KL divergence and report the divergence",
    ),
    Metric(
        "points_lost",
        "difference of shares",
        "P@k of the base minus that of the fine-tuned model at their last layers, under the same kind of head, over"
        " facts. The same for P@k minus the swapped subject leaves out answers that do not depend on the subject; cues"
        " in the subject's name still count. The choice of the head changes a conclusion if the 95 % intervals of two"
        " kinds of heads do not overlap, and one of them leaves out 0 where the other does not, or on the other side.",
        "facts.report_pairs.joined",
        label="loss from the base",
        ties="as for the two shares",
        empty="undefined without facts; minus the swapped subject undefined if either of the two has no swapped"
        " subject",
    ),
)


def head_order(head: str) -> int:
    """Position of a kind of heads in lists; kinds that are not ours come last."""
    return (*HEADS, head).index(head)


def canonical_head(name: str) -> str:
    """The name of a kind of head: ``logit_lens`` for ``logit-lens``; an unknown name is returned unchanged."""
    canonical = name.replace("-", "_")
    return canonical if canonical in HEADS else name


def canonical_heads(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """``canonical_head`` of each, once; None stays None."""
    return None if names is None else tuple(dict.fromkeys(map(canonical_head, names)))


def listed(kinds: tuple[str, ...] = HEADS) -> str:
    """The kinds as a list in a sentence."""
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"


#: The seed at the end of a name.
_SEED = re.compile(r"-seed-(\d+)$")
#: A name of this many characters is shown whole; a longer one is cut in the middle, less and less until it differs from
#: all others.
LENGTHS = (28, 40, 60)


@dataclass(frozen=True)
class KnownModel:
    """What is known of a model apart from its full name, as results have it."""

    name: str
    base: str = ""
    objective: str = ""
    #: The base of the registry's family that has the model; else the model's own base, or its name.
    family: str = ""
    #: The family's in the registry; families that are not in it come last.
    place: int = 0
    #: Whether it is in the registry or has the name that ``finetune`` gives by itself.
    listed: bool = False
    shipped: bool = False
    #: Whether results of it are part of the repository, and no weights.
    results_only: bool = False
    colour: str = ""

    @property
    def tuned(self) -> bool:
        """Whether it was fine-tuned from another model."""
        return self.base not in ("", self.name)


def known_model(registry: Registry, name: str, base: str = "", objective: str = "") -> KnownModel:
    """A model as the registry describes it, else by ``base`` and ``objective``, as its runs have them."""
    entry = next((model for model in registry.models if model.name == name), None)
    base, objective = (entry.base, entry.objective) if entry else (base, objective)
    named = {name_in_files(f"{base}-{CALLED[objective].name}")} if base and objective in CALLED else set()
    place, family = next(
        (
            (place, candidate.base)
            for place, candidate in enumerate(registry.families)
            if name in (candidate.base, *(member.model for member in candidate.members))
        ),
        (len(registry.families), base or name),
    )
    results_only = name in registry.results_only
    if entry is None and base:
        place = next((place for place, candidate in enumerate(registry.families) if candidate.base == base), place)
    return KnownModel(
        name,
        base,
        objective,
        family,
        place,
        listed=entry is not None or name in named or results_only,
        shipped=entry is not None and entry.shipped,
        results_only=results_only,
        colour=entry.colour if entry else "",
    )


def short_names(models: Iterable[KnownModel]) -> dict[str, str]:
    """Full name -> short name, different for any two; of *all* models of the store, so that a filter renames none.

    A listed fine-tuned model is called by its objective, with its base if fine-tuned models of several families are
    among these, and with its seed if it is a further training of which only results ship. A listed base keeps its name.
    All others keep theirs too, cut in the middle if they are long.
    """
    known = {model.name: model for model in models}
    several = len({model.family for model in known.values() if _by_objective(model)}) > 1
    candidates = {name: _candidates(model, several) for name, model in known.items()}
    chosen = dict.fromkeys(known, 0)
    while clashing := [name for name in _alike(candidates, chosen) if chosen[name] + 1 < len(candidates[name])]:
        for name in clashing:
            chosen[name] += 1
    return {name: candidates[name][place] for name, place in chosen.items()}


def _by_objective(model: KnownModel) -> bool:
    return model.listed and model.tuned and bool(model.objective)


def _candidates(model: KnownModel, several: bool) -> Sequence[str]:
    """Names for a model, the shortest first; the last is its own, which no other model has."""
    if _by_objective(model):
        seed = _SEED.search(model.name) if model.results_only else None
        objective = f"{model.objective}, seed {seed[1]}" if seed else model.objective
        with_base = f"{shortened(model.base, LENGTHS[0])} · {objective}"
        return (with_base, model.name) if several else (objective, with_base, model.name)
    return (model.name,) if model.listed else (*(shortened(model.name, length) for length in LENGTHS), model.name)


def _alike(candidates: dict[str, Sequence[str]], chosen: dict[str, int]) -> list[str]:
    """The models whose chosen name another one has too; capitals make no difference."""
    by_short_name: dict[str, list[str]] = {}
    for name, place in chosen.items():
        by_short_name.setdefault(candidates[name][place].casefold(), []).append(name)
    return [name for names in by_short_name.values() if len(names) > 1 for name in names]


def shortened(name: str, length: int) -> str:
    """At most ``length`` characters, cut in the middle; the number of a checkpoint is kept whole."""
    if len(name) <= length:
        return name
    checkpoint = re.search(r"/checkpoint-\d+$", name)
    tail = max((length - 1) // 2, len(checkpoint.group()) if checkpoint else 0)
    head = max(length - 1 - tail, 1)
    return f"{name[:head]}…{name[-tail:]}"


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
    if is_model(folder):
        return [folder]
    models = []
    for inside in _folders_in(folder):
        if is_model(inside):
            models.append(inside)
        else:
            models += [path for path in _folders_in(inside) if _CHECKPOINT.fullmatch(path.name) and is_model(path)]
    return models


def is_model(folder: Path) -> bool:
    """Whether a folder holds a model, or an adapter of one."""
    return any((folder / name).is_file() for name in ("config.json", ADAPTER))


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


#: What ``finetune`` writes to a model's folder: its base, objective, recipe, losses and scores.
FINETUNING = "finetuning.json"


def finetuning_note(folder: Path) -> dict[str, Any]:
    """The note of ``finetune`` in a model's folder; of an adapter its base; empty if there is none."""
    note = folder / FINETUNING
    if not note.is_file():
        return _adapted(folder)
    try:
        made = json.loads(note.read_text(encoding="utf-8"))
        if not isinstance(made, dict):
            raise TypeError(f"got {type(made).__name__}, expected an object")
        return made
    except (OSError, ValueError, TypeError) as error:
        raise _not_written_by_finetune(note, error) from error


def _adapted(folder: Path) -> dict[str, Any]:
    """The base that an adapter names, as ``finetune`` notes it; empty if there is none."""
    settings = ModelFiles(folder).settings(ADAPTER)
    if not (base := str(settings.get("base_model_name_or_path") or "")):
        return {}
    where, commit = Path(base).expanduser(), settings.get("revision")
    if where.is_dir() or base.startswith((".", "/", "~")) or base.count("/") > 1:
        return {"base": name_of_model(where), "objective": "unknown", "base_folder": str(where.absolute())}
    named = (
        {"base": find_entry(base, revision=commit).name, "base_source": f"{base}@{commit}"}
        if commit
        else {"base": base}
    )
    return {"objective": "unknown"} | named


def variant_and_seed(folder: Path) -> tuple[str, int | None]:
    """A fine-tuned model's variant (``kernel.recipe.variant_of``) and seed; ``""`` and None without a recipe."""
    recipe = finetuning_note(folder).get("recipe")
    if not recipe:
        return "", None
    try:
        return variant_of(recipe), FinetuneRecipe.model_validate(recipe).seed
    except (ValueError, TypeError) as error:
        raise _not_written_by_finetune(folder / FINETUNING, error) from error


def find_entry(model: str, base: str | None = None, name: str | None = None, revision: str | None = None) -> ModelEntry:
    """The registry's entry of that name or hub id, or one made for a folder or hub id that is not in it.

    A model of the hub is called ``NAME`` of ``OWNER/NAME``; by its full id if ``NAME`` is another model of the
    registry; at a revision that is neither its main branch nor what the registry pins, ``NAME@REVISION``. Names in a
    folder that ``PROBING_MODELS`` names are found, too. ``base``, ``name`` and ``revision`` replace what is known.
    """
    if not model.strip():
        raise ModelError(f"got the model {model!r}; expected a name of the registry, a folder or a hub id")
    try:
        entry = _known(model)
    except (OSError, RuntimeError) as error:
        # A name that is too long for the file system, or the home folder of a user that does not exist.
        raise ModelError(
            f"got the model {model[:80]!r}, which can be no folder: {error}; expected a folder, a hub id or a name"
        ) from None
    if revision is not None:
        entry = at_revision(entry, revision)
    if name is not None:
        check_name(name, entry.name)
        entry = entry.model_copy(update={"name": name})
    return entry.model_copy(update={"base": base, "base_folder": "", "base_source": ""}) if base else entry


def _known(model: str) -> ModelEntry:
    """The entry of a model, as ``find_entry`` finds it without further options."""
    listed = read_registry().models
    if entry := next((candidate for candidate in listed if candidate.name == model), None):
        return _at_hand(entry)
    own_folder = cache_folder() / "models" / model
    folder = own_folder if is_model(own_folder) else Path(model).expanduser()
    if not folder.is_dir():
        folder = next((cached for cached in own_model_folders() if name_of_model(cached) == model), folder)
    if folder.is_dir():
        entry = ModelEntry(
            name=name_of_model(folder), source=str(folder.resolve()), licence="unknown", objective="unknown"
        )
        return entry.model_copy(update=_base_noted(folder))
    if entry := next((candidate for candidate in listed if candidate.hub_id.casefold() == model.casefold()), None):
        return _at_hand(entry)
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise ModelError(f"no folder {model}; expected a model folder, a hub id or a name of the registry")
    short = name_of_model(model)
    called = model if any(candidate.name == short for candidate in listed) else short
    return ModelEntry(name=called, source=model, licence="unknown", objective="unknown")


def at_revision(entry: ModelEntry, revision: str) -> ModelEntry:
    """The entry at a revision of the hub, under another name unless that is the revision that it has anyway."""
    if not entry.hub_id:
        raise ModelError(
            f"got the revision {revision!r} of {entry.name}, which is the folder {entry.location}; only models of the"
            " hub have one"
        )
    if not revision.strip() or revision.startswith(("-", "/", ".")) or ".." in revision:
        raise ModelError(f"got the revision {revision!r}; expected a branch, a tag or a commit")
    usual = revision == (entry.revision or "main")
    label = revision[:12] if COMMIT.fullmatch(revision) else revision
    return entry.model_copy(update={"revision": revision, "name": entry.name if usual else f"{entry.name}@{label}"})


def _at_hand(entry: ModelEntry) -> ModelEntry:
    """The entry; a local copy that ``fetch --from`` made, if there is one, replaces the hub."""
    local = cache_folder() / "models" / entry.name
    if entry.shipped or not (local / "config.json").is_file():
        return entry
    return entry.model_copy(update={"source": str(local), "revision": ""})


def _base_noted(folder: Path) -> dict[str, str]:
    """Base and objective as ``finetuning_note`` has them, as fields of an entry; empty if there is no note."""
    made = finetuning_note(folder)
    if not made and not (folder / FINETUNING).is_file():
        return {}
    try:
        fields = {
            "base": made["base"],
            "objective": made["objective"],
            "base_weights": made.get("recipe", {}).get("base_weights", ""),
        }
        fields |= {name: made.get(name, "") for name in ("base_folder", "base_source")}
        if not all(isinstance(value, str) for value in fields.values()):
            raise TypeError("expected texts")
        return fields
    except (KeyError, TypeError, AttributeError) as error:
        raise _not_written_by_finetune(folder / FINETUNING, error) from error


def _not_written_by_finetune(note: Path, error: Exception) -> ModelError:
    return ModelError(f"{note} is not what finetune writes ({error!r}); fine-tune the model again")


def check_name(name: str, own: str = "") -> None:
    """Raises a ``ModelError`` for a malformed name, or one of another model of the registry than ``own``."""
    if not name.strip() or not name.isprintable() or name.startswith((".", "/", "~", "-")) or "\\" in name:
        raise ModelError(
            f"got the name {name!r}; expected letters, digits and signs such as - and /, as in my-run/step-500"
        )
    known = {other.name for other in read_registry().models}
    if name in known and own != name:
        raise ModelError(f"{name} is the name of another model of the registry; choose another {spelled('name')}")


def base_entry(entry: ModelEntry) -> ModelEntry | None:
    """The entry of a model's base: the folder that ``finetune`` read if it exists, else by name; None without one."""
    if not entry.base:
        return None
    folder = Path(entry.base_folder)
    hub_id, _, commit = entry.base_source.rpartition("@")
    if hub_id and not entry.base_folder:
        named = find_entry(hub_id)
        # A copy that ``fetch --from`` made has no commit; its weights are compared with those that were fine-tuned.
        return named.model_copy(update={"name": entry.base, "revision": commit if named.hub_id else ""})
    named = find_entry(entry.base)
    by_name = named.shipped or Path(named.source).is_dir()
    if entry.base_folder and ((folder / "config.json").is_file() or not by_name):
        return ModelEntry(name=entry.base, source=entry.base_folder, licence="unknown", objective="unknown")
    return named
