"""Asks a fine-tuned model for the facts that it lost, by every way that may bring them back."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from probing.core.errors import FactsError, ModelError
from probing.core.facts.fact import Fact, FactSet
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.files.disk_errors import require_writable
from probing.core.forgetting.summary import Summary, summary
from probing.core.model_folders import base_entry, find_entry
from probing.core.nesia.corpus import fact_key, wikitext_sentences
from probing.core.options import spelled
from probing.core.paths import cache_folder
from probing.core.provenance import RANDOM_BODY
from probing.core.registry import ModelEntry
from probing.models.encoders.answer_tokens import askable
from probing.models.encoders.catalogue import at_same_commits, open_encoder, opened_base
from probing.models.encoders.load import Encoder
from probing.models.encoders.random_encoder import encoder_of_kind
from probing.models.forgetting.fitting import fitted_head
from probing.models.forgetting.recovering import RecoveryRecipe, RecoveryWork, asked_of, count_of_parts, parts, splits_of
from probing.models.forgetting.relearning import RelearnRecipe
from probing.models.runtime.torch_settings import set_threads
from probing.store.parquet import read_table
from probing.workflows.heads.work import fetched_text
from probing.workflows.requests.forgetting import RecoverRequest
from probing.workflows.say import Say


@dataclass(frozen=True)
class Recovered:
    """What a recovery found, with what it is about.

    Attributes:
        model, base: their names.
        facts: those that both were asked; numbers in ``found`` point here.
        known: number that the base knows.
        found: verdicts, shares and excesses.
    """

    model: str
    base: str
    facts: Sequence[Fact]
    known: int
    found: Summary


def recover(request: RecoverRequest, say: Say = print) -> Recovered:
    """Asks for every lost fact by every way; a killed run goes on where it was, and a finished one is read.

    Args:
        request: model and facts.
        say: called with each line for the user.

    Raises:
        ModelError: if the model has no base, or another one than it was fine-tuned from.
        FactsError: if too few facts were lost, or the facts are of several probe sets.
        ProbingError: if model, facts or text are missing or not usable.
    """
    used = set_threads(request.threads)
    text = list(wikitext_sentences(request.text or fetched_text("valid")))
    tuned, base, entry = _opened(request)
    kept, gold = askable(_facts(request), base)
    recipe = RecoveryRecipe(
        k=request.k, seeds=tuple(range(1, request.seeds + 1)), relearning=RelearnRecipe(rate=request.rate)
    )  # fmt: skip
    folder = cache_folder() / "forgetting" / _identity(tuned, base, kept.facts, text, recipe, request.positions, used)
    require_writable(folder)
    say(f"{tuned.name} and its base {base.name}, {len(kept.facts):,} facts of {kept.probe_set}")
    fitted = fitted_head(tuned, base, text, request.positions)
    fitted_random = fitted_head(encoder_of_kind(tuned, RANDOM_BODY), base, text, request.positions)
    work = RecoveryWork(base, tuned, kept.facts, gold, fitted, fitted_random, folder, recipe)
    asked = asked_of(work)
    splits = splits_of(work, asked)
    done = list(tqdm(parts(work, asked, splits), total=count_of_parts(recipe), unit="part", desc=f"recover {tuned.name}"))
    found = summary(asked, splits, done, recipe.k, _exposure(entry, kept.facts))
    return Recovered(tuned.name, base.name, kept.facts, int((asked.base_rank <= recipe.k).sum()), found)


def _opened(request: RecoverRequest) -> tuple[Encoder, Encoder, ModelEntry]:
    """The fine-tuned model, its base, and where the base is."""
    entry = find_entry(request.model, request.base, request.name, request.revision)
    tuned = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    entry = at_same_commits(entry, tuned)
    origin, base = base_entry(entry), opened_base(tuned, entry)
    if origin is None or base is None:
        raise ModelError(f"{tuned.name} has no recorded base; name the model that it was fine-tuned from with {spelled('base')}")
    return tuned, base, origin


def _facts(request: RecoverRequest) -> FactSet:
    sets = read_facts(request.facts, shipped_relations())
    if len(sets) != 1:
        names = ", ".join(one.probe_set for one in sets)
        raise FactsError(f"got the probe sets {names} with {spelled('facts', request.facts)}; expected one of them")
    return sets[0]


def _identity(
    tuned: Encoder, base: Encoder, facts: Sequence[Fact], text: Sequence[str], recipe: RecoveryRecipe, positions: int, threads: int
) -> str:
    """Everything that the numbers depend on, so that the parts of one recovery never serve another."""
    digest = hashlib.sha256()
    for one in (tuned.identity, tuned.configuration, base.identity, base.configuration, repr(recipe), str(positions), str(threads)):
        digest.update(f"{one}\n".encode())
    for fact in facts:
        digest.update(f"{fact.fact_id} {fact.prompt}\n".encode())
    for line in text:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:16]


def _exposure(base: ModelEntry, facts: Sequence[Fact]) -> list[str]:
    """How each fact occurs in the training text of a base that was made here; empty for any other."""
    files = sorted(Path(base.location).glob("exposure-*.parquet")) if Path(base.location).is_dir() else []
    if not files:
        return []
    rows = read_table(files[0], "exposure").to_pylist()
    kinds = {row["fact_key"]: row["exposure"] for row in rows}
    return [kinds.get(fact_key(fact), "") for fact in facts]


def as_json(recovered: Recovered) -> str:
    """All numbers, one line per row."""
    found = recovered.found
    rows = {
        "facts": [{**vars(one), "fact": recovered.facts[one.fact].fact_id} for one in found.facts],
        "shares": [vars(one) for one in found.shares],
        "excesses": [{**vars(one), "excess": vars(one.excess)} for one in found.excesses],
    }
    return json.dumps({"model": recovered.model, "base": recovered.base, "known": recovered.known, **rows}, indent=1) + "\n"
