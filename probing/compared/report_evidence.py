"""The evidence on one fine-tuned model, layer by layer: facts still known, F1 of edge probes, and all measurements."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from probing.changes.measures import MEASURES
from probing.changes.report import no_change, perplexities, values
from probing.edges.report_curves import EdgeCurve, curves, number
from probing.edges.store import edge_runs
from probing.edges.targets import AT, CUMULATIVE
from probing.facts.report_pairs import paired_by_layer
from probing.facts.runs import pairs
from probing.facts.store_pairs import weight_drift
from probing.kernel.columns import Columns, floats
from probing.kernel.provenance import TRAINED
from probing.kernel.relatives import beside, control_beside, kin, relatives_of, tuned_models
from probing.kernel.report import Read
from probing.kernel.stats.intervals import wilson
from probing.kernel.store.database import Database
from probing.kernel.store.stored import fact_runs, one_run_each
from probing.sentences.examples import OURS, PROTOCOLS
from probing.sentences.report_changes import changes, where_gone
from probing.sentences.store import sentence_runs, sentence_tasks

KEPT_COLUMNS = Columns("model base layer", floats("value low high change"), "n")


def fact_pairs(db: Database) -> pd.DataFrame:
    """Runs of fine-tuned models paired with their base's, both stored fact by fact; see ``facts.runs.pairs``."""
    runs = fact_runs(db)
    return pairs(one_run_each(runs[~runs["counted"].astype(bool)])) if len(runs) else pairs(runs.assign(base=""))


def facts_kept(db: Database, models: Sequence[str], head: str, probe_set: str, k: int) -> pd.DataFrame:
    """The share of the base's known facts that fine-tuned models kept, by layer, with Wilson's interval.

    A layer at which the base knows no fact has no row.
    """
    of_models = fact_pairs(db)
    of_models = of_models[
        of_models["model"].isin(list(models)) & (of_models["head"] == head) & (of_models["probe_set"] == probe_set)
    ]
    rows = []
    for pair in of_models.itertuples():
        for layer in paired_by_layer(db, str(pair.base_run_id), str(pair.run_id), k).itertuples():
            n_kept, known = int(layer.both), int(layer.both + layer.base_only)
            if known:
                rows.append(
                    (
                        pair.model,
                        pair.base,
                        int(layer.layer),
                        n_kept / known,
                        *wilson(n_kept, known),
                        n_kept / known - 1,
                        known,
                    )
                )
    return KEPT_COLUMNS.frame(rows)


#: Kinds of probes in order of preference: probes of one layer first, because the axis is single layers.
KINDS = (AT, CUMULATIVE)
_CHANGE = floats("value low high base_value change change_low change_high")
EDGE_COLUMNS = Columns("model base layer", _CHANGE, "n tasks kind")


def edge_scores(db: Database, bases: dict[str, str], models: Sequence[str], part: str = "test") -> pd.DataFrame:
    """F1 by layer, mean over tasks: probes of single layers if they are stored, else cumulative probes.

    ``bases`` is fine-tuned model -> base. base_value is on the same tasks, the interval of change is over shared
    sentences, n is the number of targets of all tasks.
    """
    runs = edge_runs(db)
    runs = runs[runs["encoder"] == TRAINED]
    probed = [model for model in models if bases.get(model) in set(runs["model"]) and model in set(runs["model"])]
    rows: list[tuple] = []
    if not probed:
        return EDGE_COLUMNS.frame(rows)
    for kind in KINDS:
        there = {*probed, *(bases[model] for model in probed)}
        known = {
            (curve.model, curve.task): curve
            for curve in curves(db, part, kind, models=sorted(there))
            if curve.encoder == TRAINED
        }
        for model in [name for name in probed if name not in {row[0] for row in rows}]:
            both = [
                (known[model, task], known[bases[model], task])
                for name, task in sorted(known)
                if name == model and (bases[model], task) in known
            ]
            rows += _rows(model, bases[model], kind, both)
    return EDGE_COLUMNS.frame(rows)


