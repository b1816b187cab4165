"""What a model is, by its ``config.json`` and the sizes of its files: no weight is read, and no heavy library is loaded."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.core.errors import ModelError

#: Architectures whose masked-LM head is known, by ``model_type``; ``models.encoders.head`` reads them.
ARCHITECTURES = (
    "albert", "bert", "camembert", "data2vec-text", "deberta", "deberta-v2", "distilbert", "electra", "ernie", "esm", "megatron-bert",
    "modernbert", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl",
)  # fmt: skip
_WEIGHTS = (".safetensors", ".bin")
_VOCABULARIES = ("tokenizer.json", "vocab")
#: Names of the same quantity in DistilBERT's configurations.
_OTHER_NAMES = {"num_hidden_layers": "n_layers", "hidden_size": "dim", "intermediate_size": "hidden_dim"}
#: A prompt of average length, in word pieces.
_PIECES = 14
#: Share of the speed of a plain product of matrices that a pass of a model reaches.
_REACHED = 0.3
#: Seconds that a command takes before its first fact: Python, libraries and weights.
_START = 20.0


@dataclass(frozen=True)
class CheckedModel:
    """A model as its configuration describes it.

    Attributes:
        kind: its architecture.
        depth, hidden, intermediate, vocabulary: its sizes.
        has_head: whether it was saved with a masked-LM head; otherwise its base's head reads it.
        has_vocabulary: whether a tokenizer is among its files; otherwise its base's is used.
        file_bytes: of its weights on this machine; 0 if there are none.
    """

    kind: str
    depth: int
    hidden: int
    intermediate: int
    vocabulary: int
    has_head: bool
    has_vocabulary: bool
    file_bytes: int

    @property
    def said(self) -> str:
        """Architecture and sizes in words."""
        return f"{self.kind}, {self.depth} layers of {self.hidden:,}, vocabulary of {self.vocabulary:,} tokens"

    def seconds(self, facts: int, speed: float) -> float:
        """Roughly how long a probe of all layers takes.

        Args:
            facts: number of facts.
            speed: operations per second of a product of matrices on this machine.
        """
        of_layer = 8 * self.hidden**2 + 4 * self.hidden * self.intermediate
        head = 2 * (self.depth + 1) * self.vocabulary * self.hidden
        return _START + facts * (_PIECES * self.depth * of_layer + head) / (speed * _REACHED)

    def unlike(self, base: "CheckedModel") -> str:
        """Why this cannot be the base of the model, in words; empty if it can."""
        names = ("kind", "depth", "hidden", "vocabulary")
        different = [name for name in names if getattr(self, name) != getattr(base, name)]
        if not different:
            return ""
        of = {"kind": "architecture", "depth": "number of layers", "hidden": "width", "vocabulary": "size of the vocabulary"}
        got = ", ".join(f"{of[name]} {getattr(self, name)} against {getattr(base, name)}" for name in different)
        return f"the model does not fit this base: {got}; name the model that it was fine-tuned from"


def check_model_folder(folder: Path) -> CheckedModel:
    """Checks a model's folder.

    Args:
        folder: with ``config.json``; the weights may be missing, as in the hub's cache.

    Raises:
        ModelError: if there is no such folder, it has no configuration, or the model has no known masked-LM head.
    """
    if not folder.is_dir():
        raise ModelError(f"no folder {folder}; expected the folder of a model, with config.json and its weights")
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        kind, architectures = str(config["model_type"]), [str(name) for name in config.get("architectures") or ()]
    except FileNotFoundError as error:
        raise ModelError(f"{folder} has no config.json; expected a model in the format of transformers (save_pretrained)") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read ({error!r}); expected a configuration of transformers") from error
    if kind not in ARCHITECTURES:
        raise ModelError(f"{folder.name} is a {kind} model; expected a masked language model: one of {', '.join(ARCHITECTURES)}")
    names = [one.name for one in folder.iterdir()]
    return CheckedModel(
        kind=kind,
        depth=_size(config, "num_hidden_layers", path),
        hidden=_size(config, "hidden_size", path),
        intermediate=_size(config, "intermediate_size", path),
        vocabulary=_size(config, "vocab_size", path),
        has_head=any(name.endswith(("ForMaskedLM", "ForPreTraining")) for name in architectures),
        has_vocabulary=any(name.startswith(_VOCABULARIES) or name.endswith(".model") for name in names),
        file_bytes=sum(one.stat().st_size for one in folder.iterdir() if one.name.endswith(_WEIGHTS)),
    )


def _size(config: Mapping[str, Any], name: str, path: Path) -> int:
    value = config.get(name, config.get(_OTHER_NAMES.get(name, "")))
    if type(value) is not int or value < 1:
        raise ModelError(f"{path} has {name} {value!r}, expected a whole number from 1 on")
    return value


def in_bytes(n: float) -> str:
    """ "440 MB", "1.3 GB"."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}"
        n /= 1000
    return f"{n:.1f} GB"


def in_minutes(seconds: float) -> str:
    """ "about 2 minutes", "about 3 hours": rounded up, because it is an estimate."""
    if seconds < 60:
        return "about a minute"
    if seconds < 90 * 60:
        return f"about {-(-seconds // 60):.0f} minutes"
    return f"about {-(-seconds // 3600):.0f} hours"
