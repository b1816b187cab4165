"""Loads any masked-LM encoder, or a fine-tuned body together with its base's head."""

import hashlib
import json
import logging
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import huggingface_hub
import torch
from huggingface_hub import try_to_load_from_cache
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from probing.core.errors import HeadError, ModelError, NoOwnHead
from probing.core.registry import name_of_model
from probing.models.encoders.configuration import casing_of, computation_digest
from probing.models.encoders.delta_weights import apply_difference, is_difference
from probing.models.encoders.head import DecodingHead, pretrained_head
from probing.models.encoders.usable import (
    broken_files_named,
    check_answers,
    check_finite,
    check_fits,
    check_layers,
    check_masked,
    check_no_spare_weights,
    check_stored_as_floats,
    check_tokenizer,
    longest_input,
)
from probing.models.runtime.quiet_loading import quiet_loading

log = logging.getLogger(__name__)
WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")

# The library would query the hub for its user agent, even if all files are on this machine.
huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True
#: Whether this thread loads local models only.
_LOCAL_ONLY: ContextVar[bool] = ContextVar("local_only", default=False)


@dataclass(frozen=True)
class Encoder:
    """A frozen encoder in eval mode with the pre-trained head that reads its last layer.

    Attributes:
        name: its name in results.
        body: the encoder without any head.
        head: its own pre-trained masked-LM head, or its base's.
        tokenizer: the tokenizer of both.
        identity: sha256 over the weights of body and head source; trained heads and runs belong to it.
        configuration: digest of the configurations of body and head source and of the tokenizer, because the same weights have
            another output under another configuration.
        revision: hub commit, or ``local``.
        base: name of the model whose head is used; ``name`` if the head is its own.
        layers: L, the number of transformer layers; hidden states run from 0 (embeddings) to L.
        max_pieces: maximum length of an input in word pieces.
        device: device that it runs on.
        options: the options of a command that opens it again: ``--model`` and others.
        opens_base: loads the base whose head is used; None if the head is its own.
    """

    name: str
    body: PreTrainedModel
    head: DecodingHead
    tokenizer: PreTrainedTokenizerBase
    identity: str
    configuration: str
    revision: str
    base: str
    layers: int
    hidden: int
    max_pieces: int
    device: torch.device
    options: str
    opens_base: Callable[[], "Encoder"] | None = None

    def head_owner(self) -> "Encoder":
        """The model whose last layer the head was trained on: itself, or the base whose head it uses.

        Raises:
            ModelError, HeadError: if that base no longer exists, or has changed.
        """
        if self.opens_base is None:
            return self
        return self.opens_base()

    @property
    def casing(self) -> str:
        """``cased`` if the tokenizer keeps capital letters, else ``uncased``."""
        return casing_of(self.tokenizer)


@dataclass(frozen=True)
class BaseSource:
    """The base of a fine-tuned model; its head is used if the fine-tuned model has none.

    Attributes:
        source: hub id or folder.
        name: its name in results; ``name_of_model`` of the source by default.
        weights: identity that its weights must have, if it was recorded.
        revision: hub commit or tag.
    """

    source: str | Path
    name: str | None = None
    weights: str = ""
    revision: str | None = None


