"""Which facts a model cannot be asked, by its tokenizer alone: no weights are read."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from probing.facts.fact import SEVERAL_TOKENS, Fact, FactSet, restrict
from probing.kernel.models.hub import open_snapshot
from probing.kernel.models.hub_model_location import Located
from probing.kernel.models.load import load_tokenizer
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.models.states_masked_prompts import filled_by


def one_piece_only(facts: FactSet, model: str, base: str = "") -> FactSet:
    """The facts without those whose answer is several word pieces of the model, which count as left out.

    ``base`` is the model whose tokenizer is used if the model has none; empty: the recorded one.
    """
    entry = find_entry(model)
    lender = find_entry(base) if base else base_entry(entry)
    located = _located(entry.location, entry.hub_id, entry.revision)
    if not located.has_tokenizer and lender:
        located = _located(lender.location, lender.hub_id, lender.revision)
    tokenizer = _tokenizer(located, located.folder.stat().st_mtime_ns)
    filled = filled_by(tokenizer, [fact.prompt for fact in facts.facts], [[fact.object] for fact in facts.facts])
    several = {id(fact) for fact, prompt in zip(facts.facts, filled, strict=True) if len(prompt.own_pieces(0)) > 1}

    def reason(fact: Fact) -> str | None:
        return SEVERAL_TOKENS if id(fact) in several else None

    return replace(restrict(facts, reason), said=facts.said)


def _located(location: str, hub_id: str, revision: str) -> Located:
    folder = open_snapshot(hub_id, revision or None, True).folder if hub_id else Path(location)
    return Located(hub_id or location, folder, hub_id)


@lru_cache(maxsize=8)
def _tokenizer(located: Located, changed: int) -> PreTrainedTokenizerBase:
    return load_tokenizer(located)
