"""The knowledge of a model trained here, by layer and exposure, and whether it meets the conditions of a
demonstration.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from data.making.quality import Condition, Contrast, LayerCounts, conditions, conditions_of_base, contrasts
from probing.facts.corpus import is_listed, listed_pairs
from probing.facts.report_any import right_any
from probing.facts.requests import AskRequest
from probing.facts.sources import read_facts
from probing.facts.store import aggregate, majority
from probing.kernel.errors import ModelError
from probing.kernel.fact import EVERYDAY, EXPOSURES, Fact, Subset, shipped_relations
from probing.kernel.files import result_folders
from probing.kernel.models.names import LOGIT_LENS, TIED, find_entry
from probing.kernel.stats.intervals import RelationCounts
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.stored import fact_runs
from probing.live.ask import ask_layers as ask

#: Layer -> counts of each relation with evidence.
Layers = dict[int, list[LayerCounts]]
#: Sentences whose right word is followed through the layers, whatever comes of it.
FOLLOWED = (("Rocky Balboa was born in [MASK].", "philadelphia"), ("The capital of France is [MASK].", "paris"))


@dataclass(frozen=True)
class Quality:
    """The numbers on a model's card: of all facts by layer, of each exposure, and at the last layer against held-out
    facts; and P@1 of each exposure without the facts on the list of well-known ones.
    """

    conditions: list[Condition]
    contrasts: list[Contrast]
    layers: Layers
    parts: dict[str, Layers]
    unlisted: dict[str, list[RelationCounts]]
    head: str
    run_ids: list[str]


def quality(model: str, head: str | None = None) -> Quality:
    """The numbers of a model made by ``pretrain``; without ``head`` those of the logit lens or, if there are none, tied
    heads. Conditions on well-known facts are of models that were asked them.
    """
    record = Path(find_entry(model).location, "training.json")
    if not record.is_file():
        raise ModelError(f"{record} is missing; model-card is for models made by: python -m probing pretrain")
    relations = set(json.loads(record.read_text(encoding="utf-8"))["relations_with_evidence"])
    with open_database(*result_folders()) as db:
        runs = fact_runs(db)
        head, ids = _run_ids(runs, model, head)
        layers = _counts(db, ids, relations, None)
        parts = {name: counts for name in EXPOSURES if (counts := _counts(db, ids, relations, (name,)))}
        last = max(layers)
        found = conditions(layers, parts)
        everyday = runs[(runs["model"] == model) & (runs["probe_set"] == EVERYDAY) & (runs["head"] == head)]
        if len(everyday):
            several = right_any(db, ids)
            of_several = several[several["layer"] == last].set_index("relation")[["value", "swapped"]].itertuples()
            of_trex = {name for name, one in shipped_relations().items() if one.probe_set == "trex"}
            found += conditions_of_base(
                _counts(db, list(everyday["run_id"]), None, None)[last],
                _counts(db, ids, of_trex, ("stated",))[last],
                {row.Index: (row.value, row.swapped) for row in of_several},
            )
        unlisted = _unlisted(db, model, ids, relations, last)
    at_last = {name: part.get(last, []) for name, part in parts.items()}
    return Quality(found, contrasts(at_last), layers, parts, unlisted, head, ids)


def _unlisted(
    db: Database, model: str, ids: Sequence[str], relations: set[str], layer: int
) -> dict[str, list[RelationCounts]]:
    """Exposure -> counts of each relation at a layer without the facts whose pair is on the list of well-known ones."""
    (listed,) = read_facts(EVERYDAY, shipped_relations())
    pairs = listed_pairs(listed.facts)
    rows = db.query(
        """
        SELECT f.relation, f.subject, f.object, e.exposure, p.gold_rank = 1 AS hit
        FROM predictions p
        JOIN facts f ON f.fact_id = p.fact_id
        JOIN exposure e ON e.model = $model AND e.fact_key = f.relation || chr(9) || f.subject || chr(9) || f.object
        WHERE p.run_id IN (SELECT unnest($ids::VARCHAR[])) AND p.layer = $layer
        """,
        {"model": model, "ids": list(ids), "layer": layer},
        of=list(ids),
    )
    facts = zip(rows["relation"], rows["subject"], rows["object"], strict=True)
    rows = rows[
        [not is_listed(Fact("", relation, subject, answer, "", ""), pairs) for relation, subject, answer in facts]
    ]
    return {
        exposure: [
            RelationCounts(str(name), len(hits), int(hits.sum())) for name, hits in part.groupby("relation")["hit"]
        ]
        for exposure, part in rows[rows["relation"].isin(relations)].groupby("exposure")
    }


def followed_words(model: str, head: str) -> dict[str, list[int]]:
    """Sentence with its right word -> the word's rank at every layer."""
    found = {}
    for sentence, word in FOLLOWED:
        answer = ask(AskRequest(prompt=sentence, model=model, head=head, watch=(word,), device="cpu"))
        found[f"{sentence} ({word})"] = [layer.watched[0].rank for layer in answer.layers]
    return found


def _run_ids(found: pd.DataFrame, model: str, head: str | None) -> tuple[str, list[str]]:
    """The kind of heads, and the ids of the runs with them."""
    primary = found[(found["model"] == model) & (found["role"] == "primary") & (found["template_set"] == "default")]
    primary = primary[primary["probe_set"].isin(["trex", "google_re"])]
    for kind in (head,) if head else (LOGIT_LENS, TIED):
        if ids := list(primary.loc[primary["head"] == kind, "run_id"]):
            return kind, ids
    option = f" --head {head}" if head else ""
    raise ModelError(
        f"no runs of {model}{f' with {head} heads' if head else ''}; make them with: python -m probing probe --model"
        f" {model}{option}"
    )


def _counts(db: Database, ids: Sequence[str], relations: set[str] | None, exposures: tuple[str, ...] | None) -> Layers:
    frame = aggregate(db, ids, Subset(exposures))
    sizes = majority(db, ids, Subset(exposures)).set_index("relation")["majority_hits"]
    layers: Layers = {}
    for row in (frame if relations is None else frame[frame["relation"].isin(relations)]).itertuples():
        numbers = (row.n, row.hits_1, row.hits_10, row.answer_hits_1, sizes[row.relation], row.other_n, row.other_1)
        layers.setdefault(int(row.layer), []).append(LayerCounts(row.relation, *(int(one) for one in numbers)))
    return layers
