"""Time of probing every layer, against transformers' ``fill-mask`` pipeline, which predicts for the last layer."""

import contextlib
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from safetensors.numpy import load_file

from probing.facts.probe import ProbeWork, probe_shards
from probing.facts.requests import RunConfig
from probing.kernel.fact import facts_sha256
from probing.kernel.models.head import DecodingHead, fresh_copy
from probing.kernel.models.load import Encoder, load_encoder
from probing.kernel.models.states import tokenize
from probing.kernel.models.torch_settings import thread_count
from tests.speed.measurement import Measurement, alternate, random_bert_base, require_equal
from tests.speed.prompts import (
    BATCHES,
    NEAR,
    TOP,
    Asked,
    bench_folder,
    best_batch,
    far_apart,
    fill_mask,
    trex_prompts,
)


def measure(quick: bool = False, device: str = "cpu", source: Path | None = None) -> list[Measurement]:
    """Thirteen layers by ``logit_lens`` and by ``full`` heads, each against one pass and against thirteen passes of
    ``fill-mask``.
    """
    count, rounds = (64, 1) if quick else (512, 2)
    folder = source or random_bert_base(bench_folder())
    encoder = load_encoder(folder, device=device)
    asked = trex_prompts(encoder, count)
    pipe = fill_mask(folder, device)
    prompts = sorted((fact.prompt for fact in asked.facts), key=lambda text: len(tokenize([text], encoder)[0]))
    batch = best_batch(pipe, prompts)
    rows = []
    for kind in ("logit_lens", "full"):
        heads = [
            encoder.head if kind == "logit_lens" else fresh_copy(encoder.head, "full") for _ in range(encoder.layers)
        ]
        ours, theirs = alternate(
            lambda heads=heads: ask_all(encoder, heads, asked),  # type: ignore[misc]
            lambda: pipe(prompts, batch_size=batch),
            rounds,
        )
        equal = _agreement(ask_all(encoder, heads, asked), pipe(prompts, batch_size=batch), prompts, encoder, asked)
        spread = (
            f"{min(ours):.1f} to {max(ours):.1f} s against {min(theirs):.1f} to {max(theirs):.1f} s in {rounds} rounds"
        )
        note = (
            f"{count} of {asked.of:,} shipped T-REx-like prompts, evenly spread, extrapolated to all; {spread};"
            f" {thread_count()} threads; fill-mask at batch size {batch}, the best of {', '.join(map(str, BATCHES))};"
            " ours tokenises, ranks, writes states and shards"
        )
        whole = asked.of / count
        one, other, layers = median(ours) * whole, median(theirs) * whole, encoder.layers
        for passes, name, alternative, at_most in (
            (layers, f"{layers} fill-mask passes by ours", f"{layers} passes of fill-mask", False),
            (1, "ours by one fill-mask pass", "one pass of fill-mask, the last layer alone", True),
        ):
            bound, ratio = (1.2, one / other) if at_most else (11, passes * other / one)
            name = f"probing, {kind}, {layers} layers: {name}"
            rows.append(Measurement(name, one, alternative, passes * other, ratio, bound, at_most, equal, note))
    return rows


def ask_all(encoder: Encoder, heads: Sequence[DecodingHead], asked: Asked) -> dict[str, np.ndarray]:
    """Probes a shard like ``probing probe``, including tokenization and writing, and returns its columns."""
    config = RunConfig(
        model=encoder.name,
        weights=encoder.weights_id,
        model_revision="local",
        base="",
        objective="mlm",
        head="bench",
        head_recipe="",
        seed=0,
        probe_set="trex",
        template_set="default",
        facts_sha256=facts_sha256(asked.facts, asked.answers),
        top_k=TOP,
        dtype="float32",
        threads=thread_count(),
        shard=len(asked.facts),
        code_version="",
    )
    with tempfile.TemporaryDirectory(dir=bench_folder()) as work, contextlib.redirect_stderr(io.StringIO()):
        folder = Path(work)
        (path,) = probe_shards(ProbeWork(encoder, heads, asked.facts, asked.answers, config, folder, folder / "states"))
        return load_file(path)


def _agreement(columns: dict[str, np.ndarray], theirs: list, prompts: list[str], encoder: Encoder, asked: Asked) -> str:
    """Compares the last layer's best tokens, those of full heads being a copy of the lens here; in words.

    Raises:
        ProbingError: if a prompt's tokens differ otherwise than by the order of near scores, or their log-probabilities
            differ.
    """
    found = dict(zip(prompts, theirs, strict=True))
    same = 0
    for n, fact in enumerate(asked.facts):
        answer = found[fact.prompt]
        ids, logs = columns["top_ids"][-1, n].tolist(), columns["top_logp"][-1, n].tolist()
        far = far_apart(ids, logs, answer)
        require_equal(
            far < NEAR,
            f"log-probabilities of {fact.prompt!r} by {far:.1e}, tokens {ids} and {[one['token'] for one in answer]}",
        )
        same += ids == [one["token"] for one in answer]
    near = len(asked.facts) - same
    return (
        f"the {TOP} best tokens of the last layer, in order, of {same} prompts; of {near} more except for scores nearer"
        f" than {NEAR}"
    )
