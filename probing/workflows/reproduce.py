"""From a family's name to the tables of the paper, resumable: what is done is skipped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from probing.core.errors import OptionError, StoreError
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import read_relations
from probing.core.files.atomic import write_whole
from probing.core.paths import FACTS_FOLDER, cache_folder, database_folder, result_folders, snapshot_folder
from probing.core.registry import FamilyEntry, FamilyMember, Registry, read_registry
from probing.core.tasks.table import task_called
from probing.models.encoders.catalogue import open_encoder
from probing.models.heads.files import head_path, heads_folder, read_identity
from probing.models.heads.recipe import HeadRecipe
from probing.reports.knowledge.stored import ReportChoice, What, report
from probing.reports.knowledge.written import written
from probing.reports.runs import choose
from probing.store.build import build_database
from probing.store.database import open_database
from probing.store.parquet import read_table
from probing.workflows.executors import ExecutorChoice, executor
from probing.workflows.fetch import fetch_model, fetch_or_stand_in
from probing.workflows.finetune import FinetuneRequest, TrainingLength, finetune
from probing.workflows.heads import HeadsRequest, train_heads
from probing.workflows.probe import ProbeRequest, probe
from probing.workflows.stored_run import Say

HEADS = ("tied", "lens", "full")


class Stage(StrEnum):
    """What is done one after the other."""

    fetch = "fetch"
    finetune = "finetune"
    heads = "heads"
    probe = "probe"
    build = "build"
    tables = "tables"


@dataclass(frozen=True)
class HeadTraining:
    """How heads are trained.

    Attributes:
        kinds: tied, lens, full.
        text, valid: what they learn from and are validated on; None takes the fetched WikiText-2.
        positions: masked positions that they learn from.
        epochs: passes over them.
    """

    kinds: tuple[str, ...] = ("tied", "lens")
    text: Path | None = None
    valid: Path | None = None
    positions: int = 30_000
    epochs: int = 3


@dataclass(frozen=True)
class ReproduceRequest:
    """What is reproduced, and how.

    Attributes:
        family: a family of the registry.
        facts: what ``probe`` takes; a LAMA folder is asked in its own templates.
        out: folder of the tables; None: ``cache/reproduction/FAMILY``.
        source: folder of local copies; None downloads.
        own: fine-tune every model here, also those that the hub serves.
        tuning: how long is fine-tuned, where it is not as each objective says.
        heads: which heads are trained, and how.
        device: auto, cpu, cuda or mps.
        executor: who trains heads and probes.
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
    """What one call makes.

    Attributes:
        request: what is asked.
        registry: where models and data sets come from.
        family: the registry's entry.
        members: its fine-tuned models, as they will be made.
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
        """Whether a model lies in the repository."""
        return any(entry.name == model and entry.shipped for entry in self.registry.models)


def planned(request: ReproduceRequest) -> Plan:
    """The models that a request makes; what cannot be done is refused now, and not after days of fine-tuning.

    Raises:
        RegistryError: if the registry has no such family.
        OptionError: for heads that are not known, or an option of another executor.
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


def reproduce(request: ReproduceRequest, only: Stage | None = None, say: Say = print) -> None:
    """Fetches, fine-tunes what no hub model serves, trains heads, probes, builds and writes the tables.

    Args:
        request: what to reproduce.
        only: one stage instead of all.
        say: gets a line for each thing that is done.

    Raises:
        ProbingError: as ``planned`` and the workflow of each stage.
    """
    plan = planned(request)
    stages = {stage: do for stage, do in STAGES.items() if only in (None, stage)}
    for number, (stage, do) in enumerate(stages.items(), 1):
        say(f"== {plan.family.title}, stage {number} of {len(stages)}: {stage.value}")
        do(plan, say)


def _as_made(member: FamilyMember, family: FamilyEntry, own: bool) -> FamilyMember:
    """The member with its base filled in; under ``own`` one that the hub serves is fine-tuned here under a name of its own."""
    base = member.base or family.base
    if own and member.how == "hub":
        return member.model_copy(update={"base": base, "how": "finetune", "model": f"{base}-{member.objective.lower()}"})
    return member.model_copy(update={"base": base})


def _fetch(plan: Plan, say: Say) -> None:
    served = [*plan.bases, *(member.model for member in plan.members if member.how != "finetune")]
    for name in served:
        entry = plan.registry.model(name)
        kept = cache_folder() / "models" / entry.name
        if (kept / "config.json").is_file():
            say(f"  {name} is there already: {kept}")
        else:
            say(f"  {name}: {fetch_model(entry, plan.request.source)}")
    for name in _data_sets(plan):
        say(f"  {name}: {fetch_or_stand_in(plan.registry, name, plan.request.source, say)}")


