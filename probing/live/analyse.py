"""One sentence, live: the attention of two models, and the predictions of their layers' probes."""

from dataclasses import dataclass

import pandas as pd

from probing.changes.passes import Attending, SentenceAttention, ask_attention
from probing.kernel.errors import Say
from probing.kernel.files import cache_folder
from probing.kernel.models.catalogue import open_models
from probing.kernel.models.load import Encoder
from probing.sentences.ask import Verdicts, ask_sentence
from probing.sentences.numbers import VERDICT_COLUMNS
from probing.sentences.probes import find_probes, read_probes
from probing.sentences.requests import SentenceAskRequest

#: Name of a measure in ``SentenceAttention.by_layer`` -> its name in stored tables.
MEASURES = {
    "entropy": "entropy",
    "first": "to-first",
    "separator": "to-separator",
    "punctuation": "to-punctuation",
    "self": "to-self",
    "distance": "emd",
    "variation": "total-variation",
}


@dataclass(frozen=True)
class SentenceAnswer:
    """Attention of a model and of its base, if it has one; by model, the base first, what its probes predict."""

    attention: SentenceAttention
    verdicts: dict[str, tuple[Verdicts, ...]]


def ask_live(request: SentenceAskRequest, say: Say = print) -> SentenceAnswer:
    """Attention by layer and every probe's verdict."""
    opened = open_models(request.model, request.base, request.device, None, request.revision)
    return ask_encoders(opened.encoder, opened.base, request.text, request.pair, say)


def ask_encoders(encoder: Encoder, base: Encoder | None, text: str, pair: str = "", say: Say = print) -> SentenceAnswer:
    """Attention by layer and every probe's verdict, of a loaded model and of its base, if it has one.

    Refused if the two models cut the sentence into different pieces. ``pair`` is the second sentence.
    """
    encoders = [one for one in (base, encoder) if one is not None]
    attention = ask_attention(text, Attending(encoder), None if base is None else Attending(base), pair)
    return SentenceAnswer(attention, {one.name: tuple(_verdicts(one, text, pair, say)) for one in encoders})


def _verdicts(encoder: Encoder, text: str, pair: str, say: Say) -> list[Verdicts]:
    files = find_probes(encoder.name, encoder.weights_id, cache_folder())
    if not files:
        say(
            f"no sentence probes are trained on {encoder.name}; train them with: python -m probing sentences train"
            f" {encoder.options}"
        )
        return []
    read = [read_probes(path, encoder.weights_id) for path in files.values()]
    return ask_sentence(encoder, read, text, pair.strip())


def attention_rows(answer: SentenceAnswer, head: int | None = None) -> pd.DataFrame:
    """One row per model and layer: ``model, layer`` and the measures of the first token's attention and of the mean
    over all tokens.

    ``head`` counts from 0; None: the mean over heads.
    """
    columns: dict[tuple[str, int], dict[str, float]] = {}
    for ending, token in (("first", 0), ("mean", None)):
        for measure, model, values in answer.attention.by_layer(token, head):
            for layer, value in enumerate(values, start=1):
                columns.setdefault((model, layer), {})[f"{MEASURES[measure]}-{ending}"] = float(value)
    return pd.DataFrame([{"model": model, "layer": layer} | found for (model, layer), found in columns.items()])


def every_verdict(answer: SentenceAnswer) -> pd.DataFrame:
    """One row per probe with the columns of ``Verdicts.rows``."""
    rows = [row for model, found in answer.verdicts.items() for one in found for row in one.rows(model)]
    return VERDICT_COLUMNS.frame(rows)


def verdict_rows(answer: SentenceAnswer) -> pd.DataFrame:
    """One row per probe: ``model, task, pooling, layer, label, p, margin, accuracy, majority, above_majority``."""
    rows = every_verdict(answer)
    names = ["model", "task", "pooling", "layer", "label", "p", "margin", "accuracy", "majority", "above_majority"]
    return rows.assign(above_majority=~rows["chance"].astype(bool))[names]
