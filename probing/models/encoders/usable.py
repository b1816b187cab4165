"""Checks before a model is used: its files can be loaded, its weights are finite, and its body has a parameter for each."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import MODEL_FOR_MASKED_LM_MAPPING, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from probing.core.errors import HeadError, ModelError, ProbingError

#: The column ``layer`` holds at most the embeddings, layer 0, and this many layers.
MAX_LAYERS = 255
#: A mask between two special tokens.
SHORTEST = 3
#: Last parts of a parameter's name; a checkpoint's other tensors, such as position ids, are constants.
_PARAMETERS = ("weight", "bias", "gamma", "beta")
#: Prefixes of floating-point formats, safetensors' (F32, BF16) and torch's (float32, bfloat16) in capitals.
_FLOATS = ("F", "BF")


@contextmanager
def broken_files_named(source: str | Path, what: str = "as a masked-LM encoder") -> Iterator[None]:
    """Turns any error that a library raises on a damaged model into a ``ModelError``, because their classes follow no rule."""
    try:
        yield
    except (ProbingError, MemoryError):
        raise
    except Exception as error:
        raise _cannot_load(source, what, error) from error
    except BaseException as error:
        # The tokenizers library panics on a damaged file, and a panic is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise _cannot_load(source, what, error) from error


def _cannot_load(source: str | Path, what: str, error: BaseException) -> ModelError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    # A line that ends in a colon introduces the next one.
    said = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    # A message that is only a key or a number needs the name of the class.
    reason = said if isinstance(error, OSError | ValueError | RuntimeError | ImportError) else f"{type(error).__name__}: {said}"
    expected = "a name of the registry, a folder with config.json and weights, or a hub id"
    return ModelError(f"cannot load {str(source)!r} {what}: {reason} (expected {expected})")


def check_masked(source: str | Path, config: PretrainedConfig) -> None:
    """Raises a ``ModelError`` for an architecture that has no masked language model, such as GPT-2's."""
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise ModelError(
            f"{source} is a {config.model_type} model; expected a masked language model, such as BERT or RoBERTa: "
            "causal models and models that generate text are not supported"
        )


def check_layers(source: str | Path, config: PretrainedConfig) -> None:
    """Raises a ``ModelError`` for a number of layers that no model has; building a billion of them would exhaust the memory."""
    layers = getattr(config, "num_hidden_layers", None)
    if type(layers) is not int or not 1 <= layers <= MAX_LAYERS:
        raise ModelError(f"config.json of {source} has {layers!r} layers, expected 1 to {MAX_LAYERS}; fix it or use the model's own")


def check_no_spare_weights(source: str | Path, model: PreTrainedModel, unexpected: Iterable[str]) -> None:
    """Raises a ``ModelError`` if a checkpoint has weights of its body that the configuration does not define, such as more layers.

    Heads of other tasks and poolers are no part of the body and are ignored.
    """
    inside = {name for name, _ in getattr(model, model.base_model_prefix).named_children()}
    bare = {name: name.removeprefix(f"{model.base_model_prefix}.") for name in unexpected}
    spare = sorted(name for name, rest in bare.items() if rest.split(".")[0] in inside and rest.split(".")[-1] in _PARAMETERS)
    if spare:
        got = f"{source} has {len(spare)} weights of its body that its config.json does not define, such as {spare[0]}"
        raise ModelError(f"{got}; fix config.json (such as the number of layers) or use the checkpoint's own")


def check_stored_as_floats(source: str | Path, files: Iterable[Path]) -> None:
    """Raises a ``ModelError`` if weights are stored as integers, which are wrong without their scales."""
    files = list(files)
    # If both exist, only the safetensors are loaded.
    for path in [path for path in files if path.suffix == ".safetensors"] or files:
        for name, kind in _formats(path):
            if name.split(".")[-1] in _PARAMETERS and not kind.removeprefix("torch.").upper().startswith(_FLOATS):
                got = f"{path} stores {name} as {kind}"
                raise ModelError(f"{got}, expected floating-point weights; {source} is quantised or damaged: use the original weights")


def _formats(path: Path) -> Iterator[tuple[str, str]]:
    """Name and number format of every tensor of a weight file, from its header if it has one."""
    if path.suffix != ".safetensors":
        for name, tensor in torch.load(path, map_location="cpu", weights_only=True).items():
            yield name, str(getattr(tensor, "dtype", "float32"))
        return
    with safe_open(path, framework="pt") as stream:
        for name in stream.keys():  # noqa: SIM118
            yield name, stream.get_slice(name).get_dtype()


def check_finite(source: str | Path, *modules: torch.nn.Module) -> None:
    """Raises a ``ModelError`` with the name of the first weight that is NaN or infinite."""
    for module in modules:
        for name, weight in module.named_parameters():
            if not torch.isfinite(weight).all():
                raise ModelError(f"{name} of {source} holds values that are not finite; its training has diverged or its file is damaged")


def check_fits(source: str | Path, config: PretrainedConfig, base: str | Path, lent: PretrainedConfig) -> None:
    """Raises a ``HeadError`` if the head of ``base``, whose configuration is ``lent``, does not fit the body of ``source``."""
    for part, what in (("hidden_size", "hidden values"), ("vocab_size", "tokens in the vocabulary")):
        theirs, ours = getattr(lent, part), getattr(config, part)
        if theirs != ours:
            raise HeadError(f"the base {base} has {theirs} {what}, {source} has {ours}; it is not this model's base")


def check_tokenizer(source: str | Path, tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> None:
    """Raises a ``ModelError`` if a tokenizer has no character offsets or no mask token, or is another model's.

    Args:
        source: the model, for the message.
        tokenizer: its tokenizer.
        vocabulary: number of tokens of the model's head.
    """
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer of {source} returns no character offsets; convert it to a tokenizer.json")
    if tokenizer.mask_token_id is None:
        raise ModelError(f"the tokenizer of {source} has no mask token; only masked language models can be asked")
    # A wrong tokenizer usually has a handful of tokens; padding the matrix to a round size is common and harmless.
    if not vocabulary // 2 < len(tokenizer) <= vocabulary:
        raise ModelError(
            f"the tokenizer of {source} has {len(tokenizer)} tokens, the model's head {vocabulary}; they do not belong together"
        )


def longest_input(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """Maximum number of word pieces of a model's input; raises a ``ModelError`` if a mask alone is too long."""
    positions = int(getattr(config, "max_position_embeddings", 512))
    if config.model_type == "roberta":
        positions -= 2  # RoBERTa starts counting positions after the padding id.
    longest = min(positions, int(tokenizer.model_max_length))
    if longest < SHORTEST:
        raise ModelError(
            f"{tokenizer.name_or_path} takes {longest} word pieces, expected {SHORTEST} or more; fix its tokenizer_config.json"
        )
    return longest


def check_answers(source: str | Path, body: PreTrainedModel, head: torch.nn.Module, tokenizer: PreTrainedTokenizerBase) -> None:
    """Predicts one mask, because a configuration that loads may still break the forward pass or give values that are not finite."""
    ids = torch.tensor([[tokenizer.mask_token_id]], device=body.device)
    with torch.inference_mode():
        logits = head(body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0])
    if not torch.isfinite(logits).all():
        raise ModelError(f"{source} predicts values that are not finite; its weights or its config.json are damaged")
