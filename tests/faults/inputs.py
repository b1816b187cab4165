"""What every trial begins with: tiny models, texts, facts and data sets, made once."""

import json
import random
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from probing.core.files.checksums import file_sha256
from tests.commands.conftest import WORDS
from tests.core.task_files import write_conll

REGISTRY = """
models = [
  {{ name = "tiny", source = "somewhere/tiny", licence = "MIT" }},
]
data = [
  {{ name = "conll2003", title = "", folder = "conll", licence = "none", files = [{{ path = "eng.train" }}, {{ path = "eng.testb" }}] }},
  {{ name = "large", title = "", folder = "large", licence = "none", files = [{files}] }},
]
"""


def make_inputs(folder: Path) -> Path:
    """Models, data sets, facts, texts and a registry that names them."""
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertForMaskedLM(BertConfig(vocab_size=len(WORDS), **size))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    assert model.num_parameters() < 20_000, "tiny is tiny"
    model.save_pretrained(folder / "tiny")
    BertTokenizer(vocab={word: n for n, word in enumerate(WORDS)}, do_lower_case=True).save_pretrained(folder / "tiny")
    write_conll(folder / "conll")
    rng = random.Random(0)
    (folder / "large").mkdir()
    files = []
    for number in range(4):
        path = folder / "large" / f"part-{number}.bin"
        path.write_bytes(rng.randbytes(6_000_000))
        files.append(f'{{ path = "{path.name}", sha256 = "{file_sha256(path)}" }}')
    (folder / "registry.toml").write_text(REGISTRY.format(files=", ".join(files)))
    places = ["France", "Germany", "Italy", *(word.capitalize() for word in WORDS[25:])]
    answers = ["Paris", "Berlin", "Rome", "Boston", "Philadelphia"]
    facts = [
        {
            "subject": place,
            "relation": "capital",
            "object": answer,
            "prompt": f"The capital of {place} and {answers[n - 1]} is [MASK].",
        }
        for place in places
        for n, answer in enumerate(answers)
    ]
    (folder / "facts.jsonl").write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    (folder / "text.txt").write_text(
        "The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 2500
    )
    return folder