def _rows(model: str, base: str, kind: str, both: list[tuple[EdgeCurve, EdgeCurve]]) -> list[tuple]:
    both = [(own, other) for own, other in both if np.array_equal(own.layers, other.layers)]
    if not both:
        return []
    layers = both[0][0].layers
    both = [(own, other) for own, other in both if np.array_equal(own.layers, layers)]
    values, of_base = (np.mean([pair[side].values for pair in both], axis=0) for side in (0, 1))
    drawn, base_drawn = (np.mean([pair[side].drawn for pair in both], axis=0) for side in (0, 1))
    targets, tasks = sum(own.targets for own, _ in both), ", ".join(own.task for own, _ in both)
    rows = []
    for place, layer in enumerate(layers):
        own = number(float(values[place]), drawn[:, place])
        change = number(float(values[place] - of_base[place]), drawn[:, place] - base_drawn[:, place])
        ends = (change.value, change.low, change.high)
        rows.append(
            (model, base, int(layer), own.value, own.low, own.high, float(of_base[place]), *ends, targets, tasks, kind)
        )
    return rows


#: Panels; those of sentence probes are named ``PROBE`` followed by the task.
FACTS, EDGES, ENTROPY, DISTANCE, PERPLEXITY, DRIFT, LIKENESS = (
    "facts",
    "edges",
    "entropy",
    "distance",
    "perplexity",
    "drift",
    "likeness",
)
PROBE = "probe:"
#: The line of a panel that has only one.
ONLY = ""
MEASURED = {
    "entropy-first": (ENTROPY, ONLY),
    "emd-first": (DISTANCE, ONLY),
    "cka-mean": (LIKENESS, "cka-mean"),
    "cka-first": (LIKENESS, "cka-first"),
    "same-token-cosine": (LIKENESS, "same-token-cosine"),
}
EVIDENCE_COLUMNS = Columns(
    *("panel line layer", _CHANGE, floats("q control_value control_change seed_low seed_high")),
    "seeds inside_control within_seeds n of",
)


@dataclass(frozen=True)
class FactRuns:
    """The runs that show which facts were kept; a fact is known up to rank ``k``."""

    head: str
    probe_set: str
    k: int = 1


def evidence(db: Database, model: str, facts: FactRuns | None, protocol: str) -> pd.DataFrame:
    """Every value of a fine-tuned model by panel, line and layer, with those of its base, its control and other seeds.

    panel: ``FACTS``, ``EDGES``, ``PROBE`` followed by a task, ``ENTROPY``, ``DISTANCE``, ``PERPLEXITY``, ``DRIFT``,
    ``LIKENESS``. line: of probes the pooling; of likeness the measure; of perplexity the layers that are the base's:
    ``last`` from this one to the last, ``first`` from 1 to this one, ``single``, ``none``. The interval of perplexity
    is that of the difference from the base, paired by block, and its change that of the logarithm; other changes are
    from the base, or from no change. inside_control and within_seeds are explained in ``changes``; of (edge tasks
    averaged) and kind are of edge probes. ``facts`` None leaves them out; unknown values are empty.
    """
    tuned, family = tuned_models(db), kin(db)
    models = relatives_of(family, tuned, model)
    bases = dict(zip(tuned["model"], tuned["base"], strict=True))
    parts = [
        _facts(db, models, facts) if facts else pd.DataFrame(),
        edge_scores(db, bases, models).assign(panel=EDGES, line=ONLY),
        weight_drift(db, models)
        .assign(panel=DRIFT, line=ONLY)
        .rename(columns={"drift": "value"})
        .assign(change=lambda rows: rows["value"]),
    ]
    tables = [_beside(beside(family, part, _keys(part)), model) for part in parts if len(part)]
    tables += [_probes(db, model, protocol), _measured(db, model), _perplexity(db, model)]
    return _table([part for part in tables if len(part)])


def _facts(db: Database, models: list[str], facts: FactRuns) -> pd.DataFrame:
    return facts_kept(db, models, facts.head, facts.probe_set, facts.k).assign(panel=FACTS, line=ONLY)


def _keys(part: pd.DataFrame) -> list[str]:
    # A mean over other tasks is not a valid control.
    return ["layer", *(["tasks", "kind"] if "tasks" in part else [])]


def _beside(table: pd.DataFrame, model: str) -> pd.DataFrame:
    table = table[table["model"] == model]
    if "tasks" in table:
        table = table.assign(of=table["kind"] + ": " + table["tasks"])
    return table


