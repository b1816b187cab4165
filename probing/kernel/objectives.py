"""What a model can be fine-tuned for: one entry for each objective, which commands, training and reports read.

``finetuning.readers`` reads their data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from probing.kernel.errors import FactsError, OptionError, RegistryError
from probing.kernel.files import cache_folder

#: How examples become rows of token ids and are scored, see ``finetuning.kinds``: sentences with tagged
#: entities, sentences with a tag for every word, questions about passages, pairs of query and passage, running text cut
#: into blocks, a row for each text, or one label of a sentence or a pair of them, scored by accuracy or, in judgements
#: of acceptability, by the correlation with the gold labels.
Kind = Literal["tags", "words", "spans", "ranking", "blocks", "texts", "classes", "acceptability"]
#: What a head for whole sentences reads: the first token's state, or the mean over all.
FIRST, MEAN = "first", "mean"
POOLINGS = (FIRST, MEAN)
#: Ends what results call a control whose labels are shuffled.
SHUFFLED = " (shuffled labels)"


def task_of(objective: str) -> str:
    """An objective without the brackets after it, which name the pooling of a sentence's vector, or shuffled labels."""
    return objective.split(" (")[0]


@dataclass(frozen=True)
class PublishedScore:
    """What BERT-base reached on an objective, in [0, 1], where it is printed and on which data."""

    metric: str
    value: float
    source: str


@dataclass(frozen=True)
class Task:
    """A fine-tuning objective; ``label`` is the paper's name, in results and in the registry."""

    #: Its name on the command line and in recipes.
    slug: str
    label: str
    #: The fetched data set that it reads; empty if the user names a text file.
    data_set: str
    kind: Kind
    #: What it is scored by, the main one first.
    metrics: tuple[str, ...]
    settings: Mapping[str, Any]
    #: The score of BERT-base in one of ``metrics``, on data like ours; None if none is published.
    published: PublishedScore | None = None

    @property
    def labels_sentences(self) -> bool:
        """Whether it gives a whole sentence, or a pair of them, one label."""
        return self.kind in ("classes", "acceptability")

    @property
    def name(self) -> str:
        """What ``finetune`` names its models after: slug, pooling if not the first token's, and mark of a control."""
        pooling = self.settings.get("pooling", FIRST)
        ends = [pooling] * (pooling != FIRST) + ["shuffled"] * bool(self.settings.get("shuffled_labels"))
        return "-".join([self.slug, *ends])

    def data_at(self, path: Path | None) -> Path:
        """Where its data are: the given folder (for the control a text file), by default the fetched data set."""
        data = path or (cache_folder() / "downloads" / self.data_set if self.data_set else None)
        if data is None or not data.exists():
            advice = (
                f"fetch it with: python -m probing fetch {self.data_set}"
                if self.data_set
                else "name a text file with --data"
            )
            raise FactsError(f"no data for {self.slug} at {data or 'any path'}; {advice}")
        return data

    def shuffled(self) -> "Task":
        """The control of an objective with labels: the same training on labels that say nothing about the input."""
        if self.kind in ("blocks", "texts"):
            labelled = ", ".join(task.slug for task in TASKS.values() if task.kind not in ("blocks", "texts"))
            raise OptionError(
                f"{self.slug} has no labels to shuffle; its control is 'control'; expected one of {labelled}"
            )
        return replace(
            self, label=f"{self.label}{SHUFFLED}", settings=MappingProxyType({**self.settings, "shuffled_labels": True})
        )

    def pooled(self, pooling: str | None) -> "Task":
        """The objective with a head of that pooling, None: unchanged; refused if its head reads single tokens."""
        if pooling is None:
            return self
        if pooling not in POOLINGS or not self.labels_sentences:
            those = ", ".join(task.slug for task in TASKS.values() if task.labels_sentences)
            raise OptionError(
                f"got the pooling {pooling!r} for {self.slug}; expected {' or '.join(POOLINGS)}, with one of {those}"
            )
        if pooling == FIRST:
            return self
        return replace(
            self, label=f"{self.label} ({pooling})", settings=MappingProxyType({**self.settings, "pooling": pooling})
        )


ANSWERS, RANKING, MASKED = ("F1", "exact match"), ("nDCG@10", "MRR@10"), ("masked accuracy",)
#: The share of sentences with the right label, and the correlation of given and gold labels.
ACCURACY, MATTHEWS = "task accuracy", "Matthews correlation"


def _settings(learning_rate: float, batch: int, max_pieces: int, **more: Any) -> Mapping[str, Any]:
    return MappingProxyType({"learning_rate": learning_rate, "batch": batch, "max_pieces": max_pieces, **more})


