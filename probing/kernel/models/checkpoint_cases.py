"""What a folder may be instead of a model that can be used, and the way out, for every kind of user."""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from probing.kernel.errors import ModelError
from probing.kernel.models.checkpoint import ARCHITECTURES, ModelFiles

#: The column ``layer`` holds at most the embeddings, layer 0, and this many layers.
MAX_LAYERS = 255
#: Weights of other programs, and of PyTorch under other names.
_OTHER_WEIGHTS = re.compile(
    r"global_step.*|zero_to_fp32\.py|onnx|saved_model\.pb|openvino.*|.*\.(h5|msgpack|onnx|ckpt.*|pth?|bin|safetensors|ot|gguf|mlmodel)"
)
_EMBEDDINGS = re.compile(
    rf"((?:.+?\.)??)(?:(?:{'|'.join(name.replace('-', '_') for name in ARCHITECTURES)})\.)?"
    r"embeddings\.(?:word|tok)_embeddings\.weight"
)
#: Tokenizers of such models that exist in Python only.
_IN_PYTHON = ("BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer")
SLOW = (
    "has a tokenizer in Python only ({}), which does not say which letters a token stands for; models with it cannot be"
    " used"
)
#: Share of a vocabulary that its tokenizer need not reach: released ones have odd signs.
_FEW = 0.01


def check_files(title: str | Path, files: ModelFiles) -> None:
    """Raises a ``ModelError`` with the way out for a folder that is one of the cases; ``title`` names it."""
    for problem in _cases(files):
        raise ModelError(f"{title} {problem}")


def _cases(files: ModelFiles) -> Iterator[str]:
    """What is said of a folder, in the order in which it is looked for."""
    names, config = files.names, files.config
    if pointer := _pointer(files):
        yield f"has a git-lfs pointer in place of {pointer}; fetch the file itself with: git lfs pull"
    if "adapter_config.json" in names:
        adapted = files.settings("adapter_config.json").get("base_model_name_or_path") or "another model"
        yield (
            f"holds an adapter of PEFT for {adapted} (adapter_config.json), which is no model by itself; load both with"
            " PEFT, call merge_and_unload(), save the result with save_pretrained, and the tokenizer beside it, and"
            " name that folder"
        )
    empty = files.complete and not files.weights and "difference.safetensors" not in names
    if (empty or "config.json" not in names) and (inside := _inside(files.folder)):
        yield f"is no model's folder, but has one inside: name {inside}"
    if "config.json" in names and not files.kind:
        yield (
            'has a config.json that cannot be read, or has no "model_type" (such as "bert"); expected that of'
            " transformers, in UTF-8"
        )
    layers = config.get("num_hidden_layers", config.get("n_layers", 1))
    if files.kind and (problem := why_unusable(files.kind, layers, config.get("is_decoder"))):
        yield problem + (f"; its own code ({files.own_code}) is not run here" if files.own_code else "")
    if empty and (other := min(filter(_OTHER_WEIGHTS.fullmatch, names), default="")):
        yield (
            f"has no model.safetensors or pytorch_model.bin, but {other}; load those weights with what made them"
            " (TensorFlow and Flax: transformers 4 with from_tf or from_flax; shards of DeepSpeed: zero_to_fp32.py),"
            " and save the model with save_pretrained"
        )
    if "config.json" not in names:
        yield (
            "has no config.json; save the model itself with save_pretrained (from accelerate: unwrap_model(model)), or"
            ' rename its bert_config.json and put "model_type": "bert" into it'
        )
    if empty:
        yield "has no weight files; expected model.safetensors or pytorch_model.bin"
    if problem := next((problem for _, problem in files.headers if problem), ""):
        yield problem
    if prefix := _prefix(files):
        yield (
            f"has weights whose names begin with '{prefix}', which is no part of such a model: they were saved with"
            " what is around it; save the model inside it with save_pretrained, or take the prefix off the names"
        )
    yield from _tokenizers(files)


def why_unusable(kind: str, layers: Any, decoder: Any) -> str:
    """Why a model of this ``model_type`` cannot be used, in words that follow its name, or nothing."""
    if kind not in ARCHITECTURES:
        known = f"expected a masked language model, one of {', '.join(ARCHITECTURES)}"
        return f"is a {kind} model; {known}: causal models and models that generate text are not supported"
    if decoder:
        way = "so it cannot be asked as a masked language model; use the encoder that it was made from"
        return f"is a decoder (is_decoder in its config.json): it does not see what follows a gap, {way}"
    # Building a billion of them would exhaust the memory.
    if type(layers) is not int or not 1 <= layers <= MAX_LAYERS:
        return f"has a config.json with {layers!r} layers, expected 1 to {MAX_LAYERS}; fix it or use the model's own"
    return ""


