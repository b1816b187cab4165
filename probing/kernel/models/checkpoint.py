"""The files of a model's folder: its configuration, the names of its weights, and its tokens."""

import json
import pickletools
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

#: Architectures whose masked-LM head is known, by ``model_type``; ``kernel.models.head`` reads them.
ARCHITECTURES = (
    "albert",
    "bert",
    "camembert",
    "data2vec-text",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "esm",
    "megatron-bert",
    "modernbert",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
)
#: How the names of the weights of a masked-LM head begin, by architecture.
_HEADS = {
    "albert": ("predictions.",),
    "distilbert": ("vocab_",),
    "electra": ("generator_",),
    "modernbert": ("decoder.",),
}
_OTHER_HEADS = ("cls.predictions.", "lm_predictions.", "lm_head.")
_DISCRIMINATOR = (
    "is ELECTRA's discriminator, which was trained without a masked-LM head; use the generator of the same release,"
    " such as google/electra-small-generator"
)
NO_HEAD = "has no own masked-LM head; name its base model, whose complete head is used"
#: Weights as transformers stores them, in the order in which it looks for them: in one file, or as a list of shards.
LAYOUTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
#: What torch makes of a file of weights without running it.
_OF_WEIGHTS = re.compile(r"(torch(?!\.storage\._load)|collections)\.")
#: Formats of integers; LongStorage has the position ids of older checkpoints.
_INTEGERS = re.compile(r"torch\.(Q?U?Int|Char|Byte|Short)\w*Storage")
_NO_FLOATS = "expected floating-point weights; it is quantised or damaged: use the original weights"
#: Ends of a parameter's name; a checkpoint's other tensors, such as position ids, are constants.
_PARAMETERS = (".weight", ".bias", ".gamma", ".beta")
_NAME = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)+")
_UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    StopIteration,
    zipfile.BadZipFile,
)


def why_no_head(kind: str, architectures: Iterable[str], names: Collection[str]) -> str:
    """Why a model has no masked-LM head, in words that follow its name; empty if it was saved with one.

    ``architectures`` of its configuration decide if the names of its weights are unknown.
    """
    declared = any(
        name.endswith(("ForMaskedLM", "ForPreTraining")) and name != "ElectraForPreTraining" for name in architectures
    )
    # ModernBERT's classifiers have a head of these names, too, and it is trained for their task.
    begins = (*_HEADS.get(kind, _OTHER_HEADS), *(["head."] if declared and kind == "modernbert" else []))
    if any(name.startswith(begins) for name in names) if names else declared:
        return ""
    discriminates = "ElectraForPreTraining" in architectures or any(name.startswith("discriminator_") for name in names)
    return _DISCRIMINATOR if kind == "electra" and discriminates else NO_HEAD


