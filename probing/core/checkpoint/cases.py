"""What a folder may be instead of a model that can be used, and the way out: one table for commands, notebooks and pages."""

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from probing.core.checkpoint.files import ARCHITECTURES, ModelFiles, heads_of
from probing.core.errors import ModelError

#: Weights of other programs, and of PyTorch under other names.
_OTHER_WEIGHTS = re.compile(
    r"global_step.*|zero_to_fp32\.py|onnx|saved_model\.pb|openvino.*|.*\.(h5|msgpack|onnx|ckpt.*|pth?|bin|safetensors|ot|gguf|mlmodel)"
)
_STATE = re.compile(r"random_states_|optimizer\.")
#: Ends of the names of weights with a row for every token.
_OF_VOCABULARY = re.compile(r"((word|tok)_embeddings|decoder|projector|generator_lm_head)\.(weight|bias)$|(predictions|lm_head)\.bias$")
#: Tokenizers of such models that exist in Python only.
_IN_PYTHON = ("BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer")
CAUSAL = (
    "is a decoder (is_decoder in its config.json): it does not see what follows a gap, so it cannot be asked as a masked language model; "
    "use the encoder that it was made from"
)
SLOW = "has a tokenizer in Python only ({}), which does not say which letters a token stands for; models with it cannot be used"


def _pointer(files: ModelFiles) -> str:
    small = (path for path in sorted(files.folder.iterdir()) if path.is_file() and path.stat().st_size < 1024)
    return next((path.name for path in small if path.read_bytes().startswith(b"version https://git-lfs")), "")


def _lacks_weights(files: ModelFiles) -> bool:
    return files.complete and not files.weights and "difference.safetensors" not in files.names


def _inside(files: ModelFiles) -> Path | None:
    """The model of the main branch in a folder of the hub's cache, the last checkpoint of a run, or any other model in a folder."""
    if "config.json" in files.names and not _lacks_weights(files):
        return None
    found = [ModelFiles(path.parent) for pattern in ("*", "*/*") for path in files.folder.glob(f"{pattern}/config.json")]
    main = files.folder / "refs" / "main"
    branch = main.read_text(encoding="utf-8", errors="replace").strip() if main.is_file() else ""
    models = [one.folder for one in found if one.kind and one.weights]
    return max(models, default=None, key=lambda one: (one.name == branch, *map(int, re.findall(r"(?<=checkpoint-)\d+", one.name))))


def _own_code(files: ModelFiles) -> str:
    code, known = files.config.get("auto_map"), ("AutoModel", "AutoModelForMaskedLM", "AutoModelForPreTraining")
    named = code.items() if isinstance(code, dict) else ()
    return min((str(one) for part, one in named if part in known or files.kind not in ARCHITECTURES), default="")


def _prefix(files: ModelFiles) -> str:
    bodies = ["model."] if files.kind == "modernbert" else [f"{one.replace('-', '_')}." for one in ARCHITECTURES]
    found = {match[1] for name in files.shapes if (match := re.match(r"(.*?)embeddings\.(?:word|tok)_embeddings\.weight$", name))}
    if not found or found & {"", *bodies}:
        return ""
    before = min(found)
    return next((before.removesuffix(body) for body in bodies if before.endswith(f".{body}")), before)


def _other_size(files: ModelFiles) -> str:
    """Of the size that is changed most often, and most often in one place only; all others are compared when the weights are loaded."""
    rows = files.config.get("vocab_size")
    for name, shape in files.shapes.items():
        ours = _OF_VOCABULARY.search(name) and ("embeddings." in name or name.startswith(heads_of(files.kind)))
        if 0 in shape or (ours and shape and type(rows) is int and shape[0] != rows):
            return said_of_sizes(name, shape, (rows, *shape[1:]))
    return ""


def _tokenizer(files: ModelFiles) -> str:
    settings, rows = files.settings("tokenizer_config.json"), files.config.get("vocab_size")
    kinds = [settings.get("tokenizer_class"), files.config.get("tokenizer_class")]
    if slow := next((one for one in kinds if one in _IN_PYTHON and "tokenizer.json" not in files.names), ""):
        return SLOW.format(slow)
    if files.tokens and type(rows) is int and len(files.tokens) > rows > 0:
        return said_of_surplus(len(files.tokens), rows)
    # Other classes of tokenizers declare the mask by themselves.
    declared = (settings | files.settings("special_tokens_map.json")).get("mask_token")
    plain = kinds[0] in ("PreTrainedTokenizerFast", "TokenizersBackend")
    return said_of_mask(files.tokens) if files.tokens and plain and not declared else ""


