"""What became of the facts that a base knew: kept, come back by a way next to its yardsticks, or not."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from probing.forgetting import store
from probing.forgetting.memory import (
    LOST,
    NEVER_IN_TEXT,
    NEVER_KNOWN,
    NOTHING,
    WRONG,
    describe,
    detectable,
    verdict,
)
from probing.forgetting.store import counted, excesses, forgetting_runs
from probing.forgetting.ways import (
    ANY,
    AS_IN_BASE,
    BACK,
    BY_ANY,
    FITTED_HEAD,
    GAINED,
    KEPT,
    LAYERS_BACK,
    LOST_OUTCOMES,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    OUTCOMES,
    RANDOM_BODY,
    RELEARNED,
    USUAL_STEPS,
    WAYS,
    usual_level,
    usual_protocol,
)
from probing.kernel.columns import Columns
from probing.kernel.objectives import CONTROL
from probing.kernel.provenance import stored_configuration
from probing.kernel.relatives import named
from probing.kernel.stats.equal_confidence import Answers, at_equal_confidence, paired
from probing.kernel.stats.intervals import whole_shares
from probing.kernel.store.database import Database

KEYS = ("model", "base", "probe_set", "k")


def stored_runs(
    db: Database,
    models: Sequence[str] | None = None,
    probe_sets: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    planted: bool = False,
    lessons: bool = False,
    among: Collection[str] | None = None,
) -> pd.DataFrame:
    """One run per model, probe set, template set and k: of several the one with the most seeds, then the newest.

    The columns of ``forgetting_runs``, and ``control``: whether the model was trained further on its base's own text;
    controls are last. ``planted`` keeps controls with planted facts; ``lessons`` only runs that compared lessons,
    ``among`` only runs of these ids.
    """
    runs = named(forgetting_runs(db))
    runs = runs if among is None else runs[runs["run_id"].isin(list(among))]
    if lessons:
        runs = runs[runs["config"].map(lambda config: "lessons" in stored_configuration(config)).astype(bool)]
    runs = runs[planted | (runs["planted"] == 0)].drop_duplicates(["model", "probe_set", "template_set", "k"])
    for column, values in (("model", models), ("probe_set", probe_sets), ("k", ks)):
        runs = runs[runs[column].isin(list(values))] if values is not None else runs
    return runs.assign(control=runs["objective"] == CONTROL).sort_values(
        ["control", "probe_set", "k", "model"], ignore_index=True
    )


def with_keys(runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of runs, in the order of the runs, with the columns that name them in front and without ``run_id``."""
    of_runs = runs[["run_id", *KEYS]].merge(rows, on="run_id", how="inner", suffixes=("", "_of_rows"))
    return of_runs.drop(columns="run_id")


def usual(rows: pd.DataFrame) -> pd.DataFrame:
    """What outcomes count: relearning split by answer after the usual steps, other ways of the model as it is; and all
    of these together.
    """
    counted = {(way, usual_level(way), usual_protocol(way)) for way in (*WAYS, BY_ANY)}
    return rows.loc[[key in counted for key in zip(rows["way"], rows["level"], rows["protocol"], strict=True)]]


OUTCOME = Columns(KEYS, "control part n known per_100 note")
#: The interval of a test of memory, and that without the commonest answer.
_ENDS = ("low", "high", "low_without", "high_without")
_COMPARED = Columns("way level protocol yardstick share yardstick_share difference low high n n_yardstick")
WAYS_BACK = Columns(KEYS, _COMPARED)
MEMORY_COLUMNS = Columns(
    KEYS, "way protocol seeds stated never_had difference", _ENDS, "n n_never_had detectable verdict"
)