def pick_device(wanted: str = "auto") -> torch.device:
    """CUDA, else MPS, else CPU; or the named device.

    Raises:
        ModelError: if the named device does not exist.
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
    """Restricts loading inside the ``with`` block to models on this machine: nothing is downloaded, and the hub is not contacted."""
    before = _LOCAL_ONLY.set(True)
    try:
        yield
    finally:
        _LOCAL_ONLY.reset(before)


def is_local_only() -> bool:
    """Whether this thread is inside ``without_the_hub``."""
    return _LOCAL_ONLY.get()


def load_encoder(
    source: str | Path,
    *,
    name: str | None = None,
    base: BaseSource | None = None,
    revision: str | None = None,
    device: str = "auto",
    dtype: torch.dtype = torch.float32,
    options: str = "",
) -> Encoder:
    """Loads an encoder from a hub id or a local folder.

    Args:
        source: hub id or folder.
        name: its name in results; ``name_of_model`` of the source by default.
        base: the model whose head is used if ``source`` has no own head.
        revision: hub commit or tag.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        dtype: number format of the weights.
        options: the user's options for model and base; by default made from the source.

    Raises:
        ModelError: if the model does not exist or cannot be used, its architecture is unknown, weights of its body are missing, spare
            or not finite, or the base does not exist or has changed.
        HeadError: if it has no own head and no base is given, or its head lacks a part.
    """
    chosen = pick_device(device)
    name = name or name_of_model(source)
    with broken_files_named(source):
        stored_as_difference = is_difference(source)
        if stored_as_difference:
            model, lacks_head, base_identity = _load_difference(Path(source), base, dtype)
        else:
            model, missing = _load(source, revision, dtype)
            lacks_head, base_identity = _lacks_head(source, model, missing), ""
        head_source: PreTrainedModel = model
        identity, used_base, opens_base = weights_identity(source, revision), name, None
        tokenizer_source, tokenizer_revision = source, revision
        if lacks_head:
            if base is None:
                raise NoOwnHead(f"{source} has no own masked-LM head; name its base model, whose complete head is used (--base)")
            with _as_base_of(source, base.source):
                head_source = _load_base(base, dtype, source, model)
                base_identity = base_identity or weights_identity(base.source, base.revision)
            _check_base(source, base, base_identity)
            used_base = base.name or name_of_model(base.source)
            opens_base = partial(_open_base, replace(base, name=used_base, weights=base_identity), source, device, dtype)
        if base_identity:
            identity = joint_identity(identity, base_identity)
        if base is not None and not _has_tokenizer(source):
            tokenizer_source, tokenizer_revision = base.source, base.revision
        tokenizer = _load_tokenizer(tokenizer_source, tokenizer_revision)
        check_tokenizer(tokenizer_source, tokenizer, head_source.config.vocab_size)
        body = getattr(model, model.base_model_prefix).eval().requires_grad_(False)
        head = pretrained_head(head_source)
        check_finite(source, body, head)
        body, head, longest = body.to(chosen), head.to(chosen), longest_input(model.config, tokenizer)
        check_answers(source, body, head, tokenizer)
        return Encoder(
            name=name,
            body=body,
            head=head,
            tokenizer=tokenizer,
            identity=identity,
            # A base's configuration counts if its head is used and its configuration differs.
            configuration=computation_digest((model.config, head_source.config), tokenizer),
            revision="local" if Path(source).is_dir() else _commit(model) or revision or "main",
            base=used_base,
            layers=int(model.config.num_hidden_layers),
            hidden=int(model.config.hidden_size),
            max_pieces=longest,
            device=chosen,
            options=options or f"--model {shlex.quote(str(source))}" + (f" --base {shlex.quote(str(base.source))}" if base else ""),
            opens_base=opens_base,
        )


@contextmanager
def _as_base_of(source: str | Path, base: str | Path) -> Iterator[None]:
    """Adds to the error of an unusable base the model that it is the base of, and what to do if it was moved."""
    try:
        with broken_files_named(base):
            yield
    except ModelError as error:
        raise ModelError(
            f"the base of {source}, {base}, cannot be used: {error}; if the base was moved, name its folder (--base)"
        ) from error


def _open_base(base: BaseSource, source: str | Path, device: str, dtype: torch.dtype) -> Encoder:
    """The base of ``source`` as an encoder; it must have the weights that it had when its head was first used."""
    with _as_base_of(source, base.source):
        opened = load_encoder(base.source, name=base.name, revision=base.revision, device=device, dtype=dtype)
    _check_base(source, base, opened.identity)
    return opened


def _check_base(source: str | Path, base: BaseSource, got: str) -> None:
    if base.weights and got != base.weights:
        raise ModelError(
            f"the base {base.source} has weights {got[:12]}, {source} was fine-tuned from {base.weights[:12]}; "
            "name the folder of the original base (--base)"
        )


def _lacks_head(source: str | Path, model: PreTrainedModel, missing: set[str]) -> bool:
    """Whether a checkpoint is a body only; ``missing`` are the names of the weights that it lacks."""
    inside = f"{model.base_model_prefix}."
    body_missing = sorted(key for key in missing if key.startswith(inside) and "pooler" not in key)
    if body_missing:
        got = f"{source} lacks {len(body_missing)} weights of its body, such as {body_missing[0]}"
        raise ModelError(f"{got}; it is not a usable encoder")
    head_missing = {key for key in missing if not key.startswith(inside)}
    if head_missing and _head_parameters(model) - head_missing:
        lacking = ", ".join(sorted(head_missing))
        raise HeadError(f"the masked-LM head of {source} lacks {lacking}; expected a complete head, or none")
    return bool(head_missing)


def _load_difference(source: Path, base: BaseSource | None, dtype: torch.dtype) -> tuple[PreTrainedModel, bool, str]:
    """A body that is stored as a difference, whether it lacks an own head (one that was trained with it), and its base's identity."""
    if base is None:
        raise ModelError(f"{source} holds a difference from its base model; name that base (--base)")
    with _as_base_of(source, base.source):
        model, missing = _load(base.source, base.revision, dtype)
        if missing:
            raise ModelError(f"the base {base.source} lacks {sorted(missing)[0]}; a difference needs its complete base")
        base_weights = weights_identity(base.source, base.revision)
    changed = apply_difference(model, source, base_weights)
    return model, not changed & _head_parameters(model), base_weights


