"""A planted store of lost facts: how each comes back, and the shares of all groups, of which every number is known."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from probing.forgetting.memory import LOST, NEVER_IN_TEXT, NEVER_KNOWN, WRONG
from probing.forgetting.savings import ALL_LOOKS, MEASURES, Saved, savings_rows
from probing.forgetting.ways import (
    AS_IT_IS,
    BY_ANSWER,
    LAYERS_BACK,
    LESSONS,
    LOST_OUTCOMES,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    RELEARNED_BY,
    REWORDED,
    STEPS,
    WAYS,
)
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.stats.equal_confidence import Difference
from probing.kernel.store.parquet import write_table
from tests.planted_relatives import COLA, CONTROL, LAST, SST_2, PlantedModel

#: The planted facts' relations and how many facts of each the base knows.
KNOWN = {"P19": 60, "P36": 30, "P1376": 6}
#: Columns of a lost fact for each outcome, in their order; a fact has all ways that bring it back, cheap or not.
BACK: tuple[dict[str, Any], ...] = (
    {"layer": LAST - 1, "fitted": True, "layers_back": None, "after_15": "111"},
    {"layer": LAST - 2, "fitted": False, "layers_back": 1, "after_15": "000"},
    {"layer": None, "fitted": True, "layers_back": 2, "after_15": "011"},
    {"layer": None, "fitted": False, "layers_back": 1, "after_15": "010"},
    {"layer": None, "fitted": False, "layers_back": None, "after_15": "110"},
    {"layer": None, "fitted": False, "layers_back": None, "after_15": "100"},
)
#: Model -> how many of the known facts of a relation of 30 it lost.
LOST_OF_30 = {COLA.name: 15, SST_2.name: 10, CONTROL.name: 5}
MODELS = (COLA, SST_2, CONTROL)
#: The model whose lost facts were asked in another wording, and the one into which no layers were put back, with the
#: reason.
REWORDED_MODEL, WHOLE_BASE = SST_2, CONTROL
#: The model of which lessons were compared: all kinds but one, which had too few.
OF_LESSONS, TOO_FEW_LESSONS = COLA, {f"{LESSONS['unlike']} (480 are needed)": 17}
NOT_PUT_BACK = "the layers that fine-tuning changed are 3, 4: with them put back it is the base itself"
#: Model -> stated facts minus right answers that the text never had, with ends of the interval; the control's text is
#: not known.
TESTS = {COLA.name: (0.1, 0.05, 0.15), SST_2.name: (0.01, -0.05, 0.07)}
#: Model -> group -> what became of its taught answers and of counterfeits, at every look.
SAVED = {
    COLA.name: {LOST: (0.8, 0.3), WRONG: (0.75, 0.3), NEVER_KNOWN: (0.5, 0.3)},
    SST_2.name: {LOST: (0.6, 0.5), WRONG: (0.5, 0.5)},
}
#: Passes after which the model is asked.
LOOKS = (1, 3)
#: Shares that come back of lost facts, and of every yardstick.
SHARE = 0.6
YARDSTICKS = {WRONG: 0.3, NEVER_KNOWN: 0.2, RANDOM_BODY: 0.1}
#: Answers of a yardstick.
N_YARDSTICK = 12


def forgetting_config(model: PlantedModel, k: int = 1) -> str:
    """Canonical JSON of what the fingerprint of a run is made of."""
    other = "planted wording" if model is REWORDED_MODEL else ""
    return model.config(
        head_recipe="the base's head",
        seed=1,
        probe_set="trex",
        template_set="default",
        facts_sha256="planted",
        k=k,
        seeds=3,
        most_relearned=1000,
        most_pairs=2000,
        relearning="{}",
        text_sha256="planted",
        positions=100,
        exposure_sha256="planted" if model.name in TESTS else "",
        other_templates=other,
        other_sha256=other,
        planted=0,
        **({"lessons": list(LESSONS)} if model is OF_LESSONS else {}),
        **({"savings": canonical_json({"passes": LOOKS})} if model.name in SAVED else {}),
    )


def forgetting_run_id(model: PlantedModel, k: int = 1) -> str:
    """Fingerprint of a model's run."""
    return fingerprint_of(forgetting_config(model, k))


