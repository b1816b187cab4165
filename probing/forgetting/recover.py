"""Asks a fine-tuned model for the facts that it lost, by every way that may bring them back, and stores how each came
back.
"""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from probing.facts.corpus import fact_key, wikitext_sentences
from probing.facts.fact import Fact, FactSet, facts_sha256, shipped_relations
from probing.facts.stored_run import in_order, write_facts, write_relations
from probing.forgetting.memory import summary
from probing.forgetting.memory_groups import LOST, Groups, groups_of
from probing.forgetting.plant import planted
from probing.forgetting.ranks import Prompts, ranks
from probing.forgetting.recover_facts import one_set
from probing.forgetting.recover_run_rows import TABLES, Rows, fact_rows, run_rows, summary_rows
from probing.forgetting.requests_forgetting import RecoverRequest
from probing.forgetting.ways import reworded
from probing.forgetting.ways_back import (
    RecoveryRecipe,
    RecoveryWork,
    count_of_parts,
    known_inside,
    recovery_answers,
    try_ways,
)
from probing.forgetting.ways_back_fitted_heads import fitted_head
from probing.forgetting.ways_back_relearning import RelearnRecipe
from probing.forgetting.ways_run import ForgettingRunConfig
from probing.heads.training_run import fetched_text
from probing.kernel.errors import FactsError, ModelError, OptionError, Say
from probing.kernel.files import cache_folder, require_writable, result_folders, runs_folder
from probing.kernel.jobs.shards import claimed
from probing.kernel.jobs.stored_runs import RunFiles, provenance_of
from probing.kernel.models.catalogue import at_same_commits, open_encoder, opened_base
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.models.records import refuse_taken_name
from probing.kernel.models.tokens import askable
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.options import spelled
from probing.kernel.provenance import canonical_json
from probing.kernel.registry import ModelEntry
from probing.kernel.store.parquet import read_table


@dataclass(frozen=True)
class _Asked:
    """What one run is about.

    Attributes:
        tuned, base: the two models.
        kept: the facts that both can be asked, in the order in which they are stored; ``gold`` their answers.
        exposure: how each occurs in the base's training text; empty if that is not known.
        text: that the head is fitted to.
        other: the same facts in another wording, as far as it has them; None: they are not asked again.
        planted: how many facts the base was taught before.
    """

    tuned: Encoder
    base: Encoder
    objective: str
    kept: FactSet
    gold: Sequence[int]
    exposure: Sequence[str]
    text: Sequence[str]
    other: FactSet | None
    planted: int = 0


def recover(request: RecoverRequest, say: Say = print) -> Rows:
    """Asks for every lost fact by every way, and stores the run; resumable, does nothing the second time.

    Args:
        request: model and facts.
        say: called with each line for the user.

    Returns:
        Table -> the rows of the run.

    Raises:
        ModelError: if the model has no base, or another one than it was fine-tuned from; with ``plant``, if
            ``finetune`` did not make it.
        FactsError: if too few facts were lost, or the facts are of several probe sets.
        OptionError: if planted facts are asked in another wording.
        ProbingError: if model, facts or text are missing or not usable.
    """
    if request.plant and request.templates:
        raise OptionError(
            f"got {spelled('plant')} and {spelled('templates')}; planted facts have one wording, name one of the two"
        )
    used, target = set_threads(request.threads), request.out or runs_folder()
    for folder in (cache_folder(), target):
        require_writable(folder)
    asked = _opened(request, used, say)
    refuse_taken_name(asked.tuned, [target] if request.out else result_folders())
    recipe = RecoveryRecipe(
        k=request.k, seeds=tuple(range(1, request.seeds + 1)), relearning=RelearnRecipe(rate=request.rate)
    )
    config = _configuration(asked, recipe, request.positions, used)
    run = RunFiles(config, TABLES, target)
    say(f"{asked.tuned.name} and its base {asked.base.name}, {len(asked.kept.facts):,} facts of {asked.kept.probe_set}")
    folder = cache_folder() / "forgetting" / config.fingerprint
    # One process per run: the second waits, and then finds it finished.
    with claimed(folder, say):
        # What was planted is not true, so its words are not stored among the facts.
        if not request.plant:
            write_facts(asked.kept.facts, asked.kept.template_set, config.facts_sha256, target, say)
        write_relations(shipped_relations(), request.facts, target, say)
        if run.whole():
            say(f"  {config.fingerprint} exists already: {run.file(TABLES[-1])}")
        else:
            run.write(_found(asked, config, recipe, folder), asked.tuned)
            shutil.rmtree(folder, ignore_errors=True)
            say(f"  {config.fingerprint}: {run.file(TABLES[-1])}")
    return {table: read_table(run.file(table), table).to_pylist() for table in TABLES}


