"""The numbers of one stored base and its fine-tuned models that the paper's tables and figures need."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from probing.changes.report import epoch_perplexities, perplexities, values
from probing.finetuning.objectives import BASE, CONTROL
from probing.finetuning.success_report import learned
from probing.kernel.store.database import Database
from probing.papers.interplay_families import TUNED, SentenceFamily
from probing.sentences import store
from probing.sentences.examples import FIRST, MEAN, OWN
from probing.sentences.numbers import change, layer_group
from probing.sentences.published import PublishedSentences
from probing.sentences.report_accuracy import accuracies, counted, stored
from probing.sentences.report_changes import changes, group_means

#: The measures of attention that Figure 2 draws.
ENTROPY, DISTANCE = "entropy-first", "emd-first"
_ENDS = ("value", "low", "high")
ACCURACY_COLUMNS = ("encoder", "task", "pooling", "layer", *_ENDS, "majority", "surface")
GROUP_COLUMNS = ("objective", "task", "pooling", "group", *_ENDS, "control", "seed_low", "seed_high")
CHANGE_COLUMNS = (
    "encoder",
    "objective",
    "task",
    "pooling",
    "layer",
    *_ENDS,
    "over_mean",
    "over_mean_low",
    "over_mean_high",
    "control",
)
VALUE_COLUMNS = ("encoder", "objective", "measure", "layer", *_ENDS)
PERPLEXITY_COLUMNS = ("encoder", "objective", "replaced", "n", "embeddings", *_ENDS, "perplexity")
EPOCH_COLUMNS = ("encoder", "objective", "epoch", "perplexity")


@dataclass(frozen=True)
class SentenceNumbers:
    """The numbers of a base and its fine-tuned models; unknown ones have no row, accuracies and changes are shares.

    ``accuracies`` has the paper's other stored encoders, too. ``groups``: change after fine-tuning, mean over the lower
    and the upper layers, with the control's; ``changes``: the same by layer, and ``over_mean`` against the base's own
    mean-pooled probe. ``values`` are of attention. ``perplexities``: the log of the model's perplexity over its base's.
    ``learned``: objective -> verdict, see ``finetuning.success_report``.
    """

    family: SentenceFamily
    accuracies: pd.DataFrame
    groups: pd.DataFrame
    changes: pd.DataFrame
    values: pd.DataFrame
    perplexities: pd.DataFrame
    epochs: pd.DataFrame
    learned: Mapping[str, str]


def numbers_of(
    db: Database, family: SentenceFamily, others: Mapping[str, SentenceFamily], published: PublishedSentences
) -> SentenceNumbers:
    """The numbers of a base and its fine-tuned models, and accuracies of the paper's other encoders (``others``)."""
    stands = [others[base] for base in published.stored_encoders(others).values() if base != family.base]
    scored = [_accuracies(db, encoder_family, published) for encoder_family in (family, *stands)]
    there = [table for table in scored if len(table)]
    verdicts = learned(db, family.models).set_index("model")["verdict"]
    return SentenceNumbers(
        family,
        pd.concat(there, ignore_index=True) if there else scored[0],
        **_of_probes(db, family, published),
        **_of_changes(db, family),
        learned={
            objective: verdicts[model]
            for objective, model in family.members.items()
            if model in verdicts.index and objective != CONTROL
        },
    )


def _accuracies(db: Database, family: SentenceFamily, published: PublishedSentences) -> pd.DataFrame:
    """Accuracy of the base's own probes on the paper's tasks: ``ACCURACY_COLUMNS``."""
    own_accuracies = accuracies(db, [family.base], published.tasks, family.protocol)
    return own_accuracies.rename(columns={"accuracy": "value"}).assign(encoder=family.base)[list(ACCURACY_COLUMNS)]


def _of_probes(db: Database, family: SentenceFamily, published: PublishedSentences) -> dict[str, pd.DataFrame]:
    """Field of the numbers -> table, from the probes."""
    objectives = {model: objective for objective, model in family.members.items()}
    tuned = [model for objective, model in family.members.items() if objective in TUNED]
    pairs = stored(db, family.protocol)
    counts = pairs.named(store.pairs(db, pairs.run_ids))
    counts = counts[
        counts["reading"].eq(OWN)
        & counts["with_reading"].eq(OWN)
        & counts["portion"].eq(1)
        & counts["with_portion"].eq(1)
    ]
    counts = counts[
        counts["layer"].eq(counts["with_layer"]) & counts["pooling"].eq(FIRST) & counts["with_pooling"].eq(MEAN)
    ]
    counts = counts[
        counts["model"].isin(tuned) & counts["task"].isin(published.tasks) & counts["with_model"].eq(family.base)
    ]
    ends = [change(counted(row))[1:3] for row in counts.to_dict("records")]
    over = counts[["model", "task", "pooling", "layer"]].join(
        pd.DataFrame(ends, columns=["over_mean_low", "over_mean_high"], index=counts.index).astype("float64")
    )
    changed = changes(db, tuned, published.tasks, family.protocol)
    changed = changed.rename(columns={"change": "value", "control_change": "control", "mean_change": "over_mean"})
    changed = changed.merge(over, on=["model", "task", "pooling", "layer"], how="left")
    changed = changed.assign(encoder=family.base, objective=changed["model"].map(objectives))
    return {
        "changes": changed[list(CHANGE_COLUMNS)],
        "groups": _groups(changed, group_means(db, tuned, published.tasks, family.protocol), family.depth),
    }


def _groups(changed: pd.DataFrame, means: pd.DataFrame, depth: int) -> pd.DataFrame:
    """The changes of the two groups of layers, as ``group_means`` has them, with the means of the layers' ends."""
    groups = [layer_group(int(layer), depth) for layer in changed["layer"]]
    keys = ["model", "task", "pooling", "group"]
    ends = (
        changed.assign(group=pd.Series(groups, index=changed.index, dtype=object))
        .groupby(keys, sort=False)[["low", "high"]]
        .mean()
    )
    table = means.rename(columns={"mean_change": "value", "control_change": "control"}).merge(
        ends.reset_index(), on=keys, how="left"
    )
    return table[list(GROUP_COLUMNS)]


def _of_changes(db: Database, family: SentenceFamily) -> dict[str, pd.DataFrame]:
    """Field of the numbers -> table, from the measures of attention and perplexity."""
    measured, epochs = values(db, family.models, (DISTANCE, ENTROPY)), epoch_perplexities(db, family.models)
    put_back = perplexities(db, family.models).drop(columns=["low", "high"])
    put_back = put_back.rename(columns={"log_change": "value", "change_low": "low", "change_high": "high"})
    objectives = {model: objective for objective, model in family.members.items()}
    tables = {
        "values": (measured, VALUE_COLUMNS),
        "perplexities": (put_back, PERPLEXITY_COLUMNS),
        "epochs": (epochs, EPOCH_COLUMNS),
    }
    return {
        name: table.assign(encoder=family.base, objective=table["model"].map(objectives).fillna(BASE))[list(columns)]
        for name, (table, columns) in tables.items()
    }
