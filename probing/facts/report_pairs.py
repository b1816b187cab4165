"""From base to fine-tuned model: facts kept, gained and lost, their fates, and both models by layer with baselines."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.facts import store
from probing.facts.forgotten import FATES, PARTS, Transitions
from probing.facts.report_layers import by_layer, precision_by_relation
from probing.facts.runs import PAIR, base_of, choose, nothing_common, pair_identities, pairs
from probing.facts.store import sums_of
from probing.facts.store_pairs import (
    answers_no_longer_first,
    layers_stored,
    one_sided,
    paired_facts,
    paired_layers,
    paired_majority,
    transition_counts,
)
from probing.kernel.columns import Columns, floats
from probing.kernel.errors import StoreError
from probing.kernel.fact import EVERY_FACT, Subset
from probing.kernel.metric import RANKS
from probing.kernel.models.names import HEADS, canonical_heads
from probing.kernel.objectives import SHUFFLED
from probing.kernel.options import spelled
from probing.kernel.stats.equal_confidence import Answers, at_equal_confidence
from probing.kernel.stats.intervals import may_be_shown, wilson
from probing.kernel.stats.paired_tests import UNKNOWN, PairedCounts, each_interval, paired_difference
from probing.kernel.store.database import Database
from probing.kernel.store.stored import fact_runs

_COUNTS = (*PARTS, *FATES)
_SHARES = floats("base_value value difference low high low_answers high_answers p_value")
NUMBERS = Columns("n only_base only_model", PARTS, _SHARES, FATES)
TRANSITION_COLUMNS = Columns(PAIR, "k", NUMBERS)
RELATION_COLUMNS = Columns(PAIR, "relation label k", NUMBERS)
#: Of the fates at an inner layer: share of the lost facts, share of equally confident wrong answers, and the interval
#: of the difference.
BESIDE = tuple(f"{fate}_{name}" for fate in ("still_inside", "moved") for name in ("share", "wrong", "low", "high"))


def transitions(
    db: Database,
    pairs: pd.DataFrame | Sequence[tuple[str, str]],
    ks: Sequence[int] = RANKS,
    subset: Subset = EVERY_FACT,
) -> pd.DataFrame:
    """Last layer of base against last layer of fine-tuned model, fact by fact, one row per pair and k.

    Fine-tuned runs that store only their last layer, and runs that store only counts, have no row. n: facts that both
    were asked; only_base and only_model: that one was; difference: value - base_value, with Newcombe's interval and
    that with answers drawn again (_answers); p_value: exact McNemar.
    """
    return _table(db, pairs, ks, subset, by_relation=False)


def transitions_beside_wrong(
    db: Database,
    pairs: pd.DataFrame | Sequence[tuple[str, str]],
    ks: Sequence[int] = RANKS,
    subset: Subset = EVERY_FACT,
) -> pd.DataFrame:
    """``transitions``, and beside the two fates at an inner layer how often equally confident wrong answers have them.

    Such an answer is the base's first at its last layer, wrong, right for another fact of the relation, and no longer
    the fine-tuned model's first at its last layer; its fate is found by first answers as that of a right one. Shares
    are of the lost facts whose relation has wrong answers, too; still_inside_wrong and moved_wrong are expected of
    wrong answers of their relations and confidences; the interval is over pairs of relation and answer. NaN for k > 1,
    and if one side has too few facts.
    """
    table = transitions(db, pairs, ks, subset)
    answers = [
        _beside(answers_no_longer_first(db, row.base_run_id, row.run_id, subset)) if row.k == 1 and row.lost else {}
        for row in table.itertuples()
    ]
    return table.join(pd.DataFrame(answers, index=table.index, columns=list(BESIDE), dtype="float64"))


def _beside(answers: pd.DataFrame) -> dict[str, float]:
    """``BESIDE`` of one pair's answers; empty if one side has too few."""
    right, still, inside = (answers[name].to_numpy(bool) for name in ("right", "still_inside", "inside"))
    relations = pd.factorize(answers["relation"])[0]
    shares: dict[str, float] = {}
    for fate, held in (("still_inside", still), ("moved", inside & ~still)):
        every = Answers(
            held[None], answers["confidence"].to_numpy(float), relations, answers["answer"].to_numpy(np.int64)
        )
        difference = at_equal_confidence(every.of(right), every.of(~right))
        if difference is not None and may_be_shown(min(difference.n, difference.n_yardstick)):
            shares |= {
                f"{fate}_share": difference.share,
                f"{fate}_wrong": difference.yardstick,
                f"{fate}_low": difference.low,
                f"{fate}_high": difference.high,
            }
    return shares


