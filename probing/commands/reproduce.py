"""``probing reproduce``: from a family's name to the tables of the paper, in one command that can be killed and called again."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from probing.commands.executors import AddressOption, Who, Whose, WhoseOption, WorkersOption, executor
from probing.core.errors import RegistryError, StoreError
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.files.atomic import write_whole
from probing.core.paths import cache_folder, database_folder, result_folders, runs_folder, snapshot_folder
from probing.core.registry import FamilyEntry, FamilyMember, Registry, read_registry


class Stage(StrEnum):
    """What is done one after the other."""

    fetch = "fetch"
    finetune = "finetune"
    heads = "heads"
    probe = "probe"
    build = "build"
    tables = "tables"


@dataclass(frozen=True)
class Plan:
    """What one call makes.

    Attributes:
        family: the registry's entry.
        members: its fine-tuned models, as they will be made.
        bases: the models they come from, the family's own first.
        heads: kinds of heads.
        facts: what ``probe`` takes.
        templates: the template set that the tables read.
        out: folder of the tables.
    """

    registry: Registry
    family: FamilyEntry
    members: tuple[FamilyMember, ...]
    bases: tuple[str, ...]
    heads: tuple[str, ...]
    facts: str
    templates: str
    out: Path
    source: Path | None
    text: Path | None
    valid: Path | None
    steps: int | None
    tokens: int | None
    pieces: int | None
    positions: int
    epochs: int
    device: str
    who: Who
    workers: int | None
    address: str | None

    @property
    def models(self) -> tuple[str, ...]:
        """Bases and members."""
        return (*self.bases, *(member.model for member in self.members))

    def ships(self, model: str) -> bool:
        """Whether a model lies in the repository."""
        return any(entry.name == model and entry.shipped for entry in self.registry.models)


def reproduce(
    family: Annotated[str, typer.Option(help="A family of the registry.")] = "bert-base",
    heads: Annotated[str, typer.Option(help="Kinds of heads, separated by commas: tied, lens, full.")] = "tied,lens",
    facts: Annotated[str, typer.Option(help="As probe takes them; a LAMA folder is asked in its own templates.")] = "all",
    out: Annotated[Path | None, typer.Option(help="Folder of the tables; none: cache/reproduction/FAMILY.")] = None,
    only: Annotated[Stage | None, typer.Option(help="One stage instead of all.")] = None,
    source: Annotated[Path | None, typer.Option("--from", help="Folder of local copies; nothing is downloaded.")] = None,
    own: Annotated[bool, typer.Option("--own", help="Fine-tune every model here, also those that the hub serves.")] = False,
    text: Annotated[Path | None, typer.Option(help="Text that heads learn from; none: the fetched WikiText-2.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Text that heads are validated on; none: the fetched WikiText-2.")] = None,
    steps: Annotated[int | None, typer.Option(help="Fine-tuning steps; none: each objective's own epochs.", min=1)] = None,
    tokens: Annotated[int | None, typer.Option(help="Padded tokens a fine-tuning step instead of rows a step.", min=1)] = None,
    pieces: Annotated[int | None, typer.Option(help="Longest fine-tuning input in word pieces.", min=16)] = None,
    positions: Annotated[int, typer.Option(help="Masked positions that heads learn from.", min=1)] = 30_000,
    epochs: Annotated[int, typer.Option(help="Passes of the heads over them.", min=1)] = 3,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    who: WhoseOption = Whose.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
) -> None:
    """Fetch, fine-tune what no hub model serves, train heads, probe, build, write the tables; resumable, skips what is done."""
    registry = read_registry()
    entry = registry.family(family)
    members = tuple(_as_made(member, entry, own) for member in entry.members)
    bases = tuple(dict.fromkeys([entry.base, *(member.base for member in members)]))
    kinds = tuple(kind.strip() for kind in heads.split(",") if kind.strip())
    if not kinds or set(kinds) - {"tied", "lens", "full"}:
        raise typer.BadParameter(f"got heads {heads!r}; expected some of tied, lens, full, separated by commas")
    # Options that do not fit are refused now, and not after days of fine-tuning.
    executor(who, 1, device, workers, address)
    templates = "lama" if Path(facts, "relations.jsonl").is_file() else "default"
    plan = Plan(
        registry, entry, members, bases, kinds, facts, templates, out or cache_folder() / "reproduction" / family, source, text, valid,
        steps, tokens, pieces, positions, epochs, device, Who(who), workers, address,
    )  # fmt: skip
    stages = {
        Stage.fetch: _fetch, Stage.finetune: _finetune, Stage.heads: _heads, Stage.probe: _probe, Stage.build: _build,
        Stage.tables: _tables,
    }  # fmt: skip
    _run({stage: step for stage, step in stages.items() if only in (None, stage)}, plan)


def _run(stages: dict[Stage, Callable[[Plan], None]], plan: Plan) -> None:
    for number, (stage, step) in enumerate(stages.items(), 1):
        typer.echo(f"== {plan.family.title}, stage {number} of {len(stages)}: {stage.value}")
        step(plan)


def _as_made(member: FamilyMember, family: FamilyEntry, own: bool) -> FamilyMember:
    """The member with its base filled in; under ``own`` one that the hub serves is fine-tuned here under a name of its own."""
    base = member.base or family.base
    if own and member.how == "hub":
        return member.model_copy(update={"base": base, "how": "finetune", "model": f"{base}-{member.objective.lower()}"})
    return member.model_copy(update={"base": base})


def _fetch(plan: Plan) -> None:
    from probing.commands.fetch import fetch_model

    served = [*plan.bases, *(member.model for member in plan.members if member.how != "finetune")]
    for name in served:
        entry = plan.registry.model(name)
        kept = cache_folder() / "models" / entry.name
        if (kept / "config.json").is_file():
            typer.echo(f"  {name} is there already: {kept}")
        else:
            typer.echo(f"  {name}: {fetch_model(entry, plan.source)}")
    for name in _data_sets(plan):
        typer.echo(f"  {name}: {_data_folder(plan, name)}")


def _data_sets(plan: Plan) -> list[str]:
    """The data sets that fine-tuning and heads need, each once."""
    from probing.commands.finetune import LABELS

    needed = [LABELS[_slug(member)][1] for member in plan.members if member.how == "finetune"]
    if plan.text is None and set(plan.heads) - {"lens"} and any(not plan.ships(name) for name in plan.models):
        needed.append("wikitext-2")
    return list(dict.fromkeys(name for name in needed if name))


def _data_folder(plan: Plan, name: str) -> Path:
    from probing.commands.fetch import fetch_or_stand_in

    return fetch_or_stand_in(plan.registry, name, plan.source)


def _slug(member: FamilyMember) -> str:
    """The name that ``finetune`` has for a member's objective."""
    from probing.commands.finetune import LABELS

    for slug, (label, _) in LABELS.items():
        if label == member.objective:
            return slug
    known = ", ".join(label for label, _ in LABELS.values())
    raise RegistryError(f"{member.model} has the objective {member.objective!r}; finetune knows {known}")


