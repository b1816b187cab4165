"""The reports of right answers among candidates: by layer, by relation, by number of tokens, and fact by fact."""

from collections.abc import Callable, Sequence

import pandas as pd

from probing.facts.requests import AMONG_CANDIDATES, DTYPES
from probing.facts.store import sums_of
from probing.facts.store_candidates import SUMS, answer_sums, candidate_runs, ranked_facts, sums
from probing.kernel.columns import Columns, floats
from probing.kernel.figures.looks import set_order
from probing.kernel.models.names import head_order, listed
from probing.kernel.report import Choice, Filter, Report, Reports, refuse_unstored, whole_runs
from probing.kernel.stats.intervals import AVERAGES, RelationCounts, macro, macro_mean, micro, micro_mean, parallel_map
from probing.kernel.stats.paired_tests import answer_interval
from probing.kernel.store.database import Database

#: What distinguishes two runs in a report; of runs that are equal in it, the newest counts.
RUN = ("model", "head", "seed", "probe_set", "template_set", "measure", "candidates_file", "dtype")
_P_AT_1 = ("value", "low", "high")
_ANSWERS = ("low_answers", "high_answers")
#: What P@1 would be without knowledge of the subject, beside chance.
_BLIND = ("swapped", "majority")
_MRR = ("mrr", "mrr_low", "mrr_high", "mrr_chance")
#: Of Gekhman et al. 2025: the share of wrong candidates below the right answer, and of answers with all of them below.
_K = ("K", "K_star")
#: P@1 of the answer alone, of the answers with the fewest tokens, and after the answer alone is subtracted.
_ALONE = ("alone", "shortest", "pmi")
_RANK = ("mean_rank", "mean_rank_chance")
NUMBERS = Columns(
    *(Columns("n", dtype="int64"), floats("candidates", _P_AT_1, _ANSWERS, "chance", _BLIND)),
    *(Columns("swapped_n", dtype="int64"), floats(_MRR, _RANK, _ALONE, _K)),
)
#: What one figure shows a single value of -> the order of its values.
ORDER: dict[str, Callable[[str], int]] = {
    "probe_set": set_order,
    "measure": AMONG_CANDIDATES.index,
    "head": head_order,
    "candidates_file": bool,
    "dtype": lambda name: DTYPES.index(name) if name in DTYPES else len(DTYPES),
}
#: Column -> the sum that it is the mean of.
_MEANS = {
    "candidates": "candidates",
    "chance": "chance_hits",
    "mrr_chance": "chance_reciprocal_rank",
    "mean_rank": "rank",
    "mean_rank_chance": "chance_rank",
    "alone": "alone_hits",
    "shortest": "shortest_hits",
    "pmi": "pmi_hits",
    "majority": "majority_hits",
    "K": "below",
    "K_star": "all_below",
}


def newest(runs: pd.DataFrame) -> pd.DataFrame:
    """One run of each kind of ``RUN``, from all of ``candidate_runs``; those of the usual numbers come first."""
    runs = runs.fillna({"candidates_file": "", "dtype": ""})
    runs = runs.sort_values("dtype", key=lambda names: names.map(ORDER["dtype"]), kind="stable")
    return whole_runs(runs, RUN, [frozenset()] * len(runs))


def alike(runs: pd.DataFrame, **wanted: Sequence[str]) -> pd.DataFrame:
    """The runs that one figure compares, of those of ``newest``: one for each model and kind of heads.

    ``wanted``: values of the columns of ``ORDER``. Of what has none, or none that is stored with the others, the value
    that most models have is taken; of the numbers float32, and of the candidates the answers of the relation, if any
    model has them.
    """
    runs = runs[runs["seed"] == 0].sort_values("template_set", key=lambda names: names != "default", kind="stable")
    for name, order in ORDER.items():
        models = runs.groupby(name)["model"].nunique()
        usual = name in ("candidates_file", "dtype")
        there = sorted(models.index, key=lambda value: (usual and order(value), -models[value], order(value)))
        runs = runs[runs[name].isin([value for value in wanted.get(name, ()) if value in there] or there[:1])]
    return runs.drop_duplicates(["model", "head"])


