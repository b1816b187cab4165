"""What is wrong with the stored data of tasks of edge probing."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from probing.core.edges.target import OWN, PARTS

_PARTS = (*PARTS, OWN)


def task_problems(frames: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """The first problem of each table of each task."""
    tasks = sorted(set().union(*(frames[name]["task"] for name in _TABLES)))
    for task in tasks:
        mine = {name: frames[name][frames[name]["task"] == task] for name in _TABLES}
        for problem in (_parts(mine["edge_tasks"]), _labels(mine["edge_labels"]), _targets(mine), _sentences(mine), _baselines(mine)):
            if problem:
                yield f"task {task}: {problem}; delete its edge_*-{task}.parquet files and run `edges train` again"


_TABLES = ("edge_tasks", "edge_labels", "edge_sentences", "edge_targets", "edge_baselines")


def _parts(parts: pd.DataFrame) -> str | None:
    if parts.empty:
        return "no part of its data is stored in edge_tasks"
    if strange := sorted(set(parts["part"]) - set(_PARTS)):
        return f"it has the part {strange[0]!r}, expected one of {', '.join(_PARTS)}"
    for row in parts.to_dict("records"):
        if row["spans"] not in (1, 2):
            return f"its targets have {row['spans']} spans, expected 1 or 2"
        try:
            sum(map(int, json.loads(row["dropped"]).values()))
        except (ValueError, TypeError, AttributeError, RecursionError):
            return f"dropped of {row['part']} is not JSON of reason -> count: {row['dropped']!r}"
    return None


def _labels(labels: pd.DataFrame) -> str | None:
    if sorted(labels["label"]) != list(range(len(labels))):
        return f"its labels have the numbers {sorted(labels['label'])[:5]}..., expected 0 to {len(labels) - 1}"
    if labels["name"].duplicated().any():
        return f"two labels are called {labels.loc[labels['name'].duplicated(), 'name'].iloc[0]!r}"
    return None


def _targets(mine: Mapping[str, pd.DataFrame]) -> str | None:
    targets, labels = mine["edge_targets"], mine["edge_labels"]
    if targets.empty:
        return None
    trained = set(labels.loc[labels["n"] > 0, "label"])
    for column in ("gold", "memory"):
        numbers = targets[column].explode().dropna()
        if strange := sorted(set(numbers) - trained):
            return f"a target has the {column} label number {strange[0]}, which no training target has"
        if (most := int(targets[column].str.len().max())) > len(trained):
            return f"a target has {most:,} {column} labels, its task has {len(trained):,}"
    known = set(mine["edge_sentences"][["part", "sentence"]].itertuples(index=False, name=None))
    if strays := sorted(set(targets[["part", "sentence"]].itertuples(index=False, name=None)) - known):
        return f"a target is of sentence {strays[0][1]} of {strays[0][0]}, which is not stored"
    empty = (targets["end1"] <= targets["start1"]) | (targets["end2"] <= targets["start2"])
    if empty.any() or (targets["start2"].isna() != targets["end2"].isna()).any():
        return "a target has a span that ends before it begins, or half a span"
    spans = set(mine["edge_tasks"]["spans"])
    if spans != {1 + int(one) for one in targets["start2"].notna().unique()}:
        return f"some targets have other than {sorted(spans)} spans"
    return _counted(mine)


def _counted(mine: Mapping[str, pd.DataFrame]) -> str | None:
    """Numbers of stored targets, and of their labels that training does not have, by part."""
    stored = mine["edge_targets"].groupby("part")["unknown_gold"].agg(["size", "sum"])
    said: dict[str, dict[str, Any]] = mine["edge_tasks"].set_index("part")[["targets", "unseen_labels"]].to_dict("index")
    for part, (number, unseen) in stored.astype("int64").iterrows():
        numbers = said.get(str(part), {"targets": 0, "unseen_labels": 0})
        if number > numbers["targets"]:
            return f"{number:,} targets of {part} are stored, edge_tasks says {numbers['targets']:,}"
        if unseen > numbers["unseen_labels"]:
            return (
                f"targets of {part} have {unseen:,} labels that training lacks (unknown_gold), edge_tasks says {numbers['unseen_labels']:,}"
            )
    return None


def _sentences(mine: Mapping[str, pd.DataFrame]) -> str | None:
    sentences = mine["edge_sentences"]
    wrong = ~sentences["text_sha256"].str.fullmatch("[0-9a-f]{64}")
    if wrong.any():
        return f"{sentences.loc[wrong, 'text_sha256'].iloc[0]!r} is no sha256 of a sentence"
    open_ones = sentences.dropna(subset=["text"])
    renamed = open_ones["text"].map(lambda text: hashlib.sha256(text.encode()).hexdigest()) != open_ones["text_sha256"]
    if renamed.any():
        return f"sentence {open_ones.loc[renamed, 'sentence'].iloc[0]} has another text than its sha256 says"
    lengths = open_ones.assign(words=open_ones["text"].str.split(" ").str.len())[["part", "sentence", "words"]]
    spans = mine["edge_targets"].merge(lengths, on=["part", "sentence"])
    beyond = spans[(spans["end1"] > spans["words"]) | (spans["end2"] > spans["words"])]
    return f"a span of target {beyond['target'].iloc[0]} of {beyond['part'].iloc[0]} ends beyond its sentence" if len(beyond) else None


def _baselines(mine: Mapping[str, pd.DataFrame]) -> str | None:
    """All baselines are of the same gold labels."""
    found = mine["edge_baselines"]
    if strange := sorted(set(found["label"]) - set(mine["edge_labels"]["label"])):
        return f"a baseline has the label number {strange[0]}, which is not stored"
    gold = found.assign(gold=found["tp"].astype("int64") + found["fn"]).groupby(["part", "seen", "label"])["gold"].nunique()
    return "its baselines are of different gold labels" if (gold > 1).any() else None
