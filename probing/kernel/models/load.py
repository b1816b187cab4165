"""Loads any masked-LM encoder, a fine-tuned body with its base's head, or a transformers model in memory."""

import copy
import hashlib
import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_utils import load_state_dict

from probing.kernel.errors import HeadError, JobError, ModelError, NoOwnHead
from probing.kernel.models.adapters import merge_adapter
from probing.kernel.models.check import (
    broken_files_named,
    casing_of,
    check_body,
    check_finite,
    check_tokenizer,
    computation_digest,
    lent_head,
    log_notes,
    longest_input,
    note_of_rebuilt,
    shape_of,
    token_ids,
    try_masks,
    with_offsets,
)
from probing.kernel.models.checkpoint import ADAPTER, SHORTEST, ModelFiles, why_no_head, why_unusable
from probing.kernel.models.delta_weights import FILE, apply_difference
from probing.kernel.models.head import Head, give_bias, has_other_layout, pretrained_head
from probing.kernel.models.hub import Located, joint_weights_id, locate
from probing.kernel.models.torch_settings import quiet_loading
from probing.kernel.options import spelled
from probing.kernel.provenance import LOCAL
from probing.kernel.registry import name_of_model


@dataclass(frozen=True)
class Encoder:
    """A frozen encoder in eval mode with the pre-trained head that reads its last layer."""

    name: str
    body: PreTrainedModel  #: without any head
    head: Head  #: its own masked-LM head, or its base's
    tokenizer: PreTrainedTokenizerBase
    weights_id: str  #: sha256 over the weights of body and head source; trained heads and runs belong to it
    configuration: str  #: digest of all else that decides the output
    revision: str  #: commit on the hub, or ``local``
    base: str  #: name of the model whose head is used; ``name`` if the head is its own
    depth: int  #: L, the number of transformer layers
    hidden: int
    max_pieces: int  #: longest input in word pieces
    device: torch.device
    options: str  #: of a command that opens it again: ``--model`` and others
    opens_base: Callable[[], "Encoder"] | None = None  #: loads the base whose head is used; None if the head is its own
    hub_id: str = ""  #: empty for a folder or a model in memory
    base_source: str = ""  #: ID@COMMIT of the base whose head is used; empty if it is none or a folder
    notes: tuple[str, ...] = ()  #: what may make its numbers other than they seem
    opens: Callable[[], "Encoder"] | None = None  #: loads it in another process; None if it is a model in memory
    on_top: str = ""  #: path of the norm on top of the last layer, through which every layer is read; empty without one
    reads_padding: bool = False  #: rows of different length cannot be read as one batch

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the model by itself."""
        return _opened_again, (self.opens, self.name, self.weights_id, self.configuration)

    @cached_property
    def token_ids(self) -> np.ndarray:
        """The ids that have a token, in order."""
        return token_ids(self.tokenizer)

    @property
    def layers(self) -> int:
        """The number of layers 0 to L: the embeddings and the transformer layers."""
        return self.depth + 1

    @property
    def dtype_name(self) -> str:
        """Format of the body's numbers, such as ``float32``."""
        return str(next(self.body.parameters()).dtype).removeprefix("torch.")

    @property
    def exact(self) -> torch.dtype:
        """Format in which its states are kept and its heads compute."""
        return _exact(next(self.body.parameters()).dtype)

    @property
    def at_commit(self) -> str:
        """Hub id and commit, as ``ID@COMMIT``; empty for a folder or a model in memory."""
        return f"{self.hub_id}@{self.revision}" if self.hub_id else ""

    @property
    def provenance(self) -> dict[str, Any]:
        """The fields of ``kernel.provenance.Provenance`` that say which model it is."""
        return {
            "model": self.name,
            "weights": self.weights_id,
            "configuration": self.configuration,
            "casing": self.casing,
            "model_revision": self.revision,
            "hub_id": self.hub_id,
            "base_source": self.base_source,
        }

    def head_owner(self) -> "Encoder":
        """The model whose last layer the head was trained on: itself, or the base, if that has not changed."""
        return self.opens_base() if self.opens_base else self

    @property
    def casing(self) -> str:
        """``cased`` if the tokenizer keeps capital letters, else ``uncased``."""
        return casing_of(self.tokenizer)


