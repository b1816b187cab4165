"""The predictions of every layer for one sentence with a gap, as tables and as a figure."""

from typing import TYPE_CHECKING

import pandas as pd

from probing.api.display import SentenceShown, for_notebook
from probing.api.stored.argument_checks import checked
from probing.core.questions import Answer as EveryLayer
from probing.reports.live_answer import entropy_of, tokens_of, tracked_ranks, watched_of

if TYPE_CHECKING:
    from probing.figures.theme import go


class Answer(SentenceShown[EveryLayer]):
    """The predictions of every layer for the gap of a sentence; made by ``Model.ask``.

    Layer 0 is the embeddings; ranks count from 1; probabilities are in [0, 1], out of the whole vocabulary.

    >>> import probing
    >>> answer = probing.load("nesia-mini").ask("Rocky Balboa was born in [MASK].", top=2, watch=["philadelphia"])
    >>> list(answer.table)
    ['layer', 'rank', 'token', 'probability']
    >>> answer.watched[["layer", "token", "rank"]].tail(1).values.tolist()
    [[8, 'philadelphia', 1]]
    """

    @property
    def sentence(self) -> str:
        """The sentence, with its gap written ``[MASK]``."""
        return self._answer.prompt

    @property
    def notes(self) -> list[str]:
        """What the model reads otherwise than the sentence looks: unknown pieces, special tokens that were typed;
        usually empty.
        """
        return list(self._answer.notes)

    @property
    def table(self) -> pd.DataFrame:
        """The best tokens: ``layer, rank, token, probability``, one row per layer and token, (layers * top) rows."""
        return tokens_of(self._answer).rename(columns={"place": "rank"})[["layer", "rank", "token", "probability"]]

    @property
    def watched(self) -> pd.DataFrame:
        """The watched words: ``layer, token, rank, probability``, one row per layer and word; no rows without
        ``watch``.
        """
        return watched_of(self._answer).rename(columns={"word": "token"})[["layer", "token", "rank", "probability"]]

    @property
    def entropy(self) -> pd.DataFrame:
        """Entropy of each layer's distribution: ``layer, entropy``, in nats, (layers) rows."""
        return entropy_of(self._answer)[["layer", "entropy"]]

    @checked
    def figure(self, dark: bool = False) -> "go.Figure":
        """The token grid: layers upwards, ranks to the right, probability as shade; watched words are framed.

        Args:
            dark: whether the page is dark.

        Returns:
            A ``plotly.graph_objects.Figure``.

        >>> import probing
        >>> answer = probing.load("nesia-mini").ask("The capital of France is [MASK].")
        >>> [trace.type for trace in answer.figure().data]
        ['heatmap', 'scatter']
        """
        from probing.figures.tokens.token_grid import token_grid

        tokens = tokens_of(self._answer)
        return for_notebook(
            token_grid(tokens, columns=int(tokens["place"].max()), dark=dark, **tracked_ranks(self._answer)), dark
        )

    def __repr__(self) -> str:
        best = self._answer.layers[-1].tokens[0]
        said = (
            f"Answer({self.sentence!r}, model={self.model!r}, head={self.head!r}, last layer: {best.token!r}"
            f" {best.probability:.1%})"
        )
        return " ".join([said, *self.notes])

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        return self.figure(), self.table
