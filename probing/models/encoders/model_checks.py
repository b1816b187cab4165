"""Checks before a model is used: its architecture is known, its files can be loaded, its weights are finite, and its body has a parameter
for each. ESM's tokenizer is made usable: it gets character offsets."""

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import safe_open
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import (
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    EsmTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from probing.core.checkpoint.cases import CAUSAL, SLOW, said_of_mask, said_of_surplus
from probing.core.checkpoint.files import why_no_head
from probing.core.checkpoint.fit import Shape, added_tokens, unlike
from probing.core.errors import HeadError, ModelError, ProbingError
from probing.core.options import spelled
from probing.models.encoders.configuration import casing_warning, tokens_of
from probing.models.encoders.head import PARTS, DecodingHead, with_places

_log = logging.getLogger(__name__)
#: The column ``layer`` holds at most the embeddings, layer 0, and this many layers.
MAX_LAYERS = 255
#: A mask between two special tokens.
SHORTEST = 3
#: Last parts of a parameter's name; a checkpoint's other tensors, such as position ids, are constants.
_PARAMETERS = ("weight", "bias", "gamma", "beta")
#: Prefixes of floating-point formats, safetensors' (F32, BF16) and torch's (float32, bfloat16) in capitals.
_FLOATS = ("F", "BF")
#: In what libraries advise.
_ADVICE = re.compile(
    "weights_only|trust_remote_code|allow_pickle|ignore_mismatched|above report|torch.load|arbitrary code|only if you trust"
)


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
    # Terminals' colours, and advice to switch a check off or to read a report that is not shown, are no reason.
    sentences = re.split(r"(?<=[.!?])\s+|\n", re.sub(r"\x1b\[[0-9;]*m", "", str(error)))
    text = "\n".join(sentences) if not _ADVICE.search(str(error)) else "\n".join(one for one in sentences if not _ADVICE.search(one))
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    # A line that ends in a colon introduces the next one.
    said = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    # A message that is only a key or a number needs the name of the class.
    reason = said if isinstance(error, OSError | ValueError | RuntimeError | ImportError) else f"{type(error).__name__}: {said}"
    expected = "a name of the registry, a folder with config.json and weights, or a hub id"
    return ModelError(f"cannot load {str(source)!r} {what}: {reason} (expected {expected})")


def read_configuration(source: str | Path, folder: Path, *, lent_head: bool = False) -> PretrainedConfig:
    """The configuration of a model, checked before anything else of it is read.

    Args:
        source: the model, for the message.
        folder: of its ``config.json``.
        lent_head: whether the head of a base reads the model, so that it needs none.

    Raises:
        ModelError: if it cannot be read, its architecture has no masked language model or no known decoding head, or its number of layers
            is impossible.
    """
    with broken_files_named(source):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        check_architecture(source, config, lent_head=lent_head)
        check_layers(source, config)
    return config


def check_architecture(source: str | Path, config: PretrainedConfig, *, lent_head: bool = False) -> None:
    """Raises a ``ModelError`` for an architecture without a known masked-LM head, by ``config.json`` alone.

    Args:
        source: the model, for the message.
        config: its configuration.
        lent_head: whether the head of a base reads the model, so that it needs none.
    """
    kind = config.model_type
    if not lent_head and config.architectures == ["ElectraForPreTraining"]:
        raise ModelError(f"{source} {why_no_head(kind, config.architectures, ())}")
    if getattr(config, "is_decoder", False):
        raise ModelError(f"{source} {CAUSAL}")
    if kind in PARTS:
        return
    if type(config) in MODEL_FOR_MASKED_LM_MAPPING and not config.is_encoder_decoder:
        raise ModelError(f"{source} is a {kind} model, whose masked-LM head is not known here; expected one of {', '.join(PARTS)}")
    raise ModelError(
        f"{source} is a {kind} model; expected a masked language model, such as BERT or RoBERTa: "
        "causal models and models that generate text are not supported"
    )


def check_layers(source: str | Path, config: PretrainedConfig) -> None:
    """Raises a ``ModelError`` for a number of layers that no model has; building a billion of them would exhaust the memory."""
    layers = getattr(config, "num_hidden_layers", None)
    if type(layers) is not int or not 1 <= layers <= MAX_LAYERS:
        raise ModelError(f"config.json of {source} has {layers!r} layers, expected 1 to {MAX_LAYERS}; fix it or use the model's own")


def check_no_spare_weights(source: str | Path, model: PreTrainedModel, unexpected: Iterable[str]) -> None:
    """Raises a ``ModelError`` if a checkpoint has weights of its body that the configuration does not define, such as more layers.

    Heads of other tasks and poolers are no part of the body and are ignored. So is the table of positions that DeBERTa's checkpoints hold
    for a decoder that transformers does not have.
    """
    unread = () if getattr(model.config, "position_biased_input", True) else ("embeddings.position_embeddings.weight",)
    inside = {name for name, _ in getattr(model, model.base_model_prefix).named_children()}
    bare = {name: name.removeprefix(f"{model.base_model_prefix}.") for name in unexpected}
    spare = sorted(
        name for name, rest in bare.items() if rest.split(".")[0] in inside and rest.split(".")[-1] in _PARAMETERS and rest not in unread
    )
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


def shape_of(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase | None) -> Shape:
    """What a model must have in common with its base."""
    tokens = None if tokenizer is None else tuple(tokens_of(tokenizer))
    return Shape(config.model_type, config.num_hidden_layers, config.hidden_size, config.vocab_size, tokens)


def lent_head(source: str | Path, own: Shape, base: str, lent: Shape, head: DecodingHead) -> DecodingHead:
    """The head of ``base`` for the body of ``source``; raises a ``HeadError`` if the base does not belong to the model."""
    if why := unlike(own, lent, base):
        raise HeadError(f"{source} {why} ({spelled('base')})")
    without, said = added_tokens(str(source), own, base, lent)
    if said:
        _log.warning("%s", said)
    tokens = len(own.tokens or ())
    return with_places(head, without, tokens) if without or tokens < len(lent.tokens or ()) else head


def with_offsets(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """The tokenizer; if it is ESM's, which transformers has in Python only, a fast one that cuts every text in the same way.

    A text is cut into the longest tokens of the list, from the left; what is left between two spaces is unknown.
    """
    if not isinstance(tokenizer, EsmTokenizer):
        return tokenizer
    vocabulary, first, last = tokenizer.get_vocab(), str(tokenizer.cls_token), str(tokenizer.eos_token)
    fast = Tokenizer(models.WordLevel(vocabulary, unk_token=str(tokenizer.unk_token)))
    longest_first = Regex("|".join(re.escape(token) for token in sorted(vocabulary, key=len, reverse=True)))
    fast.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(longest_first, "isolated")])
    fast.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:0 {last}:0",
        special_tokens=[(token, vocabulary[token]) for token in (first, last)],
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=fast,
        model_max_length=tokenizer.model_max_length,
        name_or_path=tokenizer.name_or_path,
        model_input_names=tokenizer.model_input_names,
        **tokenizer.special_tokens_map,
    )
    return made