def _probes(db: Database, model: str, protocol: str) -> pd.DataFrame:
    table = changes(db, [model], protocol=protocol).drop(columns=["mean_change"])
    ends = {"change_low": table["low"], "change_high": table["high"]}
    table = table.assign(
        value=table["change"], control_value=table["control_change"], base_value=table["base_accuracy"], **ends
    )
    return table.assign(panel=PROBE + table["task"], line=table["pooling"], n=table["n_test"])


def _measured(db: Database, model: str) -> pd.DataFrame:
    table = values(db, [model], list(MEASURED))
    before = no_change(table)
    return table.assign(
        change=table["value"] - before,
        control_change=table["control_value"] - before,
        panel=table["measure"].map(lambda name: MEASURED[name][0]),
        line=table["measure"].map(lambda name: MEASURED[name][1]),
    )


def _perplexity(db: Database, model: str) -> pd.DataFrame:
    table = perplexities(db, [model])
    table = table[~table["embeddings"].astype(bool)].copy()
    if table.empty:
        return table
    last = max(int(table["n"].max()), 1)
    # Without layers put back, the value is the same at every layer.
    table["layer"] = [list(range(1, last + 1)) if replaced == "none" else None for replaced in table["replaced"]]
    table = table.explode("layer")
    from_top = (last + 1 - table["n"]).where(table["replaced"] == "last", table["n"])
    table["layer"] = table["layer"].fillna(from_top).astype("int64")
    control = table["base_perplexity"] * np.exp(table["control_log_change"].astype("float64"))
    # Differences between blocks do not make the change uncertain, so the intervals are those of the difference from the
    # base.
    ends = {end: table["base_perplexity"] * np.exp(table[f"change_{end}"]) for end in ("low", "high")}
    return table.assign(
        panel=PERPLEXITY,
        line=table["replaced"],
        value=table["perplexity"],
        base_value=table["base_perplexity"],
        n=table["masked"],
        change=table["log_change"],
        control_change=table["control_log_change"],
        control_value=control,
        **ends,
    )


def _table(parts: list[pd.DataFrame]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame(columns=list(EVIDENCE_COLUMNS))
    flags = ["inside_control", "within_seeds"]
    table = pd.concat(
        [EVIDENCE_COLUMNS.frame(part).astype(dict.fromkeys([*flags, "of"], "object")) for part in parts],
        ignore_index=True,
    )
    table = table.assign(**{name: table[name].eq(True) for name in flags}, of=table["of"].fillna(""))
    order = {FACTS: 0, EDGES: 1, ENTROPY: 3, DISTANCE: 4, PERPLEXITY: 5, DRIFT: 6, LIKENESS: 7}
    table["_place"] = table["panel"].map(lambda name: order.get(name, 2))
    ordered = table.sort_values(["_place"], kind="stable").drop(columns="_place").reset_index(drop=True)
    return ordered.astype({"layer": "int64", "seeds": "Int64", "n": "Int64"})


@dataclass(frozen=True)
class TuningPanels:
    """All measurements of one fine-tuned model, for pages and notebooks; ``facts`` is None if no runs show them."""

    read: Read
    model: str
    facts: FactRuns | None

    @cached_property
    def tuned(self) -> pd.DataFrame:
        return self.read(tuned_models)

    @cached_property
    def base(self) -> str:
        """The model that it was fine-tuned from."""
        return str(self.tuned.set_index("model").at[self.model, "base"])

    @cached_property
    def control(self) -> str:
        """The control of the model's base; empty if there is none, or if it is the model itself."""
        return control_beside(self.read(kin), self.model, self.base)

    @cached_property
    def protocol(self) -> str:
        runs = self.read(sentence_runs)
        return next(
            (name for name in PROTOCOLS if name in set(runs.loc[runs["model"] == self.model, "protocol"])), OURS
        )

    @cached_property
    def titles(self) -> dict[str, str]:
        """Task of sentence probes -> title."""
        return dict(self.read(sentence_tasks)[["task", "title"]].itertuples(index=False, name=None))

    @cached_property
    def found(self) -> pd.DataFrame:
        """All measurements of the model."""
        return self.read(evidence, self.model, self.facts, self.protocol)

    @cached_property
    def gone(self) -> pd.DataFrame:
        """The fates of the base's properties."""
        return self.read(where_gone, models=(self.model,), protocol=self.protocol)


assert set(MEASURED) <= set(MEASURES)