def by_layer(db: Database, runs: pd.DataFrame, averages: Sequence[str] = AVERAGES) -> pd.DataFrame:
    """P@1, MRR and mean rank of runs at every layer, as mean over relations (macro) and over facts (micro).

    value, low, high: P@1, where candidates that tie for the first place share it, with its 95 % interval; low_answers
    and high_answers: its ends if the answers are drawn again, too; chance: 1 / candidates. swapped: how often the
    prompts of other subjects of the relation, in the same wording if there are such, put the answer first, where it is
    wrong; over ``swapped_n`` facts that have such a prompt. majority: always the relation's most frequent answer.
    mrr_chance and mean_rank_chance are those of a random order. alone: P@1 of the log-likelihood without the prompt;
    shortest: of the candidates with the fewest tokens; pmi: of the log-likelihood minus that without the prompt. K and
    K_star: the share of wrong candidates that rank below the right answer, and of answers with all of them below. n
    facts; candidates: how many there are on average.
    """
    parts = [grouped(db, runs, average=average).assign(average=average) for average in averages]
    return pd.concat(parts, ignore_index=True)[["run_id", *RUN, "average", "layer", *NUMBERS]]


def grouped(
    db: Database, runs: pd.DataFrame, by: str = "", average: str = "micro", *, common: bool = False
) -> pd.DataFrame:
    """The numbers of ``by_layer``, of all facts, or ``by`` relation or ``pieces``, the right answer's tokens; of
    ``common`` facts as ``sums`` has them.
    """
    keys = [*([by] if by else []), "layer"]
    ids, parts = list(runs["run_id"]), list(dict.fromkeys(["run_id", *keys, "relation"]))
    table = sums(db, ids, common=common)
    of_relation = table.groupby(parts, as_index=False)[list(SUMS)].sum()
    of_relation = of_relation.merge(answer_sums(db, ids, by.replace("relation", ""), common=common), on=parts)
    groups = list(of_relation.groupby(["run_id", *keys]))
    rows = parallel_map(lambda group: (*group[0], *_numbers(group[1], average)), groups)
    found = runs[["run_id", *RUN]].merge(Columns("run_id", keys, NUMBERS).frame(rows), on="run_id")
    return found[["run_id", *RUN, *keys, *NUMBERS]].sort_values([*RUN, *keys], ignore_index=True)


def by_length(db: Database, runs: pd.DataFrame) -> pd.DataFrame:
    """``grouped`` by pieces, of each run in turn at its last layer, and at the last where most answers are right."""
    whole, table = grouped(db, runs), grouped(db, runs, "pieces")
    best = whole.loc[whole[::-1].groupby("run_id")["value"].idxmax()].set_index("run_id")["layer"]
    last = table.groupby("run_id")["layer"].transform("max")
    table = table[(table["layer"] == last) | (table["layer"] == table["run_id"].map(best))]
    return runs[["run_id"]].merge(table, on="run_id")


def _numbers(rows: pd.DataFrame, average: str) -> tuple[float, ...]:
    """``NUMBERS`` of some facts, from their sums by relation."""
    columns = (rows[name].tolist() for name in ("hits", "reciprocal_rank", "squared_reciprocal_rank"))
    counts = [RelationCounts(*row) for row in zip(rows["relation"], map(int, rows["n"]), *columns, strict=True)]
    first, mrr = (macro(counts), macro_mean(counts)) if average == "macro" else (micro(counts), micro_mean(counts))
    whole = rows[list(_MEANS.values())]
    means = whole.div(rows["n"], axis=0).mean() if average == "macro" else whole.sum() / rows["n"].sum()
    mean = {name: float(means[column]) for name, column in _MEANS.items()}
    of = {"n": first.n, "value": first.value, "low": first.low, "high": first.high, **mean}
    of |= {"mrr": mrr.value, "mrr_low": mrr.low, "mrr_high": mrr.high, "swapped_n": rows["swapped_n"].sum()}
    # A relation alone has one mean for both averages, and its own spread.
    ends = answer_interval(sums_of(rows, "hits"), average if len(rows) > 1 else "macro")
    of |= dict(zip(_ANSWERS, ends, strict=True))
    hits, others = rows["swapped_hits"], rows["swapped_n"].where(rows["swapped_n"] > 0)
    of["swapped"] = (hits / others).mean() if average == "macro" else hits.sum() / others.sum(min_count=1)
    return tuple(of[name] for name in NUMBERS)  # type: ignore[misc]


