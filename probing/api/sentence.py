"""Predictions of sentence probes, and attention, at every layer for a whole sentence, in a notebook."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pandas as pd

from probing.api import arguments
from probing.api.display import Shown, for_notebook
from probing.api.stored.argument_checks import checked
from probing.core.errors import HeadError, OptionError
from probing.core.naming.model_names import known_model
from probing.core.registry import read_registry
from probing.figures import theme
from probing.figures.sentences.verdict_hover import with_hover
from probing.figures.tokens.attention_panels import PANELS, attention_panels
from probing.figures.tokens.verdict_map import verdict_map
from probing.models.encoders.catalogue import opened_base
from probing.models.encoders.load import Encoder
from probing.workflows.sentences import ask

if TYPE_CHECKING:
    from probing.api.model import Model
    from probing.figures.theme import go

#: Bases that were opened for a model, so that the next sentence does not load them again; they are removed with the
#: model.
_BASES: "WeakKeyDictionary[Model, Encoder | None]" = WeakKeyDictionary()


@dataclass(frozen=True, repr=False)
class SentenceAnswer(Shown):
    """Probe predictions and attention at the layers of a model, and of its base, for a sentence or a pair.

    Attributes:
        model: name of the model.
        base: name of the model that it was fine-tuned from; None if it was not.
        text: the sentence.
        second: the second sentence; None if there is only one.
        found: attention, and the predictions of the probes of each model.
        missing: for each model without sentence probes, the command that trains some.
    """

    model: str
    base: str | None
    text: str
    second: str | None
    found: ask.SentenceAnswer
    missing: tuple[str, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The word pieces of the input, including special tokens."""
        return self.found.attention.tokens

    @property
    def table(self) -> pd.DataFrame:
        """The verdict of every probe at every layer, as ``probing sentences ask`` prints it.

        Returns:
            One row per model, task, pooling and layer: ``model, task, pooling, layer, label, p, margin, accuracy,
            majority, above_majority``. Layer 0 is the embeddings. ``p`` is the probability of the label, ``margin`` the
            logarithm of its ratio to the probability of the next label; ``accuracy`` and ``majority`` are shares of the
            task's test sentences, in [0, 1]. A verdict means nothing if ``above_majority`` is False.

        Raises:
            HeadError: if no sentence probes are trained on the model.
        """
        self._check_probes()
        return ask.verdict_rows(self.found)

    @property
    def attention(self) -> pd.DataFrame:
        """Attention by layer, as ``probing sentences ask`` prints it.

        Returns:
            One row per model and layer, from layer 1: ``model, layer`` and, for the first token (``-first``) and the
            mean over all tokens (``-mean``), each the mean over heads: ``entropy`` in nats; ``to-first, to-separator,
            to-punctuation, to-self``, shares of attention in [0, 1]; and, with a base, the distance from it: ``emd`` in
            tokens and ``total-variation`` in [0, 1].
        """
        return ask.attention_rows(self.found)

    @property
    def heads(self) -> pd.DataFrame:
        """Attention of every head: the columns of ``attention`` with ``head``, counted from 1; one row per model, layer
        and head.
        """
        number = range(self.found.attention.own.maps.shape[1])
        tables = [ask.attention_rows(self.found, head).assign(head=head + 1) for head in number]
        table = pd.concat(tables, ignore_index=True).sort_values(["model", "layer", "head"], ignore_index=True)
        return table[["model", "layer", "head", *(name for name in table if name not in ("model", "layer", "head"))]]

    @property
    def same_word(self) -> pd.DataFrame:
        """Similarity of the states of words that occur more than once.

        Returns:
            One row per model, word and layer: ``model, word, times, layer, similarity``, the mean cosine of its
                occurrences.
        """
        return ask.similarity_rows(self.found)

    @checked
    def figure(self, what: str = "verdicts", dark: bool = False) -> "go.Figure":
        """The page's figure.

        Args:
            what: ``verdicts`` draws the predictions of the probes, one row per task and pooling and one column per
                layer; ``attention`` draws the first token's attention by layer.
            dark: whether the page is dark.

        Raises:
            HeadError: for ``verdicts``, if no sentence probes are trained on the model.
            OptionError: for another figure.
        """
        if what not in ("verdicts", "attention"):
            raise OptionError(f"got the figure {what!r}; expected verdicts or attention")
        return for_notebook(self._verdicts() if what == "verdicts" else self._attention(), dark)

    def _verdicts(self) -> "go.Figure":
        self._check_probes()
        rows = with_hover(ask.every_verdict(self.found))
        if rows["model"].nunique() > 1:
            rows = rows.assign(task=rows["model"] + " " + rows["task"], title=rows["title"] + ", " + rows["model"])
        return verdict_map(rows)

    def _attention(self) -> "go.Figure":
        found = self.found.attention
        rows = [
            (model, measure, layer, float(value))
            for measure, model, values in found.by_layer()
            if measure in PANELS
            for layer, value in enumerate(values, start=1)
        ]
        models = [known_model(read_registry(), name) for name in dict.fromkeys(name for name, *_ in rows)]
        n = len(found.tokens)
        return attention_panels(
            pd.DataFrame(rows, columns=["name", "measure", "layer", "value"]),
            colours=theme.model_colours(models),
            dashes={one.name: theme.line_dash(one.objective == "control") for one in models},
            yardsticks={"entropy": math.log(n), "first": 1 / n, "self": 1 / n},
        )

    def _check_probes(self) -> None:
        if self.missing and not any(self.found.verdicts.values()):
            raise HeadError(self.missing[-1])

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        if any(self.found.verdicts.values()):
            return self.figure(), self.table
        return self.figure("attention"), self.attention

    def __repr__(self) -> str:
        tasks = dict.fromkeys(one.probes.title for found in self.found.verdicts.values() for one in found)
        asked = f"{self.text!r}" + (f" and {self.second!r}" if self.second else "")
        beside = f", base={self.base!r}" if self.base else ""
        return f"SentenceAnswer({asked}, model={self.model!r}{beside}, probes: {', '.join(tasks) or 'none'})"


