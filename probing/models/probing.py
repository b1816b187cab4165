"""Asks a model's every layer every fact: one pass, shard by shard, resumable to equal bytes."""

import hashlib
import json
import logging
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from tqdm import tqdm

from probing.core.errors import ModelError
from probing.core.facts import Fact
from probing.models.decoding import read_out
from probing.models.encoders import Encoder
from probing.models.heads import DecodingHead
from probing.models.states import cached_states

log = logging.getLogger(__name__)
COLUMNS = ("gold_rank", "answer_rank", "guest_rank", "gold_logp", "top_ids", "top_logp")


class RunConfig(BaseModel):
    """What a run's result depends on; its fingerprint is the run's id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    weights: str
    model_revision: str
    base: str
    objective: str
    head: str
    head_recipe: str
    seed: int
    probe_set: str
    template_set: str
    facts_sha256: str
    top_k: int
    dtype: str
    threads: int
    shard: int
    code_version: str
    compact: bool = False

    def canonical(self) -> str:
        """Canonical JSON: sorted keys, no spaces; an option that came later is left out where it has its default."""
        return json.dumps(self.model_dump(exclude_defaults=True), sort_keys=True, separators=(",", ":"))

    @property
    def run_id(self) -> str:
        """First 16 hex digits of sha256 over the canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]


def facts_sha256(facts: Sequence[Fact], answers: Sequence[int]) -> str:
    """What a configuration calls its facts: sha256 over ids, prompts and answer tokens in order."""
    digest = hashlib.sha256()
    for fact, answer in zip(facts, answers, strict=True):
        digest.update(json.dumps([fact.fact_id, fact.prompt, answer], ensure_ascii=False).encode())
    return digest.hexdigest()


def lenders(facts: Sequence[Fact]) -> list[int]:
    """For each fact the number of the fact whose prompt it borrows: another subject in the same relation's template.

    Within a relation and template the facts stand in the order of their ids, which are hashes, those of one subject
    side by side; each borrows from the one as many places on as the largest subject has facts, counted in a circle. So
    every prompt is lent once, and no fact borrows from its own subject unless that has more than half of the facts;
    ``is_lent`` tells these.
    """
    subjects: dict[tuple[str, str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number in sorted(range(len(facts)), key=lambda n: facts[n].fact_id):
        fact = facts[number]
        subjects[fact.probe_set, fact.relation, fact.template][fact.subject].append(number)
    lender = [0] * len(facts)
    for group in subjects.values():
        circle = [number for numbers in group.values() for number in numbers]
        step = max(len(numbers) for numbers in group.values())
        for place, number in enumerate(circle):
            lender[number] = circle[(place + step) % len(circle)]
    return lender


def is_lent(borrower: Fact, owner: Fact) -> bool:
    """Whether the owner's prompt asks the borrower's question about another subject."""
    return "[X]" in borrower.template and borrower.subject != owner.subject


def probe(
    encoder: Encoder,
    heads: Sequence[DecodingHead],
    facts: Sequence[Fact],
    answers: Sequence[int],
    config: RunConfig,
    work: Path,
    states_cache: Path | None,
    layers: Sequence[int] | None = None,
) -> dict[str, np.ndarray]:
    """Every layer's reading of every fact.

    Args:
        encoder: frozen encoder.
        heads: one head a layer.
        facts: the facts, each askable.
        answers: (facts,) token id of each right answer.
        config: the run's configuration; gives shard size and top k.
        work: folder of finished shards; a killed run goes on from there.
        states_cache: folder of hidden states, or None to keep none.
        layers: the layers that the heads are for; None means 0..L.

    Returns:
        gold_rank, answer_rank, other_rank, gold_logp: (layers, facts); top_ids, top_logp: (layers, facts, k).
        ``other_rank`` is 0 where no other subject can be asked.

    Raises:
        ModelError: if there are no facts, or not a head for every layer.
    """
    wanted = list(range(encoder.layers + 1) if layers is None else layers)
    if not facts or len(heads) != len(wanted):
        got = f"{len(facts)} facts and {len(heads)} heads"
        raise ModelError(f"{encoder.name}: got {got}, expected at least one fact and {len(wanted)} heads")
    lender = lenders(facts)
    guest_of = {prompt: fact for fact, prompt in enumerate(lender)}
    by_relation: dict[tuple[str, str], list[int]] = {}
    for fact, answer in zip(facts, answers, strict=True):
        by_relation.setdefault((fact.probe_set, fact.relation), []).append(answer)
    by_relation = {key: sorted(set(ids)) for key, ids in by_relation.items()}

    folder = work / config.run_id
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    starts = range(0, len(facts), config.shard)
    for start in tqdm(starts, unit="shard", desc=f"probe {config.model} {config.head} {config.probe_set}"):
        path = folder / f"shard-{start // config.shard:05d}.safetensors"
        part = _finished(path)
        if part is None:
            numbers = range(start, min(start + config.shard, len(facts)))
            prompts = [facts[n].prompt for n in numbers]
            states = cached_states(prompts, encoder, _states_path(states_cache, encoder, prompts))
            readings = [
                read_out(
                    head,
                    states[layer],
                    [answers[n] for n in numbers],
                    [answers[guest_of[n]] for n in numbers],
                    [by_relation[facts[n].probe_set, facts[n].relation] for n in numbers],
                    config.top_k,
                    encoder.device,
                )
                for layer, head in zip(wanted, heads, strict=True)
            ]
            part = {name: np.stack([getattr(reading, name) for reading in readings]) for name in COLUMNS}
            # Another process with the same run may have finished it and tidied the folder away.
            folder.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}.tmp")
            save_file(part, temporary)
            temporary.replace(path)
        parts.append(part)
    result = {name: np.concatenate([part[name] for part in parts], axis=1) for name in COLUMNS}
    guest = result.pop("guest_rank")
    result["other_rank"] = guest[:, lender]
    alone = [n for n, fact in enumerate(facts) if not is_lent(fact, facts[lender[n]])]
    result["other_rank"][:, alone] = 0
    return result


def _finished(path: Path) -> dict[str, np.ndarray] | None:
    if not path.is_file():
        return None
    try:
        part = load_file(path)
    except (SafetensorError, OSError) as error:
        log.warning("%s cannot be read (%s); its facts are probed again", path, error)
        return None
    return part if set(part) == set(COLUMNS) else None


def _states_path(cache: Path | None, encoder: Encoder, prompts: Sequence[str]) -> Path | None:
    if cache is None:
        return None
    # Sums depend on precision, device and thread count, and a run's bytes may not depend on what the cache holds.
    computed = [str(next(encoder.body.parameters()).dtype), encoder.device.type, thread_count()]
    text = json.dumps([encoder.identity, computed, *prompts], ensure_ascii=False)
    return cache / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.safetensors"


def thread_count() -> int:
    """Threads that torch computes with; part of a run's configuration, as sums depend on it."""
    return torch.get_num_threads()