def _opened(request: RecoverRequest, threads: int, say: Say) -> _Asked:
    """Models, facts and text."""
    text = list(wikitext_sentences(request.text or fetched_text("valid")))
    entry = find_entry(request.model, request.base, request.name, request.revision)
    tuned = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    entry = at_same_commits(entry, tuned)
    origin, base = base_entry(entry), opened_base(tuned, entry)
    if origin is None or base is None:
        raise ModelError(
            f"{tuned.name} has no recorded base; name the model that it was fine-tuned from with {spelled('base')}"
        )
    found, answers = askable(one_set(request.facts, request.called, say), base)
    order = in_order(found.facts)
    facts = tuple(found.facts[n] for n in order)
    kept = FactSet(found.probe_set, facts, found.n_read, found.left_out, found.template_set)
    gold = [answers[n] for n in order]
    if request.plant:
        folder = cache_folder() / "forgetting" / "planted"
        control = planted(entry, base, kept, gold, request.plant, folder, threads, say)
        return _Asked(
            control.tuned,
            control.base,
            entry.objective,
            control.kept,
            control.gold,
            control.exposure,
            text,
            None,
            request.plant,
        )
    other = None
    if request.templates:
        other = askable(one_set(request.facts, request.called, say, request.templates), base)[0]
        if {fact.prompt for fact in other.facts} <= {fact.prompt for fact in facts}:
            raise FactsError(
                f"got {spelled('templates', request.templates)}; the facts of {found.probe_set} have no other wording"
                " there"
            )
    return _Asked(tuned, base, entry.objective, kept, gold, _exposure(origin, facts), text, other)


def _configuration(asked: _Asked, recipe: RecoveryRecipe, positions: int, threads: int) -> ForgettingRunConfig:
    """Everything that the numbers depend on."""
    return ForgettingRunConfig(
        **provenance_of(asked.tuned, asked.base, asked.objective, "the base's head", recipe.seeds[0], threads),
        base_weights=asked.base.weights_id,
        probe_set=asked.kept.probe_set,
        template_set=asked.kept.template_set,
        facts_sha256=facts_sha256(asked.kept.facts, asked.gold),
        k=recipe.k,
        seeds=len(recipe.seeds),
        most_relearned=recipe.most_relearned,
        most_pairs=recipe.most_pairs,
        relearning=canonical_json(vars(recipe.relearning)),
        text_sha256=_sha256(asked.text),
        positions=positions,
        exposure_sha256=_sha256(asked.exposure) if asked.exposure else "",
        planted=asked.planted,
        other_templates=asked.other.template_set if asked.other else "",
        other_sha256=_sha256([fact.prompt for fact in asked.other.facts]) if asked.other else "",
    )


def _found(asked: _Asked, config: ForgettingRunConfig, recipe: RecoveryRecipe, folder: Path) -> Rows:
    """The rows of a run; parts that were made before a kill are read."""

    def fit(model: Encoder):
        return fitted_head(model, asked.base, asked.text, config.positions)

    work = RecoveryWork(asked.base, asked.tuned, asked.kept.facts, asked.gold, fit, folder, recipe)
    answered = recovery_answers(work)
    groups = groups_of(answered, recipe.k, recipe.most_pairs)
    with tqdm(total=count_of_parts(recipe), unit="part", desc=f"recover {asked.tuned.name}") as bar:
        ways = list(try_ways(work, answered, groups, bar.update))
    found = summary(answered, groups, ways, known_inside(work, groups), recipe.k, asked.exposure)
    run_id = config.fingerprint
    return {
        **run_rows(config, asked.kept, answered, asked.tuned.layers, work.not_put_back),
        **summary_rows(run_id, found),
        "forgetting_facts": fact_rows(
            run_id, asked.kept, answered, groups, ways, found, asked.exposure, _reworded(asked, groups, recipe.k)
        ),
    }


def _reworded(asked: _Asked, groups: Groups, k: int) -> dict[int, str]:
    """Number of a lost fact -> what its other wording shows, of those that have one."""
    if asked.other is None:
        return {}
    prompts = {(fact.relation, fact.subject, fact.object): fact.prompt for fact in asked.other.facts}
    facts = asked.kept.facts
    again = {
        n: prompts.get((facts[n].relation, facts[n].subject, facts[n].object)) for n in groups.of[LOST].facts.tolist()
    }
    numbers = [n for n, prompt in again.items() if prompt and prompt != facts[n].prompt]
    tokens = Prompts.of([str(again[n]) for n in numbers], asked.base)
    before, after = (
        ranks(model, tokens, [asked.gold[n] for n in numbers])[0] <= k for model in (asked.base, asked.tuned)
    )
    return {n: reworded(bool(was), bool(now)) for n, was, now in zip(numbers, before, after, strict=True)}


def _exposure(base: ModelEntry, facts: Sequence[Fact]) -> list[str]:
    """How each fact occurs in the training text of a base that was made here; empty for any other."""
    files = sorted(Path(base.location).glob("exposure-*.parquet")) if Path(base.location).is_dir() else []
    if not files:
        return []
    rows = read_table(files[0], "exposure").to_pylist()
    kinds = {row["fact_key"]: row["exposure"] for row in rows}
    return [kinds.get(fact_key(fact), "") for fact in facts]


def _sha256(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
