"""The tables of a shipped model's card about what was made from it: fine-tuned models, probes, what changed and what
comes back.
"""

import math
from collections.abc import Callable, Iterator

import pandas as pd

from data.making import layer_drop
from probing.changes.report import perplexities, values
from probing.edges.report_summary import summary
from probing.edges.tasks import EDGE_TASKS
from probing.facts import forgotten as facts
from probing.facts.report_layers import precision, total
from probing.facts.report_pairs import transitions_beside_wrong
from probing.facts.runs import pairs
from probing.facts.store_pairs import weight_drift
from probing.forgetting.memory import NEVER_IN_TEXT as NEVER_HAD
from probing.forgetting.memory import WRONG, YARDSTICKS
from probing.forgetting.report_outcome import by_chance, in_words, memory, outcome, stored_runs, usual, ways
from probing.forgetting.report_savings import savings
from probing.forgetting.report_series import prevention
from probing.forgetting.savings import SAVED, means
from probing.forgetting.ways import OUTCOMES, called
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.store.database import Database
from probing.kernel.store.stored import fact_runs
from probing.kernel.success_report import scores
from probing.sentences.examples import POOLINGS
from probing.sentences.numbers import FATES
from probing.sentences.report_accuracy import accuracies
from probing.sentences.report_changes import group_means, where_gone_shares
from probing.sentences.tasks import SENTENCE_TASKS

#: Tasks that a model of this size can be probed for at all.
_READ = ("bigram-shift", "coordination-inversion")
#: The yardsticks, and how they are compared.
COMPARED = [f"{name}, equal confidence" if name in (WRONG, NEVER_HAD) else name for name in YARDSTICKS]
_CHANGES = ("entropy-change-first", "emd-first", "cka-first", "cka-mean")


def family_lines(db: Database, base: str) -> Iterator[str]:
    """The tables of a base's family as Markdown, each under its heading with the command that has more."""
    for title, command, table in _TABLES:
        lines = table(db, base)
        if len(lines) > 2:
            yield f"#### {title}\n"
            yield f"`python -m probing {command}`\n"
            yield from lines
            yield ""


def _short(model: str, base: str) -> str:
    return "base" if model == base else model.removeprefix(f"{base}-")


def _table(*columns: str) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _points(value: float, low: float, high: float, digits: int = 1) -> str:
    """A share with its interval, in per cent or points."""
    value, low, high = (round(100 * one, digits) + 0.0 for one in (value, low, high))
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _own_tasks(db: Database, base: str) -> list[str]:
    found = scores(db)
    found = found[(found["base"] == base) & found["value"].notna()]
    lines = _table("model", "metric", "value (95 %)", "to beat", "n", "verdict")
    for row in found.itertuples():
        beat = "" if pd.isna(row.baseline) else f"{100 * row.baseline:.1f} {row.baseline_name}"
        value = _points(row.value, row.low, row.high) if pd.notna(row.low) else f"{100 * row.value:.1f}"
        lines.append(
            _row(_short(row.model, base), row.metric, value, beat, f"{row.n:,}", row.verdict if row.decides else "")
        )
    return lines


def _facts(db: Database, base: str) -> pd.DataFrame:
    """The family's primary runs on T-REx by the logit lens."""
    found = fact_runs(db)
    ours = (found["model"] == base) | (found["base"] == base)
    one = (found["head"] == LOGIT_LENS) & (found["probe_set"] == "trex") & (found["role"] == "primary")
    return found[ours & one & (found["template_set"] == "default")]


