"""From a family's base to the tables of the paper on fine-tuning and sentence-level probing; resumable, finished steps are skipped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from probing.core.errors import OptionError, RegistryError, StoreError
from probing.core.paths import cache_folder, database_folder, result_folders
from probing.core.registry import FamilyEntry, Registry, name_in_files, read_registry
from probing.core.sentences.example import OURS, PROTOCOLS
from probing.core.sentences.published import PublishedSentences
from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.core.tasks.objectives import CALLED, Task
from probing.reports.reproduction.sentences.claims import judged_frame
from probing.reports.reproduction.sentences.families import families_here
from probing.reports.reproduction.sentences.laid import lay_beside
from probing.store.build import build_database
from probing.store.database import open_database
from probing.workflows.changes.measure import measure_changes
from probing.workflows.executors import ExecutorChoice, executor
from probing.workflows.fetch import fetch_or_stand_in
from probing.workflows.finetune import finetune
from probing.workflows.reproduction.fetching import fetch_all
from probing.workflows.reproduction.stage import Stage, stages_of
from probing.workflows.reproduction.written import write_tables
from probing.workflows.requests.changes import ChangesRequest
from probing.workflows.requests.finetune import FinetuneRequest, TrainingLength
from probing.workflows.requests.sentences import SentencesRequest
from probing.workflows.say import Say
from probing.workflows.sentences.train import train_sentences

#: The paper's probing tasks and fine-tuning tasks; Figure 2 compares CoLA on the first token with CoLA on the mean.
TASKS = ("bigram-shift", "coordination-inversion", "odd-man-out")
OBJECTIVES = ("CoLA", "SST-2", "RTE", "QA-SQuAD-1", "CoLA (mean)")


@dataclass(frozen=True)
class Measuring:
    """The probes' protocol, and the amounts of text for attention and perplexity.

    Attributes:
        protocol: of ``core.sentences.example.PROTOCOLS``.
        blocks: of text for perplexity; 0: none.
        sentences: maximum number for attention.
    """

    protocol: str = OURS
    blocks: int = 300
    sentences: int = 400


@dataclass(frozen=True)
class ReproduceInterplayRequest:
    """A reproduction and its settings.

    Attributes:
        family: a family of the registry; its base is fine-tuned.
        tasks: probing tasks of the paper, or all.
        measuring: protocol of the probes, and amounts of text.
        out: folder of the tables; None: ``cache/reproduction/interplay-FAMILY``.
        source: folder of local copies; None downloads.
        tuning: length of the fine-tuning, if it differs from the paper's.
        device: auto, cpu, cuda or mps.
        executor: where probes are trained and models are measured.
    """

    family: str = "bert-base"
    tasks: tuple[str, ...] = ("all",)
    measuring: Measuring = field(default_factory=Measuring)
    out: Path | None = None
    source: Path | None = None
    tuning: TrainingLength = field(default_factory=TrainingLength)
    device: str = "auto"
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)


@dataclass(frozen=True)
class TunedMember:
    """A fine-tuned model of the reproduction.

    Attributes:
        task: the one that it is fine-tuned for.
        model: its name in results.
        how: shipped, hub, or finetune.
    """

    task: Task
    model: str
    how: str

    @property
    def words(self) -> str:
        """ "CoLA: nesia-mini-cola, fine-tuned here"."""
        origin = {"shipped": "ships", "hub": "from the hub, with its own settings", "finetune": "fine-tuned here"}[self.how]
        return f"{self.task.label}: {self.model}, {origin}"


@dataclass(frozen=True)
class InterplayPlan:
    """A request with its entries of the registry."""

    request: ReproduceInterplayRequest
    registry: Registry
    family: FamilyEntry
    members: tuple[TunedMember, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The probing tasks."""
        return TASKS if self.request.tasks == ("all",) else self.request.tasks

    @property
    def models(self) -> tuple[str, ...]:
        """The base, then its fine-tuned models: probes of a fine-tuned model need its base's."""
        return (self.family.base, *(member.model for member in self.members))

    @property
    def out(self) -> Path:
        """Folder of the tables."""
        return self.request.out or cache_folder() / "reproduction" / f"interplay-{self.family.name}"


def reproduce_interplay(request: ReproduceInterplayRequest, only: Stage | None = None, say: Say = print) -> None:
    """Fetches, fine-tunes the base, trains probes, measures attention and perplexity, builds the database and writes the tables.

    Args:
        request: the reproduction.
        only: one stage instead of all.
        say: called with the plan, then with a line for each step.

    Raises:
        OptionError: for an unknown task or protocol, a stage that this paper lacks, or an option of another executor.
        ProbingError: as the workflow of each stage.
    """
    plan = _planned(request)
    stages = stages_of(STAGES, only, "interplay")
    say(f"{plan.family.base}, probed for {', '.join(plan.tasks)} by the protocol {request.measuring.protocol}; fine-tuned models:")
    for member in plan.members:
        say(f"  {member.words}")
    for number, (stage, do) in enumerate(stages.items(), 1):
        say(f"== Fine-tuning and probing, {plan.family.base}, stage {number} of {len(stages)}: {stage.value}")
        do(plan, say)