def check_tokenizer(source: str | Path, tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> None:
    """Raises a ``ModelError`` if a tokenizer has no character offsets or no mask token, or is another model's; warns of a wrong casing.

    Args:
        source: the model, for the message.
        tokenizer: its tokenizer.
        vocabulary: number of rows of the model's vocabulary matrix.
    """
    if not tokenizer.is_fast:
        raise ModelError(f"{source} {SLOW.format(type(tokenizer).__name__)}")
    if tokenizer.mask_token_id is None:
        raise ModelError(f"{source} {said_of_mask(tokenizer.get_vocab())}")
    if len(tokenizer) > vocabulary:
        raise ModelError(f"{source} {said_of_surplus(len(tokenizer), vocabulary)}")
    # A wrong tokenizer usually has a handful of tokens; padding the matrix to a round size is common and harmless.
    if not vocabulary // 2 < len(tokenizer):
        raise ModelError(
            f"the tokenizer of {source} has {len(tokenizer)} tokens, the model's head {vocabulary}; they do not belong together"
        )
    if said := casing_warning(source, tokenizer):
        _log.warning("%s", said)


def longest_input(body: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Maximum number of word pieces of a model's input; raises a ``ModelError`` if a mask alone is too long."""
    positions = int(getattr(body.config, "max_position_embeddings", 512))
    # RoBERTa and its relatives count positions from the one after the padding id.
    padding = getattr(getattr(body.embeddings, "position_embeddings", None), "padding_idx", None)
    positions -= 0 if padding is None else padding + 1
    longest = min(positions, int(tokenizer.model_max_length))
    if longest < SHORTEST:
        raise ModelError(
            f"{tokenizer.name_or_path} takes {longest} word pieces, expected {SHORTEST} or more; fix its tokenizer_config.json"
        )
    return longest


def check_answers(source: str | Path, body: PreTrainedModel, head: torch.nn.Module, tokenizer: PreTrainedTokenizerBase) -> None:
    """Predicts one mask, because a configuration that loads may still break the forward pass or give values that are not finite.

    The special tokens are around it, because ESM divides by the share of tokens that are not masked.
    """
    ids = torch.tensor([tokenizer(tokenizer.mask_token)["input_ids"]], device=body.device)
    with torch.inference_mode():
        logits = head(body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0])
    if not torch.isfinite(logits).all():
        raise ModelError(f"{source} predicts values that are not finite; its weights or its config.json are damaged")