def lost_facts(model: PlantedModel, k: int = 1) -> list[dict[str, Any]]:
    """The rows of lost facts; their outcomes follow each other, and so do exposures and ranks, which are 2 to 6."""
    facts = []
    for relation, known in KNOWN.items():
        for number in range(known * LOST_OF_30[model.name] // 30):
            kind = number % len(BACK)
            fact = _fact(model, k, LOST, relation, number) | BACK[kind] | {"way": LOST_OUTCOMES[kind]}
            if model is WHOLE_BASE:
                fact["layers_back"] = None
                fact["way"] = "not recovered" if fact["way"] == LAYERS_BACK else fact["way"]
            fact |= {"random_layer": False, "random_body": number % 10 == 0}
            fact["exposure"] = ("stated", "evidence", "unseen")[number % 3] if model.name in TESTS else None
            fact["reworded"] = REWORDED[number % 3] if model is REWORDED_MODEL else None
            facts.append(fact)
    return facts


def _fact(model: PlantedModel, k: int, asked: str, relation: str, number: int) -> dict[str, Any]:
    """An answer that comes back by no way but after 45 steps; the margin is 0.05 nats at rank 2, and 1 more with each
    further rank.
    """
    rank = 2 + number % 5
    return {
        "run_id": forgetting_run_id(model, k),
        "asked": asked,
        "fact_id": fingerprint_of(f"{relation} {number}"),
        "relation": relation,
        "answer": 1000 + number % 4,
        "layer": None,
        "fitted": False,
        "layers_back": None,
        "after_5": "000",
        "after_15": "000",
        "after_45": "111",
        "by_subject": "111",
        "base_logp": -0.25,
        "logp": -2.25,
        "rank": rank,
        "margin": rank - 1.95,
    }


def _share(key: dict[str, Any], asked: str, value: float, n: int) -> dict[str, Any]:
    return key | {"asked": asked, "n": n, "share": value, "low": max(0.0, value - 0.05), "high": min(1.0, value + 0.05)}


def _excess(key: dict[str, Any], yardstick: str, n: int, difference: float, low: float, high: float) -> dict[str, Any]:
    without = (low, high) if yardstick == NEVER_IN_TEXT else (None, None)
    return key | {
        "yardstick": yardstick,
        "share": SHARE,
        "yardstick_share": SHARE - difference,
        "low": low,
        "high": high,
        "error": (high - low) / 4,
        "low_without": without[0],
        "high_without": without[1],
        "n": n,
        "n_yardstick": N_YARDSTICK,
    }


def _shares_and_excesses(model: PlantedModel, run_id: str, n: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Those of every way, level and protocol; of relearning 0.1 more comes back at each level."""
    keys = [(way, 0, AS_IT_IS) for way in WAYS[:-1] if way != LAYERS_BACK or model is not WHOLE_BASE]
    keys += [(OTHER_LAYER, 0, RANDOM_BODY), *((RELEARNED, steps, one) for one, steps in product(RELEARNED_BY, STEPS))]
    of_lessons = [one for kind, one in LESSONS.items() if kind != "unlike" and model is OF_LESSONS]
    keys += [(RELEARNED, steps, one) for one, steps in product(of_lessons, STEPS)]
    shares, excesses = [], []
    for way, level, protocol in keys:
        key = {"run_id": run_id, "way": way, "level": level, "protocol": protocol}
        if protocol == RANDOM_BODY:
            shares.append(_share(key, LOST, YARDSTICKS[RANDOM_BODY], n))
            continue
        more = 0.1 * (STEPS.index(level) - 1) if level else 0
        shares.append(_share(key, LOST, SHARE + more, n))
        shares += [_share(key, asked, YARDSTICKS[asked] + more, N_YARDSTICK) for asked in (WRONG, NEVER_KNOWN)]
        # Wrong answers are a yardstick of training only; a random body is none of the fitted head and of layers put
        # back.
        against = [NEVER_KNOWN, *([WRONG] if way == RELEARNED else ())]
        against += [RANDOM_BODY] if way == OTHER_LAYER or protocol == BY_ANSWER else []
        for yardstick in against:
            difference = SHARE - YARDSTICKS[yardstick]
            excesses.append(_excess(key, yardstick, n, difference, difference - 0.05, difference + 0.05))
        if model.name in TESTS and protocol not in LESSONS.values():
            excesses.append(_excess(key, NEVER_IN_TEXT, n // 3, *TESTS[model.name]))
    return shares, excesses


def savings_of(model: PlantedModel, k: int = 1) -> list[dict[str, Any]]:
    """The rows of every group, measure and look; intervals of the difference are 0.2 wide."""
    found = []
    for asked, (own, other) in SAVED.get(model.name, {}).items():
        ends = (own - other - 0.1, own - other + 0.1)
        found += [
            Saved(asked, *look, Difference(own, other, *ends, 0.05, N_YARDSTICK, N_YARDSTICK + 1), 36, 48)
            for look in product(MEASURES, (ALL_LOOKS, *LOOKS))
        ]
    return savings_rows(forgetting_run_id(model, k), found)


def forgetting_rows(model: PlantedModel, k: int = 1) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a model's run."""
    run_id, facts = forgetting_run_id(model, k), lost_facts(model, k)
    of_relation = Counter(fact["relation"] for fact in facts)
    known = sum(KNOWN.values())
    run = {
        "run_id": run_id,
        "model": model.name,
        "model_revision": "planted",
        "base": model.base,
        "objective": model.objective,
        "probe_set": "trex",
        "template_set": "default",
        "k": k,
        "seed": 1,
        "seeds": 3,
        "planted": 0,
        "layers": LAST + 1,
        "facts": 300,
        "known": known,
        "kept": known - len(facts),
        "lost": len(facts),
        "left_out": json.dumps(TOO_FEW_LESSONS if model is OF_LESSONS else {}),
        "device": "cpu",
        "not_put_back": NOT_PUT_BACK if model is WHOLE_BASE else None,
        "other_templates": "planted wording" if model is REWORDED_MODEL else None,
        "code_version": "planted",
        "created": "2026-01-01T00:00:00Z",
        "config": forgetting_config(model, k),
    }
    relations = [
        {"run_id": run_id, "relation": name, "known": n, "kept": n - of_relation[name], "lost": of_relation[name]}
        for name, n in KNOWN.items()
    ]
    shares, excesses = _shares_and_excesses(model, run_id, len(facts))
    yardsticks = [
        _fact(model, k, asked, "P19", number) for asked in (WRONG, NEVER_KNOWN) for number in range(N_YARDSTICK)
    ]
    return {
        "forgetting_facts": facts + yardsticks,
        "forgetting_relations": relations,
        "forgetting_shares": shares,
        "forgetting_excesses": excesses,
        "forgetting_savings": savings_of(model, k),
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