def _opened_again(opens: Callable[[], Encoder], name: str, weights: str, configuration: str) -> Encoder:
    """The model that another process pickled; a JobError if it differs here."""
    found = replace(opens(), name=name)
    refuse_differing(f"weights of {name}", found.weights_id, weights)
    refuse_differing(f"configuration of {name}", found.configuration, configuration)
    return found


def refuse_differing(what: str, got: str, expected: str) -> None:
    """Raises a ``JobError`` if a worker has something else than the coordinator."""
    if got != expected:
        raise JobError(
            f"a worker's {what}: got {got[:60]}, expected {expected[:60]}, the coordinator's; share the same"
        )


@dataclass(frozen=True)
class BaseSource:
    """The base of a fine-tuned model; its head is used if the fine-tuned model has none."""

    source: str | Path  #: hub id or folder
    name: str | None = None  #: in results; None: ``name_of_model`` of the source
    weights: str = ""  #: identity that its weights must have, if it was recorded
    revision: str | None = None


def pick_device(name: str = "auto") -> torch.device:
    """CUDA, else MPS, else CPU; or the named device, ModelError if it does not exist."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"device {name!r} cannot be used ({str(error).splitlines()[0]}); try auto or cpu") from error
    return device


def device_in_words(device: str) -> str:
    """A device as a reader knows it: "the CPU", "the GPU (NVIDIA H100)"."""
    if device.startswith("cuda"):
        return f"the GPU ({torch.cuda.get_device_name(device)})"
    return {"cpu": "the CPU", "mps": "the GPU (Apple)"}.get(device, device)


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
    """Loads an encoder from a hub id or a local folder, with the head of ``base`` if it has none.

    ``dtype`` is the body's; the head computes in float32, or in float64 with it.
    ModelError: unknown architecture, or weights of the body are missing, spare or not finite, or the base has changed;
    HeadError: no head and no base, or the head lacks a part.
    """
    chosen, exact = pick_device(device), _exact(dtype)
    name = name or name_of_model(source)
    with broken_files_named(source):
        located = locate(source, revision)
        files, base_found, opens_base, used_base, base_weights_id = ModelFiles(located.folder), None, None, name, ""
        on_base = bool(files.names & {ADAPTER, FILE})
        if base is not None and (on_base or not located.has_tokenizer):
            base_found = _locate_base(source, base)
        if on_base:
            model, lacks_head = _load_on_base(located, base_found, exact)
            base_weights_id = base_found.weights_id if base_found else ""
        else:
            model, missing = _load(located, exact)
            lacks_head = bool(files.why_no_head)
            if missing and not lacks_head:
                raise HeadError(
                    f"the masked-LM head of {source} lacks {', '.join(sorted(missing))}; expected a complete head, or"
                    " none"
                )
        head_source: PreTrainedModel = model
        if lacks_head:
            if base is None:
                raise NoOwnHead(f"{source} {files.why_no_head} ({spelled('base')})")
            base_found = base_found or _locate_base(source, base)
            with _as_base_of(source, base.source):
                head_source = _load_base(base_found, exact)
            base_weights_id = base_found.weights_id
            _check_base(source, base, base_weights_id)
            used_base = base.name or name_of_model(base.source)
            same_base = replace(
                base,
                name=used_base,
                weights=base_weights_id,
                revision=base_found.revision if base_found.hub_id else None,
            )
            opens_base = partial(_open_base, same_base, source, device, dtype)
        tokenizer_source = located if located.has_tokenizer else base_found or located
        tokenizer = load_tokenizer(tokenizer_source)
        notes = check_tokenizer(tokenizer_source.title, tokenizer, model.config.vocab_size)
        notes.append(note_of_rebuilt(tokenizer_source.title, tokenizer_source.folder / "tokenizer.json", tokenizer))
        notes += [files.own_code_note, _other_weights(located)]
        body = getattr(model, model.base_model_prefix).eval().requires_grad_(False)
        head = pretrained_head(head_source)
        if lacks_head and base_found is not None:
            theirs = load_tokenizer(base_found) if base_found.has_tokenizer else None
            own, lent = shape_of(model.config, tokenizer if theirs else None), shape_of(head_source.config, theirs)
            head, note = lent_head(source, own, used_base, lent, head)
            notes.append(note)
        check_finite(source, body, head)
        body, head, longest = body.to(chosen), head.to(chosen), longest_input(body, tokenizer)
        on_top, padding_read = try_masks(source, body, head, tokenizer, longest)
        _shorten(source, body, head, tokenizer, dtype)
        return Encoder(
            name=name,
            body=body,
            head=head,
            tokenizer=tokenizer,
            weights_id=joint_weights_id(located.weights_id, base_weights_id),
            # A base's configuration counts if its head is used and its configuration differs.
            configuration=computation_digest((model.config, head_source.config), tokenizer, on_top),
            revision=located.revision,
            base=used_base,
            depth=int(model.config.num_hidden_layers),
            hidden=int(model.config.hidden_size),
            max_pieces=longest,
            device=chosen,
            options=options or _options(located, base),
            opens_base=opens_base,
            hub_id=located.hub_id,
            base_source=base_found.at_commit if base_found else "",
            notes=log_notes(*notes),
            on_top=on_top,
            reads_padding=padding_read,
        )


def _shorten(
    source: str | Path, body: PreTrainedModel, head: Head, tokenizer: PreTrainedTokenizerBase, dtype: torch.dtype
) -> None:
    """Gives the body's numbers their format, if it is another, in which not every operation exists."""
    if dtype != next(body.parameters()).dtype:
        torch.nn.Module.to(body, dtype)
        try_masks(source, body, head, tokenizer, SHORTEST)


