"""The files of a model's folder: its configuration, the names of its weights, and its tokens."""

import json
import pickletools
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

#: Architectures whose masked-LM head is known, by ``model_type``; ``models.encoders.head`` reads them.
ARCHITECTURES = (
    "albert", "bert", "camembert", "data2vec-text", "deberta", "deberta-v2", "distilbert", "electra", "ernie", "esm", "megatron-bert",
    "modernbert", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl",
)  # fmt: skip
_HEADS = {"albert": "predictions.", "distilbert": "vocab_", "electra": "generator_", "modernbert": "decoder."}
_DISCRIMINATOR = (
    "is ELECTRA's discriminator, which was trained without a masked-LM head; use the generator of the same release, such as "
    "google/electra-small-generator"
)
NO_HEAD = "has no own masked-LM head; name its base model, whose complete head is used"
#: Weights as transformers stores them, in the order in which it looks for them: in one file, or as a list of shards.
LAYOUTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
#: Modules whose objects a file of weights alone holds.
_OF_WEIGHTS = re.compile(r"(torch|collections|numpy|_codecs)\b")
_NAME = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)+")
_UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, StopIteration, zipfile.BadZipFile)


def heads_of(kind: str) -> tuple[str, ...]:
    """How the names of the weights of an architecture's masked-LM head begin."""
    return (_HEADS[kind],) if kind in _HEADS else ("cls.predictions.", "lm_predictions.", "lm_head.")


def why_no_head(kind: str, architectures: Iterable[str], names: Collection[str]) -> str:
    """Why a model has no masked-LM head, in words that follow its name; empty if it was saved with one, complete or not.

    Args:
        kind: its ``model_type``.
        architectures: classes that its configuration names; they decide if the names of its weights are unknown.
        names: of its weights.
    """
    declared = any(one.endswith(("ForMaskedLM", "ForPreTraining")) and one != "ElectraForPreTraining" for one in architectures)
    # ModernBERT's classifiers have a head of these names, too, and it is trained for their task.
    begins = (*heads_of(kind), *(["head."] if declared and kind == "modernbert" else []))
    if any(name.startswith(begins) for name in names) if names else declared:
        return ""
    discriminates = "ElectraForPreTraining" in architectures or any(name.startswith("discriminator_") for name in names)
    return _DISCRIMINATOR if kind == "electra" and discriminates else NO_HEAD


def chosen_weights(names: Iterable[str], shards: Callable[[str], Sequence[str]]) -> list[str]:
    """Names of the weight files that are loaded; none if there are no weights.

    Args:
        names: of all files.
        shards: the names of the shards that the file of that name lists.
    """
    there = set(names)
    for layout in LAYOUTS:
        if layout in there:
            return list(shards(layout)) if layout.endswith(".index.json") else [layout]
    return []


def has_tokenizer(names: Iterable[str]) -> bool:
    """Whether a vocabulary is among the files."""
    return any(name.endswith(".model") or name.startswith(("tokenizer.json", "vocab")) for name in names)


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder; if it is not ``complete``, the weights are to be downloaded."""

    folder: Path
    complete: bool = True

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of its files and folders."""
        return frozenset(one.name for one in self.folder.iterdir())

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its configuration; empty if there is none that can be read."""
        return self.settings("config.json")

    @property
    def kind(self) -> str:
        """Its ``model_type``."""
        return str(self.config.get("model_type") or "")

    @property
    def why_no_head(self) -> str:
        """``why_no_head`` of the folder."""
        named = self.config.get("architectures")
        return why_no_head(self.kind, [*map(str, named)] if isinstance(named, list) else [], self.shapes)

    @cached_property
    def weights(self) -> list[str]:
        """Names of the weight files that are loaded."""
        return chosen_weights(self.names, lambda index: sorted({*map(str, dict(self.settings(index).get("weight_map", {})).values())}))

    @cached_property
    def headers(self) -> list[tuple[dict[str, tuple[int, ...]], str]]:
        """Name of each weight with its shape (empty if the weights alone say it), and what is wrong with the file; for each weight file."""
        return [read_once(_header, self.folder / name) or ({}, "") for name in self.weights]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of all weights; empty if they cannot be read, which loading them will explain."""
        return {name: shape for shapes, _ in self.headers for name, shape in shapes.items()}

    @cached_property
    def tokens(self) -> tuple[str, ...] | None:
        """Its tokens by id; None if no file in words has them."""
        path = next((self.folder / name for name in ("tokenizer.json", "vocab.txt", "vocab.json") if name in self.names), None)
        if not (ids := path and read_once(_tokens, path)):
            return None
        token_of = {number: token for token, number in (ids | self.settings("added_tokens.json")).items()}
        return tuple(token_of.get(number, "") for number in range(max(token_of) + 1))

    def settings(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; empty if there is none that can be read."""
        found = read_once(_json, self.folder / name)
        return found if isinstance(found, dict) else {}


def read_once(read: Callable[[Path], Any], path: Path) -> Any:
    """What ``read`` finds in a file, once until the file changes, because pages ask at every run; None if it cannot be read."""
    try:
        return _read(read, path, path.stat().st_mtime_ns, path.stat().st_size)
    except _UNREADABLE:
        return None


@lru_cache(maxsize=64)
def _read(read: Callable[[Path], Any], path: Path, changed: int, size: int) -> Any:
    return read(path)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _header(path: Path) -> tuple[dict[str, tuple[int, ...]], str]:
    if path.suffix != ".safetensors":
        return _of_pickle(path)
    with path.open("rb") as stream:
        found = json.loads(stream.read(min(int.from_bytes(stream.read(8), "little"), 1 << 27)))
    return {name: tuple(one["shape"]) for name, one in found.items() if name != "__metadata__"}, ""


def _of_pickle(path: Path) -> tuple[dict[str, tuple[int, ...]], str]:
    """The texts in a pickle, in order, and its classes: its operations are listed, and none is carried out."""
    with path.open("rb") as stream:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inner = next(one for one in archive.namelist() if one.endswith("data.pkl"))
                operations = [*pickletools.genops(BytesIO(archive.read(inner)))]
        else:
            # Older files have three short pickles before that of the weights.
            while len(operations := [*pickletools.genops(stream)]) < 50 and stream.peek(1):
                pass
    texts, said = [""], ""
    for operation, value, _ in operations:
        if "UNICODE" in operation.name:
            texts.append(str(value))
        named = (
            str(value).replace(" ", ".") if operation.name == "GLOBAL" else ".".join(texts[-2:]) if operation.name == "STACK_GLOBAL" else ""
        )
        if named and not _OF_WEIGHTS.match(named):
            said = said or f"holds objects of Python ({named}) with its weights; load it where it was made, and save the model itself"
        if operation.name == "STACK_GLOBAL":
            del texts[-2:]
    first = next((number for number, text in enumerate(texts) if _NAME.fullmatch(text)), 0)
    if first and texts[first - 1]:
        said = said or f"has its weights under the key {texts[first - 1]!r}; load them into the model (load_state_dict), and save it"
    return {text: () for text in texts if text.endswith((".weight", ".bias", ".gamma", ".beta"))}, said


def _tokens(path: Path) -> dict[str, int]:
    if path.suffix == ".txt":
        return {line: number for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")) if line}
    found = _json(path)
    if path.name == "vocab.json":
        return found
    own = found["model"]["vocab"]
    ids = own if isinstance(own, dict) else {token: number for number, (token, _) in enumerate(own)}
    return ids | {one["content"]: one["id"] for one in found.get("added_tokens", ())}
