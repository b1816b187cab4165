"""Loads any masked-LM encoder, or a fine-tuned body together with its base's head."""

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError

import huggingface_hub
import torch
import transformers
from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from probing.core.errors import HeadError, ModelError, NoOwnHead
from probing.models.differences import apply_difference, is_difference
from probing.models.heads import DecodingHead, pretrained_head

log = logging.getLogger(__name__)
WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
#: What transformers raises for a model that is missing, of an unknown kind, torn or at odds with its config.
LOADING_ERRORS = (OSError, ValueError, KeyError, RuntimeError, SafetensorError, UnpicklingError)

# The library would ask the hub how to call the program that uses it, also where all files are here.
huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True
#: Whether this thread loads what is on this machine only.
_LOCAL_ONLY: ContextVar[bool] = ContextVar("local_only", default=False)


@dataclass(frozen=True)
class Encoder:
    """A frozen encoder in eval mode with the pre-trained head that reads its last layer.

    Attributes:
        name: how results call it.
        body: the encoder without any head.
        head: its own pre-trained masked-LM head, or its base's.
        tokenizer: the tokenizer that fits both.
        identity: sha256 over the weights of body and head source: what heads and runs are tied to.
        revision: hub commit, or ``local``.
        base: name of the model whose head is used, equal to ``name`` where it is its own.
        layers: L, the number of transformer layers; hidden states run from 0 (embeddings) to L.
        max_pieces: longest input in word pieces.
        device: where it runs.
    """

    name: str
    body: PreTrainedModel
    head: DecodingHead
    tokenizer: PreTrainedTokenizerBase
    identity: str
    revision: str
    base: str
    layers: int
    hidden: int
    max_pieces: int
    device: torch.device


def pick_device(wanted: str = "auto") -> torch.device:
    """CUDA, else MPS, else CPU; or the one that is named.

    Raises:
        ModelError: if the named device is not there.
    """
    if wanted == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"device {wanted!r} cannot be used ({str(error).splitlines()[0]}); try auto or cpu") from error
    return device


@contextmanager
def without_the_hub() -> Iterator[None]:
    """Loads inside are of models on this machine: nothing is downloaded, and the hub is not asked."""
    before = _LOCAL_ONLY.set(True)
    try:
        yield
    finally:
        _LOCAL_ONLY.reset(before)


def load_encoder(
    source: str | Path,
    *,
    name: str | None = None,
    base: str | Path | None = None,
    base_name: str | None = None,
    revision: str | None = None,
    base_revision: str | None = None,
    device: str = "auto",
    dtype: torch.dtype = torch.float32,
) -> Encoder:
    """Loads an encoder from a hub id or a local folder.

    Args:
        source: hub id or folder.
        name: how results call it; the folder's or id's last part by default.
        base: hub id or folder of the model whose head is used where ``source`` has none of its own.
        base_name: how results call the base.
        revision: hub commit or tag.
        base_revision: the base's.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        dtype: float32 unless asked.

    Raises:
        ModelError: if there is no such model, its architecture is unknown, or body weights are missing.
        HeadError: if it has no head of its own and no base is given, or its head lacks a part.
    """
    chosen = pick_device(device)
    name = name or Path(str(source)).name
    stored_as_difference = is_difference(source)
    if stored_as_difference:
        model, lacks_head, base_weights = _load_difference(Path(source), base, base_revision, dtype)
    else:
        model, missing = _load(source, revision, dtype)
        lacks_head, base_weights = _lacks_head(source, model, missing), ""
    head_source: PreTrainedModel = model
    identity, tokenizer_source, used_base = weights_identity(source, revision), source, name
    if lacks_head:
        if base is None:
            raise NoOwnHead(f"{source} has no masked-LM head of its own; name its base model, whose complete head is used (--base)")
        head_source = _load_base(base, base_revision, dtype, source, model)
        used_base = base_name or Path(str(base)).name
    if lacks_head or stored_as_difference:
        identity = joint_identity(identity, base_weights or weights_identity(str(base), base_revision))
    if base is not None and not _has_tokenizer(source):
        tokenizer_source = base
    tokenizer = _load_tokenizer(tokenizer_source, revision if tokenizer_source == source else base_revision)
    _check_tokenizer(tokenizer, head_source, tokenizer_source)
    body = getattr(model, model.base_model_prefix)
    return Encoder(
        name=name,
        body=body.eval().requires_grad_(False).to(chosen),
        head=pretrained_head(head_source).to(chosen),
        tokenizer=tokenizer,
        identity=identity,
        revision="local" if Path(source).is_dir() else _commit(model) or revision or "main",
        base=used_base,
        layers=int(model.config.num_hidden_layers),
        hidden=int(model.config.hidden_size),
        max_pieces=_max_pieces(model, tokenizer),
        device=chosen,
    )


def _lacks_head(source: str | Path, model: PreTrainedModel, missing: set[str]) -> bool:
    """Whether a checkpoint is a body only; ``missing`` holds the names of the weights that it did not have."""
    inside = f"{model.base_model_prefix}."
    body_missing = sorted(key for key in missing if key.startswith(inside) and "pooler" not in key)
    if body_missing:
        got = f"{source} lacks {len(body_missing)} weights of its body, such as {body_missing[0]}"
        raise ModelError(f"{got}; it is not a usable encoder")
    head_missing = {key for key in missing if not key.startswith(inside)}
    if head_missing and _head_parameters(model) - head_missing:
        lacking = ", ".join(sorted(head_missing))
        raise HeadError(f"the masked-LM head of {source} lacks {lacking}; a head is used whole or not at all")
    return bool(head_missing)


