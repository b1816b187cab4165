"""From base to fine-tuned model: the facts kept, gained and lost, and the fate of the lost ones."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from probing.facts import store
from probing.facts.forgotten_transitions import FATES, PARTS, Transitions
from probing.facts.runs_runs import PAIR, pair_identities
from probing.facts.store_answer_clusters import sums_of
from probing.facts.store_pairs import layers_stored, one_sided, transition_counts
from probing.facts.store_pairs_pair_queries import answers_no_longer_first
from probing.kernel.stats.equal_confidence import Answers, at_equal_confidence
from probing.kernel.stats.intervals import may_be_shown
from probing.kernel.stats.paired_tests import UNKNOWN, each_interval
from probing.kernel.store.database import Database
from probing.terms import RANKS

_COUNTS = (*PARTS, *FATES)
_SHARES = ("base_value", "value", "difference", "low", "high", "low_answers", "high_answers", "p_value")
_NUMBERS = ("n", "only_base", "only_model", *PARTS, *_SHARES, *FATES)
COLUMNS = (*PAIR, "k", *_NUMBERS)
RELATION_COLUMNS = (*PAIR, "relation", "label", "k", *_NUMBERS)
#: Of the fates at an inner layer: share of the lost facts, share of equally confident wrong answers, and the interval
#: of the difference.
BESIDE = tuple(f"{fate}_{name}" for fate in ("still_inside", "moved") for name in ("share", "wrong", "low", "high"))


def transitions(
    db: Database,
    pairs: pd.DataFrame | Sequence[tuple[str, str]],
    ks: Sequence[int] = RANKS,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Last layer of base against last layer of fine-tuned model, fact by fact, one row per pair and k.

    Fine-tuned runs that store only their last layer, and runs that store only counts, have no row. n: facts that both
    were asked; only_base and only_model: that one was; difference: value - base_value, with Newcombe's interval and
    that with answers drawn again (_answers); p_value: exact McNemar.
    """
    return _table(db, pairs, ks, exposures, answer_in_subject, by_relation=False)


def transitions_beside_wrong(
    db: Database,
    pairs: pd.DataFrame | Sequence[tuple[str, str]],
    ks: Sequence[int] = RANKS,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """``transitions``, and beside the two fates at an inner layer how often equally confident wrong answers have them.

    Such an answer is the base's first at its last layer, wrong, right for another fact of the relation, and no longer
    the fine-tuned model's first at its last layer; its fate is found by first answers as that of a right one. Shares
    are of the lost facts whose relation has wrong answers, too; still_inside_wrong and moved_wrong are expected of
    wrong answers of their relations and confidences; the interval is over pairs of relation and answer. NaN for k > 1,
    and if one side has too few facts.
    """
    table = transitions(db, pairs, ks, exposures, answer_in_subject)
    answers = [
        _beside(answers_no_longer_first(db, row.base_run_id, row.run_id, exposures, answer_in_subject))
        if row.k == 1 and row.lost
        else {}
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
    db: Database,
    pairs: pd.DataFrame | Sequence[tuple[str, str]],
    k: int = 1,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """The same by relation: the columns of ``transitions`` with relation and label. P-values are not adjusted."""
    return _table(db, pairs, (k,), exposures, answer_in_subject, by_relation=True)


def _table(db: Database, pairs, ks: Sequence[int], exposures, answer_in_subject, *, by_relation: bool) -> pd.DataFrame:
    known = pair_identities(db, pairs)
    # A run with only the last layer has no inner layers in which a lost fact could be found: its fates would be wrong.
    stored = layers_stored(db, list(known["run_id"])).set_index("run_id")["n_layers"]
    known = known[known["run_id"].map(stored).fillna(0) > 1].reset_index(drop=True)
    bases, tuned = list(known["base_run_id"]), list(known["run_id"])
    filters = {"exposures": exposures, "answer_in_subject": answer_in_subject}
    groups = ["base_run_id", "run_id", *(["relation"] if by_relation else [])]
    only_base = one_sided(db, bases, tuned, **filters).rename(columns={"first": "base_run_id", "second": "run_id"})
    only_model = one_sided(db, tuned, bases, **filters).rename(columns={"second": "base_run_id", "first": "run_id"})
    one_side = [frame.groupby(groups)["n"].sum().to_dict() for frame in (only_base, only_model)]
    labels = store.relations(db).set_index(["probe_set", "relation"])["label"].to_dict()
    rows = []
    for k in ks:
        table = transition_counts(db, bases, tuned, k, **filters).groupby(groups).sum(numeric_only=True)
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
    frame = pd.DataFrame(rows, columns=list(RELATION_COLUMNS if by_relation else COLUMNS)).astype(
        dict.fromkeys(_SHARES, "float64")
    )
    order = ["model", "head", "seed", "probe_set", "base_run_id", "run_id", *(["relation"] if by_relation else ["k"])]
    return frame.sort_values(order, kind="stable").reset_index(drop=True)


_NOTHING = Transitions(**dict.fromkeys(_COUNTS, 0))


def _numbers(got: Transitions, one_sided: Sequence[int], answers: tuple) -> tuple:
    n, change = got.n, got.difference
    shares = ((got.kept + got.lost) / n, (got.kept + got.gained) / n) if n else (None, None)
    parts, fates = ([getattr(got, name) for name in names] for names in (PARTS, FATES))
    return (n, *one_sided, *parts, *shares, change.value, change.low, change.high, *answers, change.p, *fates)
