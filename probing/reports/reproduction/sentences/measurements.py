"""The numbers of one stored base and its fine-tuned models, on which claims on sentence-level probing are judged."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from probing.core.sentences import numbers
from probing.core.sentences.example import FIRST, MEAN, OWN
from probing.core.sentences.published import PublishedSentences
from probing.core.tasks.objectives import CONTROL
from probing.core.tasks.task_success import amount
from probing.reports.changes.measures import values
from probing.reports.changes.perplexity import epoch_perplexities, perplexities
from probing.reports.reproduction.findings import BASE
from probing.reports.reproduction.sentences.claims_inside import DISTANCE, ENTROPY
from probing.reports.reproduction.sentences.evidence import (
    ACCURACY_COLUMNS,
    CHANGE_COLUMNS,
    EPOCH_COLUMNS,
    FATE_COLUMNS,
    GROUP_COLUMNS,
    LARGER_COLUMNS,
    PERPLEXITY_COLUMNS,
    POOLING_COLUMNS,
    TASKS,
    TUNED,
    VALUE_COLUMNS,
    InterplayEvidence,
)
from probing.reports.reproduction.sentences.families import SentenceFamily
from probing.reports.sentences.accuracy import accuracies
from probing.reports.sentences.accuracy_changes import changes, group_means, upper_against_lower
from probing.reports.sentences.property_places import where_gone
from probing.reports.sentences.runs import counted, stored
from probing.reports.task_success import learned
from probing.store.database import Database
from probing.store.sentences import queries

#: The measure that Figure 2 draws in addition to the changes of entropy.
ENTROPY_OF_MODEL = "entropy-first"


def evidence_of(
    db: Database, family: SentenceFamily, others: Mapping[str, SentenceFamily], published: PublishedSentences
) -> InterplayEvidence:
    """The numbers of a base and its fine-tuned models, and of the paper's encoders that are stored, for claims that compare encoders.

    Args:
        db: the database.
        family: the family that is judged.
        others: base -> all families that are stored.
        published: the paper's encoders.
    """
    stand = published.stored_encoders(others)
    families = [family, *(others[base] for base in stand.values() if base != family.base)]
    scored = {one.base: _scores(db, one) for one in families}
    tables = [_of_probes(db, one, scored[one.base]) | _of_changes(db, one) for one in families]
    verdicts: dict[tuple[str, str], str] = {}
    said: dict[tuple[str, str], str] = {}
    for one in families:
        for objective, row in _learned(db, one).items():
            verdicts[one.base, objective] = str(row["verdict"])
            if pd.notna(row["value"]):
                said[one.base, objective] = _score(row)
    return InterplayEvidence(
        (family.base,),
        {one.base: one.depth for one in families},
        stand,
        **{name: _joined([one[name] for one in tables]) for name in tables[0]},
        models={base: int(table["model"].nunique()) for base, table in scored.items()},
        probes={base: len(table) for base, table in scored.items()},
        learned=verdicts,
        scores=said,
    )


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    there = [one for one in tables if len(one)]
    return pd.concat(there, ignore_index=True) if there else tables[0]


def _learned(db: Database, family: SentenceFamily) -> dict[str, pd.Series]:
    """Objective -> the verdict on its model with the deciding score, see ``reports.task_success``."""
    verdicts = learned(db, family.models).set_index("model")
    return {one: verdicts.loc[model] for one, model in family.members.items() if model in verdicts.index and one != CONTROL}


def _score(row: pd.Series) -> str:
    """ "Matthews correlation 0.000, no correlation 0.000", "task accuracy 64.1 per cent, majority label 50.9"."""
    metric = row["metric"]
    beaten = f", {row['baseline_name']} {amount(metric, row['baseline'], '')}" if pd.notna(row["baseline"]) else ""
    return f"{metric} {amount(metric, row['value'], ' per cent')}{beaten}"


def _scores(db: Database, family: SentenceFamily) -> pd.DataFrame:
    """Accuracy of the own probes of the base and of its models on the paper's tasks."""
    models = [family.base, *(model for objective, model in family.members.items() if objective in TUNED)]
    return accuracies(db, models, TASKS, family.protocol)


