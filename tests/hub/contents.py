"""Files of tiny models as their owners would put them on the hub, in every layout of weights."""

import io
import json
from pathlib import Path

import torch
from safetensors.torch import load

SAFE, BIN = "model.safetensors", "pytorch_model.bin"


def of_folder(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def as_folder(files: dict[str, bytes], folder: Path) -> Path:
    """The files in a new folder."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def as_bin(files: dict[str, bytes]) -> dict[str, bytes]:
    """The model with its weights in ``pytorch_model.bin`` alone."""
    stream = io.BytesIO()
    torch.save(load(files[SAFE]), stream)
    return {name: content for name, content in files.items() if name != SAFE} | {BIN: stream.getvalue()}


def as_sharded_bin(files: dict[str, bytes], shards: int = 2) -> dict[str, bytes]:
    """The model with its weights in several ``pytorch_model-*.bin`` and a list of them."""
    weights = load(files[SAFE])
    made = {name: content for name, content in files.items() if name != SAFE}
    names = [f"pytorch_model-{number + 1:05d}-of-{shards:05d}.bin" for number in range(shards)]
    of = {key: names[place % shards] for place, key in enumerate(sorted(weights))}
    for name in names:
        stream = io.BytesIO()
        torch.save({key: weights[key] for key in of if of[key] == name}, stream)
        made[name] = stream.getvalue()
    made[f"{BIN}.index.json"] = json.dumps({"metadata": {"total_size": 1}, "weight_map": of}).encode()
    return made


def as_other_weights(files: dict[str, bytes], scale: float = 0.5) -> dict[str, bytes]:
    """The model with other weights, as after further training."""
    from safetensors.torch import save

    return files | {
        SAFE: save({key: (value * scale).contiguous() for key, value in load(files[SAFE]).items()}, {"format": "pt"})
    }