def fact_by_fact(db: Database, runs: pd.DataFrame, layers: Sequence[int] | None = None) -> pd.DataFrame:
    """The right answer of every fact at every layer, or at some, with the columns of the stored tables."""
    return runs[["run_id", *RUN]].merge(ranked_facts(db, list(runs["run_id"]), layers), on="run_id")


def chosen(db: Database, choice: Choice) -> pd.DataFrame:
    """The runs of a report's filters."""
    runs = candidate_runs(db)
    for name in ("model", "head", "probe_set", "measure", "candidates_file", "dtype"):
        if choice[name]:
            runs = runs[runs[name].isin(list(choice[name]))]
    return newest(runs.reset_index(drop=True))


def _refuse(db: Database, choice: Choice) -> None:
    runs, names = candidate_runs(db), ("model", "head", "probe_set", "candidates_file")
    refuse_unstored("ranks among candidates", choice, {name: runs[name].dropna() for name in names})


_ID = ("model", "head", "probe_set", "measure")
_SHOWN = ("layer", "n", *_P_AT_1, "chance", *_BLIND, *_ALONE, "mrr", "mrr_chance", *_K)
#: Chance is the same for answers of every length, which right ones are not.
_BY_LENGTH = tuple(name for name in _SHOWN if not name.endswith("chance"))
_FACT = ("relation", "subject", "object", "layer", "rank", "tied", "candidates", "filtered", "best")
_FACT_MORE = ("pieces", "log_likelihood", "alone_log_likelihood", "alone_rank", "pmi_rank", "fact_id", "prompt")


def _shown(*columns: str) -> Callable[[pd.DataFrame], list[str]]:
    """Columns of text: of ``RUN`` the usual ones, and what else distinguishes the shown runs."""
    return lambda rows: [*_ID, *(name for name in RUN if name not in _ID and rows[name].nunique() > 1), *columns]


CANDIDATES = Reports(
    "candidates",
    (
        Report(
            "layers",
            "by layer",
            lambda db, choice: by_layer(db, chosen(db, choice), choice["average"] or AVERAGES),
            shown=_shown("average", *_SHOWN),
        ),
        Report(
            "relations",
            "by relation and layer",
            lambda db, choice: grouped(db, chosen(db, choice), "relation"),
            shown=_shown("relation", *_SHOWN),
        ),
        Report(
            "pieces",
            "by the number of tokens of the right answer and layer",
            lambda db, choice: grouped(db, chosen(db, choice), "pieces"),
            shown=_shown("pieces", *_BY_LENGTH),
        ),
        Report(
            "facts",
            "every right answer at every layer",
            lambda db, choice: fact_by_fact(db, chosen(db, choice), choice["layer"]),
            (*RUN, *_FACT, *_FACT_MORE),
            further=True,
            shown=_shown(*_FACT, "pieces", "pmi_rank"),
        ),
    ),
    (
        Filter("model", "Model; repeatable. None: all."),
        Filter("head", f"{listed()}; repeatable. None: all."),
        Filter("probe_set", "Set of facts; repeatable. None: all."),
        Filter("measure", f"{', '.join(AMONG_CANDIDATES)}; repeatable. None: all.", known=AMONG_CANDIDATES),
        Filter("dtype", f"{', '.join(DTYPES)}; repeatable. None: all.", known=DTYPES),
        Filter("candidates_file", "Name of a file of candidates; repeatable. None: all."),
        Filter(
            "average",
            "Mean over relations (macro), over facts (micro), or both. For layers.",
            known=AVERAGES,
            every="both",
            once=True,
            only=("layers",),
        ),
        Filter("layer", "For facts: layer; repeatable. None: all.", int, only=("facts",)),
    ),
    _refuse,
)