def _data_sets(plan: Plan) -> list[str]:
    """The data sets that fine-tuning and heads need, each once."""
    needed = [task_called(member.objective).data_set for member in plan.members if member.how == "finetune"]
    heads = plan.request.heads
    if heads.text is None and set(heads.kinds) - {"lens"} and any(not plan.ships(name) for name in plan.models):
        needed.append("wikitext-2")
    return list(dict.fromkeys(name for name in needed if name))


def _finetune(plan: Plan, say: Say) -> None:
    request = plan.request
    for member in plan.members:
        if member.how != "finetune":
            say(f"  {member.model}: {member.how}")
            continue
        task = task_called(member.objective)
        data = fetch_or_stand_in(plan.registry, task.data_set, request.source, say) if task.data_set else request.heads.text
        out, device = cache_folder() / "models" / member.model, "cpu" if request.device == "cpu" else "auto"
        finetune(FinetuneRequest(member.base, task.slug, data, out=out, length=request.tuning, device=device), say)


def _heads(plan: Plan, say: Say) -> None:
    request, heads = plan.request, plan.request.heads
    for model in plan.models:
        for kind in heads.kinds:
            if kind == "lens":
                continue
            if _ships_with_runs(plan, model, kind):
                say(f"  {model}, {kind}: ships with its results")
                continue
            encoder = open_encoder(model, None, request.device)
            found = heads_folder(model, encoder, kind, cache_folder())
            if found is not None:
                say(f"  {model}, {kind}: heads are there already: {found}{_otherwise(found, plan)}")
                continue
            wanted = HeadsRequest(
                model, kind, text=heads.text, valid=heads.valid, positions=heads.positions, epochs=heads.epochs, device=request.device,
                executor=request.executor,
            )  # fmt: skip
            train_heads(wanted, say)


def _otherwise(heads: Path, plan: Plan) -> str:
    """What heads that were trained before learnt from, where it is not what the plan says."""
    if cache_folder() not in heads.parents:
        # They ship with the model.
        return ""
    recipe = HeadRecipe.model_validate_json(read_identity(head_path(heads, 0)).recipe)
    asked = plan.request.heads
    other = [f"{getattr(recipe, name):,} {name}" for name in ("positions", "epochs") if getattr(recipe, name) != getattr(asked, name)]
    words = f"asked are {asked.positions:,} positions and {asked.epochs} epochs; delete the folder to train them so"
    return f", trained on {' and '.join(other)} ({words})" if other else ""


def _probe(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        for kind in request.heads.kinds:
            if _ships_with_runs(plan, model, kind):
                say(f"  {model}, {kind}: ships with its results")
                continue
            say(f"  {model}, {kind}:")
            # The database is built once, after all of them.
            probe(ProbeRequest(model, request.facts, kind, device=request.device, executor=request.executor, rebuild=False), say)


def _ships_with_runs(plan: Plan, model: str, kind: str) -> bool:
    """Whether the snapshot holds this model's runs on all facts that ship, so that nothing need be computed."""
    if plan.request.facts != "all" or not plan.ships(model) or not snapshot_folder().is_dir():
        return False
    there = {probe_set for name, head, probe_set in _shipped_runs(snapshot_folder()) if (name, head) == (model, kind)}
    return bool(there) and there >= {found.probe_set for found in read_facts("all", read_relations(FACTS_FOLDER / "relations.toml"))}


@cache
def _shipped_runs(folder: Path) -> frozenset[tuple[str, str, str]]:
    """Model, head and probe set of every primary run in a folder."""
    rows = (row for path in folder.glob("runs-*.parquet") for row in read_table(path, "runs").to_pylist())
    return frozenset((row["model"], row["head"], row["probe_set"]) for row in rows if row["role"] == "primary")


def _build(plan: Plan, say: Say) -> None:
    say(f"  {build_database(result_folders(), database_folder())}")


def _tables(plan: Plan, say: Say) -> None:
    plan.out.mkdir(parents=True, exist_ok=True)
    kinds = plan.request.heads.kinds
    with open_database(database_folder()) as db:
        probed = choose(db, plan.models, kinds, templates=plan.templates)
        if missing := set(plan.models) - set(probed["model"]):
            again = f"python -m probing reproduce --family {plan.family.name}"
            raise StoreError(f"no runs of {', '.join(sorted(missing))}; make them with: {again}")
        for what in What:
            table = report(db, ReportChoice(what, plan.models, kinds, templates=plan.templates))
            write_whole(plan.out / f"{what}.csv", written(table, what, "csv"))
            write_whole(plan.out / f"{what}.json", written(table, what, "json"))
            say(f"  {what}: {len(table):,} rows")
    say(f"  tables in {plan.out}; beside the paper's: the dashboard's page Reproduction")


STAGES: Mapping[Stage, Callable[[Plan, Say], None]] = {
    Stage.fetch: _fetch,
    Stage.finetune: _finetune,
    Stage.heads: _heads,
    Stage.probe: _probe,
    Stage.build: _build,
    Stage.tables: _tables,
}
