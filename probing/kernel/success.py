"""Whether a fine-tuned model learned its task: which score decides, what it has to beat, how long it was trained."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from probing.kernel.errors import ModelError
from probing.kernel.files import cache_folder
from probing.kernel.models.names import finetuning_note
from probing.kernel.objectives import ACCURACY, CALLED, CONTROL, MATTHEWS, Kind, PublishedScore
from probing.kernel.registry import read_registry
from probing.kernel.stats.intervals import fisher, wilson_mean

Verdict = Literal["learned", "partly", "not learned", "cannot tell", "no score stored", "control"]

#: What a score is compared with, by the names that are stored. BM25 is another system, not a baseline: it never
#: decides.
NO_ENTITY, RANDOM_SPAN, NO_ANSWER, RANDOM_ORDER = "O for every word", "random span", "never an answer", "random order"
BM25, COMMONEST_TOKEN, BEFORE = "BM25's order", "most frequent token", "before fine-tuning"
MAJORITY, NO_CORRELATION, WORDS_TAG = "majority label", "no correlation", "each word's commonest tag"
#: A model whose gain over the baseline is at most this, by the upper end of its interval, has not learned.
NEGLIGIBLE = 0.05
#: The share of the way from the baseline to the published score from which on a model above its baseline has learned,
#: and not partly.
HALF_WAY = 0.5
#: Shown for "not learned", on every page and with every claim: training has changed the model nevertheless.
TRAINED_NOT_LEARNED = "trained, not learned"


@dataclass(frozen=True)
class Rule:
    """How tasks of a kind are judged, by the score of ``metric``."""

    metric: str
    #: What it has to beat: the highest of those that are stored. Others are comparisons.
    baselines: tuple[str, ...]
    #: The metric whose items are independent, if those of ``metric`` are not; ``""``: its own.
    units: str = ""
    #: The gain, by the upper end of its interval, up to which a model has not learned.
    negligible: float = NEGLIGIBLE


#: Entity F1 cannot fall below its baseline of 0, so the words decide; words of one sentence are not independent, so
#: sentences are counted. The control is trained further on its base's own text: there is nothing to learn. Labels of
#: sentences are either learned or not: always predicting the commonest one looks like success if classes are uneven, so
#: doubt counts against the model.
RULES: Mapping[Kind, Rule] = MappingProxyType(
    {
        "tags": Rule("words tagged right", (NO_ENTITY,), units="entity F1"),
        "words": Rule("words tagged right", (MAJORITY, WORDS_TAG)),
        "spans": Rule("F1", (RANDOM_SPAN, NO_ANSWER)),
        "ranking": Rule("nDCG@10", (RANDOM_ORDER,)),
        "blocks": Rule("masked accuracy", (BEFORE, COMMONEST_TOKEN)),
        "texts": Rule("masked accuracy", (BEFORE, COMMONEST_TOKEN)),
        "classes": Rule(ACCURACY, (MAJORITY,), negligible=math.inf),
        "acceptability": Rule(MATTHEWS, (NO_CORRELATION, MAJORITY), negligible=math.inf),
    }
)


@dataclass(frozen=True)
class Beside:
    """A stored score of a metric with one other value, which may be missing; ``n`` items were scored."""

    metric: str
    value: float
    n: int
    beside: float | None
    name: str


@dataclass(frozen=True)
class TaskScore:
    """A score with its 95 % interval and what it is compared with: shares in [0, 1], a correlation in [-1, 1].

    Whatever is not stored or published is None, and its name ``""``.
    """

    metric: str
    value: float
    low: float
    high: float
    n: int
    baseline: float | None
    baseline_name: str
    other: float | None
    other_name: str
    decides: bool
    #: Share of the way from baseline to published score, above 1 beyond; may be of ``published_metric`` instead.
    closed: float | None = None
    published: float | None = None
    published_metric: str = ""
    published_source: str = ""


def task_scores(objective: str, stored: Sequence[Beside]) -> list[TaskScore]:
    """Every stored score of a model, the one that decides first; an objective not in ``CALLED`` has none that does."""
    rule = RULES[CALLED[objective].kind] if objective in CALLED else None
    names = list(dict.fromkeys(row.metric for row in stored))
    decisive = rule.metric if rule and rule.metric in names else ""
    items = {row.metric: row.n for row in stored}
    scores = [
        _score([row for row in stored if row.metric == name], rule, _units(name, rule, items), name == decisive)
        for name in names
    ]
    published = CALLED[objective].published if objective in CALLED else None
    return sorted(_with_published(scores, published), key=lambda score: not score.decides)


def _with_published(scores: Sequence[TaskScore], published: PublishedScore | None) -> list[TaskScore]:
    """The scores with the share of the way to the published one, on its own metric and on the deciding one."""
    measured = next(
        (score for score in scores if published and score.metric == published.metric and score.baseline is not None),
        None,
    )
    if published is None or measured is None:
        return list(scores)
    closed = share_closed(measured.value, measured.baseline or 0.0, published.value)
    return [
        replace(
            score,
            closed=closed,
            published=published.value,
            published_metric=published.metric,
            published_source=published.source,
        )
        if score.decides or score is measured
        else score
        for score in scores
    ]


def share_closed(value: float, baseline: float, published: float) -> float:
    """Share of the way from the baseline to the published score; negative below the baseline.

    A published score that is no higher than the baseline asks for nothing more: all above the baseline has closed it.
    """
    way = published - baseline
    return (value - baseline) / way if way > 0 else float(value > baseline)


def verdict_of(objective: str, scores: Sequence[TaskScore]) -> Verdict:
    """The one verdict on a model with these scores: by the deciding score, and by no other.

    Learned if its whole interval is above the baseline and at least ``HALF_WAY`` to a published score is closed, partly
    without the latter; not learned if any gain is negligible; else nothing can be decided.
    """
    if objective == CONTROL:
        return "control"
    if not scores:
        return "no score stored"
    score = next((score for score in scores if score.decides), None)
    if score is None or score.baseline is None:
        return "cannot tell"
    if score.low > score.baseline:
        return "partly" if score.closed is not None and score.closed < HALF_WAY else "learned"
    return "not learned" if score.high <= score.baseline + RULES[CALLED[objective].kind].negligible else "cannot tell"


def in_words(verdict: str) -> str:
    """A verdict for readers."""
    return TRAINED_NOT_LEARNED if verdict == "not learned" else verdict


def _units(metric: str, rule: Rule | None, items: Mapping[str, int]) -> int:
    """Number of independent items of a metric."""
    return items.get(rule.units, items[metric]) if rule and metric == rule.metric else items[metric]


def _score(rows: Sequence[Beside], rule: Rule | None, units: int, decides: bool) -> TaskScore:
    value = rows[0].value
    interval, unknown = (fisher, (-1.0, 1.0)) if rows[0].metric == MATTHEWS else (wilson_mean, (0.0, 1.0))
    low, high = interval(value, units) if units else unknown
    pairs = [(row.beside, row.name) for row in rows if row.beside is not None]
    baselines = sorted(((worth, name) for worth, name in pairs if rule and name in rule.baselines), reverse=True)
    others = sorted((pair for pair in pairs if pair not in baselines[:1]), reverse=True)
    baseline, baseline_name = baselines[0] if baselines else (None, "")
    other, other_name = others[0] if others else (None, "")
    return TaskScore(rows[0].metric, value, low, high, rows[0].n, baseline, baseline_name, other, other_name, decides)


@dataclass(frozen=True)
class Training:
    """Length of a fine-tuning: ``size`` is per step, in ``tokens`` (padded) or ``rows``."""

    steps: int
    size: int
    unit: str

    @property
    def words(self) -> str:
        """ "600 steps of 2,000 tokens"."""
        return f"{self.steps:,} steps of {self.size:,} {self.unit}"


def training_of(model: str) -> Training | None:
    """The fine-tuning of a shipped model, or of one in ``cache/models``; None if nothing is recorded."""
    shipped = [Path(entry.location) for entry in read_registry().models if entry.name == model and entry.shipped]
    for folder in (*shipped, cache_folder() / "models" / model):
        try:
            note = finetuning_note(folder)
            recipe, steps = note["recipe"], int(note["steps"])
            tokens = int(recipe["tokens_a_step"])
            return Training(steps, tokens, "tokens") if tokens else Training(steps, int(recipe["batch"]), "rows")
        except (ModelError, ValueError, KeyError, TypeError):
            continue
    return None