def _of_probes(db: Database, family: SentenceFamily, scored: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Field of the evidence -> table, from the probes."""
    objectives = {model: objective for objective, model in family.members.items()}
    base = scored[scored["model"] == family.base].rename(columns={"accuracy": "value"}).assign(encoder=family.base)
    tuned = [model for objective, model in family.members.items() if objective in TUNED]
    pairs = stored(db, family.protocol)
    counts = pairs.named(queries.pairs(db, pairs.run_ids))
    counts = counts[counts["reading"].eq(OWN) & counts["with_reading"].eq(OWN) & counts["portion"].eq(1) & counts["with_portion"].eq(1)]
    counts = counts[counts["layer"].eq(counts["with_layer"]) & counts["pooling"].eq(FIRST) & counts["with_pooling"].eq(MEAN)]
    counts = counts[counts["task"].isin(TASKS) & counts["with_model"].eq(family.base)]
    changed = changes(db, tuned, TASKS, family.protocol).rename(columns={"change": "value", "control_change": "control"})
    over = _tested(counts[counts["model"].isin(tuned)])[["model", "task", "pooling", "layer", "low", "high"]]
    over = over.rename(columns={"low": "over_mean_low", "high": "over_mean_high"})
    changed = changed.rename(columns={"mean_change": "over_mean", "mean_q": "over_mean_q"})
    changed = changed.merge(over, on=["model", "task", "pooling", "layer"], how="left").assign(encoder=family.base)
    gone = where_gone(db, tuned, family.protocol, TASKS)
    gone = gone[gone["fate"].ne("")].assign(encoder=family.base)
    poolings = _tested(counts[counts["model"].eq(family.base)]).assign(encoder=family.base)
    # The stored pair is the first token minus the mean.
    poolings = poolings.assign(value=-poolings["value"], low=-poolings["high"], high=-poolings["low"])
    larger = upper_against_lower(db, tuned, TASKS, family.protocol)
    return {
        "accuracies": base[list(ACCURACY_COLUMNS)],
        "poolings": poolings[list(POOLING_COLUMNS)],
        "changes": changed.assign(objective=changed["model"].map(objectives))[list(CHANGE_COLUMNS)],
        "groups": _groups(changed, group_means(db, tuned, TASKS, family.protocol), family),
        "larger": larger.assign(encoder=family.base, objective=larger["model"].map(objectives))[list(LARGER_COLUMNS)],
        "fates": gone.groupby(list(FATE_COLUMNS[:-1]), sort=False).size().rename("cells").reset_index()[list(FATE_COLUMNS)],
    }


def _tested(pairs: pd.DataFrame) -> pd.DataFrame:
    """Pairs with the difference of the two accuracies and Newcombe's interval."""
    rows = [numbers.change(counted(row))[:3] for row in pairs.to_dict("records")]
    return pairs.join(pd.DataFrame(rows, columns=["value", "low", "high"], index=pairs.index).astype("float64"))


def _groups(changed: pd.DataFrame, means: pd.DataFrame, family: SentenceFamily) -> pd.DataFrame:
    """The changes of the two groups of layers, as ``group_means`` has them, with the means of the layers' ends."""
    groups = [numbers.layer_group(int(layer), family.depth) for layer in changed["layer"]]
    keys = ["model", "task", "pooling", "group"]
    ends = changed.assign(group=pd.Series(groups, index=changed.index, dtype=object)).groupby(keys, sort=False)[["low", "high"]].mean()
    table = means.rename(columns={"mean_change": "value", "control_change": "control"}).merge(ends.reset_index(), on=keys, how="left")
    return table.assign(encoder=family.base)[list(GROUP_COLUMNS)]


def _of_changes(db: Database, family: SentenceFamily) -> dict[str, pd.DataFrame]:
    """Field of the evidence -> table, from the measures of attention and perplexity."""
    measured = values(db, family.models, (ENTROPY, DISTANCE, ENTROPY_OF_MODEL))
    put_back, epochs = perplexities(db, family.models), epoch_perplexities(db, family.models)
    put_back = put_back.rename(columns={"perplexity": "_perplexity"}).drop(columns=["low", "high"])
    put_back = put_back.rename(columns={"_perplexity": "perplexity", "log_change": "value", "change_low": "low", "change_high": "high"})
    start = epochs[epochs["epoch"].eq(0)].set_index("model")["perplexity"]
    epochs = epochs.assign(log_change=np.log(epochs["perplexity"] / epochs["model"].map(start)))
    measured = measured.drop(columns="base").rename(columns={"base_value": "base", "control_value": "control"})
    objectives = {model: objective for objective, model in family.members.items()}
    tables = {"values": (measured, VALUE_COLUMNS), "perplexities": (put_back, PERPLEXITY_COLUMNS), "epochs": (epochs, EPOCH_COLUMNS)}
    return {
        name: table.assign(encoder=family.base, objective=table["model"].map(objectives).fillna(BASE))[list(columns)]
        for name, (table, columns) in tables.items()
    }
