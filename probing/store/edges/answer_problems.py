"""What is wrong with stored predictions for single targets: they must be possible, and give the stored scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.core.edges.encoders import layers_of_kind

#: The smallest probability, in steps of 1/255, with which a label is predicted.
_GIVEN = 128
#: The bits of a pair (``_pairs``) that hold the label.
_LABEL = (1 << 32) - 1


def answer_problem(run: Mapping[str, Any], mine: Mapping[str, pd.DataFrame], of_task: Mapping[str, pd.DataFrame]) -> str | None:
    """The first problem of a run's predictions."""
    for part, answers in mine["edge_predictions"].groupby("part"):
        targets = of_task["edge_targets"]
        targets = targets[targets["part"] == part]
        if problem := _part_problem(run, str(part), answers, targets, of_task["edge_labels"]):
            return problem
        scores = mine["edge_scores"]
        if problem := _other_scores(str(part), answers, targets, scores[scores["part"] == part], of_task["edge_labels"]):
            return problem
    return None


def _part_problem(run: Mapping[str, Any], part: str, answers: pd.DataFrame, targets: pd.DataFrame, labels: pd.DataFrame) -> str | None:
    if strays := sorted(set(answers["target"]) - set(targets["target"])):
        return f"answers to the target {strays[0]} of {part}, which is not stored"
    layers = layers_of_kind(str(run["kind"]), int(run["layers"]) - 1)
    if len(answers) != answers["target"].nunique() * len(layers) or sorted(set(answers["layer"])) != list(layers):
        return f"{len(answers):,} answers on {part}, expected {answers['target'].nunique():,} targets x {len(layers)} layers"
    if (answers.groupby("target")["wrong"].nunique() > 1).any():
        return f"a target of {part} has several best wrong labels, expected one for all layers"
    number = int((labels["n"] > 0).sum())
    numbers = pd.concat([answers["top"], answers["wrong"], answers["predicted"].explode().dropna()])
    if (numbers >= number).any():
        return f"an answer on {part} is the label number {numbers.max()}, the probes have {number}"
    return _impossible(part, answers, targets)


def _impossible(part: str, answers: pd.DataFrame, targets: pd.DataFrame) -> str | None:
    """Probabilities compared with each other, and with the predicted labels."""
    gold = answers["target"].map(targets.set_index("target")["gold"])
    sizes = gold.str.len().to_numpy(), answers["p_gold"].str.len().to_numpy()
    if (sizes[0] != sizes[1]).any():
        return f"answers on {part} have other gold labels than their targets"
    top, wrong, total = (answers[name].to_numpy(dtype=np.int64) for name in ("p_top", "p_wrong", "p_sum"))
    row, label, p = _flat(gold), _members(gold), _members(answers["p_gold"])
    every, best = np.arange(len(answers)), answers["wrong"].to_numpy(dtype=np.int64)
    sums = np.bincount(row, weights=p, minlength=len(answers))
    is_gold = np.isin(every, row[label == best[row]])
    if (p > 255).any() or (p > top[row]).any() or (wrong > top).any() or (sums + np.where(is_gold, 0, wrong) > total).any():
        return f"a probability on {part} is above that of the most probable label, or above the sum of all"
    given = _pairs(_flat(answers["predicted"]), _members(answers["predicted"]))
    for rows, numbers, values in ((row, label, p), (every, best, wrong), (every, answers["top"].to_numpy(dtype=np.int64), top)):
        if (np.isin(_pairs(rows, numbers), given) != (values >= _GIVEN)).any():
            return f"an answer on {part} gives a label with a probability below one half, or does not give one above"
    return None


def _flat(lists: pd.Series) -> NDArray[np.int64]:
    """For every member of the lists the number of its list."""
    return np.repeat(np.arange(len(lists)), lists.str.len().to_numpy(dtype=np.int64))


def _members(lists: pd.Series) -> NDArray[np.int64]:
    """The members of all lists, one after the other."""
    return np.concatenate([np.empty(0), *lists]).astype(np.int64)


def _pairs(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each row and label; labels are below 2^32."""
    return (rows << 32) | numbers


def _other_scores(part: str, answers: pd.DataFrame, targets: pd.DataFrame, scores: pd.DataFrame, labels: pd.DataFrame) -> str | None:
    """The first difference between the predictions' counts and the scores.

    Gold and predicted labels are compared as pairs of row and label, so that no array is as long as the largest number in a file.
    """
    about = answers[["target"]].merge(targets[["target", "seen", "gold"]], on="target", how="left")
    place = answers["layer"].to_numpy(dtype=np.int64) * 2 + about["seen"].to_numpy(dtype=np.int64)
    gold, said = (np.unique(_pairs(_flat(lists), _members(lists))) for lists in (about["gold"], answers["predicted"]))
    trained = scores[scores["label"].isin(labels.loc[labels["n"] > 0, "label"])]
    group = trained["layer"].to_numpy(dtype=np.int64) * 2 + trained["seen"].to_numpy(dtype=np.int64)
    where = _pairs(group, trained["label"].to_numpy(dtype=np.int64))
    hits = np.intersect1d(gold, said, assume_unique=True)
    found = {"tp": hits, "fp": np.setdiff1d(said, hits, assume_unique=True), "fn": np.setdiff1d(gold, hits, assume_unique=True)}
    for name, pairs in found.items():
        expected = _counted(_pairs(place[pairs >> 32], pairs & _LABEL), where)
        wrong = trained[name].to_numpy(dtype=np.int64) != expected
        if wrong.any():
            row = trained[wrong].iloc[0]
            about = f"{name} of label {row['label']} at layer {row['layer']} on {part}"
            return f"{about} is {row[name]:,}, its answers give {expected[wrong][0]:,}"
    return None


def _counted(pairs: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many times each of the wanted pairs occurs."""
    ordered = np.sort(pairs)
    return np.searchsorted(ordered, wanted, side="right") - np.searchsorted(ordered, wanted, side="left")
