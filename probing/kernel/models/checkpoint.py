"""The files of a model's folder, what the folder may be instead of a model, and whether a base belongs to it."""

import json
import pickletools
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from probing.kernel.errors import ModelError

#: Architectures the parts of whose masked-LM head are known, by ``model_type``; ``kernel.models.head`` reads them.
ARCHITECTURES = (
    "albert",
    "bert",
    "camembert",
    "data2vec-text",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "esm",
    "megatron-bert",
    "modernbert",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
)
_EXPECTED = f"expected a masked language model, such as {', '.join(ARCHITECTURES)}"
_DECODES = "is an encoder with a decoder, which answers in its place: no layer of the encoder is read by a head"
_IMAGES = "reads images with a text, by a model inside it that has no head of its own"
#: Architectures of masked language models that cannot be asked layer by layer, in words that follow a model's name.
REFUSED = {
    **dict.fromkeys(("bart", "mbart", "mvp"), _DECODES),
    "funnel": "is a Funnel Transformer: its inner layers have fewer states than the text has tokens",
    **dict.fromkeys(("modernvbert", "ultravbert"), _IMAGES),
    "perceiver": "is a Perceiver: its layers hold latent states, none of which belongs to a token",
    "reformer": "is a Reformer: each of its layers passes on two states of a token, and its head reads both",
    "tapas": "is TAPAS, which reads a question with a table, not a sentence",
}
#: How the names of the weights of a masked-LM head begin, by architecture.
_HEADS = {
    "albert": ("predictions.",),
    "distilbert": ("vocab_",),
    "electra": ("generator_",),
    "modernbert": ("decoder.",),
}
_OTHER_HEADS = ("cls.predictions.", "lm_predictions.", "lm_head.")
#: Ends of the names of classes with a masked-LM head.
_WITH_HEAD = ("ForMaskedLM", "ForPreTraining", "WithLMHeadModel")
#: The head of a discriminator, which tells replaced tokens. A release may hold its generator's head next to it, which
#: reads another body.
_DISCRIMINATOR = re.compile(r"(.+\.)?(mask|discriminator)_predictions\.")
_DISCRIMINATES = "is {} discriminator, which was trained without a masked-LM head; use {}"
_GENERATORS = {
    "electra": ("ELECTRA's", "the generator of the same release, such as google/electra-small-generator"),
    "deberta-v2": (
        "DeBERTa-v3's",
        "its generator (pytorch_model.generator.bin of the same release, with generator_config.json as config.json), or"
        " a DeBERTa of version 1 or 2, such as microsoft/deberta-base",
    ),
}
NO_HEAD = "has no own masked-LM head; name its base model, whose complete head is used"
#: Weights as transformers stores them, in the order in which it looks for them: in one file, or as a list of shards.
LAYOUTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
#: What torch makes of a file of weights without running it.
_OF_WEIGHTS = re.compile(r"(torch(?!\.storage\._load)|collections)\.")
#: Formats of integers; LongStorage has the position ids of older checkpoints.
_INTEGERS = re.compile(r"torch\.((Q?U?Int|Char|Byte|Short)\w*Storage|float[48]_\w+)")
#: Floating-point formats of safetensors. Others, of 8 bits and less, are values to be scaled.
_FLOATS = ("F16", "BF16", "F32", "F64")
#: Ends of the names of weights that only a quantised model has.
_QUANTISED = (".qweight", ".qzeros", ".weight_packed", ".weight_scale", ".weight_scale_inv", ".zero_point", ".SCB")
#: Names of weights of an adapter that is not merged.
_ADAPTER = re.compile(r"(.+\.)?(lora_|ia3_|base_layer\.)")
#: The settings of an adapter of PEFT, which is merged onto its base.
ADAPTER = "adapter_config.json"
#: Some of them -> the values with which it can be merged onto a masked language model.
_MERGED: dict[str, Sequence[Any]] = {
    "peft_type": ("LORA", "IA3"),
    "task_type": ("SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION", None),
    # Others change the base's own weights, too.
    "init_lora_weights": (True, False, "gaussian", "eva", "orthogonal", None),
}
_ORIGINAL = "use the original weights"
_NO_FLOATS = f"expected floating-point weights; it is quantised or damaged: {_ORIGINAL}"
#: Ends of a parameter's name; a checkpoint's other tensors, such as position ids, are constants.
_PARAMETERS = (".weight", ".bias", ".gamma", ".beta")
_NAME = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)+")
_UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    StopIteration,
    zipfile.BadZipFile,
)


