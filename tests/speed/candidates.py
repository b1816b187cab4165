"""Time of ranking candidates of several tokens at every layer, against minicons, which scores them at the last layer;
and of a body in bfloat16.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from probing.facts.candidates import Scorer, cut_in
from probing.facts.probe import against_exact
from probing.facts.requests import INDEPENDENT, WITHIN_WORD_L2R
from probing.facts.sources import read_facts
from probing.kernel.fact import MASK, PHRASES, shipped_relations
from probing.kernel.models.load import Encoder, load_encoder
from probing.kernel.models.states import masked_rows
from probing.kernel.models.torch_settings import thread_count
from tests.speed.measurement import SHIPPED_MODEL, Measurement, alternate, random_bert_base, require_equal, seconds_of
from tests.speed.prompts import NEAR, bench_folder, trex_prompts

INSTALL = "no minicons, so candidates are not measured; to measure: .venv/bin/python -m pip install minicons==0.3.39"
BATCHES = (4, 8, 16, 32)  #: candidates of a call
Asked = tuple[str, list[str]]  #: a prompt and its candidates


def measure(quick: bool = False) -> list[Measurement]:
    """All candidates of a relation at thirteen layers, and what shorter numbers gain."""
    folder = random_bert_base(bench_folder())
    encoder = load_encoder(folder, device="cpu")
    return [*_against_minicons(encoder, folder, quick), shorter(encoder, folder, quick)]


def _against_minicons(encoder: Encoder, folder: Path, quick: bool) -> list[Measurement]:
    try:
        from minicons.scorer import MaskedLMScorer
    except ImportError:
        logging.warning(INSTALL)
        return []
    tokenizer = AutoTokenizer.from_pretrained(folder)
    # The name that transformers 4 had for this, and minicons still uses.
    tokenizer.batch_encode_plus = tokenizer.__call__
    theirs = MaskedLMScorer(AutoModelForMaskedLM.from_pretrained(folder), "cpu", tokenizer=tokenizer)
    count, rounds = (2, 1) if quick else (6, 2)
    asked, of = phrases(count)
    batch = min(BATCHES, key=lambda size: seconds_of(lambda: minicons_scores(theirs, asked[0], size)))
    mine, other = alternate(
        lambda: scores(asked, encoder), lambda: [minicons_scores(theirs, one, batch) for one in asked], rounds
    )
    # Minicons has no ``independent``, so numbers are compared where both have one definition.
    (found,) = scores(asked[:1], encoder, WITHIN_WORD_L2R)
    far = float(np.abs(found[-1] - minicons_scores(theirs, asked[0], batch)).max())
    require_equal(far < NEAR, f"log-likelihoods of the candidates of {asked[0][0]!r} by {far:.1e}")
    note = (
        f"{count} of {of} facts with answers of several words, extrapolated; {min(mine):.1f} to {max(mine):.1f} s and"
        f" {min(other):.1f} to {max(other):.1f} s; threads {thread_count()}; batches of {batch}, best of {BATCHES}"
    )
    equal = f"last layer, within_word_l2r: log-likelihoods of {found.shape[1]} candidates within {far:.0e}"
    name = f"candidates, independent, {encoder.layers} layers: minicons at the last layer by ours"
    one, two = median(mine) * of / count, median(other) * of / count
    return [Measurement(name, one, "minicons, last layer alone", two, two / one, 1, False, equal, note)]


def phrases(count: int) -> tuple[list[Asked], int]:
    """``count`` prompts of the set ``phrases``, evenly spread, with their relations' answers; the number of all."""
    (found,) = read_facts(PHRASES, shipped_relations(), None)
    answers = defaultdict(set)
    for fact in found.facts:
        answers[fact.relation].add(fact.object)
    some = [found.facts[n * len(found.facts) // count] for n in range(count)]
    return [(fact.prompt, sorted(answers[fact.relation])) for fact in some], len(found.facts)


def scores(asked: Sequence[Asked], encoder: Encoder, kind: str = INDEPENDENT) -> list[np.ndarray]:
    """(layers, candidates) log-likelihoods for each prompt, by the model's own head."""
    scorer, found = Scorer(encoder, [encoder.head] * encoder.layers, range(encoder.layers), kind), []
    for prompt, texts in asked:
        ((row, _),) = masked_rows([prompt], encoder)
        found.append(scorer.score([row], cut_in(prompt, texts, encoder), best=len(texts))[1][:, 0])
    return found


def minicons_scores(scorer: Any, asked: Asked, batch: int) -> np.ndarray:
    """(candidates,) log-likelihoods, those of nearly one length together, which is fastest."""
    (before, after), texts = (part.strip() for part in asked[0].split(MASK)), asked[1]
    order = sorted(range(len(texts)), key=lambda n: len(scorer.tokenizer.tokenize(texts[n])))
    found = np.empty(len(texts))
    for first in range(0, len(order), batch):
        some = order[first : first + batch]
        sides = [before] * len(some), [texts[n] for n in some], [after] * len(some)
        found[some] = scorer.conditional_score(*sides, PLL_metric=WITHIN_WORD_L2R, reduction=lambda x: x.sum().item())
    return found


def shorter(encoder: Encoder, folder: Path, quick: bool) -> Measurement:
    """The body in bfloat16 on the encoder's device; ranks are the shipped model's, as random weights give noise."""
    device, found = str(encoder.device), []
    for source, exact in ((folder, encoder), (SHIPPED_MODEL, load_encoder(SHIPPED_MODEL, device=device))):
        asked = trex_prompts(exact, 64 if quick else 512)
        pairs = list(zip(asked.facts, asked.answers, strict=True))
        found.append(against_exact(load_encoder(source, device=device, dtype=torch.bfloat16), exact, pairs))
    (two, one), equal = found[0][0], f"ranks of the shipped model: {found[1][1]}"
    name, note = "states, body in bfloat16: float32 by bfloat16", f"{len(pairs)} prompts; {thread_count()} threads"
    return Measurement(name, one, "the body in float32", two, two / one, None, False, equal, note)
