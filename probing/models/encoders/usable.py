"""What is checked before a model is used: its files can be loaded, its weights are numbers, and its body has a place for each."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import PretrainedConfig, PreTrainedModel

from probing.core.errors import ModelError, ProbingError

#: The embeddings, layer 0, and so many layers fit the column ``layer``.
MAX_LAYERS = 255
#: What the last part of a parameter's name is; a checkpoint's other tensors, such as position ids, are constants.
_PARAMETERS = ("weight", "bias", "gamma", "beta")
#: How names of floating-point formats begin, safetensors' (F32, BF16) and torch's (float32, bfloat16) in capitals.
_FLOATS = ("F", "BF")


@contextmanager
def broken_files_named(source: str | Path, what: str = "as a masked-LM encoder") -> Iterator[None]:
    """Makes whatever a library raises on a damaged model one ``ModelError``: their classes are many and follow no rule."""
    try:
        yield
    except (ProbingError, MemoryError):
        raise
    except Exception as error:
        raise _cannot_load(source, what, error) from error
    except BaseException as error:
        # The tokenizers library ends a damaged file with a panic, which is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise _cannot_load(source, what, error) from error


def _cannot_load(source: str | Path, what: str, error: BaseException) -> ModelError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    # A line that ends in a colon announces the next one.
    said = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    # A key or a number alone says nothing without the class.
    reason = said if isinstance(error, OSError | ValueError | RuntimeError | ImportError) else f"{type(error).__name__}: {said}"
    expected = "a hub id that was fetched before, or a folder with config.json and weights"
    return ModelError(f"cannot load {str(source)!r} {what}: {reason} (expected {expected})")


def check_layers(source: str | Path, config: PretrainedConfig) -> None:
    """Raises a ``ModelError`` for a number of layers that no model has: to build a thousand million of them takes all memory."""
    layers = getattr(config, "num_hidden_layers", None)
    if type(layers) is not int or not 1 <= layers <= MAX_LAYERS:
        raise ModelError(f"config.json of {source} says {layers!r} layers, expected 1 to {MAX_LAYERS}; mend it or take the model's own")


def check_no_spare_weights(source: str | Path, model: PreTrainedModel, unexpected: Iterable[str]) -> None:
    """Raises a ``ModelError`` if a checkpoint has weights of its body that the configuration has no place for, such as more layers.

    Heads of other tasks and poolers are no part of the body and are left alone.
    """
    inside = {name for name, _ in getattr(model, model.base_model_prefix).named_children()}
    bare = {name: name.removeprefix(f"{model.base_model_prefix}.") for name in unexpected}
    spare = sorted(name for name, rest in bare.items() if rest.split(".")[0] in inside and rest.split(".")[-1] in _PARAMETERS)
    if spare:
        got = f"{source} has {len(spare)} weights of its body that its config.json has no place for, such as {spare[0]}"
        raise ModelError(f"{got}; mend config.json (the number of layers, for one) or take the checkpoint's own")


def check_stored_as_floats(source: str | Path, files: Iterable[Path]) -> None:
    """Raises a ``ModelError`` if weights are stored as whole numbers: read as they come they would mean something else."""
    files = list(files)
    # Where both are there, only the safetensors are loaded.
    for path in [path for path in files if path.suffix == ".safetensors"] or files:
        for name, kind in _formats(path):
            if name.split(".")[-1] in _PARAMETERS and not kind.removeprefix("torch.").upper().startswith(_FLOATS):
                got = f"{path} stores {name} as {kind}"
                raise ModelError(f"{got}, expected floating-point weights; {source} is quantised or damaged: take the original weights")


def _formats(path: Path) -> Iterator[tuple[str, str]]:
    """Name and number format of every tensor of a weight file, from its header where it has one."""
    if path.suffix != ".safetensors":
        for name, tensor in torch.load(path, map_location="cpu", weights_only=True).items():
            yield name, str(getattr(tensor, "dtype", "float32"))
        return
    with safe_open(path, framework="pt") as stream:
        for name in stream.keys():  # noqa: SIM118
            yield name, stream.get_slice(name).get_dtype()


def check_finite(source: str | Path, *modules: torch.nn.Module) -> None:
    """Raises a ``ModelError`` naming the first weight that is not a number, or endless."""
    for module in modules:
        for name, weight in module.named_parameters():
            if not torch.isfinite(weight).all():
                raise ModelError(f"{name} of {source} holds values that are not numbers; its training has diverged or its file is damaged")
