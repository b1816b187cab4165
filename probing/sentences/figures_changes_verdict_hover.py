"""What ``verdict_map`` says of a cell."""

import pandas as pd

from probing.kernel.figures import theme
from probing.sentences.figures_looks import POOLING_NAMES


def with_hover(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``hover`` text, of ``title, layer, pooling, label, p, margin, accuracy, majority, chance``."""
    return verdicts.assign(
        hover=[
            "<br>".join(
                (
                    f"<b>{theme.plain(verdict.title)}</b>, layer {verdict.layer}, {POOLING_NAMES[verdict.pooling]}",
                    f"says {theme.plain(verdict.label)}: {verdict.p * 100:.1f} %, margin {verdict.margin:.2f}",
                    f"test accuracy {verdict.accuracy * 100:.1f} %, commonest answer {verdict.majority * 100:.1f} %",
                    *(["at chance: means nothing"] if verdict.chance else []),
                )
            )
            for verdict in verdicts.itertuples()
        ],
    )