#: How sentences are labelled (Mosbach et al. 2020, section 3): the rate is constant after the warm-up, and the head
#: starts at random.
_SENTENCES: Mapping[str, Any] = MappingProxyType(
    {"schedule": "constant", "beta2": 0.99, "dropout": 0.1, "fresh_pooler": True}
)

_WALLAT, _MOSBACH = "Wallat et al. 2020, section 3.1", "Mosbach et al. 2020, Table 1, development set"

#: Settings are the paper's (Wallat et al. 2020, section 3.1, and the works it follows); the rest is ours: NER has no
#: settings in the paper, ranking's learning rate is Nogueira and Cho's (2019), MLM-SQuAD's batch is MLM-MSMARCO's.
_ALL = (
    Task(
        "ner-conll",
        "NER-CoNLL",
        "conll2003",
        "tags",
        ("entity F1", "words tagged right"),
        _settings(5e-5, 32, 256, epochs=3.0),
        PublishedScore("entity F1", 0.924, "Devlin et al. 2019, Table 7, test set"),
    ),
    Task(
        "qa-squad-1",
        "QA-SQuAD-1",
        "squad",
        "spans",
        ANSWERS,
        _settings(3e-5, 12, 384, epochs=2.0, stride=128),
        PublishedScore("F1", 0.885, _WALLAT),
    ),
    Task(
        "qa-squad-2",
        "QA-SQuAD-2",
        "squad",
        "spans",
        ANSWERS,
        _settings(3e-5, 12, 384, epochs=2.0, stride=128),
        PublishedScore("F1", 0.67, _WALLAT),
    ),
    Task(
        "rank-msmarco",
        "RANK-MSMARCO",
        "msmarco",
        "ranking",
        RANKING,
        _settings(3e-6, 128, 512, steps=100_000),
    ),
    Task(
        "mlm-msmarco",
        "MLM-MSMARCO",
        "msmarco",
        "blocks",
        MASKED,
        _settings(5e-5, 8, 512, epochs=3.0),
    ),
    Task(
        "mlm-squad",
        "MLM-SQuAD",
        "squad",
        "blocks",
        MASKED,
        _settings(5e-5, 8, 512, epochs=4.0),
    ),
    Task(
        "control",
        "control",
        "",
        "texts",
        MASKED,
        _settings(5e-5, 8, 512, epochs=1.0),
    ),
    Task(
        "cola",
        "CoLA",
        "glue",
        "acceptability",
        (MATTHEWS, ACCURACY),
        _settings(2e-5, 32, 128, epochs=3.0, **_SENTENCES),
        PublishedScore(MATTHEWS, 0.595, _MOSBACH),
    ),
    Task(
        "sst-2",
        "SST-2",
        "glue",
        "classes",
        (ACCURACY,),
        _settings(2e-5, 32, 128, epochs=1.0, **_SENTENCES),
        PublishedScore(ACCURACY, 0.924, _MOSBACH),
    ),
    Task(
        "rte",
        "RTE",
        "glue",
        "classes",
        (ACCURACY,),
        _settings(2e-5, 32, 256, epochs=3.0, **_SENTENCES),
        PublishedScore(ACCURACY, 0.646, _MOSBACH),
    ),
    Task(
        "pos-ewt",
        "POS-EWT",
        "ud-english-ewt",
        "words",
        ("words tagged right",),
        _settings(5e-5, 32, 256, epochs=3.0),
    ),
)
#: Slug -> objective, in the order of the command line's help.
TASKS: Mapping[str, Task] = MappingProxyType({task.slug: task for task in _ALL})
#: What results and the registry call an objective -> the objective, those that read the mean over all tokens and the
#: controls with shuffled labels among them.
CALLED: Mapping[str, Task] = MappingProxyType(
    {
        pooled.label: pooled
        for task in _ALL
        for pooled in map(task.pooled, POOLINGS if task.labels_sentences else (None,))
    }
    | {task.shuffled().label: task.shuffled() for task in _ALL if task.kind not in ("blocks", "texts")}
)
#: Objective of a model trained further on its base's own text and objective: it shows what more steps alone forget.
CONTROL = TASKS["control"].label
#: What a base stands for, where models are named by their objective.
BASE = "pre-training"


def task_named(slug: str) -> Task:
    """The objective of that name; raises an ``OptionError`` if there is none."""
    if slug not in TASKS:
        raise OptionError(f"got the objective {slug!r}; expected one of {', '.join(TASKS)}")
    return TASKS[slug]


def task_called(label: str) -> Task:
    """The objective that results and the registry call ``label``."""
    if label not in CALLED:
        raise RegistryError(f"got the objective {label!r}; finetune knows {', '.join(CALLED)}")
    return CALLED[label]