def transitions_by_relation(
    db: Database, pairs: pd.DataFrame | Sequence[tuple[str, str]], k: int = 1, subset: Subset = EVERY_FACT
) -> pd.DataFrame:
    """The same by relation: the columns of ``transitions`` with relation and label. P-values are not adjusted."""
    return _table(db, pairs, (k,), subset, by_relation=True)


def _table(db: Database, pairs, ks: Sequence[int], subset: Subset, *, by_relation: bool) -> pd.DataFrame:
    known = pair_identities(db, pairs)
    # A run with only the last layer has no inner layers in which a lost fact could be found: its fates would be wrong.
    stored = layers_stored(db, list(known["run_id"])).set_index("run_id")["n_layers"]
    known = known[known["run_id"].map(stored).fillna(0) > 1].reset_index(drop=True)
    bases, tuned = list(known["base_run_id"]), list(known["run_id"])
    groups = ["base_run_id", "run_id", *(["relation"] if by_relation else [])]
    only_base = one_sided(db, bases, tuned, subset).rename(columns={"first": "base_run_id", "second": "run_id"})
    only_model = one_sided(db, tuned, bases, subset).rename(columns={"second": "base_run_id", "first": "run_id"})
    one_side = [frame.groupby(groups)["n"].sum().to_dict() for frame in (only_base, only_model)]
    labels = store.relations(db).set_index(["probe_set", "relation"])["label"].to_dict()
    rows = []
    for k in ks:
        table = transition_counts(db, bases, tuned, k, subset).groupby(groups).sum(numeric_only=True)
        counts = {
            key: Transitions(**{name: int(n) for name, n in row.items()})
            for key, row in table[[*_COUNTS]].to_dict("index").items()
        }
        ends = each_interval(sums_of(table, "more"), -1, "within" if by_relation else "overall")
        answers = dict(zip(table.index, zip(*ends, strict=True), strict=True))
        for pair in known.itertuples(index=False):
            own = (pair.base_run_id, pair.run_id)
            for key in [key for key in counts if key[:2] == own] if by_relation else [own]:
                sides = [int(side.get(key, 0)) for side in one_side]
                name = [key[-1], labels[pair.probe_set, key[-1]]] if by_relation else []
                rows.append(
                    (*pair, *name, int(k), *_numbers(counts.get(key, _NOTHING), sides, answers.get(key, UNKNOWN)))
                )
    frame = (RELATION_COLUMNS if by_relation else TRANSITION_COLUMNS).frame(rows)
    order = ["model", "head", "seed", "probe_set", "base_run_id", "run_id", *(["relation"] if by_relation else ["k"])]
    return frame.sort_values(order, kind="stable").reset_index(drop=True)


_NOTHING = Transitions(**dict.fromkeys(_COUNTS, 0))


def _numbers(got: Transitions, one_sided: Sequence[int], answers: tuple) -> tuple:
    n, change = got.n, got.difference
    shares = ((got.kept + got.lost) / n, (got.kept + got.gained) / n) if n else (None, None)
    parts, fates = ([getattr(got, name) for name in names] for names in (PARTS, FATES))
    return (n, *one_sided, *parts, *shares, change.value, change.low, change.high, *answers, change.p, *fates)


#: Columns of each fact, see ``facts.store_pairs.paired_facts``.
_OF_FACT = Columns(
    "part relation subject object base_rank rank base_answer answer fate prompt base_probability probability",
    "base_answer_probability answer_probability fact_id",
)
FACT_COLUMNS = Columns(PAIR, "k", _OF_FACT)


def listed_facts(
    db: Database,
    pairs_of_runs: pd.DataFrame | Sequence[tuple[str, str]],
    ks: Sequence[int] = (1,),
    parts: Sequence[str] = PARTS,
) -> pd.DataFrame:
    """The facts that both runs of each pair were asked, by outcome at the last layer, as counted by ``transitions``."""
    tables = [
        paired_facts(db, pair.base_run_id, pair.run_id, k, parts).assign(**pair._asdict(), k=int(k))
        for pair in pair_identities(db, pairs_of_runs).itertuples(index=False)
        for k in ks
    ]
    return (
        pd.concat(tables, ignore_index=True)[list(FACT_COLUMNS)] if tables else pd.DataFrame(columns=list(FACT_COLUMNS))
    )