def _finetune(plan: Plan) -> None:
    from probing.commands.finetune import LABELS, Objective, finetune

    for member in plan.members:
        if member.how != "finetune":
            typer.echo(f"  {member.model}: {member.how}")
            continue
        slug = _slug(member)
        data = _data_folder(plan, LABELS[slug][1]) if LABELS[slug][1] else plan.text
        finetune(
            member.base, Objective(slug), data=data, out=cache_folder() / "models" / member.model, steps=plan.steps, tokens=plan.tokens,
            pieces=plan.pieces, device="cpu" if plan.device == "cpu" else "auto",
        )  # fmt: skip


def _heads(plan: Plan) -> None:
    from probing.commands.train_heads import train_heads
    from probing.models.encoders.catalogue import open_encoder
    from probing.models.heads.files import heads_folder

    for model in plan.models:
        for kind in plan.heads:
            if kind == "lens":
                continue
            if _ships_with_runs(plan, model, kind):
                typer.echo(f"  {model}, {kind}: ships with its results")
                continue
            encoder = open_encoder(model, None, plan.device)
            found = heads_folder(model, encoder, kind, cache_folder())
            if found is not None:
                typer.echo(f"  {model}, {kind}: heads are there already: {found}{_otherwise(found, plan)}")
                continue
            train_heads(
                model, kind, text=plan.text, valid=plan.valid, positions=plan.positions, epochs=plan.epochs, device=plan.device,
                who=plan.who, workers=plan.workers, address=plan.address,
            )  # fmt: skip


