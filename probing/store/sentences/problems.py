"""What is wrong with stored sentence-level probing: every problem in words, none repaired."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from probing.core.provenance import stored_configuration
from probing.core.sentences.example import ALIGNED, FROZEN, LEFT_OUT, MLP, OWN, POOLINGS, PROTOCOLS, READINGS, RESCALED
from probing.core.sentences.pairs import Cell, changed_pairs
from probing.store.sentences.data_problems import data_problems
from probing.store.sentences.tables import SENTENCE_KEYS, SENTENCE_SCHEMAS

_AGAIN = "delete its files and run `sentences train` again"
#: What both a row and its configuration state.
_CONFIGURED = ("model", "task", "protocol", "seed")
_CELL = ["pooling", "layer", "reading", "portion"]
_COUNTS = ["both", "only_this", "only_other", "neither"]
_OF_RUN = ("sentence_scores", "sentence_pairs", "sentence_predictions")
_Frames = Mapping[str, pd.DataFrame]
_Scores = dict[Cell, dict[str, int]]


def sentence_problems(tables: Mapping[str, pa.Table]) -> list[str]:
    """Problems of tasks and runs.

    Args:
        tables: table -> its rows; of rows with one key the first counts. Tables that are not there are empty.
    """
    frames = {name: _frame(name, tables.get(name)) for name in SENTENCE_SCHEMAS}
    problems = list(data_problems(frames))
    runs = frames["sentence_runs"]
    for name in _OF_RUN:
        strays = sorted(set(frames[name]["run_id"]) - set(runs["run_id"]))
        unrowed = f"has rows of {name} but no row in any sentence_runs file; run `sentences train` again"
        problems += [f"run {run_id}: {unrowed}" for run_id in strays]
    of_run = {name: dict(iter(frames[name].groupby("run_id"))) for name in _OF_RUN}
    every = {
        run["run_id"]: _Run(run, {name: found.get(run["run_id"], frames[name].iloc[:0]) for name, found in of_run.items()}, frames)
        for run in runs.to_dict("records")
    }
    bases = {(one.row["model"], one.row["task"], one.row["protocol"], one.data): one for one in every.values()}
    for run_id, run in every.items():
        base = bases.get((run.base, run.row["task"], run.row["protocol"], run.data))
        problems += [f"run {run_id}: {problem}; {_AGAIN}" for problem in run.problems(base)]
    return problems


def _frame(name: str, table: pa.Table | None) -> pd.DataFrame:
    found = SENTENCE_SCHEMAS[name].empty_table() if table is None else table
    frame = found.to_pandas().drop_duplicates(list(SENTENCE_KEYS[name]), ignore_index=True)
    # The value of pandas for an empty text is true.
    return frame.fillna({"base": "", "left_out": ""}) if name == "sentence_runs" else frame


class _Run:
    """A run with its rows, and those of its task."""

    def __init__(self, row: dict[str, Any], mine: _Frames, frames: _Frames):
        def of_task(name: str) -> pd.DataFrame:
            found = frames[name]
            return found[(found["task"] == row["task"]) & (found["protocol"] == row["protocol"])]

        self.row, self.mine = row, mine
        self.task, self.gold = of_task("sentence_tasks"), of_task("sentence_examples").sort_values("place")["label"].to_numpy()
        self.data = stored_configuration(row["config"]).get("data")
        self.scores: _Scores = {_cell(one): one for one in mine["sentence_scores"].to_dict("records")}
        self.right = {
            _cell(one): np.asarray(one["predicted"]) == self.gold
            for one in mine["sentence_predictions"].to_dict("records")
            if len(one["predicted"]) == len(self.gold)
        }

    @property
    def base(self) -> str:
        """Name of the base; empty for a base."""
        return "" if self.row["base"] == self.row["model"] else self.row["base"]

    def problems(self, base: "_Run | None") -> Iterator[str]:
        """What is wrong in the row, then the first problem of each table."""
        if problem := self._row_problem():
            yield problem
            return
        for problem in (self._score_problem(), self._answer_problem(), self._pair_problem(base)):
            if problem:
                yield problem

    def _row_problem(self) -> str | None:
        row = self.row
        if row["protocol"] not in PROTOCOLS:
            return f"its protocol is {row['protocol']!r}, expected one of {', '.join(PROTOCOLS)}"
        if self.task.empty:
            return f"no row of sentence_tasks describes its task {row['task']} by protocol {row['protocol']}"
        said = stored_configuration(row["config"])
        for name in _CONFIGURED:
            if name in said and said[name] != row[name]:
                return f"its row says {name} {row[name]!r}, its configuration {said[name]!r}"
        task = self.task.iloc[0]
        if self.data is not None and self.data != task["sha256"]:
            return f"it is of the data {str(self.data)[:12]}, those of its task {row['task']} are {task['sha256'][:12]}"
        left_out = _left_out(row["left_out"])
        if left_out is None:
            return f"left_out is not JSON of part -> reason -> number: {row['left_out']!r}"
        if row["n_test"] + left_out.get("test", 0) != task["n_test"]:
            got = f"it was tested on {row['n_test']:,} sentences and left {left_out.get('test', 0):,} out"
            return f"{got}, its task {row['task']} has {task['n_test']:,}"
        return None

    def _score_problem(self) -> str | None:
        if not self.scores:
            return "it has no scores"
        task, layers = self.task.iloc[0], list(range(int(self.row["layers"])))
        by_kind: dict[tuple[str, str, int], list[int]] = {}
        for cell, one in self.scores.items():
            if cell.pooling not in POOLINGS or cell.reading not in READINGS:
                return f"a score is of the pooling {cell.pooling!r} and reading {cell.reading!r}; expected {POOLINGS} and {READINGS}"
            if cell.reading in (FROZEN, RESCALED, ALIGNED) and not self.base:
                return f"it has {cell.reading} probes, which only a fine-tuned model has"
            if one["n_test"] != self.row["n_test"]:
                return f"{_said(cell)} was tested on {one['n_test']:,} sentences, the run on {self.row['n_test']:,}"
            if not (one["n_train"] and one["n_test"]):
                return f"{_said(cell)} was trained on {one['n_train']:,} and tested on {one['n_test']:,} sentences, expected some"
            if one["right"] > one["n_test"] or one["dev_right"] > one["n_dev"]:
                return f"{_said(cell)} has more sentences right than there are"
            if one["n_dev"] > task["n_dev"] or one["n_train"] > task["n_train"]:
                return f"{_said(cell)} saw more sentences of train or dev than its task has"
            by_kind.setdefault((cell.pooling, cell.reading, cell.portion), []).append(cell.layer)
        for (pooling, reading, portion), found in by_kind.items():
            if sorted(found) != layers and not (reading == MLP and set(found) <= set(layers)):
                return f"{reading} probes ({pooling}, portion {portion}) have scores of the layers {sorted(found)}, expected {layers}"
        return None

    def _answer_problem(self) -> str | None:
        rows, labels = self.mine["sentence_predictions"], len(self.task.iloc[0]["labels"])
        if rows.empty:
            return None
        answered = {_cell(one) for one in rows.to_dict("records")}
        kinds = {(cell.pooling, cell.reading, cell.portion) for cell in answered}
        if odd := sorted(answered ^ {cell for cell in self.scores if (cell.pooling, cell.reading, cell.portion) in kinds}):
            return f"{_said(odd[0])} has {'answers but no score' if odd[0] in answered else 'a score but no answers'}"
        for one in rows.to_dict("records"):
            cell, said = _cell(one), np.asarray(one["predicted"])
            if len(said) != len(self.gold):
                return f"{_said(cell)} has {len(said):,} answers, expected {len(self.gold):,}"
            given = said[said != LEFT_OUT]
            if len(given) and given.max() >= labels:
                return f"{_said(cell)} answers the label number {given.max()}, the task has {labels} labels"
            if len(given) != self.row["n_test"]:
                return f"{_said(cell)} has {len(given):,} answers, the run was tested on {self.row['n_test']:,} sentences"
            if (found := int(self.right[cell].sum())) != (right := self.scores[cell]["right"]):
                return f"{_said(cell)} has {found:,} answers right, its score says {right:,}"
        return None

    def _pair_problem(self, base: "_Run | None") -> str | None:
        """Counts of pairs: they sum up, they are of scored probes, and they are those of the predictions if both have some."""
        there = set()
        for one in self.mine["sentence_pairs"].to_dict("records"):
            this, other = _cell(one), _cell({name: one[f"with_{name}"] for name in _CELL})
            there.add((this, one["with_model"], other))
            if problem := self._counts_problem(one, this, other, base):
                return f"the pair of {_said(this)} with {_said(other)} of {one['with_model']} {problem}"
        if not self.base or base is None:
            return None
        dev, of_base = ({cell: score["dev_right"] for cell, score in run.scores.items()} for run in (self, base))
        # Earlier versions stored other pairs for fates; what a fate lacks leaves it empty.
        missing = [(pair.this, pair.with_model, pair.other) for pair in changed_pairs(self.row["model"], dev, self.base, of_base)]
        lacking = sorted(set(missing) - there)
        return f"no pair compares {_said(lacking[0][0])} with {_said(lacking[0][2])} of {lacking[0][1]}" if lacking else None

    def _counts_problem(self, one: dict[str, Any], this: Cell, other: Cell, base: "_Run | None") -> str | None:
        both, only_this, only_other, neither = (int(one[name]) for name in _COUNTS)
        if one["with_model"] not in (self.row["model"], self.base):
            return "is of a model that is neither the run's nor its base"
        if both + only_this + only_other + neither != self.row["n_test"]:
            return f"is of {both + only_this + only_other + neither:,} sentences, the run was tested on {self.row['n_test']:,}"
        if this not in self.scores:
            return "is of a probe that has no score"
        if both + only_this != self.scores[this]["right"]:
            return f"says {both + only_this:,} right, the score {self.scores[this]['right']:,}"
        beside = self if one["with_model"] == self.row["model"] else base
        known = beside.scores.get(other) if beside and beside.row["n_test"] == self.row["n_test"] else None
        if known and both + only_other != known["right"]:
            return f"says {both + only_other:,} right of the second, its score {known['right']:,}"
        # A fine-tuned model's run asks no sentence that its base cannot take.
        if beside is None or this not in self.right or other not in beside.right or len(beside.gold) != len(self.gold):
            return None
        first = self.mine["sentence_predictions"]["predicted"].iloc[0]
        asked = np.asarray(first) != LEFT_OUT
        mine, theirs = self.right[this][asked], beside.right[other][asked]
        counted = [int(one.sum()) for one in (mine & theirs, mine & ~theirs, ~mine & theirs, ~mine & ~theirs)]
        if counted != [both, only_this, only_other, neither]:
            return f"says {[both, only_this, only_other, neither]}, the answers {counted} (both, only the first, only the second, neither)"
        return None


def _left_out(text: str | None) -> dict[str, int] | None:
    """Part -> how many sentences were left out; None if the row is malformed."""
    try:
        return {part: sum(map(int, reasons.values())) for part, reasons in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _cell(row: Mapping[str, Any]) -> Cell:
    return Cell(str(row["pooling"]), int(row["layer"]), str(row["reading"]), int(row["portion"]))


def _said(cell: Cell) -> str:
    portion = "" if cell.portion == 1 else f", 1/{cell.portion} of the sentences"
    kind = "own" if cell.reading == OWN else cell.reading
    return f"the {kind} probe of layer {cell.layer} ({cell.pooling}{portion})"
