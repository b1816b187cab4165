"""A model folder that is broken in any way is one line that says so, never a traceback."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from probing.kernel.errors import HeadError, ModelError
from probing.kernel.models.load import BaseSource, load_encoder

CONFIG, WEIGHTS, TOKENIZER, MORE = "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"


def set_in(file: str, **changes) -> Callable[[Path], None]:
    """Puts values into a JSON file; a value of ``...`` takes the key out."""

    def damage(folder: Path) -> None:
        content = json.loads((folder / file).read_text()) | changes
        (folder / file).write_text(json.dumps({key: value for key, value in content.items() if value is not ...}))

    return damage


def write(file: str, content: str | bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())


def cut(file: str, keep: float) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = (folder / file).read_bytes()
        (folder / file).write_bytes(content[: int(keep * len(content))])

    return damage


def flip(file: str, place: float) -> Callable[[Path], None]:
    """Another byte in the place of several."""

    def damage(folder: Path) -> None:
        content = bytearray((folder / file).read_bytes())
        at = int(place * len(content))
        content[at : at + 8] = b"\xff" * 8
        (folder / file).write_bytes(bytes(content))

    return damage


def weights(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        tensors = {name: change(tensor).contiguous() for name, tensor in load_file(folder / WEIGHTS).items()}
        save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})

    return damage


def model_of_tokenizer(**changes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = json.loads((folder / TOKENIZER).read_text())
        content["model"] |= changes
        (folder / TOKENIZER).write_text(json.dumps(content))

    return damage


def in_bin(content: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        (folder / "pytorch_model.bin").write_bytes(content)

    return damage


def index(content: object) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / WEIGHTS).rename(folder / "model-00001-of-00002.safetensors")
        (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(content))

    return damage


SIZES = [f"num_{what}" for what in ("hidden_layers", "attention_heads")]
SIZES += ["vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings"]
STRANGE = {"-1": -1, "0": 0, "text": "many", "list": [3], "object": {"a": 1}, "null": None, "half": 2.5, "true": True}
STRANGE |= {"huge": 10**9}

BROKEN: dict[str, Callable[[Path], None]] = {
    **{
        f"config: {name} is {what}": set_in(CONFIG, **{name: value})
        for name in SIZES
        for what, value in STRANGE.items()
    },
    **{
        f"config: {name} is {value!r}": set_in(CONFIG, **{name: value})
        for name, values in {
            "model_type": ["no-such-thing", 3, None, ["bert"], ..., "gpt2", "t5", "roberta"],
            "hidden_act": ["no-such-thing", 7, []],
            "layer_norm_eps": ["small", None, [1]],
            "type_vocab_size": [-3, "two"],
            "pad_token_id": [10**6, "zero"],
            "chunk_size_feed_forward": [7, "x"],
            "quantization_config": [
                {"quant_method": "bitsandbytes", "load_in_8bit": True},
                {"quant_method": "gptq", "bits": 4},
                "int8",
            ],
            "hidden_dropout_prob": ["a", 7],
            "initializer_range": ["a"],
            "dtype": ["float99"],
            "id2label": [3],
            "is_decoder": ["perhaps"],
        }.items()
        for value in values
    },
    **{
        f"{file} is {what}": write(file, content)
        for file in (CONFIG, WEIGHTS, TOKENIZER, MORE)
        for what, content in {
            "empty": "",
            "a list": "[]",
            "a number": "3",
            "null": "null",
            "text": '"text"',
            "no JSON": "{",
            "binary": b"\xff\xfe\x00\x01",
            "an empty object": "{}",
            "nested deeply": "[" * 100_000,
        }.items()
        # Without settings a tokenizer is the usual one of its kind.
        if (file, what) != (MORE, "an empty object")
    },
    **{
        f"{file} cut to {keep}": cut(file, keep)
        for file in (CONFIG, WEIGHTS, TOKENIZER, MORE)
        for keep in (0.01, 0.3, 0.7, 0.99)
    },
    **{f"{WEIGHTS} with other bytes at {place}": flip(WEIGHTS, place) for place in (0.0, 0.001, 0.02, 0.05)},
    **{
        f"{file} is not there": lambda folder, file=file: (folder / file).unlink()
        for file in (CONFIG, WEIGHTS, TOKENIZER)
    },
    **{
        f"{file} is a folder": lambda folder, file=file: ((folder / file).unlink(), (folder / file).mkdir())
        for file in (CONFIG, WEIGHTS, TOKENIZER)
    },
    **{
        f"tokenizer: {name} is {value!r}": model_of_tokenizer(**{name: value})
        for name, values in {
            "vocab": [{}, [], {"a": -1}, {"a": "b"}, {"a": 2**40}],
            "type": ["NoSuchModel", 3],
            "unk_token": [None],
            "max_input_chars_per_word": [-1],
        }.items()
        for value in values
    },
    **{
        f"tokenizer settings: {name} is {value!r}": set_in(MORE, **{name: value})
        for name, values in {
            "tokenizer_class": [3],
            "mask_token": [None, 5, [], "[NOT-THERE]"],
            "model_max_length": ["long", -1, 2],
            "added_tokens_decoder": [[], {"a": {}}],
            "pad_token": [{"a": 1}],
            "extra_special_tokens": [3],
        }.items()
        for value in values
    },
    **{
        f"tokenizer.json: {name} is {value!r}": set_in(TOKENIZER, **{name: value})
        for name, value in [
            ("model", ...),
            ("model", []),
            ("added_tokens", 3),
            ("normalizer", "lower"),
            ("pre_tokenizer", {"type": "NoSuchThing"}),
            ("post_processor", {"type": "BertProcessing"}),
            ("version", "99"),
        ]
    },
    "weights are not numbers": weights(lambda tensor: tensor * torch.nan),
    "weights are endless": weights(lambda tensor: tensor + torch.inf),
    "weights are 32-bit whole numbers": weights(lambda tensor: (100 * tensor).int()),
    "weights are bytes": weights(lambda tensor: (10 * tensor).to(torch.int8)),
    "weights are truth values": weights(lambda tensor: tensor > 0),
    "weights are so large that answers are not numbers": weights(lambda tensor: torch.full_like(tensor, 3e38)),
    "weights have another shape": weights(lambda tensor: tensor.flatten()),
    "weights are complex": weights(lambda tensor: tensor.to(torch.complex64)),
    "a pickle that is cut": in_bin(b"\x80\x02}q\x00"),
    "a pickle that is empty": in_bin(b""),
    "a pickle of another program": in_bin(
        b"\x80\x04\x95\x15\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."
    ),
    "an index of shards that are not there": index(
        {"metadata": {}, "weight_map": {"bert.x": "model-00009-of-00009.safetensors"}}
    ),
    "an index without a map": index({"metadata": {}}),
    "an index that is a list": index([1]),
    "an index whose map is a list": index({"weight_map": [1]}),
    "a difference that is empty": write("difference.safetensors", b""),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_model_folder_is_one_line(what, bert_copy):
    BROKEN[what](bert_copy)
    with pytest.raises((ModelError, HeadError)) as raised:
        load_encoder(bert_copy, device="cpu")
    assert "\n" not in str(raised.value) and 20 < len(str(raised.value)) < 1000


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_base_that_is_broken_is_named_as_the_base(file, bert_copy, tmp_path):
    base = shutil.copytree(bert_copy, tmp_path / "base")
    body = {name: tensor for name, tensor in load_file(bert_copy / WEIGHTS).items() if name.startswith("bert.")}
    save_file(body, bert_copy / WEIGHTS, metadata={"format": "pt"})
    for name in (TOKENIZER, MORE):
        (bert_copy / name).unlink()
    (base / file).write_bytes(b"")
    with pytest.raises(ModelError, match=str(base)):
        load_encoder(bert_copy, base=BaseSource(base), device="cpu")