def outcome(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """What became of each fact that the base knew: the outcomes add up to all.

    ``known`` is by the base, ``per_100`` of them; ``note`` has the reason why layers were not put back.
    """
    if runs.empty:
        return pd.DataFrame(columns=list(OUTCOME))
    ids = list(runs["run_id"])
    by_way = counted(db, ids, "way").pivot_table(index="run_id", columns="way", values="n", aggfunc="sum", fill_value=0)
    counts = by_way.reindex(index=ids, columns=list(LOST_OUTCOMES), fill_value=0)
    rows = []
    for run in runs.to_dict("records"):
        sizes = {KEPT: run["kept"], **counts.loc[run["run_id"]].to_dict()}
        for part in OUTCOMES:
            row = {name: run[name] for name in (*KEYS, "control")} | {
                "part": part,
                "n": int(sizes[part]),
                "known": int(run["known"]),
            }
            note = run["not_put_back"] if part == LAYERS_BACK and pd.notna(run["not_put_back"]) else ""
            rows.append(row | {"per_100": 100 * row["n"] / max(1, row["known"]), "note": note})
    return OUTCOME.frame(rows)


def ways(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Each way by itself, and all together, next to every yardstick: the share of the lost facts, and the difference
    with its 95 % interval.

    ``yardstick_share`` is at equal confidence where it is that of wrong answers, or of right answers that the text
    never had.
    """
    ids = list(runs["run_id"])
    rows = pd.concat([excesses(db, ids), by_any(store.answers(db, ids))])
    return with_keys(runs, rows.assign(difference=rows["share"] - rows["yardstick_share"]))[list(WAYS_BACK)]


def by_any(facts: pd.DataFrame) -> pd.DataFrame:
    """What at least one way brings back, as rows of ``forgetting_excesses``: lost facts beside wrong answers at equal
    confidence, and beside never-known facts, each with a lost one of its relation and answer.

    ``facts`` are rows of ``forgetting_facts``; relearning counts as for an outcome.
    """
    key, rows = {"way": BY_ANY, "level": ANY, "protocol": usual_protocol(BY_ANY)}, []
    for run_id, every in facts.sort_values("fact_id").groupby("run_id"):
        seeds, levels = every[f"after_{USUAL_STEPS}"].str, every[["layer", "layers_back"]]
        back = levels.notna().any(axis=1) | every["fitted"] | (2 * seeds.count("1") > seeds.len())
        answers = Answers(
            back.to_numpy(bool)[None],
            np.exp(every["base_logp"].to_numpy(float)),
            every["relation"].factorize()[0].astype(np.int64),
            every["answer"].to_numpy(np.int64),
        )
        lost, wrong, never = (answers.of((every["asked"] == group).to_numpy()) for group in (LOST, WRONG, NEVER_KNOWN))
        partners = _numbered(lost).get_indexer(_numbered(never))
        found = {
            WRONG: at_equal_confidence(lost, wrong),
            NEVER_KNOWN: paired(lost.of(partners[partners >= 0]), never.of(partners >= 0)),
        }
        rows += [
            {"run_id": run_id, **key, "yardstick": name, "share": each.share, "yardstick_share": each.yardstick}
            | {"low": each.low, "high": each.high, "n": each.n, "n_yardstick": each.n_yardstick}
            for name, each in found.items()
            if each
        ]
    return pd.DataFrame(rows, columns=["run_id", *_COMPARED.without("difference")])


def _numbered(group: Answers) -> pd.MultiIndex:
    """Of each answer its relation and answer, and which of those with both it is."""
    clusters = pd.Series(group.clusters)
    return pd.MultiIndex.from_arrays([clusters, clusters.groupby(clusters).cumcount()])


_SAID = {WRONG: "equally confident wrong answers", NEVER_KNOWN: "facts that neither model knew"}


def any_in_words(rows: pd.DataFrame) -> str:
    """``by_any`` of one run, or its ``ways``, as command, page and document say it; empty without a yardstick."""
    together = rows[rows["way"] == BY_ANY].set_index("yardstick")
    beside = [f", of {_SAID[name]} {100 * share:.0f}" for name, share in together["yardstick_share"].items()]
    lost = f"Of 100 lost facts {100 * together['share'].head(1).sum():.0f} come back by {BY_ANY}"
    return f"{lost}{''.join(beside)}." if beside else ""


def memory(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """The test of memory of every way, of runs for which it is known what the base's training text states, or what was
    planted; controls with planted facts are first.

    Relearning, after the usual steps, is split by answer and by subject. Shares of ``stated`` facts and of those that
    the text ``never_had`` are at equal confidence; ``low_without, high_without`` is the interval without the commonest
    answer of the second; ``verdict``: see ``forgetting.memory``.
    """
    rows = tested(excesses(db, list(runs["run_id"]))).rename(
        columns={"share": "stated", "yardstick_share": "never_had", "n_yardstick": "n_never_had"}
    )
    runs = runs.sort_values("planted", ascending=False, kind="stable")
    return with_keys(runs, rows.merge(runs[["run_id", "seeds"]], on="run_id"))[list(MEMORY_COLUMNS)]


def tested(rows: pd.DataFrame) -> pd.DataFrame:
    """The tests of memory among rows of ``forgetting_excesses``, with ``detectable`` and ``verdict``."""
    rows = rows[
        (rows["yardstick"] == NEVER_IN_TEXT)
        & (rows["protocol"] != RANDOM_BODY)
        & rows["level"].isin((ANY, USUAL_STEPS))
    ]
    rows = rows.assign(
        difference=rows["share"] - rows["yardstick_share"],
        back=rows[["share", "yardstick_share"]].max(axis=1),
        detectable=rows["error"].map(detectable),
    )
    numbers = rows[["back", *_ENDS]].astype(float).itertuples(index=False, name=None)
    return rows.assign(verdict=[verdict(*number) for number in numbers])


def in_words(test: Any) -> str:
    """One row of ``tested`` or ``memory``, of ``itertuples``, as command, card, document and page say it."""
    return describe(test.verdict, test.difference, [getattr(test, end) for end in _ENDS], test.detectable)


def by_chance(tests: pd.DataFrame) -> str:
    """How many of ``tested`` or ``memory`` would say more or less often if nothing differed."""
    n = int((tests["verdict"] != NOTHING).sum())
    rate = "5 %; with one seed more"
    return f"If nothing differed, about {0.05 * n:.1f} of {n} tests would say more or less often ({rate})."


#: Part -> the outcomes that it counts; together they are all facts that the base knew.
PARTS = {
    KEPT: (KEPT,),
    OTHER_LAYER: (AS_IN_BASE, MOVED),
    FITTED_HEAD: (FITTED_HEAD,),
    LAYERS_BACK: (LAYERS_BACK,),
    RELEARNED: (RELEARNED,),
    NOT_RECOVERED: (NOT_RECOVERED,),
}


def hundred(
    outcome: pd.DataFrame, tests: pd.DataFrame, ways: pd.DataFrame, gained: tuple[int, int] = (0, 0)
) -> pd.DataFrame:
    """The parts of 100 known facts of one model, cheap ways first, and one for what was gained.

    ``gained``: facts that only the fine-tuned model knows, and facts that the base knows; zeros if not both were asked.
    ``of_100`` are whole numbers that add up to 100 without the gained ones, the kept ones rounded as everywhere else;
    ``per_100`` is exact. ``test`` is the test of memory of the way, in words. ``share: ...`` is of all lost facts that
    the way by itself brings back, ``yardstick: ...`` of that yardstick.
    """
    stored = outcome.set_index("part")
    tested = {test.way: test for test in tests.itertuples() if test.protocol == usual_protocol(test.way)}
    sizes = {part: int(stored.loc[list(of), "n"].sum()) for part, of in PARTS.items()}
    known, rows = max(1, sum(sizes.values())), []
    kept, *lost = sizes.values()
    rounded = round(100 * kept / known)
    for (part, n), whole in zip(sizes.items(), [rounded, *whole_shares(lost, 100 - rounded)], strict=True):
        test = tested.get(part)
        row = {
            "part": part,
            "kind": BACK if part in WAYS else part,
            "n": n,
            "of_100": whole,
            "per_100": 100 * n / known,
        }
        row["test"] = "" if test is None else in_words(test)
        rows.append(row | {"note": next((note for note in stored.loc[list(PARTS[part]), "note"] if note), "")})
    if gained[1]:
        share = 100 * gained[0] / gained[1]
        rows.append({"part": GAINED, "kind": GAINED, "n": gained[0], "of_100": round(share), "per_100": share})
    table = pd.DataFrame(rows).fillna({"test": "", "note": ""})
    yardstick_rows = usual(ways).pivot_table(
        index="way", columns="yardstick", values=["share", "yardstick_share"], sort=False
    )
    yardstick_rows.columns = [
        f"{'share' if value == 'share' else 'yardstick'}: {yardstick}" for value, yardstick in yardstick_rows.columns
    ]
    return table.merge(yardstick_rows, left_on="part", right_index=True, how="left")


FACTS = Columns(
    "fact_id relation subject object way layer fitted layers_back after_5 after_15 after_45 by_subject base_logp logp",
    "rank margin exposure reworded prompt",
)
FALLS = (*KEYS, "lost", "fall", "rank", "margin", "second", "near")
#: A margin of fewer nats is near.
NEAR = 0.1


def relations(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """Lost facts by relation, and how many of them came back in which way (``forgetting.store.BACK_COLUMNS``)."""
    table = store.by_relation(db, list(runs["run_id"]))
    return with_keys(runs, table.sort_values(["lost", "relation"], ascending=[False, True]))


def reworded(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """What another wording shows of the lost facts: ``reworded, n``, of runs that asked for them in one."""
    return with_keys(runs, store.counted(db, list(runs["run_id"]), "reworded").dropna(subset="reworded"))


def falls(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """How far lost facts fell, one row per run.

    Medians of the loss of log-probability of the right answer (``fall``, nats), of its ``rank`` in the fine-tuned model
    and of the ``margin`` by which that prefers its first answer (nats); shares of lost facts that are second now
    (``second``), and second by less than 0.1 nats (``near``).
    """
    rows = store.falls(db, list(runs["run_id"]))
    second = rows["rank"] == 2
    rows = rows.assign(fall=rows["base_logp"] - rows["logp"], second=second, near=second & (rows["margin"] < NEAR))
    table = rows.groupby("run_id", as_index=False).agg(
        lost=("rank", "size"),
        fall=("fall", "median"),
        rank=("rank", "median"),
        margin=("margin", "median"),
        second=("second", "mean"),
        near=("near", "mean"),
    )
    return with_keys(runs, table)[list(FALLS)]


def facts(
    db: Database, run_id: str, ways: tuple[str, ...] | None = None, relations: tuple[str, ...] | None = None
) -> pd.DataFrame:
    """The lost facts (``FACTS``) of one run by these ways back and relations; None keeps all."""
    return store.facts(db, run_id, ways, relations)[list(FACTS)]
