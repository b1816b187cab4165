"""The numbers of one family under one kind of head, from the reports that the command line uses, too."""

from dataclasses import dataclass

import pandas as pd

from probing.facts.report_forgotten import forgotten
from probing.facts.report_layers import total
from probing.facts.runs import choose
from probing.kernel.stats.intervals import wilson
from probing.kernel.store.database import Database
from probing.papers.bertnesia_families import Family, families_here
from probing.papers.claims import BASE, Subject
from probing.papers.claims_paper import Ours
from probing.terms import RANKS

#: The template set of a folder in LAMA's layout: the paper's own prompts.
LAMA_TEMPLATES = "lama"


def with_inner_intervals(total: pd.DataFrame) -> pd.DataFrame:
    """``total`` with Wilson's intervals of the intermediate share, over the facts that some layer knows."""
    ends = [_inner_ends(row) for row in total.itertuples()]
    return total.assign(
        **{
            f"intermediate_{end}": pd.Series([bound[place] for bound in ends], total.index, "float64")
            for place, end in enumerate(("low", "high"))
        }
    )


def _inner_ends(row) -> tuple[float | None, float | None]:
    if row.average != "micro" or pd.isna(row.intermediate_share):
        return None, None
    known, last = (round(float(share) * int(row.n)) for share in (row.total, row.last_layer))
    return wilson(known - last, known)


@dataclass(frozen=True)
class Gathered:
    """Report frames of one family under one kind of head, each with the column ``objective``."""

    family: Family
    runs: pd.DataFrame
    total: pd.DataFrame
    forgotten: pd.DataFrame


def measure(db: Database, base: str, head: str) -> Ours:
    """All numbers of a family under one kind of head; ``about`` is ``Gathered``."""
    family = families_here(db)[base]
    runs = _runs(db, family, head)
    ids = tuple(runs["run_id"])
    trex = tuple(runs.loc[runs["probe_set"] == "trex", "run_id"])
    frames = {
        "runs": runs,
        "total": with_inner_intervals(total(db, ids, ks=(1,), averages=("macro", "micro"))),
        "forgotten": forgotten(db, trex, ks=RANKS),
    }
    named = {
        name: frame.assign(objective=[family.objective(model) for model in frame["model"]])
        for name, frame in frames.items()
    }
    return Ours(
        base, Gathered(family, **named), ids, f"family {base}, {head} heads, all facts", subject_of(family, head)
    )


def subject_of(family: Family, head: str) -> Subject:
    """What the claims are judged on: a comparison by LAMA's own templates precedes one by the default ones."""
    choices = [{"head": head, "templates": templates} for templates in (LAMA_TEMPLATES, "default")]
    return Subject({**family.members, BASE: family.base}, choices)


def _runs(db: Database, family: Family, head: str) -> pd.DataFrame:
    """The family's runs: with LAMA's own templates where the base was asked with them, else the default."""
    ours, theirs = (
        choose(db, models=family.models, heads=(head,), templates=templates)
        for templates in ("default", LAMA_TEMPLATES)
    )
    sets = set(theirs.loc[theirs["model"] == family.base, "probe_set"])
    return pd.concat([theirs[theirs["probe_set"].isin(sets)], ours[~ours["probe_set"].isin(sets)]], ignore_index=True)