def _load_base(base: BaseSource, dtype: torch.dtype, source: str | Path, model: PreTrainedModel) -> PreTrainedModel:
    """The model whose head is used on the body ``model``, checked to fit it."""
    found, missing = _load(base.source, base.revision, dtype)
    if missing:
        lacking = ", ".join(sorted(missing)[:3])
        raise HeadError(f"the base {base.source} lacks {lacking}; it must have a complete masked-LM head")
    check_fits(source, model.config, base.source, found.config)
    return found


def _commit(model: PreTrainedModel) -> str | None:
    return getattr(model.config, "_commit_hash", None)


def _load(source: str | Path, revision: str | None, dtype: torch.dtype) -> tuple[PreTrainedModel, set[str]]:
    where = {"revision": revision, "local_files_only": _LOCAL_ONLY.get()}
    with broken_files_named(source):
        config = AutoConfig.from_pretrained(source, **where, trust_remote_code=False)
        check_masked(source, config)
        check_layers(source, config)
        with quiet_loading():
            model, info = AutoModelForMaskedLM.from_pretrained(
                source, **where, config=config, dtype=dtype, trust_remote_code=False, output_loading_info=True
            )
    if info["mismatched_keys"]:
        raise ModelError(f"weights of {source} do not fit its config: {sorted(map(str, info['mismatched_keys']))[:3]}")
    check_no_spare_weights(source, model, info["unexpected_keys"])
    check_stored_as_floats(source, weight_files(source, revision))
    return model.eval(), set(info["missing_keys"])


def _load_tokenizer(source: str | Path, revision: str | None) -> PreTrainedTokenizerBase:
    if not _has_tokenizer(source):
        raise ModelError(f"{source} has no tokenizer files; save the model's own tokenizer in that folder (tokenizer.save_pretrained)")
    with broken_files_named(source, "with its tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision, local_files_only=_LOCAL_ONLY.get(), trust_remote_code=False)
    return tokenizer


def _head_parameters(model: PreTrainedModel) -> set[str]:
    """Names of the parameters of the head alone: neither the body's, nor tied to the body's."""
    body = {id(p) for p in getattr(model, model.base_model_prefix).parameters()}
    return {name for name, p in model.named_parameters() if id(p) not in body}


def _has_tokenizer(source: str | Path) -> bool:
    """Whether a folder has a vocabulary; a hub id counts as one that has."""
    folder = Path(source)
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else ["tokenizer.json"]
    return any(name.endswith(".model") or name == "tokenizer.json" or name.startswith("vocab") for name in names)


def weight_files(source: str | Path, revision: str | None = None) -> list[Path]:
    """The weight files of a folder or of a fetched hub id, in order.

    Raises:
        ModelError: if there are none.
    """
    folder = Path(source)
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
    return files


def weights_identity(source: str | Path, revision: str | None = None) -> str:
    """sha256 over the weight files (name and bytes) of a model, independent of their folder."""
    digest = hashlib.sha256()
    for path in weight_files(source, revision):
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def joint_identity(weights: str, base_weights: str) -> str:
    """Identity of a model with two sets of weights: its own and its base's."""
    return hashlib.sha256(f"{weights}+{base_weights}".encode()).hexdigest()


def _cached_files(source: str, names: Iterable[str], revision: str | None) -> list[Path]:
    found = (try_to_load_from_cache(source, name, revision=revision) for name in names)
    return [Path(path) for path in found if isinstance(path, str)]
