"""How BERTnesia is reproduced: from a family's name to the tables."""

from functools import cache
from pathlib import Path

import pandas as pd

from probing.facts.fact import shipped_relations
from probing.facts.probe import probe
from probing.facts.report import KNOWLEDGE
from probing.facts.requests import ProbeRequest
from probing.facts.runs import choose
from probing.facts.sources import read_facts
from probing.finetuning.objectives import task_called
from probing.heads.files import head_path, heads_folder, read_identity
from probing.heads.recipe import PRETRAINED, HeadRecipe
from probing.heads.requests import HeadsRequest
from probing.heads.training_run import train_all_heads
from probing.kernel.errors import ModelError, Say, StoreError
from probing.kernel.files import cache_folder, result_folders, snapshot_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.names import LEAST_SQUARES, LOGIT_LENS, MAPPED
from probing.kernel.registry import FamilyEntry, FamilyMember
from probing.kernel.report import Form
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import read_table
from probing.papers.bertnesia_families import families_here
from probing.papers.bertnesia_measurements import subject_of
from probing.papers.bertnesia_paper import BERTNESIA
from probing.papers.claims import claims_frame, judge
from probing.papers.reproduce_plan import Plan, Procedure, made_here
from probing.papers.reproduce_steps import as_text, fetch, fine_tune, write_tables
from probing.papers.requests import ReproduceRequest, Stage


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
            start = None if kind in MAPPED else PRETRAINED
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
    begun = f" from {recipe.start}" if recipe.kind not in MAPPED and recipe.start != PRETRAINED else ""
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
        # The facts are compared one model at a time.
        reports = {report.name: report for report in KNOWLEDGE.every if report.name != "facts"}
        tables = {}
        for name, report in reports.items():
            of_facts = {} if name == "tasks" else {"head": heads, "templates": templates}
            tables[name] = report.table(db, KNOWLEDGE.choose(name, {"model": plan.models, **of_facts}))
        family = families_here(db)[plan.family.base]
        claims = [
            claims_frame(judge(db, BERTNESIA.numbers.claims, subject_of(family, head))).assign(head=head)
            for head in heads
        ]

    def text(table: pd.DataFrame, name: str, ending: Form) -> str:
        return reports[name].written(table, ending) if name in reports else as_text(table, name, ending)

    write_tables(plan, {**tables, "claims": pd.concat(claims)}, text, say)


REPRODUCE_BERTNESIA = Procedure(
    BERTNESIA,
    "{family.title}",
    members=_members,
    steps={
        Stage.fetch: _fetch,
        Stage.finetune: fine_tune,
        Stage.heads: _heads,
        Stage.probe: _probe,
        Stage.tables: _tables,
    },
)
