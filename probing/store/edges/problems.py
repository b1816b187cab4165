"""What is wrong with stored edge probing: every problem in words, none repaired."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from probing.core.edges.encoders import CONTROL, CUMULATIVE, ENCODERS, KINDS, LABELS, layers_of_kind, layers_read
from probing.core.provenance import stored_configuration
from probing.store.edges.answer_problems import answer_problem
from probing.store.edges.tables import EDGE_KEYS, EDGE_SCHEMAS
from probing.store.edges.task_problems import task_problems

_AGAIN = "delete its files and run `edges train` again"
#: What both a row and its configuration state.
_CONFIGURED = ("model", "task", "kind", "encoder", "labels", "seed")
#: How far a sum of weights may lie from 1.
_ROUNDING = 1e-6


def edge_problems(tables: Mapping[str, pa.Table]) -> list[str]:
    """Problems of tasks and runs.

    Args:
        tables: table -> its rows; of rows with one key the first counts. Tables that are not there are empty.
    """
    frames = {name: _frame(name, tables.get(name)) for name in EDGE_SCHEMAS}
    problems = list(task_problems(frames))
    runs = frames["edge_runs"]
    for name in ("edge_scores", "edge_mix", "edge_codes", "edge_training", "edge_predictions"):
        strays = sorted(set(frames[name]["run_id"]) - set(runs["run_id"]))
        problems += [f"run {run_id}: has rows of {name} but no row in any edge_runs file; run `edges train` again" for run_id in strays]
    of_run = {name: dict(iter(frame.groupby("run_id"))) for name, frame in frames.items() if "run_id" in frame and name != "edge_runs"}
    for run in runs.to_dict("records"):
        mine = {name: found.get(run["run_id"], frames[name].iloc[:0]) for name, found in of_run.items()}
        of_task = {name: frame[frame["task"] == run["task"]] for name, frame in frames.items() if name in _OF_TASK}
        problems += [f"run {run['run_id']}: {problem}; {_AGAIN}" for problem in _run_problems(run, mine, of_task)]
    return problems


_OF_TASK = ("edge_tasks", "edge_labels", "edge_sentences", "edge_targets")
_Frames = Mapping[str, pd.DataFrame]


def _frame(name: str, table: pa.Table | None) -> pd.DataFrame:
    found = EDGE_SCHEMAS[name].empty_table() if table is None else table
    return found.to_pandas().drop_duplicates(list(EDGE_KEYS[name]), ignore_index=True)


def _run_problems(run: dict[str, Any], mine: _Frames, of_task: _Frames) -> Iterator[str]:
    """What is wrong in the row of a run, then the first problem of each of its tables."""
    if problem := _row_problem(run):
        yield problem
        return
    if not (of_task["edge_labels"]["n"] > 0).any() or of_task["edge_tasks"].empty:
        yield f"no labels or no parts of its task {run['task']} are stored"
        return
    wanted = list(layers_of_kind(run["kind"], int(run["layers"]) - 1))
    for name in ("edge_scores", "edge_mix", "edge_training", *(["edge_codes"] * bool(run["codes"]))):
        if (found := sorted(set(mine[name]["layer"]))) != wanted:
            yield f"{name} has the layers {found}, expected {wanted}"
            return
    checks: tuple[Callable[[dict, _Frames, _Frames], str | None], ...] = (
        _score_problem, _mix_problem, _code_problem, _training_problem, answer_problem,
    )  # fmt: skip
    for check in checks:
        if problem := check(run, mine, of_task):
            yield problem


def _row_problem(run: dict[str, Any]) -> str | None:
    for name, known in (("kind", KINDS), ("encoder", ENCODERS), ("labels", LABELS)):
        if run[name] not in known:
            return f"its {name} is {run[name]!r}, expected one of {', '.join(known)}"
    if not int(run["layers"]):
        return "it has no layer"
    said = stored_configuration(run["config"])
    for name in _CONFIGURED:
        if name in said and said[name] != run[name]:
            return f"its row says {name} {run[name]!r}, its configuration {said[name]!r}"
    if left_out(run) is None:
        return f"left_out is not JSON of part -> reason -> count: {run['left_out']!r}"
    return None


def left_out(run: dict[str, Any]) -> dict[str, int] | None:
    """Part -> how many of its targets were left out; None if the run's row is malformed."""
    try:
        content = json.loads(run["left_out"] or "{}")
        return {part: sum(map(int, reasons.values())) for part, reasons in content.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _score_problem(run: dict[str, Any], mine: _Frames, of_task: _Frames) -> str | None:
    """Scores: the same targets and gold labels at every layer, and those that are stored."""
    scores, labels = mine["edge_scores"].copy(), of_task["edge_labels"]
    counts = scores[["tp", "fp", "fn", "tn"]].astype(np.int64)
    scores["gold"], scores["all"] = counts["tp"] + counts["fn"], counts.sum(axis=1)
    if strange := sorted(set(scores["label"]) - set(labels["label"])):
        return f"scores of the label number {strange[0]}, which its task does not have"
    trained = scores[scores["label"].isin(labels.loc[labels["n"] > 0, "label"])]
    for (part, _), group in trained.groupby(["part", "seen"]):
        if group["all"].nunique() > 1:
            return f"scores of {part} are of {group['all'].min():,} to {group['all'].max():,} targets, expected one number"
    ends = scores.groupby(["part", "label", "layer"])["gold"].sum().groupby(["part", "label"]).agg(["min", "max"])
    for (part, label), (least, most) in ends[ends["min"] < ends["max"]].iterrows():
        return f"tp + fn of label {label} on {part} are {least:,} to {most:,}, expected one number at every layer"
    return None if run["labels"] == CONTROL else _gold_problem(run, scores, mine["edge_predictions"], of_task)


def _gold_problem(run: dict[str, Any], scores: pd.DataFrame, answers: pd.DataFrame, of_task: _Frames) -> str | None:
    """tp + fn must be the stored gold labels of the probed targets."""
    targets, labels = of_task["edge_targets"], of_task["edge_labels"]
    unseen = labels.loc[labels["n"] == 0, "label"]
    for part, stored in targets.groupby("part"):
        asked = answers.loc[answers["part"] == part, "target"]
        if len(asked):
            stored = stored[stored["target"].isin(asked)]
        elif (left_out(run) or {}).get(str(part)):
            continue
        gold = stored.explode("gold").groupby("gold").size().to_dict() | {label: int(stored["unknown_gold"].sum()) for label in unseen}
        first = scores[(scores["part"] == part) & (scores["layer"] == scores["layer"].min())]
        for label, found in first.groupby("label")["gold"].sum().items():
            if found != gold.get(label, 0):
                return f"tp + fn of label {label} on {part} is {found:,}, but {gold.get(label, 0):,} targets have it"
    return None


def _mix_problem(run: dict[str, Any], mine: _Frames, of_task: _Frames) -> str | None:
    """Weights are at least 0 and sum to 1, and a probe mixes its own layers only."""
    mix = mine["edge_mix"]
    for layer, group in mix.groupby("layer"):
        weights, read = group["weight"].to_numpy(), group["of_layer"].isin(layers_read(run["kind"], int(str(layer))))
        if not (np.isfinite(weights).all() and (weights >= 0).all() and abs(weights.sum() - 1) <= _ROUNDING):
            return f"the weights of the probe of layer {layer} are {weights.tolist()}, expected shares that sum to 1"
        if (weights[~read.to_numpy()] != 0).any():
            which = "above it" if run["kind"] == CUMULATIVE else "of other layers"
            return f"the probe of layer {layer} has weights {which}, expected 0"
    return None


def _code_problem(run: dict[str, Any], mine: _Frames, of_task: _Frames) -> str | None:
    codes = mine["edge_codes"]
    portions = codes.groupby("layer")["portion"].apply(lambda one: sorted(one) == list(range(len(one))))
    if len(codes) and not portions.all():
        return f"the code of layer {portions.index[~portions][0]} lacks a portion"
    by_portion = codes.groupby("portion")[["targets", "uniform"]].nunique()
    return "portions of the code differ in size from layer to layer" if (by_portion > 1).any(axis=None) else None


def _training_problem(run: dict[str, Any], mine: _Frames, of_task: _Frames) -> str | None:
    training = mine["edge_training"]
    late = training[training["best_step"] > training["steps"]]
    return f"the best step of layer {late['layer'].iloc[0]} comes after the last one" if len(late) else None
