"""Achieved FLOP/s of probing as a share of those of plain matrix products."""

from collections.abc import Callable
from statistics import median

import torch

from probing.models.encoders.hidden_states import TOKENS_A_BATCH, tokenize
from probing.models.encoders.load import Encoder, load_encoder
from probing.models.runtime.torch_settings import thread_count
from tests.speed.measurement import Measurement, random_bert_base, seconds_of
from tests.speed.probing import ask_all
from tests.speed.trex_prompts import bench_folder, trex_prompts

SIDE = 2048


def measure(quick: bool = False) -> list[Measurement]:
    """All of probing, tokenising and writing included, against products of the same number of multiply-adds."""
    count, rounds = (64, 1) if quick else (512, 2)
    encoder = load_encoder(random_bert_base(bench_folder()), device="cpu")
    asked = trex_prompts(encoder, count)
    lengths = [len(row) for row in tokenize([fact.prompt for fact in asked.facts], encoder)]
    heads = [encoder.head] * (encoder.layers)
    work = flops(encoder, lengths, len(heads))
    products = {name: product(*shape) for name, shape in shapes(encoder).items()}
    ours: list[float] = []
    speeds: dict[str, list[float]] = {name: [] for name in products}
    for number in range(rounds + 1):
        taken = seconds_of(lambda: ask_all(encoder, heads, asked))
        if number:
            ours.append(taken)
        for name, (call, size) in products.items():
            speeds[name].append(size / min(seconds_of(call) for _ in range(3)))
    best = max(speeds, key=lambda name: median(speeds[name]))
    peak, mine = median(speeds[best]), median(ours)
    shares = ", ".join(f"{name} {median(found) / 1e9:.0f}" for name, found in speeds.items())
    return [
        Measurement(
            "probing, logit_lens: achieved FLOP/s as a share of plain products",
            mine,
            f"as many multiply-adds as {best}",
            work / peak,
            work / peak / mine,
            0.6,
            False,
            "the same number of multiply-adds; real tokens only, padding not counted",
            f"{work / mine / 1e9:.0f} GFLOP/s in {count} prompts of {sum(lengths) / count:.1f} tokens, {len(heads)} layers decoded; "
            f"products in GFLOP/s: {shares}; {thread_count()} threads; medians of {rounds} rounds",
        )
    ]


def flops(encoder: Encoder, lengths: list[int], heads: int) -> int:
    """Floating-point operations, two a multiply-add, of one pass over rows of these lengths and of decoding one position of each.

    Matrix products only: linear layers, attention scores and sums, the head's transform and the vocabulary.
    """
    d, vocabulary = encoder.hidden, encoder.head.vocabulary
    inner = encoder.body.config.intermediate_size
    layer = sum(n * (4 * d * d + 2 * d * inner) + 2 * n * n * d for n in lengths)
    head = d * vocabulary.in_features + vocabulary.in_features * vocabulary.out_features
    return 2 * (encoder.depth * layer + heads * len(lengths) * head)


def shapes(encoder: Encoder) -> dict[str, tuple[int, int, int]]:
    """Name -> (m, k, n) of the products to compare with: a cube, and the shapes that the model itself multiplies."""
    d, inner = encoder.hidden, encoder.body.config.intermediate_size
    rows = TOKENS_A_BATCH // 2
    return {
        f"a {SIDE}-cubed product": (SIDE, SIDE, SIDE),
        f"({rows}, {d}) by ({d}, {d})": (rows, d, d),
        f"({rows}, {d}) by ({d}, {inner})": (rows, d, inner),
        f"({rows}, {inner}) by ({inner}, {d})": (rows, inner, d),
    }


def product(m: int, k: int, n: int) -> tuple[Callable[[], torch.Tensor], int]:
    """A product of this shape into its own memory, and its FLOP."""
    left, right, out = torch.randn(m, k), torch.randn(n, k), torch.empty(m, n)
    return lambda: torch.mm(left, right.T, out=out), 2 * m * k * n
