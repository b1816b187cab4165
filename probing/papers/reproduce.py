"""From a family's name to the tables of a paper: plan and steps; resumable, finished steps are skipped."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from probing.changes.measure_run import measure_changes
from probing.changes.requests import ChangesRequest
from probing.edges.requests import EdgesRequest
from probing.edges.tasks import ALL, EDGE_TASKS
from probing.edges.train import train_edges
from probing.facts.probe import probe
from probing.facts.report import FACTS, OF_CARRIED
from probing.facts.requests import ProbeRequest
from probing.facts.runs import choose
from probing.facts.sources import read_facts
from probing.finetuning.finetune import finetune
from probing.finetuning.requests import FinetuneRequest, TrainingLength
from probing.forgetting.recover import recover
from probing.forgetting.requests import RecoverRequest
from probing.heads.files import head_path, heads_folder, read_identity
from probing.heads.recipe import PRETRAINED, HeadRecipe
from probing.heads.requests import HeadsRequest
from probing.heads.training_run import train_all_heads
from probing.kernel.errors import ModelError, OptionError, RegistryError, Say, StoreError
from probing.kernel.fact import shipped_relations
from probing.kernel.fetch import fetch_model, fetch_or_stand_in
from probing.kernel.files import atomic_text, cache_folder, result_folders, snapshot_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.names import HEAD_KINDS, LEAST_SQUARES, LOGIT_LENS
from probing.kernel.objectives import CALLED, Task, task_called
from probing.kernel.provenance import RANDOM, TRAINED
from probing.kernel.registry import FamilyEntry, FamilyMember, Registry, name_in_files, read_registry
from probing.kernel.report import Form, as_csv
from probing.kernel.requests import executor
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table
from probing.papers.bertnesia import BERTNESIA, families_here, subject_of
from probing.papers.claims import Paper, claims_frame, judge
from probing.papers.costs import in_words as cost_in_words
from probing.papers.edge_probing import EDGE_PROBING
from probing.papers.interplay import INTERPLAY
from probing.papers.papers import FORGETTING
from probing.papers.requests import ReproduceRequest, Stage
from probing.sentences.requests import SentencesRequest
from probing.sentences.tasks import SENTENCE_TASKS
from probing.sentences.train import train_sentences


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
        return tuple(dict.fromkeys([self.family.base, *(member.base for member in self.members if member.base)]))

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
    #: Of the stages that work on models: the names among ``costs`` of their parts.
    parts: Callable[[Plan], dict[Stage, list[str]]] = lambda plan: {}


def _work(plan: Plan, stages: Collection[Stage]) -> list[str]:
    """The name among ``costs`` of every part of these stages, done or not; no model that ships."""
    tuned = {member.model: task_called(member.objective).slug for member in plan.members if member.how == "finetune"}
    models = [name for name in plan.models if not plan.ships(name)]
    parts = {
        Stage.fetch: ["fetch" for name in models if name not in tuned],
        Stage.finetune: [f"finetune {tuned[name]}" for name in models if name in tuned],
        **plan.procedure.parts(plan),
    }
    return [part for stage in stages for part in parts.get(stage, ())]


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


#: How a model comes here -> words.
_ORIGINS = {"shipped": "ships", "hub": "from the hub, with its own settings", "finetune": "fine-tuned here"}


def in_words(member: FamilyMember) -> str:
    """ "CoLA: nesia-mini-cola, fine-tuned here"."""
    return f"{member.objective}: {member.model}, {_ORIGINS[member.how]}"


def fetch(plan: Plan, data_sets: Iterable[str], say: Say) -> None:
    """Fetches models that are not made here, the data of the others' fine-tuning, and data sets, unless here."""
    for name in (*plan.bases, *(member.model for member in plan.members if member.how != "finetune")):
        entry = plan.registry.model(name)
        folder = cache_folder() / "models" / entry.name
        if (folder / "config.json").is_file():
            say(f"  {name} exists already: {folder}")
        else:
            say(f"  {name}: {fetch_model(entry, plan.request.source)}")
    tuned = [task_called(member.objective).data_set for member in plan.members if member.how == "finetune"]
    for name in dict.fromkeys(filter(None, [*tuned, *data_sets])):
        say(f"  {name}: {fetch_or_stand_in(plan.registry, name, plan.request.source, say)}")


