"""BERTnesia Explorer: what every layer of a language model knows, and which facts fine-tuning lost.

``load`` opens a model that can be asked, ``results`` what is stored. ``line`` asks means of two models' weights,
``page_figure`` draws a figure of a page, and ``ForgettingCallback`` asks a model while the Trainer of transformers
trains it. Whatever a user can fix is a
``ProbingError``. Importing the package loads no heavy library.
"""

import warnings
from typing import TYPE_CHECKING, Any

from probing.kernel import joined as _joined
from probing.kernel.errors import ProbingError
from probing.kernel.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from probing.api.model import Model
    from probing.api.results import Results
    from probing.forgetting.callback import ForgettingCallback
    from probing.kernel.app.page_figures import page_figure
    from probing.kernel.models.load import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["ForgettingCallback", "ProbingError", "__version__", "line", "load", "page_figure", "results"]

_joined.MODULES.update(subjects="probing.subjects", terms="probing.terms")


def __getattr__(name: str) -> Any:
    """What needs torch or Streamlit is imported when it is named."""
    if name == "ForgettingCallback":
        from probing.forgetting.callback import ForgettingCallback

        return ForgettingCallback
    if name == "page_figure":
        from probing.kernel.app.page_figures import page_figure

        return page_figure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load(
    model: "str | Path | PreTrainedModel",
    head: str | None = None,
    *,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    base: "str | Path | None" = None,
    device: str = "auto",
    dtype: str = "float32",
    name: str | None = None,
    revision: str | None = None,
) -> "Model":
    """Opens a masked language model whose every layer can be asked.

    Args:
        model: a name of the registry, such as ``nesia-mini``; a hub id; a folder; or a transformers model in memory, of
            which a copy is taken. Training the model later does not change the copy.
        head: the kind of the decoding heads that read the layers. ``logit_lens`` reads every layer with the model's own
            masked-LM head and needs no training. ``tied``, ``full``, ``least_squares`` and ``tuned_lens`` are trained
            by ``python -m probing train-heads``. By default ``tied`` or, if none are trained, ``logit_lens``; then one
            line states it.
        tokenizer: the fast tokenizer of a model in memory; a model that is named brings its own.
        base: name, hub id or folder of the model that this one was fine-tuned from. Its masked-LM head reads a model
            that has none.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        dtype: the numbers of the body: ``float32``, ``float64``, or ``bfloat16``, which is faster on many devices and
            changes some ranks. The heads compute in float32, or in float64 with the body.
        name: how results call the model. By default its name in the registry or the last part of its folder or hub id;
            for a model in memory also eight digits of its identity, so that two states of a training are two models.
        revision: branch, tag or commit of a model on the hub. By default the commit that the registry pins, else the
            newest of the main branch. Another revision is another model in results: ``NAME@REVISION``.

    Returns:
        The model, with ``ask``, ``probe``, ``edges`` and ``sentence``.

    Raises:
        OptionError: if an argument has another type.
        ModelError: if there is no such model, revision or base, or it cannot be used; if a revision of a folder is
            given. Where the model ships with the repository and the package was installed without it, the message says
            how to get it.
        HeadError: if no heads of the named kind are trained, or the model has no masked-LM head and no base is given.

    >>> import probing
    >>> model = probing.load("nesia-mini")
    >>> model.ask("Rocky Balboa was born in [MASK].", top=1).table["token"].tolist()[-1]
    'philadelphia'
    """
    with warnings.catch_warnings():
        # The libraries import tqdm.auto, which warns in a notebook without ipywidgets. The bars here need none.
        warnings.filterwarnings("ignore", message="IProgress not found")
        import tqdm.auto  # noqa: F401

        from probing.api.model import open_model

    return open_model(
        model, head, tokenizer=tokenizer, base=base, device=device, dtype=dtype, name=name, revision=revision
    )


def results(folders: "Sequence[Path | str] | Path | str | None" = None) -> "Results":
    """Opens stored results; by default those that the pages read.

    Args:
        folders: folders of results; None takes ``runs`` of the cache, what was pulled and the shipped snapshot.

    Returns:
        The results: ``report(kind, name, **filters)`` has every report as a DataFrame, and its figure.

    Raises:
        StoreError: if a folder holds no results.
        OptionError: for an argument that names no folder.

    >>> import probing
    >>> filters = {"model": "nesia-mini", "head": "tied", "probe_set": "trex", "k": 1, "average": "macro"}
    >>> precision = probing.results().report("facts", "precision", **filters)
    >>> precision.table["layer"].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
    """
    from probing.api.results import Results

    return Results(folders)


def line(
    model: "str | Path", base: "str | Path | None" = None, facts: Any = "trex", score: Any = None, **options: Any
) -> "pd.DataFrame":
    """Asks eleven means of the weights of a base and its fine-tuned model for facts, like ``python -m probing line``,
    and prints what they show.

    Args:
        model, base: names of the registry, hub ids or folders; without a base the recorded one.
        facts, options: as the command has them, without ``save``; facts are a name, a folder or a file.
        score: a function of the model at a point and its tokenizer: how well it does its task, from 0 to 1, or a number
            for each example, of which half choose the offered point. None: by the task of ``finetune``.

    Returns:
        One row per half of the facts, k and point, with the columns of the table ``series_line``.

    Raises:
        ModelError, FactsError, OptionError: as the command; also if ``score`` gives something else.
    """
    from pathlib import Path

    import pandas as pd

    from probing.api.arguments import in_a_notebook, optional_folder, refused
    from probing.forgetting.line import line
    from probing.forgetting.report_series import line_in_words
    from probing.forgetting.requests import LineRequest

    if not isinstance(facts, str | Path):
        raise refused("facts", facts, "a name, a folder or a file")
    if not (score is None or callable(score)):
        raise refused("score", score, "a function of a model and its tokenizer, or None")
    if options.get("save") is not None:
        raise refused("save", options["save"], "None; the command saves a mean: python -m probing line --save")
    options["out"] = optional_folder("out", options.get("out"))
    with in_a_notebook():
        request = LineRequest(str(model), base=None if base is None else str(base), facts=str(facts), **options)
        points = pd.DataFrame(line(request, score=score))
        print("\n".join(line_in_words(points[points["k"] == 1])))
        return points