#: What finds a case, and what is said of it, with what was found in its gap; in the order in which they are looked for.
CASES: tuple[tuple[Callable[[ModelFiles], Any], str], ...] = (
    (_pointer, "has a git-lfs pointer in place of {}; fetch the file itself with: git lfs pull"),
    (
        lambda files: (
            "adapter_config.json" in files.names
            and (files.settings("adapter_config.json").get("base_model_name_or_path") or "another model")
        ),
        "holds an adapter of PEFT for {} (adapter_config.json), which is no model by itself; load both with PEFT, call "
        "merge_and_unload(), save the result with save_pretrained, and the tokenizer beside it, and name that folder",
    ),
    (_inside, "is no model's folder, but has one inside: name {}"),
    (
        lambda files: "config.json" not in files.names and min(filter(_STATE.match, files.names), default=""),
        "holds the state of a training ({}) and no config.json; save the model itself, with accelerate "
        "accelerator.unwrap_model(model).save_pretrained(FOLDER), and the tokenizer beside it",
    ),
    (
        lambda files: _lacks_weights(files) and min(filter(_OTHER_WEIGHTS.fullmatch, files.names), default=""),
        "has no model.safetensors or pytorch_model.bin, but {}; load those weights with what made them (TensorFlow and Flax: transformers "
        "4 with from_tf or from_flax; shards of DeepSpeed: zero_to_fp32.py), and save the model with save_pretrained",
    ),
    (
        lambda files: "config.json" not in files.names,
        "has no config.json; expected a model in the format of transformers (save_pretrained)",
    ),
    (
        _own_code,
        "is a model with code of its own (auto_map in config.json: {}), which is not run here; if transformers' own model of this kind "
        "computes the same, take auto_map out of config.json, else this model cannot be used",
    ),
    (lambda files: files.config.get("is_decoder") is True, CAUSAL),
    (lambda files: next((said for _, said in files.headers if said), ""), "{} with save_pretrained"),
    (
        _prefix,
        "has weights whose names begin with '{}', which is no part of such a model: they were saved with what is around it; save the model "
        "inside it with save_pretrained, or take the prefix off the names",
    ),
    (_other_size, "{}"),
    (_tokenizer, "{}"),
)


def check_files(title: str | Path, files: ModelFiles) -> None:
    """Raises a ``ModelError`` with the way out for a folder that is one of the cases; ``title`` is how the user names it."""
    for find, sentence in CASES:
        if found := find(files):
            raise ModelError(f"{title} {sentence.format(found)}")


def said_of_sizes(name: str, stored: Collection[int], configured: Collection[Any]) -> str:
    """A weight whose size is not that of the configuration."""
    if 0 in stored:
        way = "gather them with zero_to_fp32.py, load them into the model, and save it with save_pretrained"
        return f"has weights without values ({name}), as DeepSpeed ZeRO-3 saves them if they are not gathered; {way}"
    sizes = f"of size {' x '.join(map(str, stored))}, its config.json says {' x '.join(map(str, configured))}"
    causes = "a vocabulary that was resized in one place only, heads that were pruned, or another model's config.json"
    return f"has the weight {name} {sizes}; usual causes are {causes}: save the model again with save_pretrained"


def said_of_mask(tokens: Collection[str]) -> str:
    """A tokenizer that declares no mask token."""
    if mask := next((mask for mask in ("[MASK]", "<mask>") if mask in tokens), ""):
        return f'has {mask}, which its tokenizer does not declare as its mask: put "mask_token": "{mask}" into tokenizer_config.json'
    return "has no mask token; only masked language models can be asked"


def said_of_surplus(tokens: int, rows: int) -> str:
    """A tokenizer with more tokens than the model has rows."""
    more = f"has {tokens:,} tokens in its tokenizer, {tokens - rows:,} more than the {rows:,} of the model; they do not belong together"
    return f"{more}: drop the tokens that were added, or train the model with them (resize_token_embeddings)"