def _forgotten(db: Database, base: str) -> list[str]:
    """P@1 with its yardsticks at the last layer and at three quarters of the depth, with and without the facts' own
    subjects.
    """
    found = _facts(db, base)
    table = precision(db, list(found["run_id"]), (1,))
    lines = _table(
        "model",
        "P@1, last layer (95 %)",
        "majority",
        "swapped subject",
        "own minus swapped, last layer",
        "three quarters",
        "half",
    )
    for model, rows in table.groupby("model", sort=False):
        by_layer = rows.drop_duplicates("layer").set_index("layer")
        depth = int(by_layer.index.max())
        last = by_layer.loc[depth]
        cells = [
            _points(
                *(by_layer.loc[layer, name] for name in ("above_swapped", "above_swapped_low", "above_swapped_high"))
            )
            for layer in (depth, depth * 3 // 4, depth // 2)
        ]
        value = _points(last["value"], last["low"], last["high"])
        lines.append(
            _row(
                _short(str(model), base), value, f"{100 * last['majority']:.1f}", f"{100 * last['swapped']:.1f}", *cells
            )
        )
    return lines


def _fates(db: Database, base: str) -> list[str]:
    """The fates of the single facts that the base knew, of the models whose predictions ship."""
    inside = ("still first, per cent (equally confident wrong answers)", "moved, per cent (the same)")
    lines = _table("model", "known before", "kept", "gained", *map(facts.outcome_words, facts.FATES), *inside)
    for row in transitions_beside_wrong(db, pairs(_facts(db, base), None), (1,)).to_dict("records"):
        counts = (row["kept"] + row["lost"], row["kept"], row["gained"], *(row[fate] for fate in facts.FATES))
        shares = (f"{100 * row[f'{fate}_share']:.1f} ({100 * row[f'{fate}_wrong']:.1f})" for fate in facts.FATES[:2])
        lines.append(_row(_short(row["model"], base), *(f"{int(one):,}" for one in counts), *shares))
    return lines


def _union(db: Database, base: str) -> list[str]:
    """The union over layers and its null: facts that the last layer misses with both subjects."""
    table = total(db, list(_facts(db, base)["run_id"]), (1,), ("macro",))
    lines = _table(
        "model", "last layer", "any layer", "missed with both subjects", "of these inside: own", "swapped", "p"
    )
    for row in table.itertuples():
        p = "< 0.0001" if row.inner_p < 0.0001 else f"{row.inner_p:.2g}"
        numbers = (f"{int(one):,}" for one in (row.inner_n, row.inner_own, row.inner_swapped))
        lines.append(
            _row(_short(row.model, base), f"{100 * row.last_layer:.1f}", f"{100 * row.total:.1f}", *numbers, p)
        )
    return lines


def _drift(db: Database, base: str) -> list[str]:
    models = [model for model in _facts(db, base)["model"] if model != base]
    found = weight_drift(db, models)
    if found.empty:
        return []
    wide = found.pivot_table(index="model", columns="layer", values="drift", sort=False)
    lines = _table("model", *(f"layer {layer}" for layer in wide.columns))
    return lines + [
        _row(_short(str(model), base), *(f"{100 * one:.1f}" for one in row)) for model, row in wide.iterrows()
    ]


def recovered(db: Database, base: str, planted: bool = False) -> pd.DataFrame:
    """The runs that asked the family for lost facts of T-REx; the base of a control with planted facts is called after
    the base.
    """
    found = stored_runs(db, None, ("trex",), (1,), planted)
    return found[found["base"].str.startswith(base)]


def outcomes(db: Database, base: str) -> list[str]:
    """Of 100 facts that the base knew, what became of them, by model; why no layers were put back stands in the place
    of their share.
    """
    lines = _table("model", "known by the base", *OUTCOMES)
    for model, rows in outcome(db, recovered(db, base)).groupby("model", sort=False):
        cells = (one.note or f"{one.per_100:.1f}" for one in rows.itertuples())
        lines.append(_row(_short(str(model), base), f"{rows['known'].iloc[0]:,}", *cells))
    return lines


def _memory(db: Database, base: str) -> list[str]:
    """The test of memory in the words of command and page."""
    lines = _table(
        "model",
        "way",
        "seeds",
        "stated facts",
        "that the text never had",
        "at equal confidence, stated minus never had",
    )
    found = memory(db, recovered(db, base, planted=True))
    for row in found.itertuples():
        counts = (row.seeds, f"{row.n:,}", f"{row.n_never_had:,}")
        lines.append(_row(_short(row.model, base), called(row.way, row.protocol), *counts, in_words(row)))
    return [by_chance(found), "", *lines] if len(found) else lines


def _savings(db: Database, base: str) -> list[str]:
    """Answers that were taught again and counterfeits: per cent that are first, mean over all looks."""
    lines = _table(
        "model", "answers", "taught", "counterfeits", "difference (95 %)", "have a counterfeit", "would be seen"
    )
    found = savings(db, probe_sets=("trex",), ks=(1,))
    for row in means(found[found["base"].str.startswith(base)]).itertuples():
        taught, other, seen = (f"{100 * one:.1f}" for one in (row.taught, row.counterfeit, row.detectable))
        cells = (taught, other, _points(row.difference, row.low, row.high), f"{row.able:,} of {row.answers:,}", seen)
        lines.append(_row(_short(row.model, base), SAVED[row.asked], *cells))
    return lines


def _ways_back(db: Database, base: str) -> list[str]:
    """Each way by itself, next to every yardstick; the share is that of the facts that are compared with it."""
    lines = _table("model", "way", *COMPARED)
    for (model, way), rows in usual(ways(db, recovered(db, base))).groupby(["model", "way"], sort=False):
        there = rows.set_index("yardstick")
        cells = (against(there.loc[name]) if name in there.index else "" for name in YARDSTICKS)
        lines.append(_row(_short(str(model), base), way, *cells))
    return lines


def against(row: pd.Series) -> str:
    """The share of lost facts against that of a yardstick, and their difference: a row of the report ``ways``."""
    shares = (
        f"{100 * row['share']:.1f} (n {row['n']:,}) against {100 * row['yardstick_share']:.1f} (n"
        f" {row['n_yardstick']:,})"
    )
    return f"{shares}: {_points(row['difference'], row['low'], row['high'])}"


def _prevented(db: Database, base: str) -> list[str]:
    """Recipes of one fine-tuning, seed by seed alike, and the control: means with the smallest and the largest seed."""
    found = prevention(db, probe_sets=("trex",))
    lines = _table(
        "training",
        "recipe",
        "steps",
        "seeds",
        "metric",
        "score",
        "kept, own minus swapped, per cent",
        "another has as much of both",
    )
    for row in found[found["base"] == base].itertuples():
        ends = (
            (row.score, row.score_low, row.score_high),
            tuple(100 * one for one in (row.kept, row.kept_low, row.kept_high)),
        )
        score, kept = (
            f"{one:.{digits}f}" + (f" ({low:.{digits}f} to {high:.{digits}f})" if row.seeds > 1 else "")
            for digits, (one, low, high) in zip((3, 1), ends, strict=True)
        )
        cells = (f"{row.steps:,}", row.seeds, row.metric, score, kept, "yes" if row.dominated else "")
        lines.append(_row("control" if row.control else row.objective, row.protection, *cells))
    return lines


def _edges(db: Database, base: str) -> list[str]:
    columns = (
        "task",
        "seeds",
        "P(0)",
        "P(L)",
        "gain (95 %)",
        "memory",
        "random encoder",
        "unseen: P(L) / random",
        "expected layer",
    )
    lines = _table(*columns)
    found = {
        unseen: summary(db, parts=("dev",), unseen=unseen).set_index(["model", "encoder", "task"])
        for unseen in (False, True)
    }
    for task in EDGE_TASKS:
        key = (base, "trained", task)
        if key not in found[False].index:
            continue
        row, unseen = found[False].loc[key], found[True].loc[key]
        if pd.isna(row["expected_layer"]):
            place = "not resolved"
        else:
            place = f"{row['expected_layer']:.1f} ({row['expected_layer_low']:.1f} to {row['expected_layer_high']:.1f})"
        shares = (_share(row[name]) for name in ("f1_first", "f1_last"))
        floors = (_share(row[name]) for name in ("memory", "random"))
        rare = f"{_share(unseen['f1_last'])} / {_share(unseen['random'])}"
        gain = _points(row["gain"], row["gain_low"], row["gain_high"])
        lines.append(_row(EDGE_TASKS[task].title.lower(), int(row["seeds"]), *shares, gain, *floors, rare, place))
    return lines


def _share(value: float) -> str:
    return "n/a" if pd.isna(value) else f"{100 * value:.1f}"


def _tuned_edges(db: Database, base: str) -> list[str]:
    lines = _table("task", "model", "P(L) (95 %)")
    found = summary(db, parts=("dev",))
    found = found[found["encoder"] == "trained"]
    several = found.groupby("task")["model"].transform("nunique") > 1
    for row in found[several].sort_values(["task", "f1_last"], ascending=[True, False]).itertuples():
        value = _points(row.f1_last, row.f1_last_low, row.f1_last_high)
        lines.append(_row(EDGE_TASKS[row.task].title.lower(), _short(row.model, base), value))
    return lines


def _sentences(db: Database, base: str) -> list[str]:
    """The layer chosen on the development part, by pooling."""
    lines = _table("task", "test sentences", "majority", "surface", *POOLINGS)
    for task, rows in accuracies(db, models=[base]).groupby("task", sort=False):
        best = []
        for pooling in POOLINGS:
            one = rows[rows["pooling"] == pooling].sort_values(["dev_right", "layer"], ascending=[False, True]).iloc[0]
            best.append(f"{_points(one['accuracy'], one['low'], one['high'])}, layer {one['layer']}")
        first = rows.iloc[0]
        floors = (f"{first['n_test']:,}", f"{100 * first['majority']:.1f}", f"{100 * first['surface']:.1f}")
        lines.append(_row(SENTENCE_TASKS[str(task)].title.lower(), *floors, *best))
    return lines


def _changed_sentences(db: Database, base: str) -> list[str]:
    """Mean change of own probes in points: lower layers, upper layers, and the spread of the latter over seeds."""
    found = group_means(db).set_index(["model", "task", "pooling", "group"])
    lines = _table(
        "model", *(f"{SENTENCE_TASKS[task].title.lower()}, {pooling}" for task in _READ for pooling in POOLINGS)
    )
    for model in found.index.get_level_values("model").unique():
        cells = []
        for task in _READ:
            for pooling in POOLINGS:
                lower, upper = (found.loc[(model, task, pooling, group)] for group in ("lower", "upper"))
                spread = (
                    f" ({100 * upper['seed_low']:.1f} to {100 * upper['seed_high']:.1f})" if upper["seeds"] > 1 else ""
                )
                cells.append(f"{100 * lower['mean_change']:.1f}, {100 * upper['mean_change']:.1f}{spread}")
        lines.append(_row(_short(str(model), base), *cells))
    return lines


def _fates_of_properties(db: Database, base: str) -> list[str]:
    lines = _table("model", "places", *FATES)
    for model, rows in where_gone_shares(db).groupby("model", sort=False):
        cells = rows.set_index("fate")["cells"]
        lines.append(_row(_short(str(model), base), rows["of"].iloc[0], *(cells[fate] for fate in FATES)))
    return lines


def _states(db: Database, base: str) -> list[str]:
    measured = values(db, measures=list(_CHANGES))
    last = measured["layer"].max()
    measured = measured[measured["layer"] == last].set_index(["model", "measure"])["value"]
    asked = perplexities(db)
    lines = _table(
        "model", "masked-LM perplexity (95 %)", "entropy, nats", "distance, tokens", "CKA, first token", "CKA, mean"
    )
    for model, one in asked[asked["replaced"] == "none"].set_index("model").iterrows():
        numbers = (measured.get((model, name)) for name in _CHANGES)
        cells = ("" if number is None else f"{number:.2f}" for number in numbers)
        lines.append(
            _row(
                _short(str(model), base), f"{one['perplexity']:,.0f} ({one['low']:,.0f} to {one['high']:,.0f})", *cells
            )
        )
    return lines


def _with_and_without_layer_drop(db: Database, base: str) -> list[str]:
    """The findings of small bases of the same seeds, and whether they are of the recipe."""
    rows = layer_drop.rows(base)
    seeds = ", ".join(map(str, layer_drop.seeds_of(rows)))
    needed = len(layer_drop.SEEDS)
    # Of the ways to deal six values out to two kinds, two keep the kinds apart.
    by_all = f"by all {needed} seeds (by chance 1 in {math.comb(2 * needed, needed) // 2})"
    lines = _table("finding", f"with LayerDrop, by seed ({seeds})", "without", by_all)
    for name, *of, said in layer_drop.compared(rows):
        # Layers and steps are whole.
        digits = int(any(one % 1 for values in of for one in values))
        lines.append(_row(name, *(", ".join(f"{one:,.{digits}f}" for one in values) for values in of), said))
    return lines


#: Title, the command with all numbers, and the function that makes the table.
_TABLES: tuple[tuple[str, str, Callable[[Database, str], list[str]]], ...] = (
    ("What they do on their own task", "report tasks", _own_tasks),
    ("P@1 on T-REx in per cent, macro, logit lens", "report precision --head logit_lens --probe-set trex", _forgotten),
    (
        "The facts that the base knows at its last layer, T-REx",
        "report transitions --head logit_lens --probe-set trex",
        _fates,
    ),
    (
        "A union over layers grows by chance: P@1 on T-REx, macro",
        "report total --head logit_lens --probe-set trex",
        _union,
    ),
    ("How far the weights moved, in per cent by layer", "model-card --family", _drift),
    ("Outcomes of 100 facts that the base knew, T-REx", "forgetting report outcome", outcomes),
    (
        "The test of memory: lost facts of T-REx that the text states, and right answers that it never had",
        "forgetting report memory",
        _memory,
    ),
    (
        "Savings: answers of T-REx that were taught again beside counterfeits, per cent first, difference in points",
        "forgetting report savings",
        _savings,
    ),
    (
        "Lost facts that come back next to each yardstick, T-REx: per cent, difference in points",
        "forgetting report ways",
        _ways_back,
    ),
    ("What prevents forgetting, T-REx", "series report prevention", _prevented),
    ("Edge probing: micro F1 in per cent on development data", "edges report summary", _edges),
    ("Edge probing after fine-tuning", "edges report summary", _tuned_edges),
    ("Whole sentences: accuracy in per cent", "sentences report accuracy", _sentences),
    (
        "What fine-tuning changed in them, in points: lower and upper layers",
        "sentences report groups",
        _changed_sentences,
    ),
    ("Where a property is read after fine-tuning", "sentences report where-gone", _fates_of_properties),
    ("Perplexity, attention and states at the last layer", "changes report perplexity", _states),
    ("With and without LayerDrop", "family --layer-drop", _with_and_without_layer_drop),
)
