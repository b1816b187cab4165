"""The predictions of every layer at every token of a sentence, as a table and as a figure."""

from typing import TYPE_CHECKING

import pandas as pd

from probing.api.display import SentenceShown, for_notebook
from probing.api.stored.argument_checks import checked
from probing.core.questions import EveryToken
from probing.reports.live_answer import every_token_of

if TYPE_CHECKING:
    from probing.figures.theme import go


class TokenAnswer(SentenceShown[EveryToken]):
    """The predictions of every layer at every token of a sentence; made by ``Model.every_token``.

    Layer 0 is the embeddings; positions count from 0, ranks from 1; probabilities are in [0, 1], out of the whole
    vocabulary.

    >>> import probing
    >>> answer = probing.load("nesia-mini").every_token("Paris is in France.", top=1)
    >>> answer.table[answer.table["layer"] == 8]["token"].tolist()[1:5]
    ['paris', 'is', 'in', 'france']
    """

    @property
    def sentence(self) -> str:
        """The sentence; a gap in it is written ``[MASK]``."""
        return self._answer.text

    @property
    def table(self) -> pd.DataFrame:
        """``position, piece, layer, rank, token, probability``, (pieces * layers * top) rows."""
        return every_token_of(self._answer, self._answer.ids.shape[2]).rename(columns={"place": "rank"})

    @checked
    def figure(self, dark: bool = False) -> "go.Figure":
        """The best token of every layer at every token: tokens downwards, layers to the right, probability as shade.

        Args:
            dark: whether the page is dark.

        Returns:
            A ``plotly.graph_objects.Figure``.
        """
        from probing.figures.tokens.token_grid import token_grid

        best = every_token_of(self._answer)
        cells = pd.DataFrame(
            {
                "layer": best["position"],
                "place": best["layer"] + 1,
                "token": best["token"],
                "probability": best["probability"],
            }
        )
        layers = [f"layer {layer}" for layer in range(len(self._answer.ids))]
        return for_notebook(token_grid(cells, names=layers, rows=self._answer.pieces, dark=dark), dark)

    def __repr__(self) -> str:
        layers, pieces, _ = self._answer.ids.shape
        return (
            f"TokenAnswer({self.sentence!r}, model={self.model!r}, head={self.head!r}, {layers} layers of {pieces} word"
            " pieces)"
        )

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        return self.figure(), self.table
