"""Heads on top of the map on another family: a small RoBERTa, trained here for minutes by masked language modelling
from embeddings of neighbouring tokens.

``python -m tests.speed.other_family`` trains tokenizer and model on nesia-mini's text with transformers alone, then heads of every
inner layer from both starts, and prints their validation losses. It is a check on a weak model of another architecture.
"""

import json
import shutil
import sys
import uuid
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizerFast

from probing.core.paths import cache_folder
from probing.models.encoders.load import load_encoder
from probing.models.heads.files import read_identity
from probing.models.heads.masked_states import StatesCache
from probing.models.heads.recipe import FROM_LEAST_SQUARES, HeadRecipe, text_sha256
from probing.models.heads.training import train_heads
from tests.speed.head_start import processor_seconds, texts

TOKENS, PIECES, ROWS, MASKED, RATE = 2000, 32, 48, 0.15, 1e-3
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
#: Name -> what it changes of the recipe.
KINDS: dict[str, dict] = {
    "least_squares": {"kind": "least_squares"},
    "tied, 3 epochs from the pre-trained head": {},
    "tied, 50 steps from the map": {"start": FROM_LEAST_SQUARES, "steps": 50},
    "tied, 100 steps from the map": {"start": FROM_LEAST_SQUARES, "steps": 100},
    "tied, 3 epochs from the map": {"start": FROM_LEAST_SQUARES},
}


def small_roberta(folder: Path, sentences: list[str], steps: int) -> float:
    """A RoBERTa of 4 layers x 128 in ``folder``, trained for so many steps; its mean training loss over the last 50."""
    torch.manual_seed(0)
    learnt = ByteLevelBPETokenizer()
    learnt.train_from_iterator(sentences, vocab_size=TOKENS, special_tokens=SPECIAL, show_progress=False)
    folder.mkdir(parents=True)
    learnt.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"))
    ids = torch.tensor([token for row in tokenizer(sentences)["input_ids"] for token in row[1:]])
    blocks = ids[: len(ids) // PIECES * PIECES].reshape(-1, PIECES)
    sizes = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
    more = {"max_position_embeddings": 130, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.09}
    model = RobertaForMaskedLM(RobertaConfig(vocab_size=len(tokenizer), type_vocab_size=1, **sizes, **more)).train()
    with torch.no_grad():
        model.roberta.embeddings.word_embeddings.weight.copy_(from_neighbours(ids, len(tokenizer), sizes["hidden_size"]))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    losses: list[float] = []
    for step in range(steps):
        batch = blocks[torch.randint(len(blocks), (ROWS,))]
        masked = (torch.rand(batch.shape) < MASKED) & (batch != tokenizer.eos_token_id)
        states = model.roberta(input_ids=batch.masked_fill(masked, tokenizer.mask_token_id)).last_hidden_state
        loss = torch.nn.functional.cross_entropy(model.lm_head(states[masked]), batch[masked])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimiser.param_groups:
            group["lr"] = RATE * min((step + 1) / 100, (steps - step) / max(1, steps - 100))
        optimiser.step()
        losses.append(loss.item())
        if step % 100 == 99:
            print(f"step {step + 1}: {sum(losses[-100:]) / 100:.3f}", file=sys.stderr, flush=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(losses[-50:]) / len(losses[-50:])


def from_neighbours(ids: torch.Tensor, tokens: int, width: int) -> torch.Tensor:
    """(tokens, width) embeddings to begin with: the largest factors of positive pointwise mutual information within 4 places.

    From random ones so small a model learns no more than how frequent each token is in the minutes there are.
    """
    counts = torch.zeros(tokens * tokens)
    for apart in range(1, 5):
        pairs = torch.cat([ids[:-apart] * tokens + ids[apart:], ids[apart:] * tokens + ids[:-apart]])
        counts += torch.bincount(pairs, minlength=tokens * tokens)
    counts = counts.reshape(tokens, tokens)
    expected = counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True) / counts.sum()
    mutual = (counts / expected.clamp(min=1e-9)).clamp(min=1.0).log()
    torch.manual_seed(0)
    left, size, _ = torch.svd_lowrank(mutual, q=width, niter=4)
    found = left * size.sqrt()
    return found / found.std() * 0.09


def main(steps: int = 1000) -> None:
    """Prints the model's loss, then one line per kind: validation loss by layer, processor seconds."""
    train, valid, name = texts()
    folder = cache_folder() / "bench" / f"roberta-{uuid.uuid4().hex[:8]}"
    try:
        found: list[float] = []
        seconds = processor_seconds(lambda: found.append(small_roberta(folder / "model", train, steps)))
        print(f"RoBERTa, 4 layers of 128, {TOKENS} tokens, {steps} steps on {name}: {seconds:.0f} processor seconds, loss {found[0]:.3f}")
        encoder = load_encoder(folder / "model", device="cpu")
        states = StatesCache(folder / "states")
        recipe = HeadRecipe(kind="tied", text_sha256=text_sha256(train, valid))
        # The encoder's pass, which all kinds share, is timed with none of them.
        train_heads(encoder, train, valid, recipe.model_copy(update={"kind": "least_squares"}), folder / "first", states, layers=[0])
        for number, (kind, changed) in enumerate(KINDS.items()):
            mine, place = recipe.model_copy(update=changed), folder / str(number)
            taken = processor_seconds(lambda r=mine, p=place: train_heads(encoder, train, valid, r, p, states))
            identities = [read_identity(path) for path in sorted(place.glob("layer-*.safetensors"))]
            if not number:
                lens = [json.loads(one.starts)["lens"] if one.starts else json.loads(one.validation)[0][1] for one in identities]
                print("logit lens: " + " ".join(f"{loss:.3f}" for loss in lens))
            losses = [min(loss for _, loss in json.loads(one.validation)) for one in identities]
            print(f"{kind}: " + " ".join(f"{loss:.3f}" for loss in losses) + f" in {taken:.0f} processor seconds", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