def _otherwise(heads: Path, plan: Plan) -> str:
    """What heads that were trained before learnt from, where it is not what the plan says."""
    from probing.models.heads.files import head_path, read_identity
    from probing.models.heads.recipe import HeadRecipe

    if cache_folder() not in heads.parents:
        # They ship with the model.
        return ""
    recipe = HeadRecipe.model_validate_json(read_identity(head_path(heads, 0)).recipe)
    other = [f"{getattr(recipe, name):,} {name}" for name in ("positions", "epochs") if getattr(recipe, name) != getattr(plan, name)]
    asked = f"asked are {plan.positions:,} positions and {plan.epochs} epochs; delete the folder to train them so"
    return f", trained on {' and '.join(other)} ({asked})" if other else ""


def _probe(plan: Plan) -> None:
    from probing.commands.probe import probe

    for model in plan.models:
        for kind in plan.heads:
            if _ships_with_runs(plan, model, kind):
                typer.echo(f"  {model}, {kind}: ships with its results")
                continue
            typer.echo(f"  {model}, {kind}:")
            # A named folder leaves the database alone: it is built once, after all of them.
            probe(
                model, plan.facts, kind, out=runs_folder(), device=plan.device, who=plan.who, workers=plan.workers, address=plan.address
            )  # fmt: skip


def _ships_with_runs(plan: Plan, model: str, kind: str) -> bool:
    """Whether the snapshot holds this model's runs on all facts that ship, so that nothing need be computed."""
    if plan.facts != "all" or not plan.ships(model) or not snapshot_folder().is_dir():
        return False
    there = {probe_set for name, head, probe_set in _shipped_runs(snapshot_folder()) if (name, head) == (model, kind)}
    return bool(there) and there >= {found.probe_set for found in read_facts("all", shipped_relations())}


@cache
def _shipped_runs(folder: Path) -> frozenset[tuple[str, str, str]]:
    """Model, head and probe set of every primary run in a folder."""
    from probing.store.parquet import read_table

    rows = (row for path in folder.glob("runs-*.parquet") for row in read_table(path, "runs").to_pylist())
    return frozenset((row["model"], row["head"], row["probe_set"]) for row in rows if row["role"] == "primary")


def _build(plan: Plan) -> None:
    from probing.store.build import build_database

    typer.echo(f"  {build_database(result_folders(), database_folder())}")


def _tables(plan: Plan) -> None:
    from probing.commands.report import What, table_of, written
    from probing.reports.runs import choose
    from probing.store.database import open_database

    plan.out.mkdir(parents=True, exist_ok=True)
    with open_database(database_folder()) as db:
        probed = choose(db, plan.models, plan.heads, templates=plan.templates)
        if missing := set(plan.models) - set(probed["model"]):
            again = f"python -m probing reproduce --family {plan.family.name}"
            raise StoreError(f"no runs of {', '.join(sorted(missing))}; make them with: {again}")
        for what in What:
            sets = ["trex"] if what is What.forgotten else None
            table = table_of(db, what, plan.models, plan.heads, sets, templates=plan.templates)
            for form in ("csv", "json"):
                write_whole(plan.out / f"{what.value}.{form}", written(table, what.value, form))
            typer.echo(f"  {what.value}: {len(table):,} rows")
    typer.echo(f"  tables in {plan.out}; beside the paper's: the dashboard's page Reproduction")
