"""The runs on facts."""

import json

from probing.core.facts.fact import PROBE_SETS
from probing.core.knowledge.run import RunConfig
from probing.store.kinds import FACTS as NAME
from probing.store.kinds import Card, Kind
from probing.store.knowledge.counting import count_facts
from probing.store.rules import knowledge as rules
from probing.store.run_queries import runs
from probing.store.tables import knowledge as tables


def _left_out(run: dict) -> str:
    return (
        ", ".join(f"{count:,} {reason}" for reason, count in sorted(json.loads(run["left_out"] or "{}").items()))
        or "none"
    )


FACTS = Kind(
    NAME,
    RunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    listed=runs,
    command="probe",
    title="runs",
    names=r"[^/\\\0]*",
    counts=count_facts,
    counted_from=("predictions", "facts", "vocabulary", "exposure"),
    needs=("layer_counts", "total_counts"),
    line=(
        "{head:<13} {probe_set:<12} {template_set:<10} read {n_read:,} = probed {n_probed:,} + left out"
        " ({left_out}){only}"
    ),
    card=Card(
        title="What every layer of {name} predicts",
        about=(
            "Every layer was probed with each fact as a cloze; a row has the rank of the right answer and the best"
            " tokens."
        ),
        tags=("masked-language-modelling", "factual-knowledge"),
        first=("predictions",),
        of_runs=(
            " of `runs`. Duplicate facts, and facts whose answer is not one token of the vocabulary, are left out and"
            " counted by reason."
        ),
        columns={
            "facts": lambda run: PROBE_SETS.get(run["probe_set"], run["probe_set"]),
            "templates": "template_set",
            "head": "head",
            "seed": "seed",
            "facts read": lambda run: f"{run['n_read']:,}",
            "probed": lambda run: f"{run['n_probed']:,}",
            "left out": _left_out,
            "layers": "layers",
            "best tokens kept": "top_k",
        },
        described="predictions",
        size=lambda run: run["n_probed"] * run["layers"],
    ),
)
