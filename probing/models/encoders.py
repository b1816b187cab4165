"""Loads any masked-LM encoder, or a fine-tuned body together with its base's head."""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from huggingface_hub import try_to_load_from_cache
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from probing.core.errors import HeadError, ModelError
from probing.models.heads import DecodingHead, pretrained_head

log = logging.getLogger(__name__)
WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


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


def load_encoder(
    source: str | Path,
    *,
    name: str | None = None,
    base: str | Path | None = None,
    base_name: str | None = None,
    revision: str | None = None,
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
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        dtype: float32 unless asked.

    Raises:
        ModelError: if there is no such model, its architecture is unknown, or body weights are missing.
        HeadError: if it has no head of its own and no base is given, or its head lacks a part.
    """
    chosen = pick_device(device)
    name = name or Path(str(source)).name
    model, missing = _load(source, revision, dtype)
    identity = weights_identity(source, revision)
    head_source, tokenizer_source, used_base = model, source, name
    if missing:
        body_missing = sorted(key for key in missing if key.startswith(f"{model.base_model_prefix}.") and "pooler" not in key)
        if body_missing:
            raise ModelError(f"{source} lacks {len(body_missing)} weights of its body, such as {body_missing[0]}; it is not a usable encoder")
        own = _head_parameters(model)
        head_missing = sorted(key for key in missing if not key.startswith(f"{model.base_model_prefix}."))
        if head_missing and len(head_missing) < len(own):
            raise HeadError(f"the masked-LM head of {source} lacks {', '.join(head_missing)}; a head is used whole or not at all")
        if head_missing and base is None:
            raise HeadError(f"{source} has no masked-LM head of its own; name its base model, whose complete head will be used (--base)")
        if head_missing:
            assert base is not None
            head_source, base_missing = _load(base, None, dtype)
            if base_missing:
                raise HeadError(f"the base {base} lacks {', '.join(sorted(base_missing)[:3])}; it must have a complete masked-LM head")
            if head_source.config.hidden_size != model.config.hidden_size:
                raise HeadError(f"the base's head takes {head_source.config.hidden_size} values, {source} gives {model.config.hidden_size}")
            identity = hashlib.sha256(f"{identity}+{weights_identity(base, None)}".encode()).hexdigest()
            used_base = base_name or Path(str(base)).name
            if not _has_tokenizer(source):
                tokenizer_source = base
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_source, revision=revision if tokenizer_source == source else None)
    _check_tokenizer(tokenizer, head_source, source)
    body = getattr(model, model.base_model_prefix)
    return Encoder(
        name=name,
        body=body.eval().requires_grad_(False).to(chosen),
        head=pretrained_head(head_source).to(chosen),
        tokenizer=tokenizer,
        identity=identity,
        revision=revision or ("local" if Path(source).is_dir() else "main"),
        base=used_base,
        layers=int(model.config.num_hidden_layers),
        hidden=int(model.config.hidden_size),
        max_pieces=_max_pieces(model, tokenizer),
        device=chosen,
    )


def _load(source: str | Path, revision: str | None, dtype: torch.dtype) -> tuple[PreTrainedModel, set[str]]:
    try:
        config = AutoConfig.from_pretrained(source, revision=revision, trust_remote_code=False)
        with _quiet():
            model, info = AutoModelForMaskedLM.from_pretrained(
                source, revision=revision, config=config, dtype=dtype, trust_remote_code=False, output_loading_info=True
            )
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise ModelError(
            f"cannot load {str(source)!r} as a masked-LM encoder: {first} "
            "(expected a hub id that was fetched before, or a folder with config.json and weights)"
        ) from error
    if info["mismatched_keys"]:
        raise ModelError(f"weights of {source} do not fit its config: {sorted(map(str, info['mismatched_keys']))[:3]}")
    return model.eval(), set(info["missing_keys"])


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


def weights_identity(source: str | Path, revision: str | None) -> str:
    """sha256 over the weight files (name and bytes) of a model: equal for equal weights, wherever they lie."""
    folder = Path(source)
    digest = hashlib.sha256()
    if folder.is_dir():
        files = sorted([*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")])
    else:
        found = (try_to_load_from_cache(str(source), name, revision=revision) for name in WEIGHT_FILES)
        files = [Path(path) for path in found if isinstance(path, str)][:1]
    if not files:
        raise ModelError(f"{source} has no weight files; expected model.safetensors")
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()
