"""What a model is, by its ``config.json`` and its files: no weight is read, and no heavy library is loaded."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from probing.kernel.errors import ModelError
from probing.kernel.models.checkpoint import ModelFiles, Shape, check_files, has_tokenizer, unlike, warn_of_words
from probing.kernel.models.names import ADAPTER, base_entry, find_entry
from probing.kernel.options import spelled

#: Names of the same quantity in the configurations of DistilBERT, FlauBERT and XLM.
_OTHER_NAMES = {
    "num_hidden_layers": ("n_layers",),
    "hidden_size": ("dim", "emb_dim"),
    "intermediate_size": ("hidden_dim",),
    "vocab_size": ("n_words",),
}
#: A prompt of average length, in word pieces.
_PIECES = 14
#: Share of the speed of a plain product of matrices that a pass of a model reaches.
_REACHED = 0.6
#: Seconds that a command takes before its first fact: Python, libraries and weights.
_START = 20.0


@dataclass(frozen=True)
class CheckedModel:
    """A model as its configuration describes it."""

    kind: str
    depth: int
    hidden: int
    intermediate: int
    vocabulary: int
    #: What to do if it has no masked-LM head, in words that follow its name; else empty.
    why_no_head: str
    #: Whether a tokenizer is among its files; otherwise its base's is used.
    has_vocabulary: bool
    #: Of its weights on this machine; 0 if there are none.
    file_bytes: int
    tokens: tuple[str, ...] | None = None
    #: What may make its numbers other than they seem, one line each.
    notes: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """Architecture and sizes in words."""
        return f"{self.kind}, {self.depth} layers of {self.hidden:,}, vocabulary of {self.vocabulary:,} tokens"

    def seconds(self, facts: float) -> float:
        """Roughly how long a probe of all layers takes on this machine's processor."""
        of_layer = 8 * self.hidden**2 + 4 * self.hidden * self.intermediate
        head = 2 * (self.depth + 1) * self.vocabulary * self.hidden
        return _START + facts * (_PIECES * self.depth * of_layer + head) / (_speed() * _REACHED)

    def shape(self, base: "CheckedModel | None" = None) -> Shape:
        """What it has in common with its base, which has its tokenizer, too, if it has none of its own."""
        tokens = base.tokens if base and not self.has_vocabulary else self.tokens
        return Shape(self.kind, self.depth, self.hidden, self.vocabulary, tokens)

    def unfit(self, base: "CheckedModel | None", name: str) -> str:
        """Why it cannot be asked with this base, or without one, in words that follow its name; or nothing."""
        if base and self.why_no_head and base.why_no_head:
            return f"has no own masked-LM head, and its base {name} {base.why_no_head}"
        return unlike(self.shape(base), base.shape(), name) if base else self.why_no_head


def check_model_folder(folder: Path, *, complete: bool = True, base: str = "") -> CheckedModel:
    """Checks a model's folder; unless ``complete``, its weights are still to be downloaded.

    An adapter is as its base: ``base``, or the recorded one.
    """
    if not folder.is_dir():
        raise ModelError(f"no folder {folder}; expected the folder of a model, with config.json and its weights")
    files, path = ModelFiles(folder, complete), folder / "config.json"
    check_files(folder, files)
    if ADAPTER in files.names:
        lent = _base_of_adapter(folder, base)
        size = sum(path.stat().st_size for path in folder.glob("adapter_model.*"))
        return replace(lent, tokens=files.tokens or lent.tokens, file_bytes=size)
    words = warn_of_words(folder.name, files.tokens or (), str.lower if files.lower_cases else str)
    return CheckedModel(
        kind=files.kind,
        depth=_size(files.config, "num_hidden_layers", path),
        hidden=_size(files.config, "hidden_size", path),
        intermediate=_size(files.config, "intermediate_size", path),
        vocabulary=_size(files.config, "vocab_size", path),
        why_no_head=files.why_no_head,
        has_vocabulary=has_tokenizer(files.names),
        file_bytes=sum((folder / name).stat().st_size for name in files.weights if name in files.names),
        tokens=files.tokens,
        notes=tuple(filter(None, (words, files.own_code_note))),
    )


def _base_of_adapter(folder: Path, base: str) -> CheckedModel:
    """The base of the adapter in a folder, which must be on this machine."""
    lent = base_entry(find_entry(str(folder), base or None))
    if lent is None:
        raise ModelError(f"{folder} holds changes of its base model alone; name that base ({spelled('base')})")
    try:
        if not lent.hub_id:
            return check_model_folder(Path(lent.location))
        from probing.kernel.models.hub import open_snapshot  # Imports the hub's library.

        return check_model_folder(open_snapshot(lent.hub_id, lent.revision or None, True).folder, complete=False)
    except ModelError as error:
        why = f"the base of {folder}, {lent.location}, cannot be used: {error}"
        raise ModelError(f"{why}; name another ({spelled('base')})") from error


@cache
def _speed() -> float:
    """Operations per second of a product of matrices on this machine."""
    import numpy as np

    matrix, seconds = np.ones((768, 768), dtype=np.float32), []
    # The first one starts the threads; of the others the fastest was disturbed least.
    for _ in range(20):
        began = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - began)
    return 2 * 768**3 / min(seconds)


def refuse_unfit(name: str, base: str) -> None:
    """Raises a ``ModelError`` for a model here that does not fit this base; the hub's are judged when opened."""
    entry = find_entry(name)
    other = find_entry(base) if base else base_entry(entry)
    if entry.hub_id or (other and other.hub_id):
        return
    lent = check_model_folder(Path(other.location)) if other else None
    if why := check_model_folder(Path(entry.location), base=base).unfit(lent, other.name if other else ""):
        raise ModelError(f"{entry.name} {why} ({spelled('base')})")


def _size(config: Mapping[str, Any], name: str, path: Path) -> int:
    values = [config[one] for one in (name, *_OTHER_NAMES[name]) if one in config]
    if not values and name == "intermediate_size":
        # XLM names none: it is four times the other size there.
        return 4 * _size(config, "hidden_size", path)
    value = values[0] if values else None
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
