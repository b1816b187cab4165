"""The steps that the reproductions of several papers have."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from probing.finetuning.finetune import finetune
from probing.finetuning.objectives import task_called
from probing.finetuning.requests import FinetuneRequest, TrainingLength
from probing.kernel.errors import Say, StoreError
from probing.kernel.fetch import fetch_model, fetch_or_stand_in
from probing.kernel.files import atomic_text, cache_folder, result_folders
from probing.kernel.registry import FamilyMember
from probing.kernel.report import as_csv
from probing.kernel.store.opening import open_database
from probing.papers.reproduce_plan import Plan

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
