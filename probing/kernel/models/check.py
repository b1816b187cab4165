"""Checks before a model is used: known architecture, loadable files, finite weights, a usable tokenizer."""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import (
    EsmTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from probing.kernel.errors import HeadError, ModelError, ProbingError
from probing.kernel.models.checkpoint import (
    MASKS,
    OTHER_BODY,
    SHORTEST,
    SLOW,
    UNDEFINED,
    Shape,
    added_tokens,
    unlike,
    warn_of_words,
    why_no_mask,
    why_other_tokenizer,
)
from probing.kernel.models.head import Head, with_places
from probing.kernel.options import spelled
from probing.kernel.provenance import tokens_checksum

_log = logging.getLogger(__name__)

#: Settings that cannot change the output of a frozen encoder: origin, storage, settings of a task's head or of
#: generation, and outputs other than the hidden states.
WITHOUT_EFFECT = frozenset(
    {
        "_name_or_path",
        "name_or_path",
        "_commit_hash",
        "transformers_version",
        "architectures",
        "auto_map",
        "dtype",
        "torch_dtype",
        "id2label",
        "label2id",
        "num_labels",
        "problem_type",
        "finetuning_task",
        "task_specific_params",
        "classifier_activation",
        "classifier_bias",
        "classifier_pooling",
        "summary_activation",
        "summary_type",
        "summary_use_proj",
        "use_cache",
        "return_dict",
        "output_attentions",
        "output_hidden_states",
        "torchscript",
        "gradient_checkpointing",
        "language",
        "model_name",
    }
)
#: Model type -> settings that count in spite of their name: ModernBERT's masked-LM head has those of its classifiers,
#: and ESM scales its embeddings by the share of tokens that are not masked.
WITH_EFFECT = {"modernbert": ("classifier_activation", "classifier_bias"), "esm": ("token_dropout",)}
#: Parts of the names of settings that only training uses.
ONLY_IN_TRAINING = ("dropout", "initializer")


def configuration_digest(config: PretrainedConfig) -> str:
    """sha256 over the settings that decide an encoder's output, independent of its name and location."""
    defaults, counted = type(config)().to_dict(), WITH_EFFECT.get(config.model_type, ())
    deciding = {
        name: value
        for name, value in config.to_dict().items()
        if name in counted or (name not in WITHOUT_EFFECT and not any(part in name for part in ONLY_IN_TRAINING))
        if name == "model_type" or name not in defaults or value != defaults[name]
    }
    return hashlib.sha256(json.dumps(deciding, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def casing_of(tokenizer: PreTrainedTokenizerBase) -> str:
    """``cased`` if a tokenizer keeps capital letters, else ``uncased``."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    return (
        "uncased"
        if normalizer and not any(letter.isupper() for letter in normalizer.normalize_str("Paris"))
        else "cased"
    )


def tokens_of(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """The tokens by id; empty where an id has none, as in a list with a line twice.

    So the ids end with the greatest one, not with the number of tokens.
    """
    end = max(len(tokenizer), 1 + max(tokenizer.get_vocab().values(), default=-1))
    return [str(token or "") for token in tokenizer.convert_ids_to_tokens(list(range(end)))]


def token_ids(tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """The ids that have a token, in order."""
    return np.array([number for number, token in enumerate(tokens_of(tokenizer)) if token], dtype=np.int64)


def _around(tokenizer: PreTrainedTokenizerBase) -> str:
    """The tokens that it puts around a text; empty for the usual two, so that stored runs keep their names."""
    row = tokenizer("")["input_ids"]
    first, last = (tokenizer.cls_token_id, tokenizer.bos_token_id), (tokenizer.sep_token_id, tokenizer.eos_token_id)
    usual = len(row) == 2 and row[0] in first and row[1] in last
    return "" if usual else f"around {row}"


def computation_digest(configs: Iterable[PretrainedConfig], tokenizer: PreTrainedTokenizerBase, on_top: str) -> str:
    """sha256 over the configurations of an encoder's body and head, one if they are equal, and over its tokenizer.

    ``on_top`` is the path of the norm on top (``try_masks``), through which all layers are read.
    """
    parts = [
        *dict.fromkeys(map(configuration_digest, configs)),
        tokens_checksum(tokens_of(tokenizer)),
        casing_of(tokenizer),
        *filter(None, [_around(tokenizer), on_top]),
    ]
    return hashlib.sha256("+".join(parts).encode()).hexdigest()


#: Last parts of a parameter's name; a checkpoint's other tensors, such as position ids, are constants.
_PARAMETERS = ("weight", "bias", "gamma", "beta")
#: Parts of names of weights of a body that no hidden state depends on: a pooler, and ESM's prediction of contacts.
READ_BY_NO_LAYER = ("pooler", "contact_head")
#: Terminals' colours, and sentences of libraries that advise to switch a check off.
_SENTENCE = r"(?:[^.!?\n]|\.(?=\w))*"
_SWITCHES = "weights_only|trust_remote_code|allow_pickle|arbitrary code|if you trust"
_ADVICE = re.compile(rf"\x1b\[[0-9;]*m|{_SENTENCE}({_SWITCHES}){_SENTENCE}[.!?]?")


@contextmanager
def broken_files_named(source: str | Path, what: str = "as a masked-LM encoder") -> Iterator[None]:
    """Turns any error of a library on a damaged model into a ``ModelError``: their classes follow no rule."""
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
    lines = [line.strip() for line in _ADVICE.sub("", str(error)).splitlines() if line.strip()] or [
        type(error).__name__
    ]
    # A line that ends in a colon introduces the next one.
    message = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    # A message that is only a key or a number needs the name of the class.
    reason = (
        message
        if isinstance(error, OSError | ValueError | RuntimeError | ImportError)
        else f"{type(error).__name__}: {message}"
    )
    expected = "a name of the registry, a folder with config.json and weights, or a hub id"
    return ModelError(f"cannot load {str(source)!r} {what}: {reason} (expected {expected})")


def check_body(
    source: str | Path, model: PreTrainedModel, missing: Iterable[str], unexpected: Iterable[str], own_code: str
) -> None:
    """ModelError if a checkpoint lacks weights of its body, or has some that the configuration does not define.

    Heads of other tasks and poolers are ignored, and so is the table of positions that DeBERTa's checkpoints hold for a
    decoder that transformers does not have.
    """
    prefix = f"{model.base_model_prefix}."
    lacking = sorted(
        name for name in missing if name.startswith(prefix) and not any(part in name for part in READ_BY_NO_LAYER)
    )
    unread = () if getattr(model.config, "position_biased_input", True) else ("embeddings.position_embeddings.weight",)
    inside = {name for name, _ in getattr(model, model.base_model_prefix).named_children()}
    bare = ((name, name.removeprefix(prefix)) for name in sorted(unexpected))
    known = [(name, rest.split(".")) for name, rest in bare if rest not in unread]
    spare = [name for name, parts in known if parts[0] in inside and parts[-1] in _PARAMETERS]
    if lacking or spare:
        got = f"lacks {len(lacking)} weights of its body, such as {lacking[0]}" if lacking else ""
        code = f"its own code (auto_map in config.json: {own_code}) is not run here, so it cannot be used"
        got = got or UNDEFINED.format(len(spare), spare[0])
        raise ModelError(f"{source} {got}; {code if own_code else OTHER_BODY}")


def check_finite(source: str | Path, *modules: torch.nn.Module) -> None:
    """Raises a ``ModelError`` with the name of the first weight that is NaN or infinite."""
    for module in modules:
        for name, weight in module.named_parameters():
            if not torch.isfinite(weight).all():
                raise ModelError(
                    f"{name} of {source} holds values that are not finite; its training has diverged or its file is"
                    " damaged"
                )


def shape_of(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase | None) -> Shape:
    """What a model must have in common with its base."""
    sizes = config.model_type, config.num_hidden_layers, config.hidden_size, config.vocab_size
    return Shape(*sizes, *((tuple(tokens_of(tokenizer)), _tokens_around(tokenizer)) if tokenizer else (None, None)))


def lent_head(source: str | Path, own: Shape, base: str, lent: Shape, head: Head) -> tuple[Head, str]:
    """The head of ``base`` for the body of ``source``, and a note; HeadError if the base does not belong to it."""
    if why := unlike(own, lent, base):
        raise HeadError(f"{source} {why} ({spelled('base')})")
    without, note = added_tokens(str(source), own, base, lent)
    return with_places(head, without, len(own.tokens or ())) if note else head, note


def with_offsets(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """The tokenizer; for ESM's, which transformers has in Python only, a fast one that cuts texts the same way.

    A text is cut into the longest tokens of the list, from the left; what is left between two spaces is unknown.
    """
    if not isinstance(tokenizer, EsmTokenizer):
        return tokenizer
    vocabulary, first, last = tokenizer.get_vocab(), str(tokenizer.cls_token), str(tokenizer.eos_token)
    fast = Tokenizer(models.WordLevel(vocabulary, unk_token=str(tokenizer.unk_token)))
    longest_first = Regex("|".join(re.escape(token) for token in sorted(vocabulary, key=len, reverse=True)))
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(longest_first, "isolated")]
    )
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


def _tokens_around(tokenizer: PreTrainedTokenizerBase) -> tuple[str, ...]:
    return tuple(tokenizer.convert_ids_to_tokens(tokenizer("")["input_ids"]))


def check_tokenizer(source: str | Path, tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> list[str]:
    """Notes on special tokens, and a warning of words that a tokenizer can never produce, empty if there are few.

    ``vocabulary`` is the number of rows of the model's matrix. ModelError: no character offsets, no mask token of its
    own, or another model's tokenizer.
    """
    if not tokenizer.is_fast:
        raise ModelError(f"{source} {SLOW.format(type(tokenizer).__name__)}")
    ids, mask = tokenizer.get_vocab(), str(tokenizer.mask_token)
    if tokenizer.mask_token_id in (None, tokenizer.unk_token_id):
        raise ModelError(f"{source} {why_no_mask(ids)}")
    tokens = tokens_of(tokenizer)
    if why := why_other_tokenizer(len(tokens), sum(map(bool, tokens)), vocabulary):
        raise ModelError(f"{source} {why}")
    normalizer = tokenizer.backend_tokenizer.normalizer
    notes = [warn_of_words(str(source), tokens, normalizer.normalize_str if normalizer else str)]
    if (first := min({mask, *MASKS} & ids.keys(), key=ids.__getitem__)) != mask:
        notes.append(
            f"note: {source} masks with {mask}, which came later into its vocabulary than {first}; if it was trained"
            f' with that, put "mask_token": "{first}" into its tokenizer_config.json'
        )
    if bare := sorted({*map(str, (tokenizer.cls_token, tokenizer.sep_token))} - {"None", *_tokens_around(tokenizer)}):
        notes.append(
            f"note: the tokenizer of {source} puts no {' and no '.join(bare)} around a text, although it has them; if"
            " the model was trained with them, save its own tokenizer"
        )
    return notes


#: Texts that tokenizers cut in different ways: capitals, accents, hyphens, numbers, signs, other scripts, long words.
_SAMPLES = ("Anna's U.S. team", "São Paulo, Malmö", "a well-known co-op", "1,234 in 1990", "東京 #so internationally")


def note_of_rebuilt(source: str | Path, file: Path, tokenizer: PreTrainedTokenizerBase) -> str:
    """A note if a tokenizer cuts a text otherwise than its tokenizer.json, which transformers reads in part only."""
    if not file.is_file():
        return ""
    written = Tokenizer.from_file(str(file))
    written.no_padding()
    written.no_truncation()
    for sample in _SAMPLES:
        used, other = tokenizer(sample).tokens(), written.encode(sample).tokens
        if used != other:
            return (
                f"note: transformers makes the tokenizer of {source} anew: it cuts {sample!r} into {' '.join(used)!r},"
                f" tokenizer.json into {' '.join(other)!r}; if the model was trained with that, put"
                ' "tokenizer_class": "PreTrainedTokenizerFast" into its tokenizer_config.json'
            )
    return ""


def say_unknown(rows: Iterable[Sequence[int]], tokenizer: PreTrainedTokenizerBase, model: str) -> None:
    """Logs how many rows of token ids are mostly the unknown token, if one of twenty is."""
    around = len(tokenizer("")["input_ids"])
    unknown = [2 * row.count(tokenizer.unk_token_id) > len(row) - around for row in rows]
    if 20 * sum(unknown) > len(unknown):
        _log.warning("texts mostly unknown to the vocabulary of %s: %d of %d", model, sum(unknown), len(unknown))


def log_notes(*notes: str) -> tuple[str, ...]:
    """The notes on a model that are not empty; each is logged."""
    nonempty = tuple(filter(None, notes))
    for note in nonempty:
        _log.warning("%s", note)
    return nonempty


def longest_input(body: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Maximum number of word pieces of a model's input; raises a ``ModelError`` if a mask alone is too long."""
    positions = int(getattr(body.config, "max_position_embeddings", 512))
    # RoBERTa and its relatives count positions from the one after the padding id.
    embeddings = getattr(body, "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    positions -= 0 if padding is None else padding + 1
    longest = int(min(positions, tokenizer.model_max_length))
    if longest < SHORTEST:
        raise ModelError(
            f"{tokenizer.name_or_path} takes {longest} word pieces, expected {SHORTEST} or more; fix its"
            " tokenizer_config.json"
        )
    return longest


def try_masks(
    source: str | Path, body: PreTrainedModel, head: torch.nn.Module, tokenizer: PreTrainedTokenizerBase, longest: int
) -> tuple[str, bool]:
    """Predicts a mask, and returns the path of the norm on top of the body, and whether padding changes other tokens.

    ModelError if the prediction is not finite: a configuration that loads may still break the forward pass. The special
    tokens are around the mask, because ESM divides by the share of tokens that are not masked.
    """
    with torch.inference_mode():
        on_top, alone = _norm_on_top(body, _masks(tokenizer, 1))
        if not torch.isfinite(head(alone)).all():
            raise ModelError(
                f"{source} predicts values that are not finite; its weights or its config.json are damaged"
            )
        # Not tried with a model that takes hardly more than a mask.
        return on_top, longest >= 2 * SHORTEST and _reads_padding(body, tokenizer, alone)


def _masks(tokenizer: PreTrainedTokenizerBase, number: int) -> list[int]:
    """Token ids of a text of masks alone."""
    return list(tokenizer(str(tokenizer.mask_token) * number)["input_ids"])


def _norm_on_top(body: PreTrainedModel, row: list[int]) -> tuple[str, torch.Tensor]:
    """Path of the module between the last layer and the last hidden state, empty without one; and that state.

    Models whose layers begin with a norm have a norm there. It is the module outside of all lists of layers whose
    output is the last hidden state, and whose input is not.
    """
    made: list[tuple[str, torch.Tensor, torch.Tensor]] = []

    def note(path: str) -> Callable[..., None]:
        def hook(_module: torch.nn.Module, given: tuple[object, ...], output: object) -> None:
            if given and isinstance(given[0], torch.Tensor) and isinstance(output, torch.Tensor):
                made.append((path, given[0], output))

        return hook

    lists = [path for path, module in body.named_modules() if isinstance(module, torch.nn.ModuleList)]
    outside = [
        (path, module)
        for path, module in body.named_modules()
        if path and not any(f"{path}.".startswith(f"{of}.") or f"{of}.".startswith(f"{path}.") for of in lists)
    ]
    hooks = [module.register_forward_hook(note(path)) for path, module in outside]
    ids = torch.tensor([row], device=body.device)
    try:
        last = body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    finally:
        for hook in hooks:
            hook.remove()
    paths = (
        path
        for path, given, output in reversed(made)
        if output.data_ptr() == last.data_ptr() and given.data_ptr() != last.data_ptr()
    )
    return next(paths, ""), last[0]


def _reads_padding(body: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, alone: torch.Tensor) -> bool:
    """Whether padding changes the states of a mask (FNet has no attention that could leave it out)."""
    short, long = _masks(tokenizer, 1), _masks(tokenizer, 4)
    more = [tokenizer.pad_token_id or 0] * (len(long) - len(short))
    rows = torch.tensor([[*short, *more], long], device=body.device)
    seen = torch.tensor([[1] * len(short) + [0] * len(more), [1] * len(long)], device=body.device)
    padded = body(input_ids=rows, attention_mask=seen).last_hidden_state[0, : len(short)]
    return not torch.allclose(alone, padded, atol=1e-3, rtol=1e-3)