def _planned(request: ReproduceInterplayRequest) -> InterplayPlan:
    """Refuses impossible requests now, not after hours of training."""
    if request.tasks != ("all",) and (not request.tasks or set(request.tasks) - set(TASKS)):
        raise OptionError(f"got the tasks {','.join(request.tasks)!r}; expected all, or some of {', '.join(TASKS)}, separated by commas")
    if request.measuring.protocol not in PROTOCOLS:
        raise OptionError(f"got the protocol {request.measuring.protocol!r}; expected one of {', '.join(PROTOCOLS)}")
    executor(request.executor, 1, request.device)
    registry = read_registry()
    family = registry.family(request.family)
    return InterplayPlan(request, registry, family, tuple(_member(family, CALLED[label]) for label in OBJECTIVES))


def _member(family: FamilyEntry, task: Task) -> TunedMember:
    """The family's model of an objective, if it has the same base; else one that is fine-tuned here."""
    for one in family.members:
        if one.objective == task.label and (one.base or family.base) == family.base:
            return TunedMember(task, one.model, one.how)
    return TunedMember(task, name_in_files(f"{family.base}-{task.name}"), "finetune")


def _fetch(plan: InterplayPlan, say: Say) -> None:
    served = [plan.family.base, *(member.model for member in plan.members if member.how == "hub")]
    needed = [member.task.data_set for member in plan.members if member.how == "finetune"]
    needed += ["wikitext-2-raw"] if plan.request.measuring.blocks else []
    fetch_all(plan.registry, served, list(dict.fromkeys(needed)), plan.request.source, say)
    for task in plan.tasks:
        _fetch_task(plan, task, say)


def _fetch_task(plan: InterplayPlan, task: str, say: Say) -> None:
    """Any of a task's data sets is enough: a fetched one, or the first that can be fetched."""
    names = SENTENCE_TASKS[task].data_sets
    there = [name for name in names if (cache_folder() / "downloads" / name).is_dir()]
    for name in there[:1] or names:
        try:
            say(f"  {task}: {fetch_or_stand_in(plan.registry, name, plan.request.source, say)}")
            return
        except RegistryError as error:
            if name == names[-1] or there:
                raise
            say(f"  {task}: not from {name} ({error})")


def _finetune(plan: InterplayPlan, say: Say) -> None:
    request = plan.request
    for member in plan.members:
        if member.how != "finetune":
            say(f"  {member.words}")
            continue
        data = fetch_or_stand_in(plan.registry, member.task.data_set, request.source, say)
        device = "cpu" if request.device == "cpu" else "auto"
        wanted = FinetuneRequest(
            plan.family.base, member.task.slug, data, out=cache_folder() / "models" / member.model, length=request.tuning, device=device,
            pooling=member.task.settings.get("pooling"),
        )  # fmt: skip
        finetune(wanted, say)


def _train(plan: InterplayPlan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        say(f"  {model}:")
        # The database is built once, at the end.
        wanted = SentencesRequest(
            model=model, tasks=plan.tasks, protocol=request.measuring.protocol, device=request.device, executor=request.executor,
            rebuild=False,
        )  # fmt: skip
        train_sentences(wanted, say)


def _measure(plan: InterplayPlan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        say(f"  {model}:")
        wanted = ChangesRequest(
            model=model, blocks=request.measuring.blocks, sentences=request.measuring.sentences, device=request.device,
            executor=request.executor, rebuild=False,
        )  # fmt: skip
        measure_changes(wanted, say)


def _build(plan: InterplayPlan, say: Say) -> None:
    say(f"  {build_database(result_folders(), database_folder())}")


def _tables(plan: InterplayPlan, say: Say) -> None:
    base, published = plan.family.base, PublishedSentences.read()
    with open_database(database_folder()) as db:
        if base not in [one.base for one in families_here(db, published)]:
            again = f"python -m probing reproduce --paper interplay --family {plan.family.name}"
            raise StoreError(f"no sentence probes of {base} are stored; make them with: {again}")
        laid = lay_beside(db, base, published)
    tables = {
        "scores": laid.scores,
        "changes": laid.changes,
        "settings": laid.settings,
        "data": laid.data,
        "claims": judged_frame(laid.judged, {claim.name: claim.says for claim in published.claims}),
    }
    write_tables(plan.out, tables, say)


STAGES: Mapping[Stage, Callable[[InterplayPlan, Say], None]] = {
    Stage.fetch: _fetch,
    Stage.finetune: _finetune,
    Stage.train: _train,
    Stage.measure: _measure,
    Stage.build: _build,
    Stage.tables: _tables,
}
