"""From a family's name to the tables of the paper; resumable, finished steps are skipped."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from probing.core.errors import ModelError, StoreError
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.files.atomic import atomic_text
from probing.core.head_kinds import LEAST_SQUARES, LOGIT_LENS, MAPPED
from probing.core.paths import cache_folder, database_folder, result_folders, snapshot_folder
from probing.core.tasks.objectives import task_called
from probing.models.encoders.catalogue import open_encoder
from probing.models.heads.files import head_path, heads_folder, read_identity
from probing.models.heads.recipe import PRETRAINED, HeadRecipe
from probing.reports.knowledge.declared import KNOWLEDGE
from probing.reports.runs import choose
from probing.store.build import build_database
from probing.store.database import open_database
from probing.store.parquet import read_table
from probing.workflows.fetch import fetch_or_stand_in
from probing.workflows.finetune import FinetuneRequest, finetune
from probing.workflows.heads import train_heads
from probing.workflows.knowledge.probe import probe
from probing.workflows.reproduction.fetching import fetch_all
from probing.workflows.reproduction.plan import Plan, ReproduceRequest, planned
from probing.workflows.reproduction.stage import Stage, stages_of
from probing.workflows.requests.heads import HeadsRequest
from probing.workflows.requests.knowledge import ProbeRequest
from probing.workflows.say import Say


def reproduce(request: ReproduceRequest, only: Stage | None = None, say: Say = print) -> None:
    """Fetches, fine-tunes the models that the hub lacks, trains heads, probes, builds and writes the tables.

    Args:
        request: the reproduction.
        only: one stage instead of all.
        say: called with a line for each step.

    Raises:
        OptionError: for a stage that this paper lacks.
        ProbingError: as ``planned`` and the workflow of each stage.
    """
    plan = planned(request)
    stages = stages_of(STAGES, only, "bertnesia")
    for number, (stage, do) in enumerate(stages.items(), 1):
        say(f"== {plan.family.title}, stage {number} of {len(stages)}: {stage.value}")
        do(plan, say)


def _fetch(plan: Plan, say: Say) -> None:
    served = [*plan.bases, *(member.model for member in plan.members if member.how != "finetune")]
    fetch_all(plan.registry, served, _data_sets(plan), plan.request.source, say)


def _data_sets(plan: Plan) -> list[str]:
    """The data sets for fine-tuning and heads, each once."""
    needed = [task_called(member.objective).data_set for member in plan.members if member.how == "finetune"]
    heads = plan.request.heads
    if heads.text is None and set(heads.kinds) - {LOGIT_LENS} and any(not plan.ships(name) for name in plan.models):
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
        pooling = task.settings.get("pooling")
        finetune(FinetuneRequest(member.base, task.slug, data, out=out, length=request.tuning, device=device, pooling=pooling), say)


def _heads(plan: Plan, say: Say) -> None:
    request, heads = plan.request, plan.request.heads
    for model in plan.models:
        for kind in heads.kinds:
            if kind == LOGIT_LENS:
                continue
            if _ships_with_runs(plan, model, kind):
                say(f"  {model}, {kind}: ships with its results")
                continue
            _require_made(plan, model)
            encoder = open_encoder(model, None, request.device)
            found = heads_folder(model, encoder, kind, cache_folder())
            if found is not None:
                say(f"  {model}, {kind}: heads exist already: {found}{_otherwise(found, plan)}")
                continue
            # As in the paper; ``train-heads`` now starts otherwise by default.
            start = None if kind in MAPPED else PRETRAINED
            wanted = HeadsRequest(
                model, kind, text=heads.text, valid=heads.valid, positions=heads.positions, epochs=heads.epochs, start=start,
                start_positions=0, recipe_version=1, device=request.device, executor=request.executor,
            )  # fmt: skip
            train_heads(wanted, say)


def _otherwise(heads: Path, plan: Plan) -> str:
    """How the training of existing heads differs from the plan."""
    if cache_folder() not in heads.parents:
        # They ship with the model.
        return ""
    recipe = HeadRecipe.model_validate_json(read_identity(head_path(heads, 0)).recipe)
    asked = plan.request.heads
    length = f"{recipe.steps:,} steps" if recipe.steps else f"{recipe.epochs:,} epochs"
    begun = f" from {recipe.start}" if recipe.kind not in MAPPED and recipe.start != PRETRAINED else ""
    other = [f"{recipe.positions:,} positions"] if recipe.positions != asked.positions else []
    if recipe.kind != LEAST_SQUARES and (begun or length != f"{asked.epochs:,} epochs"):
        other.append(length + begun)
    words = f"the plan has {asked.positions:,} positions and {asked.epochs} epochs{f' from {PRETRAINED}' if begun else ''}"
    return f", trained on {' and '.join(other)} ({words}; delete the folder to train them as planned)" if other else ""


def _probe(plan: Plan, say: Say) -> None:
    request = plan.request
    for model in plan.models:
        for kind in request.heads.kinds:
            if _ships_with_runs(plan, model, kind):
                say(f"  {model}, {kind}: ships with its results")
                continue
            say(f"  {model}, {kind}:")
            _require_made(plan, model)
            # The database is built once, at the end.
            probe(ProbeRequest(model, request.facts, kind, device=request.device, executor=request.executor, rebuild=False), say)


def _require_made(plan: Plan, model: str) -> None:
    """Raises a ``ModelError`` for a model of the family that is fine-tuned here and does not exist yet."""
    made_here = any(member.model == model and member.how == "finetune" for member in plan.members)
    if made_here and not (cache_folder() / "models" / model / "config.json").is_file():
        command = f"python -m probing reproduce --family {plan.family.name} --only {Stage.finetune}"
        raise ModelError(f"{model} is fine-tuned here, from its base, and does not exist yet; run stage {Stage.finetune} first: {command}")


def _ships_with_runs(plan: Plan, model: str, kind: str) -> bool:
    """Whether the snapshot holds this model's runs on all shipped facts, so that nothing has to be computed."""
    if plan.request.facts != "all" or not plan.ships(model) or not snapshot_folder().is_dir():
        return False
    there = {probe_set for name, head, probe_set in _shipped_runs(snapshot_folder()) if (name, head) == (model, kind)}
    return bool(there) and there >= {found.probe_set for found in read_facts("all", shipped_relations())}


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
        # The facts are compared one model at a time.
        for report in (one for one in KNOWLEDGE.every if one.name != "facts"):
            of_facts = {} if report.name == "tasks" else {"head": kinds, "templates": plan.templates}
            table = report.table(db, KNOWLEDGE.choose(report.name, {"model": plan.models, **of_facts}))
            atomic_text(plan.out / f"{report.name}.csv", report.written(table, "csv"))
            atomic_text(plan.out / f"{report.name}.json", report.written(table, "json"))
            say(f"  {report.name}: {len(table):,} rows")
    say(f"  tables in {plan.out}; compare with the paper's on the dashboard's page Reproduction")


STAGES: Mapping[Stage, Callable[[Plan, Say], None]] = {
    Stage.fetch: _fetch,
    Stage.finetune: _finetune,
    Stage.heads: _heads,
    Stage.probe: _probe,
    Stage.build: _build,
    Stage.tables: _tables,
}