def _exact(dtype: torch.dtype) -> torch.dtype:
    """The format of the head beside a body of this format."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _options(located: Located, base: BaseSource | None) -> str:
    """The options of a command that opens a model again."""
    options = {
        "--model": located.title,
        "--revision": located.revision if located.hub_id else None,
        "--base": base and str(base.source),
    }
    return " ".join(f"{option} {shlex.quote(value)}" for option, value in options.items() if value)


@contextmanager
def _as_base_of(source: str | Path, base: str | Path) -> Iterator[None]:
    """Adds to the error of an unusable base the model that it is the base of, and what to do if it was moved."""
    try:
        with broken_files_named(base):
            yield
    except ModelError as error:
        raise ModelError(
            f"the base of {source}, {base}, cannot be used: {error}; if the base was moved, name its folder"
            f" ({spelled('base')})"
        ) from error


def _open_base(base: BaseSource, source: str | Path, device: str, dtype: torch.dtype) -> Encoder:
    """The base of ``source`` as an encoder; it must have the weights that it had when its head was first used."""
    with _as_base_of(source, base.source):
        opened = load_encoder(base.source, name=base.name, revision=base.revision, device=device, dtype=dtype)
    _check_base(source, base, opened.weights_id)
    return opened


def _check_base(source: str | Path, base: BaseSource, got: str) -> None:
    if base.weights and got != base.weights:
        raise ModelError(
            f"the base {base.source} has weights {got[:12]}, {source} was fine-tuned from {base.weights[:12]}; "
            f"name the folder of the original base ({spelled('base')})"
        )


def _locate_base(source: str | Path, base: BaseSource) -> Located:
    """The files of the base of ``source``."""
    with _as_base_of(source, base.source):
        return locate(base.source, base.revision)


def _load_on_base(located: Located, base: Located | None, dtype: torch.dtype) -> tuple[PreTrainedModel, bool]:
    """A body that is stored as a difference or an adapter, and whether it lacks an own head (trained with it)."""
    if base is None:
        raise ModelError(f"{located.title} holds changes of its base model alone; name that base ({spelled('base')})")
    with _as_base_of(located.title, base.title):
        model = _load_base(base, dtype)
    if (located.folder / ADAPTER).is_file():
        return model, not merge_adapter(located.title, model, located.folder)
    body = {id(p) for p in getattr(model, model.base_model_prefix).parameters()}
    changed = apply_difference(model, located.folder, base.weights_id)
    return model, not any(name in changed and id(p) not in body for name, p in model.named_parameters())


def _load_base(base: Located, dtype: torch.dtype) -> PreTrainedModel:
    """The model whose head is used on another body."""
    if (base.folder / ADAPTER).is_file():
        raise ModelError(f"{base.title} is an adapter itself; merge it with PEFT, and save the result")
    model, missing = _load(base, dtype)
    lacking = f"lacks {', '.join(sorted(missing)[:3])}; it must have a complete masked-LM head" if missing else ""
    if why := ModelFiles(base.folder).why_no_head or lacking:
        raise HeadError(f"the base {base.title} {why}")
    return model


def _load(located: Located, dtype: torch.dtype) -> tuple[PreTrainedModel, set[str]]:
    """A masked language model, and the names of the weights of its head that its checkpoint lacks."""
    config = AutoConfig.from_pretrained(located.folder, trust_remote_code=False)
    own_code = ModelFiles(located.folder).own_code
    # Sizes that do not fit are named below; transformers' own error names none.
    options = {"config": config, "dtype": dtype, "output_loading_info": True, "ignore_mismatched_sizes": True}
    with quiet_loading():
        # From a folder: of a hub id, transformers would ask a public service to convert the owner's weights.
        model, info = AutoModelForMaskedLM.from_pretrained(located.folder, **options)
        if has_other_layout(config, info["unexpected_keys"]):
            config.legacy = False
            model, info = AutoModelForMaskedLM.from_pretrained(located.folder, **options)
    # A vocabulary of another size is the usual cause.
    if other := min(
        info["mismatched_keys"], default=None, key=lambda mismatch: ("embeddings" not in mismatch[0], mismatch[0])
    ):
        weight, stored, configured = other
        raise ModelError(f"{located.title} {_size_mismatch(weight, stored, configured, own_code)}")
    check_body(located.title, model, info["missing_keys"], info["unexpected_keys"], own_code)
    of_head = {name for name in info["missing_keys"] if not name.startswith(f"{model.base_model_prefix}.")}
    return model.eval(), of_head - give_bias(model, of_head)


def _other_weights(located: Located) -> str:
    """One line if a folder has two files of weights that differ, or whose second torch cannot read."""
    files = [located.folder / name for name in ("model.safetensors", "pytorch_model.bin")]
    if not all(map(Path.is_file, files)):
        return ""
    read, other = load_state_dict(files[0]), {}
    with suppress(ModelError), broken_files_named(files[1]):
        other = load_state_dict(files[1])
    both = read.keys() & other.keys()
    if both and all(torch.equal(other[name].to(read[name].dtype), read[name]) for name in both):
        return ""
    return f"note: {located.title} has other weights in pytorch_model.bin; those in model.safetensors are read"


def _size_mismatch(name: str, stored: Collection[int], configured: Collection[int], own_code: str) -> str:
    if 0 in stored:
        way = "gather them with zero_to_fp32.py, load them into the model, and save it with save_pretrained"
        return f"has weights without values ({name}), as DeepSpeed ZeRO-3 saves them if they are not gathered; {way}"
    sizes = f"of size {' x '.join(map(str, stored))}, its config.json says {' x '.join(map(str, configured))}"
    if own_code:
        return (
            f"has its own code ({own_code}), which is not run here, so it cannot be used: the weight {name} is {sizes}"
        )
    causes = "a vocabulary that was resized in one place only, heads that were pruned, or another model's config.json"
    return f"has the weight {name} {sizes}; usual causes are {causes}: save the model again with save_pretrained"


def load_tokenizer(located: Located) -> PreTrainedTokenizerBase:
    """The tokenizer of a model, without its weights; ModelError if it has none that can be read."""
    if not located.has_tokenizer:
        raise ModelError(
            f"{located.title} has no tokenizer files; save the model's own tokenizer with it"
            " (tokenizer.save_pretrained)"
        )
    with broken_files_named(located.title, "with its tokenizer"):
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(located.folder, trust_remote_code=False)
    return with_offsets(tokenizer)


def encoder_of(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    *,
    name: str | None = None,
    base: Callable[[], Encoder] | None = None,
    device: str = "auto",
    dtype: torch.dtype = torch.float32,
) -> Encoder:
    """An encoder with a copy of a model's weights in eval mode; later training does not change it.

    The head of another task is ignored; ``base`` opens the model whose head is used if ``model`` has no masked-LM head
    (NoOwnHead without one). By default the name has eight digits of the identity: two states of one training differ.
    """
    if not isinstance(model, PreTrainedModel):
        expected = (
            "expected the name of a model, a folder, or a transformers model (of a wrapped one, the model inside)"
        )
        raise ModelError(f"got {type(model).__name__}, {expected}")
    source = f"the {type(model).__name__} in memory"
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise ModelError(
            f"got {type(tokenizer).__name__} as the tokenizer of {source}; give the model's own (tokenizer=)"
        )
    chosen, exact = pick_device(device), _exact(dtype)
    kind, config = model.config.model_type, model.config
    if reason := why_unusable(kind, getattr(config, "num_hidden_layers", None), getattr(config, "is_decoder", False)):
        raise ModelError(f"{source} {reason}")
    _check_weights(source, model)
    with broken_files_named(source):
        names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
        lacks = why_no_head(kind, [type(model).__name__], names)
        lent = base() if lacks and base is not None else None
        if lacks and lent is None:
            raise NoOwnHead(f"{source} {lacks} ({spelled('base')})")
        body = copy.deepcopy(model.base_model).to(chosen, exact)
        assert isinstance(body, PreTrainedModel)
        body.eval().requires_grad_(False)
        tokenizer = with_offsets(tokenizer)
        notes = check_tokenizer(source, tokenizer, config.vocab_size)
        if lent is None:
            head = pretrained_head(model, body)
        else:
            own, theirs = shape_of(config, tokenizer), shape_of(lent.body.config, lent.tokenizer)
            head, note = lent_head(source, own, lent.name, theirs, lent.head)
            notes.append(note)
        head = head.to(chosen, exact)
        check_finite(source, body, head)
        longest = longest_input(body, tokenizer)
        on_top, padding_read = try_masks(source, body, head, tokenizer, longest)
        own_head = () if lent else (head,)
        identity = joint_weights_id(weights_id_in_memory(body, *own_head), lent.weights_id if lent else "")
        _shorten(source, body, head, tokenizer, dtype)
        origin = name_of_model(model.name_or_path) if model.name_or_path else str(kind)
        name = name or f"{origin}-{identity[:8]}"
        return Encoder(
            name=name,
            body=body,
            head=head,
            tokenizer=tokenizer,
            weights_id=identity,
            configuration=computation_digest((config, lent.body.config if lent else config), tokenizer, on_top),
            revision=LOCAL,
            base=lent.name if lent is not None else name,
            depth=int(config.num_hidden_layers),
            hidden=int(config.hidden_size),
            max_pieces=longest,
            device=chosen,
            options="--model FOLDER",
            opens_base=base if lent is not None else None,
            base_source=lent.at_commit if lent is not None else "",
            notes=log_notes(*notes),
            on_top=on_top,
            reads_padding=padding_read,
        )


def _check_weights(source: str, model: PreTrainedModel) -> None:
    """Raises a ``ModelError`` if a weight is not a floating-point tensor in memory."""
    for name, weight in model.named_parameters():
        if weight.is_meta or not weight.is_floating_point():
            got = "has no values yet" if weight.is_meta else f"is in {str(weight.dtype).removeprefix('torch.')}"
            raise ModelError(f"{name} of {source} {got}, expected floating-point weights; load the original weights")


def weights_id_in_memory(*modules: torch.nn.Module) -> str:
    """sha256 over the name, shape and float32 bytes of every weight.

    The same weights in a folder have another identity, that of its files (``hub.weights_id_of``).
    """
    digest = hashlib.sha256(b"in memory")
    for module in modules:
        for name, weight in sorted(module.named_parameters()):
            digest.update(f"{name}{tuple(weight.shape)}".encode())
            digest.update(weight.detach().cpu().float().contiguous().numpy().tobytes())
    return digest.hexdigest()
