"""Time of all layers' predictions for a typed sentence, against one call of transformers' ``fill-mask`` for the last
layer.
"""

from pathlib import Path
from statistics import median, quantiles

from probing.kernel.models.head import fresh_copy
from probing.kernel.models.load import load_encoder
from probing.kernel.models.states import tokenize
from probing.kernel.models.torch_settings import thread_count
from probing.live.ask import LiveModel
from tests.speed.measurement import Measurement, alternate, random_bert_base, require_equal
from tests.speed.prompts import NEAR, TOP, bench_folder, far_apart, fill_mask, trex_prompts

#: Word pieces of the sentence, including special tokens.
PIECES = 10
#: Kind of head -> how many calls of ``fill-mask`` it may take; the weights of ``full`` heads alone are 3.6 times as
#: many to read.
BOUNDS = {"logit_lens": 1.3, "tied": 1.3, "full": 4.0}


def measure(quick: bool = False, device: str = "cpu", source: Path | None = None) -> list[Measurement]:
    """One sentence at every layer through each kind of head, tokenization and the words of the answer included."""
    rounds = 5 if quick else 50
    folder = source or random_bert_base(bench_folder())
    encoder, pipe = load_encoder(folder, device=device), fill_mask(folder, device)
    facts = trex_prompts(encoder, 512).facts
    prompt = next(fact.prompt for fact in facts if len(tokenize([fact.prompt], encoder)[0]) == PIECES)
    text, rows = prompt, []
    for kind, bound in BOUNDS.items():
        heads = [
            encoder.head if kind == "logit_lens" else fresh_copy(encoder.head, kind) for _ in range(encoder.layers)
        ]
        live = LiveModel(encoder, heads, kind)
        ours, theirs = alternate(
            lambda live=live: live.ask(prompt, TOP, check=lambda: None),  # type: ignore[misc]
            lambda: pipe(text),
            rounds,
        )
        last, wanted = live.ask(prompt, TOP).layers[-1].tokens, pipe(text)
        far = far_apart([token.ids[0] for token in last], [token.log_probability for token in last], wanted)
        require_equal(
            far < NEAR,
            f"{kind}: got {[token.token for token in last]} for {prompt!r}, expected"
            f" {[one['token_str'] for one in wanted]}",
        )
        spread = "; ".join(
            f"{who} {q[0] * 1000:.0f} to {q[2] * 1000:.0f} ms"
            for who, q in (("ours", quantiles(ours)), ("theirs", quantiles(theirs)))
        )
        one, other = median(ours), median(theirs)
        equal = f"the {TOP} best tokens of the last layer, log-probabilities within {far:.0e}"
        note = f"medians of {rounds} alternating calls, {PIECES} tokens, {thread_count()} threads; middle half {spread}"
        name, alternative = (
            f"live, {kind}, {len(heads)} layers: ours by one call",
            "one call of fill-mask, last layer alone",
        )
        rows.append(Measurement(name, one, alternative, other, one / other, bound, True, equal, note))
    return rows