def why_no_head(kind: str, architectures: Iterable[str], names: Collection[str]) -> str:
    """Why a model has no masked-LM head, in words that follow its name; empty if it was saved with one.

    ``architectures`` of its configuration decide if the names of its weights are unknown.
    """
    declared = any(name.endswith(_WITH_HEAD) and name != "ElectraForPreTraining" for name in architectures)
    # ModernBERT's classifiers have a head of these names, too, and it is trained for their task.
    begins = (*_HEADS.get(kind, _OTHER_HEADS), *(["head."] if declared and kind == "modernbert" else []))
    known = names and kind in ARCHITECTURES
    has_head = any(name.startswith(begins) for name in names) if known else declared
    if any(map(_DISCRIMINATOR.match, names)) or ("ElectraForPreTraining" in architectures and not has_head):
        return _DISCRIMINATES.format(*_GENERATORS.get(kind, ("a", "a model with a masked-LM head")))
    return "" if has_head else NO_HEAD


def chosen_weights(names: Iterable[str], shards: Callable[[str], Sequence[str]]) -> list[str]:
    """Names of the weight files that are loaded, also those that a list names (``shards``); None without any."""
    files = set(names)
    for layout in LAYOUTS:
        if layout in files:
            return list(shards(layout)) if layout.endswith(".index.json") else [layout]
    return []