def named_pairs(
    db: Database,
    model: str,
    base: str | None = None,
    heads: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    templates: str = "default",
) -> pd.DataFrame:
    """The runs of a model with those of the model that it is compared with (None: its base), as ``facts.runs.pairs``.

    ``heads`` None takes the first of ``HEADS`` by which single facts of both models are stored. Refused with a
    ``StoreError`` if the model has no base, the two have no such runs, or only counts of one are stored.
    """
    runs, heads = choose(db, templates=templates), canonical_heads(heads)
    model_runs = runs[runs["model"] == model]
    other = base or base_of(model_runs.iloc[0])
    if not other:
        raise StoreError(f"{model} has no stored base; name the model to compare with ({spelled('base')})")
    model_pairs = pairs(runs[runs["model"].isin([model, other])], (other,))
    model_pairs = model_pairs[model_pairs["model"] == model]
    for column, values in (("head", heads), ("probe_set", probe_sets)):
        model_pairs = model_pairs if values is None else model_pairs[model_pairs[column].isin(list(values))]
    if model_pairs.empty:
        raise StoreError(nothing_common(runs, model, other))
    by_fact = pair_identities(db, model_pairs)
    if heads is None and len(by_fact):
        by_fact = by_fact[by_fact["head"] == min(by_fact["head"], key=HEADS.index)]
    if by_fact.empty:
        raise StoreError(
            f"{model} and {other} cannot be compared fact by fact, because only counts of one are stored; probe it"
            " again with: python -m probing probe"
        )
    return by_fact


_PAIRED_COLUMNS = Columns(
    "layer n both base_only model_only neither",
    floats(
        "base_value base_low base_high value low high difference difference_low difference_high difference_low_answers",
        "difference_high_answers more_low_answers more_high_answers p_value",
    ),
)


