"""What ``verdict_map`` says of a cell."""

import pandas as pd

from probing.figures import theme
from probing.figures.sentences.looks import POOLING_NAMES


def with_hover(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``hover`` text, of ``title, layer, pooling, label, p, margin, accuracy, majority, chance``."""
    return verdicts.assign(
        hover=[
            "<br>".join(
                (
                    f"<b>{theme.plain(one.title)}</b>, layer {one.layer}, {POOLING_NAMES[one.pooling]}",
                    f"says {theme.plain(one.label)}: {one.p * 100:.1f} %, margin {one.margin:.2f}",
                    f"test accuracy {one.accuracy * 100:.1f} %, commonest answer {one.majority * 100:.1f} %",
                    *(["at chance: means nothing"] if one.chance else []),
                )
            )
            for one in verdicts.itertuples()
        ],
    )
