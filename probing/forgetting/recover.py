"""Asks a fine-tuned model for the facts that it lost, by every way back, and stores how each came back."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from probing.facts.askable import askable
from probing.facts.corpus import fact_key
from probing.facts.sources import read_facts
from probing.facts.stored_run import in_order, write_facts, write_relations
from probing.forgetting.lesson_kinds import IN_OTHER_WORDING
from probing.forgetting.memory import LOST, Against, Answered, Groups, ShareBack, Summary, groups_of, summary
from probing.forgetting.plant import planted
from probing.forgetting.ranks import Prompts, ranks
from probing.forgetting.requests import RecoverRequest, TunedAndBase
from probing.forgetting.savings import TOO_FEW, SavingsRecipe, savings_rows
from probing.forgetting.savings_curves import savings
from probing.forgetting.ways import (
    ANY,
    AS_IT_IS,
    BY_ANSWER,
    BY_SUBJECT,
    FITTED_HEAD,
    LAYERS_BACK,
    LESSONS,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    STEPS,
    USUAL_STEPS,
    ForgettingRunConfig,
    Tried,
    reworded,
)
from probing.forgetting.ways_back import (
    RecoveryRecipe,
    RecoveryWork,
    RelearnRecipe,
    count_of_parts,
    fitted_head,
    known_inside,
    lessons_by_kind,
    notes_on_lessons,
    recovery_answers,
    try_ways,
)
from probing.heads.training_run import fetched_text
from probing.kernel.errors import FactsError, ModelError, OptionError, Say
from probing.kernel.fact import Fact, FactSet, facts_sha256, shipped_relations
from probing.kernel.files import cache_folder, require_writable, result_folders, runs_folder
from probing.kernel.jobs.shards import claimed
from probing.kernel.jobs.stored_runs import RunFiles, provenance_of
from probing.kernel.models.catalogue import at_same_commits, open_encoder, opened_base
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.models.records import refuse_taken_name
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.options import spelled
from probing.kernel.provenance import canonical_json
from probing.kernel.registry import ModelEntry, has_data
from probing.kernel.store.parquet import read_table
from probing.kernel.text import wikitext_sentences


def one_set(facts: str, own_name: str | None = None, say: Say = print, templates: str | None = None) -> FactSet:
    """The facts that a name or a path gives, as ``read_facts`` takes it; refused if they are several probe sets.

    ``own_name`` None calls the user's own facts by their file's name; ``say`` gets how a table of the user's was read.
    """
    sets = read_facts(facts, shipped_relations(), templates, own_name=own_name)
    if len(sets) != 1:
        names = ", ".join(one.probe_set for one in sets)
        raise FactsError(f"got the probe sets {names} with {spelled('facts', facts)}; expected one of them")
    if sets[0].said:
        say(f"{sets[0].probe_set}: {sets[0].said}")
    return sets[0]


#: Table -> its rows.
Rows = Mapping[str, list[dict[str, Any]]]
#: In the order in which they are written: a run exists when its row does.
TABLES = ("forgetting_facts", "forgetting_relations", "forgetting_shares", "forgetting_excesses", "forgetting_runs")


def run_rows(config: ForgettingRunConfig, kept: FactSet, asked: Answered, layers: int, not_put_back: str) -> Rows:
    """The rows on the run as a whole; its own row lacks device and date. ``layers`` include layer 0."""
    run_id, facts = config.fingerprint, kept.facts
    known, lost = (asked.base_rank <= config.k).nonzero()[0].tolist(), asked.lost(config.k).tolist()
    of_known, of_lost = (Counter(facts[n].relation for n in numbers) for numbers in (known, lost))
    run = {
        **{
            name: getattr(config, name)
            for name in ("model", "probe_set", "template_set", "k", "seed", "seeds", "planted", "code_version")
        },
        **{name: getattr(config, name) or None for name in ("model_revision", "base", "objective", "other_templates")},
        "run_id": run_id,
        "layers": layers,
        "facts": len(facts),
        "known": len(known),
        "kept": len(known) - len(lost),
        "lost": len(lost),
        "not_put_back": not_put_back or None,
        "left_out": json.dumps(kept.left_out, sort_keys=True),
        "config": config.canonical(),
    }
    of_relations = [
        {"run_id": run_id, "relation": name, "known": n, "kept": n - of_lost[name], "lost": of_lost[name]}
        for name, n in sorted(of_known.items())
    ]
    return {"forgetting_runs": [run], "forgetting_relations": of_relations}


def summary_rows(run_id: str, found: Summary) -> Rows:
    """The rows of shares and differences."""

    def key(one: ShareBack | Against) -> dict[str, Any]:
        return {"run_id": run_id, "way": one.way, "level": one.level, "protocol": one.protocol}

    shares = [
        key(one)
        | {"asked": one.group, "share": one.share.value}
        | {name: getattr(one.share, name) for name in ("n", "low", "high")}
        for one in found.shares
    ]
    excesses = [
        key(one)
        | {"yardstick": one.yardstick, "yardstick_share": one.difference.yardstick}
        | dict(zip(("low_without", "high_without"), one.without or (None, None), strict=True))
        | {name: getattr(one.difference, name) for name in ("share", "low", "high", "error", "n", "n_yardstick")}
        for one in found.against
    ]
    return {"forgetting_shares": shares, "forgetting_excesses": excesses}


def fact_rows(
    run_id: str,
    kept: FactSet,
    asked: Answered,
    groups: Groups,
    tried: Sequence[Tried],
    found: Summary,
    exposure: Sequence[str],
    reworded: Mapping[int, str],
) -> list[dict[str, Any]]:
    """One row per lost fact, matched never-known fact and wrong answer: how it came back.

    ``exposure`` is how the base's training text has each fact, ``reworded`` what another wording shows.
    """
    by = {(one.way, one.protocol): one for one in tried}
    rows = []
    for name, group in groups.of.items():
        numbers = group.facts
        base_logp, ranks, logp = asked.of(name)
        columns: dict[str, list[Any]] = {
            "fact_id": [kept.facts[n].fact_id for n in numbers],
            "relation": [kept.facts[n].relation for n in numbers],
            "answer": group.targets.tolist(),
            "layer": _first_level(by[OTHER_LAYER, AS_IT_IS], name),
            "fitted": by[FITTED_HEAD, AS_IT_IS].at(ANY, name)[0].tolist(),
            "layers_back": _first_level(by.get((LAYERS_BACK, AS_IT_IS)), name, len(numbers)),
            **{f"after_{steps}": _seeds(by[RELEARNED, BY_ANSWER], steps, name) for steps in STEPS},
            "by_subject": _seeds(by[RELEARNED, BY_SUBJECT], USUAL_STEPS, name),
            # Not rounded: equal confidence is a function of the logit, which is steep near 1.
            "base_logp": base_logp[numbers].tolist(),
            "logp": _rounded(logp[numbers]),
            "rank": ranks[numbers].tolist(),
            "margin": _rounded(asked.first_logp[numbers] - logp[numbers]),
        }
        if name == LOST:
            columns["way"] = found.outcomes
            columns["random_layer"] = by[OTHER_LAYER, RANDOM_BODY].at(ANY, name)[0].tolist()
            columns["random_body"] = by[RELEARNED, RANDOM_BODY].at(USUAL_STEPS, name)[0].tolist()
            columns["exposure"] = [exposure[n] or None if exposure else None for n in numbers]
            columns["reworded"] = [reworded.get(n) for n in numbers.tolist()]
        rows += [
            {"run_id": run_id, "asked": name, **dict(zip(columns, row, strict=True))}
            for row in zip(*columns.values(), strict=True)
        ]
    return rows


def _first_level(tried: Tried | None, group: str, size: int = 0) -> list[int | None]:
    """(answers,) the first level that brings an answer back; None where none does, or the way was not gone."""
    if tried is None:
        return [None] * size
    back: NDArray[np.bool_] = tried.back[group][0]
    return [
        None if n < 0 else int(n) for n in np.where(back.any(0), np.array(tried.levels)[back.argmax(0)], -1).tolist()
    ]


def _seeds(tried: Tried, steps: int, group: str) -> list[str]:
    """(answers,) a digit for every seed: 1 if it brings the answer back."""
    return ["".join("01"[int(whether)] for whether in seeds) for seeds in tried.at(steps, group).T.tolist()]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return np.round(values, 3).tolist()


@dataclass(frozen=True)
class _Asked:
    """What one run is about."""

    tuned: Encoder  #: the two models
    base: Encoder
    objective: str
    kept: FactSet  #: the facts that both can be asked, in the order in which they are stored; ``gold`` their answers
    gold: Sequence[int]
    exposure: Sequence[str]  #: how each occurs in the base's training text; empty if that is not known
    text: Sequence[str]  #: that the head is fitted to
    other: FactSet | None  #: the same facts in another wording, as far as it has them; None: they are not asked again
    planted: int = 0  #: how many facts the base was taught before
    besides: FactSet | None = None  #: from which kept facts are taught, too, if these have too few
    untaught: Sequence[tuple[int, int]] = ()  #: facts with answers that were drawn like these, but not taught
    savings: bool = False  #: whether what the base said is taught again beside counterfeits


def recover(request: RecoverRequest, say: Say = print) -> Rows:
    """Asks for every lost fact by every way, and stores the run; returns its rows by table."""
    if request.plant and request.templates:
        raise OptionError(
            f"got {spelled('plant')} and {spelled('templates')}; planted facts have one wording, name one of the two"
        )
    used, target = set_threads(request.threads), request.out or runs_folder()
    for folder in (cache_folder(), target):
        require_writable(folder)
    asked = replace(_opened(request, used, say), savings=request.savings)
    asked = replace(asked, besides=_besides(request, asked.kept, say))
    refuse_taken_name(asked.tuned, [target] if request.out else result_folders())
    recipe = RecoveryRecipe(
        k=request.k,
        seeds=tuple(range(1, request.seeds + 1)),
        relearning=RelearnRecipe(rate=request.rate),
        lessons=tuple(kind for kind in LESSONS if kind in request.lessons),
    )
    config = _configuration(asked, recipe, request.positions, used)
    tables = (*(["forgetting_savings"] if request.savings else []), *TABLES)
    run = RunFiles(config, tables, target)
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
    return {table: read_table(run.file(table), table).to_pylist() for table in tables}


def opened_pair(request: TunedAndBase) -> tuple[ModelEntry, Encoder, ModelEntry, Encoder]:
    """Entry and encoder of a fine-tuned model, and of its base."""
    entry = find_entry(request.model, request.base, request.name, request.revision)
    tuned = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    entry = at_same_commits(entry, tuned)
    origin, base = base_entry(entry), opened_base(tuned, entry)
    if origin is None or base is None:
        raise ModelError(
            f"{tuned.name} has no recorded base; name the model that it was fine-tuned from with {spelled('base')}"
        )
    return entry, tuned, origin, base


def _opened(request: RecoverRequest, threads: int, say: Say) -> _Asked:
    """Models, facts and text."""
    text = list(wikitext_sentences(request.text or fetched_text("valid")))
    entry, tuned, origin, base = opened_pair(request)
    found, answers = askable(one_set(request.facts, request.called, say), base)
    order = in_order(found.facts)
    facts = tuple(found.facts[n] for n in order)
    kept = FactSet(found.probe_set, facts, found.n_read, found.left_out, found.template_set)
    gold = [answers[n] for n in order]
    if request.plant:
        folder = cache_folder() / "forgetting" / "planted"
        new = planted(entry, base, kept, gold, request.plant, folder, threads, say)
        asked = _Asked(new.tuned, new.base, entry.objective, new.kept, new.gold, new.exposure, text, None)
        return replace(asked, planted=request.plant // 2, untaught=new.untaught)
    other = _other(request, base, facts, say)
    return _Asked(tuned, base, entry.objective, kept, gold, _exposure(origin, facts), text, other)


def _other(request: RecoverRequest, base: Encoder, facts: Sequence[Fact], say: Say) -> FactSet | None:
    """The facts in another wording; None if none is asked for, or only lessons want one that there is not."""
    templates = request.templates or ("paraphrase" if {*IN_OTHER_WORDING} & {*request.lessons} else None)
    if not templates:
        return None
    try:
        other = askable(one_set(request.facts, request.called, say, templates), base)[0]
        if {fact.prompt for fact in other.facts} <= {fact.prompt for fact in facts}:
            raise FactsError(
                f"got {spelled('templates', templates)}; the facts of {other.probe_set} have no other wording there"
            )
    except FactsError:
        if request.templates:
            raise
        return None
    return other


def _besides(request: RecoverRequest, kept: FactSet, say: Say) -> FactSet | None:
    """T-REx without the prompts of the set itself; None if no kept facts are taught, or T-REx does not ship here."""
    if "kept" not in request.lessons or kept.probe_set == "trex" or not has_data():
        return None
    trex, prompts = one_set("trex", say=say), {fact.prompt for fact in kept.facts}
    return replace(trex, facts=tuple(fact for fact in trex.facts if fact.prompt not in prompts))


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
        savings=canonical_json(vars(SavingsRecipe())) if asked.savings else "",
        lessons=recipe.lessons,
        besides_sha256=_sha256([fact.prompt for fact in asked.besides.facts]) if asked.besides else "",
    )


def _found(asked: _Asked, config: ForgettingRunConfig, recipe: RecoveryRecipe, folder: Path) -> Rows:
    """The rows of a run; parts that were made before a kill are read."""

    def fit(model: Encoder):
        return fitted_head(model, asked.base, asked.text, config.positions)

    wordings = _other_wordings(asked)
    models, facts = (asked.base, asked.tuned), (asked.kept.facts, asked.gold)
    work = RecoveryWork(*models, *facts, fit, folder, recipe, wordings, asked.besides)
    answered = recovery_answers(work)
    groups = groups_of(answered, recipe.k, recipe.most_pairs)
    lessons = lessons_by_kind(work, answered, groups)
    with tqdm(total=count_of_parts(recipe), unit="part", desc=f"recover {asked.tuned.name}") as bar:
        ways = list(try_ways(work, answered, groups, bar.update, lessons))
    found = summary(answered, groups, ways, known_inside(work, groups), recipe.k, asked.exposure)
    run_id = config.fingerprint
    given = (asked.exposure, asked.untaught)
    saved = savings(work, answered, groups, SavingsRecipe(), *given) if asked.savings else []
    notes = notes_on_lessons(work, lessons)
    for one in saved:
        if one.group == LOST and not one.difference:
            notes[TOO_FEW] = one.able
    kept = replace(asked.kept, left_out={**asked.kept.left_out, **notes})
    again = _reworded(asked, wordings, groups, recipe.k)
    return {
        **run_rows(config, kept, answered, asked.tuned.layers, work.not_put_back),
        **summary_rows(run_id, found),
        "forgetting_facts": fact_rows(run_id, kept, answered, groups, ways, found, asked.exposure, again),
        "forgetting_savings": savings_rows(run_id, saved),
    }


def _other_wordings(asked: _Asked) -> dict[int, str]:
    """Number of a fact -> its prompt in the other wording, of those that have one."""
    others = asked.other.facts if asked.other else ()
    prompts = {(fact.relation, fact.subject, fact.object): fact.prompt for fact in others}
    again = {n: prompts.get((one.relation, one.subject, one.object)) for n, one in enumerate(asked.kept.facts)}
    return {n: prompt for n, prompt in again.items() if prompt and prompt != asked.kept.facts[n].prompt}


def _reworded(asked: _Asked, wordings: Mapping[int, str], groups: Groups, k: int) -> dict[int, str]:
    """Number of a lost fact -> what its other wording shows, of those that have one."""
    numbers = [n for n in groups.of[LOST].facts.tolist() if n in wordings]
    if not numbers:
        return {}
    tokens = Prompts.of([wordings[n] for n in numbers], asked.base)
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
