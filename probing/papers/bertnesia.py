"""BERTnesia: which of our families are compared with it, their numbers, and its tables next to ours, cell by cell."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from probing.facts.published import PublishedFacts, PublishedSet
from probing.facts.report_forgotten import forgotten
from probing.facts.report_layers import total
from probing.facts.runs import choose
from probing.facts.store import relations, totals
from probing.kernel.columns import Columns, floats, integers
from probing.kernel.metric import RANKS
from probing.kernel.objectives import BASE, CONTROL
from probing.kernel.registry import read_registry
from probing.kernel.stats.intervals import wilson
from probing.kernel.store.database import Database
from probing.kernel.store.stored import fact_runs, one_run_each
from probing.papers.claims import OF_THE_BASE, Ours, Paper, Subject


@dataclass(frozen=True)
class Family:
    """Which model here stands for which objective, the base among them as ``BASE``.

    ``others``: further models whose objective already has a model, or is not one of the paper's. Seeds and controls of
    which only results ship are left out.
    """

    base: str
    members: Mapping[str, str]
    others: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        return (*self.members.values(), *self.others)

    def objective(self, model: str) -> str:
        """The objective that a model stands for; its own name if there is none."""
        return next((objective for objective, name in self.members.items() if name == model), model)


def families_here(db: Database) -> dict[str, Family]:
    """The families among the stored runs by their base, the largest first.

    A family is a base with all models whose base it is. A family of the registry may name members that have another
    base (the paper's NER model is cased); these belong to the family, too.
    """
    runs = one_run_each(fact_runs(db))
    if runs.empty:
        return {}
    models = runs.drop_duplicates("model").fillna({"base": "", "objective": ""}).set_index("model")
    named = {family.base: family for family in read_registry().families}
    bases = sorted(set(models.index[models["base"] == ""]) | (set(models["base"]) - {""}))
    order = [*(model.objective for model in PublishedFacts.read().models), CONTROL]
    families = []
    for base in bases:
        entry = named.get(base)
        chosen = {BASE: base} | {member.objective: member.model for member in (entry.members if entry else ())}
        chosen = {objective: model for objective, model in chosen.items() if model in models.index}
        tuned = models[models["base"] == base]
        for model, objective in tuned["objective"].sort_index().items():
            if objective in order and objective not in chosen and model not in chosen.values():
                chosen[objective] = str(model)
        left_out = {*chosen.values(), *(entry.results_only if entry else ())}
        others = tuple(str(model) for model in tuned.index.sort_values() if model not in left_out)
        members = {objective: chosen[objective] for objective in order if objective in chosen}
        if members:
            families.append(Family(base, members, others))
    return {family.base: family for family in sorted(families, key=lambda family: (-len(family.models), family.base))}


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
    return Subject({**family.members, OF_THE_BASE: family.base}, choices)


def _runs(db: Database, family: Family, head: str) -> pd.DataFrame:
    """The family's runs: with LAMA's own templates where the base was asked with them, else the default."""
    ours, theirs = (
        choose(db, models=family.models, heads=(head,), templates=templates)
        for templates in ("default", LAMA_TEMPLATES)
    )
    sets = set(theirs.loc[theirs["model"] == family.base, "probe_set"])
    return pd.concat([theirs[theirs["probe_set"].isin(sets)], ours[~ours["probe_set"].isin(sets)]], ignore_index=True)


NOT_PUBLISHED = "not published"
OTHER_FACTS = "other sentences: not comparable"
SAME_SOURCE = "same source, our templates"
SAME_TEMPLATES = "same source, LAMA's templates"
NOT_PROBED = "not probed"


def shown_set(published: PublishedSet, runs: pd.DataFrame) -> str:
    """The probe set compared with one of the paper: that of the same source if it was probed, else its stand-in."""
    probed = set(runs["probe_set"]) if len(runs) else set()
    return published.ours if published.ours in probed or not published.stand_in else published.stand_in


def beside(published: PublishedSet, runs: pd.DataFrame) -> str:
    """Whether our cells of a probe set are comparable with the paper's, in words."""
    probe_set = shown_set(published, runs)
    if not len(runs) or probe_set not in set(runs["probe_set"]):
        return NOT_PROBED
    if probe_set != published.ours:
        return OTHER_FACTS
    return (
        SAME_TEMPLATES
        if set(runs.loc[runs["probe_set"] == probe_set, "template_set"]) == {LAMA_TEMPLATES}
        else SAME_SOURCE
    )


def table_1(db: Database, gathered: Gathered, published: PublishedFacts) -> pd.DataFrame:
    """Table 1: facts by probe set, and by relation if the paper counts them, published and of our base.

    ``read`` and ``left_out`` are stored by probe set, so they are empty for a part.
    """
    rows = []
    base = gathered.runs[gathered.runs["objective"] == BASE] if len(gathered.runs) else gathered.runs
    labels = relations(db).set_index(["probe_set", "relation"])["label"]
    for published_set in published.probe_sets:
        probe_set = shown_set(published_set, base)
        set_runs = base[base["probe_set"] == probe_set] if len(base) else base
        counts = totals(db, list(set_runs["run_id"])) if len(set_runs) else pd.DataFrame(columns=["relation", "n"])
        left = json.loads(set_runs["left_out"].iloc[0] or "{}") if len(set_runs) else {}
        words = ", ".join(f"{count:,} {reason}" for reason, count in sorted(left.items())) or (
            "none" if len(set_runs) else ""
        )
        read, probed = (int(set_runs[name].iloc[0]) if len(set_runs) else None for name in ("n_read", "n_probed"))
        number = len(counts) if len(set_runs) else None
        rows.append(
            (
                published_set.name,
                "",
                published_set.relations,
                published_set.instances,
                number,
                read,
                probed,
                probe_set,
                beside(published_set, base),
                words,
            )
        )
        for relation, facts in published_set.parts.items():
            part = counts.loc[counts["relation"] == relation, "n"]
            label = labels.get((probe_set, relation), relation)
            rows.append(
                (
                    published_set.name,
                    label,
                    1,
                    facts,
                    None,
                    None,
                    int(part.iloc[0]) if len(part) else None,
                    probe_set,
                    beside(published_set, base),
                    "",
                )
            )
    whole = integers("published_relations published_facts relations read probed")
    return Columns("probe_set part", whole, "ours comparable left_out").frame(rows)


def _rows_of_models(published: PublishedFacts, gathered: Gathered) -> list[tuple[str, str]]:
    """(objective, the paper's name or "") of every row: the paper's models, control, and others with these heads."""
    rows = [(model.objective, model.name) for model in published.models]
    known, probed = (
        {objective for objective, _ in rows},
        set(gathered.runs["objective"]) if len(gathered.runs) else set(),
    )
    further = (*gathered.family.members, *(objective for objective in gathered.family.others if objective in probed))
    return rows + [(objective, "") for objective in further if objective not in known]


def table_2(gathered: Gathered, published: PublishedFacts) -> pd.DataFrame:
    """Table 2: forgotten T-REx relations, by model and rank; shares in [0, 1], counts without a divisor.

    Only ``authors`` is counted like the published cells, over the published divisor, so only this column is comparable
    with them.
    """
    rows = []
    for objective, name in _rows_of_models(published, gathered):
        forgotten = gathered.forgotten[
            (gathered.forgotten["objective"] == objective) & (gathered.forgotten["probe_set"] == "trex")
        ]
        for k in published.table_2.ranks:
            cell = published.forgotten(name, k) if name else None
            ours = forgotten[forgotten["k"] == k].set_index("definition")
            counts = [
                int(ours.at[definition, "forgotten"]) if definition in ours.index else None
                for definition in ("authors", "caption", "strict")
            ]
            share = float(ours.at["authors", "share"]) if "authors" in ours.index else None
            number = int(ours["relations"].iloc[0]) if len(ours) else None
            words = f"{cell[0]:.2f}" if cell else NOT_PUBLISHED
            rows.append(
                (
                    name or objective,
                    k,
                    words,
                    cell[1] if cell else None,
                    share,
                    *counts,
                    number,
                    _model(gathered, objective),
                )
            )
    own = Columns(floats("authors"), integers("authors_count caption_count strict_count relations"))
    return Columns("row k published", integers("published_count"), own, "model").frame(rows)


def table_3(gathered: Gathered, published: PublishedFacts) -> pd.DataFrame:
    """Table 3: P@1 at the last layer and total knowledge, per cent, by model and probe set.

    The yardsticks are per cent, too: the accuracy of a relation's most frequent answer; and the share of the
    ``inner_facts``, which the last layer misses with both the own and a swapped subject, that inner layers find with
    either of them. The paper has no such control.
    """
    rows = []
    for objective, name in _rows_of_models(published, gathered):
        runs = gathered.runs[gathered.runs["objective"] == objective] if len(gathered.runs) else gathered.runs
        for published_set in published.probe_sets:
            cell = published.knowledge(name, published_set.name) if name else None
            probe_set = shown_set(published_set, runs)
            total = gathered.total
            total = total[
                (total["objective"] == objective) & (total["probe_set"] == probe_set) & (total["k"] == 1)
            ].set_index("average")
            values = [
                _cell(total, average, column) for average in ("micro", "macro") for column in ("last_layer", "total")
            ]
            values += [_cell(total, average, "majority") for average in ("micro", "macro")]
            missed = _cell(total, "micro", "inner_n", of=100)
            values += [_cell(total, "micro", column, of=missed) for column in ("inner_own", "inner_swapped")]
            counts = [
                int(number) if number is not None else None for number in (_cell(total, "micro", "n", of=100), missed)
            ]
            words = f"{cell[0]:g} / {cell[1]:g}" if cell else NOT_PUBLISHED
            rows.append(
                (
                    name or objective,
                    published_set.name,
                    words,
                    *values,
                    *counts,
                    probe_set,
                    beside(published_set, runs),
                    _model(gathered, objective),
                )
            )
    shares = floats(
        "last_micro total_micro last_macro total_macro majority_micro majority_macro inner_own inner_swapped"
    )
    whole = integers("facts inner_facts")
    return Columns("row probe_set published", shares, whole, "ours comparable model").frame(rows)


def _cell(rows: pd.DataFrame, average: str, column: str, of: float | None = 1) -> float | None:
    """A number of ``total`` in per cent of ``of``; None if it is empty or ``of`` is 0 or unknown."""
    value = rows.at[average, column] if average in rows.index else None
    return None if value is None or pd.isna(value) or not of else 100 * float(value) / of


def _model(gathered: Gathered, objective: str) -> str:
    return gathered.family.members.get(objective, objective if objective in gathered.family.others else "")


def tables(published: PublishedFacts, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """Tables 1, 2 and 3, published and ours; none without results of ours."""
    if ours is None or db is None:
        return {}
    gathered = ours.about
    return {
        "table-1": table_1(db, gathered, published),
        "table-2": table_2(gathered, published),
        "table-3": table_3(gathered, published),
    }


BERTNESIA = Paper("bertnesia", PublishedFacts, "runs", families_here, measure, tables)
