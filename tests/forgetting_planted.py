"""A planted store of lost facts: how each comes back, and the shares of all groups, of which every number is known."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from probing.core.provenance import canonical_json, fingerprint_of
from probing.store.parquet import write_table
from tests.planted_relatives import COLA, CONTROL, LAST, SST_2, PlantedModel

#: The planted facts' relations and how many facts of each the base knows.
KNOWN = {"P19": 60, "P36": 30, "P1376": 6}
WAYS = ("another layer", "fitted head", "layers put back", "relearned")
RIGHT, OWN, RANDOM_BODY = "right answers", "the base's answers", "random body"
#: Columns of a lost fact for each way back, by the number of the fact; the last comes back by none.
BACK: tuple[dict[str, Any], ...] = (
    {"way": "another layer", "layer": LAST - 1, "fitted": True, "layers_back": None, "steps": 5, "seeds_back": 3},
    {"way": "fitted head", "layer": None, "fitted": True, "layers_back": 2, "steps": 15, "seeds_back": 2},
    {"way": "layers put back", "layer": None, "fitted": False, "layers_back": 1, "steps": None, "seeds_back": 1},
    {"way": "relearned", "layer": None, "fitted": False, "layers_back": None, "steps": 15, "seeds_back": 3},
    {"way": "not recovered", "layer": None, "fitted": False, "layers_back": None, "steps": None, "seeds_back": 0},
)
#: Model -> the ways that are above their yardsticks, and how many of the known facts of a relation of 30 it lost.
ABOVE = {COLA.name: ("layers put back", "relearned"), SST_2.name: ("relearned",), CONTROL.name: ()}
LOST = {COLA.name: 15, SST_2.name: 10, CONTROL.name: 5}
MODELS = (COLA, SST_2, CONTROL)
ALL_BINS = 255


def forgetting_config(model: PlantedModel, k: int = 1) -> str:
    """Canonical JSON of what the fingerprint of a run is made of."""
    return canonical_json(
        {
            "model": model.name, "weights": f"weights of {model.name}", "model_revision": "planted", "base": model.base,
            "base_weights": f"weights of {model.base}", "objective": model.objective, "head_recipe": "the base's head", "seed": 1,
            "dtype": "float32", "threads": 1, "code_version": "planted", "probe_set": "trex", "template_set": "default",
            "facts_sha256": "planted", "k": k, "seeds": 3, "folds": 5, "most_relearned": 1000, "most_pairs": 2000, "relearning": "{}",
            "text_sha256": "planted", "positions": 100,
        }
    )  # fmt: skip


def forgetting_run_id(model: PlantedModel, k: int = 1) -> str:
    """Fingerprint of a model's run."""
    return fingerprint_of(forgetting_config(model, k))


def lost_facts(model: PlantedModel, k: int = 1) -> list[dict[str, Any]]:
    """The rows of lost facts; their ways follow each other, and so do bins and exposures."""
    facts = []
    for relation, known in KNOWN.items():
        for number in range(known * LOST[model.name] // 30):
            facts.append(
                {
                    "run_id": forgetting_run_id(model, k),
                    "fact_id": fingerprint_of(f"{relation} {number}"),
                    "relation": relation,
                    "bin": number % 6,
                    "exposure": ("stated", "evidence", "unseen")[number % 3],
                    **BACK[number % len(BACK)],
                }
            )
    return facts


def _share(value: float, n: int) -> dict[str, Any]:
    return {"n": n, "share": value, "low": max(0.0, value - 0.05), "high": min(1.0, value + 0.05)}


def forgetting_rows(model: PlantedModel, k: int = 1) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a model's run."""
    run_id, facts = forgetting_run_id(model, k), lost_facts(model, k)
    of_relation = Counter(fact["relation"] for fact in facts)
    known = sum(KNOWN.values())
    run = {
        "run_id": run_id, "model": model.name, "model_revision": "planted", "base": model.base, "objective": model.objective,
        "probe_set": "trex", "template_set": "default", "k": k, "seed": 1, "seeds": 3, "folds": 5, "layers": LAST + 1, "facts": 300,
        "known": known, "kept": known - len(facts), "lost": len(facts), "left_out": json.dumps({}), "device": "cpu",
        "code_version": "planted", "created": "2026-01-01T00:00:00Z", "config": forgetting_config(model, k),
    }  # fmt: skip
    relations = [
        {"run_id": run_id, "relation": name, "known": n, "kept": n - of_relation[name], "lost": of_relation[name]}
        for name, n in KNOWN.items()
    ]
    shares, excesses = [], []
    for way in WAYS:
        for protocol in (RIGHT, OWN) if way == "relearned" else (RIGHT,):
            for level in (5, 15, 45) if way == "relearned" else (0,):
                key = {"run_id": run_id, "way": way, "level": level, "protocol": protocol}
                above = way in ABOVE[model.name]
                for asked, share, n in (("lost", 0.6, len(facts)), ("wrong answers", 0.3 if above else 0.6, 60), ("never known", 0.2, 30)):
                    of_bins = [n // 6 + (number < n % 6) for number in range(6)]
                    rows = [(ALL_BINS, n), *((number, one) for number, one in enumerate(of_bins) if one)]
                    shares += [key | {"asked": asked, "bin": number} | _share(share, one) for number, one in rows]
                for yardstick, share in (("wrong answers", 0.3 if above else 0.6), ("never known", 0.2), ("random body", 0.1)):
                    excesses.append(
                        key
                        | {
                            "yardstick": yardstick,
                            "relation": "",
                            "share": 0.6,
                            "yardstick_share": share,
                            "low": 0.55 - share,
                            "high": 0.65 - share,
                            "n": len(facts),
                            "n_yardstick": 60,
                        }
                    )
                if level in (0, 15) and protocol == RIGHT:
                    for relation in ("P19", "relations with few facts"):
                        excesses.append(
                            key
                            | {
                                "yardstick": "wrong answers",
                                "relation": relation,
                                "share": 0.7,
                                "yardstick_share": 0.5,
                                "low": 0.1,
                                "high": 0.3,
                                "n": 20,
                                "n_yardstick": 20,
                            }
                        )
    return {
        "forgetting_facts": facts,
        "forgetting_relations": relations,
        "forgetting_shares": shares,
        "forgetting_excesses": excesses,
        "forgetting_runs": [run],
    }


def plant_forgetting(
    folder: Path,
    models: Sequence[PlantedModel] = MODELS,
    change: Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]] = lambda table, rows: rows,
    k: int = 1,
) -> Path:
    """Writes the Parquet files of the runs and of their facts below ``folder``; ``change`` damages rows by table."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = [
        {
            "fact_id": fingerprint_of(f"{relation} {number}"),
            "probe_set": "trex",
            "relation": relation,
            "subject": f"Subject {number}",
            "object": f"Answer {number % 4}",
            "prompt": f"Subject {number} is [MASK] .",
            "template": f"[X] {relation} [Y].",
            "template_set": "default",
            "answer_in_subject": False,
            "pred": "",
        }
        for relation, n in KNOWN.items()
        for number in range(n)
    ]
    write_table("facts", facts, folder / "facts-of-forgetting.parquet")
    for model in models:
        for table, rows in forgetting_rows(model, k).items():
            run_id = forgetting_run_id(model, k)
            write_table(table, change(table, rows), folder / run_id / f"{table}-{run_id}.parquet")
    return folder
