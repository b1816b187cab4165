"""An adapter of PEFT, merged onto its base: LoRA with its variants (DoRA, rsLoRA) and IA3."""

import re
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from probing.kernel.errors import ModelError
from probing.kernel.models.check import READ_BY_NO_LAYER
from probing.kernel.models.checkpoint import why_no_head
from probing.kernel.models.head import part_head
from probing.kernel.options import spelled

#: What follows a module's path in the names of an adapter's weights.
_PART = re.compile(r"\.(lora_|ia3_)")
#: What stands between a module and a weight that was trained whole.
_WRAPPED = re.compile(r"\.(base_layer|token_adapter)(?=\.)")
#: The number of a layer in a path.
_LAYER = re.compile(r"\.\d+\.")
_TOKENS = ".trainable_tokens_delta"


@torch.no_grad()
def merge_adapter(title: str, model: PreTrainedModel, folder: Path) -> bool:
    """Merges the adapter in a folder onto its base, a masked language model, in place.

    True if the adapter was trained with the masked-LM head, which is then merged, too; heads of other tasks are left
    out. ModelError: the adapter does not fit the base.
    """
    from peft import PeftConfig, get_peft_model
    from peft.tuners.tuners_utils import check_target_module_exists
    from peft.utils import load_peft_weights, set_peft_model_state_dict

    config: Any = PeftConfig.from_pretrained(str(folder))
    stored = load_peft_weights(str(folder), "cpu")
    stored = {name.removeprefix("base_model.model."): weight for name, weight in stored.items()}
    kind, prefix = model.config.model_type, model.base_model_prefix
    trained = str((config.auto_mapping or {}).get("base_model_class"))
    with_head = not (why_no_head(kind, [trained], ()) and why_no_head(kind, (), stored))
    in_body = {name: weight for name, weight in stored.items() if name.startswith(f"{prefix}.")}
    # An adapter of a bare body names no prefix.
    root: PreTrainedModel = model if in_body or with_head else getattr(model, prefix)
    stored = in_body if in_body and not with_head else stored
    modules, children = dict(root.named_modules()), dict(root.named_children())
    whole = {_WRAPPED.sub("", name): weight for name, weight in stored.items() if not _PART.search(name)}
    places = {name: _PART.split(name)[0] for name in stored if name not in whole and _PART.search(name)}
    for path in {*places.values(), *(name.rpartition(".")[0] for name in whole)} - modules.keys():
        if path.split(".")[0] in children and not any(part in READ_BY_NO_LAYER for part in path.split(".")):
            raise ModelError(f"{title} adapts {path}, which its base lacks; name its own base ({spelled('base')})")
    _replace(root, whole, places.values(), getattr(config, "trainable_token_indices", None))
    if strange := next((weight.dtype for weight in stored.values() if not weight.is_floating_point()), None):
        raise ModelError(f"{title} has weights of {str(strange).removeprefix('torch.')}; expected floating-point ones")
    # Layers may be left out on purpose, but then the settings say which.
    shapes = {_LAYER.sub(".", path) for path in places.values()}
    meant = {path for path in modules if _LAYER.sub(".", path) in shapes and check_target_module_exists(config, path)}
    if lacking := sorted(meant - {*places.values()}):
        raise ModelError(
            f"{title} has no weights for {lacking[0]}, which its settings adapt; it is cut, or of another base"
        )
    # Full paths, because a head of the base may have modules that are called like the adapter's.
    config.target_modules = {*places.values()} & modules.keys()
    config.task_type = config.modules_to_save = config.trainable_token_indices = None
    with warnings.catch_warnings(action="ignore"):
        wrapped = get_peft_model(root, config, autocast_adapter_dtype=False)
        known = {f"base_model.model.{name}": stored[name] for name, path in places.items() if path in modules}
        loaded: Any = set_peft_model_state_dict(wrapped, known)
        if unread := [*loaded.unexpected_keys, *filter(_PART.search, loaded.missing_keys)]:
            raise ModelError(f"{title} has weights that do not fit its adapter_config.json, such as {unread[0]}")
        wrapped.merge_and_unload()
    return with_head


def _replace(root: Any, whole: Mapping[str, torch.Tensor], adapted: Collection[str], tokens: Any) -> None:
    """Puts weights that were trained whole in the place of the base's; ``tokens``: rows of embeddings, by layer.

    ``adapted`` are the modules that the adapter changes besides.
    """
    path = next(name for name, module in root.named_modules() if module is root.get_input_embeddings())
    if (new := whole.get(f"{path}.weight")) is not None and len(new) != root.config.vocab_size:
        root.resize_token_embeddings(len(new), mean_resizing=False)
    embeddings, head = root.get_input_embeddings(), root.get_output_embeddings()
    # PEFT trains the embeddings apart from the matrix that is tied to them, but single tokens in both.
    if head is not None and head.weight is embeddings.weight and not tokens:
        ends = {path, next(name for name, module in root.named_modules() if module is head)}
        if ends & {*adapted, *(name.rpartition(".")[0] for name in whole)}:
            part_head(root)
    parameters = dict(root.named_parameters(remove_duplicate=False))
    for name, weight in whole.items():
        if (place := name.removesuffix(_TOKENS)) != name:
            rows = tokens if isinstance(tokens, list) else next(tokens[at] for at in tokens if place.endswith(at))
            parameters[f"{place}.weight"][rows] = weight.to(embeddings.weight)
        elif name in parameters:
            parameters[name].copy_(weight)
