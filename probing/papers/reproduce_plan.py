"""The plan of a reproduction: its models, their bases and their tasks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from probing.finetuning.objectives import Task
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder
from probing.kernel.registry import FamilyEntry, FamilyMember, Registry, name_in_files, read_registry
from probing.kernel.requests import executor
from probing.papers.claims_paper import Paper
from probing.papers.requests import ReproduceRequest, Stage


@dataclass(frozen=True)
class Plan:
    """The models of one call: the family, the way to make each member, and the probing tasks."""

    request: ReproduceRequest
    registry: Registry
    family: FamilyEntry
    procedure: "Procedure"
    members: tuple[FamilyMember, ...]
    tasks: tuple[str, ...]

    @property
    def bases(self) -> tuple[str, ...]:
        """The models that the members come from, the family's own first."""
        return tuple(dict.fromkeys([self.family.base, *(member.base for member in self.members)]))

    @property
    def models(self) -> tuple[str, ...]:
        """Bases and members: probes of a fine-tuned model need its base's."""
        return (*self.bases, *(member.model for member in self.members))

    @property
    def out(self) -> Path:
        return self.request.out or cache_folder() / "reproduction" / f"{self.procedure.prefix}{self.family.name}"

    @property
    def again(self) -> str:
        """The command that makes what is missing."""
        paper = "" if self.request.paper == ReproduceRequest.paper else f"--paper {self.request.paper} "
        return f"python -m probing reproduce {paper}--family {self.family.name}"

    def ships(self, model: str) -> bool:
        """Whether a model is in the repository."""
        return any(entry.name == model and entry.shipped for entry in self.registry.models)


@dataclass(frozen=True)
class Procedure:
    """How a paper is reproduced.

    ``title`` of its stages has ``{family}``, the family's entry; ``prefix`` is of the usual folder of its tables;
    ``tasks`` raises an ``OptionError`` for unknown ones; ``begin`` says what will be made.
    """

    paper: Paper
    title: str
    steps: Mapping[Stage, Callable[[Plan, Say], None]]
    prefix: str = ""
    tasks: Callable[[ReproduceRequest], tuple[str, ...]] = lambda request: ()
    members: Callable[[ReproduceRequest, FamilyEntry], tuple[FamilyMember, ...]] = lambda request, family: ()
    begin: Callable[[Plan, Say], None] = lambda plan, say: None


def planned(request: ReproduceRequest, procedure: Procedure) -> Plan:
    """The models that a request makes; impossible requests are refused now, not after days of fine-tuning."""
    tasks = procedure.tasks(request)
    executor(request.executor, 1, request.device)
    registry = read_registry()
    family = registry.family(request.family)
    return Plan(request, registry, family, procedure, procedure.members(request, family), tasks)


def made_here(task: Task, base: str) -> FamilyMember:
    """A model that is fine-tuned here, under the name that ``finetune`` gives it."""
    return FamilyMember(objective=task.label, model=name_in_files(f"{base}-{task.name}"), base=base, how="finetune")