def fine_tune(plan: Plan, say: Say) -> None:
    """Fine-tunes the models that neither ship nor are on the hub."""
    request = plan.request
    for member in plan.members:
        if member.how != "finetune":
            say(f"  {in_words(member)}")
            continue
        task = task_called(member.objective)
        data = fetch_or_stand_in(plan.registry, task.data_set, request.source, say) if task.data_set else request.text
        out, device = cache_folder() / "models" / member.model, "cpu" if request.device == "cpu" else "auto"
        length = TrainingLength(steps=request.steps, tokens=request.tokens, pieces=request.pieces)
        pooling = task.settings.get("pooling")
        finetune(
            FinetuneRequest(member.base, task.slug, data, out=out, length=length, device=device, pooling=pooling), say
        )


def compare(plan: Plan, say: Say) -> None:
    """Writes the tables of the paper with ours."""
    base, paper = plan.family.base, plan.procedure.paper
    with open_database(*result_folders()) as db:
        if base not in paper.subjects(db):
            raise StoreError(f"no {paper.needs} of {base} are stored; make them with: {plan.again}")
        tables = paper.to_write(db, base)
    write_tables(plan, tables, as_text, say)


def as_text(table: pd.DataFrame, name: str, ending: str) -> str:
    if ending == "csv":
        return as_csv(table)
    return table.to_json(orient="records", force_ascii=False, indent=1, double_precision=15) + "\n"


def write_tables(
    plan: Plan, tables: Mapping[Any, pd.DataFrame], text: Callable[[pd.DataFrame, Any, Any], str], say: Say
) -> None:
    """Writes every table as CSV and as JSON; ``text`` is called with the table, its name and the ending."""
    plan.out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        for ending in ("csv", "json"):
            atomic_text(plan.out / f"{name}.{ending}", text(table, name, ending))
        say(f"  {name}: {len(table):,} rows")
    say(f"  tables in {plan.out}; compare with the paper's on the dashboard's page Papers")


def _members(request: ReproduceRequest, family: FamilyEntry) -> tuple[FamilyMember, ...]:
    return tuple(_as_made(member, member.base or family.base, request.own) for member in family.members)


def _as_made(member: FamilyMember, base: str, own: bool) -> FamilyMember:
    """The member with its base filled in; with ``own`` a hub model is fine-tuned here under its own name."""
    return (
        made_here(task_called(member.objective), base)
        if own and member.how == "hub"
        else member.model_copy(update={"base": base})
    )


def _fetch(plan: Plan, say: Say) -> None:
    request = plan.request
    trained = (
        request.text is None and set(request.heads) - {LOGIT_LENS} and any(not plan.ships(name) for name in plan.models)
    )
    fetch(plan, ["wikitext-2"] if trained else [], say)