def paired_by_layer(db: Database, base_run: str, run: str, k: int, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """P@k of two runs and its paired difference at every layer that both have; micro, because facts are paired.

    Intervals of shares are Wilson's, of the difference (the run's share minus the base's) Newcombe's, and with
    ``_answers`` those if answers are drawn again, too; more: the same of the difference of both minus the swapped
    subject; p_value: exact McNemar.
    """
    counted = paired_layers(db, base_run, run, k, subset)
    rows = []
    answers = [
        answer_ends
        for value in ("more", "above_more")
        for answer_ends in each_interval(sums_of(counted, value), -1, "overall")
    ]
    for row, ends in zip(counted.itertuples(), zip(*answers, strict=True), strict=True):
        both, base_only, model_only, neither = (
            int(value) for value in (row.both, row.first_only, row.second_only, row.neither)
        )
        got = paired_difference(PairedCounts(both, model_only, base_only, neither))
        ours = [(hits / row.n, *wilson(hits, row.n)) for hits in (both + base_only, both + model_only)]
        change = (got.value, got.low, got.high, *ends, got.p)
        rows.append((int(row.layer), int(row.n), both, base_only, model_only, neither, *ours[0], *ours[1], *change))
    return _PAIRED_COLUMNS.frame(rows)


#: A base that knows fewer facts of a relation is no measure of what was lost of it: such relations come last.
FEWEST = 30
LOSS_COLUMNS = ("relation", "label", "n", "kept", "lost", "gained", "base_value", "value", "share_lost")


def relation_losses(db: Database, pairs: pd.DataFrame, k: int = 1, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Relations of one pair, by the share of the base's known facts that was lost.

    Where only counts are stored, ``share_lost`` is that of the net loss and ``kept, lost, gained`` are empty.
    """
    table = transitions_by_relation(db, pairs, k, subset)
    if len(table):
        known = table["kept"] + table["lost"]
        table["share_lost"] = (table["lost"] / known.where(known > 0)).astype(float)
    else:
        table = _net(db, pairs, k, subset)
        known = (table["base_value"] * table["n"]).round()
    enough = (known >= FEWEST).rename("enough")
    order = pd.DataFrame({"enough": enough, "share": table["share_lost"], "known": known}).sort_values(
        ["enough", "share", "known"], ascending=False, kind="stable"
    )
    return table.loc[order.index, [*LOSS_COLUMNS, *(name for name in table if name not in LOSS_COLUMNS)]].reset_index(
        drop=True
    )


def _net(db: Database, pairs: pd.DataFrame, k: int, subset: Subset) -> pd.DataFrame:
    """The last layers of both runs by relation, of counts."""
    pair = pairs.iloc[0]
    points = precision_by_relation(db, [pair["base_run_id"], pair["run_id"]], k, subset)
    last = points[points["layer"] == points.groupby("run_id")["layer"].transform("max")]
    base, model = (last[last["run_id"] == pair[name]].set_index("relation") for name in ("base_run_id", "run_id"))
    both = (
        model[["label", "n", "value"]]
        .join(base[["value"]].rename(columns={"value": "base_value"}), how="inner")
        .reset_index()
    )
    share = ((both["base_value"] - both["value"]) / both["base_value"].where(both["base_value"] > 0)).astype(float)
    return both.assign(share_lost=share, kept=float("nan"), lost=float("nan"), gained=float("nan"))


ENDS = ("", "_low", "_high")
#: The ends if answers are drawn again, too.
ANSWER_ENDS = ("_low_answers", "_high_answers")
#: Columns of each run; those of the base begin with "base_".
_OF_RUN = ("swapped_n", "matched", "swapped", *(f"above_swapped{end}" for end in (*ENDS, *ANSWER_ENDS)))


#: What a run has in common with those that it is a yardstick of.
_ALIKE = ("base", "head", "probe_set", "template_set", "role")
#: Middle of the columns on other models of the same base and objective, and what they are the ends of.
_SPREAD = {"": "value", "_swapped": "above_swapped"}


def paired_with_yardsticks(db: Database, base_run: str, run: str, k: int, subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """``paired_by_layer`` with its yardsticks; micro.

    Majority answers (P@1 only) are on the facts in common. Swapped subjects are each run's own, on all its facts that
    have one: a run may store only their counts, which cannot be paired with another run fact by fact. They are named as
    in ``report_layers.by_layer``, with ``base_`` before them for the base. more: above_swapped minus the base's, how
    much more the run gains from the subject; its ends combine the two intervals as for independent shares (Newcombe),
    so rather too wide; the ends with ``_answers`` are paired fact by fact. shuffled: of the control with shuffled
    labels of the run's model, on all its facts. again: smallest and largest share of the other models of the same base
    and objective that were asked in the same way.
    """
    table = paired_by_layer(db, base_run, run, k, subset)
    n, hits = paired_majority(db, base_run, run, subset)
    table["majority"] = hits / n if n and k == 1 else float("nan")
    control, again = _trained_alike(db, run)
    compared = tuple(dict.fromkeys((base_run, run, *([control] if control else ()), *again)))
    points = by_layer(db, compared, f"p_at_{k}", "micro", subset)
    for prefix, run_id in (("base_", base_run), ("", run)):
        for value, end in zip(("value", "low", "high"), ENDS, strict=True):
            table[f"{prefix}above_majority{end}"] = table[f"{prefix}{value}"] - table["majority"]
        run_points = points.loc[points["run_id"] == run_id, ["layer", *_OF_RUN]]
        table = table.merge(
            run_points.rename(columns={name: f"{prefix}{name}" for name in _OF_RUN}), on="layer", how="left"
        )
    own, base = ([table[f"{prefix}above_swapped{end}"] for end in ENDS] for prefix in ("", "base_"))
    table["more"], table["more_low"], table["more_high"] = joined(own, base)
    named = {"value": "shuffled", "above_swapped": "shuffled_above_swapped"}
    shuffled = points.loc[points["run_id"] == control, ["layer", *named]]
    table = table.merge(shuffled.rename(columns=named), on="layer", how="left")
    others = points[points["run_id"].isin(again)].groupby("layer", as_index=False)
    ends = {
        f"again{name}_{end}": (of, end_of)
        for name, of in _SPREAD.items()
        for end, end_of in (("low", "min"), ("high", "max"))
    }
    return table.merge(others.agg(**ends), on="layer", how="left").assign(again_n=len(again))


def _trained_alike(db: Database, run: str) -> tuple[str | None, list[str]]:
    """The runs, asked in the same way, of models that were trained like this run's: of its control with shuffled
    labels, None if there is none; and of other models of the same base and objective.
    """
    known = fact_runs(db).set_index("run_id")
    own_run = known.loc[run]
    alike = known[(known[list(_ALIKE)] == own_run[list(_ALIKE)]).all(axis=1) & known["model"].ne(own_run["model"])]
    control = alike[alike["objective"].eq(f"{own_run['objective']}{SHUFFLED}")].sort_values("model").index
    again = alike[alike["objective"].eq(own_run["objective"])].index if own_run["base"] else ()
    return next(iter(control), None), sorted(again)


def joined(first: Sequence[Any], second: Sequence[Any]) -> tuple[Any, Any, Any]:
    """First minus second, with the combined interval for independent shares (Newcombe 1998, method 10 without
    correlation).

    Each is value, lower and upper end, as numbers or row by row.
    """
    (value, low, high), (base, base_low, base_high) = first, second
    more = value - base
    return more, more - np.hypot(value - low, base_high - base), more + np.hypot(high - value, base - base_low)