def has_tokenizer(names: Iterable[str]) -> bool:
    """Whether a vocabulary is among the files."""
    return any(name.endswith(".model") or name.startswith(("tokenizer.json", "vocab")) for name in names)


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder; if it is not ``complete``, the weights are to be downloaded."""

    folder: Path
    complete: bool = True

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of its files and folders."""
        return frozenset(path.name for path in self.folder.iterdir())

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its configuration; empty if there is none that can be read."""
        return self.settings("config.json")

    @property
    def kind(self) -> str:
        """Its ``model_type``."""
        return str(self.config.get("model_type") or "")

    @property
    def why_no_head(self) -> str:
        """``why_no_head`` of the folder."""
        named = self.config.get("architectures")
        return why_no_head(self.kind, [*map(str, named)] if isinstance(named, list) else [], self.weight_names)

    @cached_property
    def weights(self) -> list[str]:
        """Names of the weight files that are loaded."""
        return chosen_weights(self.names, lambda index: sorted({*map(str, self._listed(index).values())}))

    def _listed(self, index: str) -> dict[str, Any]:
        """Name of a weight -> its file, by a list of shards; none if it holds something else."""
        shards = self.settings(index).get("weight_map")
        return shards if isinstance(shards, dict) else {}

    @cached_property
    def headers(self) -> list[tuple[frozenset[str], str]]:
        """Of each weight file the names of its weights, and what is wrong with it."""
        end = "which is missing, damaged or something else, such as a web page; copy or download it again"
        unreadable = f"has the weight file {{}}, {end}" if self.complete else ""
        return [
            read_once(_header, self.folder / name) or (frozenset(), unreadable.format(name)) for name in self.weights
        ]

    @property
    def weight_names(self) -> frozenset[str]:
        """Names of all weights that its files name."""
        return frozenset().union(*(names for names, _ in self.headers))

    @property
    def own_code(self) -> str:
        """What its configuration names of code of its own; empty if nothing."""
        named = self.config.get("auto_map")
        return next(map(str, named.values()), "") if isinstance(named, dict) else ""

    @property
    def own_code_note(self) -> str:
        """One line if its configuration names code of its own."""
        code = f"note: auto_map in config.json names code of its own ({self.own_code}), which is not run"
        return f"{code}: transformers' own {self.kind} model reads the weights" if self.own_code else ""

    @cached_property
    def tokens(self) -> tuple[str, ...] | None:
        """Its tokens by id; None if no file in words has them."""
        path = next(
            (self.folder / name for name in ("tokenizer.json", "vocab.txt", "vocab.json") if name in self.names), None
        )
        ids = ((path and read_once(_tokens, path)) or {}) | self.settings("added_tokens.json")
        # No vocabulary has so many; the list of a damaged one would fill the memory.
        if not ids or not all(type(number) is int and 0 <= number < 10**7 for number in ids.values()):
            return None
        token_of = {number: token for token, number in ids.items()}
        return tuple(token_of.get(number, "") for number in range(max(token_of) + 1))

    @property
    def lower_cases(self) -> bool:
        """Whether its tokenizer lower-cases words, by its files; BERT's does if nothing says otherwise."""
        own = read_once(_normalizer, self.folder / "tokenizer.json")
        usual = (
            re.search('"lowercase": true|"Lowercase"', own) if own else "vocab.txt" in self.names and self.kind != "esm"
        )
        return bool(self.settings("tokenizer_config.json").get("do_lower_case", usual))

    def settings(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; empty if there is none that can be read."""
        content = read_once(_json, self.folder / name)
        return content if isinstance(content, dict) else {}


def read_once(read: Callable[[Path], Any], path: Path) -> Any:
    """What ``read`` finds in a file, once until it changes, as pages ask at every run; None if it cannot be read."""
    try:
        return _read(read, path, path.stat().st_mtime_ns, path.stat().st_size)
    except _UNREADABLE:
        return None


@lru_cache(maxsize=64)
def _read(read: Callable[[Path], Any], path: Path, changed: int, size: int) -> Any:
    return read(path)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _normalizer(path: Path) -> str:
    return json.dumps(_json(path).get("normalizer"))


def _unmerged(names: Iterable[str]) -> str:
    """What is wrong if some of these names of weights are an adapter's; empty if none is."""
    if not (adapter := next(filter(_ADAPTER.match, names), "")):
        return ""
    way = "load it with PEFT, call merge_and_unload(), and save the result with save_pretrained"
    return f"holds the weights of an adapter that is not merged, such as {adapter}; {way}"


def _header(path: Path) -> tuple[frozenset[str], str]:
    if path.suffix != ".safetensors":
        return _of_pickle(path)
    with path.open("rb") as stream:
        header = json.loads(stream.read(min(int.from_bytes(stream.read(8), "little"), 1 << 27)))
    formats = {name: tensor["dtype"] for name, tensor in header.items() if name.endswith(_PARAMETERS)}
    if problem := _unmerged(header):
        return frozenset(formats), problem
    strange = next((f"{name} as {dtype}" for name, dtype in formats.items() if dtype not in _FLOATS), "")
    strange = strange or next((name for name in header if name.endswith(_QUANTISED)), "")
    return frozenset(formats), f"stores {strange}, {_NO_FLOATS}" if strange else ""


def _of_pickle(path: Path) -> tuple[frozenset[str], str]:
    """The texts and classes in a pickle: its operations are listed, and none is carried out."""
    with path.open("rb") as stream:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inner = next(name for name in archive.namelist() if name.endswith("data.pkl"))
                operations = [*pickletools.genops(BytesIO(archive.read(inner)))]
        else:
            # Older files have three short pickles before that of the weights.
            while len(operations := [*pickletools.genops(stream)]) < 50 and stream.peek(1):
                pass
    saved = "load it where it was made, and save the model itself with save_pretrained"
    if (
        protocol := max((int(value or 0) for operation, value, _ in operations if operation.name == "PROTO"), default=2)
    ) > 2:
        return (
            frozenset(),
            f"has its weights in a pickle of protocol {protocol}, which torch reads by running it; {saved}",
        )
    named = [str(value).replace(" ", ".") for operation, value, _ in operations if operation.name == "GLOBAL"]
    if strange := next((name for name in named if not _OF_WEIGHTS.match(name)), ""):
        return frozenset(), f"holds objects of Python ({strange}) with its weights; {saved}"
    texts = ["", *(str(value) for operation, value, _ in operations if "UNICODE" in operation.name)]
    if key := next((before for before, text in pairwise(texts) if _NAME.fullmatch(text)), ""):
        way = "load them into the model (load_state_dict), and save it with save_pretrained"
        return frozenset(), f"has its weights under the key {key!r}; {way}"
    if problem := _unmerged(texts):
        return frozenset(), problem
    strange = next((name for name in named if _INTEGERS.match(name)), "")
    strange = strange or next((text for text in texts if text.endswith(_QUANTISED)), "")
    return frozenset(text for text in texts if text.endswith(_PARAMETERS)), (
        f"stores weights as {strange}, {_NO_FLOATS}" if strange else ""
    )


def _tokens(path: Path) -> dict[str, int]:
    if path.suffix == ".txt":
        return {line: number for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")) if line}
    content: dict[str, Any] = _json(path)
    if path.name == "vocab.json":
        return content
    own = content["model"]["vocab"]
    ids = own if isinstance(own, dict) else {token: number for number, (token, _) in enumerate(own)}
    return ids | {token["content"]: token["id"] for token in content.get("added_tokens", ())}


#: The column ``layer`` holds at most the embeddings, layer 0, and this many layers.
MAX_LAYERS = 255
#: Weights of other programs, and of PyTorch under other names.
_OTHER_WEIGHTS = re.compile(
    r"global_step.*|zero_to_fp32\.py|onnx|saved_model\.pb|openvino.*|.*\.(h5|msgpack|onnx|ckpt.*|pth?|bin|safetensors|ot|gguf|mlmodel)"
)
#: Names of weights of a layer: what is before and after its number.
_LAYER = re.compile(r"((?:(?:[\w-]+\.)?(?:encoder|transformer)\.layers?|(?:model\.)?layers)\.)(\d+)(\..+)")
UNDEFINED = "has {} weights of its body that its config.json does not define, such as {}"
OTHER_BODY = "fix config.json (such as model_type or the number of layers), or use the checkpoint's own"
_EMBEDDINGS = re.compile(
    rf"((?:.+?\.)??)(?:(?:{'|'.join(name.replace('-', '_') for name in ARCHITECTURES)})\.)?"
    r"embeddings\.(?:word|tok)_embeddings\.weight"
)
#: Architectures whose own tokenizer exists in Python only, and further tokenizers of which that is true.
IN_PYTHON = {"flaubert": "FlaubertTokenizer", "roc_bert": "RoCBertTokenizer", "xlm": "XLMTokenizer"}
_IN_PYTHON = ("BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer", *IN_PYTHON.values())
MASKS = ("[MASK]", "<mask>")
SLOW = (
    "has a tokenizer in Python only ({}), which does not say which letters a token stands for; models with it cannot be"
    " used"
)
#: Share of a vocabulary that its tokenizer need not reach: released ones have odd signs.
_FEW = 0.01
#: Rows of a vocabulary matrix without a token, if it is padded to a round size.
_PADDED = 128
#: Word pieces of the shortest input: a mask between two special tokens.
SHORTEST = 3
#: The weights of a variant, which ``from_pretrained`` loads by its name only.
_VARIANT = re.compile(r"(?:model|pytorch_model)\.(?!safetensors|bin)(\w+?)(?:-\d+-of-\d+)?\.(?:safetensors|bin)")


def check_files(title: str | Path, files: ModelFiles) -> None:
    """Raises a ``ModelError`` with the way out for a folder that is one of the cases; ``title`` names it."""
    for problem in _cases(files):
        raise ModelError(f"{title} {problem}")


def _cases(files: ModelFiles) -> Iterator[str]:
    """What is said of a folder, in the order in which it is looked for."""
    names, config = files.names, files.config
    if pointer := _pointer(files):
        yield f"has a git-lfs pointer in place of {pointer}; fetch the file itself with: git lfs pull"
    if ADAPTER in names:
        if files.weights:
            yield f"holds a model ({files.weights[0]}) and an adapter ({ADAPTER}); move the one that is not meant"
        for name, known in _MERGED.items():
            if (got := files.settings(ADAPTER).get(name)) not in known:
                expected = f"expected one of {', '.join(map(json.dumps, known))}"
                yield f"holds an adapter that cannot be merged: {name} in {ADAPTER} is {json.dumps(got)}, {expected}"
        if not {"adapter_model.safetensors", "adapter_model.bin"} & files.names:
            yield "has no weights of its adapter; expected adapter_model.safetensors"
        if find_spec("peft") is None:
            yield "holds an adapter, which needs peft; install it with: pip install 'bertnesia-explorer[adapters]'"
        return
    empty = files.complete and not files.weights and "difference.safetensors" not in names
    if (empty or "config.json" not in names) and (inside := _inside(files.folder)):
        yield f"is no model's folder, but has one inside: name {inside}"
    if files.own_code and not (files.kind in REFUSED or is_masked_lm(files.kind)):
        yield (
            f"is a {files.kind or 'new kind of'} model with its own code ({files.own_code}, auto_map in config.json),"
            f" which is not run here, so it cannot be used; {_EXPECTED}"
        )
    if "config.json" in names and not files.kind:
        yield (
            'has a config.json that cannot be read, or has no "model_type" (such as "bert"); expected that of'
            " transformers, in UTF-8"
        )
    layers = config.get("num_hidden_layers", config.get("n_layers", 1))
    if files.kind and (problem := why_unusable(files.kind, layers, config.get("is_decoder"))):
        yield problem + (f"; its own code ({files.own_code}) is not run here" if files.own_code else "")
    if quantised := config.get("quantization_config") or config.get("compression_config"):
        how = quantised.get("quant_method") if isinstance(quantised, dict) else quantised
        yield f"is quantised (quantization_config in config.json: {how}); {_ORIGINAL}"
    if files.kind == "xmod" and config.get("default_language") not in (languages := _languages(config)):
        yield (
            f"reads in one of its languages ({', '.join(languages)}), and its config.json names"
            f' {config.get("default_language") or "none"}: put "default_language": "{languages[0]}" into it'
        )
    if empty and (variant := next(filter(None, map(_VARIANT.fullmatch, sorted(names))), None)):
        yield (
            f"has its weights as the variant {variant[1]} only ({variant[0]}); load it with"
            f' from_pretrained(..., variant="{variant[1]}"), and save it with save_pretrained'
        )
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
    if files.kind in ARCHITECTURES and not files.own_code and (why := _layers(files.weight_names, int(layers))):
        yield why
    yield from _tokenizers(files)


def _layers(names: Collection[str], depth: int) -> str:
    """What is said of weights of a body that lacks layers, or has more of them; ALBERT has none by number."""
    of_layer = {name: match for name in sorted(names) if (match := _LAYER.match(name))}
    found = {int(match[2]) for match in of_layer.values()}
    if not found or found == {*range(depth)}:
        return ""
    spare = [name for name, match in of_layer.items() if int(match[2]) >= depth]
    first = [match for match in of_layer.values() if int(match[2]) == min(found)]
    lacking = [f"{match[1]}{n}{match[3]}" for n in range(depth) if n not in found for match in first]
    got = f"lacks {len(lacking)} weights of its body, such as {lacking[0]}" if lacking else ""
    return f"{got or UNDEFINED.format(len(spare), spare[0])}; {OTHER_BODY}"


def _languages(config: Mapping[str, Any]) -> Sequence[str]:
    """The languages of an X-MOD model; English alone if its configuration names none, as in transformers."""
    languages = config.get("languages")
    return languages if languages and isinstance(languages, list) else ["en_XX"]


def why_unusable(kind: str, layers: Any, decoder: Any) -> str:
    """Why a model of this ``model_type`` cannot be used, in words that follow its name, or nothing."""
    if kind in REFUSED:
        return REFUSED[kind]
    if not is_masked_lm(kind):
        return f"is a {kind} model; {_EXPECTED}: causal models and models that generate text are not supported"
    if decoder:
        way = "so it cannot be asked as a masked language model; use the encoder that it was made from"
        return f"is a decoder (is_decoder in its config.json): it does not see what follows a gap, {way}"
    # Building a billion of them would exhaust the memory.
    if type(layers) is not int or not 1 <= layers <= MAX_LAYERS:
        return f"has a config.json with {layers!r} layers, expected 1 to {MAX_LAYERS}; fix it or use the model's own"
    return ""


def is_masked_lm(kind: str) -> bool:
    """Whether transformers has a masked language model of this ``model_type``."""
    if kind in ARCHITECTURES:
        return True
    # Imports torch, which takes seconds.
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def _pointer(files: ModelFiles) -> str:
    small = (path for path in sorted(files.folder.iterdir()) if path.is_file() and path.stat().st_size < 1024)
    return next((path.name for path in small if path.read_bytes().startswith(b"version https://git-lfs")), "")


def _inside(folder: Path) -> Path | None:
    """A model in a folder: the newest snapshot in one of the hub's cache, the last checkpoint of a run."""
    candidates = [ModelFiles(path.parent) for at in ("*", "*/*") for path in folder.glob(f"{at}/*config.json")]
    models = [files.folder for files in candidates if ADAPTER in files.names or (files.kind and files.weights)]
    return max(
        models,
        default=None,
        key=lambda path: (*map(int, re.findall(r"(?<=checkpoint-)\d+", path.name)), path.stat().st_mtime),
    )


def _prefix(files: ModelFiles) -> str:
    if files.kind not in ARCHITECTURES:
        return ""
    prefixes = {match[1] for match in map(_EMBEDDINGS.fullmatch, files.weight_names) if match}
    return "" if "" in prefixes or (files.kind == "modernbert" and "model." in prefixes) else min(prefixes, default="")


def _tokenizers(files: ModelFiles) -> Iterator[str]:
    settings, rows, tokens = files.settings("tokenizer_config.json"), files.config.get("vocab_size"), files.tokens
    kinds = [settings.get("tokenizer_class"), files.config.get("tokenizer_class")]
    if not any(kinds) and has_tokenizer(files.names):
        kinds.append(IN_PYTHON.get(files.kind))
    own = settings.get("auto_map") if "tokenizer.json" not in files.names else None
    yield from (SLOW.format(kind) for kind in kinds if kind in _IN_PYTHON or (own and kind))
    if tokens and type(rows) is int and (why := why_other_tokenizer(len(tokens), sum(map(bool, tokens)), rows)):
        yield why
    longest = settings.get("model_max_length")
    if longest is not None and (type(longest) not in (int, float) or longest < SHORTEST):
        yield (
            f"has model_max_length {longest!r} in its tokenizer_config.json, expected a number of word pieces from"
            f" {SHORTEST} on; fix model_max_length, or leave it out"
        )
    # Other classes of tokenizers declare the mask by themselves.
    declared = settings | files.settings("special_tokens_map.json")
    mask, generic = declared.get("mask_token"), kinds[0] in ("PreTrainedTokenizerFast", "TokenizersBackend")
    if tokens and (mask == declared.get("unk_token") if mask else generic):
        yield why_no_mask(tokens)


def why_no_mask(tokens: Collection[str]) -> str:
    """A tokenizer that declares no mask token, or the token of unknown words as its mask."""
    if mask := next((mask for mask in MASKS if mask in tokens), ""):
        return (
            f'has {mask}, which its tokenizer does not declare as its mask: put "mask_token": "{mask}" into'
            " tokenizer_config.json"
        )
    return "has no mask token; only masked language models can be asked"


def why_other_tokenizer(end: int, tokens: int, rows: int) -> str:
    """Why a tokenizer whose ids end before ``end`` is not that of a model with so many rows, or nothing.

    Rows are padded to a multiple of 128 at most, and a vocabulary may have free places.
    """
    if end > rows:
        more = (
            f"has {end:,} tokens in its tokenizer, {end - rows:,} more than the {rows:,} of the model; they do not"
            " belong together"
        )
        return f"{more}: drop the tokens that were added, or train the model with them (resize_token_embeddings)"
    if rows - tokens > _PADDED and tokens < rows / 2:
        return (
            f"cannot be used: the tokenizer of this model has {tokens:,} tokens, its head {rows:,}; they do not belong"
            " together: use the model's own tokenizer"
        )
    return ""


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


#: At this relative change a layer is as far from its base as from zero: no fine-tuning goes so far.
_STRANGE_DRIFT = 1.0
#: Tokens that a vocabulary keeps free to be replaced by a user's own.
_FREE = re.compile(r"[\[<]unused_?\d+[\]>]|madeupword\d+")


class Shape(NamedTuple):
    """What a model has in common with its base; ``tokens`` are by id, and ``around`` a text, if known."""

    kind: str
    depth: int
    hidden: int
    rows: int
    tokens: tuple[str, ...] | None
    around: tuple[str, ...] | None = None


def unlike(model: Shape, base: Shape, name: str) -> str:
    """Why ``base``, called ``name``, cannot be the base of ``model``, in words that follow its name; empty if it can.

    Tokens added at the end of either are no reason, nor is another token in a place that the vocabulary keeps free, nor
    rows of a matrix without a token.
    """
    compared = [
        "architecture",
        "number of layers",
        "width",
        *(["size of the vocabulary"] if None in (model.tokens, base.tokens) else []),
    ]
    differences = [
        f"{what} {own} against {lent}" for what, own, lent in zip(compared, model, base, strict=False) if own != lent
    ]
    pairs = [*enumerate(zip(model.tokens or (), base.tokens or (), strict=False))]
    other = [
        (n, own, lent)
        for n, (own, lent) in pairs
        if own != lent and own and lent and not (_FREE.fullmatch(own) or _FREE.fullmatch(lent))
    ]
    if other:
        first = ", ".join(f"{n} is {own!r} against {lent!r}" for n, own, lent in other[:3])
        differences.append(f"{len(other):,} of {len(pairs):,} ids belong to other tokens: {first}")
    if None not in (model.around, base.around) and model.around != base.around:
        own, lent = (" ".join(shape.around or ["none"]) for shape in (model, base))
        differences.append(f"tokens around a text {own} against {lent} (if its tokenizer is another's, save its own)")
    way = "name the model that it was fine-tuned from"
    if model.depth < base.depth and len(differences) == 1:
        way = (
            f"{way}, or, for a student of {name}, put that model's head into it (BertForMaskedLM or its like), save it,"
            " and name no base"
        )
    return f"does not fit the base {name}: {', '.join(differences)}; {way}" if differences else ""


def added_tokens(name: str, model: Shape, base_name: str, base: Shape) -> tuple[list[int], str]:
    """Ids of a model's tokens for which its base's head has no row, and one line if their tokens differ."""
    own, lent = model.tokens or (), base.tokens or ()
    if own == lent or not own or not lent:
        return [], ""
    without = [number for number, token in enumerate(own) if number >= len(lent) or token != lent[number]]
    some = next(iter([*(own[n] for n in without), *lent[len(own) :]]))
    sizes = f"{len(own):,} tokens, its base {base_name} {len(lent):,}"
    return without, f"note: {name} has {sizes}; tokens that only one of them has, such as {some}, cannot be answers"


def warn_of_drift(name: str, base: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """A warning that weights are too far from the base's; empty if not. ``rows`` have ``layer, drift``."""
    farthest = max(rows, key=lambda row: row["drift"], default={"drift": 0.0})
    if farthest["drift"] < _STRANGE_DRIFT:
        return ""
    away = (
        f"layer {farthest['layer']} of {name} is {farthest['drift']:.2f} times the length of {base}'s weights away from"
        " them"
    )
    return f"{away}, like an unrelated model's; is {base} really its base?"