def _load_difference(source: Path, base: str | Path | None, revision: str | None, dtype: torch.dtype) -> tuple[PreTrainedModel, bool, str]:
    """A body that is stored as a difference, whether it lacks a head of its own (one that was trained with it), and its base's identity."""
    if base is None:
        raise ModelError(f"{source} holds a difference from its base model; name that base (--base)")
    model, missing = _load(base, revision, dtype)
    if missing:
        raise ModelError(f"the base {base} lacks {sorted(missing)[0]}; a difference needs its own base whole")
    base_weights = weights_identity(base, revision)
    changed = apply_difference(model, source, base_weights)
    return model, not changed & _head_parameters(model), base_weights


def _load_base(base: str | Path, revision: str | None, dtype: torch.dtype, source: str | Path, model: PreTrainedModel) -> PreTrainedModel:
    """The model whose head is lent to the body ``model``, checked to fit it."""
    found, missing = _load(base, revision, dtype)
    if missing:
        lacking = ", ".join(sorted(missing)[:3])
        raise HeadError(f"the base {base} lacks {lacking}; it must have a complete masked-LM head")
    for part, what in (("hidden_size", "hidden values"), ("vocab_size", "tokens in the vocabulary")):
        theirs, ours = getattr(found.config, part), getattr(model.config, part)
        if theirs != ours:
            raise HeadError(f"the base {base} has {theirs} {what}, {source} has {ours}; it is not this model's base")
    return found


def _commit(model: PreTrainedModel) -> str | None:
    return getattr(model.config, "_commit_hash", None)


def _load(source: str | Path, revision: str | None, dtype: torch.dtype) -> tuple[PreTrainedModel, set[str]]:
    try:
        where = {"revision": revision, "local_files_only": _LOCAL_ONLY.get()}
        config = AutoConfig.from_pretrained(source, **where, trust_remote_code=False)
        with _quiet():
            model, info = AutoModelForMaskedLM.from_pretrained(
                source, **where, config=config, dtype=dtype, trust_remote_code=False, output_loading_info=True
            )
    except LOADING_ERRORS as error:
        raise ModelError(
            f"cannot load {str(source)!r} as a masked-LM encoder: {_first_line(error)} "
            "(expected a hub id that was fetched before, or a folder with config.json and weights)"
        ) from error
    if info["mismatched_keys"]:
        raise ModelError(f"weights of {source} do not fit its config: {sorted(map(str, info['mismatched_keys']))[:3]}")
    return model.eval(), set(info["missing_keys"])


def _load_tokenizer(source: str | Path, revision: str | None) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision, local_files_only=_LOCAL_ONLY.get(), trust_remote_code=False)
    except LOADING_ERRORS as error:
        raise ModelError(f"cannot load the tokenizer of {str(source)!r}: {_first_line(error)}") from error
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer of {source} keeps no character offsets; convert it to a tokenizer.json")
    return tokenizer


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences transformers' report of missing weights: we read it as data and raise named errors ourselves."""
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(before)


def _head_parameters(model: PreTrainedModel) -> set[str]:
    """Names of the head's own parameters: neither the body's, nor tied to the body's."""
    body = {id(p) for p in getattr(model, model.base_model_prefix).parameters()}
    return {name for name, p in model.named_parameters() if id(p) not in body}


def _has_tokenizer(source: str | Path) -> bool:
    folder = Path(source)
    return not folder.is_dir() or any((folder / f).is_file() for f in ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model"))


def _check_tokenizer(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, source: str | Path) -> None:
    size = model.config.vocab_size
    if tokenizer.mask_token_id is None:
        raise ModelError(f"the tokenizer of {source} has no mask token; only masked language models can be asked")
    # A silently wrong tokenizer has a handful of tokens; padding the matrix to a round size is common and harmless.
    if not size // 2 < len(tokenizer) <= size:
        raise ModelError(f"the tokenizer of {source} has {len(tokenizer)} tokens, the model's head {size}; they do not belong together")


def _max_pieces(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    positions = int(getattr(model.config, "max_position_embeddings", 512))
    if model.config.model_type == "roberta":
        positions -= 2  # RoBERTa starts counting positions after the padding id.
    return min(positions, int(tokenizer.model_max_length))


def weights_identity(source: str | Path, revision: str | None = None) -> str:
    """sha256 over the weight files (name and bytes) of a model: equal for equal weights, wherever they lie."""
    folder = Path(source)
    digest = hashlib.sha256()
    if folder.is_dir():
        files = sorted([*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")])
    elif folder.is_absolute():
        raise ModelError(f"no folder {source}; expected a model folder")
    else:
        files = _cached_files(str(source), WEIGHT_FILES, revision)[:1]
        if files and files[0].name.endswith(".index.json"):
            shards = sorted(set(json.loads(files[0].read_text(encoding="utf-8"))["weight_map"].values()))
            files = _cached_files(str(source), shards, revision)
    if not files:
        raise ModelError(f"{source} has no weight files; expected model.safetensors")
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def joint_identity(weights: str, base_weights: str) -> str:
    """Identity of a model that is made of two sets of weights: its own and its base's."""
    return hashlib.sha256(f"{weights}+{base_weights}".encode()).hexdigest()


def _cached_files(source: str, names: Iterable[str], revision: str | None) -> list[Path]:
    found = (try_to_load_from_cache(source, name, revision=revision) for name in names)
    return [Path(path) for path in found if isinstance(path, str)]
