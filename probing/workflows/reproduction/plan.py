"""The plan of reproducing a family of the paper: models, their bases and their heads."""

from dataclasses import dataclass, field
from pathlib import Path

from probing.core.errors import OptionError
from probing.core.head_kinds import HEADS, LOGIT_LENS, TIED, canonical_heads
from probing.core.paths import cache_folder
from probing.core.registry import FamilyEntry, FamilyMember, Registry, read_registry
from probing.core.tasks.objectives import task_called
from probing.workflows.executors import ExecutorChoice, executor
from probing.workflows.requests.finetune import TrainingLength


@dataclass(frozen=True)
class HeadTraining:
    """How heads are trained.

    Attributes:
        kinds: some of ``HEADS``.
        text, valid: training and validation text; None: the fetched WikiText-2.
        positions: masked positions to learn from.
        epochs: passes over them.
    """

    kinds: tuple[str, ...] = (TIED, LOGIT_LENS)
    text: Path | None = None
    valid: Path | None = None
    positions: int = 30_000
    epochs: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", canonical_heads(self.kinds))


@dataclass(frozen=True)
class ReproduceRequest:
    """A reproduction and its settings.

    Attributes:
        family: a family of the registry.
        facts: as for ``probe``; a LAMA folder is probed in its own templates.
        out: folder of the tables; None: ``cache/reproduction/FAMILY``.
        source: folder of local copies; None downloads.
        own: fine-tune every model here, even those that the hub has.
        tuning: length of the fine-tuning, if it differs from the objectives'.
        heads: kinds and training of the heads.
        device: auto, cpu, cuda or mps.
        executor: where heads are trained and models are probed.
    """

    family: str = "bert-base"
    facts: str = "all"
    out: Path | None = None
    source: Path | None = None
    own: bool = False
    tuning: TrainingLength = field(default_factory=TrainingLength)
    heads: HeadTraining = field(default_factory=HeadTraining)
    device: str = "auto"
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)


@dataclass(frozen=True)
class Plan:
    """The models of one call.

    Attributes:
        request: the reproduction.
        registry: of models and data sets.
        family: the registry's entry.
        members: its fine-tuned models, with the way to make each.
        bases: the models they come from, the family's own first.
    """

    request: ReproduceRequest
    registry: Registry
    family: FamilyEntry
    members: tuple[FamilyMember, ...]
    bases: tuple[str, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Bases and members."""
        return (*self.bases, *(member.model for member in self.members))

    @property
    def templates(self) -> str:
        """The template set that the tables read."""
        return "lama" if Path(self.request.facts, "relations.jsonl").is_file() else "default"

    @property
    def out(self) -> Path:
        """Folder of the tables."""
        return self.request.out or cache_folder() / "reproduction" / self.family.name

    def ships(self, model: str) -> bool:
        """Whether a model is in the repository."""
        return any(entry.name == model and entry.shipped for entry in self.registry.models)


def planned(request: ReproduceRequest) -> Plan:
    """The models that a request makes; impossible requests are refused now, not after days of fine-tuning.

    Raises:
        RegistryError: if the registry has no such family.
        OptionError: for unknown heads, or an option of another executor.
        JobError: if the executor's library is not installed.
    """
    registry = read_registry()
    family = registry.family(request.family)
    kinds = request.heads.kinds
    if not kinds or set(kinds) - set(HEADS):
        raise OptionError(f"got heads {','.join(kinds)!r}; expected some of {', '.join(HEADS)}, separated by commas")
    executor(request.executor, 1, request.device)
    members = tuple(_as_made(member, family, request.own) for member in family.members)
    bases = tuple(dict.fromkeys([family.base, *(member.base for member in members)]))
    return Plan(request, registry, family, members, bases)


def _as_made(member: FamilyMember, family: FamilyEntry, own: bool) -> FamilyMember:
    """The member with its base filled in; with ``own`` a hub model is fine-tuned here under its own name."""
    base = member.base or family.base
    if own and member.how == "hub":
        return member.model_copy(update={"base": base, "how": "finetune", "model": f"{base}-{task_called(member.objective).name}"})
    return member.model_copy(update={"base": base})
