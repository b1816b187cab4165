"""The paper's tables next to ours, cell by cell, for one family: a base and the models that were fine-tuned from it."""

import json

import pandas as pd

from probing.facts.published import PublishedKnowledge, PublishedSet
from probing.facts.store import relations, totals
from probing.finetuning.objectives import BASE
from probing.kernel.store.database import Database
from probing.papers.bertnesia_measurements import LAMA_TEMPLATES, Gathered

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


def table_1(db: Database, gathered: Gathered, published: PublishedKnowledge) -> pd.DataFrame:
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
    columns = [
        "probe_set",
        "part",
        "published_relations",
        "published_facts",
        "relations",
        "read",
        "probed",
        "ours",
        "comparable",
        "left_out",
    ]
    whole = ["published_relations", "published_facts", "relations", "read", "probed"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(whole, "Int64"))


def _rows_of_models(published: PublishedKnowledge, gathered: Gathered) -> list[tuple[str, str]]:
    """(objective, the paper's name or "") of every row: the paper's models, control, and others with these heads."""
    rows = [(model.objective, model.name) for model in published.models]
    known, probed = (
        {objective for objective, _ in rows},
        set(gathered.runs["objective"]) if len(gathered.runs) else set(),
    )
    further = (*gathered.family.members, *(objective for objective in gathered.family.others if objective in probed))
    return rows + [(objective, "") for objective in further if objective not in known]


def table_2(gathered: Gathered, published: PublishedKnowledge) -> pd.DataFrame:
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
    columns = [
        "row",
        "k",
        "published",
        "published_count",
        "authors",
        "authors_count",
        "caption_count",
        "strict_count",
        "relations",
        "model",
    ]
    whole = ["published_count", "authors_count", "caption_count", "strict_count", "relations"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(whole, "Int64") | {"authors": "float64"})


def table_3(gathered: Gathered, published: PublishedKnowledge) -> pd.DataFrame:
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
    shares = [
        "last_micro",
        "total_micro",
        "last_macro",
        "total_macro",
        "majority_micro",
        "majority_macro",
        "inner_own",
        "inner_swapped",
    ]
    numbers = ["facts", "inner_facts"]
    table = pd.DataFrame(
        rows, columns=["row", "probe_set", "published", *shares, *numbers, "ours", "comparable", "model"]
    )
    return table.astype(dict.fromkeys(numbers, "Int64") | dict.fromkeys(shares, "float64"))


def _cell(rows: pd.DataFrame, average: str, column: str, of: float | None = 1) -> float | None:
    """A number of ``total`` in per cent of ``of``; None if it is empty or ``of`` is 0 or unknown."""
    value = rows.at[average, column] if average in rows.index else None
    return None if value is None or pd.isna(value) or not of else 100 * float(value) / of


def _model(gathered: Gathered, objective: str) -> str:
    return gathered.family.members.get(objective, objective if objective in gathered.family.others else "")