def chosen_weights(names: Iterable[str], shards: Callable[[str], Sequence[str]]) -> list[str]:
    """Names of the weight files that are loaded, also those that a list names (``shards``); None without any."""
    files = set(names)
    for layout in LAYOUTS:
        if layout in files:
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
        return frozenset(path.name for path in self.folder.iterdir())

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
        return why_no_head(self.kind, [*map(str, named)] if isinstance(named, list) else [], self.weight_names)

    @cached_property
    def weights(self) -> list[str]:
        """Names of the weight files that are loaded."""
        return chosen_weights(
            self.names, lambda index: sorted({*map(str, dict(self.settings(index).get("weight_map", {})).values())})
        )

    @cached_property
    def headers(self) -> list[tuple[frozenset[str], str]]:
        """Of each weight file the names of its weights, and what is wrong with it."""
        end = "which is missing, damaged or something else, such as a web page; copy or download it again"
        unreadable = f"has the weight file {{}}, {end}" if self.complete else ""
        return [
            read_once(_header, self.folder / name) or (frozenset(), unreadable.format(name)) for name in self.weights
        ]

    @property
    def weight_names(self) -> frozenset[str]:
        """Names of all weights that its files name."""
        return frozenset().union(*(names for names, _ in self.headers))

    @property
    def own_code(self) -> str:
        """What its configuration names of code of its own; empty if nothing."""
        named = self.config.get("auto_map")
        return next(map(str, named.values()), "") if isinstance(named, dict) else ""

    @property
    def own_code_note(self) -> str:
        """One line if its configuration names code of its own."""
        code = f"note: auto_map in config.json names code of its own ({self.own_code}), which is not run"
        return f"{code}: transformers' own {self.kind} model reads the weights" if self.own_code else ""

    @cached_property
    def tokens(self) -> tuple[str, ...] | None:
        """Its tokens by id; None if no file in words has them."""
        path = next(
            (self.folder / name for name in ("tokenizer.json", "vocab.txt", "vocab.json") if name in self.names), None
        )
        ids = ((path and read_once(_tokens, path)) or {}) | self.settings("added_tokens.json")
        # No vocabulary has so many; the list of a damaged one would fill the memory.
        if not ids or not all(type(number) is int and 0 <= number < 10**7 for number in ids.values()):
            return None
        token_of = {number: token for token, number in ids.items()}
        return tuple(token_of.get(number, "") for number in range(max(token_of) + 1))

    @property
    def lower_cases(self) -> bool:
        """Whether its tokenizer lower-cases words, by its files; BERT's does if nothing says otherwise."""
        own = read_once(_normalizer, self.folder / "tokenizer.json")
        usual = (
            re.search('"lowercase": true|"Lowercase"', own) if own else "vocab.txt" in self.names and self.kind != "esm"
        )
        return bool(self.settings("tokenizer_config.json").get("do_lower_case", usual))

    def settings(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; empty if there is none that can be read."""
        content = read_once(_json, self.folder / name)
        return content if isinstance(content, dict) else {}


def read_once(read: Callable[[Path], Any], path: Path) -> Any:
    """What ``read`` finds in a file, once until it changes, as pages ask at every run; None if it cannot be read."""
    try:
        return _read(read, path, path.stat().st_mtime_ns, path.stat().st_size)
    except _UNREADABLE:
        return None


@lru_cache(maxsize=64)
def _read(read: Callable[[Path], Any], path: Path, changed: int, size: int) -> Any:
    return read(path)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _normalizer(path: Path) -> str:
    return json.dumps(_json(path).get("normalizer"))


def _header(path: Path) -> tuple[frozenset[str], str]:
    if path.suffix != ".safetensors":
        return _of_pickle(path)
    with path.open("rb") as stream:
        header = json.loads(stream.read(min(int.from_bytes(stream.read(8), "little"), 1 << 27)))
    formats = {name: tensor["dtype"] for name, tensor in header.items() if name.endswith(_PARAMETERS)}
    strange = next((f"{name} as {dtype}" for name, dtype in formats.items() if not dtype.startswith(("F", "BF"))), "")
    return frozenset(formats), f"stores {strange}, {_NO_FLOATS}" if strange else ""


def _of_pickle(path: Path) -> tuple[frozenset[str], str]:
    """The texts and classes in a pickle: its operations are listed, and none is carried out."""
    with path.open("rb") as stream:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inner = next(name for name in archive.namelist() if name.endswith("data.pkl"))
                operations = [*pickletools.genops(BytesIO(archive.read(inner)))]
        else:
            # Older files have three short pickles before that of the weights.
            while len(operations := [*pickletools.genops(stream)]) < 50 and stream.peek(1):
                pass
    saved = "load it where it was made, and save the model itself with save_pretrained"
    if (
        protocol := max((int(value or 0) for operation, value, _ in operations if operation.name == "PROTO"), default=2)
    ) > 2:
        return (
            frozenset(),
            f"has its weights in a pickle of protocol {protocol}, which torch reads by running it; {saved}",
        )
    named = [str(value).replace(" ", ".") for operation, value, _ in operations if operation.name == "GLOBAL"]
    if strange := next((name for name in named if not _OF_WEIGHTS.match(name)), ""):
        return frozenset(), f"holds objects of Python ({strange}) with its weights; {saved}"
    texts = ["", *(str(value) for operation, value, _ in operations if "UNICODE" in operation.name)]
    if key := next((before for before, text in pairwise(texts) if _NAME.fullmatch(text)), ""):
        way = "load them into the model (load_state_dict), and save it with save_pretrained"
        return frozenset(), f"has its weights under the key {key!r}; {way}"
    strange = next((name for name in named if _INTEGERS.match(name)), "")
    return frozenset(text for text in texts if text.endswith(_PARAMETERS)), (
        f"stores weights as {strange}, {_NO_FLOATS}" if strange else ""
    )


def _tokens(path: Path) -> dict[str, int]:
    if path.suffix == ".txt":
        return {line: number for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")) if line}
    content = _json(path)
    if path.name == "vocab.json":
        return content
    own = content["model"]["vocab"]
    ids = own if isinstance(own, dict) else {token: number for number, (token, _) in enumerate(own)}
    return ids | {token["content"]: token["id"] for token in content.get("added_tokens", ())}