def _heads(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        for kind in request.heads:
            if kind == LOGIT_LENS:
                continue
            if _ships_with_runs(plan, model, kind):
                say(f"  {model}, {kind}: ships with its results")
                continue
            _require_made(plan, model)
            encoder = open_encoder(model, None, request.device)
            folder = heads_folder(model, encoder, kind, cache_folder())
            if folder is not None:
                say(f"  {model}, {kind}: heads exist already: {folder}{_otherwise(folder, plan)}")
                continue
            # As in the paper; ``train-heads`` now starts otherwise by default.
            start = None if HEAD_KINDS[kind].mapped else PRETRAINED
            heads_request = HeadsRequest(
                model,
                kind,
                text=request.text,
                valid=request.valid,
                positions=request.positions,
                epochs=request.epochs,
                start=start,
                start_positions=0,
                recipe_version=1,
                device=request.device,
                executor=request.executor,
            )
            train_all_heads(heads_request, say)


def _otherwise(heads: Path, plan: Plan) -> str:
    """How the training of existing heads differs from the plan."""
    if cache_folder() not in heads.parents:
        # They ship with the model.
        return ""
    recipe = HeadRecipe.model_validate_json(read_identity(head_path(heads, 0)).recipe)
    request = plan.request
    length = f"{recipe.steps:,} steps" if recipe.steps else f"{recipe.epochs:,} epochs"
    begun = f" from {recipe.start}" if not recipe.form.mapped and recipe.start != PRETRAINED else ""
    other = [f"{recipe.positions:,} positions"] if recipe.positions != request.positions else []
    if recipe.kind != LEAST_SQUARES and (begun or length != f"{request.epochs:,} epochs"):
        other.append(length + begun)
    words = f"the plan has {request.positions:,} positions and {request.epochs} epochs"
    words += f" from {PRETRAINED}" if begun else ""
    return f", trained on {' and '.join(other)} ({words}; delete the folder to train them as planned)" if other else ""


def _probe(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        for kind in request.heads:
            if _ships_with_runs(plan, model, kind):
                say(f"  {model}, {kind}: ships with its results")
                continue
            say(f"  {model}, {kind}:")
            _require_made(plan, model)
            probe(ProbeRequest(model, request.facts, kind, device=request.device, executor=request.executor), say)


def _require_made(plan: Plan, model: str) -> None:
    """Raises a ``ModelError`` for a model of the family that is fine-tuned here and does not exist yet."""
    tuned_here = any(member.model == model and member.how == "finetune" for member in plan.members)
    if tuned_here and not (cache_folder() / "models" / model / "config.json").is_file():
        command = f"{plan.again} --only {Stage.finetune}"
        raise ModelError(
            f"{model} is fine-tuned here, from its base, and does not exist yet; run stage {Stage.finetune} first:"
            f" {command}"
        )


def _ships_with_runs(plan: Plan, model: str, kind: str) -> bool:
    """Whether the snapshot holds this model's runs on all shipped facts, so that nothing has to be computed."""
    if plan.request.facts != "all" or not plan.ships(model) or not snapshot_folder().is_dir():
        return False
    there = {probe_set for name, head, probe_set in _shipped_runs(snapshot_folder()) if (name, head) == (model, kind)}
    return bool(there) and there >= {fact_set.probe_set for fact_set in read_facts("all", shipped_relations())}


@cache
def _shipped_runs(folder: Path) -> frozenset[tuple[str, str, str]]:
    """Model, head and probe set of every primary run in a folder."""
    rows = (row for path in folder.glob("runs-*.parquet") for row in read_table(path, "runs").to_pylist())
    return frozenset((row["model"], row["head"], row["probe_set"]) for row in rows if row["role"] == "primary")


def _tables(plan: Plan, say: Say) -> None:
    heads, templates = (
        plan.request.heads,
        "lama" if Path(plan.request.facts, "relations.jsonl").is_file() else "default",
    )
    with open_database(*result_folders()) as db:
        probed = choose(db, plan.models, heads, templates=templates)
        if missing := set(plan.models) - set(probed["model"]):
            raise StoreError(f"no runs of {', '.join(sorted(missing))}; make them with: {plan.again}")
        # The facts are compared one model at a time, and what is carried is not measured here.
        reports = {report.name: report for report in FACTS.every if report.name not in ("facts", *OF_CARRIED)}
        tables = {}
        for name, report in reports.items():
            of_facts = {} if name == "tasks" else {"head": heads, "templates": templates}
            tables[name] = report.table(db, FACTS.choose(name, {"model": plan.models, **of_facts}))
        family = families_here(db)[plan.family.base]
        claims = [
            claims_frame(judge(db, BERTNESIA.numbers.claims, subject_of(family, head))).assign(head=head)
            for head in heads
        ]

    def text(table: pd.DataFrame, name: str, ending: Form) -> str:
        return reports[name].written(table, ending) if name in reports else as_text(table, name, ending)

    write_tables(plan, {**tables, "claims": pd.concat(claims)}, text, say)


def _tasks(request: ReproduceRequest) -> tuple[str, ...]:
    """Names of tasks, or paths of folders in jiant's format."""
    tasks = ALL if request.tasks == ("all",) else request.tasks
    if any(task not in EDGE_TASKS and not Path(task).expanduser().is_dir() for task in tasks):
        raise OptionError(
            f"got the tasks {','.join(tasks)!r}; expected some of all, {', '.join(EDGE_TASKS)}, or folders in jiant's"
            " format, separated by commas"
        )
    return tasks


def _with_data(plan: Plan) -> tuple[str, ...]:
    """The tasks; of ``all`` those whose data are here, among the local copies, or can be downloaded."""
    if plan.request.tasks != ("all",) or plan.request.source is not None:
        return plan.tasks
    there = {
        entry.name
        for entry in plan.registry.data
        if entry.has_address or (cache_folder() / "downloads" / entry.name).is_dir()
    }
    return tuple(task for task in plan.tasks if there.issuperset(EDGE_TASKS[task].data_set))


def _fetch_edge_tasks(plan: Plan, say: Say) -> None:
    tasks = _with_data(plan)
    for task in plan.tasks:
        if task not in tasks:
            name = EDGE_TASKS[task].data_set[0]
            say(f"  {task}: left out; {name} cannot be downloaded, see: python -m probing fetch {name}")
    fetch(plan, [name for task in tasks if task in EDGE_TASKS for name in EDGE_TASKS[task].data_set], say)


def _train_edge_probes(plan: Plan, say: Say) -> None:
    """Cumulative probes of the base and of its random twin."""
    request, base = plan.request, plan.family.base
    for encoder in (TRAINED, RANDOM):
        say(f"  {base}, {encoder} encoder:")
        edges_request = EdgesRequest(
            base,
            _with_data(plan),
            encoder=encoder,
            seeds=request.seeds,
            device=request.device,
            executor=request.executor,
        )
        train_edges(edges_request, say)


def _measure(plan: Plan, say: Say) -> None:
    request = plan.request
    for member in plan.members:
        recover(RecoverRequest(member.model, device=request.device, text=request.valid), say)


#: The paper's probing tasks and fine-tuning tasks; Figure 2 compares CoLA on the first token with CoLA on the mean.
TASKS = ("bigram-shift", "coordination-inversion", "odd-man-out")
OBJECTIVES = ("CoLA", "SST-2", "RTE", "QA-SQuAD-1", "CoLA (mean)")


def _sentence_tasks(request: ReproduceRequest) -> tuple[str, ...]:
    if request.tasks == ("all",):
        return TASKS
    if set(request.tasks) - set(TASKS):
        raise OptionError(
            f"got the tasks {','.join(request.tasks)!r}; expected all, or some of {', '.join(TASKS)}, separated by"
            " commas"
        )
    return request.tasks


def _members_of_base(request: ReproduceRequest, family: FamilyEntry) -> tuple[FamilyMember, ...]:
    return tuple(_member(family, CALLED[label]) for label in OBJECTIVES)


def _member(family: FamilyEntry, task: Task) -> FamilyMember:
    """The family's model of an objective, if it has the same base; else one that is fine-tuned here."""
    for member in family.members:
        if member.objective == task.label and (member.base or family.base) == family.base:
            return member.model_copy(update={"base": family.base})
    return made_here(task, family.base)


def _begin(plan: Plan, say: Say) -> None:
    say(
        f"{plan.family.base}, probed for {', '.join(plan.tasks)} by the protocol {plan.request.protocol}; fine-tuned"
        " models:"
    )
    for member in plan.members:
        say(f"  {in_words(member)}")


def _fetch_sentence_tasks(plan: Plan, say: Say) -> None:
    fetch(plan, ["wikitext-2-raw"] if plan.request.blocks else [], say)
    for task in plan.tasks:
        _fetch_task(plan, task, say)


def _fetch_task(plan: Plan, task: str, say: Say) -> None:
    """Any of a task's data sets is enough: a fetched one, or the first that can be fetched."""
    names = SENTENCE_TASKS[task].data_sets
    fetched = [name for name in names if (cache_folder() / "downloads" / name).is_dir()]
    for name in fetched[:1] or names:
        try:
            say(f"  {task}: {fetch_or_stand_in(plan.registry, name, plan.request.source, say)}")
            return
        except RegistryError as error:
            if name == names[-1] or fetched:
                raise
            say(f"  {task}: not from {name} ({error})")


def _train_sentence_probes(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        say(f"  {model}:")
        sentences_request = SentencesRequest(
            model, tasks=plan.tasks, protocol=request.protocol, device=request.device, executor=request.executor
        )
        train_sentences(sentences_request, say)


def _measure_changes(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        say(f"  {model}:")
        changes_request = ChangesRequest(
            model, blocks=request.blocks, sentences=request.sentences, device=request.device, executor=request.executor
        )
        measure_changes(changes_request, say)


def _parts_of_facts(plan: Plan) -> dict[Stage, list[str]]:
    trained = [f"train-heads {kind}" for kind in plan.request.heads if kind != LOGIT_LENS]
    n = len(plan.models)
    return {Stage.heads: trained * n, Stage.probe: ["probe"] * n * len(plan.request.heads)}


def _parts_of_sentences(plan: Plan) -> dict[Stage, list[str]]:
    n, train = len(plan.models), f"sentences train {plan.request.protocol}"
    return {Stage.train: [train] * n * len(plan.tasks), Stage.measure: ["changes measure"] * n}


PROCEDURES = {
    procedure.paper.name: procedure
    for procedure in (
        Procedure(
            BERTNESIA,
            "{family.title}",
            members=_members,
            parts=_parts_of_facts,
            steps={
                Stage.fetch: _fetch,
                Stage.finetune: fine_tune,
                Stage.heads: _heads,
                Stage.probe: _probe,
                Stage.tables: _tables,
            },
        ),
        Procedure(
            EDGE_PROBING,
            "Edge probing, {family.base}",
            prefix="edges-",
            tasks=_tasks,
            parts=lambda plan: {Stage.train: ["edges train"] * len((TRAINED, RANDOM)) * len(_with_data(plan))},
            steps={Stage.fetch: _fetch_edge_tasks, Stage.train: _train_edge_probes, Stage.tables: compare},
        ),
        Procedure(
            INTERPLAY,
            "Fine-tuning and probing, {family.base}",
            prefix="interplay-",
            tasks=_sentence_tasks,
            members=_members_of_base,
            begin=_begin,
            parts=_parts_of_sentences,
            steps={
                Stage.fetch: _fetch_sentence_tasks,
                Stage.finetune: fine_tune,
                Stage.train: _train_sentence_probes,
                Stage.measure: _measure_changes,
                Stage.tables: compare,
            },
        ),
        Procedure(
            FORGETTING,
            "Claims on forgetting, {family.base}",
            prefix="forgetting-",
            members=lambda request, family: tuple(family.members),
            parts=lambda plan: {Stage.measure: ["forgetting recover"] * len(plan.members)},
            steps={
                Stage.fetch: lambda plan, say: fetch(plan, ["wikitext-2"], say),
                Stage.measure: _measure,
                Stage.tables: compare,
            },
        ),
    )
}


def reproduce(request: ReproduceRequest, say: Say = print) -> None:
    """Does the stages of a paper, or one of them."""
    procedure = PROCEDURES[request.paper]
    plan, only = planned(request, procedure), request.only
    if only is not None and only not in procedure.steps:
        raise OptionError(f"got the stage {only.value!r}; --paper {request.paper} has {', '.join(procedure.steps)}")
    stages = [only] if only is not None else list(procedure.steps)
    procedure.begin(plan, say)
    for line in cost_in_words(_work(plan, stages)):
        say(line)
    for number, stage in enumerate(stages, 1):
        say(f"== {procedure.title.format(family=plan.family)}, stage {number} of {len(stages)}: {stage.value}")
        procedure.steps[stage](plan, say)
