"""The page's answer: the layer at which each property is read best, and by how much it beats its baselines."""

import pandas as pd

from probing.figures.sentences.best_points import best_points
from probing.figures.sentences.looks import POOLING_NAMES
from probing.reports.sentences.best_probes import best_read
from probing.ui.sentence_probes.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, count, filled, joined

_WHAT = (
    "A linear probe predicts a label from one vector per sentence and layer: are two words swapped, is the subject plural? Its "
    "accuracy shows how well a linear probe predicts the label; the baselines show what needs no model. A lower accuracy after fine-tuning "
    "does not show that the property is lost."
)
_BASELINES = (
    "The majority label is always giving one answer. The surface baseline is the same probe on length, first letter, final mark and words. "
    "Layer and vector of each line were chosen on the development sentences; accuracies and intervals are on the test sentences. "
    "The intervals are those of the probes: how far the surface baseline may be off is not in them."
)


def draw(shown: Shown) -> None:
    """How many properties the first model's probes read, the best layer of each, and one line per property."""
    every, model = shown.panels.accuracies, shown.models[0]
    best = best_read(every[every["model"] == model])
    if best.empty:
        shown.view.introduce()
        return
    read = best[best["read"]]
    called, n = shown.view.called(model), len(best)
    if read.empty:
        said = filled("**No property is read from {model}**: at no layer does a probe clearly beat both baselines.", model=called)
    else:
        said = filled(
            "**Probes read {read} from {model}**: at the best layer their accuracy clearly beats both baselines.",
            model=called,
            read="every one of these properties" if len(read) == n > 1 else f"{len(read)} of {count(n, 'property', 'properties')}",
        )
    answer(said)
    blocks.figure(
        drawing(best_points, best, colour=shown.colours[model], titles=shown.tasks),
        table=best,
        stamp=shown.stamp("best layer of sentence probes"),
        name="sentence-best",
        caption="The layer whose probe is best on the development sentences, with its 95 % interval on the test sentences. Filled: the "
        "whole interval is above both baselines. Grey: what needs no model.",
        alt="Accuracy of the best layer by property, with majority and surface baseline",
    )
    shown.view.introduce()
    lines = joined("\n", [filled("- {line}", line=in_words(row, shown.tasks[row["task"]])) for row in best.to_dict("records")])
    blocks.in_words(Markdown(_WHAT), lines, Markdown(_BASELINES))


def in_words(row: dict, title: str) -> Markdown:
    """A task's best cell with its baselines."""
    above = [
        filled(
            "{points:+.1f} points over the {name} ({level:.1f} %)",
            points=(row["accuracy"] - row[key]) * 100,
            name=name,
            level=row[key] * 100,
        )
        for key, name in (("majority", "majority baseline"), ("surface", "surface baseline"))
        if pd.notna(row[key])
    ]
    said = filled(
        "{title}: **layer {layer}**, {pooling}: **{share:.1f} %** ({low:.1f} to {high:.1f}), {above}",
        title=title,
        layer=int(row["layer"]),
        pooling=POOLING_NAMES[row["pooling"]],
        share=row["accuracy"] * 100,
        low=row["low"] * 100,
        high=row["high"] * 100,
        above=joined(", ", above),
    )
    return said if row["read"] else filled("{said}: not read by these linear probes", said=said)