def _pointer(files: ModelFiles) -> str:
    small = (path for path in sorted(files.folder.iterdir()) if path.is_file() and path.stat().st_size < 1024)
    return next((path.name for path in small if path.read_bytes().startswith(b"version https://git-lfs")), "")


def _inside(folder: Path) -> Path | None:
    """A model in a folder: the newest snapshot in one of the hub's cache, the last checkpoint of a run."""
    candidates = [ModelFiles(path.parent) for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/config.json")]
    models = [files.folder for files in candidates if files.kind and files.weights]
    return max(
        models,
        default=None,
        key=lambda path: (*map(int, re.findall(r"(?<=checkpoint-)\d+", path.name)), path.stat().st_mtime),
    )


def _prefix(files: ModelFiles) -> str:
    prefixes = {match[1] for match in map(_EMBEDDINGS.fullmatch, files.weight_names) if match}
    return "" if "" in prefixes or (files.kind == "modernbert" and "model." in prefixes) else min(prefixes, default="")


def _tokenizers(files: ModelFiles) -> Iterator[str]:
    settings, rows, tokens = files.settings("tokenizer_config.json"), files.config.get("vocab_size"), files.tokens
    kinds = [settings.get("tokenizer_class"), files.config.get("tokenizer_class")]
    own = settings.get("auto_map") if "tokenizer.json" not in files.names else None
    yield from (SLOW.format(kind) for kind in kinds if kind in _IN_PYTHON or (own and kind))
    if tokens and type(rows) is int and len(tokens) > rows:
        yield why_too_many_tokens(len(tokens), rows)
    # Other classes of tokenizers declare the mask by themselves.
    declared = (settings | files.settings("special_tokens_map.json")).get("mask_token")
    if tokens and kinds[0] in ("PreTrainedTokenizerFast", "TokenizersBackend") and not declared:
        yield why_no_mask(tokens)


def why_no_mask(tokens: Collection[str]) -> str:
    """A tokenizer that declares no mask token."""
    if mask := next((mask for mask in ("[MASK]", "<mask>") if mask in tokens), ""):
        return (
            f'has {mask}, which its tokenizer does not declare as its mask: put "mask_token": "{mask}" into'
            " tokenizer_config.json"
        )
    return "has no mask token; only masked language models can be asked"


def why_too_many_tokens(tokens: int, rows: int) -> str:
    """A tokenizer with more tokens than the model has rows."""
    more = (
        f"has {tokens:,} tokens in its tokenizer, {tokens - rows:,} more than the {rows:,} of the model; they do not"
        " belong together"
    )
    return f"{more}: drop the tokens that were added, or train the model with them (resize_token_embeddings)"


def warn_of_words(name: str, tokens: Collection[str], read: Callable[[str], str]) -> str:
    """A warning of words that a tokenizer, which ``read`` makes, can never produce; empty if they are few."""
    # Tokens of bytes write what is beyond ASCII as other letters.
    of_bytes = any(token.startswith("Ġ") for token in tokens)
    plain = [token.removeprefix("##").lstrip("▁") for token in tokens if token[:1] not in "[<"]
    words = [word for word in plain if word.isascii() or not of_bytes]
    lost = [word for word in words if not (word.isascii() and word.lower() == word) and read(word).strip() != word]
    if len(lost) > _FEW * len(words):
        setting = (
            '"do_lower_case": false' if read("A") != "A" and lost[0].lower() != lost[0] else '"strip_accents": false'
        )
        problem = (
            f"{len(lost):,} words, such as {lost[0]}, that its tokenizer changes (capitals, accents) before it looks"
            " for them"
        )
    elif (
        read("A") == "A"
        and all(word.lower() == word for word in words)
        and any(re.search("[a-z]", word) for word in words)
    ):
        setting, problem = (
            '"do_lower_case": true',
            "no word with capitals, which its tokenizer keeps, so that such words are unknown",
        )
    else:
        return ""
    return f"warning: the vocabulary of {name} has {problem}: put {setting} into its tokenizer_config.json"