def ask_sentence(
    model: "Model", text: str, second: str | None = None, tasks: Sequence[str] | None = None
) -> SentenceAnswer:
    """The answer of ``Model.sentence``, which documents arguments and errors."""
    arguments.text("text", text)
    arguments.optional_text("second", second, "a second sentence")
    names = arguments.texts("tasks", tasks)
    if model not in _BASES:
        _BASES[model] = opened_base(model.encoder, model.entry)
    base = _BASES[model]
    missing: list[str] = []
    found = ask.ask_encoders(model.encoder, base, text, second or "", missing.append)
    if any(found.verdicts.values()):
        for line in missing:
            warnings.warn(line, stacklevel=3)
    elif names and missing:
        raise HeadError(missing[-1])
    return SentenceAnswer(
        model.name, base.name if base else None, text, second, _only(found, names, second), tuple(missing)
    )


def _only(found: ask.SentenceAnswer, tasks: Sequence[str], second: str | None) -> ask.SentenceAnswer:
    """The answer with the verdicts of some tasks; without names, of all tasks."""
    there = dict.fromkeys(one.probes.task for of_model in found.verdicts.values() for one in of_model)
    if unknown := [task for task in tasks if task not in there]:
        asked, other = ("two sentences", "leave second= out") if second else ("one sentence", "give second=")
        raise OptionError(
            f"got the task {unknown[0]!r}; the probes for {asked} are of {', '.join(there) or 'no task'} "
            f"(for tasks of {'one sentence' if second else 'two sentences'} {other})"
        )
    if not tasks:
        return found
    kept = {
        model: tuple(one for one in of_model if one.probes.task in tasks) for model, of_model in found.verdicts.items()
    }
    return ask.SentenceAnswer(found.attention, kept)
